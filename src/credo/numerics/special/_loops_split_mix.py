"""The SplitMix64 sequence of random words [steele2014]_, of which any entry is found at once.

Entry number k of the sequence of a seed is ``mixed(seed + k * GAMMA)``.
"""

import numpy as np

from credo.numerics._loops_compilation import compiled

__all__ = ["GAMMA", "mixed", "uniform"]

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@compiled()
def mixed(z: np.uint64) -> np.uint64:
    """Return a word whose bits all depend on all bits of ``z``."""
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@compiled()
def uniform(z: np.uint64) -> float:
    """Return a number between 0 and 1, never either, from the upper bits of the mixed word."""
    return (np.float64(mixed(z) >> np.uint64(11)) + 0.5) * 2.0**-53

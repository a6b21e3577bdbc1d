"""Awkward Markov chains for tests of their measures, the same on every machine."""

import numpy as np

from credo.numerics.array import Array

__all__ = ["awkward_chains"]


def awkward_chains() -> dict[str, Array]:
    """Return chains by name: short, constant, heavy-tailed, slow, apart, drifting, infinite."""
    found = {}
    for n_chains in (2, 3, 4):
        for n in (4, 5, 7, 10, 11, 100, 501):
            rng = np.random.default_rng([n_chains, n])
            noise = rng.normal(size=(n_chains, n))
            chance = rng.random((n_chains, n))
            is_moving = np.arange(n_chains)[:, None] == 0
            kinds = {
                "independent": noise,
                "slow": _autoregressive(noise, 0.9),
                "anticorrelated": _autoregressive(noise, -0.8),
                "cauchy": _portable(np.tan(np.pi * (chance - 0.5))),
                "constant": np.full((n_chains, n), 3.0),
                "three values": np.floor(3 * chance),
                "alternating": np.tile(np.arange(n) % 2.0, (n_chains, 1)),
                "drifting": np.arange(n) + 0.1 * noise,
                "apart": 0.01 * noise + np.arange(n_chains)[:, None],
                "one moves": np.where(is_moving, noise, 0.0),
                "huge": 1e150 * noise,
                "tiny": 1e-20 * noise,
                "lognormal": _portable(np.exp(5.0 * noise)),
                "infinite": np.where(chance < 0.1, np.inf, noise),
            }
            found |= {f"{kind} {n_chains}x{n}": x for kind, x in kinds.items()}
    return found


def _autoregressive(noise: Array, by: float) -> Array:
    chain = noise.copy()
    for t in range(1, noise.shape[1]):
        chain[:, t] = by * chain[:, t - 1] + np.sqrt(1.0 - by**2) * noise[:, t]
    return chain


def _portable(x: Array) -> Array:
    """Return numbers without the last digits, in which machines differ and ranks may turn."""
    return np.asarray(x.astype(np.float32), dtype=np.float64)

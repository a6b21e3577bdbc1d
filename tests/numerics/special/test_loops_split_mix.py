import numpy as np
import pytest

from credo.numerics.special._loops_split_mix import GAMMA, mixed, uniform

WORD = 1 << 64


def reference(z):
    """Return the mixed word by integers of any length, as its paper writes it."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


@pytest.mark.parametrize("seed", [0, 1, 12345, WORD - 1])
def test_words_are_those_of_the_sequence(seed):
    for k in range(1, 6):
        z = (seed + k * int(GAMMA)) % WORD
        assert int(mixed(np.uint64(z))) == reference(z)
        assert uniform(np.uint64(z)) == ((reference(z) >> 11) + 0.5) / 2**53


def test_the_first_words_of_seed_zero_are_the_published_ones():
    found = [int(mixed(np.uint64(k * int(GAMMA) % WORD))) for k in (1, 2, 3)]
    assert found == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_chances_are_spread_evenly():
    chances = [uniform(np.uint64(k * int(GAMMA) % WORD)) for k in range(20_000)]
    counts = np.histogram(chances, 20, (0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 43.8  # 99.9 % point of chi-squared(19)

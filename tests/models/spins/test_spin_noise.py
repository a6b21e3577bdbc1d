import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.models.spins.spin_noise import (
    BitFlip,
    GaussianNoise,
    as_noise,
    check_levels,
    noise_beyond,
)


def test_gaussian_noise_has_the_densities_of_scipy():
    y = np.array([-2.0, 0.3, 7.0])
    low, high = GaussianNoise(1.7, low=1.0, high=4.0).log_likelihood(y)
    assert_allclose(low, stats.norm(1.0, 1.7).logpdf(y))
    assert_allclose(high, stats.norm(4.0, 1.7).logpdf(y))


def test_a_number_is_a_standard_deviation():
    assert as_noise(0.5) == GaussianNoise(0.5)


def test_a_flip_has_its_probability():
    low, high = BitFlip(0.1).log_likelihood(np.array([-1.0, 1.0, np.nan]))
    assert_allclose(np.exp(low), [0.9, 0.1, np.nan])
    assert_allclose(np.exp(high), [0.1, 0.9, np.nan])


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan])
def test_a_scale_that_is_not_positive_is_refused(scale):
    with pytest.raises(ValueError, match="must be positive"):
        as_noise(scale)


def test_flips_need_spins_and_a_probability():
    with pytest.raises(ValueError, match=r"found 0\.5"):
        BitFlip(0.1).log_likelihood(np.array([1.0, 0.5]))
    with pytest.raises(ValueError, match="between 0 and 1; found"):
        BitFlip(1.0)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_noise_beyond_two_levels_is_estimated_whatever_the_spins(scale, share):
    rng = np.random.default_rng(1)
    spins = np.where(rng.random(20_000) < share, 1.0, -1.0)
    y = spins + scale * rng.normal(size=spins.shape)
    assert_allclose(noise_beyond(y), scale, rtol=0.05)
    check_levels(y, scale)


def test_levels_other_than_minus_one_and_one_are_refused():
    rng = np.random.default_rng(2)
    truth = np.where(rng.random(400) < 0.3, 1.0, 0.0)
    for y in (255 * truth, truth, np.clip(truth + 0.2 * rng.normal(size=400), 0, 1), -truth):
        for scale in (0.1, 1.0):
            with pytest.raises(ValueError, match=r"around -1 and 1; .*GaussianNoise\("):
                check_levels(y, scale)
    check_levels(np.full(5, np.nan), 1.0)
    check_levels(np.ones(400), 1.0)

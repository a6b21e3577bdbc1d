import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.models.spin_noise import BitFlip, GaussianNoise, as_noise


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

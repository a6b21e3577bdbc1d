import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.distributions import Normal, Predictive, StudentT

MARGINAL = Normal([1.0, -2.0], [0.5, 1.3])
PREDICTIVE = Predictive(MARGINAL, [0.3, 0.5], [0.4, 1.2])


@pytest.mark.parametrize("name", ["log_prob", "prob", "cdf", "quantile", "crps", "survival"])
def test_predictive_answers_as_its_marginal(name):
    assert_allclose(getattr(PREDICTIVE, name)(0.4), getattr(MARGINAL, name)(0.4))


@pytest.mark.parametrize("name", ["mean", "variance", "std", "mode", "entropy", "interval"])
def test_predictive_has_the_moments_of_its_marginal(name):
    assert_allclose(getattr(PREDICTIVE, name)(), getattr(MARGINAL, name)())


def test_rows_carry_their_two_sources_of_spread():
    row = PREDICTIVE[1]
    assert float(row.mean()) == -2.0
    assert float(row.epistemic_std) == 0.5
    assert len(PREDICTIVE[:1]) == 1
    assert_allclose(PREDICTIVE.kl(PREDICTIVE), 0, atol=1e-12)
    assert PREDICTIVE.sample(np.random.default_rng(0), 7).shape == (7, 2)


def test_negative_spread_is_refused():
    with pytest.raises(ValueError, match="epistemic_std must be non-negative"):
        Predictive(MARGINAL, -1.0, 1.0)


def test_the_variance_of_a_mixture_is_its_noise_and_its_doubt_with_weights_by_row():
    parts = [
        Predictive(Normal([0.0, 1.0], 5.0), 3.0, 4.0),
        Predictive(Normal([2.0, -1.0], 13.0), 5.0, 12.0),
        Predictive(StudentT(2.0, [0.0, 0.0], 1.0), np.inf, np.inf),
    ]
    weights = np.array([[0.25, 0.75, 0.0], [0.0, 1.0, 0.0]])
    mixed = Predictive.mixed(weights, parts)
    assert_allclose(mixed.aleatoric_std**2, [0.25 * 16 + 0.75 * 144, 144])
    assert_allclose(mixed.aleatoric_std**2 + mixed.epistemic_std**2, mixed.variance())
    assert_allclose(mixed.median(), mixed.quantile(0.5))
    assert np.isinf(Predictive.mixed([0.5, 0.25, 0.25], parts).epistemic_std).all()

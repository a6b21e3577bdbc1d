import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.distributions import Normal, Predictive

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

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.distributions.negative_binomial import NegativeBinomial

COUNTS = np.arange(60)


@pytest.mark.parametrize(("shape", "probability"), [(0.4, 0.1), (3.0, 0.25), (7.5, 0.9)])
def test_answers_match_scipy(shape, probability):
    own, oracle = NegativeBinomial(shape, probability), stats.nbinom(shape, probability)
    assert_allclose(own.log_prob(COUNTS), oracle.logpmf(COUNTS), rtol=1e-9)
    assert_allclose(own.cdf(COUNTS + 0.5), oracle.cdf(COUNTS), rtol=1e-9)
    assert_allclose(own.survival(COUNTS), oracle.sf(COUNTS), rtol=1e-8, atol=1e-300)
    assert_allclose(own.quantile([0.1, 0.5, 0.99]), oracle.ppf([0.1, 0.5, 0.99]))
    assert_allclose([own.mean(), own.variance()], oracle.stats())
    assert own.mode() == oracle.pmf(COUNTS).argmax()


def test_it_is_a_poisson_count_with_a_gamma_rate():
    rates = stats.gamma(2.5, scale=(1 - 0.3) / 0.3).ppf((np.arange(20_000) + 0.5) / 20_000)
    for k in (0, 3, 11):
        averaged = stats.poisson(rates).pmf(k).mean()
        assert_allclose(NegativeBinomial(2.5, 0.3).prob(k), averaged, rtol=1e-3)


def test_impossible_counts_have_no_probability_and_certainty_is_zero():
    assert_allclose(NegativeBinomial(2.0, 0.5).prob([-1.0, 0.5]), 0.0)
    assert NegativeBinomial(2.0, 1.0).prob(0.0) == 1.0


def test_probability_zero_and_kl_between_shapes_are_refused():
    with pytest.raises(ValueError, match=r"probability must be in \(0, 1\]; found 0"):
        NegativeBinomial(1.0, 0.0)
    with pytest.raises(TypeError, match="equal shapes only"):
        NegativeBinomial(1.0, 0.5).kl(NegativeBinomial(2.0, 0.5))

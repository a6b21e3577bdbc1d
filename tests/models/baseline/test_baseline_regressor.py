import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.decisions import AbsoluteLoss
from credo.evaluation import refit_folds
from credo.families import NormalInverseGamma, NormalStatistics
from credo.features import PolynomialBasis
from credo.models import BaselineRegressor, LinearRegression

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 2)), RNG.normal(5.0, 2.0, size=30)
PRIOR = NormalInverseGamma(4.0, 0.5, 2.0, 3.0)


def test_it_is_linear_regression_on_nothing_but_an_intercept():
    linear = LinearRegression(PolynomialBasis(0)).fit(X, Y)
    model = BaselineRegressor().fit(X, Y)
    assert_allclose(model.log_evidence_, linear.log_evidence_, rtol=1e-8)
    assert model.evidence_flat_ == linear.evidence_flat_
    ours, theirs = model.predict_dist(X[:3]), linear.predict_dist(X[:3])
    for p in [0.05, 0.5, 0.99]:
        assert_allclose(ours.quantile(p), theirs.quantile(p), rtol=1e-7)
    assert_allclose(ours.epistemic_std, theirs.epistemic_std, rtol=1e-7)
    assert_allclose(ours.aleatoric_std, theirs.aleatoric_std, rtol=1e-7)


def test_under_a_prior_the_evidence_is_the_product_of_one_step_predictives():
    model = BaselineRegressor(PRIOR).fit(X, Y)
    belief, total = PRIOR, 0.0
    for value in Y:
        total += float(belief.predictive().log_prob(value))
        belief = belief.update(NormalStatistics.of([value]))
    assert_allclose(model.log_evidence_, total)
    assert model.evidence_flat_ == ()
    assert_allclose(model.predict_dist(X).log_prob(3.0), belief.predictive().log_prob(3.0))


def test_the_prediction_is_the_mean_with_the_spread_of_students_t():
    model = BaselineRegressor().fit(X, Y)
    mean, std = model.predict(X[:2], return_std=True)
    assert_allclose(mean, Y.mean())
    variance = Y.var(ddof=1) * (1 + 1 / 30) * 29 / 27
    assert_allclose(std, np.sqrt(variance))


def test_folds_from_statistics_equal_fits_without_the_fold():
    fold = np.arange(30) % 3
    for i, model in enumerate(refit_folds(BaselineRegressor(), X, Y, fold)):
        apart = BaselineRegressor().fit(X[fold != i], Y[fold != i])
        assert_allclose(model.log_evidence_, apart.log_evidence_)
        assert_allclose(model.predict(X[:1]), apart.predict(X[:1]))


def test_without_a_loss_it_decides_by_squared_error():
    model = BaselineRegressor().fit(X, Y)
    predictive = model.predict_dist(X[:2])
    decision = model.decide(X[:2])
    assert_allclose(decision.action, predictive.mean())
    assert_allclose(decision.expected_loss, predictive.variance())


def test_two_rows_have_a_median_but_no_spread():
    model = BaselineRegressor().fit(X[:2], [1.0, 3.0])
    predictive = model.predict_dist(X[:1])
    assert_allclose(model.predict(X[:1]), [2.0])
    assert np.isposinf(predictive.aleatoric_std).all()
    assert_allclose(model.decide(X[:1], AbsoluteLoss()).action, [2.0])


def test_a_first_chunk_of_one_row_waits_for_more():
    model = BaselineRegressor().partial_fit(X[:1], Y[:1])
    assert not hasattr(model, "posterior_")
    model.partial_fit(X[1:], Y[1:])
    assert_allclose(model.log_evidence_, BaselineRegressor().fit(X, Y).log_evidence_)


@pytest.mark.parametrize("y", [[1.0], [2.0, 2.0, 2.0]])
def test_outcomes_without_spread_need_a_prior(y):
    with pytest.raises(ValueError, match=r"two different values .* give a prior"):
        BaselineRegressor().fit(X[: len(y)], y)
    assert_allclose(BaselineRegressor(PRIOR).fit(X[: len(y)], y).statistics_.weight, len(y))


@pytest.mark.parametrize("prior", [3.0, NormalInverseGamma([0.0, 1.0], 1.0, 1.0, 1.0)])
def test_a_prior_that_is_not_one_belief_is_refused(prior):
    with pytest.raises(TypeError, match="prior must be None or one NormalInverseGamma"):
        BaselineRegressor(prior).fit(X, Y)

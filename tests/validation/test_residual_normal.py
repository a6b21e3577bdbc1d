import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from credo.validation import ResidualNormal, held_out_normal, out_of_fold_normal

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = X @ [1.0, -2.0] + 3.0 + 0.5 * RNG.normal(size=30)
FOLD = np.arange(30) % 5
WEIGHT = RNG.uniform(0.5, 2.0, size=30)


def brute_force(y, x, fold, weight):
    """Fit without each fold, then one t per row from the residuals of all other rows."""
    mean = np.empty(len(y))
    for k in np.unique(fold):
        rest = fold != k
        fitted = LinearRegression().fit(x[rest], y[rest], sample_weight=weight[rest])
        mean[~rest] = fitted.predict(x[~rest])
    scale = np.empty(len(y))
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        squares = (y[others] - mean[others]) ** 2
        scale[i] = np.sqrt(np.average(squares, weights=weight[others]))
    return stats.t(len(y) - 1, mean, scale)


def test_the_predictive_of_a_row_has_seen_nothing_of_it():
    found = out_of_fold_normal(LinearRegression(), X, Y, FOLD, WEIGHT)
    expected = brute_force(Y, X, FOLD, WEIGHT)
    assert_allclose(found.mean(), expected.mean(), rtol=1e-10)
    assert_allclose(found.log_prob(Y), expected.logpdf(Y), rtol=1e-9)


def test_an_outcome_has_no_say_in_its_own_predictive():
    moved = Y.copy()
    moved[7] += 1e9
    one, other = (out_of_fold_normal(LinearRegression(), X, y, FOLD) for y in (Y, moved))
    assert_allclose(other[7].mean(), one[7].mean(), rtol=1e-12)
    scales = [held_out_normal(y, X[:, 0])[7].marginal.scale for y in (Y, moved)]
    assert_allclose(*scales, rtol=1e-12)


def test_a_small_residual_is_not_drowned_by_an_outlier():
    mean = np.zeros(5)
    found = held_out_normal([1e12, 1.0, 1.0, 1.0, 1.0], mean).marginal.scale
    assert_allclose(found[0], 1.0, rtol=1e-12)
    assert_allclose(found[1:], 1e12 / 2, rtol=1e-12)


def test_the_noise_of_all_rows_is_the_reference_posterior_predictive():
    # Integrates the normal over its variance by quadrature, prior 1 / variance.
    residual = np.array([0.5, -1.0, 0.25, 2.0])
    log_variance = np.linspace(-12, 40, 200_001)
    scale = np.exp(0.5 * log_variance)
    log_joint = stats.norm.logpdf(residual[:, None], scale=scale).sum(axis=0)
    posterior = np.exp(log_joint - log_joint.max())
    density = stats.norm.pdf(1.3, scale=scale)
    expected = (posterior * density).sum() / posterior.sum()
    found = ResidualNormal.of(residual, np.zeros(4)).around([0.0])
    assert_allclose(np.exp(found.log_prob([1.3])), expected, rtol=1e-6)


def test_many_residuals_make_a_normal():
    residual = np.random.default_rng(1).normal(scale=2.0, size=100_000)
    found = ResidualNormal.of(residual, np.zeros(100_000)).around([1.0])
    expected = stats.norm(1.0, np.sqrt((residual**2).mean())).logpdf(3.0)
    assert_allclose(found.log_prob([3.0]), expected, rtol=1e-5)


def test_intervals_of_few_rows_cover_what_they_claim():
    rng = np.random.default_rng(2)
    hits = [
        ResidualNormal.of(rng.normal(size=4), np.zeros(4)).around([0.0]).cdf([rng.normal()])
        for _ in range(20_000)
    ]
    covered = np.mean((np.array(hits) > 0.05) & (np.array(hits) < 0.95))
    assert_allclose(covered, 0.9, atol=4 * np.sqrt(0.09 / 20_000))


def test_each_output_has_its_own_noise():
    both = np.column_stack([Y, 10.0 * Y])
    found = out_of_fold_normal(LinearRegression(), X, both, FOLD)
    alone = out_of_fold_normal(LinearRegression(), X, 10.0 * Y, FOLD)
    assert_allclose(found.log_prob(both)[:, 1], alone.log_prob(10.0 * Y), rtol=1e-9)


def test_rows_of_no_weight_do_not_count():
    weight = np.append(np.ones(29), 0.0)
    wild = np.append(Y[:29], 1e6)
    found = held_out_normal(wild, np.zeros(30), weight)
    alone = held_out_normal(Y[:29], np.zeros(29))
    assert_allclose(found[:29].marginal.scale, alone.marginal.scale, rtol=1e-12)
    assert_allclose(found.marginal.df[:29], 28.0)


def test_all_of_the_spread_is_noise():
    found = ResidualNormal.of(Y, np.zeros(30)).around(Y)
    assert_allclose(found.aleatoric_std, found.std())
    assert_allclose(found.epistemic_std, 0.0)


def test_perfect_predictions_leave_the_rounding_error_of_the_outcomes():
    found = held_out_normal(Y, Y).marginal.scale
    assert_allclose(found, np.finfo(float).eps * np.abs(Y).max())
    assert (held_out_normal(np.zeros(3), np.zeros(3)).marginal.scale > 0).all()


def test_fewer_than_three_residuals_are_refused():
    with pytest.raises(ValueError, match=r"at least 3 residuals.*found 2"):
        ResidualNormal.of([1.0, 2.0], [1.0, 1.5])


def test_predictions_of_other_rows_are_refused():
    with pytest.raises(ValueError, match=r"found shape \(3,\) for predictions of shape \(2,\)"):
        held_out_normal([1.0, 2.0, 3.0], [1.0, 1.5])


def test_the_estimator_is_left_as_it_was():
    model = DummyRegressor()
    out_of_fold_normal(model, X, Y, FOLD)
    assert vars(model) == vars(clone(model))

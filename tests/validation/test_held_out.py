import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression as LeastSquares
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB

from credo.models import LinearRegression
from credo.validation import ResidualNormal, held_out_normal, out_of_fold_normal
from credo.validation.held_out import held_out, row_scores
from credo.validation.outcome import Outcome
from credo.validation.splits import TrainingRows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = X @ [1.0, -2.0] + 0.5 * RNG.normal(size=60)
C = np.array(["a", "b", "c"])[np.digitize(Y, [-1.0, 1.0])]
NUMBERS, CLASSES = Outcome(Y), Outcome.of(GaussianNB(), C)
HALVES = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]


def test_scores_of_numbers_are_log_densities_summed_over_outputs():
    both = np.column_stack([Y, 2.0 * Y])
    model = LinearRegression().fit(X, both)
    found = row_scores(model, X, Outcome(both))
    predictive = model.predict_dist(X)
    assert_allclose(found.prediction, predictive.mean())
    assert_allclose(found.log_prob, predictive.log_prob(both))
    assert_allclose(found.log_score, predictive.log_prob(both).sum(axis=1))


def test_the_score_of_a_class_is_the_log_of_its_probability():
    model = GaussianNB().fit(X, C)
    found = row_scores(model, X, CLASSES)
    chosen = model.predict_proba(X)[np.arange(60), CLASSES.codes]
    assert_allclose(found.log_score, np.log(chosen), rtol=1e-12)


def test_a_class_not_seen_is_impossible_and_a_missing_one_has_no_score():
    labels = C.astype(object)
    labels[0] = None
    outcome = Outcome.of(GaussianNB(), labels)
    known = C != "b"
    found = row_scores(GaussianNB().fit(X[known], C[known]), X, outcome)
    assert np.isnan(found.log_score[0])
    is_other = (C == "b") & (np.arange(60) > 0)
    assert np.isneginf(found.log_score[is_other]).all()
    assert_array_equal(found.prediction[:, 1], 0.0)


def test_models_without_a_predictive_have_predictions_but_no_score():
    mean = row_scores(LeastSquares().fit(X, Y), X, NUMBERS)
    assert_allclose(mean.prediction, LeastSquares().fit(X, Y).predict(X))
    assert np.isnan(mean.log_score).all()
    assert np.isnan(row_scores(Perceptron().fit(X, C), X, CLASSES).prediction).all()


@pytest.mark.parametrize("weight", [None, RNG.uniform(0.5, 2.0, size=60)])
def test_held_out_rows_are_scored_by_fits_to_the_other_rows(weight):
    rows = TrainingRows.of(X, NUMBERS, weight)
    line, foreign = held_out([LinearRegression(), LeastSquares()], rows, HALVES)
    log_score, mean = np.empty(60), np.empty(60)
    for train, test in HALVES:
        told = {} if weight is None else {"sample_weight": weight[train]}
        predictive = LinearRegression().fit(X[train], Y[train], **told).predict_dist(X[test])
        log_score[test] = predictive.log_prob(Y[test])
        mean[test] = LeastSquares().fit(X[train], Y[train], **told).predict(X[test])
    assert_allclose(line.log_score, log_score)
    assert_allclose(foreign.prediction, mean)
    assert_allclose(foreign.log_score, held_out_normal(Y, mean, weight).log_prob(Y))


def test_rows_never_held_out_have_no_score_and_no_part_in_the_noise():
    rows = TrainingRows.of(X, NUMBERS, None)
    (found,) = held_out([LeastSquares()], rows, HALVES[:1])
    assert np.isnan(found.log_score[:30]).all()
    mean = LeastSquares().fit(X[:30], Y[:30]).predict(X[30:])
    assert_allclose(found.log_score[30:], held_out_normal(Y[30:], mean).log_prob(Y[30:]))
    noisy = found.noisy(LeastSquares().fit(X, Y), rows)
    assert_allclose(noisy.noise.scale, ResidualNormal.of(Y[30:], mean).scale)
    assert_allclose(noisy.predict(X), LeastSquares().fit(X, Y).predict(X))


def test_a_model_with_a_predictive_needs_no_noise():
    rows = TrainingRows.of(X, NUMBERS, None)
    (found,) = held_out([LinearRegression()], rows, HALVES)
    fitted = LinearRegression().fit(X, Y)
    assert found.noisy(fitted, rows) is fitted


class Blind(LeastSquares):
    """A regressor that looks at no input and always answers 0."""

    def predict(self, X):
        return np.zeros(len(X))


def test_a_foreign_regressor_is_dropped_once_its_normal_is_hopeless():
    rng, fold = np.random.default_rng(1), np.arange(600) % 6
    pairs = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(6)]
    x = rng.normal(size=(600, 2))
    y = x @ [1.0, -2.0] + 0.1 * rng.normal(size=600)
    rows = TrainingRows.of(x, Outcome(y), None)
    line, blind = held_out([LinearRegression(), Blind()], rows, pairs, drop_early=True)
    assert not np.isnan(line.log_score).any()
    known = ~np.isnan(blind.log_score)
    assert_array_equal(known, fold < 2)
    expected = held_out_normal(y[known], np.zeros(known.sum())).log_prob(y[known])
    assert_allclose(blind.log_score[known], expected)


NOISE = np.random.default_rng(0)
INPUTS = NOISE.normal(size=(30, 2))
TARGETS = INPUTS @ [1.0, -2.0] + 3.0 + 0.5 * NOISE.normal(size=30)
FOLD = np.arange(30) % 5
WEIGHT = NOISE.uniform(0.5, 2.0, size=30)


def brute_force(y, x, fold, weight):
    """Fit without each fold, then one t per row from the residuals of all other rows."""
    mean = np.empty(len(y))
    for k in np.unique(fold):
        rest = fold != k
        fitted = LeastSquares().fit(x[rest], y[rest], sample_weight=weight[rest])
        mean[~rest] = fitted.predict(x[~rest])
    scale = np.empty(len(y))
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        squares = (y[others] - mean[others]) ** 2
        scale[i] = np.sqrt(np.average(squares, weights=weight[others]))
    return stats.t(len(y) - 1, mean, scale)


def test_the_predictive_of_a_row_has_seen_nothing_of_it():
    found = out_of_fold_normal(LeastSquares(), INPUTS, TARGETS, FOLD, WEIGHT)
    expected = brute_force(TARGETS, INPUTS, FOLD, WEIGHT)
    assert_allclose(found.mean(), expected.mean(), rtol=1e-10)
    assert_allclose(found.log_prob(TARGETS), expected.logpdf(TARGETS), rtol=1e-9)


def test_an_outcome_has_no_say_in_its_own_predictive():
    moved = TARGETS.copy()
    moved[7] += 1e9
    one, other = (out_of_fold_normal(LeastSquares(), INPUTS, y, FOLD) for y in (TARGETS, moved))
    assert_allclose(other[7].mean(), one[7].mean(), rtol=1e-12)
    scales = [held_out_normal(y, INPUTS[:, 0])[7].marginal.scale for y in (TARGETS, moved)]
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
    both = np.column_stack([TARGETS, 10.0 * TARGETS])
    found = out_of_fold_normal(LeastSquares(), INPUTS, both, FOLD)
    alone = out_of_fold_normal(LeastSquares(), INPUTS, 10.0 * TARGETS, FOLD)
    assert_allclose(found.log_prob(both)[:, 1], alone.log_prob(10.0 * TARGETS), rtol=1e-9)


def test_rows_of_no_weight_do_not_count():
    weight = np.append(np.ones(29), 0.0)
    wild = np.append(TARGETS[:29], 1e6)
    found = held_out_normal(wild, np.zeros(30), weight)
    alone = held_out_normal(TARGETS[:29], np.zeros(29))
    assert_allclose(found[:29].marginal.scale, alone.marginal.scale, rtol=1e-12)
    assert_allclose(found.marginal.df[:29], 28.0)


def test_all_of_the_spread_is_noise():
    found = ResidualNormal.of(TARGETS, np.zeros(30)).around(TARGETS)
    assert_allclose(found.aleatoric_std, found.std())
    assert_allclose(found.epistemic_std, 0.0)


def test_perfect_predictions_leave_the_rounding_error_of_the_outcomes():
    found = held_out_normal(TARGETS, TARGETS).marginal.scale
    assert_allclose(found, np.finfo(float).eps * np.abs(TARGETS).max())
    assert (held_out_normal(np.zeros(3), np.zeros(3)).marginal.scale > 0).all()


def test_fewer_than_three_residuals_are_refused():
    with pytest.raises(ValueError, match=r"at least 3 residuals.*found 2"):
        ResidualNormal.of([1.0, 2.0], [1.0, 1.5])


def test_predictions_of_other_rows_are_refused():
    with pytest.raises(ValueError, match=r"found shape \(3,\) for predictions of shape \(2,\)"):
        held_out_normal([1.0, 2.0, 3.0], [1.0, 1.5])


def test_the_estimator_is_left_as_it_was():
    model = DummyRegressor()
    out_of_fold_normal(model, INPUTS, TARGETS, FOLD)
    assert vars(model) == vars(clone(model))

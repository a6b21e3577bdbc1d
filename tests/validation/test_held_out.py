import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression as LeastSquares
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB

from credo.models import LinearRegression
from credo.validation import ResidualNormal, held_out_normal
from credo.validation.fold_fit import TrainingRows
from credo.validation.held_out import held_out, row_scores
from credo.validation.outcome import Outcome

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

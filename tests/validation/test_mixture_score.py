import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.evaluation import cross_validate
from credo.features import PolynomialBasis
from credo.inference import stacking_weights
from credo.models import LinearRegression, ModelAverage
from credo.validation.mixture_score import (
    averaged_log_score,
    comparable_scores,
    is_judged,
    mean_score,
    mixed_log_prob,
    n_asked_folds,
    posterior_by_fold,
    stacked_log_score,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(70, 1))
Y = np.sin(2 * X[:, 0]) + RNG.normal(0, 0.3, 70)
FOLD = np.arange(70) % 5
MODELS = {f"degree {k}": LinearRegression(PolynomialBasis(k)) for k in range(4)}


@pytest.fixture(scope="module")
def parts():
    return [cross_validate(model, X, Y, labels=FOLD) for model in MODELS.values()]


def scores_of(parts):
    return np.array([part.log_score for part in parts])


def evidences_of(parts):
    return np.array([part.log_evidence for part in parts])


def test_the_score_of_an_average_is_that_of_refitted_averages(parts):
    found = averaged_log_score(scores_of(parts), FOLD, evidences_of(parts))
    for k in range(5):
        average = ModelAverage(MODELS).fit(X[k != FOLD], Y[k != FOLD])
        expected = average.predict_dist(X[k == FOLD]).log_prob(Y[k == FOLD])
        assert_allclose(found[k == FOLD], expected, rtol=1e-6)


def test_folds_with_infinite_evidence_still_give_scores(parts):
    scores, evidences = scores_of(parts), evidences_of(parts)
    evidences[0, 0] = np.inf
    found = averaged_log_score(scores, FOLD, evidences)
    assert_allclose(found[FOLD == 0], scores[0, FOLD == 0])
    evidences[:, 0] = np.inf
    found = averaged_log_score(scores, FOLD, evidences)
    expected = np.log(np.exp(scores).mean(axis=0))
    assert_allclose(found[FOLD == 0], expected[FOLD == 0])


def test_a_model_has_no_part_in_folds_that_it_was_not_asked_about(parts):
    scores, evidences = scores_of(parts), evidences_of(parts)
    evidences[0] -= 1e4
    expected = averaged_log_score(scores[1:], FOLD, evidences[1:])
    scores[0, FOLD > 2], evidences[0, 3:] = np.nan, np.nan
    assert_allclose(averaged_log_score(scores, FOLD, evidences), expected, rtol=1e-12)
    assert_array_equal(is_judged(scores), [False, True, True, True])
    assert_array_equal(n_asked_folds(scores, FOLD), [3, 5, 5, 5])
    assert_allclose(stacked_log_score(scores, FOLD), stacked_log_score(scores[1:], FOLD))


def test_a_prior_weighs_equal_evidences():
    found = posterior_by_fold(np.zeros((2, 3)), prior=[0.25, 0.75])
    assert_allclose(found, np.repeat([[0.25], [0.75]], 3, axis=1))


def test_the_density_of_a_mixture_is_the_mean_of_densities():
    log_probs = np.log([[[0.1, 0.4]], [[0.3, 0.8]]])
    found = mixed_log_prob(log_probs, np.array([[0.25], [0.75]]))
    assert_allclose(np.exp(found), [[0.25, 0.7]])
    assert_allclose(np.exp(mixed_log_prob(log_probs, np.array([[0.0], [1.0]]))), [[0.3, 0.8]])


def test_a_row_has_no_say_in_the_weights_of_its_own_mixture(parts):
    scores = scores_of(parts)
    found = stacked_log_score(scores, FOLD)
    for k in range(5):
        weights = stacking_weights(scores[:, k != FOLD])
        expected = np.log(weights @ np.exp(scores[:, k == FOLD]))
        assert_allclose(found[k == FOLD], expected)


def test_an_impossible_outcome_leaves_a_mean_without_an_error():
    found = mean_score([0.0, -np.inf])
    assert found.value == -np.inf
    assert np.isnan(found.standard_error)


def test_scores_of_other_rows_are_made_comparable():
    rng = np.random.default_rng(4)
    hard = np.repeat([0.0, -1.0], [300, 700])
    best, worse = hard + rng.normal(0, 0.2, 1000), hard - 0.5 + rng.normal(0, 0.2, 1000)
    some = np.where(np.arange(1000) < 300, worse, np.nan)
    first, second = comparable_scores([best, some])
    assert (first.value, first.standard_error) == (
        pytest.approx(best.mean()),
        pytest.approx(best.std(ddof=1) / np.sqrt(1000), rel=1e-2),
    )
    # Of its own rows alone the mean would be about 0.7 too high.
    assert abs(second.value - worse.mean()) < 3 * second.standard_error
    assert np.nanmean(some) - worse.mean() > 10 * second.standard_error
    assert second.standard_error > first.standard_error


def test_rows_that_the_best_thought_impossible_leave_each_score_as_it_is():
    best, some = np.array([0.0, -np.inf, 0.0]), np.array([-1.0, np.nan, -3.0])
    first, second = comparable_scores([best, some])
    assert first.value == -np.inf
    assert second.value == -2.0

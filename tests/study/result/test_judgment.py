import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.evaluation import cross_validate, evaluate, fold_labels
from credo.inference import stacking_weights
from credo.models import ModelAverage
from credo.study.candidates.slate import UNWEIGHED
from credo.study.regression import regression_slate
from credo.study.result.judgment import (
    candidate_scores,
    cross_validation_gain,
    dropped_candidates,
    dropped_notes,
    predictives,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(70, 2))
Y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + RNG.normal(0, 0.3, 70)
LABELS = fold_labels(70, 5, np.random.default_rng(1))


@pytest.fixture(scope="module")
def average():
    heard = [one for one in regression_slate(X).candidates if one[0] not in UNWEIGHED]
    return ModelAverage(heard).fit(X, Y)


@pytest.fixture(scope="module")
def folds(average):
    return [cross_validate(part, X, Y, labels=LABELS) for _, part in average.estimators]


def test_the_score_of_the_average_is_that_of_its_own_cross_validation(average, folds):
    whole = cross_validate(average, X, Y, labels=LABELS)
    score = candidate_scores(average, folds, predictives(average, X), Y, 0.9)[-1]
    assert score.cv_log_score == pytest.approx(float(whole.score.value))
    assert score.cv_log_score_error == pytest.approx(float(whole.score.standard_error))


def test_weights_by_cross_validation_are_those_of_stacking(average, folds):
    weights = [
        score.cv_weight
        for score in candidate_scores(average, folds, predictives(average, X), Y, 0.9)
    ]
    assert_allclose(weights[:-1], stacking_weights([fold.log_score for fold in folds]))
    assert sum(weights[:-1]) == pytest.approx(1)


def test_scores_of_test_rows_are_those_of_an_evaluation(average, folds):
    scores = candidate_scores(average, folds, predictives(average, X[:30]), Y[:30], 0.8)
    for score, model in zip(scores, [*average.estimators_, average], strict=True):
        judged = evaluate(Y[:30], model.predict_dist(X[:30]), 0.8)
        assert score.log_score == pytest.approx(float(judged.log_score.value))
        error = float(judged.log_score.standard_error)
        assert score.log_score_error == pytest.approx(error)
        assert score.rmse == pytest.approx(float(judged.rmse.value))
        assert score.coverage == pytest.approx(float(judged.coverage.value))
        assert score.r_squared == pytest.approx(judged.r_squared, abs=1e-12)


def test_a_candidate_dropped_early_has_no_part_in_what_is_said_of_the_others(average, folds):
    asked = LABELS < 3
    dropped = dataclasses.replace(
        folds[0],
        log_score=np.where(asked, folds[0].log_score, np.nan),
        log_evidence=np.where(np.arange(5) < 3, folds[0].log_evidence - 1e4, np.nan),
        score=dataclasses.replace(folds[0].score, value=np.float64(99.0)),
    )
    others = [dropped, *folds[1:]]
    assert dropped_candidates(average.names_, folds) == {}
    assert dropped_candidates(average.names_, others) == {"constant": 3}
    told = predictives(average, X)
    weights = [s.cv_weight for s in candidate_scores(average, others, told, Y, 0.9)[:-1]]
    assert_allclose(weights, [0.0, *stacking_weights([f.log_score for f in folds[1:]])])
    gain = cross_validation_gain(average, others)
    best = max(folds[1:], key=lambda fold: float(fold.score.value))
    probable = folds[int(np.argmax(average.probability_))]
    assert float(gain.value) == pytest.approx((best.log_score - probable.log_score).mean())


def test_dropped_models_are_named_with_their_folds():
    assert dropped_notes({}, 10) == ()
    (said,) = dropped_notes({"linear": 3, "cubic": 4}, 10)
    assert said.startswith("Cross-validated in some of the 10 folds only")
    assert "linear in 3, cubic in 4;" in said


def test_the_best_by_folds_is_one_that_was_asked_about_all_of_them(result):
    best = result.cv_winner.name
    without = dataclasses.replace(result, dropped=(best,))
    others = [score for score in result.candidates if score.name != best]
    assert without.cv_winner is max(others, key=lambda score: score.cv_log_score)

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Perceptron
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from credo.evaluation import (
    balanced_accuracy_scorer,
    brier_scorer,
    calibration_scorer,
    coverage_scorer,
    crps_scorer,
    interval_score,
    interval_score_scorer,
    is_covered,
    log_score_scorer,
    macro_f1_scorer,
    mcc_scorer,
    reliability_curve,
)
from credo.models import LinearRegression, ModelAverage

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=40)


@pytest.mark.parametrize(
    "estimator",
    [
        LinearRegression(),
        ModelAverage(
            [("all", LinearRegression()), ("ridge", LinearRegression(inference="map"))]
        ),
        make_pipeline(LinearRegression()),
        make_pipeline(StandardScaler(), StandardScaler(), LinearRegression()),
    ],
    ids=["plain", "average", "pipeline of one", "pipeline"],
)
def test_scores_are_means_over_the_rows_of_each_fold(estimator):
    folds = KFold(4)
    logs = cross_val_score(estimator, X, Y, cv=folds, scoring=log_score_scorer)
    ranks = cross_val_score(estimator, X, Y, cv=folds, scoring=crps_scorer)
    for i, (train, test) in enumerate(folds.split(X)):
        inner = getattr(estimator, "steps", [("", estimator)])[-1][1]
        predictive = inner.fit(X[train], Y[train]).predict_dist(X[test])
        assert_allclose(logs[i], predictive.log_prob(Y[test]).mean(), rtol=1e-8)
        assert_allclose(ranks[i], -predictive.crps(Y[test]).mean(), rtol=1e-8)


def test_a_search_finds_the_noise_that_predicts():
    grid = {"noise_precision": [1e-4, 1.0, 1e4]}
    for scoring in (log_score_scorer, crps_scorer):
        search = GridSearchCV(LinearRegression(weight_precision=1.0), grid, scoring=scoring)
        assert search.fit(X, Y).best_params_ == {"noise_precision": 1.0}


def test_a_model_without_a_predictive_is_refused():
    with pytest.raises(TypeError, match="found DummyRegressor"):
        log_score_scorer(DummyRegressor().fit(X, Y), X, Y)


CLASSES = np.array(["a", "b", "c"])[(np.digitize(Y, [-1.0, 1.0]))]


@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2.0, 40)])
def test_scores_of_classes_are_those_of_scikit_learn(weight):
    model = make_pipeline(StandardScaler(), GaussianNB()).fit(X, CLASSES)
    called, probability = model.predict(X), model.predict_proba(X)
    sums = {"sample_weight": weight}
    pairs = {
        log_score_scorer: -metrics.log_loss(CLASSES, probability, **sums),
        brier_scorer: -metrics.brier_score_loss(CLASSES, probability, **sums),
        mcc_scorer: metrics.matthews_corrcoef(CLASSES, called, **sums),
        balanced_accuracy_scorer: metrics.balanced_accuracy_score(CLASSES, called, **sums),
        macro_f1_scorer: metrics.f1_score(CLASSES, called, average="macro", **sums),
    }
    for scorer, expected in pairs.items():
        assert_allclose(scorer(model, X, CLASSES, sample_weight=weight), expected, rtol=1e-9)
    hit = model.classes_[probability.argmax(axis=1)] == CLASSES
    curve = reliability_curve(hit, probability.max(axis=1), sample_weight=weight)
    assert_allclose(calibration_scorer(model, X, CLASSES, weight), -curve.error.value)


def test_scores_of_intervals_are_means_over_rows():
    model = LinearRegression().fit(X, Y)
    predictive = model.predict_dist(X)
    assert_allclose(interval_score_scorer(model, X, Y), -interval_score(Y, predictive).mean())
    share = is_covered(Y, predictive).mean()
    assert_allclose(coverage_scorer(model, X, Y), -abs(share - 0.9))


@pytest.mark.parametrize("scoring", [log_score_scorer, brier_scorer])
def test_a_search_finds_the_smoothing_that_predicts(scoring):
    grid = {"var_smoothing": [1e-9, 1e3]}
    search = GridSearchCV(GaussianNB(), grid, scoring=scoring, cv=KFold(3))
    assert search.fit(X, CLASSES).best_params_ == {"var_smoothing": 1e-9}


def test_rows_without_a_class_are_not_scored():
    model = GaussianNB().fit(X, CLASSES)
    gaps = CLASSES.astype(object)
    gaps[::2] = None
    for scorer in (log_score_scorer, brier_scorer, mcc_scorer, calibration_scorer):
        assert_allclose(scorer(model, X, gaps), scorer(model, X[1::2], CLASSES[1::2]))


def test_answers_without_probabilities_are_scored_by_answers_alone():
    model = Perceptron().fit(X, CLASSES)
    assert_allclose(
        mcc_scorer(model, X, CLASSES), metrics.matthews_corrcoef(CLASSES, model.predict(X))
    )
    with pytest.raises(TypeError, match="found Perceptron"):
        brier_scorer(model, X, CLASSES)

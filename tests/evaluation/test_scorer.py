import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from credo.evaluation import crps_scorer, log_score_scorer
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

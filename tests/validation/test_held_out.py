import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import Perceptron
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from credo.evaluation import predictive_of
from credo.models import LinearRegression
from credo.validation.held_out import has_predictive

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.where(X[:, 0] + RNG.normal(size=40) > 0, "yes", "no")


class Rounded(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities sum to ``total``."""

    def __init__(self, total=1.0):
        self.total = total

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.tile(np.float32([0.3, self.total - 0.3]), (len(X), 1))


@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(),
        make_pipeline(StandardScaler(), GaussianNB()),
        GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}),
        GridSearchCV(make_pipeline(GaussianNB()), {"gaussiannb__var_smoothing": [1e-9]}),
    ],
    ids=["plain", "pipeline", "search", "search of a pipeline"],
)
def test_a_foreign_classifier_is_heard_through_its_wrappers(model):
    model.fit(X, Y)
    predictive = predictive_of(model, X)
    assert has_predictive(model)
    assert_array_equal(predictive.labels, ["no", "yes"])
    assert_allclose(predictive.probability, model.predict_proba(X), rtol=1e-12)


def test_a_regressor_is_heard_in_a_search_of_pipelines():
    y = X @ [1.0, 2.0]
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LinearRegression()),
        {"linearregression__inference": ["ml", "map"]},
    ).fit(X, y)
    inner = search.best_estimator_
    expected = inner[-1].predict_dist(inner[:-1].transform(X))
    assert_allclose(predictive_of(search, X).mean(), expected.mean())


def test_rounding_of_single_precision_is_forgiven_but_a_wrong_sum_is_not():
    predictive = predictive_of(Rounded(1.0 + 3e-6).fit(X, Y), X)
    assert_allclose(predictive.probability.sum(axis=1), 1.0, rtol=1e-15)
    with pytest.raises(ValueError, match=r"sums to 1 along its last axis; found 1.01"):
        predictive_of(Rounded(1.01).fit(X, Y), X)


def test_a_model_without_a_predictive_is_refused():
    model = Perceptron().fit(X, Y)
    assert not has_predictive(model)
    with pytest.raises(TypeError, match=r"found Perceptron. Use a credo estimator"):
        predictive_of(model, X)

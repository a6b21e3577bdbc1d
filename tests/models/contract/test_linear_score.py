from types import SimpleNamespace

import numpy as np
import pytest

from credo.models import LeastSquaresClassifier, Perceptron, RegularizedRisk
from credo.models.contract.linear_score import best_class, linear_score

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
THREE = np.where(X[:, 0] > 0.5, "c", np.where(X[:, 1] > 0, "b", "a"))


def test_a_score_of_zero_is_the_first_of_two_classes():
    classes = np.array(["no", "yes"])
    assert best_class(np.array([0.0, 1e-300, -1.0]), classes).tolist() == ["no", "yes", "no"]


def test_of_many_scores_the_highest_is_taken_and_the_first_of_equals():
    score = np.array([[0.0, 2.0, 1.0], [3.0, 3.0, 1.0]])
    assert best_class(score, np.array([7, 8, 9])).tolist() == [8, 7]


@pytest.mark.parametrize("kind", [LeastSquaresClassifier, Perceptron, RegularizedRisk])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scores_are_intercept_plus_weights_times_columns(kind):
    three = kind().fit(X, THREE)
    expected = X @ three.coef_.T + three.intercept_
    np.testing.assert_allclose(linear_score(three, X), expected)
    np.testing.assert_allclose(three.decision_function(X), expected)
    assert three.predict(X).tolist() == best_class(expected, three.classes_).tolist()
    two = kind().fit(X, THREE == "c")
    expected = X @ two.coef_[0] + two.intercept_[0]
    np.testing.assert_allclose(two.decision_function(X), expected)
    np.testing.assert_array_equal(two.predict(X), expected > 0)


def test_an_estimator_without_weights_is_refused():
    with pytest.raises(TypeError, match="not an estimator"):
        linear_score(SimpleNamespace(classes_=[0, 1]), X)

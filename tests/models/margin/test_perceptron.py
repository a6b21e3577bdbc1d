import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from credo.features import PolynomialBasis
from credo.models import Perceptron

IRIS = load_iris()


def separable(seed, n=60, d=2, margin=0.2):
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=d)
    X = rng.normal(size=(4 * n, d))
    score = X @ direction / np.linalg.norm(direction) + 0.3
    kept = np.flatnonzero(np.abs(score) > margin)[:n]
    y = score[kept] > 0
    return (X[kept], y) if 0 < y.sum() < len(y) else separable(seed + 10**6, n, d, margin)


def standardized(X):
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.column_stack([scaled, np.ones(len(X))])


def mistake_bound(model, X, y):
    """Return (R / margin)^2 for the separating vector that was found, in its own space."""
    rows = standardized(X)
    weights = model.coef_[0] * X.std(axis=0)
    vector = np.append(weights, model.intercept_[0] + model.coef_[0] @ X.mean(axis=0))
    margin = (np.where(y, 1, -1) * (rows @ vector)).min() / np.linalg.norm(vector)
    assert margin > 0
    return (np.linalg.norm(rows, axis=1).max() / margin) ** 2


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_separable_classes_are_separated_within_the_bound_on_mistakes(seed, d):
    X, y = separable(seed, d=d)
    model = Perceptron(max_epochs=5000).fit(X, y)
    assert model.is_separated_
    assert (model.predict(X) == y).all()
    assert model.n_mistakes_ <= mistake_bound(model, X, y)


def test_the_weights_are_the_sum_of_the_mistaken_rows():
    X, y = separable(3, n=20)
    model = Perceptron(random_state=5).fit(X, y)
    order = np.argsort(X[:, 0])
    rows, sign = standardized(X)[order], np.where(y, 1, -1)[order]
    rng, weights, mistakes = np.random.default_rng(5), np.zeros(3), 1
    while mistakes:
        mistakes = 0
        for i in rng.permutation(20):
            if sign[i] * (rows[i] @ weights) <= 0:
                weights += sign[i] * rows[i]
                mistakes += 1
    assert_allclose(model.coef_[0], weights[:2] / X.std(axis=0), rtol=1e-9)
    assert_allclose(model.intercept_[0], weights[2] - model.coef_[0] @ X.mean(axis=0))


def test_classes_that_overlap_give_a_warning_and_the_best_weights_met():
    X, y = IRIS.data[50:, 2:], IRIS.target[50:]
    with pytest.warns(ConvergenceWarning, match=r"max_epochs=50 with .*% of the training rows"):
        model = Perceptron(max_epochs=50).fit(X, y)
    assert not model.is_separated_
    assert model.n_epochs_ == 50
    assert (model.predict(X) != y).mean() < 0.08


def test_three_separable_classes_are_separated():
    rng = np.random.default_rng(4)
    code = np.repeat([0, 1, 2], 30)
    X = rng.normal(size=(90, 2)) + 12 * np.array([[0, 0], [1, 0], [0, 1]])[code]
    names = np.array(["ash", "elm", "oak"])[code]
    model = Perceptron().fit(X, names)
    assert model.is_separated_
    assert (model.predict(X) == names).all()
    assert model.decision_function(X).shape == (90, 3)


def test_a_basis_separates_what_no_line_can():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    y = ["same", "same", "other", "other"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert not Perceptron().fit(X, y).is_separated_

    class Product(PolynomialBasis):
        """Columns and their product."""

        def design(self, X):
            return np.column_stack([X, X[:, 0] * X[:, 1]])

    assert Perceptron(Product(2)).fit(X, y).predict(X).tolist() == y


def test_a_row_of_weight_zero_is_absent():
    X, y = separable(7)
    weight = np.ones(len(X))
    weight[::3] = 0.0
    some = Perceptron().fit(X, y, sample_weight=weight)
    without = Perceptron().fit(X[weight > 0], y[weight > 0])
    assert_allclose(some.coef_, without.coef_)


def test_the_same_state_gives_the_same_weights_and_another_gives_others():
    X, y = separable(8)
    first, again, other = (Perceptron(random_state=s).fit(X, y).coef_ for s in (1, 1, 2))
    assert_allclose(first, again)
    assert not np.allclose(first, other)


def test_a_constant_column_has_no_weight():
    X, y = separable(9)
    model = Perceptron().fit(np.column_stack([X, np.full(len(X), 1e6)]), y)
    assert model.coef_[0, 2] == 0.0
    assert_allclose(model.coef_[0, :2], Perceptron().fit(X, y).coef_[0])


@pytest.mark.parametrize("max_epochs", [0, 2.5, "many", True])
def test_a_number_of_epochs_that_is_none_is_refused(max_epochs):
    with pytest.raises(ValueError, match="max_epochs must be a whole number, at least 1"):
        Perceptron(max_epochs=max_epochs).fit(*separable(0))


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least 2 classes"):
        Perceptron().fit(IRIS.data[:50], IRIS.target[:50])


def test_there_are_no_probabilities():
    assert not hasattr(Perceptron(), "predict_proba")

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from credo.numerics.optimize import (
    FreeCovariance,
    FreeSimplex,
    check_gradient,
    lbfgs,
    project_to_simplex,
)

vectors = arrays(float, st.integers(1, 6), elements=st.floats(-5, 5))


@settings(max_examples=50, deadline=None)
@given(vectors)
def test_euclidean_projection_is_the_nearest_probability_vector(x):
    p = project_to_simplex(x)
    assert_allclose(p.sum(), 1.0)
    assert p.min() >= 0
    # Nearest: every corner lies on the far side of the plane through p.
    corners = np.eye(len(x))
    assert ((corners - p) @ (x - p) <= 1e-9).all()


@settings(max_examples=50, deadline=None)
@given(vectors)
def test_clamping_gives_probabilities_in_proportion(x):
    p = project_to_simplex(x, "clamp")
    assert_allclose(p.sum(), 1.0)
    if (x > 1e-100).any():
        assert_allclose(p, np.maximum(x, 0) / np.maximum(x, 0).sum())


def test_the_two_projections_differ():
    x = [0.9, 0.6, -0.4]
    assert_allclose(project_to_simplex(x), [0.65, 0.35, 0.0])
    assert_allclose(project_to_simplex(x, "clamp"), [0.6, 0.4, 0.0])


def test_probabilities_are_left_alone_row_by_row():
    rows = np.random.default_rng(0).dirichlet(np.ones(4), size=3)
    for method in ("euclidean", "clamp"):
        assert_allclose(project_to_simplex(rows, method), rows)


def test_unknown_projection_is_refused():
    with pytest.raises(ValueError, match="method must be"):
        project_to_simplex([1.0], "sort")


def test_free_simplex_goes_there_and_back():
    p = np.array([0.2, 0.5, 0.3])
    assert_allclose(FreeSimplex.constrain(FreeSimplex.free(p)), p)


def test_simplex_gradient_is_pulled_back():
    p = np.array([0.1, 0.6, 0.3])

    def cross_entropy(free):
        return -float(p @ np.log(FreeSimplex.constrain(free)))

    def slope(free):
        return FreeSimplex.pull_back(free, -p / FreeSimplex.constrain(free))

    assert check_gradient(cross_entropy, slope, [0.3, -0.2, 1.0]).error < 1e-7
    found = lbfgs(cross_entropy, slope, np.zeros(3))
    assert_allclose(FreeSimplex.constrain(found.x), p, atol=1e-6)


def test_free_covariance_goes_there_and_back():
    root = np.random.default_rng(0).normal(size=(4, 4))
    K = root @ root.T + 0.1 * np.eye(4)
    free = FreeCovariance.free(K)
    assert free.shape == (10,)
    assert_allclose(FreeCovariance.constrain(free), K)


def test_any_free_numbers_give_a_covariance():
    free = np.random.default_rng(0).normal(size=(20, 6)) * 2
    for row in free:
        K = FreeCovariance.constrain(row)
        assert_allclose(K, K.T)
        assert np.linalg.eigvalsh(K).min() > 0


def test_covariance_gradient_is_pulled_back_and_finds_the_scatter():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3))
    S = x.T @ x / 200

    def loss(free):
        K = FreeCovariance.constrain(free)
        return float(np.linalg.slogdet(K)[1] + np.trace(np.linalg.solve(K, S)))

    def slope(free):
        inverse = np.linalg.inv(FreeCovariance.constrain(free))
        return FreeCovariance.pull_back(free, inverse - inverse @ S @ inverse)

    assert check_gradient(loss, slope, rng.normal(size=6) / 2).error < 1e-6
    assert_allclose(FreeCovariance.constrain(lbfgs(loss, slope, np.zeros(6)).x), S, rtol=1e-4)


def test_free_numbers_must_fill_a_triangle():
    with pytest.raises(ValueError, match="found 5"):
        FreeCovariance.constrain(np.zeros(5))

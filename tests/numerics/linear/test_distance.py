import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from credo.numerics.linear.distance import nearest, squared_distances


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_distances_match_scipy_even_far_from_the_origin(offset):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(7, 3)) + offset, rng.normal(size=(5, 3)) + offset
    assert_allclose(squared_distances(X, Y), cdist(X, Y, "sqeuclidean"), rtol=1e-9)


def test_distance_to_itself_is_never_negative():
    X = np.random.default_rng(0).normal(size=(50, 4)) * 1e5
    assert squared_distances(X, X).min() >= 0.0


def test_no_rows_on_either_side_give_an_empty_matrix():
    assert squared_distances(np.ones((3, 2)), np.empty((0, 2))).shape == (3, 0)
    assert squared_distances(np.empty((0, 2)), np.ones((3, 2))).shape == (0, 3)


def test_an_overflowing_distance_is_infinite():
    assert squared_distances(np.array([[1e200]]), np.array([[0.0], [1.0]])).tolist() == [
        [np.inf, np.inf]
    ]


def test_a_tie_goes_to_the_lowest_index(monkeypatch):
    monkeypatch.setattr("credo.numerics.linear.distance._BLOCK", 4)
    X = np.array([[0.0], [1.0], [1.1], [2.0], [0.9]])
    assert_array_equal(nearest(X, np.array([[0.0], [2.0]])), [0, 0, 1, 1, 0])

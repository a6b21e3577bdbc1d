from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from credo.numerics.array import squared_distances
from credo.numerics.linear.clustering import kmeans, nearest


def scatter_of(X, labels):
    return sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in set(labels))


def test_the_best_of_a_few_runs_is_the_best_of_all_labelings():
    X = np.random.default_rng(0).normal(size=(8, 2))
    labelings = (np.array(labels) for labels in product(range(3), repeat=8))
    best = min(scatter_of(X, labels) for labels in labelings)
    found = min(kmeans(X, 3, np.random.default_rng(seed)).scatter for seed in range(20))
    assert_allclose(found, best)


def test_a_result_is_a_fixed_point_of_the_alternation():
    X = np.random.default_rng(0).normal(size=(300, 3))
    result = kmeans(X, 7, np.random.default_rng(0))
    distances = np.linalg.norm(X[:, None] - result.centers, axis=2)
    assert_array_equal(result.labels, distances.argmin(axis=1))
    means = [X[result.labels == k].mean(axis=0) for k in range(7)]
    assert_allclose(result.centers, means)
    assert_allclose(result.scatter, (distances.min(axis=1) ** 2).sum())


def test_as_many_centers_as_distinct_rows_are_found():
    X = np.repeat([[0.0, 1.0], [5.0, 1.0], [9.0, 2.0]], 4, axis=0)
    result = kmeans(X, 10, np.random.default_rng(0))
    assert result.centers.shape == (3, 2)
    assert result.scatter == 0.0


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_a_large_offset_does_not_blur_the_clusters(offset):
    X = offset + np.repeat([0.0, 10.0], 50)[:, None] + np.arange(100)[:, None] % 2
    result = kmeans(X, 2, np.random.default_rng(0))
    assert_allclose(np.sort(result.centers - offset, axis=0), [[0.5], [10.5]])


def test_one_step_is_allowed_to_be_all():
    X = np.random.default_rng(0).normal(size=(50, 2))
    short = kmeans(X, 5, np.random.default_rng(0), max_steps=1)
    assert short.scatter >= kmeans(X, 5, np.random.default_rng(0)).scatter


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
    monkeypatch.setattr("credo.numerics.linear.clustering._BLOCK", 4)
    X = np.array([[0.0], [1.0], [1.1], [2.0], [0.9]])
    assert_array_equal(nearest(X, np.array([[0.0], [2.0]])), [0, 0, 1, 1, 0])

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import mahalanobis

from credo.numerics.linear.mahalanobis import mahalanobis_squares


def covariances(k, d):
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(k, d, d))
    return roots @ roots.swapaxes(-1, -2) + 0.1 * np.eye(d)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_squares_are_those_of_scipy(offset):
    rng = np.random.default_rng(1)
    x, centers, matrices = rng.normal(size=(9, 4)), rng.normal(size=(3, 4)), covariances(3, 4)
    found = mahalanobis_squares(x + offset, centers + offset, np.linalg.cholesky(matrices))
    inverses = np.linalg.inv(matrices)
    expected = [
        [mahalanobis(row, c, v) ** 2 for c, v in zip(centers, inverses, strict=True)]
        for row in x
    ]
    # Values near a million keep ten digits after the point, so their differences do too.
    assert_allclose(found, expected, rtol=1e-9 if offset == 0 else 1e-6)


def test_one_factor_serves_all_centers():
    rng = np.random.default_rng(2)
    x, centers, matrix = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), covariances(1, 3)
    lower = np.linalg.cholesky(matrix)
    every = np.repeat(lower, 4, axis=0)
    assert_allclose(
        mahalanobis_squares(x, centers, lower[0]), mahalanobis_squares(x, centers, every)
    )


def test_rows_in_many_blocks_are_all_answered():
    x = np.random.default_rng(3).normal(size=(70_000, 2))
    found = mahalanobis_squares(x, np.zeros((1, 2)), np.eye(2))
    assert_allclose(found[:, 0], (x**2).sum(axis=1))


def test_units_of_the_columns_change_no_distance():
    rng = np.random.default_rng(0)
    unit = np.array([1e-31, 1.0, 1e2, 1e-31, 1.0, 1.0, 1.0])
    lower = np.tril(rng.normal(size=(9, 7, 7))) + 2.0 * np.eye(7)
    # The last columns, such as those of one category, all lean on the first alike.
    lower[:, 4:, :4] = np.array([1.25, 1.0, -1.0])[:, None] * rng.normal(0.0, 1e-3, (9, 1, 4))
    x, centers = rng.normal(size=(5, 7)), rng.normal(size=(9, 7))
    found = mahalanobis_squares(x * unit, centers * unit, unit[:, None] * lower)
    assert_allclose(found, mahalanobis_squares(x, centers, lower), rtol=1e-9)

"""Sparse Cholesky factors against dense linear algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from credo.numerics.linear.linear_algebra import NotPositiveDefinite
from credo.numerics.linear.sparse_cholesky import SparseCholesky, minimum_degree


def random_matrix(seed, n=40, density=0.06):
    rng = np.random.default_rng(seed)
    half = sparse.random_array((n, n), density=density, rng=rng, format="csc")
    half.data = rng.normal(size=half.nnz)
    return sparse.csc_array(half @ half.T + sparse.diags_array(rng.uniform(0.1, 1.0, n)))


@pytest.mark.parametrize("seed", range(8))
def test_solutions_determinant_and_variances_equal_the_dense_ones(seed):
    matrix = random_matrix(seed)
    dense, factor = matrix.toarray(), SparseCholesky.of(matrix)
    b = np.random.default_rng(seed).normal(size=(40, 3))
    assert_allclose(factor.solve(b), np.linalg.solve(dense, b), rtol=1e-9, atol=1e-9)
    assert_allclose(factor.log_det(), np.linalg.slogdet(dense)[1], rtol=1e-12)
    assert_allclose(factor.inverse_diagonal(), np.diag(np.linalg.inv(dense)), rtol=1e-9)


def test_colored_unit_vectors_are_a_root_of_the_inverse():
    matrix = random_matrix(3)
    root = SparseCholesky.of(matrix).color(np.eye(40))
    assert_allclose(root @ root.T, np.linalg.inv(matrix.toarray()), rtol=1e-8, atol=1e-9)


def test_right_hand_sides_are_left_as_they_were():
    matrix, b = random_matrix(1), np.ones((40, 2))
    SparseCholesky.of(matrix).solve(b)
    SparseCholesky.of(matrix).color(b)
    assert np.all(b == 1.0)


def test_an_empty_matrix_has_an_empty_factor():
    factor = SparseCholesky.of(sparse.csc_array((0, 0)))
    assert factor.log_det() == 0.0
    assert factor.solve(np.zeros((0, 3))).shape == (0, 3)


def test_trees_have_no_fill():
    rng = np.random.default_rng(0)
    n = 300
    parent = [int(rng.integers(0, i)) for i in range(1, n)]
    links = sparse.coo_array((np.full(n - 1, 0.3), (np.arange(1, n), parent)), shape=(n, n))
    matrix = sparse.csc_array(links + links.T + sparse.diags_array(np.full(n, 20.0)))
    assert SparseCholesky.of(matrix).n_entries == 2 * n - 1
    assert sorted(minimum_degree(matrix)) == list(range(n))


def test_a_matrix_that_is_not_definite_is_refused():
    with pytest.raises(NotPositiveDefinite, match="no positive pivot left for row 1"):
        SparseCholesky.of(sparse.csc_array([[1.0, 1.0], [1.0, 1.0]]))

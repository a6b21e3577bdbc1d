import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate

from credo.numerics.linear.linear_algebra import (
    Cholesky,
    NotPositiveDefinite,
    block_inverse,
    cholesky,
    log_gaussian_integral,
    solve_lower,
    symmetrize,
)


def definite(rng, d, n=None):
    root = rng.normal(size=(d, d) if n is None else (n, d, d))
    return root @ root.swapaxes(-1, -2) + np.eye(d)


@pytest.mark.parametrize("n", [None, 3])
def test_factor_solves_and_measures_like_the_explicit_inverse(n):
    rng = np.random.default_rng(0)
    a = definite(rng, 4, n)
    factor = cholesky(a)
    b = rng.normal(size=(*a.shape[:-1], 2))
    assert factor.jitter == 0.0
    assert_allclose(factor.lower @ factor.lower.swapaxes(-1, -2), a)
    assert_allclose(factor.solve(b), np.linalg.inv(a) @ b)
    assert_allclose(factor.inverse(), np.linalg.inv(a))
    assert_allclose(factor.log_det(), np.linalg.slogdet(a)[1])
    x = rng.normal(size=(5, *a.shape[:-1]))
    distance = np.einsum("...i,...ij,...j->...", x, np.linalg.inv(a), x)
    assert_allclose((factor.whiten(x) ** 2).sum(axis=-1), distance)


def test_transposed_solve_undoes_the_transposed_product():
    rng = np.random.default_rng(1)
    lower = np.linalg.cholesky(definite(rng, 3))
    b = rng.normal(size=(3, 2))
    assert_allclose(lower.T @ solve_lower(lower, b, transposed=True), b)
    stack = np.stack([lower, 2 * lower])
    assert_allclose(solve_lower(stack, b, transposed=True)[1], solve_lower(2 * lower, b, True))


def test_semi_definite_matrix_is_factored_with_a_reported_jitter():
    a = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    factor = cholesky(a)
    assert 0 < factor.jitter < 1e-8 * np.trace(a)
    assert_allclose(factor.lower @ factor.lower.T, a + factor.jitter * np.eye(3), atol=1e-12)
    with pytest.raises(NotPositiveDefinite):
        cholesky(a, largest_jitter=0.0)


def test_positive_determinant_does_not_make_a_matrix_definite():
    a = np.diag([-1.0, -1.0])
    assert np.linalg.det(a) > 0
    with pytest.raises(NotPositiveDefinite, match="smallest eigenvalue -1 "):
        cholesky(a)


def test_block_inverse_is_the_inverse_of_the_whole():
    rng = np.random.default_rng(2)
    whole = definite(rng, 5)
    blocks = block_inverse(whole[:2, :2], whole[:2, 2:], whole[2:, :2], whole[2:, 2:])
    assert_allclose(
        np.block([[blocks[0], blocks[1]], [blocks[2], blocks[3]]]), np.linalg.inv(whole)
    )
    sigma = np.array([[2.0, 0.6], [0.6, 1.0]])
    precision = block_inverse(*(sigma[i : i + 1, j : j + 1] for i in (0, 1) for j in (0, 1)))
    printed = [0.6097560976, -0.3658536585, -0.3658536585, 1.2195121951]
    assert_allclose(np.ravel(precision), printed, atol=5e-11)


def test_gaussian_integral_matches_cubature():
    a, b, c = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0]), 0.3

    def density(y, x):
        v = np.array([x, y])
        return np.exp(-0.5 * (v @ a @ v + v @ b + c))

    expected = integrate.dblquad(density, -9, 9, -9, 9, epsabs=1e-9)[0]
    assert_allclose(np.exp(log_gaussian_integral(a, b, c)), expected, rtol=1e-7)
    assert_allclose(np.exp(log_gaussian_integral(a, b, c)), 5.4400239213, atol=5e-11)
    with pytest.raises(NotPositiveDefinite):
        log_gaussian_integral(-a, b, c)


def test_symmetric_part_has_no_skew():
    a = np.arange(4.0).reshape(2, 2)
    assert_allclose(symmetrize(a), [[0.0, 1.5], [1.5, 3.0]])


def test_whitening_many_vectors_by_a_few_factors_equals_one_solve_each():
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(3, 4, 4))
    factor = cholesky(roots @ roots.swapaxes(-1, -2) + 0.1 * np.eye(4))
    vectors = rng.normal(size=(2, 5, 3, 4))
    found = factor.whiten(vectors)
    for i in np.ndindex(2, 5, 3):
        expected = np.linalg.solve(factor.lower[i[2]], vectors[i])
        assert_allclose(found[i], expected, rtol=1e-9, atol=1e-12)


def test_units_of_the_columns_whiten_to_the_same_coordinates():
    rng = np.random.default_rng(0)
    unit = np.array([1e-31, 1.0, 1e2, 1e-31, 1.0, 1.0, 1.0])
    lower = np.tril(rng.normal(size=(9, 7, 7))) + 2.0 * np.eye(7)
    lower[:, 4:, :4] = np.array([1.25, 1.0, -1.0])[:, None] * rng.normal(0.0, 1e-3, (9, 1, 4))
    plain, scaled = Cholesky(lower), Cholesky(unit[:, None] * lower)
    for x in (rng.normal(size=(9, 7)), rng.normal(size=(3, 9, 7))):
        assert_allclose(scaled.whiten(x * unit), plain.whiten(x), rtol=1e-9, atol=1e-12)

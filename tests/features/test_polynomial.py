import numpy as np
import pytest
from numpy.polynomial import legendre, polynomial
from numpy.testing import assert_allclose

from credo.features.polynomial import PolynomialBasis


def test_one_column_is_the_vandermonde_matrix_without_its_constant():
    x = np.linspace(-1.5, 2.0, 9)
    assert_allclose(PolynomialBasis(4).design(x[:, None]), polynomial.polyvander(x, 4)[:, 1:])


def test_each_column_is_what_its_name_says():
    X = np.random.default_rng(0).normal(size=(6, 3))
    basis = PolynomialBasis(3)
    columns = dict(zip("abc", X.T, strict=True))
    for name, column in zip(basis.names("abc"), basis.design(X).T, strict=True):
        assert_allclose(column, eval(name.replace("^", "**"), {}, columns))


def test_products_come_in_graded_order():
    names = PolynomialBasis(3).names(["a", "b"])
    assert names == ["a", "b", "a^2", "a*b", "b^2", "a^3", "a^2*b", "a*b^2", "b^3"]


@pytest.mark.parametrize("orthogonal", [False, True])
def test_degree_zero_is_empty(orthogonal):
    basis = PolynomialBasis(0, orthogonal=orthogonal).place(np.ones((4, 2)))
    assert basis.design(np.ones((4, 2))).shape == (4, 0)
    assert basis.names(["a", "b"]) == []


def test_degree_n_minus_one_interpolates_n_points():
    rng = np.random.default_rng(0)
    x, y = rng.random(6), rng.normal(size=6)
    design = np.column_stack([np.ones(6), PolynomialBasis(5).design(x[:, None])])
    assert_allclose(design @ np.linalg.solve(design, y), y, atol=1e-9)


@pytest.mark.parametrize("n_samples", [21, 40, 500])
def test_orthogonal_polynomials_stay_conditioned_to_degree_twenty(n_samples):
    x = 1000.0 + np.random.default_rng(0).random((n_samples, 1))
    design = PolynomialBasis(20, orthogonal=True).place(x).design(x)
    assert np.linalg.cond(np.column_stack([np.ones(n_samples), design])) < 1.01


def test_orthogonal_polynomials_on_a_fine_even_grid_are_legendre_polynomials():
    x = np.linspace(-1, 1, 200_001)
    basis = PolynomialBasis(5, orthogonal=True).place(x[:, None])
    new = np.array([-1.5, -0.3, 0.0, 0.8])
    expected = legendre.legvander(new, 5)[:, 1:] * np.sqrt(2 * np.arange(1, 6) + 1)
    # The grid differs from the uniform density by O(1/n).
    assert_allclose(basis.design(new[:, None]), expected, rtol=1e-3, atol=1e-12)


def test_orthogonal_products_span_what_monomials_span():
    X = np.random.default_rng(0).normal(size=(40, 3))
    plain = np.column_stack([np.ones(40), PolynomialBasis(3).design(X)])
    other = PolynomialBasis(3, orthogonal=True).place(X).design(X)
    assert other.shape[1] + 1 == plain.shape[1]
    assert_allclose(plain @ np.linalg.lstsq(plain, other)[0], other, atol=1e-10)


def test_orthogonal_powers_of_an_indicator_stop_at_the_first():
    X = np.column_stack([np.arange(8.0), np.arange(8) % 2])
    basis = PolynomialBasis(2, orthogonal=True).place(X)
    assert basis.names(["a", "b"]) == ["P1(a)", "P1(b)", "P2(a)", "P1(a)*P1(b)"]
    assert basis.n_columns(2) == basis.design(X).shape[1] == 4


def test_too_many_products_are_refused_before_they_are_built():
    with pytest.raises(ValueError, match="at most 5000 columns; found 4598125"):
        PolynomialBasis(4).place(np.zeros((2, 100)))


def test_orthogonal_polynomials_need_placing():
    with pytest.raises(ValueError, match="must be placed before"):
        PolynomialBasis(2, orthogonal=True).design([[1.0]])


@pytest.mark.parametrize("degree", [-1, 1.5])
def test_degree_must_be_a_whole_number(degree):
    with pytest.raises(ValueError, match="degree must be a whole number"):
        PolynomialBasis(degree)

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from credo.features import ContinuedBasis, PolynomialBasis, RadialBasis, SplineBasis
from credo.features.additive import LinearBasis
from credo.features.basis import ConcatenatedBasis, distinct_rows


def test_sum_of_bases_is_their_columns_side_by_side():
    X = np.random.default_rng(0).normal(size=(5, 2))
    joined = (LinearBasis() + PolynomialBasis(2) + LinearBasis()).place(X)
    expected = np.hstack([X, PolynomialBasis(2).design(X), X])
    assert isinstance(joined, ConcatenatedBasis)
    assert len(joined.parts) == 3
    assert_array_equal(joined.design(X), expected)


def test_repeated_names_are_counted():
    names = (LinearBasis() + LinearBasis() + LinearBasis()).names(["a", "b"])
    assert names == ["a", "b", "a#2", "b#2", "a#3", "b#3"]


def test_an_empty_part_adds_nothing():
    X = np.arange(6.0).reshape(3, 2)
    assert_array_equal((PolynomialBasis(0) + LinearBasis()).design(X), X)
    assert ConcatenatedBasis((PolynomialBasis(0),)).design(X).shape == (3, 0)


def test_the_cap_holds_for_the_sum():
    X = np.zeros((2, 2600))
    with pytest.raises(ValueError, match="ConcatenatedBasis must have at most 5000 columns"):
        (LinearBasis() + LinearBasis()).place(X)


def test_only_bases_can_be_added():
    with pytest.raises(TypeError):
        LinearBasis() + 1


@pytest.mark.parametrize("X", [[1.0, 2.0], np.zeros((2, 2, 2))])
def test_inputs_must_be_a_matrix(X):
    with pytest.raises(ValueError, match="found shape"):
        LinearBasis().design(X)


def test_placing_needs_a_row():
    with pytest.raises(ValueError, match="at least one row"):
        LinearBasis().place(np.empty((0, 3)))


def test_repeated_and_weightless_rows_are_left_out():
    x = np.random.default_rng(0).integers(0, 4, size=(300, 3)).astype(float)
    found = distinct_rows(x)
    assert_array_equal(
        found[np.lexsort(found.T)], np.unique(x, axis=0)[np.lexsort(np.unique(x, axis=0).T)]
    )
    weight = np.arange(300) % 2.0
    assert_array_equal(distinct_rows(x, weight), distinct_rows(x[1::2]))


def test_order_and_units_of_rows_do_not_matter():
    x = np.random.default_rng(0).normal(size=(50, 2))
    assert_array_equal(distinct_rows(x[::-1]), distinct_rows(x))
    assert_array_equal(distinct_rows(x * [1024.0, 0.5]), distinct_rows(x) * [1024.0, 0.5])


@pytest.mark.parametrize(
    "basis",
    [RadialBasis(3), PolynomialBasis(2, orthogonal=True), ContinuedBasis(SplineBasis(4))],
    ids=str,
)
def test_a_column_whose_squares_vanish_counts_as_constant(basis):
    x = np.random.default_rng(0).normal(size=(20, 3))
    tiny, constant = x * [1.0, 1e-200, 1.0], x * [1.0, 0.0, 1.0]
    found = basis.place(tiny).design(tiny)
    assert np.isfinite(found).all()
    if not isinstance(basis, ContinuedBasis):
        expected = basis.place(constant).design(constant)
        np.testing.assert_allclose(np.unique(found, axis=1), np.unique(expected, axis=1))

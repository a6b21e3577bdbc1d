import numpy as np
import pytest
from numpy.testing import assert_array_equal

from credo.features import ContinuedBasis, PolynomialBasis, RadialBasis, SplineBasis
from credo.features.placement import distinct_rows


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

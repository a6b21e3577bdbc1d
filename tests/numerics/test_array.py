""""""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.numerics.array import as_float, has_missing, is_constant, unmasked, usual_variance
from credo.numerics.linear.moments import Moments


def test_masked_entries_are_missing():
    mask = [False, True]
    assert_array_equal(as_float(np.ma.array([1.0, 2.0], mask=mask)), [1.0, np.nan])
    assert_array_equal(as_float(np.ma.array([1, 2], mask=mask)), [1.0, np.nan])
    assert unmasked(np.ma.array(["a", "b"], mask=mask)).tolist() == ["a", None]
    assert_array_equal(unmasked(np.ma.array([1, 2])), [1, 2])


@pytest.mark.parametrize("values", [[1.0, np.inf], [1e308, 1e308], [np.inf, -np.inf], []])
def test_numbers_without_a_finite_sum_are_not_missing(values):
    assert not has_missing(np.array(values))
    assert has_missing(np.array([*values, np.nan]))


@pytest.mark.parametrize("dtype", ["datetime64[s]", "timedelta64[D]"])
def test_times_are_no_numbers(dtype):
    with pytest.raises(ValueError, match="found dates or durations"):
        as_float(np.array([3, 4]).astype(dtype))


def test_integers_beyond_the_largest_number_are_refused():
    with pytest.raises(ValueError, match=r"below 1\.8e308"):
        as_float([10**400, 1])


def test_any_byte_order_gives_the_same_numbers():
    found = as_float(np.array([1.5, 2.0], dtype=">f8"))
    assert found.dtype.isnative
    assert_array_equal(found, [1.5, 2.0])


@pytest.mark.parametrize("n", [2, 300, 10_000, 65_536, 200_000])
@pytest.mark.parametrize("value", [0.0, 0.1, 2.5, 3.3, -7.7, 1e15, 1e-300])
def test_rounding_error_of_equal_values_is_no_spread(n, value):
    moments = Moments.of([np.full((n, 3), value)])
    spread = np.sqrt(np.diagonal(moments.scatter) / n)
    assert is_constant(moments.mean, spread).all()


@pytest.mark.parametrize("unit", [1e-10, 1.0, 1e10])
def test_a_small_spread_is_a_spread_in_any_unit(unit):
    x = unit * (1.0 + 1e-10 * np.array([-1.0, 1.0]))
    assert not is_constant(x.mean(), x.std())
    assert not is_constant(np.array(0.0), np.array(1e-10 * unit))
    assert_allclose(usual_variance(x.mean(), x.var()), x.var())


def test_the_usual_variance_of_a_constant_carries_its_unit():
    assert_allclose(usual_variance(np.array([3.0, 3e6, 0.0]), np.zeros(3)), [9.0, 9e12, 1.0])

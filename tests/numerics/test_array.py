import numpy as np
import pytest
from numpy.testing import assert_array_equal

from credo.numerics.array import as_float, unmasked


def test_masked_entries_are_missing():
    mask = [False, True]
    assert_array_equal(as_float(np.ma.array([1.0, 2.0], mask=mask)), [1.0, np.nan])
    assert_array_equal(as_float(np.ma.array([1, 2], mask=mask)), [1.0, np.nan])
    assert unmasked(np.ma.array(["a", "b"], mask=mask)).tolist() == ["a", None]
    assert_array_equal(unmasked(np.ma.array([1, 2])), [1, 2])


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

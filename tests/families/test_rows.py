import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.families.rows import (
    as_complete_rows,
    as_label,
    as_rows,
    as_weight,
    weight_by_entry,
    weighted_sum,
)


def test_infinities_of_both_signs_are_refused_and_missing_values_pass():
    assert_allclose(as_rows([[1.0, np.nan]]), [[1.0, np.nan]])
    with pytest.raises(ValueError, match=r"x must be finite; found inf at index \(0, 0\)"):
        as_rows([[np.inf, -np.inf]])


def test_numbers_whose_sum_overflows_are_finite():
    assert_allclose(as_rows([1e308, 1e308]), [1e308, 1e308])
    assert_allclose(as_complete_rows([[1e308], [1e308]], np.ones(2)), [[1e308], [1e308]])


def test_one_weight_serves_all_rows():
    assert_allclose(as_weight(2.0, 3), [2.0, 2.0, 2.0])


def test_labels_may_be_whole_floats_but_not_fractions():
    assert as_label([0.0, 1.0], 2, 2).dtype == np.intp
    with pytest.raises(ValueError, match=r"label must be an integer from 0 to 1; found 0.5"):
        as_label([0.5, 1.0], 2, 2)


def test_a_missing_entry_has_no_weight_and_its_neighbors_keep_theirs():
    values, weights = weight_by_entry(
        np.array([[1.0, np.nan], [3.0, 4.0]]), np.array([2.0, 5.0])
    )
    assert_allclose(values, [[1.0, 0.0], [3.0, 4.0]])
    assert_allclose(weights, [[2.0, 0.0], [5.0, 5.0]])
    assert_allclose(weighted_sum(weights, values), [17.0, 20.0])

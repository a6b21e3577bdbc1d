import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LinearRegression, LogisticRegression

from credo.validation.outcome import Outcome, class_codes, coded, row_weights


@pytest.mark.parametrize(
    "y",
    [
        ["b", "a", None],
        np.array(["b", "a", np.nan], dtype=object),
        pd.Series(["b", "a", None]),
        pd.Series(["b", "a", None], dtype="category"),
        pl.Series(["b", "a", None]),
    ],
    ids=["list", "object", "pandas", "category", "polars"],
)
def test_labels_are_coded_whatever_holds_them(y):
    assert_array_equal(class_codes(y, np.array(["a", "b"])), [1, 0, -1])
    labels, codes = coded(y)
    assert labels.tolist() == ["a", "b"]
    assert_array_equal(codes, [1, 0, -1])


@pytest.mark.parametrize("y", [[2, 1], [2.0, 1.0], np.array([2, 1], dtype=np.int8)])
def test_equal_numbers_are_equal_labels(y):
    assert_array_equal(class_codes(y, np.array([1, 2, 3])), [1, 0])


def test_booleans_are_labels():
    assert_array_equal(class_codes([True, False], np.array([False, True])), [1, 0])


def test_labels_need_not_be_sorted():
    assert_array_equal(class_codes(["x", "b"], np.array(["x", "b", "a"])), [0, 1])


def test_an_unknown_label_is_refused():
    with pytest.raises(ValueError, match=r"labels \['a', 'b'\] .* found \['c'\]"):
        class_codes(["a", "c"], np.array(["a", "b"]))


def test_several_columns_are_refused():
    with pytest.raises(ValueError, match=r"one class for each row; found shape \(2, 2\)"):
        coded([[1, 2], [3, 4]])


def test_an_estimator_tells_whether_outcomes_are_classes():
    assert Outcome.of(LinearRegression(), [1, 2]).classes is None
    outcome = Outcome.of(LogisticRegression(), ["b", "a"])
    assert_array_equal(outcome.classes, ["a", "b"])
    assert_array_equal(outcome.codes, [1, 0])


def test_weights_are_one_for_each_row_or_one_for_all():
    assert_array_equal(row_weights(None, 3), [1, 1, 1])
    assert_array_equal(row_weights(2.0, 3), [2, 2, 2])
    with pytest.raises(ValueError, match=r"each of the 3 rows, not all 0; found shape \(2,\)"):
        row_weights([1.0, 2.0], 3)
    with pytest.raises(ValueError, match="weight must be non-negative; found -1"):
        row_weights([1.0, -1.0], 2)


def test_the_order_of_bytes_and_masks_do_not_matter():
    labels, codes = coded(np.array([3, 1, 3], dtype=">i8"))
    assert labels.tolist() == [1, 3]
    assert codes.tolist() == [1, 0, 1]
    assert coded(np.ma.array([3, 1, 3], mask=[True, False, False]))[1].tolist() == [-1, 0, 1]

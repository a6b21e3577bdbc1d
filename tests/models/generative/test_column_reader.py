import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from credo.models import NaiveBayes
from credo.models.generative.naive_bayes import (
    Category,
    CategoryCount,
    category_codes,
    chosen_kinds,
    source_of,
    typed_rows,
)

NAN = np.nan


def source(table):
    return source_of(NaiveBayes(), table, is_first=True)


def category(values, declared=()):
    return Category(np.array(values, dtype=object), np.array(declared, dtype=object))


@pytest.mark.parametrize(
    ("column", "kind", "numbers"),
    [
        (pd.Series([1, 2, 3]), "gaussian", [1, 2, 3]),
        (pd.Series([1.5, NAN, 3]), "gaussian", [1.5, NAN, 3]),
        (pd.Series([True, False, True]), "bernoulli", [1, 0, 1]),
        (pd.Series([True, None, False], dtype=object), "bernoulli", [1, NAN, 0]),
        (pd.array([True, None, False], dtype="boolean"), "bernoulli", [1, NAN, 0]),
        (pd.array([1, None, 3], dtype="Int64"), "gaussian", [1, NAN, 3]),
        (pl.Series([True, None, False]), "bernoulli", [1, NAN, 0]),
        (pl.Series([1, None, 3]), "gaussian", [1, NAN, 3]),
        (pd.Series([None, None, None], dtype=object), "categorical", None),
        (pd.Series(["a", None, "b"]), "categorical", None),
        (pd.Series(["a", 1, None], dtype=object), "categorical", None),
        (pd.Series([1, 2, 1], dtype="category"), "categorical", None),
        (pl.Series(["a", None, "b"], dtype=pl.Categorical), "categorical", None),
    ],
    ids=str,
)
def test_the_type_of_a_column_decides_its_kind(column, kind, numbers):
    frame = (pl if isinstance(column, pl.Series) else pd).DataFrame({"a": column})
    found = source(frame)
    assert found.kinds() == (kind,)
    if numbers is not None:
        assert_array_equal(found.numbers([0]), np.array(numbers, dtype=float)[:, None])


def test_columns_are_dealt_to_their_kinds_in_order():
    frame = pd.DataFrame({"n": [1.0, 2.0], "c": ["u", "v"], "b": [True, False], "m": [3, NAN]})
    table = source(frame)
    kinds = chosen_kinds(table, {"m": "counts"}, np.array(frame.columns))
    rows = typed_rows(table, kinds)
    assert_array_equal(rows.numbers, [[1.0], [2.0]])
    assert_array_equal(rows.binary, [[1.0], [0.0]])
    assert rows.categories[0].values.tolist() == ["u", "v"]
    assert_array_equal(rows.counts.toarray(), [[3.0], [0.0]])
    assert_array_equal(rows.is_counted, [True, False])


def test_a_sparse_matrix_holds_counts_without_stored_zeros():
    matrix = sparse.csc_array((np.array([1.0, 0.0]), ([0, 1], [0, 1])), shape=(2, 2))
    rows = typed_rows(source(matrix), source(matrix).kinds())
    assert rows.counts.nnz == 1
    assert rows.numbers.shape == (2, 0)


def test_a_plain_array_is_read_without_a_copy():
    x = np.zeros((4, 2))
    assert np.shares_memory(source(x).numbers([0, 1]), x)


def test_a_frame_of_floats_is_read_as_its_array_whatever_is_asked_of_its_columns():
    x = np.array([[1.0, NAN, 2.0], [0.0, 3.0, 2.0]])
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    read = source(frame)
    assert read.numbers([0, 1, 2]).base is not None
    kinds = ("gaussian", "counts", "categorical")
    for same in (frame.astype("Float64"), pl.DataFrame(frame)):
        rows, expected = typed_rows(read, kinds), typed_rows(source(same), kinds)
        assert_array_equal(rows.numbers, expected.numbers)
        assert_array_equal(rows.is_counted, expected.is_counted)
        assert_array_equal(rows.categories[0].values, expected.categories[0].values)


def test_category_counts_add_over_the_union_of_their_states():
    label, weight = np.array([0, 1, 0]), np.array([1.0, 2.0, 4.0])
    a = CategoryCount.by_group(category(["u", "v", None]), label, 2, weight)
    b = CategoryCount.by_group(category(["w", "u", "w"]), label, 2, weight)
    total = a + b
    assert total.states.tolist() == ["u", "v", "w"]
    assert_array_equal(total.statistics.counts, [[1, 0, 5], [2, 2, 0]])
    assert_array_equal((total - b).statistics.counts, [[1, 0, 0], [0, 2, 0]])


def test_an_empty_column_has_no_states_until_one_comes():
    label, weight = np.array([0, 1]), np.ones(2)
    nothing = CategoryCount.by_group(category([None, None]), label, 2, weight)
    assert len(nothing.states) == 0
    total = nothing + CategoryCount.by_group(category(["u", None]), label, 2, weight)
    assert_array_equal(total.statistics.counts, [[1.0], [0.0]])


def test_rows_without_weight_teach_no_category_and_declared_ones_are_known():
    label, weight = np.array([0, 1]), np.array([1.0, 0.0])
    found = CategoryCount.by_group(category(["u", "v"], ["u", "z"]), label, 2, weight)
    assert found.states.tolist() == ["u", "z"]


def test_numbers_as_categories_match_whatever_their_type():
    states = np.array([1.0, 2.0])
    for values in ([1, 2, 3], [1.0, 2.0, NAN], [np.int8(1), True + 1, None]):
        assert category_codes(category(values), states).tolist() == [0, 1, -1]


def test_text_and_numbers_do_not_mix_as_categories():
    with pytest.raises(ValueError, match="all text or all numbers"):
        category_codes(category(["a"]), np.array([1.0]))

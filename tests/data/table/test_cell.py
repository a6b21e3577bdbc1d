import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from credo.data.table import cell


@given(st.lists(st.dates(datetime.date(1600, 1, 1), datetime.date(2400, 1, 1)), min_size=1))
def test_days_count_from_1970_in_every_notation(dates):
    expected = [(date - datetime.date(1970, 1, 1)).days for date in dates]
    for layout in ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y"):
        words = pd.Series([date.strftime(layout) for date in dates], dtype=object)
        values, is_wrong = cell.days(words)
        assert_array_equal(values, expected)
        assert not is_wrong.any()
    assert_array_equal(cell.days(pd.Series(pd.to_datetime(dates)))[0], expected)
    assert_array_equal(cell.days(pd.Series(dates, dtype=object))[0], expected)


def test_an_offset_moves_a_time_to_utc():
    values, _ = cell.days(pd.Series(["1970-01-02T01:00+01:00", "1970-01-02 00:00"]))
    assert_array_equal(values, [1.0, 1.0])
    zoned = pd.Series(pd.to_datetime(["1970-01-02T01:00+01:00"]))
    assert_array_equal(cell.days(zoned)[0], [1.0])


@pytest.mark.parametrize("word", ["2024-13-01", "30.02.2024", "2024-1", "20240101", "1/2/2024"])
def test_what_is_no_date_is_marked(word):
    values, is_wrong = cell.days(pd.Series([word]))
    assert np.isnan(values[0])
    assert is_wrong[0]


@pytest.mark.parametrize("dtype", ["int8", "Int64", "float32", "Float64", "bool", "boolean"])
def test_every_number_type_gives_the_same_numbers(dtype):
    values, is_text = cell.numbers(pd.Series([1, 0, 1], dtype=dtype))
    assert_array_equal(values, [1.0, 0.0, 1.0])
    assert values.dtype == np.float64
    assert not is_text.any()


def test_missing_entries_of_nullable_types_are_missing():
    assert np.isnan(cell.numbers(pd.Series([1, None], dtype="Int64"))[0][1])
    assert np.isnan(cell.numbers(pd.Series([True, None], dtype="boolean"))[0][1])
    assert cell.text(pd.Series(["a", None], dtype="string")).tolist() == ["a", None]


def test_a_word_among_truth_values_makes_them_text():
    values, is_text = cell.numbers(pd.Series(["true", "false", "maybe"]))
    assert np.isnan(values).all()
    assert is_text.all()


COLUMNS = [
    pd.Series([1.0, 1.0, 1.0]),
    pd.Series([0.0, -0.0]),
    pd.Series([1.5, np.nan, 1.5]),
    pd.Series([np.nan, np.nan]),
    pd.Series([0.1, 1e300, -2.0, np.inf, 123456789.0]),
    pd.Series([3, 3], dtype="Int64"),
    pd.Series([3, None], dtype="Int64"),
    pd.Series([0.1, 0.1], dtype=np.float32),
    pd.Series([True, True]),
    pd.Series(["NA", "?"]),
    pd.Series(["a", " a"]),
    pd.Series(["a", None]),
    pd.Series(pd.to_datetime(["2024-01-01", "2024-01-01"])),
]


@pytest.mark.parametrize("series", COLUMNS, ids=lambda s: f"{s.dtype}-{s.tolist()}")
def test_what_is_missing_and_uniform_can_be_read_off_the_texts(series):
    words = cell.text(series)
    assert_array_equal(cell.is_missing(series), [word is None for word in words])
    assert cell.is_uniform(series) == (len(set(words)) == 1)


@given(st.lists(st.floats(allow_nan=False)))
def test_floats_are_written_as_python_writes_them(values):
    expected = [str(int(v)) if v.is_integer() else str(v) for v in values]
    assert cell.text(pd.Series(values, dtype=np.float64)).tolist() == expected

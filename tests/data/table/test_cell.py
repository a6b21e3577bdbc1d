import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from credo.data.error import TableError
from credo.data.table import cell
from credo.data.table.cell import Cells, number_style
from credo.data.table.preparation import TableSchema
from credo.data.table.table import as_table
from credo.data.table.target import prepare_target


@given(st.lists(st.dates(datetime.date(1600, 1, 1), datetime.date(2400, 1, 1)), min_size=1))
def test_days_count_from_1970_in_every_notation(dates):
    expected = [(date - datetime.date(1970, 1, 1)).days for date in dates]
    for layout in ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y"):
        words = pd.Series([date.strftime(layout) for date in dates], dtype=object)
        column = Cells(words)
        assert_array_equal(column.days, expected)
        assert not column.is_undated.any()
    assert_array_equal(Cells(pd.Series(pd.to_datetime(dates))).days, expected)
    assert_array_equal(Cells(pd.Series(dates, dtype=object)).days, expected)


def test_an_offset_moves_a_time_to_utc():
    column = Cells(pd.Series(["1970-01-02T01:00+01:00", "1970-01-02 00:00"]))
    assert_array_equal(column.days, [1.0, 1.0])
    zoned = pd.Series(pd.to_datetime(["1970-01-02T01:00+01:00"]))
    assert_array_equal(Cells(zoned).days, [1.0])


@pytest.mark.parametrize("word", ["2024-13-01", "30.02.2024", "2024-1", "20240101", "1/2/2024"])
def test_what_is_no_date_is_marked(word):
    column = Cells(pd.Series([word]))
    assert np.isnan(column.days[0])
    assert column.is_undated[0]


@pytest.mark.parametrize("dtype", ["int8", "Int64", "float32", "Float64", "bool", "boolean"])
def test_every_number_type_gives_the_same_numbers(dtype):
    column = Cells(pd.Series([1, 0, 1], dtype=dtype))
    assert_array_equal(column.numbers, [1.0, 0.0, 1.0])
    assert column.numbers.dtype == np.float64
    assert not column.is_text.any()
    assert not column.has_text


def test_missing_entries_of_nullable_types_are_missing():
    assert np.isnan(Cells(pd.Series([1, None], dtype="Int64")).numbers[1])
    assert np.isnan(Cells(pd.Series([True, None], dtype="boolean")).numbers[1])
    assert Cells(pd.Series(["a", None], dtype="string")).text.tolist() == ["a", None]


def test_a_word_among_truth_values_makes_them_text():
    column = Cells(pd.Series(["true", "false", "maybe"]))
    assert np.isnan(column.numbers).all()
    assert column.is_text.all()


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
    column = Cells(series)
    words = column.text.tolist()
    assert_array_equal(column.is_missing, [word is None for word in words])
    assert column.n_missing == words.count(None)
    assert column.is_uniform == (len(set(words)) == 1)
    assert [column.word(row) for row in range(len(series))] == words


PLACES = ([], [0], [1, 0], [3, 1, 1], list(range(7)), [6, 5, 2])
MIXED = pd.Series([" red", "NA", "true", "2.5", "red", "false", "2024-01-31"])


@pytest.mark.parametrize("positions", PLACES, ids=str)
def test_rows_of_a_column_that_was_read_are_as_if_read_alone(positions):
    part = MIXED.iloc[positions].reset_index(drop=True)
    whole = Cells(MIXED)
    assert whole.words.levels == ["red", "true", "2.5", "false", "2024-01-31"]
    taken, alone = whole.rows(part, np.array(positions, dtype=int)), Cells(part)
    assert taken.has_words
    assert taken.words.levels == alone.words.levels
    assert taken.text.tolist() == alone.text.tolist()
    for name in ("numbers", "days", "is_text", "is_missing", "is_undated"):
        assert_array_equal(getattr(taken, name), getattr(alone, name))
    assert taken.has_text == alone.has_text
    assert taken.is_uniform == alone.is_uniform


def test_words_are_read_once_unless_too_many_of_them_differ(monkeypatch):
    n_read = []
    read = cell.Words.of
    monkeypatch.setattr(cell.Words, "of", lambda series: n_read.append(1) or read(series))
    few, many = Cells(pd.Series(["a", "b"])), Cells(pd.Series(["a", "b", "c"]))
    monkeypatch.setattr(cell, "MOST_KEPT", 2)
    for column in (few, many):
        assert column.has_text
        assert column.text[0] == "a"
    assert len(n_read) == 3
    held = many.held()
    assert held.text.tolist() == ["a", "b", "c"] == held.words.levels
    assert len(n_read) == 4
    assert few.has_words
    assert not held.over(many.series).has_words


@given(st.lists(st.floats(allow_nan=False)))
def test_floats_are_written_as_python_writes_them(values):
    expected = [str(int(v)) if v.is_integer() else str(v) for v in values]
    assert Cells(pd.Series(values, dtype=np.float64)).text.tolist() == expected


N = 40
RNG = np.random.default_rng(0)
STYLES = {
    "thousands separators": [f"{value:,}" for value in RNG.integers(100, 9_999_999, N)],
    "percent signs": [f"{value:.3f}%" for value in RNG.uniform(0, 100, N)],
    "currency signs": [f"${value:,.2f}" for value in RNG.uniform(0, 5000, N)],
    "decimal commas": [f"{value:.2f}".replace(".", ",") for value in RNG.uniform(0, 99, N)],
}


@pytest.mark.parametrize("style", STYLES)
def test_a_column_of_styled_numbers_is_left_out_with_its_real_cause(style):
    (note,) = TableSchema.of(pd.DataFrame({"x": STYLES[style]})).notes
    assert f"they look like numbers with {style}: write 1234.5" in note


@pytest.mark.parametrize("style", STYLES)
def test_a_target_of_styled_numbers_is_refused_with_its_real_cause(style):
    with pytest.raises(TableError, match=f"numbers with {style}: write 1234.5") as caught:
        prepare_target(pd.DataFrame({"x": range(N), "y": STYLES[style]}), "y")
    assert "classes" not in str(caught.value)


def test_one_styled_number_among_plain_ones_is_refused_with_its_cause():
    column = [*map(str, range(30)), "1,234"]
    with pytest.raises(TableError, match=r"'1,234' on row 31, which has thousands separators"):
        as_table(pd.DataFrame({"x": column}))


@pytest.mark.parametrize("words", [["1.234,56", "12.000,5"], ["1 234", "12 000.5"]])
def test_thousands_are_known_whatever_separates_them(words):
    assert number_style(words) == "thousands separators"


@pytest.mark.parametrize(
    "words", [["12-34", "56-78"], ["a", "b"], ["1", "2.5", "-3e4"], ["12.5.2024"], [], ["%"]]
)
def test_other_text_and_plain_numbers_have_no_style(words):
    assert number_style(words) == ""


def test_a_dash_is_a_missing_value():
    frame = as_table(pd.DataFrame({"x": ["1.5", "-", "-2", "3"]})).frame
    assert frame["x"].isna().tolist() == [False, True, False, False]
    assert frame["x"].dropna().tolist() == [1.5, -2, 3]


LONG = 200_000
"""Letters of a text that quadratic work would take hours for."""


@pytest.mark.parametrize("start", ["", "-", "1,", ".", "1e", "$", "1.000"])
def test_long_cells_are_told_in_time_that_grows_with_their_length(start):
    for filling in ("9", "9 ", "9,", "9.", "123,"):
        assert number_style([start + filling * (LONG // len(filling)) + "x"]) == ""


@pytest.mark.parametrize("letter", ["9", "é"])
def test_a_message_quotes_at_most_eighty_characters_of_a_cell(letter):
    words = [*map(str, range(20)), letter * 40_000 + "x"]
    with pytest.raises(TableError, match="found the text") as caught:
        prepare_target(as_table(pd.DataFrame({"y": words})), "y", "regression")
    assert len(str(caught.value)) < 400

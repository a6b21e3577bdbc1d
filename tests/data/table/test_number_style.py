import numpy as np
import pandas as pd
import pytest

from credo.data.error import TableError
from credo.data.table.columns import TableSchema
from credo.data.table.number_style import number_style
from credo.data.table.table import as_table
from credo.data.table.target import prepare_target

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

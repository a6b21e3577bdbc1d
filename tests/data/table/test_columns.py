import numpy as np
import pandas as pd
import pytest

from credo.data import Column, TableSchema, column_kinds

RNG = np.random.default_rng(0)
SITES = RNG.choice(["north", "south", "east"], 100)


def kind(values, name="x"):
    frame = pd.DataFrame({name: values})
    # A second input, so that row numbers are not all that is left.
    return column_kinds(frame.assign(other_=RNG.normal(size=len(frame))))[name]


@pytest.mark.parametrize(
    ("values", "name", "expected"),
    [
        (RNG.normal(size=100), "x", "number"),
        (RNG.integers(0, 5, 100), "x", "number"),
        (RNG.random(100) < 0.5, "x", "number"),
        ([True, None, False] * 10, "x", "number"),
        (SITES, "x", "category"),
        ([1.0, None] * 50, "x", "number"),
        (["yes", None] * 50, "x", "category"),
        (pd.Categorical(RNG.integers(0, 3, 100)), "x", "category"),
        (pd.date_range("2024-01-01", periods=100), "x", "date"),
        ([f"2024-01-{day:02d}" for day in range(1, 31)], "x", "date"),
        ([f"{day:02d}.01.2024 " for day in range(1, 31)], "x", "date"),
        (["2024-01-01 10:00", "2024-01-01 11:30", None], "x", "date"),
        (np.arange(100), "x", "id"),
        (np.arange(1, 101), "x", "id"),
        (RNG.permutation(100) + 7000, "customer_id", "id"),
        (RNG.permutation(100) + 7000, "PassengerId", "id"),
        (RNG.permutation(100), "Index", "id"),
        ([*range(7000, 7095), *range(7000, 7005)], "ID", "id"),
        ([*range(7000, 7099), None], "Id", "id"),
        ([*range(7000, 7090), *range(7000, 7010)], "id", "number"),
        ([*range(7000, 7095), *range(7000, 7005)], "price", "number"),
        (RNG.permutation(100) + 7000, "price", "number"),
        (RNG.integers(0, 5, 100), "customer_id", "number"),
        (RNG.normal(size=100), "valid", "number"),
        (np.arange(1900, 2000), "year", "number"),
        ([f"person {i}" for i in range(100)], "x", "id"),
        ([f"word {i % 80}" for i in range(100)], "x", "text"),
        ([f"word {i % 40}" for i in range(100)], "x", "category"),
        ([5.0] * 100, "x", "constant"),
        (["same"] * 100, "x", "constant"),
        ([None] * 100, "x", "empty"),
        ([np.nan] * 100, "x", "empty"),
        (["NA", "?"] * 50, "x", "empty"),
    ],
)
def test_each_kind_of_column_is_recognized(values, name, expected):
    assert kind(values, name) == expected


def test_what_is_left_out_is_said_with_its_reason():
    frame = pd.DataFrame(
        {
            "id": [11, 12, 13, 14],
            "unit": ["kg"] * 4,
            "note": [None] * 4,
            "who": ["Ann", "Bob", "Cy", "Di"],
            "when": ["01/02/2024", "01/03/2024", "02/04/2024", "02/05/2024"],
            "x": [0.5, 0.1, 0.3, 0.2],
        }
    )
    assert TableSchema.of(frame).notes == (
        "Column 'id' is left out: it numbers the rows.",
        "Column 'unit' is left out: all its values are 'kg'.",
        "Column 'note' is left out: all its values are missing.",
        "Column 'who' is left out: each row has a text of its own.",
        "Column 'when' is left out: each row has a text of its own (dates must be written as "
        "2024-01-31).",
    )
    assert [column.name for column in TableSchema.of(frame).used] == ["x"]


def test_kept_columns_are_used_and_the_target_is_not_described():
    frame = pd.DataFrame(
        {"t": range(5), "who": list("abcde"), "x": [2, 1, 2, 1, 5], "y": range(5)}
    )
    schema = TableSchema.of(frame, leave_out=["y"], keep=["t", "who"])
    assert schema.kinds == {"t": "number", "who": "category", "x": "number"}


def test_row_numbers_are_used_where_nothing_else_is_left():
    frame = pd.DataFrame({"t": range(5), "who": list("abcde")})
    assert column_kinds(frame) == {"t": "number", "who": "id"}


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match=r"'number', 'category'.*found 'picture'"):
        Column("x", "picture")


def test_an_identifier_with_a_few_repeats_is_left_out_and_the_note_counts_them():
    frame = pd.DataFrame(
        {"ID": [*range(500, 595), *range(500, 505)], "x": RNG.normal(size=100)}
    )
    assert TableSchema.of(frame).notes == (
        "Column 'ID' is left out: it is named like an identifier, and 95 of its 100 values "
        "differ.",
    )


def test_ignored_columns_are_left_out_but_row_numbers_stay_row_numbers():
    frame = pd.DataFrame({"id": [7, 8, 9], "x": [1.5, 2.0, 0.5], "site": ["a", "b", "a"]})
    schema = TableSchema.of(frame, ignore=["site", "id"])
    assert schema.kinds == {"id": "id", "x": "number", "site": "ignored"}
    assert schema.notes[-1] == "Column 'site' is left out: it is to be ignored."

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from credo.data import TableError, as_table, prepare_target, set_path
from credo.data.table.target import known_outcomes


def refused(frame, name="y", task="auto"):
    with pytest.raises(TableError) as caught:
        prepare_target(frame, name, task)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_rows_without_a_target_are_left_out_with_a_note():
    frame = pd.DataFrame({"x": range(5), "y": [1.0, None, 3.0, None, 5.0]})
    target = prepare_target(frame, "y")
    assert_array_equal(target.y, [1.0, 3.0, 5.0])
    assert_array_equal(target.rows, [0, 2, 4])
    assert target.notes == ("2 of 5 rows are left out: their target 'y' is missing.",)
    assert prepare_target(frame, "x").notes == ()


def test_a_task_that_is_not_known_is_refused_with_the_nearest():
    frame = pd.DataFrame({"y": [0.5, 1.5, 2.5]})
    assert refused(frame, task="regresion") == (
        "`task` must be 'auto', 'classification' or 'regression'; found 'regresion'; did you "
        "mean 'regression'?"
    )
    assert "found None; leave it out" in refused(frame, task=None)


def test_a_misspelled_target_gets_the_nearest_names():
    message = refused(set_path("concrete"), "strenght")
    assert message == (
        "target column 'strenght' must be in concrete.csv; the nearest name is 'strength'; "
        "pass `target='strength'`."
    )
    assert "pass `target='water'`" in refused(set_path("concrete"), "Water")


def test_a_target_like_nothing_gets_the_list_of_columns():
    assert "its columns are 'x', 'y'" in refused(pd.DataFrame({"x": [1], "y": [2]}), "quality")


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        (pd.to_datetime(["2024", "2025", "2026"]), ["found dates"]),
        ([7.0, 7.0, 7.0], ["must vary; found 7 in all 3 rows"]),
        ([7.0, None, 7.0], ["must vary; found 7 in all 2 rows"]),
        ([None, np.nan, None], ["at least 2 rows; found all its values missing"]),
        ([1.0, None, None], ["at least 2 rows; found 1 row with a value"]),
        ([0.0, 0.0, 0.0], ["must vary; found 0 in all 3 rows"]),
        ([1.0, np.inf, 2.0], ["must hold finite numbers; found inf on row 2"]),
        ([1.0, -2e150, 2.0], ["within 1e+70", "found -2e+150 on row 2", "unit"]),
        ([1e-200, 2e-200, 0.0], ["at least 1e-70", "found a range of 2e-200", "unit"]),
        ([5e-324, 0.0, 0.0], ["at least 1e-70", "found a range of 4.94066e-324"]),
    ],
)
def test_a_target_that_cannot_be_learned_is_refused(values, parts):
    message = refused(pd.DataFrame({"y": values, "x": range(3)}))
    for part in parts:
        assert part in message, message


def test_one_row_is_refused():
    assert "at least 2 rows" in refused(pd.DataFrame({"x": [1.0], "y": [2.0]}))


@pytest.mark.parametrize("size", [1e-69, 1e69])
def test_a_target_within_the_limits_is_kept_as_it_is(size):
    y = prepare_target(pd.DataFrame({"y": [size, 3 * size, 2 * size]}), "y").y
    assert_array_equal(y, [size, 3 * size, 2 * size])


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        (["red", "blue", "red"], ["must be a number column", "'red', 'blue'", "`task='class"]),
        (["1", "2", "low"], ["found 'low'"]),
        ([True, False, True], ["found 'True', 'False'"]),
        (pd.Categorical([1, 2, 1]), ["found '1', '2'"]),
    ],
)
def test_classes_are_refused_where_a_number_is_asked_for(values, parts):
    message = refused(pd.DataFrame({"y": values}), task="regression")
    for part in parts:
        assert part in message, message


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["red", "blue", " red", "NA"], ["red", "blue", "red"]),
        ([True, False, True, None], ["True", "False", "True"]),
        (pd.Categorical([1, 2, 1, None]), ["1", "2", "1"]),
        ([1.0, 2.0, 1.0, np.nan], ["1", "2", "1"]),
    ],
)
def test_text_truth_categories_and_two_numbers_are_classes(values, labels):
    frame = pd.DataFrame({"y": values})
    target = prepare_target(pd.concat([frame] * 3), "y")
    assert target.has_classes
    assert_array_equal(target.y, labels * 3)
    assert_array_equal(target.rows, [0, 1, 2, 4, 5, 6, 8, 9, 10])
    assert target.notes[0].startswith("3 of 12 rows are left out: their target 'y' is missing")


def test_numbers_are_predicted_as_asked_with_a_note_where_it_may_be_wrong():
    pair = pd.DataFrame({"y": [0, 1] * 5})
    (note,) = prepare_target(pair, "y").notes
    assert "only two values and is predicted as classes; pass `task='regression'`" in note
    assert not prepare_target(pair, "y", "regression").has_classes
    code = pd.DataFrame({"y": [1, 2, 3, 5] * 5})
    (note,) = prepare_target(code, "y").code_notes
    assert "only 4 different values, whole numbers" in note
    target = prepare_target(code, "y", "classification")
    assert (target.y.tolist()[:4], target.notes) == (["1", "2", "3", "5"], ())
    assert target.code_notes == ()


@pytest.mark.parametrize(
    ("values", "part"),
    [
        (["a"] * 9, "must have at least 2 classes; found 'a' in all 9 rows"),
        (["a"] * 9 + ["b"], "at least 3 rows of each class, .* found 1 of 'b'; add rows"),
        ([f"name {i}" for i in range(99)], "at most 50 classes; found 99 different values"),
        ([None, None, None], "found all its values missing"),
    ],
)
def test_classes_that_cannot_be_learned_are_refused(values, part):
    assert re.search(part, refused(pd.DataFrame({"y": values}), task="classification"))


def test_texts_of_the_target_that_are_read_as_missing_are_named(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,kind\n" + "1,None\n2,brick\n3, NA\n4,\n5,stone\n" * 3)
    said = (
        "9 of 15 rows are left out: their target 'kind' is missing (read as missing: 'None', "
        "'NA').",
    )
    assert prepare_target(path, "kind").notes == said
    frame = pd.DataFrame({"kind": ["None", "brick", "NA", None, "stone"] * 3})
    assert prepare_target(frame, "kind").notes == said
    path.write_text("x,kind\n" + "1,\n2,brick\n3,stone\n" * 3)
    assert prepare_target(path, "kind").notes == (
        "3 of 9 rows are left out: their target 'kind' is missing.",
    )


@pytest.mark.parametrize("name", [None, ["y"], ("y", "y"), 1.5, True])
def test_a_target_that_is_no_name_is_refused(name):
    message = refused(pd.DataFrame({"y": [1.0, 2.0, 3.0]}), name)
    assert message == (
        f"`target` must be the name of one column; found {name!r}; pass that name as text."
    )


@pytest.mark.parametrize("kind", [np.array, pd.Series, list, pl.Series])
def test_outcomes_in_place_of_a_name_are_told_where_to_go(kind):
    message = refused(pd.DataFrame({"x": range(40)}), kind(list(range(40))))
    assert "found values of type" in message
    assert "put them into the table as a column, or use TableRegressor" in message


def test_columns_named_by_numbers_can_be_targets():
    frame = pd.DataFrame({0: [1.0, 2.0, 4.0], 5: [0.5, 1.5, 2.5]})
    target = prepare_target(frame, 5)
    assert (target.name, target.y.tolist()) == ("5", [0.5, 1.5, 2.5])
    assert "target column '4' must be in the table; its columns are '0', '5'" in refused(
        frame, 4
    )


@pytest.mark.parametrize("is_file", [False, True])
def test_classes_that_are_written_with_leading_zeros_keep_them(is_file, tmp_path):
    frame = pd.DataFrame({"x": range(8), "y": ["007", "008"] * 4})
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = as_table(tmp_path / "t.csv" if is_file else frame)
    target = prepare_target(table, "y")
    assert target.y[:2].tolist() == ["007", "008"]
    assert target.labels is None
    assert known_outcomes(table, "y", ["007", "008"]).y[:2].tolist() == ["007", "008"]
    assert known_outcomes(table, "y", ["7", "8"]).y[:2].tolist() == ["7", "8"]

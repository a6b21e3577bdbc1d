import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.data import (
    Column,
    TableError,
    TablePreparation,
    TableSchema,
    as_table,
    column_kinds,
    load_set,
    read_table,
)
from credo.data.table.table import Table

TRAINING = pd.DataFrame(
    {
        "id": [101, 102, 103, 104, 105, 106],
        "age": [20.0, None, 40.0, 60.0, None, 80.0],
        "dose": [1, 2, 3, 4, 5, 7],
        "site": ["a", "b", "a", "b", "rare", "odd"],
        "seen": ["2024-03-01", "2024-01-31", None, "2024-02-29", "2024-03-01", "2024-03-02"],
        "y": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    }
)
LEARNED = TablePreparation.learn(TRAINING, target="y")


def new_rows(**columns):
    base = {"age": [30.0], "dose": [2.5], "site": ["a"], "seen": ["2024-02-01"]}
    return pd.DataFrame({**base, **columns})


def cells(frame):
    X, names, _ = LEARNED.prepare(frame)
    return dict(zip(names, X[0].tolist(), strict=True))


def test_the_design_matrix_of_a_worked_table():
    X, names, notes = LEARNED.prepare(TRAINING)
    assert names == (
        "age",
        "dose",
        "site = a",
        "site = b",
        "site = other",
        "seen (days since 2024-01-31)",
    )
    assert_allclose(
        X,
        [
            [20, 1, 1, 0, 0, 30],
            [np.nan, 2, 0, 1, 0, 0],
            [40, 3, 1, 0, 0, np.nan],
            [60, 4, 0, 1, 0, 29],
            [np.nan, 5, 0, 0, 1, 30],
            [80, 7, 0, 0, 1, 31],
        ],
    )
    assert X.dtype == np.float64
    assert notes == (
        "3 missing values in 2 columns ('age', 'seen') were averaged over, given what else the "
        "rows have.",
        "2 values of 'site' were rare or new ('odd', 'rare') and counted as 'other'.",
    )
    trained = notes[0].replace(" were", " in the training rows were", 1)
    assert LEARNED.notes == (
        "Column 'id' is left out: it numbers the rows.",
        trained,
        *notes[1:],
    )


def test_nothing_is_learned_from_rows_to_predict():
    alone = LEARNED.prepare(TRAINING.iloc[[3]]).X
    assert_array_equal(alone, LEARNED.prepare(TRAINING).X[[3]])
    shifted = TRAINING.assign(age=TRAINING["age"] * 100)
    assert_array_equal(LEARNED.prepare(shifted).X[:, 1:], LEARNED.prepare(TRAINING).X[:, 1:])


def test_a_new_level_counts_as_other():
    row = cells(new_rows(site=["moon"]))
    assert (row["site = a"], row["site = b"], row["site = other"]) == (0, 0, 1)
    assert "1 value of 'site' was rare or new ('moon') and counted as 'other'." in (
        LEARNED.prepare(new_rows(site=["moon"])).notes
    )


def test_a_new_level_is_the_average_level_where_training_had_nothing_rare():
    learned = TablePreparation.learn(pd.DataFrame({"c": ["a", "b"] * 3}))
    X, names, notes = learned.prepare(pd.DataFrame({"c": ["new", "b"]}))
    assert names == ("c = a", "c = b")
    assert_array_equal(X, [[0, 0], [0, 1]])
    assert "predicted as the average level" in notes[0]


def test_a_missing_category_is_a_level_only_where_that_tells():
    frame = pd.DataFrame({"c": ["a", None, "b", "a"] * 10})
    telling = np.where(frame["c"].isna(), 5.0, 0.0) + np.linspace(-1, 1, 40)
    learned = TablePreparation.learn(frame, y=telling)
    assert learned.names == ("c = a", "c = b", "c is missing")
    assert_array_equal(
        learned.prepare(pd.DataFrame({"c": [None, "b"]})).X, [[0, 0, 1], [0, 1, 0]]
    )
    silent = TablePreparation.learn(frame, y=np.linspace(-1, 1, 40))
    X, names, notes = silent.prepare(pd.DataFrame({"c": [None, "b"]}))
    assert names == ("c = a", "c = b")
    assert_array_equal(X, [[np.nan, np.nan], [0, 1]])
    assert notes == (
        "1 missing value of 'c' was averaged over, given what else the rows have.",
    )


@pytest.mark.parametrize("column", [[1.0, None, 3.0, 2.0], ["2024-01-01", None, "2024-02-01"]])
def test_an_indicator_stays_only_where_the_evidence_favors_it(column):
    frame = pd.DataFrame({"v": np.resize(np.array(column, dtype=object), 40), "w": range(40)})
    is_missing = frame["v"].isna().to_numpy()
    noise = np.random.default_rng(0).normal(size=40)
    names = TablePreparation.learn(frame, y=noise + 3 * is_missing, keep=["w"]).names
    assert "v is missing" in names
    assert "v is missing" not in TablePreparation.learn(frame, y=noise, keep=["w"]).names
    labels = np.where(is_missing, "gap", "none")
    assert "v is missing" in TablePreparation.learn(frame, y=labels, keep=["w"]).names
    even = np.where(np.arange(40) % 2 == 0, "a", "b")
    assert "v is missing" not in TablePreparation.learn(frame.iloc[::2], y=even[::2]).names


def test_a_gap_that_training_never_had_is_averaged_over_and_counted():
    X, names, notes = LEARNED.prepare(new_rows(dose=[None]))
    assert np.isnan(X[0, names.index("dose")])
    assert "dose is missing" not in names
    assert notes == (
        "1 missing value of 'dose' was averaged over, given what else the rows have.",
    )
    missing = LEARNED.missing(LEARNED.prepare(new_rows(dose=[None])))
    assert missing.columns == ("dose",)
    assert missing.rows.tolist() == [True]


def test_a_category_keeps_its_most_frequent_levels():
    counts = {f"level {i:02d}": 200 - i for i in range(60)}
    frame = pd.DataFrame({"c": [level for level, n in counts.items() for _ in range(n)]})
    code = TablePreparation.learn(frame).codes[0]
    assert code.levels == tuple(f"level {i:02d}" for i in range(50))
    assert code.has_other
    (note,) = TablePreparation.learn(frame).notes
    assert note.endswith("; only the 50 most frequent levels have weights of their own.")


def test_notes_on_training_say_that_gaps_are_of_its_rows():
    frame = pd.DataFrame({"a": [1.0, None, 2.0, 4.0], "b": [3.0, 1.0, None, 2.0]})
    learned = TablePreparation.learn(frame)
    (trained,), (prepared,) = learned.notes, learned.prepare(frame).notes
    assert trained == prepared.replace(" were", " in the training rows were", 1)
    assert trained != prepared


def test_a_single_rare_level_keeps_its_column():
    learned = TablePreparation.learn(pd.DataFrame({"c": ["a", "a", "b", "b", "once"]}))
    assert learned.names == ("c = a", "c = b", "c = once")


def test_every_training_row_has_exactly_one_level():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.choice([*"abcdefgh"], 60)})
    X = TablePreparation.learn(frame).prepare(frame).X
    assert_array_equal(X.sum(axis=1), np.ones(60))
    assert np.all(X.sum(axis=0) > 0)


def test_categories_written_as_numbers_are_found_again(tmp_path):
    (tmp_path / "new.csv").write_text("zip,x\n01,1.5\n02,2.5\n")
    training = pd.DataFrame({"zip": ["01", "02", "A3"] * 3, "x": np.arange(9) ** 2.0})
    learned = TablePreparation.learn(training)
    assert learned.text_columns == ("zip",)
    X, names, _ = learned.prepare(tmp_path / "new.csv")
    assert names[:3] == ("zip = 01", "zip = 02", "zip = A3")
    assert_array_equal(X, [[1, 0, 0, 1.5], [0, 1, 0, 2.5]])
    whole = read_table(tmp_path / "new.csv", text_columns=learned.text_columns)
    assert_array_equal(learned.prepare(whole).X, X)


def test_a_number_is_the_same_level_with_and_without_a_decimal_point():
    learned = TablePreparation.learn(pd.DataFrame({"c": pd.Categorical([1, 2, 1, 2])}))
    assert_array_equal(learned.prepare(pd.DataFrame({"c": [2.0, 1.0]})).X, [[0, 1], [1, 0]])


def test_booleans_are_numbers_in_any_spelling():
    learned = TablePreparation.learn(pd.DataFrame({"b": [True, False, True, None]}))
    X = learned.prepare(pd.DataFrame({"b": ["true", "False", None]})).X
    assert_array_equal(X, [[1], [0], [np.nan]])


def test_times_of_day_are_fractions_of_days():
    learned = TablePreparation.learn(pd.DataFrame({"t": ["2024-01-01 12:00", "2024-01-03"]}))
    assert_allclose(learned.prepare(pd.DataFrame({"t": ["2024-01-02T00:00Z"]})).X, [[0.5]])
    assert learned.names == ("t (days since 2024-01-01)",)


def test_only_the_gaps_of_a_constant_column_are_used():
    frame = pd.DataFrame({"pool": [1.0, None, 1.0, None], "x": [1.5, 2, 4, 8]})
    learned = TablePreparation.learn(frame)
    assert learned.names == ("pool is missing", "x")
    assert_array_equal(learned.prepare(frame).X[:, 0], [0, 1, 0, 1])


def test_the_order_of_columns_does_not_matter_and_extra_ones_are_ignored_with_a_note():
    shuffled = TRAINING.iloc[:, ::-1].assign(extra=1)
    X, _, notes = LEARNED.prepare(shuffled)
    assert_array_equal(X, LEARNED.prepare(TRAINING).X)
    assert notes[-1] == "1 column was not there in training and ignored: 'extra'."
    assert len(notes) == len(LEARNED.prepare(TRAINING.drop(columns=["y", "id"])).notes) + 1


def test_a_missing_column_is_refused_with_the_nearest_name():
    renamed = TRAINING.rename(columns={"dose": "Doses"})
    with pytest.raises(TableError, match=r"column 'dose' must be in the table; .* 'Doses'"):
        LEARNED.prepare(renamed)


def test_text_in_a_learned_number_column_is_refused():
    with pytest.raises(TableError, match=r"column 'dose' .* found 'much' in row 2"):
        LEARNED.prepare(pd.concat([new_rows(), new_rows(dose=["much"])]))


def test_a_word_in_a_learned_date_column_is_refused():
    with pytest.raises(TableError, match=r"column 'seen' .* found 'soon' in row 1"):
        LEARNED.prepare(new_rows(seen=["soon"]))


def test_infinite_values_to_predict_are_refused():
    with pytest.raises(TableError, match=r"column 'age' .* found inf on row 1"):
        LEARNED.prepare(new_rows(age=[np.inf]))


def test_the_schema_of_the_whole_table_types_the_training_part():
    table = as_table(pd.DataFrame({"n": range(20), "x": np.arange(20) ** 2, "y": range(20)}))
    part = table.rows(np.random.default_rng(0).permutation(20)[:10])
    assert TablePreparation.learn(part, "y").inputs == ("n", "x")
    schema = TableSchema.of(table, leave_out=["y"])
    assert TablePreparation.learn(part, "y", schema).inputs == ("x",)


def test_a_column_without_variety_in_the_training_part_is_left_out():
    table = as_table(
        pd.DataFrame({"u": [1, 1, 1, 2], "v": [None, None, None, 3.0], "x": [1, 3, 2, 5]})
    )
    learned = TablePreparation.learn(table.rows([0, 1, 2]), schema=TableSchema.of(table))
    assert learned.inputs == ("x",)
    assert learned.notes == (
        "Column 'u' is left out: all its training values are '1'.",
        "Column 'v' is left out: all its training values are missing.",
    )


def test_a_table_without_inputs_is_refused():
    with pytest.raises(TableError, match="none besides the target"):
        TablePreparation.learn(pd.DataFrame({"y": [1, 2]}), "y")
    with pytest.raises(TableError, match="Column 'c' is left out"):
        TablePreparation.learn(pd.DataFrame({"y": [1, 2], "c": [3, 3]}), "y")


def test_pandas_and_polars_prepare_alike():
    polars = pl.DataFrame(
        {
            "x": [1.0, None, 3.0],
            "c": ["a", "b", None],
            "t": pl.Series(["2024-01-01", "2024-01-02", None]).str.to_date(),
        }
    )
    pandas = pd.DataFrame(
        {"x": [1.0, None, 3.0], "c": ["a", "b", None], "t": ["2024-01-01", "2024-01-02", None]}
    )
    learned = TablePreparation.learn(polars)
    assert learned == TablePreparation.learn(pandas)
    assert_array_equal(learned.prepare(polars).X, learned.prepare(pandas).X)


def test_numbers_pass_through_untouched():
    concrete = load_set("concrete")
    learned = TablePreparation.learn(concrete, "strength")
    X, names, notes = learned.prepare(concrete)
    assert_array_equal(X, concrete.drop(columns="strength").to_numpy())
    assert names == tuple(concrete.columns[:-1])
    assert notes == learned.notes == ()


def test_numbers_that_differ_too_little_in_training_are_left_out_or_only_marked():
    frame = pd.DataFrame(
        {
            "x": [1.0, 2.5, 3.0, 4.0],
            "tiny": [1e-200, 2e-200, 3e-200, 1.0],
            "gappy": [1e-200, None, 3e-200, 1.0],
        }
    )
    schema = TableSchema.of(frame)
    assert schema.kinds == {"x": "number", "tiny": "number", "gappy": "number"}
    preparation = TablePreparation.learn(frame.head(3), schema=schema)
    assert preparation.names == ("x", "gappy is missing")
    assert "'tiny' is left out: its training values differ by less than" in preparation.notes[0]


def test_gaps_that_are_treated_alike_are_one_sentence_that_names_five_columns():
    values = {f"v{i}": ["y", "n", None] * 3 for i in range(7)}
    frame = pd.DataFrame(
        values | {"a": [1.0, None, 3.0] * 3, "b": [None, None, *range(7)], "c": range(2, 11)}
    )
    assert TablePreparation.learn(frame, keep=["c"]).notes == (
        "26 missing values in 9 columns ('v0', 'v1', 'v2', 'v3', 'v4', ...) in the training "
        "rows were averaged over, given what else the rows have.",
    )


def test_all_columns_that_are_absent_are_named_at_once():
    frame = pd.DataFrame({name: [1.5, 2.0, 0.5] for name in "abcdefg"})
    with pytest.raises(TableError) as raised:
        TablePreparation.learn(frame).prepare(frame[["a"]])
    assert str(raised.value) == (
        "7 columns must be in the table; found that 6 are not: 'b', 'c', 'd', 'e', 'f', ...; "
        "its columns are 'a'; rename columns, or add them."
    )


def test_the_names_of_columns_are_listed_as_often_for_many_as_for_few(monkeypatch):
    listed = []
    monkeypatch.setattr(
        Table,
        "columns",
        property(lambda table: listed.append(1) or list(table.frame.columns)),
    )

    def n_listed(n_columns):
        listed.clear()
        values = np.random.default_rng(0).normal(size=(6, n_columns))
        TablePreparation.learn(pd.DataFrame(values, columns=map(str, range(n_columns))))
        return len(listed)

    assert n_listed(80) == n_listed(5) > 0


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


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_whole_numbers_that_differ_beyond_the_digits_of_floats_are_not_called_equal(kind):
    values = (2**60 + np.arange(40) % 7).astype(kind)
    [column] = TableSchema.of(pd.DataFrame({"x": values})).columns
    assert column.kind == "constant"
    assert column.note == (
        "Column 'x' is left out: its values differ only in digits beyond the 15 that a number "
        "can hold, so that one of them must be subtracted from all."
    )


def test_equal_whole_numbers_of_any_size_are_constant():
    [column] = TableSchema.of(pd.DataFrame({"x": np.full(9, 2**60 + 1)})).columns
    assert column.note == f"Column 'x' is left out: all its values are '{2**60 + 1}'."

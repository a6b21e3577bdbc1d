import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from credo.graphs import UnknownState, UnknownVariable, Variable
from credo.models.network.value.findings import is_frame, read_findings, with_settings

VARIABLES = {
    "grade": Variable("grade", ("low", "mid", "high")),
    "passed": Variable("passed", (False, True)),
    "year": Variable("year", (1, 2, 3)),
    "pair": Variable("pair", ((0, 1), (1, 0))),
    "height": Variable("height"),
}


def test_states_become_positions_and_numbers_stay_numbers():
    found = read_findings(VARIABLES, {"grade": "high", "year": 1, "passed": True, "height": 3})
    assert {name: codes.tolist() for name, codes in found.codes.items()} == {
        "grade": [2],
        "year": [0],
        "passed": [1],
    }
    assert found.values["height"].tolist() == [3.0]
    assert (found.n_rows, found.index) == (1, None)
    assert found.names == {"grade", "year", "passed", "height"}


@pytest.mark.parametrize("nothing", [None, {}, {"grade": None}, {"height": float("nan")},
                                     {"year": np.nan, "passed": pd.NA}])  # fmt: skip
def test_what_is_missing_is_not_known(nothing):
    found = read_findings(VARIABLES, nothing)
    assert found.names == frozenset()
    assert found.n_rows == 1


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"low": 0.1, "high": 0.5, "mid": 0.2}, [0.1, 0.2, 0.5]),
        ([1, 0, 3], [1.0, 0.0, 3.0]),
        ((0.1, 0.2, 0.3), [0.1, 0.2, 0.3]),
        (np.array([3.0, 2.0, 1.0]), [3.0, 2.0, 1.0]),
        (pd.Series([7.0, 8.0, 9.0], index=["high", "low", "mid"]), [8.0, 9.0, 7.0]),
        ({"high", "low"}, [1.0, 0.0, 1.0]),
        (frozenset(["mid"]), [0.0, 1.0, 0.0]),
    ],
    ids=["dict", "list", "tuple", "array", "series", "set", "frozenset"],
)
def test_uncertain_findings_are_likelihoods_in_the_order_of_the_states(written, expected):
    found = read_findings(VARIABLES, {"grade": written})
    assert_array_equal(found.likelihood["grade"], np.array(expected)[:, None])
    assert not found.is_known("grade")
    assert found.names == {"grade"}


def test_a_tuple_that_is_a_state_is_that_state():
    assert read_findings(VARIABLES, {"pair": (1, 0)}).codes["pair"].tolist() == [1]
    likely = read_findings(VARIABLES, {"pair": (2.0, 5.0)})
    assert likely.likelihood["pair"].ravel().tolist() == [2.0, 5.0]


@pytest.mark.parametrize(
    "likelihood",
    [
        [0.5, 0.5],
        [0.1, -0.2, 0.3],
        [0.0, 0.0, 0.0],
        [0.1, float("nan"), 0.2],
        {"low": 0.3, "mid": 0.2},
        {"low": 0.3, "mid": 0.2, "high": -1.0},
        set(),
        [[0.1, 0.2, 0.3]],
    ],
    ids=str,
)
def test_a_likelihood_must_have_a_number_for_each_state_none_negative(likelihood):
    with pytest.raises(
        ValueError, match=r"likelihood of grade must hold.*\['low', 'mid', 'high'\]; found"
    ):
        read_findings(VARIABLES, {"grade": likelihood})


def test_a_likelihood_must_be_finite():
    with pytest.raises(ValueError, match=r"must be finite; found .*Pass ratios"):
        read_findings(VARIABLES, {"grade": [0.1, float("inf"), 0.2]})


def test_strangers_are_named_with_the_nearest():
    with pytest.raises(UnknownVariable, match=r"found 'grades'. Did you mean 'grade'"):
        read_findings(VARIABLES, {"grades": "low"})
    with pytest.raises(UnknownState, match=r"found 'hihg'. Did you mean 'high'"):
        read_findings(VARIABLES, {"grade": "hihg"})
    with pytest.raises(UnknownState, match="found 'hihg'"):
        read_findings(VARIABLES, {"grade": {"hihg": 0.5}})
    with pytest.raises(UnknownState, match="found 'hihg'"):
        read_findings(VARIABLES, {"grade": {"hihg"}})
    with pytest.raises(UnknownState, match="found '1'"):
        read_findings(VARIABLES, {"year": "1"})


def test_a_real_variable_must_be_told_a_number():
    with pytest.raises(ValueError, match=r"height must be a number.*found 'tall'"):
        read_findings(VARIABLES, {"height": "tall"})
    with pytest.raises(ValueError, match="column height must hold numbers"):
        read_findings(VARIABLES, pd.DataFrame({"height": [1.0, "tall"]}))


TABLE = {
    "year": [3, None, 1],
    "grade": ["mid", "high", None],
    "passed": [None, False, True],
    "height": [1.5, None, -2.0],
}


def test_columns_of_a_table_are_coded_with_gaps():
    table = pd.DataFrame(TABLE, index=["x", "y", "z"])
    found = read_findings(VARIABLES, table)
    assert found.codes["year"].tolist() == [2, -1, 0]
    assert found.codes["grade"].tolist() == [1, 2, -1]
    assert found.codes["passed"].tolist() == [-1, 0, 1]
    assert_array_equal(found.values["height"], [1.5, np.nan, -2.0])
    assert found.index.tolist() == ["x", "y", "z"]
    assert (found.n_rows, found.is_known("year"), found.is_known("height")) == (3, False, False)


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame(TABLE),
        pd.DataFrame(TABLE).convert_dtypes(),
        pd.DataFrame(TABLE).astype({"grade": "category"}),
    ],
    ids=["polars", "nullable", "category"],
)
def test_every_kind_of_table_is_read_alike(table):
    plain, found = (
        read_findings(VARIABLES, pd.DataFrame(TABLE)),
        read_findings(VARIABLES, table),
    )
    for name in plain.codes:
        assert_array_equal(found.codes[name], plain.codes[name])
    assert_array_equal(found.values["height"], plain.values["height"])


def test_an_unknown_label_of_a_table_is_named_with_its_first_row():
    table = pd.DataFrame({"year": [1, 2, 9, 9]}, index=[5, 6, 7, 8])
    with pytest.raises(UnknownState, match=r"found 9.*row 2 of column year"):
        read_findings(VARIABLES, table)
    with pytest.raises(UnknownVariable, match=r"'yaer'. Did you mean 'year'"):
        read_findings(VARIABLES, table.rename(columns={"year": "yaer"}))


def test_some_rows_and_some_variables_can_be_taken():
    found = read_findings(VARIABLES, pd.DataFrame(TABLE))
    part = found.take(np.array([2, 0])).without(["grade"])
    assert part.codes["year"].tolist() == [0, 2]
    assert part.values["height"].tolist() == [-2.0, 1.5]
    assert part.names == {"year", "passed", "height"}


def test_settings_are_the_same_in_every_row():
    findings = read_findings(VARIABLES, pd.DataFrame({"year": [1, None, 3]}))
    settings = read_findings(VARIABLES, {"grade": "mid", "height": 2.0})
    both = with_settings(findings, settings)
    assert both.codes["grade"].tolist() == [1, 1, 1]
    assert both.values["height"].tolist() == [2.0, 2.0, 2.0]
    assert both.codes["year"].tolist() == [0, -1, 2]


@pytest.mark.parametrize(
    ("given", "do"),
    [
        ({"year": 1}, {"year": 2}),
        ({}, {"year": {1, 2}}),
        ({"grade": {"low"}}, {"grade": "low"}),
    ],
)
def test_what_is_set_must_be_one_state_and_not_given(given, do):
    name = next(iter(do))
    with pytest.raises(ValueError, match=rf"found \['{name}'\]. Name each once"):
        with_settings(read_findings(VARIABLES, given), read_findings(VARIABLES, do))


def test_a_table_is_told_from_a_mapping():
    assert is_frame(pd.DataFrame())
    assert is_frame(pl.DataFrame())
    assert not is_frame({"columns": 1})
    assert not is_frame(None)


def test_a_series_is_read_as_a_mapping():
    series = pd.Series({"grade": "high", "year": 2, "height": 1.5})
    found = read_findings(VARIABLES, series)
    same = read_findings(VARIABLES, series.to_dict())
    assert {n: c.tolist() for n, c in found.codes.items()} == {"grade": [2], "year": [1]}
    assert found.values["height"].tolist() == same.values["height"].tolist() == [1.5]
    assert found.index is None


@pytest.mark.parametrize("value", [np.float32("nan"), np.float64("nan"), pd.NaT, pd.NA, None])
def test_every_kind_of_missing_value_is_missing(value):
    assert read_findings(VARIABLES, {"grade": value, "height": value}).names == frozenset()


@pytest.mark.parametrize("given", ["grade", 3, ["grade"], [("grade", "low")]])
def test_what_is_neither_mapping_nor_table_is_refused(given):
    with pytest.raises(ValueError, match=r"must be a dictionary by name.*Write them as \{name"):
        read_findings(VARIABLES, given)


def test_a_column_that_occurs_twice_is_refused():
    frame = pd.DataFrame([["low", "mid"]], columns=["grade", "grade"])
    with pytest.raises(ValueError, match=r"named each once; found 'grade' twice. Drop or"):
        read_findings(VARIABLES, frame)


@pytest.mark.parametrize("cell", [{"low": 0.5}, ["low"], {"lwo"}, frozenset({"lwo"})])
def test_a_wrong_likelihood_in_a_cell_of_a_table_is_named_by_row_and_column(cell):
    frame = pd.DataFrame({"grade": ["low", cell]})
    with pytest.raises(ValueError, match=r"It is in row 1 of column grade\."):
        read_findings(VARIABLES, frame)


@pytest.mark.parametrize("some", [{"low", "high"}, frozenset({"low", "high"})])
def test_cells_may_be_states_sets_likelihoods_and_gaps(some):
    told = {"low": 0.1, "mid": 0.6, "high": 0.3}
    frame = pd.DataFrame({"grade": ["mid", some, told, [3, 2, 1], None], "year": 2})
    found = read_findings(VARIABLES, frame)
    expected = [[0, 1, 0], [1, 0, 1], [0.1, 0.6, 0.3], [3, 2, 1], [1, 1, 1]]
    assert_array_equal(found.likelihood["grade"].T, expected)
    assert list(found.codes) == ["year"]


@pytest.mark.parametrize("labels", [["low", "mid"], ("low", "mid")])
def test_a_list_of_states_is_refused_in_favor_of_a_set(labels):
    message = r"list given for grade.*one likelihood for each.*Use a set"
    with pytest.raises(ValueError, match=message):
        read_findings(VARIABLES, {"grade": labels})


@pytest.mark.parametrize("truth", [True, np.False_])
def test_a_truth_value_is_no_number_of_a_real_variable(truth):
    with pytest.raises(ValueError, match=r"about height must be a number.*found"):
        read_findings(VARIABLES, {"height": truth})
    with pytest.raises(ValueError, match="height must hold numbers"):
        read_findings(VARIABLES, pd.DataFrame({"height": [truth, None]}))


def test_a_lazy_table_is_computed():
    lazy = pl.LazyFrame({"grade": ["mid", None], "height": [1.5, 2.0]})
    found = read_findings(VARIABLES, lazy)
    assert found.codes["grade"].tolist() == [1, -1]
    assert found.values["height"].tolist() == [1.5, 2.0]


def test_columns_that_are_no_variables_are_named_with_the_way_to_drop_them():
    frame = pd.DataFrame({"grade": ["low"], "case": [1], "ward": [2]})
    with pytest.raises(UnknownVariable, match=r"data\.drop\(columns=\['case', 'ward'\]\)"):
        read_findings(VARIABLES, frame)


@pytest.mark.parametrize("given", ["g", ("grade", "low"), [{"grade": "low"}], 3])
def test_findings_that_are_neither_a_dictionary_nor_a_table_are_refused(given):
    with pytest.raises(ValueError, match=r"must be a dictionary by name, or a table.*Write"):
        read_findings(VARIABLES, given)

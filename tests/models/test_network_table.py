import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from credo.graphs import Factor, LinearGaussian, Variable
from credo.inference.account import ApproximationWarning
from credo.models import BayesianNetwork, MarkovRandomField

EQUAL = BayesianNetwork(
    "a -> b -> c", cpts={"a": [0.3, 0.7], "b": np.eye(2), "c": [[0.9, 0.1], [0.2, 0.8]]}
)
ROWS = pd.DataFrame(
    {"a": [False, True, None], "b": [True, None, None], "c": [None, True, False]},
    index=["clash", "gap", "gaps"],
    dtype=object,
)


@pytest.mark.parametrize("rng", [None, 0])
def test_known_cells_of_impossible_rows_stay_and_the_rows_are_listed(rng):
    found = EQUAL.impute(ROWS, rng=rng)
    assert found.attrs["impossible_rows"] == [0]
    assert found.attrs["unanswered_rows"] == []
    assert found.loc["clash", ["a", "b"]].tolist() == [False, True]
    assert pd.isna(found.loc["clash", "c"])
    assert found.loc["gap"].tolist() == [True, True, True]
    assert found.loc["gaps"].notna().all()
    assert found.loc["gaps", "c"] is False
    assert list(found.index) == ["clash", "gap", "gaps"]


@pytest.mark.parametrize("rng", [None, 0])
def test_known_numbers_of_impossible_rows_stay(rng):
    net = BayesianNetwork(
        "a -> b; x -> y",
        cpts={
            "a": [0.5, 0.5],
            "b": np.eye(2),
            "x": LinearGaussian(1.0, {}, 1.0),
            "y": LinearGaussian(0.0, {"x": 2.0}, 1.0),
        },
    )
    rows = pd.DataFrame(
        {"a": [False, True], "b": [True, None], "x": [5.0, 3.0], "y": [np.nan] * 2}
    )
    found = net.impute(rows, rng=rng)
    assert found.attrs["impossible_rows"] == [0]
    assert found.loc[0, ["a", "b", "x"]].tolist() == [False, True, 5.0]
    assert np.isnan(found.loc[0, "y"])
    assert found.loc[1, ["b", "x"]].tolist() == [True, 3.0]
    if rng is None:
        assert_allclose(found.loc[1, "y"], 6.0)


def test_chains_that_fill_gaps_of_a_wide_field_leave_impossible_rows_alone():
    rng = np.random.default_rng(0)
    nodes = [Variable(f"v{i}", (0, 1)) for i in range(6)]
    factors = [
        Factor((nodes[i], nodes[j]), rng.uniform(0.5, 1, (2, 2)))
        for i in range(6)
        for j in range(i)
    ]
    factors.append(Factor((nodes[0], nodes[1]), np.eye(2)))
    field = MarkovRandomField(factors).within(memory=100, seconds=1e-9)
    rows = pd.DataFrame({"v0": [0, 1], "v1": [1, None], "v2": [None, None]}, dtype=object)
    with pytest.warns(ApproximationWarning, match="Gibbs chains"):
        found = field.impute(rows, rng=0)
    assert found.attrs["impossible_rows"] == [0]
    assert found.loc[0, ["v0", "v1"]].tolist() == [0, 1]
    assert found.loc[1, "v1"] == 1
    assert found.loc[1, "v2"] in (0, 1)


def test_a_prediction_for_an_impossible_row_is_missing():
    rows = pd.DataFrame({"a": [False, True], "b": [True, True]})
    assert pd.isna(EQUAL.predict(rows, "c").iloc[0])
    assert bool(EQUAL.predict(rows, "c").iloc[1])
    assert EQUAL.predict_proba(rows, "c").attrs["impossible_rows"] == [0]


def test_most_probable_states_of_a_table_list_impossible_rows():
    found = EQUAL.most_probable(["a", "b", "c"], given=ROWS)
    assert found.attrs["impossible_rows"] == [0]
    assert found.attrs["method"] == "exact"
    assert found.loc["gap", "b"]


@pytest.mark.parametrize("ask", ["impute", "predict_proba"])
def test_a_dictionary_is_no_table_of_cases(ask):
    with pytest.raises(ValueError, match=r"data must be a table.*found a dict.*Use query"):
        getattr(EQUAL, ask)({"a": True})

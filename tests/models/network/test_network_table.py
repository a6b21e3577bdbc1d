import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

from credo.graphs import Factor, LinearGaussian, Variable
from credo.inference.engine.method import ApproximationWarning
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
@pytest.mark.parametrize("data", [{"a": True}, {"a": ["x"]}, [{"a": True}], np.eye(3)])
def test_what_is_no_table_of_cases_is_refused(ask, data):
    kind = type(data).__name__
    with pytest.raises(ValueError, match=rf"data must be a table.*found a {kind}.*DataFrame"):
        getattr(EQUAL, ask)(data)


def test_columns_of_several_targets_are_named_variable_and_state():
    found = EQUAL.predict_proba(ROWS[["b"]], ["a", "c"])
    assert list(found.columns.names) == ["variable", "state"]
    assert found.columns.tolist() == [("a", False), ("a", True), ("c", False), ("c", True)]


def test_predictions_join_their_cases_as_documented():
    cases = ROWS[["c"]]
    one = cases.join(EQUAL.predict_proba(cases, "a").add_prefix("a="))
    assert list(one.columns) == ["c", "a=False", "a=True"]
    answer = EQUAL.predict_proba(cases, ["a", "b"])
    flat = answer.set_axis(answer.columns.map("{0[0]}={0[1]}".format), axis=1)
    assert list(cases.join(flat).columns) == ["c", "a=False", "a=True", "b=False", "b=True"]


@pytest.mark.parametrize("method", ["auto", "belief_propagation", "likelihood_weighting"])
def test_cells_with_sets_and_likelihoods_answer_as_dictionaries_do(method):
    cells = [False, {False, True}, {False: 0.3, True: 0.9}, [2.0, 1.0], None]
    found = EQUAL.predict_proba(pd.DataFrame({"c": cells}), "a", method)
    for row, cell in enumerate(cells):
        alone = EQUAL.query("a", given={"c": cell}, method=method)
        # Draws of a state that is given and of one that is only likely are not the same draws.
        assert_allclose(found.loc[row], alone, atol=0.01 if "likelihood" in method else 1e-12)


@pytest.mark.parametrize("rng", [None, 0])
def test_sets_and_likelihoods_in_cells_are_gaps_to_fill(rng):
    rows = pd.DataFrame({"b": [{False: 0.0, True: 2.0}, {False, True}], "a": [None, False]})
    assert EQUAL.impute(rows, rng=rng).to_numpy().tolist() == [[True, True], [False, False]]


def test_sets_in_cells_are_read_next_to_real_columns():
    net = BayesianNetwork(
        "a -> x",
        cpts={"a": [0.2, 0.3, 0.5], "x": {k: LinearGaussian(k, {}, 1.0) for k in range(3)}},
    )
    rows = pd.DataFrame({"a": [{0, 2}, 1], "x": [1.4, 0.0]})
    log = net.log_prob(rows)
    for row, cell in enumerate([{0, 2}, 1]):
        assert_allclose(log[row], net.log_prob({"a": cell, "x": rows["x"][row]}))


def test_a_lazy_table_is_answered():
    lazy = pl.LazyFrame({"c": [True, False]})
    assert_allclose(EQUAL.predict_proba(lazy, "a"), EQUAL.predict_proba(lazy.collect(), "a"))
    assert EQUAL.impute(lazy)["c"].tolist() == [True, False]


ROOT, EFFECT = [0.3, 0.7], [[[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.1, 0.9]]]
CUT = BayesianNetwork(
    "a -> b; b, a -> c", cpts={"a": ROOT, "b": [[0.9, 0.1], [0.4, 0.6]], "c": EFFECT}
)
MUTILATED = BayesianNetwork("b, a -> c", cpts={"a": ROOT, "b": [0.0, 1.0], "c": EFFECT})


def test_doing_is_seeing_in_the_mutilated_network_row_by_row():
    rows, do = pd.DataFrame({"c": [True, False, None]}, dtype=object), {"b": True}
    assert_allclose(CUT.predict_proba(rows, "a", do=do), MUTILATED.predict_proba(rows, "a"))
    assert CUT.predict(rows, "a", do=do).equals(MUTILATED.predict(rows, "a"))
    assert CUT.impute(rows, do=do).equals(MUTILATED.impute(rows))
    assert CUT.predict_proba(rows, do=do).columns.name == "a"
    both = CUT.predict_proba(rows, ["a", "b"], do=do)
    assert_allclose(both["a"], MUTILATED.predict_proba(rows, "a"))
    assert_allclose(both["b"], [[0.0, 1.0]] * 3)


def test_doing_is_seeing_in_the_mutilated_network():
    do = {"b": True}
    for given in ({}, {"c": True}, {"c": False}):
        assert_allclose(CUT.log_prob(given, do=do), MUTILATED.log_prob(given), atol=1e-12)
        found = CUT.most_probable(given=given, do=do)
        best = MUTILATED.most_probable(given=given)
        assert found == {name: best[name] for name in best if name != "b"}
        assert_allclose(found.log_prob, best.log_prob)
        for name in ("a", "c"):
            if name not in given:
                part = CUT.marginals(given, do=do)[name]
                assert_allclose(part, MUTILATED.query(name, given=given))


def test_draws_of_a_set_variable_leave_its_causes_alone():
    draws = CUT.sample(20_000, given={"c": True}, do={"b": True}, rng=0)
    assert draws["b"].all()
    assert draws["c"].all()
    share = MUTILATED.query("a", given={"c": True})[True]
    seen = CUT.query("a", given={"c": True, "b": True})[True]
    assert abs(draws["a"].mean() - share) < 0.012 < abs(share - seen)

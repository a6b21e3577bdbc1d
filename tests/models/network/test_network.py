import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from credo.graphs import Factor, UnknownState, UnknownVariable, Variable
from credo.inference.engine.error import (
    AnswerTooLarge,
    ImpossibleFindings,
    InferenceTooLarge,
    NoExactAnswer,
)
from credo.inference.engine.method import ApproximationWarning
from credo.models import BayesianNetwork, FactorGraph, MarkovRandomField

EXACT = {"rtol": 1e-10, "atol": 1e-13}
LABELS = [("x", "y"), (False, True), (10, 20, 30), ("low", "mid", "high"), (0, 1)]


def random_network(seed, n=6, zeros=0.0):
    """Return a network with states of all types, some tables with zeros."""
    rng = np.random.default_rng(seed)
    names = "abcdefghij"[:n]
    states = {name: LABELS[int(rng.integers(len(LABELS)))] for name in names}
    parents = {c: [q for q in names[:i] if rng.random() < 0.45] for i, c in enumerate(names)}
    cpts = {}
    for name in names:
        table = rng.dirichlet(
            np.ones(len(states[name])), [len(states[q]) for q in parents[name]]
        )
        table = np.where(rng.random(table.shape) < zeros, 0.0, table)
        table[..., 0] += table.sum(axis=-1) == 0
        cpts[name] = table / table.sum(axis=-1, keepdims=True)
    return BayesianNetwork(parents, cpts, states)


def joint_of(net):
    """Return the probability of every joint state by brute force, one axis per variable."""
    names = list(net.variables)
    joint = np.ones([v.n_states for v in net.variables.values()])
    for conditional in net.conditionals.values():
        table = conditional.table()
        order = [names.index(n) for n in table.names]
        shape = [net.variables[n].n_states if n in table.names else 1 for n in names]
        joint = joint * table.table().transpose(np.argsort(order)).reshape(shape)
    return joint


def given_cells(net, joint, given):
    """Return the joint with every cell that contradicts the findings set to zero."""
    kept = joint.copy()
    for axis, (name, variable) in enumerate(net.variables.items()):
        if name in given:
            off = np.arange(variable.n_states) != variable.index(given[name])
            np.moveaxis(kept, axis, 0)[off] = 0.0
    return kept


def case_table(net, rng, n_rows, missing, joint=None):
    """Return rows drawn from a network with cells missing at random."""
    rows = net.sample(n_rows, rng=rng).astype(object)
    return rows.mask(rng.random(rows.shape) < missing)


def known(row):
    return {name: value for name, value in row.items() if not pd.isna(value)}


def grid(n, rng):
    """Return a field of binary nodes on a square, too wide for little memory."""
    node = {(i, j): Variable(f"v{i}_{j}", (0, 1)) for i in range(n) for j in range(n)}
    factors = [Factor((v,), rng.uniform(0.2, 1.0, 2)) for v in node.values()]
    for (i, j), v in node.items():
        for other in ((i + 1, j), (i, j + 1)):
            if other in node:
                factors.append(Factor((v, node[other]), rng.uniform(0.2, 1.0, (2, 2))))
    return MarkovRandomField(factors)


def assert_rows_equal_single_answers(net, table):
    """Hold every row of marginals, log_prob and predict_proba against the row asked alone."""
    found = net.marginals(table)
    log_prob = net.log_prob(table)
    assert_allclose(found.log_prob, log_prob, rtol=1e-12, atol=1e-12)
    for at in range(len(table)):
        seen = known(table.iloc[at])
        assert_allclose(log_prob[at], net.log_prob(seen), rtol=1e-12, atol=1e-12)
        alone = net.marginals(seen)
        for name, frame in found.items():
            expected = (
                alone[name].to_numpy()
                if name not in seen
                else (frame.columns == seen[name]).astype(float)
            )
            assert_allclose(frame.iloc[at].to_numpy(), expected, **EXACT)


def test_rows_of_few_patterns_equal_the_same_rows_asked_alone():
    net = random_network(0)
    table = case_table(net, np.random.default_rng(0), 30, 0.0)
    table.loc[:14, ["b", "d"]] = np.nan
    table.loc[15:, ["a", "f"]] = np.nan
    assert_rows_equal_single_answers(net, table)


def test_rows_of_many_patterns_equal_the_same_rows_asked_alone():
    net = random_network(1)
    table = case_table(net, np.random.default_rng(1), 80, 0.5)
    assert table.isna().drop_duplicates().shape[0] > 30
    assert_rows_equal_single_answers(net, table)


def test_rows_that_are_all_different_equal_the_same_rows_asked_alone():
    net = random_network(2, n=8)
    table = case_table(net, np.random.default_rng(2), 150, 0.3).drop_duplicates()
    assert len(table) > 64
    assert_rows_equal_single_answers(net, table)


def test_patterns_with_many_rows_each_equal_the_same_rows_asked_alone():
    net = random_network(3)
    table = case_table(net, np.random.default_rng(3), 70 * 6, 0.0)
    for at, name in enumerate("abcdef"):
        table.loc[70 * at : 70 * at + 69, name] = np.nan
    table.loc[0, ["b", "c"]] = np.nan
    log_prob = net.log_prob(table)
    for row in (0, 69, 70, 71, 139, 210, 419):
        assert_allclose(log_prob[row], net.log_prob(known(table.iloc[row])), rtol=1e-12)
    found = net.marginals(table)["c"]
    for row in (0, 140, 209):
        alone = net.query("c", known(table.iloc[row]))
        assert_allclose(found.iloc[row].to_numpy(), alone.to_numpy(), **EXACT)


def test_duplicate_rows_have_the_same_answers_in_their_own_places():
    net = random_network(4)
    few = case_table(net, np.random.default_rng(4), 5, 0.4)
    order = np.random.default_rng(5).integers(0, 5, size=200)
    table = few.iloc[order]
    found, single = net.marginals(table), net.marginals(few)
    assert_allclose(found.log_prob, single.log_prob[order], rtol=1e-13)
    for name, frame in found.items():
        assert_allclose(frame.to_numpy(), single[name].to_numpy()[order], rtol=1e-12)
        assert frame.index.equals(table.index)


def test_tables_of_polars_are_read_as_those_of_pandas():
    net = random_network(6)
    table = case_table(net, np.random.default_rng(6), 20, 0.3)
    columns = {n: [None if pd.isna(v) else v for v in table[n]] for n in table.columns}
    other = pl.DataFrame(columns)
    assert_allclose(net.log_prob(other), net.log_prob(table), rtol=1e-13)
    for name, frame in net.marginals(table).items():
        assert_allclose(net.marginals(other)[name].to_numpy(), frame.to_numpy(), rtol=1e-13)
    filled = net.impute(other)
    assert filled.astype(object).equals(net.impute(table).reset_index(drop=True).astype(object))


def test_a_table_without_rows_has_answers_without_rows():
    net = random_network(0)
    table = pd.DataFrame({"a": pd.Series([], dtype=object), "b": pd.Series([], dtype=object)})
    assert net.log_prob(table).shape == (0,)
    found = net.marginals(table)
    assert found["c"].shape == (0, net.variables["c"].n_states)
    assert net.predict_proba(table, "c").shape == (0, net.variables["c"].n_states)
    assert net.impute(table).shape == (0, 2)
    assert net.most_probable(given=table).shape[0] == 0


def test_a_table_without_columns_gives_the_prior_in_every_row():
    net = random_network(0)
    found = net.marginals(pd.DataFrame(index=["p", "q"]))
    assert_allclose(found["a"].loc["q"].to_numpy(), net.query("a").to_numpy(), **EXACT)
    assert_allclose(found.log_prob, [0.0, 0.0], atol=1e-12)


def copies():
    """Return a network in which ``b`` is a copy of ``a``, and ``c`` a noisy one."""
    return BayesianNetwork(
        "a -> b; a -> c",
        {"a": [0.3, 0.7], "b": [[1.0, 0.0], [0.0, 1.0]], "c": [[0.9, 0.1], [0.2, 0.8]]},
    )


def test_impossible_rows_are_nan_and_flagged_and_leave_the_others_alone():
    net = copies()
    table = pd.DataFrame(
        {"a": [True, True, None, False], "b": [True, False, True, True]}, index=list("pqrs")
    )
    found = net.marginals(table)
    assert found.is_impossible.tolist() == [False, True, False, True]
    assert_allclose(np.exp(found.log_prob), [0.7, 0.0, 0.7, 0.0], atol=1e-15)
    assert found["c"].attrs["impossible_rows"] == [1, 3]
    assert found["c"].loc[["q", "s"]].isna().all(axis=None)
    assert_allclose(found["c"].loc[["p", "r"], True], [0.8, 0.8])
    assert_allclose(found["a"].loc["r"].to_numpy(), [0.0, 1.0])
    rows = net.query("c", given=table)
    assert rows.isna().all(axis=1).tolist() == [False, True, False, True]
    joint = net.query(["a", "c"], given=table)
    assert joint.isna().all(axis=1).tolist() == [False, True, False, True]
    assert_allclose(joint.loc["p", (True, True)], 0.8)
    assert net.predict(table, "c").isna().tolist() == [False, True, False, True]
    best = net.most_probable(given=table)
    assert best["c"].isna().tolist() == [False, True, False, True]
    assert best.loc["p", "c"]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_log_prob_of_complete_rows_is_the_sum_of_the_logs_of_the_tables(seed):
    net = random_network(seed, zeros=0.1)
    rng = np.random.default_rng(seed)
    codes = {n: rng.integers(v.n_states, size=12) for n, v in net.variables.items()}
    table = pd.DataFrame(
        {
            n: pd.Series([net.variables[n].labels[c] for c in codes[n]], dtype=object)
            for n in codes
        }
    )
    expected = sum(c.log_prob(codes) for c in net.conditionals.values())
    assert_allclose(net.log_prob(table), expected, rtol=1e-12, atol=1e-12)
    assert_allclose(net.log_partition(table), expected, rtol=1e-12, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_all_questions_equal_brute_force(seed):
    net = random_network(seed, n=5, zeros=0.15)
    joint, rng = joint_of(net), np.random.default_rng(seed)
    assert_allclose(joint.sum(), 1.0, rtol=1e-12)
    seen = known(case_table(net, rng, 1, 0.6).iloc[0])
    kept = given_cells(net, joint, seen)
    total, names = kept.sum(), list(net.variables)
    assert_allclose(net.log_prob(seen), np.log(total), rtol=1e-10, atol=1e-12)
    for axis, name in enumerate(names):
        others = tuple(i for i in range(joint.ndim) if i != axis)
        expected = kept.sum(axis=others) / total
        assert_allclose(net.query(name, seen).to_numpy(), expected, rtol=1e-9, atol=1e-13)
    pair = net.query(["d", "b"], seen).to_numpy()
    expected = kept.sum(axis=(0, 2, 4)).T / total
    assert_allclose(pair, expected.ravel(), rtol=1e-9, atol=1e-13)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_the_most_probable_states_have_the_largest_probability(seed):
    net = random_network(seed, n=5)
    joint, rng = joint_of(net), np.random.default_rng(seed)
    seen = known(case_table(net, rng, 1, 0.7).iloc[0])
    kept = given_cells(net, joint, seen)
    best = net.most_probable(given=seen)
    assert set(best) == set(net.variables) - set(seen)
    assert_allclose(best.log_prob, np.log(kept.max()), rtol=1e-10, atol=1e-12)
    assert_allclose(net.log_prob({**seen, **best}), np.log(kept.max()), rtol=1e-10, atol=1e-12)
    some = ["a", "e"]
    table = kept.sum(axis=(1, 2, 3))
    mode = net.most_probable(some, given=seen)
    cell = tuple(net.variables[n].index(mode[n]) for n in some)
    assert_allclose(table[cell], table.max(), rtol=1e-12)
    assert_allclose(mode.log_prob, np.log(table.max()), rtol=1e-10, atol=1e-12)
    assert list(mode) == some


def test_the_mode_of_some_variables_is_not_a_part_of_the_mode_of_all():
    net = BayesianNetwork(
        "a -> b", {"a": [0.45, 0.55], "b": [[1.0, 0.0, 0.0], [0.3, 0.3, 0.4]]}
    )
    assert net.most_probable() == {"a": False, "b": 0}
    assert net.most_probable("a") == {"a": True}
    assert_allclose(np.exp(net.most_probable("a").log_prob), 0.55)


def test_most_probable_states_of_a_table_are_those_of_its_rows():
    net = random_network(7)
    table = case_table(net, np.random.default_rng(7), 25, 0.4)
    rows = net.most_probable(["a", "c"], given=table)
    assert list(rows.columns) == ["a", "c"]
    for at in range(25):
        seen = known(table.iloc[at])
        alone = net.most_probable(["a", "c"], given=seen)
        assert [rows[n].iloc[at] for n in ("a", "c")] == [alone[n] for n in ("a", "c")]


def test_probabilities_of_a_target_do_not_use_its_own_column():
    net = random_network(8)
    table = case_table(net, np.random.default_rng(8), 12, 0.2)
    frame = net.predict_proba(table, "c")
    assert list(frame.columns) == list(net.variables["c"].labels)
    for at in range(12):
        seen = known(table.iloc[at].drop("c"))
        assert_allclose(frame.iloc[at].to_numpy(), net.query("c", seen).to_numpy(), **EXACT)
    best = frame.columns.to_numpy()[frame.to_numpy().argmax(axis=1)]
    assert net.predict(table, "c").tolist() == best.tolist()


def test_targets_are_the_variables_without_a_column_by_default():
    net = random_network(8)
    table = case_table(net, np.random.default_rng(8), 6, 0.0)[["a", "b", "d", "e"]]
    frame = net.predict_proba(table)
    assert list(dict.fromkeys(frame.columns.get_level_values(0))) == ["c", "f"]
    alone = net.predict_proba(table, "f")
    assert_allclose(frame["f"].to_numpy(), alone.to_numpy(), **EXACT)
    assert frame.attrs["method"] == "exact"
    full = case_table(net, np.random.default_rng(8), 2, 0.0)
    with pytest.raises(ValueError, match=r"a target must be named.*Pass target="):
        net.predict_proba(full)


def test_gaps_are_filled_by_the_most_probable_states_jointly():
    net = random_network(9)
    table = case_table(net, np.random.default_rng(9), 30, 0.4)
    filled = net.impute(table)
    assert list(filled.columns) == list(table.columns)
    for at in range(30):
        seen = known(table.iloc[at])
        row = {n: filled[n].iloc[at] for n in filled.columns}
        assert {n: row[n] for n in seen} == seen
        best = net.most_probable(given=seen)
        assert_allclose(net.log_prob(row), best.log_prob, rtol=1e-10, atol=1e-12)


def test_gaps_filled_by_draws_have_the_frequencies_of_the_posterior():
    net = random_network(10)
    n = 4000
    table = pd.DataFrame(
        {"a": [net.variables["a"].labels[0]] * n, "b": [None] * n, "f": [None] * n}
    )
    filled = net.impute(table, rng=0)
    expected = net.query(["b", "f"], {"a": net.variables["a"].labels[0]})
    found = filled.astype(object).value_counts(["b", "f"]) / n
    for cell, chance in expected.items():
        error = np.sqrt(chance * (1 - chance) / n)
        assert abs(found.get(cell, 0.0) - chance) <= 5 * error + 1e-12
    assert set(filled["a"]) == {net.variables["a"].labels[0]}


def test_gaps_filled_by_draws_keep_what_is_known_in_its_own_row():
    net = copies()
    known_a = np.random.default_rng(0).random(60) < 0.5
    table = pd.DataFrame({"b": pd.Series([None] * 60, dtype=object), "a": known_a})
    filled = net.impute(table, rng=0)
    assert filled["a"].tolist() == known_a.tolist()
    assert filled["b"].tolist() == known_a.tolist()


@pytest.mark.parametrize("seed", [11, 12])
def test_draws_have_the_frequencies_of_the_joint_given_the_findings(seed):
    net = random_network(seed, n=4, zeros=0.1)
    seen = known(net.sample(1, rng=seed).iloc[0][["c"]])
    n = 20_000
    draws = net.sample(n, given=seen, rng=1)
    assert list(draws.columns) == list(net.variables)
    kept = given_cells(net, joint_of(net), seen)
    kept /= kept.sum()
    codes = [
        [net.variables[name].index(label) for label in draws[name]] for name in net.variables
    ]
    count = np.zeros(kept.shape)
    np.add.at(count, tuple(codes), 1.0)
    assert np.all(np.abs(count / n - kept) <= 5 * np.sqrt(kept * (1 - kept) / n) + 1e-12)


def test_the_same_seed_draws_the_same_rows():
    net = random_network(13)
    first, second = net.sample(50, rng=3), net.sample(50, rng=np.random.default_rng(3))
    assert first.equals(second)
    assert not first.equals(net.sample(50, rng=4))


def test_draws_are_not_made_from_a_table():
    net = random_network(0)
    with pytest.raises(ValueError, match=r"given must be a dictionary.*Use impute"):
        net.sample(3, given=pd.DataFrame({"a": [None]}))


def in_less_memory(field, given, ask):
    """Return exact answers under ever tighter limits, as long as a plan or its pieces fit."""
    size, answers = field.plan(list(given)).bytes, []
    for share in (2.0, 1.4, 0.95, 0.85, 0.75, 0.65, 0.55, 0.45, 0.35):
        try:
            answers.append(ask(field.within(memory=share * size)))
        except (InferenceTooLarge, ApproximationWarning):
            break
    assert len(answers) > 2
    return answers


SEEN = {"v0_0": 1, "v4_4": {0: 0.3, 1: 0.9}}


def test_marginals_in_pieces_are_those_of_the_whole():
    field = grid(5, np.random.default_rng(0))
    whole = field.marginals(SEEN)
    for found in in_less_memory(field, SEEN, lambda f: f.marginals(SEEN, method="exact")):
        assert found.account.is_exact
        assert_allclose(found.log_prob, whole.log_prob, rtol=1e-11)
        for name, answer in whole.items():
            assert_allclose(found[name].to_numpy(), answer.to_numpy(), rtol=1e-11)


def test_totals_joint_tables_and_modes_in_pieces_are_those_of_the_whole():
    field = grid(5, np.random.default_rng(0))
    total = field.log_partition(SEEN)
    for found in in_less_memory(field, SEEN, lambda f: f.log_partition(SEEN, "exact")):
        assert_allclose(found, total, rtol=1e-11)
    targets = ["v2_2", "v1_3"]
    table = field.query(targets, SEEN).to_numpy()
    for found in in_less_memory(field, SEEN, lambda f: f.query(targets, SEEN, None, "exact")):
        assert_allclose(found.to_numpy(), table, rtol=1e-11)
    best = field.most_probable(given=SEEN)
    for found in in_less_memory(field, SEEN, lambda f: f.most_probable(None, SEEN, "exact")):
        assert found == best
        assert_allclose(found.log_prob, best.log_prob, rtol=1e-11)


def test_the_mode_of_some_variables_in_pieces_sums_over_the_others_first():
    field = grid(4, np.random.default_rng(5))
    targets = [n for n in field.variables if n.startswith(("v0", "v3"))]
    whole = field.most_probable(targets)
    for found in in_less_memory(field, {}, lambda f: f.most_probable(targets, None, "exact")):
        assert found == whole
        assert_allclose(found.log_prob, whole.log_prob, rtol=1e-11)


def test_draws_in_pieces_have_the_frequencies_of_the_posterior():
    field = grid(4, np.random.default_rng(1))
    seen, n = {"v0_0": 1}, 4000
    draws = in_less_memory(field, seen, lambda f: f.sample(n, given=seen, rng=0))[-1]
    for name, answer in field.marginals(seen).items():
        error = np.sqrt(answer[1] * answer[0] / n)
        assert abs(draws[name].mean() - answer[1]) <= 5 * error
    pair = field.query(["v1_1", "v1_2"], seen)[1, 1]
    both = ((draws["v1_1"] == 1) & (draws["v1_2"] == 1)).mean()
    assert abs(both - pair) <= 5 * np.sqrt(pair * (1 - pair) / n)


def test_limits_leave_the_network_they_were_made_from_alone():
    field = grid(4, np.random.default_rng(1))
    before = field.query("v0_0")
    small = field.within(memory="0.5 KB", seconds=1e-9)
    assert (small.limits.memory, small.limits.seconds) == (500.0, 1e-9)
    assert field.limits.memory is None
    with pytest.raises(InferenceTooLarge):
        small.query("v0_0", method="exact")
    assert_allclose(field.query("v0_0").to_numpy(), before.to_numpy(), rtol=1e-14)
    assert small.within(memory="1GB").limits.seconds == 1e-9


def test_an_exact_answer_that_does_not_fit_is_refused_with_its_cost():
    field = grid(6, np.random.default_rng(0))
    small = field.within(memory=1000, seconds=1e-9)
    with pytest.raises(MemoryError) as caught:
        small.marginals(method="exact")
    plan = small.plan()
    assert plan.bytes <= field.plan().bytes
    error = caught.value
    assert isinstance(error, InferenceTooLarge)
    assert (error.width, error.cells, error.bytes) == (plan.width, plan.cells, plan.bytes)
    assert error.width >= 5
    assert error.bytes > 1000
    assert f"width {error.width}" in str(error)


def test_the_ladder_warns_and_tells_how_it_answered():
    field = grid(5, np.random.default_rng(2))
    small = field.within(memory=500, seconds=1e-9)
    with pytest.warns(ApproximationWarning, match=r"the answer is approximate.*width"):
        answer = small.query("v2_2", given={"v0_0": 1})
    exact = field.query("v2_2", given={"v0_0": 1})
    assert not answer.attrs["is_exact"]
    assert answer.attrs["method"] != "exact"
    assert answer.attrs["error"] > 0
    assert answer.attrs["effective_draws"] >= 200
    assert answer.attrs["error_kind"] == "largest standard error"
    assert abs(answer[1] - exact[1]) <= 5 * answer.attrs["error"]
    with pytest.warns(ApproximationWarning):
        total = small.log_partition()
    assert_allclose(total, field.log_partition(), atol=0.1)


@pytest.mark.parametrize(
    "ask",
    [
        lambda net: net.query("v2_2", given={"v0_0": 1}),
        lambda net: net.query(["v2_2", "v1_1"]),
        lambda net: net.marginals(given={"v0_0": 1}),
        lambda net: net.log_prob({"v0_0": 1}),
        lambda net: net.log_partition(),
        lambda net: net.most_probable(given={"v0_0": 1}),
        lambda net: net.sample(5, rng=np.random.default_rng(0)),
        lambda net: net.predict_proba(pd.DataFrame({"v0_0": [0, 1]}), target="v2_2"),
    ],
)
def test_warnings_point_at_the_line_that_asked(ask):
    small = grid(5, np.random.default_rng(2)).within(memory=500, seconds=1e-9)
    with pytest.warns(ApproximationWarning) as caught:
        ask(small)
    assert {one.filename for one in caught} == {__file__}


@pytest.mark.parametrize(
    ("method", "name", "tolerance"),
    [
        ("belief_propagation", "loopy belief propagation", 0.05),
        ("mean_field", "mean field", 0.15),
        ("gibbs", "Gibbs sampling", 0.05),
        ("importance", "importance sampling guided by messages", 0.03),
    ],
)
def test_a_method_asked_for_by_name_answers_and_says_its_name(method, name, tolerance):
    field = grid(3, np.random.default_rng(3))
    seen = {"v0_0": 1}
    answer = field.query("v1_1", seen, method=method)
    assert answer.attrs["method"] == name
    assert not answer.attrs["is_exact"]
    assert_allclose(answer.to_numpy(), field.query("v1_1", seen).to_numpy(), atol=tolerance)
    assert_allclose(answer.sum(), 1.0, rtol=1e-10)


def test_belief_propagation_is_exact_on_a_tree():
    net = BayesianNetwork(
        "a -> b, c; b -> d",
        {
            "a": [0.3, 0.7],
            "b": [[0.9, 0.1], [0.2, 0.8]],
            "c": [[0.5, 0.5], [0.1, 0.9]],
            "d": [[0.6, 0.4], [0.3, 0.7]],
        },
    )
    seen = {"d": True, "c": False}
    answer = net.query("a", seen, method="belief_propagation")
    assert_allclose(answer.to_numpy(), net.query("a", seen).to_numpy(), atol=1e-6)
    total = net.log_partition(seen, method="belief_propagation")
    assert_allclose(total, net.log_partition(seen), atol=1e-6)


@pytest.mark.parametrize("ask", ["query", "marginals", "log_partition", "most_probable"])
def test_an_unknown_method_is_refused_with_the_known_ones(ask):
    net = random_network(0)
    arguments = {"targets": "a"} if ask == "query" else {}
    with pytest.raises(ValueError, match=r"method must be one of .*'exact'.*found 'magic'"):
        getattr(net, ask)(**arguments, method="magic")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_a_conflict_is_impossible_but_not_without_any_one_of_its_findings(seed):
    net = random_network(seed, n=6, zeros=0.45)
    rng = np.random.default_rng(seed)
    seen = {n: v.labels[int(rng.integers(v.n_states))] for n, v in net.variables.items()}
    joint = joint_of(net)
    if given_cells(net, joint, seen).sum() > 0:
        return
    with pytest.raises(ImpossibleFindings) as caught:
        net.marginals(seen)
    conflict = caught.value.conflict
    assert conflict.items() <= seen.items()
    assert given_cells(net, joint, conflict).sum() == 0
    for name in conflict:
        rest = {n: state for n, state in conflict.items() if n != name}
        assert given_cells(net, joint, rest).sum() > 0


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1.0, 1e300])
def test_only_ratios_of_likelihoods_move_beliefs_and_their_size_moves_log_prob(scale):
    net = copies()
    seen = {"c": [scale, 4.0 * scale]}
    weight = np.array([0.3 * (0.9 + 0.4), 0.7 * (0.2 + 3.2)])
    answer = net.query("a", seen)
    assert_allclose(answer.to_numpy(), weight / weight.sum(), rtol=1e-9)
    log_prob = np.log(weight.sum()) + np.log(scale)
    assert_allclose(net.log_prob(seen), log_prob, rtol=1e-9, atol=1e-12)
    assert net.most_probable(given=seen) == {"a": True, "b": True, "c": True}


def test_a_conflict_among_uncertain_findings_is_found():
    net = copies()
    with pytest.raises(ImpossibleFindings) as caught:
        net.query("c", given={"c": False, "a": {True}, "b": {True: 0.0, False: 0.3}})
    assert set(caught.value.conflict) == {"a", "b"}


def test_lung_cancer_without_either_disease_is_impossible_though_asia_does_not_depend_on_it():
    net = BayesianNetwork(
        "asia -> tub; smoke -> lung; tub, lung -> either; either -> xray",
        {
            "asia": [0.99, 0.01],
            "tub": [[0.99, 0.01], [0.95, 0.05]],
            "smoke": [0.5, 0.5],
            "lung": [[0.99, 0.01], [0.9, 0.1]],
            "either": [[[1, 0], [0, 1]], [[0, 1], [0, 1]]],
            "xray": [[0.95, 0.05], [0.02, 0.98]],
        },
    )
    seen = {"lung": True, "either": False}
    for target in ("asia", "xray", "smoke", "tub"):
        with pytest.raises(ImpossibleFindings) as caught:
            net.query(target, given=seen)
        assert caught.value.conflict == seen


@pytest.mark.parametrize(
    "renew", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
@pytest.mark.parametrize("is_warm", [False, True])
def test_copies_of_networks_answer_alike(renew, is_warm):
    table = [[2.0, 1.0], [1.0, 3.0]]
    a, b = Variable("a", (0, 1)), Variable("b", ("x", "y"))
    networks = [
        random_network(14),
        MarkovRandomField([Factor((a, b), table)]),
        FactorGraph({"link": Factor((a, b), table)}),
    ]
    for net in networks:
        if is_warm:
            net.marginals()
            net.sample(2, rng=0)
        other = renew(net)
        assert type(other) is type(net)
        assert list(other.variables) == list(net.variables)
        seen = {"b": net.variables["b"].labels[1]}
        assert_allclose(other.query("a", seen).to_numpy(), net.query("a", seen).to_numpy())
        assert other.log_prob(seen) == net.log_prob(seen)
        assert other.sample(5, rng=0).equals(net.sample(5, rng=0))


@pytest.mark.parametrize(
    "error",
    [
        ImpossibleFindings({"a": True, "b": 3}),
        InferenceTooLarge(20, 10**9, 8 * 10**9, 1e9),
        AnswerTooLarge(59, 2**60, 2**63, 1e9),
        NoExactAnswer(["a"]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_travel_between_processes_whole(error):
    other = pickle.loads(pickle.dumps(error))
    assert type(other) is type(error)
    assert str(other) == str(error)
    assert vars(other) == vars(error)
    assert copy.copy(error).args == error.args


def test_a_plan_states_its_cost_without_answering():
    field = grid(6, np.random.default_rng(0))
    whole, part = field.plan(), field.plan(observed=[f"v3_{j}" for j in range(6)])
    assert part.width < whole.width
    assert part.cells < whole.cells
    assert whole.fits
    assert str(whole).startswith(f"width {whole.width}, {whole.cells:,} cells")
    assert not field.within(memory=100).plan().fits
    assert "does not fit" in str(field.within(memory=100).plan())
    assert field.plan(targets=["v0_0"]).cells < whole.cells


def test_wrong_columns_and_labels_of_a_table_are_named_with_their_row():
    net = BayesianNetwork(
        "smoke{yes|no} -> lung{yes|no}",
        {"smoke": [0.5, 0.5], "lung": [[0.1, 0.9], [0.01, 0.99]]},
    )
    with pytest.raises(UnknownVariable, match=r"found 'smoker'. Did you mean 'smoke'"):
        net.log_prob(pd.DataFrame({"smoker": ["yes"]}))
    table = pd.DataFrame({"smoke": ["yes", None, "no", "nope", "ja"]}, index=list("vwxyz"))
    with pytest.raises(UnknownState, match=r"found 'nope'.*row 3 of column smoke"):
        net.log_prob(table)
    with pytest.raises(UnknownState, match=r"found True.*row 0 of column smoke"):
        net.predict_proba(pd.DataFrame({"smoke": [True]}), "lung")
    with pytest.raises(UnknownVariable, match="'lugn'"):
        net.predict(pd.DataFrame({"smoke": ["yes"]}), "lugn")


def test_log_prob_of_all_joint_states_in_one_table_sums_to_one():
    net = random_network(15, n=4)
    cells = list(itertools.product(*(v.labels for v in net.variables.values())))
    columns = {
        n: pd.Series([c[i] for c in cells], dtype=object) for i, n in enumerate(net.variables)
    }
    log_prob = net.log_prob(pd.DataFrame(columns))
    assert_allclose(np.exp(log_prob), joint_of(net).ravel(), rtol=1e-11)
    assert_allclose(np.exp(log_prob).sum(), 1.0, rtol=1e-12)


def test_findings_and_settings_may_be_a_series():
    net = random_network(3)
    row = net.sample(1, rng=0).astype(object).iloc[0]
    seen, told = row[["a", "b"]], row[["c"]]
    assert_allclose(net.query("f", seen), net.query("f", seen.to_dict()), **EXACT)
    assert_allclose(
        net.query("f", seen, do=told),
        net.query("f", seen.to_dict(), do=told.to_dict()),
        **EXACT,
    )
    assert net.log_prob(seen) == net.log_prob(seen.to_dict())
    assert net.most_probable(given=seen) == net.most_probable(given=seen.to_dict())
    never = BayesianNetwork("x", cpts={"x": [1.0, 0.0]})
    with pytest.raises(ImpossibleFindings) as caught:
        never.query("x", pd.Series({"x": True}))
    assert caught.value.conflict == {"x": True}


@pytest.mark.parametrize("n", [-1, 2.5, "3", None])
def test_the_number_of_draws_must_be_a_whole_number(n):
    with pytest.raises(ValueError, match=r"number of draws must be a whole number.*found"):
        random_network(0).sample(n, rng=0)
    assert len(random_network(0).sample(np.int64(2), rng=0)) == 2
    assert len(random_network(0).sample(0, rng=0)) == 0


@pytest.mark.parametrize("target", [3, None, ("a", 3)])
def test_a_target_that_is_no_name_is_unknown(target):
    with pytest.raises(UnknownVariable, match=r"must be a variable of the network; found"):
        random_network(0).query(target)


def test_a_plan_must_be_about_some_variable_of_the_network():
    net = random_network(0)
    assert net.plan(targets="a") == net.plan(targets=["a"])
    with pytest.raises(ValueError, match=r"targets must be at least one variable"):
        net.plan(targets=[])
    with pytest.raises(UnknownVariable):
        net.plan(observed=["stranger"])


@pytest.mark.parametrize("memory", [0, -5, "0GB"])
def test_memory_for_plans_must_be_positive(memory):
    with pytest.raises(ValueError, match=r"memory for exact inference must be positive; found"):
        random_network(0).within(memory=memory)

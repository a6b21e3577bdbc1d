import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from credo.inference.engine.findings import FEW_PATTERNS, MISSING, WORTH_A_PLAN, Findings

N_STATES = (2, 3, 4, 2)


def random_findings(seed, n_rows, missing):
    rng = np.random.default_rng(seed)
    table = np.array([rng.integers(n, size=n_rows) for n in N_STATES])
    table = np.where(rng.random(table.shape) < missing, -1, table)
    return Findings(n_rows, {i: table[i] for i in (2, 0, 3, 1)}), table


def rebuilt(findings, n_rows):
    """Return the likelihood of each state in each row that the groups stand for together."""
    shares = [np.full((n, n_rows), np.nan) for n in N_STATES]
    for group in findings.groups(N_STATES):
        for i, n in enumerate(N_STATES):
            if i in group.observed:
                codes = group.codes[group.observed.index(i)]
                share = (codes == np.arange(n)[:, None]).astype(float)
            elif (i,) in group.weighted:
                before = group.weighted.index((i,))
                start = sum(N_STATES[scope[0]] for scope in group.weighted[:before])
                share = group.stacked_likelihood[start : start + n]
            else:
                share = np.ones((n, max(group.codes.shape[1], group.place.max() + 1)))
            shares[i][:, group.rows] = share[:, group.place]
    return shares


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 150), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_groups_together_say_what_the_rows_say(seed, n_rows, missing):
    findings, table = random_findings(seed, n_rows, missing)
    for i, share in enumerate(rebuilt(findings, n_rows)):
        expected = (table[i] == np.arange(N_STATES[i])[:, None]) | (table[i] == -1)
        assert_array_equal(share, expected.astype(float))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 150))
def test_every_row_is_in_one_group_once(seed, n_rows):
    findings, _ = random_findings(seed, n_rows, 0.4)
    rows = np.concatenate([group.rows for group in findings.groups(N_STATES)])
    assert_array_equal(np.sort(rows), np.arange(n_rows))


def test_equal_rows_are_answered_once():
    codes = np.array([0, 1, 0, 1, 1])
    (group,) = Findings(5, {0: codes}).groups(N_STATES)
    assert group.codes.shape == (1, 2)
    assert_array_equal(group.codes[0, group.place], codes)


def test_rows_with_likelihoods_stay_apart():
    likelihood = np.arange(1.0, 7.0).reshape(2, 3)
    findings = Findings(3, {1: np.array([2, 2, 2])}, {0: likelihood})
    (group,) = findings.groups(N_STATES)
    assert group.codes.shape == (1, 3)
    assert group.weighted == ((0,),)
    assert_array_equal(group.stacked_likelihood[:, group.place], likelihood)


def test_a_few_patterns_have_a_plan_each():
    table = np.zeros((4, 8), dtype=int)
    for at in range(FEW_PATTERNS):
        table[at, 2 * at : 2 * at + 2] = -1
    groups = list(Findings(8, dict(enumerate(table))).groups(N_STATES))
    assert len(groups) == FEW_PATTERNS
    assert all(
        group.stacked_likelihood is None and len(group.observed) == 3 for group in groups
    )


def test_many_patterns_share_one_plan_and_common_ones_have_their_own():
    _, table = random_findings(0, 60, 0.5)
    common = np.zeros((4, WORTH_A_PLAN), dtype=int)
    common[1] = -1
    both = np.concatenate([table, common], axis=1)
    n_rows = both.shape[1]
    groups = list(Findings(n_rows, dict(enumerate(both))).groups(N_STATES))
    own = [group for group in groups if not group.weighted]
    assert [group.observed for group in own] == [(0, 2, 3)]
    assert len(own[0].rows) >= WORTH_A_PLAN
    assert len(groups) == 2
    assert groups[-1].weighted


def test_one_row_alone_knows_only_what_is_not_missing():
    findings, table = random_findings(3, 20, 0.5)
    for row in range(20):
        (group,) = findings.row(row).groups(N_STATES)
        known = np.flatnonzero(table[:, row] != -1)
        assert group.observed == tuple(known)
        assert_array_equal(group.codes[:, 0], table[known, row])


@pytest.mark.parametrize("codes", [{}, {0: np.zeros(0, dtype=int)}])
def test_no_rows_make_no_groups(codes):
    assert list(Findings(0, codes).groups(N_STATES)) == []


def test_rows_without_any_finding_make_one_group():
    (group,) = Findings(3).groups(N_STATES)
    assert group.observed == ()
    assert_array_equal(group.rows, [0, 1, 2])
    assert_array_equal(group.codes[:, group.place].shape, (0, 3))


def random_rows(seed, n_rows, missing=0.4):
    """Return findings about two discrete and two real variables, with gaps."""
    rng = np.random.default_rng(seed)
    gone = rng.random((4, n_rows)) < missing
    codes = {n: np.where(gone[i], MISSING, rng.integers(3, size=n_rows))
             for i, n in enumerate(("b", "a"))}  # fmt: skip
    values = {n: np.where(gone[2 + i], np.nan, rng.normal(size=n_rows))
              for i, n in enumerate(("y", "x"))}  # fmt: skip
    return Findings(n_rows, codes, {}, values)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 120), st.sampled_from([None, 0, 1, 7]))
def test_groups_with_real_variables_say_what_the_rows_say(seed, n_rows, n_shared):
    findings = random_rows(seed, n_rows)
    rows = []
    for group in findings.groups({"a": 3, "b": 3}, n_shared):
        rows += group.rows.tolist()
        for name, codes in findings.codes.items():
            expected = codes[group.rows]
            share = (expected == np.arange(3)[:, None]) | (expected == MISSING)
            if name in group.known.codes:
                assert_array_equal(group.known.codes[name][group.place], expected)
            else:
                found = group.known.likelihood.get(name, np.ones((3, group.known.n_rows)))
                assert_array_equal(found[:, group.place], share)
        nothing = np.full(group.known.n_rows, np.nan)
        for name, values in findings.values.items():
            found = group.known.values.get(name, nothing)
            assert_array_equal(found[group.place], values[group.rows])
    assert sorted(rows) == list(range(n_rows))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60))
def test_rows_that_may_not_share_are_in_groups_without_gaps(seed, n_rows):
    findings = random_rows(seed, n_rows)
    groups = list(findings.groups({"a": 3, "b": 3}, n_shared=0))
    assert all(group.known.settled == group.known.names for group in groups)
    patterns = {tuple(sorted(group.known.names)) for group in groups}
    assert len(patterns) == len(groups)


def test_rows_that_know_only_states_are_asked_about_once_each():
    findings = Findings(4, {"a": np.array([1, 0, 1, 0])}, {}, {"x": np.full(4, np.nan)})
    (group,) = findings.groups({"a": 2})
    assert (group.known.n_rows, group.known.names) == (2, {"a"})
    assert_array_equal(group.known.codes["a"][group.place], [1, 0, 1, 0])


def test_settled_variables_are_known_in_every_row():
    findings = Findings.of(
        {"a": [0, 1], "b": [0, MISSING]}, {"x": [1.0, 2.0], "y": [1, np.nan]}
    )
    assert findings.settled == {"a", "x"}
    assert findings.names == {"a", "b", "x", "y"}
    assert findings.is_known("x")
    assert not findings.is_known("b")


def test_single_findings_fill_up_longer_columns():
    findings = Findings.of({"a": 1}, {"x": [1.0, 2.0]}, {"b": [0.2, 0.8]})
    assert findings.codes["a"].tolist() == [1, 1]
    assert findings.likelihood["b"].tolist() == [[0.2, 0.2], [0.8, 0.8]]
    assert Findings.of({"a": []}, {"x": 3.0}).n_rows == 0
    assert Findings.of().n_rows == 1


def test_some_rows_have_their_own_states_likelihoods_and_values():
    findings = Findings.of({"a": [0, 1, 2]}, {"x": [1.0, 2.0, 3.0]}, {"b": np.eye(3)})
    part = findings.take(np.array([2, 0]))
    assert part.codes["a"].tolist() == [2, 0]
    assert part.values["x"].tolist() == [3.0, 1.0]
    assert_array_equal(part.likelihood["b"], np.eye(3)[:, [2, 0]])
    assert findings.row(1).values["x"].tolist() == [2.0]
    assert findings.take(slice(1, 9)).n_rows == 2


def test_variables_may_be_numbered_instead_of_named():
    findings = Findings.of({"a": [0, 1]}, {}, {"b": [0.2, 0.8]})
    numbered = findings.numbered({"b": 0, "a": 7})
    assert numbered.codes[7].tolist() == [0, 1]
    assert numbered.likelihood[0].tolist() == [[0.2, 0.2], [0.8, 0.8]]


def test_rows_with_different_gaps_share_groups_of_limited_size():
    findings = random_rows(0, 60)
    sizes = [len(group.rows) for group in findings.groups({"a": 3, "b": 3}, n_shared=25)]
    assert sizes == [25, 25, 10]

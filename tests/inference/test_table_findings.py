import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from credo.inference.table_findings import FEW_PATTERNS, WORTH_A_PLAN, TableFindings

N_STATES = (2, 3, 4, 2)


def random_findings(seed, n_rows, missing):
    rng = np.random.default_rng(seed)
    table = np.array([rng.integers(n, size=n_rows) for n in N_STATES])
    table = np.where(rng.random(table.shape) < missing, -1, table)
    return TableFindings(n_rows, {i: table[i] for i in (2, 0, 3, 1)}), table


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
                share = group.likelihood[start : start + n]
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
    (group,) = TableFindings(5, {0: codes}).groups(N_STATES)
    assert group.codes.shape == (1, 2)
    assert_array_equal(group.codes[0, group.place], codes)


def test_rows_with_likelihoods_stay_apart():
    weight = np.arange(1.0, 7.0).reshape(2, 3)
    findings = TableFindings(3, {1: np.array([2, 2, 2])}, {0: weight})
    (group,) = findings.groups(N_STATES)
    assert group.codes.shape == (1, 3)
    assert group.weighted == ((0,),)
    assert_array_equal(group.likelihood[:, group.place], weight)


def test_a_few_patterns_have_a_plan_each():
    table = np.zeros((4, 8), dtype=int)
    for at in range(FEW_PATTERNS):
        table[at, 2 * at : 2 * at + 2] = -1
    groups = list(TableFindings(8, dict(enumerate(table))).groups(N_STATES))
    assert len(groups) == FEW_PATTERNS
    assert all(group.likelihood is None and len(group.observed) == 3 for group in groups)


def test_many_patterns_share_one_plan_and_common_ones_have_their_own():
    _, table = random_findings(0, 60, 0.5)
    common = np.zeros((4, WORTH_A_PLAN), dtype=int)
    common[1] = -1
    both = np.concatenate([table, common], axis=1)
    n_rows = both.shape[1]
    groups = list(TableFindings(n_rows, dict(enumerate(both))).groups(N_STATES))
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
    assert list(TableFindings(0, codes).groups(N_STATES)) == []


def test_rows_without_any_finding_make_one_group():
    (group,) = TableFindings(3).groups(N_STATES)
    assert group.observed == ()
    assert_array_equal(group.rows, [0, 1, 2])
    assert_array_equal(group.codes[:, group.place].shape, (0, 3))

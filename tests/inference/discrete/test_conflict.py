import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.inference.discrete.conflict import conflict, smallest_conflict
from credo.inference.discrete.exact_inference import TableInference
from credo.inference.discrete.factor_problem import FactorProblem, Table, table_of
from credo.inference.engine.findings import Findings


def forbid(*groups):
    """Return log totals of prefixes where each of some groups of names is impossible."""

    def log_totals(order, sizes):
        return np.array(
            [
                -np.inf if any(set(group) <= set(order[:n]) for group in groups) else 0.0
                for n in sizes
            ]
        )

    return log_totals


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("a", "abcd"),
        ("d", "abcd"),
        ("bd", "abcd"),
        ("abcd", "abcd"),
        ("ca", "dcba"),
        ("", "ab"),
    ],
)
def test_the_only_conflict_is_found_whole(group, names):
    assert set(smallest_conflict(list(names), forbid(group))) == set(group)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=4), min_size=1, max_size=5))
def test_of_several_conflicts_one_is_found_that_has_nothing_to_spare(groups):
    found = set(smallest_conflict(list(range(8)), forbid(*groups)))
    assert any(group <= found for group in groups)
    for name in found:
        assert not any(group <= found - {name} for group in groups)


def test_the_search_takes_one_round_per_member_and_one_more():
    rounds = []

    def counted(order, sizes):
        rounds.append(len(sizes))
        return forbid((3, 17, 40))(order, sizes)

    assert set(smallest_conflict(list(range(64)), counted)) == {3, 17, 40}
    assert len(rounds) == 4


def parity(n):
    """Return fair coins and their parity, a last variable that none of them alone decides."""
    table = np.zeros((2,) * (n + 1))
    for bits in itertools.product([0, 1], repeat=n):
        table[(*bits, sum(bits) % 2)] = 1.0
    coins = [table_of((i,), np.array([0.5, 0.5]), i) for i in range(n)]
    return FactorProblem((2,) * (n + 1), (*coins, Table(tuple(range(n + 1)), table, child=n)))


def test_a_conflict_may_need_every_finding():
    exact = TableInference(parity(4))
    wrong = Findings(1, {i: np.array([1]) for i in range(4)} | {4: np.array([1])})
    assert conflict(exact, wrong) == (0, 1, 2, 3, 4)
    assert exact.total(Findings(1, {i: np.array([1]) for i in range(4)}))[0] > -np.inf


def test_likelihoods_and_states_may_conflict():
    problem = FactorProblem(
        (2, 2, 2),
        (
            table_of((0,), np.array([0.5, 0.5]), 0),
            Table((0, 1), np.eye(2), child=1),
            table_of((0, 2), np.array([[0.9, 0.1], [0.2, 0.8]]), 2),
        ),
    )
    findings = Findings(1, {2: np.array([0]), 0: np.array([0])}, {1: np.array([[0.0], [0.4]])})
    assert conflict(TableInference(problem), findings) == (0, 1)


def test_findings_that_are_possible_have_no_conflict():
    with pytest.raises(ValueError, match=r"must be impossible together.*found \['a', 'b'\]"):
        smallest_conflict(["a", "b"], forbid("ac"))

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from credo.inference.discrete.exact.plan import connected_to, without_barren
from credo.inference.discrete.exact_inference import TableInference
from credo.inference.discrete.factor_problem import FactorProblem, Table, table_of
from credo.inference.engine.findings import Findings


def random_network(rng, n=7, zeros=0.0):
    """Return the tables of a random Bayesian network over coded variables."""
    n_states = tuple(int(k) for k in rng.integers(2, 4, size=n))
    tables = []
    for child in range(n):
        parents = [i for i in range(child) if rng.random() < 0.3]
        values = rng.random([n_states[i] for i in (*parents, child)]) + 0.01
        values = np.where(rng.random(values.shape) < zeros, 0.0, values)
        values += values.sum(axis=-1, keepdims=True) == 0
        values /= values.sum(axis=-1, keepdims=True)
        tables.append(table_of((*parents, child), values, child))
    return FactorProblem(n_states, tuple(tables))


def joint_of(tables, n_states):
    """Return the product of some tables over all variables, by brute force."""
    letters = "abcdefghij"[: len(n_states)]
    joint = np.ones(n_states)
    for table in tables:
        scope = "".join(letters[i] for i in table.scope)
        own = np.exp(table.log_scale) * table.values
        joint = np.einsum(f"{letters},{scope}->{letters}", joint, own)
    return joint


def marginal(joint, target, observed, codes):
    """Return the normalized table of one variable given the others observed."""
    cell = [slice(None)] * joint.ndim
    for i, code in zip(observed, codes, strict=True):
        cell[i] = slice(code, code + 1)
    part = joint[tuple(cell)].sum(axis=tuple(i for i in range(joint.ndim) if i != target))
    return part / part.sum()


def test_childless_variables_that_nobody_asks_about_go_and_then_their_parents():
    chain = [Table((0,), np.ones(2), child=0)]
    chain += [Table((i - 1, i), np.ones((2, 2)), child=i) for i in range(1, 5)]
    assert without_barren(chain, {2}) == chain[:3]
    assert without_barren(chain, {4}) == chain
    assert without_barren(chain, ()) == []
    assert without_barren(chain, {0}) == chain[:1]


def test_a_child_that_is_known_keeps_its_parents():
    tables = [
        Table((0,), np.ones(2), child=0),
        Table((1,), np.ones(2), child=1),
        Table((0, 1, 2), np.ones((2, 2, 2)), child=2),
    ]
    assert without_barren(tables, {0}) == tables[:1]
    assert without_barren(tables, {0, 2}) == tables


def test_a_table_that_is_no_conditional_distribution_is_never_barren():
    tables = [Table((0,), np.ones(2), child=0), Table((0, 1), np.ones((2, 2)))]
    assert without_barren(tables, ()) == tables


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 3))
def test_answers_are_the_same_with_and_without_barren_and_separated_parts(seed, n_observed):
    rng = np.random.default_rng(seed)
    problem = random_network(rng)
    order = [int(i) for i in rng.permutation(7)]
    target, observed = order[0], tuple(sorted(order[1 : 1 + n_observed]))
    codes = [int(rng.integers(problem.n_states[i])) for i in observed]
    whole = joint_of(problem.tables, problem.n_states)
    few = without_barren(problem.tables, {target, *observed})
    near = connected_to(few, {target}, set(observed))
    assert len(near) <= len(few) <= 7
    expected = marginal(whole, target, observed, codes)
    for tables in (few, near):
        part = joint_of(tables, problem.n_states)
        assert_allclose(marginal(part, target, observed, codes), expected, rtol=1e-10)
    found, _ = TableInference(problem).joint(
        Findings(1, {i: np.array([c]) for i, c in zip(observed, codes, strict=True)}),
        [target],
    )
    assert_allclose(found[0], expected, rtol=1e-10)


def test_parts_cut_off_by_what_is_known_are_left_out_if_they_are_positive():
    tables = [
        table_of((0,), np.array([0.4, 0.6]), 0),
        table_of((0, 1), np.array([[0.9, 0.1], [0.2, 0.8]]), 1),
        table_of((1, 2), np.array([[0.7, 0.3], [0.5, 0.5]]), 2),
    ]
    assert connected_to(tables, {2}, {1}) == [tables[2]]
    assert connected_to(tables, {0}, {1}) == tables[:2]
    doubtful = [tables[0], Table((0, 1), np.eye(2), child=1), tables[2]]
    assert connected_to(doubtful, {2}, {1}) == doubtful


def test_a_table_of_known_variables_stays_if_it_may_forbid_them():
    link = Table((0, 1), np.eye(2))
    target = Table((2,), np.ones(2))
    assert connected_to([link, target], {2}, {0, 1}) == [link, target]
    positive = Table((0, 1), np.full((2, 2), 0.5))
    assert connected_to([positive, target], {2}, {0, 1}) == [target]


@pytest.mark.parametrize("target", [0, 2, 4])
def test_impossible_findings_are_noticed_though_relevance_would_prune_them(target):
    # Visit, tuberculosis, smoking, cancer, X-ray, and either of the two diseases.
    either = np.zeros((2, 2, 2))
    either[0, 0, 0] = either[0, 1, 1] = either[1, 0, 1] = either[1, 1, 1] = 1
    tables = (
        table_of((0,), np.array([0.99, 0.01]), 0),
        table_of((0, 1), np.array([[0.99, 0.01], [0.95, 0.05]]), 1),
        table_of((2,), np.array([0.5, 0.5]), 2),
        table_of((2, 3), np.array([[0.99, 0.01], [0.9, 0.1]]), 3),
        Table((1, 3, 5), either, child=5),
        table_of((5, 4), np.array([[0.9, 0.1], [0.2, 0.8]]), 4),
    )
    exact = TableInference(FactorProblem((2,) * 6, tables))
    seen = Findings(2, {3: np.array([1, 0]), 5: np.array([0, 0])})
    table, total = exact.joint(seen, [target])
    assert np.isneginf(total).tolist() == [True, False]
    assert np.isnan(table[0]).all()
    assert np.isfinite(table[1]).all()
    assert np.isneginf(exact.total(seen)).tolist() == [True, False]

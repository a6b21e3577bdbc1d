import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.discrete.approximate.belief_propagation import LoopyBeliefPropagation
from credo.inference.discrete.approximate.flat_problem import FlatProblem, NoPossibleState
from credo.inference.discrete.approximate.gibbs import IteratedConditionalModes, TableGibbs
from credo.inference.discrete.approximate.importance import TableImportance
from credo.inference.discrete.approximate.mean_field import TableMeanField
from credo.inference.discrete.factor_problem import FactorProblem, Table, table_of
from credo.inference.discrete.loops.flat_tables import log_densities
from credo.inference.engine.engine import run


def test_the_flat_form_has_the_density_of_the_problem():
    rng = np.random.default_rng(0)
    tables = (table_of((0, 1), 7 * rng.random((2, 3))), table_of((2, 0), rng.random((2, 2))))
    problem = FactorProblem((2, 3, 2), tables).given({2: 1})
    flat = FlatProblem.of(problem)
    states = np.array([[i, j, 0] for i in range(2) for j in range(3)])
    ours = log_densities(flat.net, states) + flat.log_scale
    assert_allclose(ours, problem.log_density(states))


def test_entries_are_cut_by_variable():
    flat = FlatProblem.of(FactorProblem((2, 1, 3), ()))
    assert [part.tolist() for part in flat.per_variable(np.arange(6.0))] == [
        [0, 1],
        [2],
        [3, 4, 5],
    ]


@pytest.mark.parametrize(
    "engine",
    [
        LoopyBeliefPropagation(),
        TableMeanField(),
        TableGibbs(n_draws=10),
        TableImportance(block_size=10),
    ],
    ids=lambda engine: type(engine).__name__,
)
def test_where_everything_is_given_every_engine_says_so(engine):
    table = np.array([[0.0, 0.3], [0.4, 0.3]])
    problem = FactorProblem((2, 2), (table_of((0, 1), table),)).given({0: 1, 1: 0})
    found = run(engine, problem, np.random.default_rng(0))
    assert [p.tolist() for p in found.posterior.probability] == [[1.0], [1.0]]
    assert found.error == 0
    if found.evidence_method != "none":
        assert_allclose(found.log_evidence, np.log(0.4))


def test_where_everything_is_given_the_mode_is_what_is_given():
    problem = FactorProblem((2, 2), (table_of((0, 1), np.eye(2) + 1),)).given({0: 1, 1: 0})
    for engine in (LoopyBeliefPropagation("max"), IteratedConditionalModes()):
        found = run(engine, problem, np.random.default_rng(0))
        assert found.posterior.states.tolist() == [0, 0]


def test_a_table_of_zeros_is_refused():
    with pytest.raises(NoPossibleState, match="positive density"):
        FlatProblem.of(FactorProblem((2,), (Table((0,), np.zeros(2)),)))


def test_starts_of_a_hard_relation_are_possible():
    # A binary tree of exclusive ors whose root is given.
    parity = (np.indices((2, 2, 2)).sum(axis=0) % 2 == 0).astype(float)
    tables = tuple(table_of((i, 2 * i + 1, 2 * i + 2), parity) for i in range(31))
    problem = FactorProblem((2,) * 63, tables).given({0: 1, 62: 0})
    flat = FlatProblem.of(problem)
    states = flat.starts(20, np.random.default_rng(0))
    assert np.isfinite(problem.log_density(states)).all()
    assert len(np.unique(states, axis=0)) == 20


def test_the_refusal_survives_another_process():
    again = pickle.loads(pickle.dumps(NoPossibleState()))
    assert str(again) == str(NoPossibleState())


def test_starts_that_cannot_exist_are_refused():
    different = [table_of(pair, 1.0 - np.eye(2)) for pair in ((0, 1), (1, 2), (2, 0))]
    with pytest.raises(NoPossibleState):
        FlatProblem.of(FactorProblem((2,) * 3, tuple(different))).starts(
            1, np.random.default_rng(0)
        )


def tree_with_doubles(rng):
    """Return a tree of pairs, some of them twice, reversed, or inside a table of three."""
    tables = [
        table_of((0, 1), 5 * rng.random((2, 3))),
        table_of((1, 0), rng.random((3, 2))),
        table_of((1, 2, 3), rng.random((3, 2, 2))),
        table_of((3, 1), 3 * rng.random((2, 3))),
        table_of((2, 1), rng.random((2, 3))),
        table_of((2, 3), rng.random((2, 2))),
        table_of((0,), rng.random(2)),
        table_of((4, 0), rng.random((2, 2))),
    ]
    return FactorProblem((2, 3, 2, 2, 2), tuple(tables))


def joint_of(problem):
    states = np.array(list(np.ndindex(*problem.n_states)))
    return states, np.exp(problem.log_density(states))


def test_tables_about_the_same_variables_are_no_loop():
    problem = tree_with_doubles(np.random.default_rng(7))
    flat = FlatProblem.of(problem)
    assert flat.order.is_forest
    states, weight = joint_of(problem)
    assert_allclose(
        log_densities(flat.net, states) + flat.log_scale, problem.log_density(states)
    )
    found = run(LoopyBeliefPropagation(), problem)
    assert found.evidence_method == "exact"
    assert_allclose(found.log_evidence, np.log(weight.sum()), rtol=1e-12)
    for i, marginal in enumerate(found.posterior.probability):
        expected = np.bincount(states[:, i], weight) / weight.sum()
        assert_allclose(marginal, expected, rtol=1e-10)


def test_what_is_given_does_not_keep_tables_apart():
    rng = np.random.default_rng(8)
    tables = (
        table_of((2, 0, 1), rng.random((2, 2, 3))),
        table_of((1, 3, 0), rng.random((3, 2, 2))),
    )
    problem = FactorProblem((2, 3, 2, 2), tables)
    assert not FlatProblem.of(problem).order.is_forest
    known = problem.given({2: 1, 3: 0})
    flat = FlatProblem.of(known)
    assert flat.order.is_forest
    states, _ = joint_of(known)
    assert_allclose(log_densities(flat.net, states) + flat.log_scale, known.log_density(states))


def test_zeros_of_tables_about_the_same_variables_join():
    left, right = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])
    problem = FactorProblem((2, 2), (table_of((0, 1), left), table_of((0, 1), right)))
    found = run(LoopyBeliefPropagation(), problem)
    assert found.posterior.probability[0].tolist() == [0.0, 1.0]
    apart = FactorProblem((2, 2), (Table((0, 1), np.eye(2)), Table((1, 0), 1 - np.eye(2))))
    with pytest.raises(NoPossibleState):
        FlatProblem.of(apart)


def test_tables_whose_product_would_lose_an_entry_stay_apart():
    table = Table((0, 1), np.array([[1.0, 1e-200], [1e-200, 1.0]]))
    rules_out = table_of((0,), np.array([1.0, 0.0]))
    other = table_of((1,), np.array([0.0, 1.0]))
    problem = FactorProblem((2, 2), (table, table, rules_out, other))
    flat = FlatProblem.of(problem)
    assert_allclose(
        log_densities(flat.net, np.array([[0, 1]])) + flat.log_scale, 2 * np.log(1e-200)
    )

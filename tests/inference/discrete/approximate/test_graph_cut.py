import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.inference.discrete.approximate.graph_cut import graph_cut
from credo.inference.discrete.factor_problem import FactorProblem, table_of
from credo.inference.engine.error import NotSubmodular
from credo.inference.spins.cut import spin_cut
from credo.inference.spins.problem import IsingProblem
from credo.inference.spins.sweep import SpinGraph
from credo.models.spins.ising_model import lattice_edges


def submodular_table(rng, zeros=0.0):
    """Return a table that favors agreement, some of its entries zero where that keeps it so."""
    table = rng.exponential(size=(2, 2))
    if table[0, 0] * table[1, 1] < table[0, 1] * table[1, 0]:
        table = table[::-1]
    table = table.copy()
    if rng.random() < zeros:
        kind = rng.integers(4)
        if kind == 0:
            table[0, 1] = 0.0
        elif kind == 1:
            table[1, 0] = 0.0
        elif kind == 2:
            table[0, 1] = table[1, 0] = 0.0
        else:
            table[rng.integers(2)] = 0.0
    return table


def random_problem(seed, n=7, zeros=0.0):
    rng = np.random.default_rng(seed)
    tables = [table_of((i,), rng.exponential(size=2)) for i in range(n)]
    tables += [
        table_of(tuple(rng.permutation([i, j]).tolist()), submodular_table(rng, zeros))
        for i, j in itertools.combinations(range(n), 2)
        if rng.random() < 0.6
    ]
    return FactorProblem((2,) * n, tuple(tables))


def best(problem):
    shape = problem.n_states
    states = np.array(list(np.ndindex(*shape)))
    level = problem.log_density(states)
    return states[level.argmax()], level.max()


@pytest.mark.parametrize("seed", range(25))
def test_the_cut_is_the_mode_by_enumeration(seed):
    problem = random_problem(seed)
    states, level = best(problem)
    answer = graph_cut(problem)
    assert_array_equal(answer.states, states)
    assert_allclose(answer.log_density, level)


@pytest.mark.parametrize("seed", range(40))
def test_zeros_in_tables_are_obeyed(seed):
    problem = random_problem(seed, n=5, zeros=0.5)
    states, level = best(problem)
    if level == -np.inf:
        with pytest.raises(ValueError, match="some joint state must have positive density"):
            graph_cut(problem)
        return
    assert_array_equal(graph_cut(problem).states, states)


def test_given_states_stay_and_free_the_rest_of_larger_tables():
    rng = np.random.default_rng(0)
    three = np.ones((2, 2, 2))
    three[1] = submodular_table(rng)
    base = random_problem(3, n=4)
    problem = FactorProblem(base.n_states, (*base.tables, table_of((1, 0, 2), three)))
    with pytest.raises(NotSubmodular, match="at most two free variables"):
        graph_cut(problem)
    known = problem.given({1: 1})
    assert_array_equal(graph_cut(known).states, best(known)[0])


def test_a_table_that_favors_difference_is_refused():
    problem = FactorProblem((2, 2), (table_of((0, 1), np.array([[1.0, 2.0], [2.0, 1.0]])),))
    with pytest.raises(NotSubmodular, match="found one of \\[0, 1\\]"):
        graph_cut(problem)
    hard = FactorProblem((2, 2), (table_of((0, 1), np.array([[0.0, 1.0], [1.0, 1.0]])),))
    with pytest.raises(NotSubmodular, match="favor that they agree"):
        graph_cut(hard)


def test_three_states_are_refused():
    problem = FactorProblem((2, 3), (table_of((1,), np.ones(3)),))
    with pytest.raises(NotSubmodular, match="found 3 states of variable 1"):
        graph_cut(problem)


def test_tables_of_a_product_are_submodular_whatever_the_rounding():
    rng = np.random.default_rng(1)
    tables = [table_of((i, i + 1), np.outer(*rng.exponential(size=(2, 2)))) for i in range(20)]
    problem = FactorProblem((2,) * 21, tuple(tables))
    total = np.zeros((21, 2))
    for table in tables:
        logs = np.log(table.values)
        total[table.scope[0]] += logs[:, 0]
        total[table.scope[1]] += logs[0]
    assert_array_equal(graph_cut(problem).states, total.argmax(axis=1))


@pytest.mark.parametrize("seed", range(5))
def test_the_cut_of_spins_is_their_mode_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    edges = lattice_edges((4, 4), is_periodic=bool(seed % 2))
    graph = SpinGraph(edges, rng.exponential(0.5, len(edges)), rng.normal(size=16))
    problem = IsingProblem(graph)
    x = 2 * ((np.arange(2**16)[:, None] >> np.arange(16)) & 1) - 1
    level = problem.log_density(x)
    answer = spin_cut(problem)
    assert_array_equal(answer.spins, x[level.argmax()])
    assert_allclose(answer.log_density, level.max())


def test_an_antiferromagnet_is_refused_by_name_of_its_edge():
    graph = SpinGraph(np.array([[0, 1], [1, 2]]), np.array([1.0, -0.5]), np.zeros(3))
    with pytest.raises(NotSubmodular, match=r"found -0.5 between spins \[1, 2\]"):
        spin_cut(IsingProblem(graph))

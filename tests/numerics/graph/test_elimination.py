"""Greedy and bettered orders of elimination against elimination on plain sets."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest

from credo.numerics.graph.elimination import HEURISTICS, PackedGraph

N = 90


def _random(seed, n=N, density=0.06):
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(n, density, seed=seed)
    return graph, rng.integers(1, 5, n)


def _packed(graph, n_states, n_free=None):
    neighbors = [list(graph[v]) for v in range(len(graph))]
    return PackedGraph.of(neighbors, n_states, len(graph) if n_free is None else n_free)


def _missing(graph, v, weight):
    pairs = itertools.combinations(graph[v], 2)
    return sum(weight[u] * weight[w] for u, w in pairs if not graph.has_edge(u, w))


def _eliminate(graph, v):
    graph.add_edges_from(itertools.combinations(list(graph[v]), 2))
    graph.remove_node(v)


def _cells(graph, n_states, order):
    graph, total = graph.copy(), 0
    for v in order:
        total += math.prod(int(n_states[u]) for u in (v, *graph[v]))
        _eliminate(graph, v)
    return total


COSTS = {
    "min-fill": lambda graph, v, states: 1 + _missing(graph, v, np.ones(N)),
    "weighted min-fill": lambda graph, v, states: 1 + _missing(graph, v, states),
    "min-weight": lambda graph, v, states: math.prod(states[u] for u in (v, *graph[v])),
    "min-degree": lambda graph, v, states: 1 + len(graph[v]),
}


@pytest.mark.parametrize("kind", range(4))
def test_each_step_takes_a_node_of_lowest_cost(kind):
    graph, n_states = _random(kind)
    found = _packed(graph, n_states).eliminate(kind, np.zeros(N))
    cost = COSTS[HEURISTICS[kind]]
    assert sorted(found.order.tolist()) == list(range(N))
    for v in found.order.tolist():
        lowest = min(cost(graph, u, n_states) for u in graph)
        assert cost(graph, v, n_states) == pytest.approx(lowest, rel=1e-12)
        _eliminate(graph, v)


@pytest.mark.parametrize("kind", range(4))
def test_noise_multiplies_the_cost_by_a_power_of_two(kind):
    graph, n_states = _random(kind)
    noise = np.random.default_rng(1).normal(size=N)
    found = _packed(graph, n_states).eliminate(kind, noise)
    cost = COSTS[HEURISTICS[kind]]
    for v in found.order.tolist():
        lowest = min(cost(graph, u, n_states) * 2 ** noise[u] for u in graph)
        assert cost(graph, v, n_states) * 2 ** noise[v] == pytest.approx(lowest, rel=1e-9)
        _eliminate(graph, v)


@pytest.mark.parametrize("kind", range(4))
def test_cells_are_those_of_elimination_on_sets(kind):
    graph, n_states = _random(kind)
    found = _packed(graph, n_states).eliminate(kind, np.zeros(N))
    assert found.cells == pytest.approx(_cells(graph, n_states, found.order.tolist()), rel=1e-9)


def test_trial_stops_at_its_limit():
    packed = _packed(*_random(0))
    whole = packed.eliminate(0, np.zeros(N))
    cut = packed.eliminate(0, np.zeros(N), limit=whole.cells / 2)
    assert whole.cells / 2 <= cut.cells <= whole.cells
    assert cut.work < whole.work


def test_nodes_that_are_not_free_stay_and_count():
    star = nx.star_graph(3)
    found = _packed(star, [2, 3, 5, 7], n_free=1).eliminate(0, np.zeros(4))
    assert found.order.tolist() == [0]
    assert found.cells == pytest.approx(2 * 3 * 5 * 7)


@pytest.mark.parametrize("seed", range(5))
def test_bettered_order_costs_what_it_says_and_less_than_before(seed):
    graph, n_states = _random(seed)
    packed = _packed(graph, n_states)
    greedy = packed.eliminate(3, np.zeros(N))
    better = packed.improve(greedy.order, 1e6, seed=seed + 1)
    assert sorted(better.order.tolist()) == list(range(N))
    assert better.cells == pytest.approx(_cells(graph, n_states, better.order.tolist()))
    assert better.cells < greedy.cells


@pytest.mark.parametrize("seed", range(5))
def test_bettered_order_around_nodes_that_stay_costs_what_it_says(seed):
    graph, n_states = _random(seed, n=60, density=0.1)
    n_free = 50
    graph.add_edges_from((i, i + 1) for i in range(n_free - 1))
    packed = _packed(graph, n_states, n_free)
    greedy = packed.eliminate(0, np.zeros(60))
    better = packed.improve(greedy.order, 1e6, seed=seed + 1)
    assert sorted(better.order.tolist()) == list(range(n_free))
    assert better.cells == pytest.approx(_cells(graph, n_states, better.order.tolist()))
    assert better.cells <= greedy.cells * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_bettered_order_of_seven_nodes_is_the_best_of_all(seed):
    graph = nx.compose(nx.gnp_random_graph(7, 0.3, seed=seed), nx.cycle_graph(7))
    n_states = np.random.default_rng(seed).integers(2, 6, 7)
    found = _packed(graph, n_states).improve(np.arange(7), 2e5, seed=3)
    best = min(_cells(graph, n_states, order) for order in itertools.permutations(range(7)))
    assert found.cells == pytest.approx(best)


def test_more_than_sixty_four_neighbors_are_kept_apart():
    graph = nx.complete_bipartite_graph(70, 70)
    n_states = np.full(140, 2)
    packed = _packed(graph, n_states)
    order = np.random.default_rng(0).permutation(140)
    better = packed.improve(order, 3e6, seed=5)
    assert better.cells == pytest.approx(_cells(graph, n_states, better.order.tolist()))
    assert better.cells <= _cells(graph, n_states, order.tolist())

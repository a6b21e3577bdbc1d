"""Orders of elimination against brute force, hand triangulation and other libraries."""

import gzip
import itertools
import math
import re

import networkx as nx
import numpy as np
import pytest

from credo.graphs.structure.elimination_order import (
    HEURISTICS,
    PackedGraph,
    elimination_cliques,
    elimination_order,
    found_order,
)
from naive import published_file


def _random_graph(rng, n, density):
    linked = np.triu(rng.random((n, n)) < density, 1)
    linked |= linked.T
    return [set(np.flatnonzero(row).tolist()) for row in linked]


def _grid(rows, columns):
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, columns))
    return [set(graph[v]) for v in range(rows * columns)]


def _cliques_by_hand(neighbors, order):
    """Eliminate on a plain graph, linking the neighbors of each node that goes."""
    graph = nx.Graph([(v, u) for v, around in enumerate(neighbors) for u in around])
    graph.add_nodes_from(range(len(neighbors)))
    cliques = []
    for v in order:
        around = set(graph[v])
        cliques.append(around | {v})
        graph.add_edges_from(itertools.combinations(around, 2))
        graph.remove_node(v)
    return cliques


def _cells_by_hand(neighbors, n_states, order):
    cliques = _cliques_by_hand(neighbors, order)
    return [math.prod(n_states[v] for v in clique) for clique in cliques]


def _best_by_brute_force(neighbors, n_states, last=()):
    early = [v for v in range(len(neighbors)) if v not in last]
    return min(
        sum(_cells_by_hand(neighbors, n_states, (*first, *then)))
        for first in itertools.permutations(early)
        for then in itertools.permutations(last)
    )


@pytest.mark.parametrize("seed", range(8))
def test_cost_is_that_of_eliminating_by_hand(seed):
    rng = np.random.default_rng(seed)
    neighbors = _random_graph(rng, 25, 0.2)
    n_states = rng.integers(1, 5, 25).tolist()
    found = elimination_order(neighbors, n_states)
    cliques = _cliques_by_hand(neighbors, found.order)
    cells = _cells_by_hand(neighbors, n_states, found.order)
    maximal = {frozenset(c) for c in cliques if not any(c < other for other in cliques)}
    assert sorted(found.order) == list(range(25))
    assert elimination_cliques(neighbors, found.order) == cliques
    assert found.width == max(map(len, cliques)) - 1
    assert found.cells == sum(cells)
    assert found.largest == max(cells)
    assert found.maximal_cells == sum(math.prod(n_states[v] for v in c) for c in maximal)


@pytest.mark.parametrize("seed", range(12))
def test_order_of_a_small_graph_is_the_best_of_all_orders(seed):
    rng = np.random.default_rng(seed)
    neighbors = _random_graph(rng, 6, 0.5)
    n_states = rng.integers(2, 6, 6).tolist()
    found = elimination_order(neighbors, n_states)
    # A simplicial node goes first though another of its clique may have more states.
    assert found.cells <= 1.1 * _best_by_brute_force(neighbors, n_states)


@pytest.mark.parametrize(("first", "second"), [(3, 4), (5, 2)])
def test_order_of_a_bipartite_graph_is_the_best_of_all_orders(first, second):
    graph = nx.complete_bipartite_graph(first, second)
    neighbors = [set(graph[v]) for v in graph]
    n_states = [2, 3, 4, 5, 2, 3, 4][: first + second]
    found = elimination_order(neighbors, n_states)
    assert found.cells == _best_by_brute_force(neighbors, n_states)


def test_last_variables_are_eliminated_after_all_others_as_well_as_possible():
    rng = np.random.default_rng(3)
    neighbors = _random_graph(rng, 7, 0.5)
    n_states = [2, 3, 2, 4, 2, 3, 2]
    found = elimination_order(neighbors, n_states, last=[1, 4, 6])
    assert set(found.order[-3:]) == {1, 4, 6}
    assert found.cells == sum(_cells_by_hand(neighbors, n_states, found.order))
    assert found.cells <= 1.1 * _best_by_brute_force(neighbors, n_states, (1, 4, 6))


def test_last_variables_can_cost_more():
    star = [{1, 2, 3, 4}, {0}, {0}, {0}, {0}]
    assert elimination_order(star, [2] * 5).cells == 4 * 4 + 2
    assert elimination_order(star, [2] * 5, last=[1, 2, 3, 4]).cells == 32 + 16 + 8 + 4 + 2


def test_naming_all_variables_last_changes_nothing():
    neighbors = _grid(4, 4)
    free = elimination_order(neighbors, [2] * 16)
    assert elimination_order(neighbors, [2] * 16, last=range(16)) == free


@pytest.mark.parametrize("seed", range(4))
def test_chordal_graphs_gain_no_links(seed):
    rng = np.random.default_rng(seed)
    neighbors = _random_graph(rng, 20, 0.25)
    filled = nx.Graph()
    filled.add_nodes_from(range(20))
    for clique in _cliques_by_hand(neighbors, rng.permutation(20).tolist()):
        filled.add_edges_from(itertools.combinations(clique, 2))
    n_states = rng.integers(2, 5, 20).tolist()
    found = elimination_order([set(filled[v]) for v in range(20)], n_states)
    maximal = nx.chordal_graph_cliques(filled)
    assert found.heuristic == "simplicial"
    assert found.maximal_cells == sum(math.prod(n_states[v] for v in c) for c in maximal)


def test_trees_need_tables_of_two_variables():
    tree = nx.random_labeled_tree(200, seed=1)
    found = elimination_order([set(tree[v]) for v in range(200)], [3] * 200)
    assert found.width == 1
    assert found.cells == 199 * 9 + 3


def test_long_chains_are_taken_from_their_ends():
    n = 100_000
    chain = [{i - 1, i + 1} - {-1, n} for i in range(n)]
    found = elimination_order(chain, [2] * n)
    assert (found.width, found.cells) == (1, 4.0 * (n - 1) + 2)


def test_long_ladders_go_by_lowest_degree():
    n = 7_000
    ladder = nx.convert_node_labels_to_integers(nx.ladder_graph(n))
    found = elimination_order([set(ladder[v]) for v in range(2 * n)], [2] * (2 * n))
    assert sorted(found.order) == list(range(2 * n))
    assert found.width == 2
    assert found.heuristic == "min-degree"


def test_parts_without_links_between_them_add_up():
    square = _grid(2, 2)
    both = square + [{v + 4 for v in around} for around in square] + [set()]
    alone = elimination_order(square, [2, 3, 4, 5])
    joined = elimination_order(both, [2, 3, 4, 5, 2, 3, 4, 5, 7])
    assert joined.cells == 2 * alone.cells + 7


def test_square_grid_reaches_its_known_width():
    assert elimination_order(_grid(6, 6), [2] * 36).width == 6


def test_same_seed_gives_the_same_order():
    neighbors = _random_graph(np.random.default_rng(5), 40, 0.1)
    one, two = (
        elimination_order(neighbors, [3] * 40, rng=np.random.default_rng(7)) for _ in range(2)
    )
    assert one == two
    assert elimination_order(neighbors, [3] * 40) == elimination_order(neighbors, [3] * 40)


def test_more_effort_finds_fewer_cells():
    quick = elimination_order(_grid(9, 9), [2] * 81, effort=0)
    thorough = elimination_order(_grid(9, 9), [2] * 81, effort=1)
    assert thorough.cells < quick.cells


def test_a_start_is_bettered_and_never_made_worse():
    """The order of a larger graph is the one to beat on a part of it."""
    states = [2] * 81
    good = elimination_order(_grid(9, 9), states)
    quick = elimination_order(_grid(9, 9), states, effort=0)
    again = elimination_order(_grid(9, 9), states, effort=0, start=good.order)
    assert again.cells == good.cells < quick.cells
    part = [around - {80} for around in _grid(9, 9)[:80]]
    started = elimination_order(part, states[:80], effort=0, start=good.order)
    assert sorted(started.order) == list(range(80))
    assert started.cells <= good.cells


def test_a_bad_start_does_no_harm():
    star = [set(range(1, 8))] + [{0}] * 7
    square = _grid(4, 4)
    assert elimination_order(star, [3] * 8, start=range(8)).cells == 7 * 9 + 3
    bad = list(range(0, 16, 2)) + list(range(1, 16, 2))
    free = elimination_order(square, [2] * 16, effort=0)
    assert elimination_order(square, [2] * 16, effort=0, start=bad).cells <= free.cells


def test_the_order_alone_is_that_of_the_measured_one():
    graph = _random_graph(np.random.default_rng(3), 30, 0.15)
    measured = elimination_order(graph, [2, 3] * 15, last=[4, 9])
    order, heuristic = found_order(graph, [2, 3] * 15, [4, 9])
    assert (tuple(order), heuristic) == (measured.order, measured.heuristic)


def test_order_beats_the_orders_of_networkx():
    graph = nx.gnp_random_graph(40, 0.15, seed=2)
    found = elimination_order([set(graph[v]) for v in range(40)], [2] * 40)
    width, _ = nx.approximation.treewidth_min_fill_in(graph)
    assert found.width <= width


def _moral_graph(name):
    """Read who shares a table with whom from a network file that another library ships."""
    text = gzip.decompress(published_file(f"{name}.bif.gz").read_bytes()).decode()
    states = dict(re.findall(r"variable (\S+) \{\s*type discrete \[ (\d+) \]", text))
    place = {variable: i for i, variable in enumerate(states)}
    neighbors = [set() for _ in states]
    for scope in re.findall(r"probability \( (.*?) \)", text):
        group = {place[variable] for variable in re.split(r"[\s|,]+", scope)}
        for v in group:
            neighbors[v] |= group - {v}
    return neighbors, [int(n) for n in states.values()]


@pytest.mark.comparison
@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("alarm", 1_020),
        ("win95pts", 2_684),
        ("hepar2", 2_617),
        ("hailfinder", 9_544),
        ("insurance", 24_552),
        ("pathfinder", 182_641),
        ("andes", 339_614),
        ("pigs", 794_313),
        ("water", 8.0e6),
        ("diabetes", 10.6e6),
        ("mildew", 13.1e6),
        ("munin", 29e6),
    ],
)
def test_published_networks_need_no_more_cells_than_elsewhere(name, cells):
    assert elimination_order(*_moral_graph(name)).maximal_cells <= cells


def test_no_variables_need_no_order():
    found = elimination_order([], [])
    assert (found.order, found.width, found.cells, found.largest) == ((), -1, 0.0, 0.0)


def test_cells_too_many_for_a_number_are_infinite():
    n = 700
    complete = [set(range(n)) - {v} for v in range(n)]
    assert elimination_order(complete, [4] * n, effort=0).cells == math.inf


@pytest.mark.parametrize(
    ("neighbors", "n_states", "last", "message"),
    [
        ([{1}, {0}], [2], (), "one positive number for each of 2 variables; found 1"),
        ([{1}, {0}], [2, 0], (), "the smallest 0"),
        ([{1}, {0, 2}], [2, 2], (), "numbered 0 to 1; found 0 to 2"),
        ([{1}, {0}], [2, 2], (-1,), "numbered 0 to 1; found -1 to 1"),
        ([{1}, set()], [2, 2], (), "symmetric; found 1 beside 0, not 0 beside 1"),
    ],
)
def test_impossible_input_is_refused(neighbors, n_states, last, message):
    with pytest.raises(ValueError, match=message):
        elimination_order(neighbors, n_states, last=last)


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

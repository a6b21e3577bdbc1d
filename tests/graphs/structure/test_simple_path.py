from itertools import combinations, pairwise

import networkx as nx
import numpy as np
import pytest

from credo.graphs.structure.separation import simple_paths
from credo.graphs.structure.undirected import UndirectedGraph


@pytest.mark.parametrize("seed", range(10))
def test_all_simple_paths_come_once_and_shortest_first(seed):
    rng = np.random.default_rng(seed)
    names = [f"n{i}" for i in range(8)]
    pairs = [pair for pair in combinations(names, 2) if rng.random() < 0.4]
    graph = UndirectedGraph.from_edges(pairs, names)
    found = list(simple_paths(graph.neighbors, ["n0"], ["n7"]))
    peer = nx.all_simple_paths(graph.to_networkx(), "n0", "n7")
    assert sorted(found) == sorted(map(tuple, peer))
    assert all(len(a) <= len(b) for a, b in pairwise(found))


@pytest.mark.parametrize("seed", range(5))
def test_paths_between_groups_have_no_member_of_either_inside(seed):
    rng = np.random.default_rng(seed)
    names = [f"n{i}" for i in range(8)]
    pairs = [pair for pair in combinations(names, 2) if rng.random() < 0.45]
    graph = UndirectedGraph.from_edges(pairs, names)
    start, goal = names[:2], names[5:]
    expected = [
        tuple(path)
        for x in start
        for y in goal
        for path in nx.all_simple_paths(graph.to_networkx(), x, y)
        if not set(path[1:-1]) & {*start, *goal}
    ]
    assert sorted(simple_paths(graph.neighbors, start, goal)) == sorted(expected)


def test_a_detour_is_taken_when_the_short_way_leads_through_another_start():
    graph = UndirectedGraph.from_edges(["ab", "bz", "ac", "cd", "dz"])
    found = list(simple_paths(graph.neighbors, ["a", "b"], ["z"]))
    assert found == [("b", "z"), ("a", "c", "d", "z")]


def test_the_first_paths_of_a_large_grid_come_without_listing_all():
    grid = UndirectedGraph.from_networkx(nx.grid_2d_graph(20, 20))
    paths = simple_paths(grid.neighbors, ["(0, 0)"], ["(19, 19)"])
    first = [next(paths) for _ in range(5)]
    assert {len(path) for path in first} == {39}
    assert len(set(first)) == 5

import networkx as nx
import numpy as np
import pytest

import credo.graphs.structure.elimination_order
from credo.graphs.structure.elimination_order import HEURISTICS, best_order, elimination_order

GRID = nx.convert_node_labels_to_integers(nx.grid_2d_graph(5, 5))
NEIGHBORS = [set(GRID[v]) for v in range(25)]


@pytest.mark.parametrize("effort", [0.0, 1.0])
def test_reported_cells_are_those_of_the_order(effort):
    order, cells, heuristic = best_order(
        NEIGHBORS, [2, 3, 2, 4, 2] * 5, range(25), np.random.default_rng(0), effort
    )
    measured = elimination_order(NEIGHBORS, [2, 3, 2, 4, 2] * 5, effort=effort)
    assert sorted(order) == list(range(25))
    assert cells == pytest.approx(measured.cells)
    assert heuristic in HEURISTICS


def test_nodes_outside_the_part_stay_and_count():
    middle = [7, 11, 12, 13, 17]
    order, cells, _ = best_order(
        NEIGHBORS, [2] * 25, middle, np.random.default_rng(0), effort=1.0
    )
    assert sorted(order) == middle
    # Four arms of five nodes each; with the arms gone the center sees the eight around them.
    assert cells == pytest.approx(4 * 2**5 + 2**9)


def test_large_parts_go_by_lowest_degree(monkeypatch):
    monkeypatch.setattr(credo.graphs.structure.elimination_order, "MAX_PACKED", 3)
    order, cells, heuristic = best_order(
        NEIGHBORS, [2] * 25, range(25), np.random.default_rng(0), effort=1.0
    )
    graph, total = GRID.copy(), 0
    for v in order:
        assert graph.degree(v) == min(degree for _, degree in graph.degree)
        total += 2 ** (graph.degree(v) + 1)
        around = list(graph[v])
        graph.add_edges_from((u, w) for u in around for w in around if u < w)
        graph.remove_node(v)
    assert heuristic == "min-degree"
    assert cells == pytest.approx(total)

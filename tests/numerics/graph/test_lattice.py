import networkx as nx
import pytest

from credo.numerics.graph.lattice import lattice_edges


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 4), (2, 3, 4), (1, 5)])
@pytest.mark.parametrize("periodic", [False, True])
def test_edges_are_those_of_networkx(shape, periodic):
    graph = nx.grid_graph(shape[::-1], periodic=periodic)
    place = {node: k for k, node in enumerate(sorted(graph.nodes))}
    expected = {frozenset((place[a], place[b])) for a, b in graph.edges if a != b}
    edges = lattice_edges(shape, periodic)
    assert len(edges) == len(expected)
    assert {frozenset(pair) for pair in edges.tolist()} == expected

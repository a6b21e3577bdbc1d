import networkx as nx
import pytest

from credo.graphs.structure.elimination_order import eliminate_simplicial


def _neighbors(graph):
    return [set(graph[v]) for v in range(len(graph))]


def test_each_node_taken_had_linked_neighbors():
    graph = nx.gnp_random_graph(40, 0.08, seed=4)
    for v in eliminate_simplicial(_neighbors(graph), range(40), [2] * 40):
        around = graph.subgraph(graph[v])
        assert around.size() == len(around) * (len(around) - 1) // 2
        graph.remove_node(v)


def test_what_is_left_has_no_such_node():
    left = _neighbors(nx.gnp_random_graph(40, 0.08, seed=4))
    taken = eliminate_simplicial(left, range(40), [2] * 40)
    graph = nx.Graph([(v, u) for v, around in enumerate(left) for u in around])
    assert set(graph) == set(range(40)) - set(taken)
    for v in graph:
        around = graph.subgraph(graph[v])
        assert around.size() < len(around) * (len(around) - 1) // 2


def test_cycles_stay_as_they_are():
    cycle = _neighbors(nx.cycle_graph(5))
    assert eliminate_simplicial(cycle, range(5), [2] * 5) == []
    assert cycle == _neighbors(nx.cycle_graph(5))


def test_only_the_named_nodes_are_taken():
    path = _neighbors(nx.path_graph(4))
    assert eliminate_simplicial(path, [0, 1], [2] * 4) == [0, 1]
    assert path == [set(), set(), {3}, {2}]


@pytest.mark.parametrize(
    ("n_states", "order"), [([2, 5, 3], [1, 2, 0]), ([9, 5, 3], [0, 1, 2])]
)
def test_many_states_go_first(n_states, order):
    triangle = _neighbors(nx.complete_graph(3))
    assert eliminate_simplicial(triangle, range(3), n_states) == order

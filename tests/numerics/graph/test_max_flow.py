import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import maximum_flow

from credo.models.spins.ising_model import lattice_edges
from credo.numerics.graph.max_flow import minimum_cut


def random_network(seed, largest=9):
    """Return integer capacities: from the source, to the sink, of edges and of the way back."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, largest))
    edges = rng.integers(0, n, (int(rng.integers(0, 3 * n)), 2))
    edges = edges[edges[:, 0] != edges[:, 1]]
    ahead, back = rng.integers(0, 9, (2, len(edges)))
    source, sink = rng.integers(0, 12, (2, n)) * (rng.random((2, n)) < 0.6)
    return [v.astype(float) for v in (source, sink)], edges, ahead * 1.0, back * 1.0


def cut_cost(side, source, sink, edges, ahead, back):
    tail, head = side[edges[:, 0]], side[edges[:, 1]]
    return (
        source[~side].sum()
        + sink[side].sum()
        + ahead[tail & ~head].sum()
        + back[head & ~tail].sum()
    )


def scipy_flow(source, sink, edges, ahead, back):
    n = len(source)
    tail = np.concatenate([np.full(n, n), np.arange(n), edges[:, 0], edges[:, 1]])
    head = np.concatenate([np.arange(n), np.full(n, n + 1), edges[:, 1], edges[:, 0]])
    values = np.concatenate([source, sink, ahead, back]).astype(np.int32)
    matrix = coo_matrix((values, (tail, head)), shape=(n + 2, n + 2)).tocsr()
    matrix.sum_duplicates()
    return maximum_flow(matrix, n, n + 1).flow_value


@pytest.mark.parametrize("seed", range(60))
def test_flow_is_that_of_scipy_and_the_cut_costs_as_much(seed):
    (source, sink), *rest = random_network(seed, largest=30)
    cut = minimum_cut(source, sink, *rest)
    assert cut.value == scipy_flow(source, sink, *rest)
    assert cut.value == cut_cost(cut.is_source_side, source, sink, *rest)


@pytest.mark.parametrize("seed", range(20))
def test_no_other_cut_is_cheaper(seed):
    (source, sink), *rest = random_network(100 + seed)
    cut = minimum_cut(source, sink, *rest)
    n = len(source)
    sides = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(bool)
    costs = [cut_cost(side, source, sink, *rest) for side in sides]
    assert cut.value == min(costs)
    smallest = min(sides[k].sum() for k in range(2**n) if costs[k] == cut.value)
    assert cut.is_source_side.sum() == smallest


def test_real_capacities_give_the_flow_of_networkx():
    rng = np.random.default_rng(3)
    edges = lattice_edges((6, 7))
    source, sink = rng.exponential(size=(2, 42))
    ahead, back = rng.exponential(size=(2, len(edges)))
    graph = nx.DiGraph()
    for k in range(42):
        graph.add_edge("s", k, capacity=source[k])
        graph.add_edge(k, "t", capacity=sink[k])
    for (i, j), a, b in zip(edges.tolist(), ahead, back, strict=True):
        graph.add_edge(i, j, capacity=a)
        graph.add_edge(j, i, capacity=b)
    cut = minimum_cut(source, sink, edges, ahead, back)
    assert_allclose(cut.value, nx.maximum_flow_value(graph, "s", "t"))
    assert_allclose(cut_cost(cut.is_source_side, source, sink, edges, ahead, back), cut.value)


def test_infinite_capacities_are_never_cut_and_an_infinite_cut_says_so():
    edges = np.array([[0, 1], [1, 2]])
    source, sink = np.array([np.inf, 0.0, 0.0]), np.array([0.0, 0.0, 3.0])
    cut = minimum_cut(source, sink, edges, np.array([np.inf, 5.0]))
    assert (cut.value, cut.is_source_side.tolist()) == (3.0, [True, True, True])
    endless = minimum_cut(source, sink + np.inf, edges, np.array([np.inf, np.inf]))
    assert endless.value == np.inf
    sink[2] = np.inf
    assert minimum_cut(source, sink, edges, np.array([np.inf, np.inf])).value == np.inf


def test_without_edges_each_node_takes_its_cheaper_side():
    none = np.empty((0, 2), dtype=np.intp)
    cut = minimum_cut(np.array([3.0, 1.0]), np.array([2.0, 4.0]), none, np.empty(0))
    assert (cut.value, cut.is_source_side.tolist()) == (3.0, [True, False])

import pickle
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from credo.graphs.structure.directed import CycleFound, DirectedGraph
from credo.graphs.variable import UnknownVariable
from naive import structure_of_file

ROOF = DirectedGraph.from_text("C, G -> A -> L1, L2")
SPRINKLER = DirectedGraph.from_text("C -> S, R; S, R -> W")
BURGLAR = DirectedGraph.from_text("E, B -> A -> C; E -> R")


def random_graph(n, n_edges, seed):
    rng = np.random.default_rng(seed)
    names = [f"n{i}" for i in rng.permutation(n)]
    pairs = {tuple(sorted(rng.choice(n, 2, replace=False))) for _ in range(n_edges)}
    shuffled = rng.permutation(sorted(pairs))
    return DirectedGraph.from_edges([(names[i], names[j]) for i, j in shuffled], names)


def test_text_edges_and_mapping_give_equal_graphs():
    edges = [("C", "S"), ("C", "R"), ("S", "W"), ("R", "W")]
    mapping = {"W": ["R", "S"], "S": ["C"], "R": ["C"]}
    assert SPRINKLER == DirectedGraph.from_edges(edges) == DirectedGraph(mapping)
    assert hash(SPRINKLER) == hash(DirectedGraph(mapping))
    assert DirectedGraph.from_edges(edges[:3]) != SPRINKLER
    assert DirectedGraph.from_edges(edges, nodes=["alone"]) != SPRINKLER


def test_order_of_nodes_and_parents_is_kept_and_unlisted_parents_come_last():
    graph = DirectedGraph({"w": ["s", "r"], "r": ["c"]})
    assert graph.nodes == ("w", "r", "s", "c")
    assert graph.parents("w") == ("s", "r")
    assert graph.edges == (("s", "w"), ("r", "w"), ("c", "r"))
    assert list(graph) == list(graph.nodes)
    assert len(graph) == 4
    assert "w" in graph
    assert "q" not in graph


def test_an_order_that_is_already_causal_is_not_changed():
    for seed in range(10):
        graph = random_graph(20, 40, seed)
        causal = DirectedGraph.from_edges(graph.edges, nodes=graph.order())
        assert causal.order() == causal.nodes == graph.order()


@pytest.mark.parametrize("seed", range(8))
def test_relatives_agree_with_networkx(seed):
    graph = random_graph(25, 45, seed)
    peer = graph.to_networkx()
    place = {name: i for i, name in enumerate(graph.order())}
    assert all(place[tail] < place[head] for tail, head in graph.edges)
    assert nx.utils.edges_equal(nx.moral_graph(peer).edges, graph.moral().edges)
    for node in graph:
        assert set(graph.children(node)) == set(peer.successors(node))
        assert set(graph.ancestors(node)) == nx.ancestors(peer, node)
        assert set(graph.descendants(node)) == nx.descendants(peer, node)
        assert graph.markov_blanket(node) == graph.moral().neighbors(node)


def test_ancestors_of_several_nodes_may_hold_one_of_them():
    chain = DirectedGraph.from_text("a -> b -> c")
    assert chain.ancestors(["b", "c"]) == ("a", "b")
    assert chain.descendants(["a", "b"]) == ("b", "c")
    assert chain.ancestors([]) == ()


@pytest.mark.parametrize(
    ("graph", "blankets"),
    [
        (ROOF, {"C": "AG", "G": "AC", "A": ["C", "G", "L1", "L2"], "L1": "A", "L2": "A"}),
        (SPRINKLER, {"C": "SR", "S": "CRW", "R": "CSW", "W": "SR"}),
        (BURGLAR, {"E": "ABR", "B": "AE", "R": "E", "A": "BCE", "C": "A"}),
    ],
)
def test_markov_blankets_are_those_found_by_hand(graph, blankets):
    assert {node: set(graph.markov_blanket(node)) for node in graph} == {
        node: set(blanket) for node, blanket in blankets.items()
    }


def test_a_cycle_is_shown_arrow_by_arrow():
    with pytest.raises(CycleFound, match=r"found rain -> wet -> rain\. Remove") as caught:
        DirectedGraph.from_text("cloud -> rain -> wet -> rain; wet -> slip")
    assert caught.value.cycle == ("rain", "wet", "rain")
    assert pickle.loads(pickle.dumps(caught.value)).cycle == ("rain", "wet", "rain")
    with pytest.raises(CycleFound, match="found a -> a"):
        DirectedGraph({"a": ["a"]})


@pytest.mark.parametrize("seed", range(6))
def test_the_cycle_shown_is_a_cycle_of_the_graph(seed):
    graph = random_graph(15, 25, seed)
    tail, head = next((a, b) for b in graph for a in graph.ancestors(b))
    edges = [*graph.edges, (head, tail)]
    with pytest.raises(CycleFound) as caught:
        DirectedGraph.from_edges(edges)
    cycle = caught.value.cycle
    assert cycle[0] == cycle[-1]
    assert len(set(cycle)) == len(cycle) - 1
    assert set(pairwise(cycle)) <= set(edges)


def test_subgraph_keeps_the_arrows_among_its_nodes():
    part = ROOF.subgraph(["C", "A", "L2"])
    assert part.nodes == ("C", "A", "L2")
    assert part.edges == (("C", "A"), ("A", "L2"))


def test_networkx_graphs_come_in_and_go_out():
    assert DirectedGraph.from_networkx(BURGLAR.to_networkx()) == BURGLAR
    assert DirectedGraph.from_networkx(nx.DiGraph([(1, 2), (3, 2)])).parents("2") == ("1", "3")
    with pytest.raises(CycleFound):
        DirectedGraph.from_networkx(nx.DiGraph([(1, 2), (2, 1)]))
    with pytest.raises(ValueError, match="must be directed; found Graph"):
        DirectedGraph.from_networkx(nx.Graph([(1, 2)]))
    with pytest.raises(ValueError, match="found several '1'"):
        DirectedGraph.from_networkx(nx.DiGraph([(1, "1")]))


def test_edges_must_be_pairs():
    with pytest.raises(ValueError, match=r"pairs of names.*found 'a -> b'\. Write text as one"):
        DirectedGraph.from_edges(["a -> b"])
    with pytest.raises(ValueError, match="pairs of names"):
        DirectedGraph.from_edges([("a", "b", "c")])


def test_a_graph_survives_being_stored():
    again = pickle.loads(pickle.dumps(BURGLAR))
    assert again == BURGLAR
    assert again.order() == BURGLAR.order()


@pytest.mark.parametrize("seed", range(5))
def test_a_graph_written_edge_by_edge_is_read_back(seed):
    graph = random_graph(12, 20, seed)
    text = "; ".join([*graph.nodes, *(f"{tail} -> {head}" for tail, head in graph.edges)])
    again = DirectedGraph.from_text(text)
    assert again == graph
    assert again.nodes == graph.nodes
    assert [again.parents(n) for n in again] == [graph.parents(n) for n in graph]


def test_unknown_names_are_met_with_the_nearest_one():
    graph = DirectedGraph.from_text("cloud -> rain")
    for ask in (graph.parents, graph.children, graph.markov_blanket, graph.ancestors):
        with pytest.raises(UnknownVariable, match="Did you mean 'rain'"):
            ask("rian")


@pytest.mark.parametrize(
    ("parents", "error", "message"),
    [
        ({"a": "bc"}, TypeError, r"parents of a must be a list.*Write \['bc'\]"),
        ({"a": ["b", "b"]}, ValueError, "parents of a must be distinct"),
        ({"a": [1]}, TypeError, "found 1"),
        ({2: ["a"]}, TypeError, "found 2"),
        ({"a": [""]}, TypeError, "not empty"),
        ({"a": {"c", "b"}}, TypeError, r"must be in order.*Write a list, such as \['b', 'c'\]"),
    ],
)
def test_parents_must_be_lists_of_distinct_names(parents, error, message):
    with pytest.raises(error, match=message):
        DirectedGraph(parents)


def test_a_chain_of_ten_thousand_nodes_needs_no_recursion():
    names = [f"s{i}" for i in range(10_000)]
    chain = DirectedGraph.from_edges(zip(names[::-1][1:], names[::-1], strict=False))
    assert chain.order() == tuple(names)
    assert len(chain.ancestors("s9999")) == 9_999
    assert chain.markov_blanket("s5000") == ("s5001", "s4999")
    assert len(chain.moral().cliques()) == 9_999
    with pytest.raises(CycleFound) as caught:
        DirectedGraph.from_edges([*chain.edges, ("s9999", "s0")])
    assert len(caught.value.cycle) == 10_001
    assert len(str(caught.value)) < 300


@pytest.mark.comparison
def test_the_largest_network_of_the_examples_is_read_by_its_structure():
    munin = DirectedGraph(structure_of_file("munin"))
    assert (len(munin), len(munin.edges)) == (1041, 1397)
    moral = nx.moral_graph(munin.to_networkx())
    assert all(set(munin.markov_blanket(n)) == set(moral.neighbors(n)) for n in munin)

from itertools import combinations, product

import numpy as np
import pytest

from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.structure.independence_map import (
    Independence,
    independence_basis,
    local_independence,
)
from credo.graphs.structure.separation import d_separated
from naive import random_joint, subsets

BURGLAR = DirectedGraph.from_text("E, B -> A -> C; E -> R")


def random_graph(names, share, rng):
    mixed = rng.permutation(list(names)).tolist()
    edges = [pair for pair in combinations(mixed, 2) if rng.random() < share]
    return DirectedGraph.from_edges(edges, names)


def derived(statements):
    """All statements that follow by the axioms of a semigraphoid, found by trying them out."""
    known = {tuple(map(frozenset, (s.x, s.y, s.given))) for s in statements}
    size = -1
    while len(known) > size:
        size = len(known)
        for x, y, z in list(known):
            known.add((y, x, z))
            for part in map(frozenset, subsets(sorted(y))):
                if part and part < y:
                    known |= {(x, part, z), (x, part, z | (y - part))}
        for (x, y, z), (a, w, c) in product(list(known), repeat=2):
            if x == a and c == z | y and not y & w:
                known.add((x, y | w, z))
    return known


def stated(graph):
    """All d-separations of a graph."""
    found = set()
    for x, y in product(map(frozenset, subsets(sorted(graph))), repeat=2):
        if x and y and not x & y:
            for given in map(frozenset, subsets(sorted(set(graph) - x - y))):
                if d_separated(graph, x, y, given):
                    found.add((x, y, given))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_every_separation_follows_from_the_basis_and_nothing_else_does(seed):
    graph = random_graph("abcd", 0.4, np.random.default_rng(seed))
    assert derived(independence_basis(graph)) == stated(graph)


@pytest.mark.parametrize("text", ["a -> b -> c -> d", "a; b; c; d", "a -> b, c; b, c -> d"])
def test_no_statement_of_the_basis_can_be_left_out(text):
    graph = DirectedGraph.from_text(text)
    basis = independence_basis(graph)
    for statement in basis:
        assert derived(set(basis) - {statement}) < stated(graph)


def test_the_basis_of_the_burglar_network_is_written_in_words():
    assert [str(statement) for statement in independence_basis(BURGLAR)] == [
        "B independent of E",
        "C independent of E, B given A",
        "R independent of B, A, C given E",
    ]


@pytest.mark.parametrize("seed", range(8))
def test_a_node_is_independent_of_non_descendants_given_its_parents(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph("abcdef", 0.4, rng)
    joint = random_joint(graph, rng)
    for node in graph:
        statement = local_independence(graph, node)
        assert set(statement.y) == (
            set(graph) - {node} - set(graph.parents(node)) - set(graph.descendants(node))
        )
        assert not statement.y or joint.is_independent(node, statement.y, graph.parents(node))
        for child in graph.children(node):
            others = [name for name in graph.parents(node)]
            assert not joint.is_independent(node, child, others)


def test_a_complete_graph_states_nothing():
    graph = DirectedGraph.from_text("a -> b; a, b -> c")
    assert independence_basis(graph) == ()
    assert str(local_independence(graph, "a")) == "a independent of nothing"
    assert local_independence(graph, "c") == Independence(("c",), (), ("a", "b"))

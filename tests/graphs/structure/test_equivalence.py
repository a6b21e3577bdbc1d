from collections import defaultdict
from itertools import combinations, islice, pairwise, permutations, product
from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.distributions.joint_table import JointTable
from credo.graphs.structure.directed import CycleFound, DirectedGraph
from credo.graphs.structure.equivalence import (
    cpdag,
    equivalent,
    equivalent_graphs,
    v_structures,
)
from credo.graphs.structure.joint_product import factorized, parameter_count
from credo.graphs.structure.separation import d_separated
from naive import peer, structure_of_file, subsets


def acyclic_graphs(names):
    """All directed acyclic graphs, by giving each pair one of three relations."""
    pairs = list(combinations(names, 2))
    graphs = []
    for choice in product((0, 1, 2), repeat=len(pairs)):
        edges = [p if c == 1 else p[::-1] for p, c in zip(pairs, choice, strict=True) if c]
        try:
            graphs.append(DirectedGraph.from_edges(edges, names))
        except CycleFound:
            continue
    return graphs


def classes(graphs, key):
    found = defaultdict(list)
    for graph in graphs:
        found[key(graph)].append(graph)
    return list(found.values())


def separations(graph):
    return frozenset(
        (x, y, given)
        for x, y in combinations(sorted(graph), 2)
        for given in subsets(sorted(set(graph) - {x, y}))
        if d_separated(graph, x, y, given)
    )


def shared_pattern(members):
    """Arrows that all members have, and edges on which they disagree."""
    arrows = set.intersection(*(set(graph.edges) for graph in members))
    edges = {tuple(sorted(edge)) for edge in members[0].edges}
    return arrows, edges - {tuple(sorted(arrow)) for arrow in arrows}


@pytest.mark.parametrize(
    ("names", "n_graphs", "n_classes"), [("abc", 25, 11), ("abcd", 543, 185)]
)
def test_classes_of_small_graphs_are_as_many_as_known(names, n_graphs, n_classes):
    graphs = acyclic_graphs(names)
    assert len(graphs) == n_graphs
    assert len(classes(graphs, cpdag)) == n_classes


@pytest.mark.parametrize("names", ["abc", "abcd"])
def test_graphs_share_a_pattern_when_they_state_the_same_independencies(names):
    graphs = acyclic_graphs(names)
    by_pattern, by_statement = classes(graphs, cpdag), classes(graphs, separations)
    assert {frozenset(c) for c in by_pattern} == {frozenset(c) for c in by_statement}


def test_the_pattern_has_an_arrow_exactly_where_all_members_agree():
    for members in classes(acyclic_graphs("abcd"), separations):
        pattern = cpdag(members[0])
        assert (set(pattern.directed), set(pattern.undirected)) == shared_pattern(members)


def test_listing_a_class_gives_each_member_once():
    for members in classes(acyclic_graphs("abcd"), separations):
        listed = list(equivalent_graphs(members[0]))
        assert len(listed) == len(members)
        assert set(listed) == set(members)


@pytest.mark.parametrize("seed", range(6))
def test_members_of_a_larger_class_are_found_by_turning_covered_arrows(seed):
    rng = np.random.default_rng(seed)
    names = [f"n{i}" for i in rng.permutation(7)]
    edges = [pair for pair in combinations(names, 2) if rng.random() < 0.45]
    graph = DirectedGraph.from_edges(edges, sorted(names))
    reached, todo = {graph}, [graph]
    while todo:
        here = todo.pop()
        for tail, head in here.edges:
            # An arrow is covered if the head's other parents are the tail's parents.
            if set(here.parents(head)) - {tail} == set(here.parents(tail)):
                kept = [edge for edge in here.edges if edge != (tail, head)]
                turned = DirectedGraph.from_edges([*kept, (head, tail)], here.nodes)
                if turned not in reached:
                    reached.add(turned)
                    todo.append(turned)
    assert set(equivalent_graphs(graph)) == reached
    pattern = cpdag(graph)
    assert (set(pattern.directed), set(pattern.undirected)) == shared_pattern(list(reached))


def test_two_graphs_are_equivalent_when_skeleton_and_v_structures_agree():
    chain_, fork, effect = map(
        DirectedGraph.from_text, ("a -> b -> c", "a <- b -> c", "a -> b <- c")
    )
    assert equivalent(chain_, fork)
    assert not equivalent(chain_, effect)
    assert v_structures(effect) == (("a", "b", "c"),)
    assert not equivalent(chain_, DirectedGraph.from_text("a -> b -> c; d"))
    married = DirectedGraph.from_text("a -> b <- c; a -> c")
    assert v_structures(married) == ()
    graphs = acyclic_graphs("abc")
    for first, second in combinations(graphs, 2):
        assert equivalent(first, second) == (cpdag(first) == cpdag(second))


def test_equivalent_graphs_fit_any_table_equally_well_with_equally_many_parameters():
    rng = np.random.default_rng(0)
    table = JointTable(
        rng.dirichlet(np.ones(12)).reshape(2, 3, 2),
        {"a": (0, 1), "b": (0, 1, 2), "c": (0, 1)},
    )
    sizes = {"a": 2, "b": 3, "c": 2}
    fits = []
    for members in classes(acyclic_graphs("abc"), cpdag):
        tables = [factorized(table, graph).probability for graph in members]
        for other in tables:
            assert_allclose(other, tables[0], rtol=1e-12)
        assert len({parameter_count(graph, sizes).network for graph in members}) == 1
        fits.append(tables[0])
    assert all(np.abs(a - b).max() > 1e-4 for a, b in combinations(fits, 2))


def test_a_chain_has_as_many_members_as_nodes_and_a_clique_as_many_as_orders():
    names = [f"n{i}" for i in range(6)]
    line = DirectedGraph.from_edges(pairwise(names))
    assert len(list(equivalent_graphs(line))) == 6
    clique = DirectedGraph.from_edges(combinations(names[:4], 2))
    assert len(set(equivalent_graphs(clique))) == len(list(permutations(range(4))))
    assert len(cpdag(clique).undirected) == comb(4, 2)


def test_one_v_structure_directs_a_whole_chain():
    names = [f"s{i}" for i in range(3_000)]
    line = [*pairwise(names), ("x", "s1")]
    pattern = cpdag(DirectedGraph.from_edges(line[::-1]))
    assert pattern.undirected == ()
    assert set(pattern.directed) == set(line)


def test_the_first_members_of_a_huge_class_come_at_once():
    names = [f"s{i}" for i in range(200)]
    line = DirectedGraph.from_edges(pairwise(names))
    few = list(islice(equivalent_graphs(line), 3))
    assert len(set(few)) == 3
    assert all(equivalent(line, graph) for graph in few)


@pytest.mark.comparison
@pytest.mark.parametrize("name", ["alarm", "win95pts", "andes", "pigs"])
def test_patterns_of_known_networks_agree_with_pyagrum(name):
    pyagrum = peer("pyagrum")
    graph = DirectedGraph(structure_of_file(name))
    other = pyagrum.BayesNet()
    number = {node: other.add(pyagrum.LabelizedVariable(node, "", 2)) for node in graph}
    for tail, head in graph.edges:
        other.addArc(number[tail], number[head])
    theirs = pyagrum.EssentialGraph(other).pdag()
    named = {i: node for node, i in number.items()}
    pattern = cpdag(graph)
    assert set(pattern.directed) == {(named[a], named[b]) for a, b in theirs.arcs()}
    assert set(pattern.undirected) == {
        tuple(sorted((named[a], named[b]))) for a, b in theirs.edges()
    }

from itertools import combinations, pairwise

import networkx as nx
import numpy as np
import pytest

from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.structure.separation import (
    d_connected,
    d_separated,
    moral_separated,
    open_path,
)
from credo.graphs.variable import UnknownVariable
from naive import random_graph, random_joint, structure_of_file, subsets

ROOF = DirectedGraph.from_text("C, G -> A -> L1, L2")
SPRINKLER = DirectedGraph.from_text("C -> S, R; S, R -> W")
BURGLAR = DirectedGraph.from_text("E, B -> A -> C; E -> R")


@pytest.mark.parametrize(
    ("graph", "x", "y", "given", "expected"),
    [
        (ROOF, "C", "G", [], True),
        (ROOF, "C", "G", ["A"], False),
        (ROOF, "C", "G", ["L1"], False),
        (ROOF, "L1", "L2", [], False),
        (ROOF, "L1", "L2", ["A"], True),
        (ROOF, "C", "L1", ["A"], True),
        (SPRINKLER, "S", "R", [], False),
        (SPRINKLER, "S", "R", ["C"], True),
        (SPRINKLER, "S", "R", ["C", "W"], False),
        (SPRINKLER, "C", "W", ["S", "R"], True),
        (BURGLAR, "E", "B", [], True),
        (BURGLAR, "E", "B", ["A"], False),
        (BURGLAR, "E", "B", ["C"], False),
        (BURGLAR, "R", "A", [], False),
        (BURGLAR, "R", "A", ["E"], True),
        (BURGLAR, "R", "C", ["A"], True),
        (BURGLAR, "B", "R", [], True),
        (BURGLAR, "B", "R", ["A"], False),
        (BURGLAR, "B", "R", ["A", "E"], True),
        (BURGLAR, "B", "C", ["A"], True),
    ],
)
def test_separations_are_those_found_by_hand(graph, x, y, given, expected):
    assert d_separated(graph, x, y, given) is expected
    assert d_separated(graph, y, x, given) is expected
    assert moral_separated(graph, x, y, given) is expected


def test_both_ways_to_separate_agree_on_every_question_about_four_nodes():
    pairs = list(combinations("abcd", 2))
    for edges in subsets(pairs):
        graph = DirectedGraph.from_edges(edges, nodes="abcd")
        for x, y in pairs:
            for given in subsets([n for n in "abcd" if n not in (x, y)]):
                assert d_separated(graph, x, y, given) == moral_separated(graph, x, y, given)


@pytest.mark.parametrize("seed", range(10))
def test_separation_of_groups_agrees_with_networkx(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(14, 0.2, rng)
    peer = graph.to_networkx()
    for _ in range(40):
        names = rng.permutation(list(graph)).tolist()
        x, y, given = names[:2], names[2:4], names[4 : 4 + int(rng.integers(0, 5))]
        expected = nx.is_d_separator(peer, set(x), set(y), set(given))
        assert d_separated(graph, x, y, given) == expected
        assert moral_separated(graph, x, y, given) == expected


@pytest.mark.parametrize("seed", range(12))
def test_separated_means_independent_and_connected_dependent_for_random_tables(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(5, 0.4, rng)
    joint = random_joint(graph, rng)
    for x, y in combinations(graph, 2):
        for given in subsets([name for name in graph if name not in (x, y)]):
            separated = d_separated(graph, x, y, given)
            assert joint.is_independent(x, y, given) == separated, (graph.edges, x, y, given)


@pytest.mark.parametrize("seed", range(6))
def test_a_node_is_independent_of_all_others_given_its_markov_blanket(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(6, 0.35, rng)
    joint = random_joint(graph, rng)
    for node in graph:
        blanket = graph.markov_blanket(node)
        rest = [name for name in graph if name != node and name not in blanket]
        assert not rest or joint.is_independent(node, rest, blanket)
        for left_out in blanket:
            fewer = [name for name in blanket if name != left_out]
            assert not joint.is_independent(node, [left_out, *rest], fewer)


@pytest.mark.parametrize("seed", range(6))
def test_connected_nodes_are_all_those_that_are_not_separated(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(9, 0.25, rng)
    for given in [(), ("n3",), ("n1", "n5")]:
        others = [n for n in graph if n != "n0" and n not in given]
        expected = tuple(n for n in others if not d_separated(graph, "n0", n, given))
        assert d_connected(graph, "n0", given) == expected


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("a -> b -> c", [], False),
        ("a -> b -> c", ["b"], True),
        ("a <- b -> c", [], False),
        ("a <- b -> c", ["b"], True),
        ("a -> b <- c", [], True),
        ("a -> b <- c", ["b"], False),
        ("a -> b <- c; b -> d", ["d"], False),
    ],
)
def test_three_connections_give_and_take_independence(text, given, expected):
    graph = DirectedGraph.from_text(text)
    assert d_separated(graph, "a", "c", given) is expected
    for seed in range(5):
        joint = random_joint(graph, np.random.default_rng(seed), n_states=3)
        assert joint.is_independent("a", "c", given) is expected


def test_open_paths_pass_a_common_effect_only_by_what_is_given_below_it():
    assert open_path(BURGLAR, "B", "R") is None
    assert open_path(BURGLAR, "B", "R", given="C") == ("B", "A", "E", "R")
    assert open_path(BURGLAR, ["B", "C"], "R") == ("C", "A", "E", "R")


@pytest.mark.comparison
def test_a_large_network_is_answered_alike_by_both_ways():
    munin = DirectedGraph(structure_of_file("munin"))
    rng = np.random.default_rng(0)
    answers = []
    for size in (0, 1, 5, 20, 60):
        for _ in range(8):
            x, y, *given = rng.permutation(list(munin))[: size + 2].tolist()
            answers.append(d_separated(munin, x, y, given))
            assert answers[-1] == moral_separated(munin, x, y, given)
    assert 5 < sum(answers) < 35


def test_a_chain_of_ten_thousand_nodes_is_cut_by_any_of_them():
    names = [f"s{i}" for i in range(10_000)]
    line = DirectedGraph.from_edges(pairwise(names))
    assert open_path(line, "s0", "s9999") == tuple(names)
    assert d_separated(line, "s0", "s9999", given="s7777")
    assert d_connected(line, "s9999", given="s9990") == tuple(names[9991:9999])


def test_groups_that_overlap_or_are_empty_or_unknown_are_refused():
    with pytest.raises(ValueError, match="share no node"):
        d_separated(ROOF, "C", ["G", "C"])
    with pytest.raises(ValueError, match="share no node"):
        moral_separated(ROOF, "C", "G", given="G")
    with pytest.raises(ValueError, match="x must name at least one"):
        d_separated(ROOF, [], "G")
    with pytest.raises(UnknownVariable, match="found 'L3'"):
        d_separated(ROOF, "C", "L3")

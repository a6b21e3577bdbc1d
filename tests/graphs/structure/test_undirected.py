from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from credo.graphs.structure.undirected import UndirectedGraph
from credo.graphs.variable import UnknownVariable

EDGES = [
    "12",
    "13",
    "14",
    "23",
    "36",
    "38",
    "39",
    "45",
    "46",
    "47",
    "56",
    "57",
    "67",
    "78",
    "89",
]
CLIQUES = ["14", "36", "78", "123", "389", "4567"]
EDGES = "12,13,14,23,36,38,39,45,46,47,56,57,67,78,89"
NINE = UndirectedGraph.from_edges(EDGES.split(","), nodes="123456789")


def random_graph(n, share, seed):
    rng = np.random.default_rng(seed)
    pairs = [p for p in combinations([f"n{i}" for i in range(n)], 2) if rng.random() < share]
    return UndirectedGraph.from_edges(pairs, nodes=[f"n{i}" for i in range(n)])


def test_maximal_cliques_of_the_nine_node_field_are_the_six_of_its_factors():
    assert sorted("".join(clique) for clique in NINE.cliques()) == sorted(CLIQUES)
    assert UndirectedGraph.from_groups(NINE.cliques()) == NINE
    assert len(NINE.edges) == 15


def test_neighborhoods_of_the_nine_node_field_are_its_blankets():
    hoods = {node: "".join(NINE.neighbors(node)) for node in NINE}
    assert hoods == dict(
        zip(
            "123456789",
            ["234", "13", "12689", "1567", "467", "3457", "4568", "379", "38"],
            strict=True,
        )
    )


@pytest.mark.parametrize(
    ("x", "y", "given", "expected"),
    [
        ("2", "5", "34", True),
        ("2", "5", "13", True),
        ("2", "5", "1", False),
        ("9", "5", "37", True),
        ("12", "57", "34", True),
        ("1", "9", "3", False),
        ("1", "9", "34", True),
        ("4", "3", "16", False),
        ("4", "3", "167", True),
        ("5", "12389", "467", True),
    ],
)
def test_separations_of_the_nine_node_field_are_those_found_by_hand(x, y, given, expected):
    assert NINE.separated(list(x), list(y), list(given)) is expected
    assert NINE.separated(list(y), list(x), list(given)) is expected


def test_separated_nodes_are_independent_in_a_field_with_random_factors():
    square = UndirectedGraph.from_edges(["ab", "bc", "cd", "da", "ce"])
    rng = np.random.default_rng(0)
    axis = {name: i for i, name in enumerate("abcde")}
    arguments = []
    for clique in square.cliques():
        arguments += [rng.uniform(0.2, 2.0, [2] * len(clique)), [axis[n] for n in clique]]
    joint = np.einsum(*arguments, range(5))
    joint /= joint.sum()
    for x, y in combinations("abcde", 2):
        rest = [name for name in "abcde" if name not in (x, y)]
        for size in range(4):
            for given in combinations(rest, size):
                others = tuple(axis[n] for n in rest if n not in given)
                three = joint.sum(axis=others, keepdims=True)
                product = three.sum(axis=axis[x], keepdims=True) * three.sum(
                    axis=axis[y], keepdims=True
                )
                known = three.sum(axis=(axis[x], axis[y]), keepdims=True)
                is_independent = np.allclose(three * known, product, rtol=1e-10, atol=0)
                assert is_independent == square.separated(x, y, given), (x, y, given)


def test_an_open_path_avoids_what_is_given_and_is_shortest():
    assert NINE.open_path("1", "9", given="3") == ("1", "4", "7", "8", "9")
    assert NINE.open_path("1", "9") == ("1", "3", "9")
    assert NINE.open_path("1", "9", given=["3", "4"]) is None


@pytest.mark.parametrize("seed", range(12))
def test_cliques_agree_with_networkx_and_brute_force(seed):
    graph = random_graph(9, 0.2 + 0.06 * seed, seed)
    cliques = {frozenset(clique) for clique in graph.cliques()}
    assert cliques == {frozenset(clique) for clique in nx.find_cliques(graph.to_networkx())}
    joined = {frozenset(edge) for edge in graph.edges}
    complete = [
        frozenset(part)
        for size in range(1, 10)
        for part in combinations(graph, size)
        if all(frozenset(pair) in joined for pair in combinations(part, 2))
    ]
    assert cliques == {c for c in complete if not any(c < other for other in complete)}
    assert len(cliques) == len(graph.cliques())


def test_cliques_of_larger_graphs_agree_with_networkx():
    for seed, share in enumerate([0.05, 0.3, 0.6]):
        graph = random_graph(40, share, seed)
        theirs = {frozenset(clique) for clique in nx.find_cliques(graph.to_networkx())}
        assert {frozenset(clique) for clique in graph.cliques()} == theirs


def test_no_graph_has_more_cliques_than_that_of_moon_and_moser():
    groups = [range(3 * i, 3 * i + 3) for i in range(6)]
    pairs = [(a, b) for g, h in combinations(groups, 2) for a in g for b in h]
    graph = UndirectedGraph.from_edges([(str(a), str(b)) for a, b in pairs])
    assert len(graph.cliques()) == 3**6


def test_isolated_nodes_are_cliques_and_no_nodes_have_none():
    assert UndirectedGraph({"a": [], "b": ["c"]}).cliques() == (("a",), ("b", "c"))
    assert UndirectedGraph({}).cliques() == ()


def test_one_clique_of_five_hundred_nodes_needs_no_recursion():
    names = [f"n{i}" for i in range(500)]
    assert UndirectedGraph.from_groups([names]).cliques() == (tuple(names),)


def test_an_edge_told_from_one_side_holds_from_both():
    graph = UndirectedGraph({"a": ["b"], "c": ["a"]})
    assert graph == UndirectedGraph({"b": ["a"], "a": ["c"]})
    assert graph.neighbors("a") == ("c", "b")
    assert graph.edges == (("a", "c"), ("a", "b"))
    assert hash(graph) == hash(UndirectedGraph({"b": ["a"], "a": ["c"]}))


def test_networkx_graphs_come_in_and_go_out():
    assert UndirectedGraph.from_networkx(NINE.to_networkx()) == NINE
    assert UndirectedGraph.from_networkx(nx.path_graph(3)).edges == (("0", "1"), ("1", "2"))
    with pytest.raises(ValueError, match="must be undirected; found DiGraph"):
        UndirectedGraph.from_networkx(nx.DiGraph([(1, 2)]))


def test_subgraph_keeps_the_edges_among_its_nodes():
    assert NINE.subgraph(list("4567")).cliques() == (("4", "5", "6", "7"),)


def test_wrong_questions_say_what_to_do():
    with pytest.raises(ValueError, match="share no node"):
        NINE.separated("1", "2", given="1")
    with pytest.raises(ValueError, match="y must name at least one"):
        NINE.separated("1", [])
    with pytest.raises(UnknownVariable, match="found '10'"):
        NINE.separated("1", "10")
    with pytest.raises(UnknownVariable, match="found '0'"):
        NINE.neighbors("0")
    with pytest.raises(ValueError, match="joined to itself"):
        UndirectedGraph({"a": ["a"]})
    with pytest.raises(TypeError, match="neighbors of a must be a list"):
        UndirectedGraph({"a": "bc"})

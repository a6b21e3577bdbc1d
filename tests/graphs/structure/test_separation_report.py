from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.structure.separation import explain_separation, path_blocks
from naive import random_graph

BURGLAR = DirectedGraph.from_text("earthquake, burglar -> alarm -> call; earthquake -> radio")


def test_a_blocked_path_names_the_node_and_the_reason():
    report = explain_separation(BURGLAR, "burglar", "radio")
    assert report.is_separated
    assert report.has_all_paths
    (path,) = report.paths
    assert path.nodes == ("burglar", "alarm", "earthquake", "radio")
    assert [(block.node, str(block.connection)) for block in path.blocks] == [
        ("alarm", "common effect")
    ]
    assert str(report) == (
        "burglar and radio are separated:\n"
        "  burglar -> alarm <- earthquake -> radio: blocked, alarm is a common effect, and "
        "neither it nor a descendant is given"
    )


def test_an_open_path_names_what_opens_its_common_effect():
    report = explain_separation(BURGLAR, "burglar", "radio", given="call")
    assert not report.is_separated
    assert report.paths[0].is_open
    assert report.paths[0].openings == (("alarm", "call"),)
    assert str(report) == (
        "burglar and radio are not separated given call:\n"
        "  burglar -> alarm <- earthquake -> radio: open, alarm is a common effect whose "
        "descendant call is given"
    )


def test_a_path_blocked_twice_tells_both_blocks():
    report = explain_separation(BURGLAR, "burglar", "radio", given="earthquake")
    assert [block.reason for block in report.paths[0].blocks] == [
        "alarm is a common effect, and neither it nor a descendant is given",
        "earthquake is a common cause and is given",
    ]
    chain = explain_separation(BURGLAR, "burglar", "call", given="alarm")
    assert chain.paths[0].blocks[0].reason == "alarm is in a chain and is given"


def test_nodes_without_any_path_are_said_to_have_none():
    report = explain_separation(DirectedGraph.from_text("a -> b; c"), "a", "c")
    assert str(report) == "a and c are separated:\n  no path joins them"


@pytest.mark.parametrize("seed", range(15))
def test_paths_shown_are_all_paths_and_all_blocked_or_a_shortest_open_one(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(7, 0.35, rng)
    skeleton = graph.to_networkx().to_undirected()
    for _ in range(20):
        x, y, *rest = rng.permutation(list(graph)).tolist()
        given = rest[: int(rng.integers(0, 4))]
        every = [tuple(path) for path in nx.all_simple_paths(skeleton, x, y)]
        free = [path for path in every if not path_blocks(graph, path, given)]
        report = explain_separation(graph, x, y, given, max_paths=10_000)
        shown = [path.nodes for path in report.paths]
        assert report.is_separated == (not free)
        if free:
            assert shown[0] in free
            assert len(shown[0]) == min(map(len, free))
        else:
            assert sorted(shown) == sorted(every)
            assert all(len(a) <= len(b) for a, b in pairwise(shown))
            assert report.has_all_paths


def test_only_so_many_paths_are_shown_and_the_rest_is_mentioned():
    middle = [f"m{i}" for i in range(30)]
    graph = DirectedGraph({"a": [], "b": [], **{name: ["a", "b"] for name in middle}})
    report = explain_separation(graph, "a", "b", max_paths=3)
    assert len(report.paths) == 3
    assert not report.has_all_paths
    assert str(report).endswith("... further paths, no shorter, are blocked too")


def test_a_long_chain_is_reported_without_recursion():
    names = [f"s{i}" for i in range(10_000)]
    line = DirectedGraph.from_edges(pairwise(names))
    report = explain_separation(line, "s0", "s9999", given="s5000")
    assert report.has_all_paths
    assert [block.node for block in report.paths[0].blocks] == ["s5000"]

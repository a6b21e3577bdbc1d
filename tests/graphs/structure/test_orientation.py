import numpy as np
import pytest

from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.structure.equivalence import Orientation, equivalent_graphs, v_structures
from naive import random_graph


@pytest.mark.parametrize("seed", range(60))
def test_arrows_told_in_any_order_direct_exactly_what_all_matching_members_share(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(5, 0.75, rng)
    members = list(equivalent_graphs(graph))
    pattern = Orientation(graph.skeleton())
    pattern.direct({(end, c) for a, c, b in v_structures(graph) for end in (a, b)})
    for i in rng.permutation(len(graph.edges))[:3]:
        arrow = graph.edges[i]
        members = [member for member in members if member.has_edge(*arrow)]
        if arrow not in set(pattern.arrows()):
            pattern.direct([arrow])
        shared = set.intersection(*(set(member.edges) for member in members))
        assert set(pattern.arrows()) == shared
        assert len(list(pattern.open_edges())) == len(graph.edges) - len(shared)


@pytest.mark.parametrize(
    ("edges", "told", "follows"),
    [
        (["ab", "bc"], ["ab"], ["bc"]),
        (["ab", "bc", "ac"], ["ab", "bc"], ["ac"]),
        (["ab", "ac", "ad", "cb", "db"], ["cb", "db"], ["ab"]),
        (["ab", "ac", "ad", "cd", "db"], ["cd"], ["db", "ab"]),
    ],
)
def test_each_rule_directs_the_edge_it_is_about(edges, told, follows):
    skeleton = DirectedGraph.from_edges([tuple(e) for e in edges]).skeleton()
    pattern = Orientation(skeleton)
    pattern.direct([tuple(arrow) for arrow in told])
    assert {"".join(arrow) for arrow in pattern.arrows()} == {*told, *follows}


def test_a_rule_also_applies_when_its_last_arrow_lies_apart_from_the_edge():
    edges = [tuple(edge) for edge in ("ab", "ac", "ad", "cd", "db")]
    pattern = Orientation(DirectedGraph.from_edges(edges).skeleton())
    pattern.direct([("d", "b")])
    assert sorted(pattern.arrows()) == [("d", "b")]
    pattern.direct([("c", "d")])
    assert sorted(pattern.arrows()) == [("a", "b"), ("c", "d"), ("d", "b")]


def test_a_copy_changes_apart_from_its_original():
    pattern = Orientation(DirectedGraph.from_text("a -> b -> c").skeleton())
    twin = pattern.copy()
    twin.direct([("a", "b")])
    assert not list(pattern.arrows())
    assert sorted(twin.arrows()) == [("a", "b"), ("b", "c")]

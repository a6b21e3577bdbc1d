import pytest

from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.structure.separation import (
    Connection,
    connection,
    path_blocks,
    path_text,
)

GRAPH = DirectedGraph.from_text("a -> b -> c <- d -> e; c -> f -> g")


def test_two_arrows_meet_in_one_of_three_ways():
    assert connection(GRAPH, "a", "b", "c") is Connection.CHAIN
    assert connection(GRAPH, "c", "b", "a") is Connection.CHAIN
    assert connection(GRAPH, "b", "c", "d") is Connection.COMMON_EFFECT
    assert connection(GRAPH, "c", "d", "e") is Connection.COMMON_CAUSE


@pytest.mark.parametrize(
    ("given", "blocked"),
    [
        ([], ["c"]),
        (["c"], []),
        (["f"], []),
        (["g"], []),
        (["b"], ["b", "c"]),
        (["d"], ["c", "d"]),
        (["b", "d", "g"], ["b", "d"]),
    ],
)
def test_a_path_is_blocked_where_the_definition_says(given, blocked):
    path = ("a", "b", "c", "d", "e")
    assert [block.node for block in path_blocks(GRAPH, path, given)] == blocked
    assert [block.node for block in path_blocks(GRAPH, path[::-1], given)] == blocked[::-1]


def test_paths_are_written_with_their_arrows():
    assert path_text(GRAPH, ("a", "b", "c", "d", "e")) == "a -> b -> c <- d -> e"
    assert path_text(GRAPH, ("a",)) == "a"


def test_nodes_of_a_path_must_be_neighbors():
    with pytest.raises(ValueError, match="found 'a' and 'c'"):
        connection(GRAPH, "a", "c", "d")

from itertools import combinations, permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.distributions.joint_table import JointTable
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.structure.equivalence import equivalent
from credo.graphs.structure.independence_map import is_independence_map, minimal_map
from credo.graphs.structure.joint_product import factorized
from naive import random_joint

SPRINKLER = DirectedGraph.from_text("C -> S, R; S, R -> W")


def wet_grass():
    """The lawn with its known tables: P(W = no | no sprinkler, no rain) is one."""
    cloud = np.array([0.5, 0.5])
    sprinkler = np.array([[0.5, 0.5], [0.9, 0.1]])
    rain = np.array([[0.8, 0.2], [0.2, 0.8]])
    wet = np.array([[[1.0, 0.0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]])
    joint = np.einsum("c,cs,cr,srw->csrw", cloud, sprinkler, rain, wet)
    return JointTable(joint, {name: (False, True) for name in "CSRW"})


def test_a_causal_order_of_the_lawn_finds_its_four_arrows():
    table = wet_grass()
    assert minimal_map(table, "CSRW") == SPRINKLER
    assert minimal_map(table, "CRSW") == SPRINKLER


def test_every_order_gives_a_network_with_the_same_joint_and_no_arrow_to_spare():
    table = wet_grass()
    for order in permutations("CSRW"):
        graph = minimal_map(table, order)
        assert graph.nodes == order
        assert len(graph.edges) >= 4
        assert_allclose(factorized(table, graph).probability, table.probability, atol=1e-15)
        assert is_independence_map(graph, table)
        for edge in graph.edges:
            fewer = DirectedGraph.from_edges([e for e in graph.edges if e != edge], order)
            assert not is_independence_map(fewer, table)


def test_effects_before_causes_cost_arrows():
    alarm = DirectedGraph.from_text("B, E -> A -> J, M")
    table = random_joint(alarm, np.random.default_rng(3))
    assert minimal_map(table, ["B", "E", "A", "J", "M"]) == alarm
    assert len(minimal_map(table, ["M", "J", "E", "B", "A"]).edges) == 10


@pytest.mark.parametrize("seed", range(10))
def test_a_causal_order_recovers_the_graph_of_random_tables(seed):
    rng = np.random.default_rng(seed)
    names = rng.permutation(list("abcde")).tolist()
    edges = [pair for pair in combinations(names, 2) if rng.random() < 0.4]
    graph = DirectedGraph.from_edges(edges, names)
    table = random_joint(graph, rng)
    assert minimal_map(table) == graph
    assert is_independence_map(graph, table)
    for tail, head in graph.edges:
        fewer = DirectedGraph.from_edges([e for e in edges if e != (tail, head)], names)
        assert not is_independence_map(fewer, table)


def test_turning_a_chain_around_stays_in_its_class():
    chain = DirectedGraph.from_text("a -> b -> c -> d")
    table = random_joint(chain, np.random.default_rng(0))
    turned = minimal_map(table, "dcba")
    assert turned == DirectedGraph.from_text("d -> c -> b -> a")
    assert equivalent(turned, chain)


def test_a_copy_needs_only_one_of_two_equal_parents():
    table = JointTable.from_mapping("abc", {(0, 0, 0): 0.5, (1, 1, 1): 0.5})
    assert minimal_map(table).edges == (("a", "b"), ("b", "c"))


def test_the_order_must_name_each_variable_once():
    with pytest.raises(ValueError, match="order must name each variable"):
        minimal_map(wet_grass(), "CSR")
    with pytest.raises(ValueError, match="order must name each variable"):
        minimal_map(wet_grass(), "CSRR")

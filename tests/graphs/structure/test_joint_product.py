from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.distributions.joint_table import JointTable
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.structure.joint_product import (
    factorization,
    factorized,
    n_clique_entries,
    parameter_count,
)
from credo.graphs.structure.undirected import UndirectedGraph

ROOF = DirectedGraph.from_text("C, G -> A -> L1, L2")
SPRINKLER = DirectedGraph.from_text("C -> S, R; S, R -> W")
BURGLAR = DirectedGraph.from_text("E, B -> A -> C; E -> R")
NINE = UndirectedGraph.from_groups(["14", "36", "78", "123", "389", "4567"])


def test_the_joint_is_written_as_a_product_of_conditionals_causes_first():
    assert factorization(BURGLAR) == "P(E) P(B) P(A | E, B) P(C | A) P(R | E)"
    assert factorization(DirectedGraph({"wet": ["rain"]})) == "P(rain) P(wet | rain)"
    assert factorization(UndirectedGraph.from_groups(["abc", "cd"])) == "F(a, b, c) F(c, d) / Z"


@pytest.mark.parametrize(
    ("graph", "network", "full"), [(ROOF, 10, 31), (SPRINKLER, 9, 15), (BURGLAR, 10, 31)]
)
def test_free_parameters_of_binary_networks_are_those_counted_by_hand(graph, network, full):
    count = parameter_count(graph)
    assert (count.network, count.full_table) == (network, full)
    assert str(count) == f"{network} free parameters against {full} of the full table"


def test_a_binary_node_with_p_parents_needs_two_to_the_p_numbers():
    for p in range(6):
        graph = DirectedGraph({"child": [f"p{i}" for i in range(p)]})
        assert parameter_count(graph).by_node["child"] == 2**p


def test_tiddlywinks_take_9_free_parameters_instead_of_23():
    graph = DirectedGraph.from_text("a -> b; a, b -> c; color")
    count = parameter_count(graph, {"a": 2, "b": 2, "c": 2, "color": 3})
    assert (count.network, count.full_table) == (9, 23)
    assert count.by_node == {"a": 1, "b": 2, "c": 4, "color": 2}
    groups = UndirectedGraph.from_groups(["abc", ["color"]])
    assert n_clique_entries(groups, {"a": 2, "b": 2, "c": 2, "color": 3}) == 11


def test_factors_of_the_nine_node_field_hold_44_numbers():
    assert n_clique_entries(NINE) == 44


def test_counts_of_many_nodes_are_exact_integers():
    names = [f"s{i}" for i in range(3_000)]
    chain = DirectedGraph.from_edges(pairwise(names))
    count = parameter_count(chain, 3)
    assert count.network == 2 + 2_999 * 6
    assert count.full_table == 3**3_000 - 1


def test_number_of_states_must_be_known_for_every_node():
    with pytest.raises(ValueError, match=r"found none for \['W'\]"):
        parameter_count(SPRINKLER, {"C": 2, "S": 2, "R": 2})


def test_a_full_graph_keeps_the_table_and_an_empty_one_only_its_margins():
    rng = np.random.default_rng(0)
    table = JointTable(
        rng.dirichlet(np.ones(12)).reshape(2, 3, 2),
        {"a": (0, 1), "b": (0, 1, 2), "c": (0, 1)},
    )
    full = DirectedGraph.from_text("c -> a; c, a -> b")
    assert_allclose(factorized(table, full).probability, table.probability, atol=1e-14)
    margins = [table.marginal(name).probability for name in "abc"]
    empty = factorized(table, DirectedGraph({"a": [], "b": [], "c": []}))
    assert_allclose(empty.probability, np.einsum("a,b,c->abc", *margins), atol=1e-14)


def test_no_other_distribution_over_the_graph_is_nearer_to_the_table():
    rng = np.random.default_rng(1)
    table = JointTable(
        rng.dirichlet(np.ones(8)).reshape(2, 2, 2), {name: (0, 1) for name in "abc"}
    )
    graph = DirectedGraph.from_text("a -> b -> c")
    best = factorized(table, graph)
    for _ in range(50):
        other = factorized(
            JointTable(rng.dirichlet(np.ones(8)).reshape(2, 2, 2), table.states), graph
        )
        gain = table.probability * (np.log(best.probability) - np.log(other.probability))
        assert gain.sum() > 0


def test_settings_of_parents_that_cannot_happen_do_no_harm():
    table = JointTable([[0.0, 0.0], [0.25, 0.75]], {"a": (0, 1), "b": (0, 1)})
    again = factorized(table, DirectedGraph.from_text("a -> b"))
    assert_allclose(again.probability, table.probability)


def test_graph_and_table_must_name_the_same_variables():
    table = JointTable([0.5, 0.5], {"a": (0, 1)})
    with pytest.raises(ValueError, match=r"found \['a', 'b'\]"):
        factorized(table, DirectedGraph({"a": [], "b": []}))

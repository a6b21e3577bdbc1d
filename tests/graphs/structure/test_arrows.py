import pytest

from credo.graphs import (
    DirectedGraph,
    UndirectedGraph,
    cpdag,
    d_connected,
    d_separated,
    equivalent,
    equivalent_graphs,
    explain_separation,
    factorization,
    independence_basis,
    local_independence,
    moral_separated,
    parameter_count,
    v_structures,
)
from credo.models import BayesianNetwork

NET = BayesianNetwork(
    "cloud -> sprinkler, rain; sprinkler, rain -> wet", states={"rain": ("no", "some", "much")}
)
ASK = [
    lambda g: d_separated(g, "rain", "sprinkler", given="cloud"),
    lambda g: d_connected(g, "rain"),
    lambda g: moral_separated(g, "rain", "sprinkler", given=["cloud", "wet"]),
    lambda g: explain_separation(g, "rain", "sprinkler", given="cloud"),
    v_structures,
    cpdag,
    lambda g: set(equivalent_graphs(g)),
    lambda g: equivalent(g, DirectedGraph.from_text("a -> b")),
    factorization,
    lambda g: parameter_count(g, 2),
    independence_basis,
    lambda g: local_independence(g, "rain"),
]


@pytest.mark.parametrize("ask", ASK)
def test_what_is_asked_of_a_network_is_asked_of_its_graph(ask):
    assert ask(NET) == ask(NET.graph)


@pytest.mark.parametrize("ask", ASK[:9])
def test_what_has_no_arrows_is_refused(ask):
    for other in ("a -> b", {"a": []}):
        with pytest.raises(TypeError, match=r"must be a DirectedGraph or a Bayesian.*found a"):
            ask(other)


def test_an_undirected_graph_has_no_arrows_to_ask_about():
    with pytest.raises(TypeError, match="found a UndirectedGraph"):
        cpdag(UndirectedGraph.from_groups(["ab"]))


def test_the_parameters_of_a_network_are_counted_by_its_own_states():
    assert parameter_count(NET).by_node == {"cloud": 1, "sprinkler": 2, "rain": 4, "wet": 6}
    assert parameter_count(NET).network == NET.n_parameters

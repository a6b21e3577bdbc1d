import networkx
import numpy as np
import pytest

from credo.data import from_networkx, load_example_network, to_networkx
from credo.graphs.factor import Factor
from credo.graphs.node.linear_gaussian import LinearGaussian
from credo.graphs.node.noisy import NoisyOr
from credo.graphs.variable import Variable
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.factor_graph import FactorGraph
from credo.models.network.markov_random_field import MarkovRandomField


def test_a_network_comes_back_from_its_graph():
    net = load_example_network("alarm")
    graph = to_networkx(net)
    assert isinstance(graph, networkx.DiGraph)
    assert graph.number_of_edges() == 46
    back = from_networkx(graph)
    assert back.variables == net.variables
    assert back.conditionals == net.conditionals


def test_nodes_carry_states_parents_and_tables():
    net = load_example_network("asia")
    node = to_networkx(net).nodes["dysp"]
    assert (node["states"], node["parents"]) == (("yes", "no"), ("bronc", "either"))
    assert node["table"][0, 1].tolist() == [0.8, 0.2]


def test_tables_alone_are_enough():
    graph = to_networkx(load_example_network("asia"))
    for _, attributes in graph.nodes(data=True):
        del attributes["conditional"]
    back = from_networkx(graph)
    np.testing.assert_array_equal(
        back.conditionals["dysp"].probability,
        load_example_network("asia").conditionals["dysp"].probability,
    )


def test_compact_and_real_nodes_come_back_as_they_are():
    net = BayesianNetwork(
        "a, b -> c; x",
        {
            "a": [0.5, 0.5],
            "b": [0.1, 0.9],
            "c": NoisyOr({"a": 0.5, "b": 0.2}),
            "x": LinearGaussian(1.0, {}, 2.0),
        },
    )
    graph = to_networkx(net)
    assert graph.nodes["x"]["states"] is None
    assert "table" not in graph.nodes["x"]
    assert graph.nodes["c"]["table"][1, 1, 0] == pytest.approx(0.4)
    assert from_networkx(graph).conditionals == net.conditionals


def test_the_order_of_parents_is_the_attribute_not_the_order_of_edges():
    graph = networkx.DiGraph([("b", "c"), ("a", "c")])
    table = np.array([[[1.0, 0.0], [0.9, 0.1]], [[0.8, 0.2], [0.7, 0.3]]])
    for name, value in (("a", [0.5, 0.5]), ("b", [0.5, 0.5]), ("c", table)):
        graph.nodes[name]["table"] = value
    assert from_networkx(graph).graph.parents("c") == ("b", "a")
    graph.nodes["c"]["parents"] = ("a", "b")
    assert from_networkx(graph).graph.parents("c") == ("a", "b")
    graph.nodes["c"]["parents"] = ("a", "d")
    with pytest.raises(ValueError, match=r"parents of c must be .*\['b', 'a'\]; found"):
        from_networkx(graph)


def test_a_table_that_cannot_be_stored_is_left_out_and_its_node_stays():
    names = [f"c{i}" for i in range(30)]
    tables = {name: [0.9, 0.1] for name in names}
    net = BayesianNetwork(
        {"effect": names} | {name: [] for name in names},
        {"effect": NoisyOr(dict.fromkeys(names, 0.2)), **tables},
    )
    graph = to_networkx(net)
    assert "table" not in graph.nodes["effect"]
    assert graph.nodes["c0"]["table"].tolist() == [0.9, 0.1]
    back = from_networkx(graph)
    assert back.query("effect")[True] == pytest.approx(1 - 0.98**30)


@pytest.mark.parametrize("kind", [networkx.DiGraph, networkx.Graph])
def test_nodes_of_the_same_text_are_refused(kind):
    graph = kind([(1, "1")], factors=[])
    with pytest.raises(ValueError, match="nodes must differ as text; found several '1'"):
        from_networkx(graph)


def test_a_graph_without_tables_gives_structure_and_states():
    graph = networkx.DiGraph([("a", "b")])
    graph.nodes["b"]["states"] = ["x", "y", "z"]
    net = from_networkx(graph)
    assert net.conditionals == {}
    assert net.variables["b"].states == ("x", "y", "z")


def test_a_field_comes_back_with_its_factors():
    a, b = Variable("a", (0, 1)), Variable("b", ("u", "v"))
    net = MarkovRandomField(
        [Factor((a, b), [[1.0, 0.2], [0.3, 0.4]])], [b, a, Variable("idle", (1, 2))]
    )
    graph = to_networkx(net)
    assert set(graph.edges) == {("b", "a")}
    back = from_networkx(graph)
    assert back.factors == net.factors
    assert back.variables == net.variables
    named = FactorGraph({"link": net.factors[0]}, list(net.variables.values()))
    again = from_networkx(to_networkx(named))
    assert isinstance(again, FactorGraph)
    assert again.named_factors == named.named_factors
    with pytest.raises(ValueError, match=r"graph\['factors'\]; found none"):
        from_networkx(networkx.Graph([("a", "b")]))

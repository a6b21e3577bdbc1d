import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.graphs import Factor, Variable
from credo.models import FactorGraph, MarkovRandomField

A, B, C = Variable("a", (0, 1)), Variable("b", ("x", "y", "z")), Variable("c", (0, 1))
TABLES = {
    "prior": Factor((A,), [0.4, 0.6]),
    "link": Factor((A, B), [[2.0, 1.0, 0.5], [1.0, 2.0, 4.0]]),
    "again": Factor((B, A), [[1.0, 3.0], [2.0, 1.0], [1.0, 5.0]]),
    "tail": Factor((B, C), [[1.0, 2.0], [3.0, 1.0], [1.0, 1.0]]),
}


def joint():
    """Return the product of all factors over (a, b, c)."""
    a, link, again, tail = (TABLES[name].table() for name in TABLES)
    return np.einsum("a,ab,ba,bc->abc", a, link, again, tail)


def test_answers_are_those_of_the_product_of_all_factors():
    graph, table = FactorGraph(TABLES), joint()
    assert_allclose(graph.log_partition(), np.log(table.sum()), rtol=1e-12)
    assert_allclose(graph.query("a").to_numpy(), table.sum(axis=(1, 2)) / table.sum())
    given = table[:, :, 1]
    assert_allclose(graph.query("b", {"c": 1}).to_numpy(), given.sum(axis=0) / given.sum())
    pair = graph.query(["c", "a"])
    assert_allclose(pair[1, 0], table[0, :, 1].sum() / table.sum())
    best = graph.most_probable()
    cell = np.unravel_index(table.argmax(), table.shape)
    assert best == {"a": cell[0], "b": "xyz"[cell[1]], "c": cell[2]}
    assert_allclose(best.log_prob, np.log(table.max() / table.sum()), rtol=1e-12)


def test_probabilities_of_all_states_sum_to_one():
    graph = FactorGraph(TABLES)
    cells = [{"a": a, "b": b, "c": c} for a in (0, 1) for b in "xyz" for c in (0, 1)]
    found = np.exp([graph.log_prob(cell) for cell in cells])
    assert_allclose(found, joint().ravel() / joint().sum(), rtol=1e-12)


def test_factors_over_the_same_variables_stay_two_nodes():
    graph = FactorGraph(TABLES)
    both = graph.bipartite
    assert set(both.nodes) == {"a", "b", "c", *TABLES}
    assert sorted(both.neighbors("a")) == ["again", "link", "prior"]
    assert sorted(both.neighbors("again")) == ["a", "b"]
    assert sorted(graph.graph.neighbors("b")) == ["a", "c"]
    assert len(both.edges) == 7


def test_a_list_of_factors_is_named_by_number():
    graph = FactorGraph(list(TABLES.values()))
    assert list(graph.named_factors) == ["f0", "f1", "f2", "f3"]
    assert graph.bipartite.neighbors("f3") == ("b", "c")


def test_a_factor_graph_answers_as_the_field_of_its_factors():
    graph, field = FactorGraph(TABLES), MarkovRandomField(list(TABLES.values()))
    likelihood = {"b": {"x": 0.1, "y": 2.0, "z": 0.3}}
    assert_allclose(graph.log_prob(likelihood), field.log_prob(likelihood), rtol=1e-12)
    assert_allclose(graph.query("c", likelihood).to_numpy(), field.query("c", likelihood))


def test_variables_may_be_ordered_and_stand_alone():
    extra = Variable("lonely", (1, 2, 3))
    graph = FactorGraph({"prior": TABLES["prior"]}, [extra, A])
    assert list(graph.variables) == ["lonely", "a"]
    assert graph.bipartite.neighbors("lonely") == ()
    assert_allclose(graph.log_partition(), np.log(3.0), atol=1e-14)


def test_a_factor_may_not_be_called_like_a_variable():
    with pytest.raises(ValueError, match=r"must not share a name; found \['a'\]"):
        FactorGraph({"a": TABLES["prior"]})


def test_the_bipartite_graph_is_built_once():
    graph = FactorGraph(TABLES)
    assert graph.bipartite is graph.bipartite
    assert graph.bipartite.neighbors("tail") == ("b", "c")

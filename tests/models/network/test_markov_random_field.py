import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from credo.graphs import Factor, Variable
from credo.inference.engine.error import ImpossibleFindings
from credo.models import BayesianNetwork, MarkovRandomField

CLIQUES = ["14", "36", "78", "123", "389", "4567"]
NAMES = "123456789"
BITS = np.array(list(itertools.product([0, 1], repeat=9)))


def nine_nodes(rng):
    """Return the field of nine nodes with random potentials, and its density of all states."""
    nodes = {name: Variable(name, (0, 1)) for name in NAMES}
    potentials = {clique: rng.gamma(1.0, 10.0, size=(2,) * len(clique)) for clique in CLIQUES}
    factors = [Factor([nodes[i] for i in clique], t) for clique, t in potentials.items()]
    density = np.ones(len(BITS))
    for clique, table in potentials.items():
        density *= table[tuple(BITS[:, int(i) - 1] for i in clique)]
    return MarkovRandomField(factors, [nodes[i] for i in NAMES]), density


def test_the_nine_node_field_has_its_six_cliques_and_fifteen_edges():
    field, _ = nine_nodes(np.random.default_rng(0))
    found = {"".join(sorted(clique)) for clique in field.graph.cliques()}
    assert found == set(CLIQUES)
    assert len(field.graph.edges) == 15
    assert sum(factor.values.size for factor in field.factors) == 44
    assert sorted(field.graph.neighbors("3")) == list("12689")


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_answers_of_the_nine_node_field_equal_sums_over_all_512_states(seed):
    rng = np.random.default_rng(seed)
    field, density = nine_nodes(rng)
    assert_allclose(field.log_partition(), np.log(density.sum()), rtol=1e-12)
    seen = {
        str(i): int(rng.integers(2)) for i in rng.choice(np.arange(1, 10), 3, replace=False)
    }
    rows = np.all([BITS[:, int(name) - 1] == s for name, s in seen.items()], axis=0)
    assert_allclose(field.log_partition(seen), np.log(density[rows].sum()), rtol=1e-12)
    share = density[rows].sum() / density.sum()
    assert_allclose(field.log_prob(seen), np.log(share), rtol=1e-9, atol=1e-11)
    found = field.marginals(seen)
    assert_allclose(found.log_prob, np.log(share), rtol=1e-9, atol=1e-11)
    for name, answer in found.items():
        ones = density[rows & (BITS[:, int(name) - 1] == 1)].sum()
        assert_allclose(answer[1], ones / density[rows].sum(), rtol=1e-10)
    best = field.most_probable(given=seen)
    top = np.where(rows, density, 0.0).argmax()
    assert best == {n: BITS[top, int(n) - 1] for n in NAMES if n not in seen}
    assert_allclose(best.log_prob, np.log(density[top] / density.sum()), rtol=1e-9, atol=1e-11)


def test_probabilities_of_all_states_sum_to_one_though_the_density_does_not():
    field, density = nine_nodes(np.random.default_rng(1))
    log_prob = [field.log_prob(dict(zip(NAMES, row.tolist(), strict=True))) for row in BITS]
    assert_allclose(np.exp(log_prob).sum(), 1.0, rtol=1e-12)
    assert_allclose(np.exp(log_prob), density / density.sum(), rtol=1e-10)
    assert abs(np.log(density.sum())) > 1


@pytest.mark.parametrize(
    ("a", "b", "given"),
    [("2", "5", "34"), ("2", "5", "13"), ("9", "5", "37"), ("1", "9", "34"), ("4", "3", "167")],
)
def test_separated_nodes_are_independent_whatever_the_potentials(a, b, given):
    field, _ = nine_nodes(np.random.default_rng(2))
    seen = dict.fromkeys(given, 1)
    assert field.graph.separated(a, b, list(given))
    table = field.query([a, b], given=seen).to_numpy().reshape(2, 2)
    assert_allclose(np.linalg.det(table), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "given"), [("2", "5", "1"), ("1", "9", "3"), ("4", "3", "16")]
)
def test_nodes_that_are_not_separated_depend_on_each_other(a, b, given):
    field, _ = nine_nodes(np.random.default_rng(2))
    table = field.query([a, b], given=dict.fromkeys(given, 1)).to_numpy().reshape(2, 2)
    assert not field.graph.separated(a, b, list(given))
    assert abs(np.linalg.det(table)) > 1e-6


@pytest.mark.parametrize("method", ["auto", "exact", "belief_propagation", "conditional_modes"])
def test_a_most_probable_state_has_its_own_probability_whatever_found_it(method):
    field, density = nine_nodes(np.random.default_rng(3))
    found = field.most_probable(method=method)
    place = int("".join(str(found[name]) for name in NAMES), 2)
    assert_allclose(found.log_prob, np.log(density[place] / density.sum()), rtol=1e-10)
    assert found.account.is_exact == (method in ("auto", "exact"))


def test_a_variable_without_a_factor_is_uniform_and_counts_in_the_partition():
    a, b = Variable("a", (0, 1)), Variable("b", ("x", "y", "z"))
    field = MarkovRandomField([Factor((a,), [2.0, 6.0])], [b, a])
    assert list(field.variables) == ["b", "a"]
    assert_allclose(field.log_partition(), np.log(24.0))
    assert_allclose(field.log_partition({"b": "y"}), np.log(8.0))
    assert_allclose(field.query("b").to_numpy(), [1 / 3] * 3)
    assert_allclose(field.query(["b", "a"])["z", 1], 0.25)
    assert_allclose(field.log_prob({"b": "x", "a": 1}), np.log(0.25))
    draws = field.sample(3000, rng=0)["b"].value_counts() / 3000
    assert np.all(np.abs(draws - 1 / 3) < 5 * np.sqrt(2 / 9 / 3000))


def test_the_scale_of_a_factor_moves_the_partition_and_nothing_else():
    a, b = Variable("a", (0, 1)), Variable("b", (0, 1))
    table = [[3.0, 1.0], [0.5, 2.0]]
    small = MarkovRandomField([Factor((a, b), table)])
    large = MarkovRandomField([Factor((a, b), table, log_scale=2000.0)])
    assert_allclose(small.log_partition(), np.log(6.5), rtol=1e-14)
    assert_allclose(large.log_partition(), 2000 + np.log(6.5), rtol=1e-14)
    assert_allclose(large.log_prob({"a": 1}), np.log(2.5 / 6.5), rtol=1e-10)
    assert_allclose(large.query("a").to_numpy(), small.query("a").to_numpy(), rtol=1e-14)


def test_the_factors_of_a_bayesian_network_make_the_same_field():
    net = BayesianNetwork(
        "a, b -> c; c -> d",
        {
            "a": [0.2, 0.8],
            "b": [0.6, 0.3, 0.1],
            "c": np.random.default_rng(0).dirichlet([1, 1], size=(2, 3)),
            "d": [[0.9, 0.1], [0.4, 0.6]],
        },
    )
    field = MarkovRandomField(net.factors)
    seen = {"d": True, "b": 1}
    assert_allclose(field.log_partition(), 0.0, atol=1e-12)
    assert_allclose(field.log_partition(seen), net.log_prob(seen), rtol=1e-12)
    for name in ("a", "c"):
        assert_allclose(field.query(name, seen).to_numpy(), net.query(name, seen).to_numpy())


def test_findings_that_a_field_forbids_are_refused_with_their_conflict():
    a, b, c = (Variable(name, (0, 1)) for name in "abc")
    field = MarkovRandomField([Factor((a, b), np.eye(2)), Factor((b, c), [[1, 2], [3, 4]])])
    with pytest.raises(ImpossibleFindings) as caught:
        field.marginals({"c": 1, "a": 0, "b": 1})
    assert caught.value.conflict == {"a": 0, "b": 1}
    assert field.log_prob({"a": 0, "b": 1}) == -np.inf
    assert_allclose(field.query("c", {"a": 1})[1], 4 / 7)


def test_a_field_with_no_possible_state_is_refused():
    a = Variable("a", (0, 1))
    field = MarkovRandomField([Factor((a,), [0.0, 0.0])])
    with pytest.raises(ImpossibleFindings):
        field.marginals()


def test_variables_of_one_name_must_agree_on_their_states():
    first, second = Variable("a", (0, 1)), Variable("a", ("no", "yes"))
    with pytest.raises(ValueError, match=r"a must have the same states.*found \[0, 1\] and"):
        MarkovRandomField([Factor((first,), [1, 2]), Factor((second,), [1, 2])])


def test_an_undirected_network_has_no_causes_to_cut():
    field, _ = nine_nodes(np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"do must be asked of a Bayesian network.*Use given"):
        field.query("1", do={"2": 0})


def contradiction():
    """Return a field whose tables leave no joint state."""
    a, b = Variable("a", (0, 1)), Variable("b", (0, 1))
    return MarkovRandomField([Factor((a, b), np.eye(2)), Factor((a, b), 1 - np.eye(2))])


@pytest.mark.parametrize(
    "ask",
    [
        lambda field: field.query("a"),
        lambda field: field.query("a", {"b": 1}),
        lambda field: field.query("a", method="gibbs"),
        lambda field: field.query("a", method="belief_propagation"),
        lambda field: field.marginals(),
        lambda field: field.marginals(pd.DataFrame({"a": [0]})),
        lambda field: field.log_prob({"a": 0}),
        lambda field: field.log_prob(pd.DataFrame({"a": [0, 1]})),
        lambda field: field.most_probable(),
        lambda field: field.sample(3, rng=0),
    ],
)
def test_tables_that_contradict_each_other_are_told_rather_than_an_empty_conflict(ask):
    with pytest.raises(ImpossibleFindings, match=r"positive somewhere; found zero everyw") as e:
        ask(contradiction())
    assert e.value.conflict == {}


@pytest.mark.parametrize("method", ["auto", "importance", "belief_propagation", "mean_field"])
def test_the_log_partition_of_a_contradiction_is_minus_infinity(method):
    assert contradiction().log_partition(method=method) == -np.inf


def test_mean_field_bounds_the_partition_but_gives_no_probability():
    field, density = nine_nodes(np.random.default_rng(3))
    assert field.log_partition(method="mean_field") <= np.log(density.sum())
    with pytest.raises(ValueError, match=r'found method="mean_field", which only bounds both'):
        field.log_prob({"1": 0}, method="mean_field")
    assert np.isnan(field.marginals({"1": 0}, method="mean_field").log_prob)


@pytest.mark.parametrize("ask", ["log_partition", "log_prob"])
def test_gibbs_draws_give_no_log_partition(ask):
    field, _ = nine_nodes(np.random.default_rng(3))
    with pytest.raises(ValueError, match=r'found method="gibbs".*Use .*"importance"'):
        getattr(field, ask)({"1": 0}, method="gibbs")
    assert np.isnan(field.marginals({"1": 0}, method="gibbs").log_prob)


def test_a_network_must_have_a_variable():
    with pytest.raises(ValueError, match=r"at least one variable; found no factors"):
        MarkovRandomField([])
    alone = MarkovRandomField([], [Variable("a", (0, 1, 2))])
    for method in ("auto", "belief_propagation", "mean_field", "gibbs", "importance"):
        assert_allclose(alone.query("a", method=method), 1 / 3, atol=0.02)
    assert_allclose(alone.log_partition(), np.log(3))

import itertools

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from credo.distributions import JointTable
from credo.graphs import ConditionalTable, CycleFound, DirectedGraph, LinearGaussian, NoisyOr
from credo.graphs.node.conditional_table import RoundedTableWarning
from credo.graphs.variable import UnknownState, UnknownVariable, Variable
from credo.inference.engine.error import ImpossibleFindings, InferenceTooLarge
from credo.models import BayesianNetwork
from naive import sprinkler

EXACT = {"rtol": 0, "atol": 1e-12}


def binary(chances, shape):
    """Return the table of a binary node from the probabilities of its second state."""
    p = np.array(chances, dtype=float).reshape(shape)
    return np.stack([1 - p, p], axis=-1)


def roof():
    return BayesianNetwork(
        "climber, goose -> alarm; alarm -> near, far",
        cpts={
            "climber": binary(0.05, ()),
            "goose": binary(0.2, ()),
            "alarm": binary([0.08, 0.2, 0.96, 0.98], (2, 2)),
            "near": binary([0.08, 0.99], (2,)),
            "far": binary([0.001, 0.6], (2,)),
        },
    )


def burglar():
    return BayesianNetwork(
        "earthquake, burglar -> alarm; earthquake -> radio; alarm -> call",
        cpts={
            "earthquake": binary(0.002, ()),
            "burglar": binary(0.001, ()),
            "alarm": binary([0.001, 0.94, 0.29, 0.95], (2, 2)),
            "radio": binary([0.0001, 0.9], (2,)),
            "call": binary([0.05, 0.9], (2,)),
        },
    )


def heart():
    return BayesianNetwork(
        "disease -> pain, breath",
        cpts={
            "disease": binary(0.05, ()),
            "pain": binary([0.01, 0.6], (2,)),
            "breath": binary([0.2, 0.8], (2,)),
        },
    )


def random_network(rng, n=5, concentration=1.0):
    """Return a network over ``a``, ``b``, ... with two or three states and random tables."""
    names = "abcdefgh"[:n]
    parents = {
        name: [p for p in names[:i] if rng.random() < 0.5] for i, name in enumerate(names)
    }
    sizes = {name: int(rng.integers(2, 4)) for name in names}
    cpts = {
        name: rng.dirichlet(
            np.full(sizes[name], concentration), size=[sizes[p] for p in parents[name]]
        )
        for name in names
    }
    return BayesianNetwork(parents, cpts)


def joint_of(net, without=()):
    """Return the product of the tables over all variables, but for some nodes, as an array."""
    letters = dict(zip(net.variables, "abcdefghijklmnop", strict=False))
    every = "".join(letters.values())
    scopes, tables = [], []
    for name, conditional in net.conditionals.items():
        if name not in without:
            table = conditional.table()
            scopes.append("".join(letters[n] for n in table.names))
            tables.append(table.table())
    ones = np.ones([v.n_states for v in net.variables.values()])
    return np.einsum(",".join([*scopes, every]) + "->" + every, *tables, ones)


def p(net, target, **given):
    return net.query(target, given=given)[True]


@pytest.mark.parametrize(
    ("target", "given", "expected"),
    [
        ("sprinkler", {}, 0.3),
        ("rain", {}, 0.5),
        ("wet", {}, 0.6471),
        ("wet", {"cloud": True}, 0.7452),
        ("wet", {"cloud": False}, 0.549),
        ("wet", {"sprinkler": True}, 0.927),
        ("wet", {"rain": True}, 0.9162),
        ("sprinkler", {"wet": True}, 309 / 719),
        ("rain", {"wet": True}, 509 / 719),
        ("cloud", {"wet": True}, 414 / 719),
        ("sprinkler", {"rain": True}, 0.18),
        ("rain", {"sprinkler": True}, 0.3),
        ("cloud", {"sprinkler": True}, 1 / 6),
        ("cloud", {"rain": True}, 0.8),
        ("cloud", {"sprinkler": True, "rain": True}, 4 / 9),
        ("sprinkler", {"wet": True, "rain": True}, 99 / 509),
        ("sprinkler", {"wet": True, "rain": False}, 1.0),
        ("rain", {"wet": True, "sprinkler": True}, 33 / 103),
        ("rain", {"wet": True, "sprinkler": False}, 1.0),
        ("rain", {"wet": True, "cloud": True}, 202 / 207),
        ("sprinkler", {"wet": True, "cloud": True}, 3 / 23),
        ("cloud", {"wet": True, "sprinkler": True}, 18 / 103),
    ],
)
def test_predictions_and_diagnoses_of_wet_grass_are_the_worked_ones(target, given, expected):
    answer = sprinkler().query(target, given=given)
    assert_allclose(answer[True], expected, **EXACT)
    assert_allclose(answer.sum(), 1.0, **EXACT)
    assert answer.attrs["method"] == "exact"
    assert answer.attrs["is_exact"]


def test_findings_that_did_not_happen_count_as_well():
    net = sprinkler()
    assert_allclose(p(net, "cloud", wet=False), 0.3610087844, atol=5e-11)
    assert_allclose(p(net, "sprinkler", wet=False), 0.0620572400, atol=5e-11)
    assert_allclose(p(net, "rain", wet=False), 0.1187305186, atol=5e-11)


def test_the_joint_of_wet_grass_is_the_product_of_its_tables_and_sums_to_one():
    net = sprinkler()
    printed = [
        0.2, 0, 0.005, 0.045, 0.02, 0.18, 0.0005, 0.0495,
        0.09, 0, 0.036, 0.324, 0.001, 0.009, 0.0004, 0.0396,
    ]  # fmt: skip
    cells = itertools.product([False, True], repeat=4)
    found = [net.log_prob(dict(zip(net.variables, cell, strict=True))) for cell in cells]
    assert_allclose(np.exp(found), printed, **EXACT)
    joint = net.query(list(net.variables))
    assert_allclose(joint.to_numpy(), printed, **EXACT)
    assert joint.index.names == list(net.variables)
    assert_allclose(joint.sum(), 1.0, **EXACT)


def test_a_joint_query_is_about_the_variables_in_the_order_asked():
    net = sprinkler()
    table = net.query(["rain", "sprinkler"], given={"wet": True})
    assert table.index.names == ["rain", "sprinkler"]
    assert_allclose(table[True, True], 99 / 719, **EXACT)
    assert_allclose(table[True, False], (509 - 99) / 719, **EXACT)
    assert_allclose(table[False, True], (309 - 99) / 719, **EXACT)
    assert_allclose(table[False, False], 0.0, **EXACT)


def test_the_most_probable_explanation_of_wet_grass_is_rain_from_a_cloud():
    best = sprinkler().most_probable(given={"wet": True})
    assert best == {"cloud": True, "sprinkler": False, "rain": True}
    assert_allclose(np.exp(best.log_prob), 0.324, **EXACT)
    assert_allclose(np.exp(best.log_prob) / 0.6471, 0.5006954103, atol=5e-11)


def test_roof_climbers_have_the_worked_numbers():
    net, seen = roof(), {"near": True, "far": True}
    everything = {"climber": False, "goose": False, "alarm": True, **seen}
    assert_allclose(np.exp(net.log_prob(everything)), 0.0361152, **EXACT)
    assert_allclose(p(net, "climber", **seen), 0.327636754, atol=5e-10)
    restricted = net.query(["climber", "goose"], given=seen)
    weight = {(True, True): 0.5821216 * 0.01, (True, False): 0.5702432 * 0.04}
    assert_allclose(
        restricted[True, True] / restricted[True, False],
        weight[True, True] / weight[True, False],
        rtol=1e-12,
    )


@pytest.mark.parametrize(
    ("target", "given", "expected"),
    [
        ("alarm", {}, 0.002516442),
        ("call", {}, 0.0521389757),
        ("radio", {}, 0.0018998),
        ("burglar", {"call": True}, 0.01628372995),
        ("burglar", {"call": True, "radio": True}, 0.003015999102),
        ("burglar", {"radio": True}, 0.001),
        ("burglar", {"alarm": True}, 0.3735512283),
        ("burglar", {"alarm": True, "earthquake": True}, 0.003268423588),
        ("burglar", {"alarm": True, "radio": True}, 0.003446457236),
        ("earthquake", {"alarm": True}, 0.2310087020),
        ("earthquake", {"call": True}, 0.01139496877),
        ("earthquake", {"call": True, "radio": True}, 0.9904522572),
    ],
)
def test_burglar_and_earthquake_have_the_worked_numbers(target, given, expected):
    assert_allclose(p(burglar(), target, **given), expected, rtol=5e-10)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 0.05),
        ({"pain": True}, 60 / 79),
        ({"breath": True}, 4 / 23),
        ({"pain": True, "breath": True}, 240 / 259),
        ({"pain": True, "breath": False}, 15 / 34),
        ({"pain": False, "breath": True}, 160 / 2041),
        ({"pain": False, "breath": False}, 10 / 1891),
    ],
)
def test_heart_disease_is_diagnosed_by_a_naive_bayes_network(given, expected):
    assert_allclose(p(heart(), "disease", **given), expected, **EXACT)


def test_symptoms_of_heart_disease_depend_on_each_other_but_not_given_the_disease():
    net = heart()
    both = np.exp(net.log_prob({"pain": True, "breath": True}))
    assert_allclose(both, 0.0259, **EXACT)
    alone = [np.exp(net.log_prob({name: True})) for name in ("pain", "breath")]
    assert_allclose(alone, [0.0395, 0.23], **EXACT)
    table = net.query(["pain", "breath"], given={"disease": True})
    assert_allclose(table[True, True], 0.48, **EXACT)
    assert_allclose(p(net, "pain", disease=True, breath=True), 0.6, **EXACT)


def test_not_swimming_if_a_fish_differs_from_not_swimming_given_a_fish():
    net = BayesianNetwork(
        "fish -> swims", cpts={"fish": [0.999, 0.001], "swims": [[0.5, 0.5], [0.01, 0.99]]}
    )
    assert_allclose(net.query("swims", given={"fish": True})[False], 0.01, **EXACT)
    implication = 1 - np.exp(net.log_prob({"fish": True, "swims": True}))
    assert_allclose(implication, 0.99901, **EXACT)


def test_explaining_away_tells_the_moments_of_a_real_cause():
    real = BayesianNetwork(
        "x, y -> z",
        cpts={
            "x": LinearGaussian(0.0, {}, 1.0),
            "y": LinearGaussian(0.0, {}, 1.0),
            "z": LinearGaussian(0.0, {"x": 1.0, "y": 1.0}, 1.0),
        },
    )
    found = real.explaining_away("x", {"y": 3.0}, given={"z": 3.0})
    assert_allclose(found["mean"], [0.0, 1.0, 0.0], atol=1e-12)
    assert_allclose(found["std"], np.sqrt([1.0, 2 / 3, 1 / 2]))


@pytest.mark.parametrize(("other", "effect"), [("rain", {"wet": True}), ({}, "wet")])
def test_explaining_away_wants_states_with_the_names(other, effect):
    with pytest.raises(ValueError, match=r"dictionary by name.*found a str. Write them as"):
        sprinkler().explaining_away("sprinkler", other, given=effect)


@pytest.mark.parametrize("labels", [3, "yes"])
def test_states_that_are_no_list_are_refused(labels):
    with pytest.raises(ValueError, match=r"states of a must be a list of labels.*Write for"):
        BayesianNetwork("a -> b", states={"a": labels})


def test_what_is_observed_may_be_one_name_and_is_named_if_unknown():
    assert sprinkler().plan(observed="rain") == sprinkler().plan(observed=["rain"])
    with pytest.raises(UnknownVariable, match=r"what is named must.*'rian'. Did you mean"):
        sprinkler().plan(observed="rian")


def test_explaining_away_lowers_belief_in_a_cause_once_the_other_is_seen():
    found = sprinkler().explaining_away("sprinkler", {"rain": True}, given={"wet": True})
    assert list(found.index) == ["before", "given effect", "given other cause"]
    assert_allclose(found[True], [0.3, 309 / 719, 99 / 509], **EXACT)
    found = burglar().explaining_away("burglar", {"earthquake": True}, given={"alarm": True})
    assert_allclose(found[True], [0.001, 0.3735512283, 0.003268423588], rtol=5e-10)
    found = roof().explaining_away("climber", {"goose": True}, given={"alarm": True})
    given_alarm = (
        0.05
        * (0.2 * 0.98 + 0.8 * 0.96)
        / (0.05 * (0.2 * 0.98 + 0.8 * 0.96) + 0.95 * (0.2 * 0.2 + 0.8 * 0.08))
    )
    with_goose = 0.05 * 0.98 / (0.05 * 0.98 + 0.95 * 0.2)
    assert_allclose(found[True], [0.05, given_alarm, with_goose], **EXACT)
    assert found[True].iloc[0] < found[True].iloc[2] < found[True].iloc[1]


def test_free_parameters_are_those_counted_by_hand():
    counts = [net.n_parameters for net in (roof(), sprinkler(), burglar())]
    assert counts == [10, 9, 10]
    only = BayesianNetwork("a{x|y|z} -> c; b -> c{u|v|w|t}")
    assert only.n_parameters == 2 + 1 + 3 * 2 * 3


STRUCTURES = {
    "text": "cloud -> sprinkler, rain; sprinkler, rain -> wet",
    "edges": [("cloud", "sprinkler"), ("cloud", "rain"), ("sprinkler", "wet"), ("rain", "wet")],
    "parents": {
        "wet": ["sprinkler", "rain"],
        "cloud": [],
        "sprinkler": ["cloud"],
        "rain": ["cloud"],
    },
    "graph": DirectedGraph({"cloud": [], "sprinkler": ["cloud"], "rain": ["cloud"],
                            "wet": ["sprinkler", "rain"]}),
    "networkx": nx.DiGraph(
        [("cloud", "sprinkler"), ("cloud", "rain"), ("sprinkler", "wet"), ("rain", "wet")]
    ),
}  # fmt: skip


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_every_way_to_write_a_structure_gives_the_same_answers(structure):
    tables = {name: c.probability for name, c in sprinkler().conditionals.items()}
    net = BayesianNetwork(structure, cpts=tables)
    assert net.graph.parents("wet") == ("sprinkler", "rain")
    assert set(net.variables) == {"cloud", "sprinkler", "rain", "wet"}
    assert_allclose(p(net, "sprinkler", wet=True), 309 / 719, **EXACT)


WET = {
    "array": np.array([[[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]]]),
    "lists": [[[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]]],
    "dict of dicts": {
        (False, False): {False: 1.0, True: 0.0},
        (True, False): {False: 0.1, True: 0.9},
        (False, True): {True: 0.8, False: 0.2},
        (True, True): {False: 0.01, True: 0.99},
    },
    "dict of lists": {
        (False, False): [1.0, 0.0],
        (True, False): [0.1, 0.9],
        (False, True): [0.2, 0.8],
        (True, True): [0.01, 0.99],
    },
    "wide frame": pd.DataFrame(
        {
            "rain": [False, False, True, True],
            "sprinkler": [False, True, False, True],
            False: [1.0, 0.1, 0.2, 0.01],
            True: [0.0, 0.9, 0.8, 0.99],
        }
    ),
    "long frame": pd.DataFrame(
        {
            "wet": [False, False, False, False, True, True, True, True],
            "rain": [False, False, True, True] * 2,
            "sprinkler": [False, True] * 4,
            "p": [1.0, 0.1, 0.2, 0.01, 0.0, 0.9, 0.8, 0.99],
        }
    ),
    "polars frame": pl.DataFrame(
        {
            "wet": [False, False, False, False, True, True, True, True],
            "rain": [False, False, True, True] * 2,
            "sprinkler": [False, True] * 4,
            "p": [1.0, 0.1, 0.2, 0.01, 0.0, 0.9, 0.8, 0.99],
        }
    ),
    "series": pd.Series(
        [1.0, 0.0, 0.2, 0.8, 0.1, 0.9, 0.01, 0.99],
        index=pd.MultiIndex.from_product(
            [[False, True]] * 3, names=["sprinkler", "rain", "wet"]
        ),
    ),
}


@pytest.mark.parametrize("table", WET.values(), ids=WET)
def test_every_way_to_write_a_table_gives_the_same_answers(table):
    # The two causes act differently, so that exchanged axes would be noticed.
    net = BayesianNetwork(
        "sprinkler, rain -> wet",
        cpts={"sprinkler": {True: 0.3, False: 0.7}, "rain": [0.4, 0.6], "wet": table},
    )
    assert net.variables["wet"].states == (False, True)
    expected = 0.7 * 0.6 * 0.8 + 0.3 * 0.4 * 0.9 + 0.3 * 0.6 * 0.99
    assert_allclose(p(net, "wet"), expected, **EXACT)
    assert_allclose(p(net, "wet", sprinkler=True, rain=False), 0.9, **EXACT)
    assert_allclose(p(net, "wet", sprinkler=False, rain=True), 0.8, **EXACT)


def test_states_without_names_are_false_and_true_or_numbers_from_zero():
    net = BayesianNetwork(
        "a -> b", cpts={"a": [0.2, 0.3, 0.5], "b": [[0.1, 0.9], [0.2, 0.8], [0.4, 0.6]]}
    )
    assert net.variables["a"].states == (0, 1, 2)
    assert net.variables["b"].states == (False, True)
    assert_allclose(net.query("a", given={"b": True})[2], 0.3 / 0.72, **EXACT)


@pytest.mark.parametrize(
    "states",
    [
        (1, 2),
        (2, 1),
        (0, 1),
        (True, False),
        ("yes", "no"),
        ("1", "0"),
        (1, "1"),
        (("a", 1), "b"),
    ],
    ids=str,
)
def test_labels_keep_their_type_and_are_never_positions(states):
    net = BayesianNetwork(
        "a -> b", cpts={"a": [0.3, 0.7], "b": [[0.9, 0.1], [0.2, 0.8]]}, states={"a": states}
    )
    first, second = states
    answer = net.query("a")
    assert [type(label) for label in answer.index] == [type(label) for label in states]
    assert_allclose(answer.to_numpy(), [0.3, 0.7], **EXACT)
    assert_allclose(net.query("b", given={"a": second})[True], 0.8, **EXACT)
    assert_allclose(net.query("b", given={"a": first})[True], 0.1, **EXACT)
    best = net.most_probable(given={"b": False})
    assert best["a"] == first
    assert type(best["a"]) is type(first)


@pytest.mark.parametrize("states", [(1, 2), (True, False), ("yes", "no"), (0.5, 1.5)], ids=str)
def test_drawn_columns_hold_labels_of_the_type_given(states):
    net = BayesianNetwork("a", cpts={"a": [0.0, 1.0]}, states={"a": states})
    column = net.sample(4, rng=0)["a"]
    assert column.tolist() == [states[1]] * 4
    assert type(column.tolist()[0]) is type(states[1])


def test_states_in_braces_are_text():
    net = BayesianNetwork("grade{1|2} -> pass{no|yes}", {"grade": [0.4, 0.6],
                          "pass": [[0.7, 0.3], [0.1, 0.9]]})  # fmt: skip
    assert_allclose(net.query("pass", given={"grade": "2"})["yes"], 0.9, **EXACT)
    with pytest.raises(UnknownState, match="found 2"):
        net.query("pass", given={"grade": 2})


def test_a_network_without_tables_knows_its_structure_only():
    net = BayesianNetwork("a -> b; a -> c; b, c -> d")
    assert net.graph.markov_blanket("b") == ("a", "c", "d")
    assert net.n_parameters == 1 + 2 + 2 + 4
    assert not net.conditionals
    with pytest.raises(ValueError, match=r"must have conditional distributions.*Pass cpts"):
        net.query("a")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_setting_a_variable_equals_the_network_without_its_causes(seed):
    rng = np.random.default_rng(seed)
    net = random_network(rng)
    target, acted = (str(n) for n in rng.choice(list(net.variables), 2, replace=False))
    code = int(rng.integers(net.variables[acted].n_states))
    label = net.variables[acted].labels[code]
    seen = next(n for n in net.variables if n not in (target, acted))
    found = net.query(target, given={seen: net.variables[seen].labels[0]}, do={acted: label})
    names = list(net.variables)
    cut = joint_of(net, without=[acted])
    cell = [slice(None)] * len(names)
    cell[names.index(acted)], cell[names.index(seen)] = code, 0
    rest = [n for n in names if n not in (acted, seen)]
    table = cut[tuple(cell)].sum(axis=tuple(i for i, n in enumerate(rest) if n != target))
    assert_allclose(found.to_numpy(), table / table.sum(), rtol=1e-10)
    cpts = {name: c.probability for name, c in net.conditionals.items()}
    cpts[acted] = np.eye(net.variables[acted].n_states)[code]
    parents = {n: net.graph.parents(n) for n in names} | {acted: ()}
    mutilated = BayesianNetwork(parents, cpts)
    by_hand = mutilated.query(target, given={seen: net.variables[seen].labels[0]})
    assert_allclose(found.to_numpy(), by_hand.to_numpy(), rtol=1e-10)


def test_an_intervention_is_the_adjustment_for_common_causes():
    net = BayesianNetwork(
        "age -> drug, health; drug -> health",
        cpts={
            "age": [0.3, 0.7],
            "drug": [[0.9, 0.1], [0.2, 0.8]],
            "health": [[[0.1, 0.9], [0.05, 0.95]], [[0.7, 0.3], [0.5, 0.5]]],
        },
    )
    adjusted = 0.3 * 0.95 + 0.7 * 0.5
    assert_allclose(net.query("health", do={"drug": True})[True], adjusted, **EXACT)
    seen = (0.3 * 0.1 * 0.95 + 0.7 * 0.8 * 0.5) / (0.3 * 0.1 + 0.7 * 0.8)
    assert_allclose(net.query("health", given={"drug": True})[True], seen, **EXACT)
    assert_allclose(net.query("age", do={"drug": True})[True], 0.7, **EXACT)
    rows = net.query("health", given=pd.DataFrame({"age": [False, True]}), do={"drug": True})
    assert_allclose(rows[True], [0.95, 0.5], **EXACT)
    everything = net.marginals(do={"drug": True})
    assert set(everything) == {"age", "health"}
    assert_allclose(everything["health"][True], adjusted, **EXACT)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["dict", "list", "array", "series", "tuple"]))
def test_a_virtual_finding_updates_as_a_joint_table_does(seed, form):
    rng = np.random.default_rng(seed)
    net = random_network(rng)
    variable = net.variables["b"]
    share = {label: float(rng.random() + 0.01) for label in variable.labels}
    values = list(share.values())
    told = {
        "dict": dict(reversed(share.items())),
        "list": values,
        "array": np.array(values),
        "series": pd.Series(share),
        "tuple": tuple(values),
    }[form]
    labels = {name: v.labels for name, v in net.variables.items()}
    table = JointTable(joint_of(net), labels).update("b", share)
    for name in net.variables:
        found = net.query(name, given={"b": told})
        assert_allclose(found.to_numpy(), table.marginal(name).probability, rtol=1e-10)
    prior = joint_of(net).sum(axis=(0, 2, 3, 4))
    assert_allclose(net.log_prob({"b": told}), np.log(prior @ values), rtol=1e-10, atol=1e-12)


def test_a_virtual_finding_is_a_finding_on_one_more_child():
    net = sprinkler()
    likelihood = {False: 0.2, True: 0.6}
    witness = BayesianNetwork(
        "cloud -> sprinkler, rain; sprinkler, rain -> wet; wet -> witness",
        cpts={n: c.probability for n, c in net.conditionals.items()}
        | {"witness": [[0.8, 0.2], [0.4, 0.6]]},
    )
    for name in ("cloud", "sprinkler", "rain", "wet"):
        soft = net.query(name, given={"wet": likelihood})
        hard = witness.query(name, given={"witness": True})
        assert_allclose(soft.to_numpy(), hard.to_numpy(), **EXACT)
    assert_allclose(
        net.log_prob({"wet": likelihood}), witness.log_prob({"witness": True}), **EXACT
    )


def test_a_set_says_that_one_of_its_states_is_true():
    net = BayesianNetwork(
        "a -> b",
        cpts={"a": [0.2, 0.3, 0.5], "b": [[0.1, 0.9], [0.5, 0.5], [0.8, 0.2]]},
        states={"a": ("x", "y", "z")},
    )
    chance = (0.2 * 0.9 + 0.5 * 0.2) / 0.7
    assert_allclose(net.query("b", given={"a": {"x", "z"}})[True], chance, **EXACT)
    assert_allclose(net.log_prob({"a": frozenset(["x", "z"])}), np.log(0.7), **EXACT)
    answer = net.query("a", given={"a": {"x", "z"}, "b": True})
    assert_allclose(answer.to_numpy(), [0.18 / 0.28, 0, 0.1 / 0.28], **EXACT)


def test_one_state_left_in_a_set_is_that_finding():
    net = sprinkler()
    soft, hard = net.query("rain", {"wet": {True}}), net.query("rain", {"wet": True})
    assert_allclose(soft.to_numpy(), hard.to_numpy(), **EXACT)


def test_a_table_of_findings_gives_one_row_of_answers_per_case():
    net = sprinkler()
    table = pd.DataFrame(
        {"wet": [True, True, False], "rain": [True, None, None]}, index=[7, 8, 9]
    )
    rows = net.query("sprinkler", given=table)
    assert list(rows.index) == [7, 8, 9]
    assert list(rows.columns) == [False, True]
    assert_allclose(rows[True], [99 / 509, 309 / 719, 0.0620572400], atol=5e-11)
    joint = net.query(["sprinkler", "cloud"], given=table)
    for row, seen in zip(
        [7, 8, 9], [{"wet": True, "rain": True}, {"wet": True}, {"wet": False}], strict=True
    ):
        alone = net.query(["sprinkler", "cloud"], given=seen)
        assert_allclose(joint.loc[row].to_numpy(), alone.to_numpy(), **EXACT)


def test_a_noisy_or_of_forty_causes_is_answered_through_its_chain():
    rng = np.random.default_rng(0)
    causes = [f"c{i}" for i in range(40)]
    prior, strength, leak = rng.uniform(0.01, 0.2, 40), rng.uniform(0.1, 0.9, 40), 0.05
    net = BayesianNetwork(
        {**{c: [] for c in causes}, "effect": causes},
        cpts={c: [1 - q, q] for c, q in zip(causes, prior, strict=True)}
        | {"effect": NoisyOr(dict(zip(causes, strength, strict=True)), leak=leak)},
    )
    silent = (1 - leak) * np.prod(1 - prior * strength)
    assert_allclose(p(net, "effect"), 1 - silent, rtol=1e-12)
    given_one = 1 - silent / (1 - prior[3] * strength[3]) * (1 - strength[3])
    assert_allclose(p(net, "c3", effect=True), prior[3] * given_one / (1 - silent), rtol=1e-12)
    found = net.marginals({"effect": False})
    expected = prior * (1 - strength) / (1 - prior * strength)
    assert_allclose([found[c][True] for c in causes], expected, rtol=1e-12)
    assert list(net.variables) == [*causes, "effect"]
    assert set(found) == set(causes)
    assert net.plan().cells < 10_000


def test_a_chain_of_five_thousand_observed_nodes_has_the_sum_of_logs():
    rng = np.random.default_rng(0)
    n, move = 5000, np.array([[0.9, 0.1], [0.3, 0.7]])
    names = [f"x{i}" for i in range(n)]
    parents = {name: names[i - 1 : i] if i else [] for i, name in enumerate(names)}
    net = BayesianNetwork(
        parents, {name: move if ps else [0.5, 0.5] for name, ps in parents.items()}
    )
    states = rng.random(n) < 0.4
    expected = np.log(0.5) + np.log(move[states[:-1].astype(int), states[1:].astype(int)]).sum()
    seen = dict(zip(names, states.tolist(), strict=True))
    assert expected < -1000
    assert_allclose(net.log_prob(seen), expected, rtol=1e-12)
    found = net.marginals(seen)
    assert not found
    assert_allclose(found.log_prob, expected, rtol=1e-12)
    del seen["x2500"]
    weight = move[int(states[2499])] * move[:, int(states[2501])]
    assert_allclose(net.query("x2500", seen).to_numpy(), weight / weight.sum(), rtol=1e-12)
    assert net.most_probable(given=seen)["x2500"] == bool(weight.argmax())


def test_a_cycle_is_shown():
    with pytest.raises(CycleFound, match=r"rain -> wet -> rain|wet -> rain -> wet"):
        BayesianNetwork("rain -> wet; wet -> rain")


def test_a_table_that_does_not_sum_to_one_names_its_node_and_setting():
    with pytest.raises(ValueError, match=r"(?s)wet.*rain.*True") as caught:
        BayesianNetwork("rain -> wet", {"rain": [0.5, 0.5], "wet": [[0.5, 0.5], [0.6, 0.6]]})
    assert "1.2" in str(caught.value)


def test_rounding_in_a_table_is_renormalized_with_a_warning():
    with pytest.warns(RoundedTableWarning, match="wet") as caught:
        net = BayesianNetwork(
            "rain -> wet", {"rain": [0.5, 0.5], "wet": [[0.5, 0.5], [0.333, 0.666]]}
        )
    assert_allclose(net.query("wet", given={"rain": True})[True], 2 / 3, **EXACT)
    assert caught[0].filename == __file__


def test_a_missing_table_is_named():
    with pytest.raises(ValueError, match=r"found none for wet.*Give each its table"):
        BayesianNetwork("rain -> wet", {"rain": [0.5, 0.5]})


def test_a_table_or_states_of_a_stranger_name_the_nearest_node():
    tables = {"rain": [0.5, 0.5], "wett": [[0.5, 0.5], [0.5, 0.5]]}
    with pytest.raises(ValueError, match=r"cpts.*'wett'.*Did you mean 'wet'"):
        BayesianNetwork("rain -> wet", tables)
    with pytest.raises(ValueError, match=r"states.*'rein'.*Did you mean 'rain'"):
        BayesianNetwork("rain -> wet", states={"rein": ("a", "b")})


def test_a_table_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match="wet"):
        BayesianNetwork("rain -> wet", {"rain": [0.5, 0.5], "wet": [0.5, 0.5]})


def test_unknown_variables_and_states_name_the_nearest():
    net = BayesianNetwork(
        "smoke{yes|no} -> lung{yes|no}",
        {"smoke": [0.5, 0.5], "lung": [[0.1, 0.9], [0.01, 0.99]]},
    )
    with pytest.raises(UnknownVariable, match=r"found 'lungs'. Did you mean 'lung'"):
        net.query("lungs")
    with pytest.raises(UnknownVariable, match=r"found 'smokes'. Did you mean 'smoke'"):
        net.query("lung", given={"smokes": "yes"})
    with pytest.raises(UnknownState, match=r"found 'yess'. Did you mean 'yes'"):
        net.query("lung", given={"smoke": "yess"})
    with pytest.raises(UnknownState, match="found 'yess'"):
        net.query("lung", do={"smoke": "yess"})
    with pytest.raises(UnknownVariable, match="found 'lungs'"):
        net.most_probable("lungs")
    with pytest.raises(UnknownVariable, match="found 'lungs'"):
        net.plan(observed=["lungs"])


def test_a_finding_on_an_impossible_state_is_the_whole_conflict():
    net = BayesianNetwork("a -> b", {"a": [1.0, 0.0], "b": [[0.5, 0.5], [0.2, 0.8]]})
    for ask in (net.marginals, lambda given: net.query("b", given=given),
                lambda given: net.most_probable(given=given),
                lambda given: net.sample(3, given=given, rng=0)):  # fmt: skip
        with pytest.raises(ImpossibleFindings, match="a=True has probability zero") as caught:
            ask({"a": True})
        assert caught.value.conflict == {"a": True}
    assert net.log_prob({"a": True}) == -np.inf


def test_a_joint_query_over_sixty_variables_is_refused_before_any_work():
    names = [f"x{i}" for i in range(60)]
    net = BayesianNetwork({n: [] for n in names}, {n: [0.5, 0.5] for n in names})
    with pytest.raises(InferenceTooLarge, match="Ask for fewer variables at once") as caught:
        net.query(names)
    assert caught.value.cells == 2**60
    assert caught.value.bytes > 8 * 2**60
    assert caught.value.width == 59


def test_a_variable_cannot_be_both_set_and_given():
    net = sprinkler()
    with pytest.raises(ValueError, match=r"do must name variables.*\['rain'\].*once"):
        net.query("wet", given={"rain": True}, do={"rain": False})
    with pytest.raises(ValueError, match=r"one state each; found \['rain'\]"):
        net.query("wet", do={"rain": {True: 0.3, False: 0.7}})


def test_a_conflict_with_an_intervention_names_its_state():
    net = BayesianNetwork("a -> b", {"a": [0.5, 0.5], "b": [[0.5, 0.5], [0.0, 1.0]]})
    with pytest.raises(ImpossibleFindings) as caught:
        net.marginals({"b": False}, do={"a": True})
    assert caught.value.conflict == {"a": True, "b": False}


@pytest.mark.parametrize("targets", [[], ["rain", "rain"]])
def test_targets_are_named_each_once(targets):
    with pytest.raises(ValueError, match="targets must be at least one variable, each once"):
        sprinkler().query(targets)


def test_what_is_given_is_certain_when_asked_about():
    net = sprinkler()
    assert net.query("rain", given={"rain": True}).tolist() == [0.0, 1.0]
    table = net.query(["rain", "wet"], given={"rain": True, "wet": False})
    assert table.to_dict() == {
        (False, False): 0.0,
        (False, True): 0.0,
        (True, False): 1.0,
        (True, True): 0.0,
    }


def test_conditionals_may_be_given_as_values():
    rain, wet = Variable("rain", (False, True)), Variable("wet", (False, True))
    net = BayesianNetwork(
        "rain -> wet",
        {
            "rain": ConditionalTable(rain, (), [0.8, 0.2]),
            "wet": ConditionalTable(wet, (rain,), [[0.9, 0.1], [0.3, 0.7]]),
        },
    )
    assert_allclose(p(net, "wet"), 0.22, **EXACT)


def test_the_text_form_counts_variables_and_arrows():
    assert repr(sprinkler()) == (
        "BayesianNetwork(4 variables: cloud, sprinkler, rain, wet; 4 arrows)"
    )

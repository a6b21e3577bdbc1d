import tracemalloc
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.graphs import ConditionalTable, Factor, NoisyOr, UnknownVariable, Variable
from credo.inference import enumerate_depth_first, enumerate_joint, enumerate_query
from credo.inference.engine.error import ImpossibleFindings

METHODS = [enumerate_query, enumerate_depth_first]
both = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)


def network(*nodes):
    """Return the factors of nodes (name, parents, P(true | parents))."""
    known = {name: Variable(name, (False, True)) for name, _, _ in nodes}
    return [
        ConditionalTable(
            known[name],
            [known[p] for p in parents],
            np.stack([1 - np.asarray(true), np.asarray(true)], axis=-1),
        ).table()
        for name, parents, true in nodes
    ]


ROOF = network(
    ("C", "", 0.05),
    ("G", "", 0.2),
    ("A", "CG", [[0.08, 0.2], [0.96, 0.98]]),
    ("L", "A", [0.08, 0.99]),
    ("M", "A", [0.001, 0.6]),
)
SPRINKLER = network(
    ("C", "", 0.5),
    ("S", "C", [0.5, 0.1]),
    ("R", "C", [0.2, 0.8]),
    ("W", "SR", [[0.0, 0.9], [0.9, 0.99]]),
)
BURGLAR = network(
    ("E", "", 0.002),
    ("B", "", 0.001),
    ("R", "E", [0.0001, 0.9]),
    ("A", "EB", [[0.001, 0.94], [0.29, 0.95]]),
    ("C", "A", [0.05, 0.9]),
)


def findings(text):
    """Return {"a": True, "b": False} for "a b'"."""
    return {word[0]: not word.endswith("'") for word in text.split()}


def prob(method, factors, query):
    target, _, given = query.partition("|")
    wanted = findings(target)
    answer = method(factors, list(wanted), findings(given))
    return float(answer.table()[tuple(int(state) for state in wanted.values())])


@both
@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("C | L M", 894717 / 2730820),
        ("C' | L M", 0.672363246204),
        ("A", 0.147),
        ("L", 0.21377),
        ("M", 0.089053),
        ("C | L", 0.223894840),
        ("C | M", 0.324770642),
        ("C | L M'", 0.152163981),
        ("C | L' M", 0.174503828),
        ("C | L' M'", 0.002354360),
        ("C | A", 241 / 735),
        ("C | A G", 49 / 239),
        ("G | A", 239 / 735),
        ("G | A C", 49 / 241),
        ("A | L M", 0.999219099),
        ("G | L M", 0.325055478),
        ("C | L M G", 0.204933601),
        ("C | L M G'", 0.386730991),
    ],
)
def test_roof_climbers(method, query, value):
    assert_allclose(prob(method, ROOF, query), value, rtol=0, atol=6e-10)


@both
@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("S", 0.3),
        ("R", 0.5),
        ("W", 0.6471),
        ("S | W", 309 / 719),
        ("R | W", 509 / 719),
        ("C | W", 414 / 719),
        ("S | R", 0.18),
        ("R | S", 0.3),
        ("C | S", 1 / 6),
        ("C | R", 0.8),
        ("C | S R", 4 / 9),
        ("C | W'", 0.3610087844),
        ("S | W'", 0.0620572400),
        ("R | W'", 0.1187305186),
        ("W | C", 0.7452),
        ("W | C'", 0.549),
        ("W | S", 0.927),
        ("W | R", 0.9162),
        ("S | W R", 99 / 509),
        ("S | W R'", 1.0),
        ("R | W S", 33 / 103),
        ("R | W S'", 1.0),
        ("S R | W", 99 / 719),
        ("S R", 0.09),
        ("R | W C", 202 / 207),
        ("S | W C", 3 / 23),
        ("C | W S", 18 / 103),
    ],
)
def test_sprinkler(method, query, value):
    assert_allclose(prob(method, SPRINKLER, query), value, rtol=1e-8)


@both
@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("A", 0.002516442),
        ("C", 0.0521389757),
        ("R", 0.0018998),
        ("B | C", 0.01628372995),
        ("B | C R", 0.003015999102),
        ("B | R", 0.001),
        ("B | A", 0.3735512283),
        ("B | A E", 0.003268423588),
        ("B | A R", 0.003446457236),
        ("E | A", 0.2310087020),
        ("E | C", 0.01139496877),
        ("E | C R", 0.9904522572),
    ],
)
def test_burglar(method, query, value):
    assert_allclose(prob(method, BURGLAR, query), value, rtol=1e-8)


@both
@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("H | C S", 240 / 259),
        ("H | C S'", 15 / 34),
        ("H | C' S", 160 / 2041),
        ("H | C' S'", 10 / 1891),
        ("H | C", 60 / 79),
        ("H | S", 4 / 23),
        ("C S", 0.0259),
    ],
)
def test_heart_disease_as_naive_bayes_network(method, query, value):
    heart = network(("H", "", 0.05), ("C", "H", [0.01, 0.6]), ("S", "H", [0.2, 0.8]))
    assert_allclose(prob(method, heart, query), value)


def test_naive_bayes_network_has_the_printed_joint_table():
    heart = network(("H", "", 0.05), ("C", "H", [0.01, 0.6]), ("S", "H", [0.2, 0.8]))
    joint = enumerate_joint(heart).table()[::-1, ::-1, ::-1]
    printed = [[[0.024, 0.006], [0.016, 0.004]], [[0.0019, 0.0076], [0.1881, 0.7524]]]
    assert_allclose(joint, printed)


def test_coin_and_die_joint_is_the_product():
    coin, die = Variable("coin", ("H", "T")), Variable("die", (1, 2, 3, 4, 5, 6))
    factors = [Factor([coin], [0.3, 0.7]), Factor([die], np.arange(1, 7) / 21)]
    joint = enumerate_joint(factors).table()
    assert_allclose(joint[0], [i / 70 for i in range(1, 7)])
    assert_allclose(joint[1], [0.7 * i / 21 for i in range(1, 7)])


def test_tiddlywinks_tables_need_eleven_numbers_instead_of_twenty_four():
    rng = np.random.default_rng(0)
    color = Variable("color", ("red", "green", "blue"))
    toss = [Variable(name, (False, True)) for name in "abc"]
    factors = [
        Factor([color], rng.dirichlet(np.ones(3))),
        Factor(toss, rng.dirichlet(np.ones(8)).reshape(2, 2, 2)),
    ]
    assert sum(factor.values.size for factor in factors) == 11
    assert enumerate_joint(factors).values.size == 24
    assert_allclose(enumerate_joint(factors).table().sum(), 1.0)


def test_sprinkler_joint_has_the_sixteen_entries():
    joint = enumerate_joint(SPRINKLER).table().ravel()
    wanted = [0.2, 0, 0.005, 0.045, 0.02, 0.18, 0.0005, 0.0495]
    wanted += [0.09, 0, 0.036, 0.324, 0.001, 0.009, 0.0004, 0.0396]
    assert_allclose(joint, wanted, atol=1e-16)


def test_joint_of_the_given_is_its_probability():
    given = {"C": False, "G": False, "A": True, "L": True, "M": True}
    assert_allclose(enumerate_joint(ROOF, given).table(), 0.0361152)
    assert_allclose(enumerate_joint(ROOF, {"L": True, "M": True}).table().sum(), 0.08738624)


@pytest.mark.parametrize("seed", range(8))
def test_both_enumerations_equal_loops_over_all_combinations(seed):
    rng = np.random.default_rng(seed)
    variables = [Variable(f"v{i}", tuple(range(rng.integers(2, 4)))) for i in range(5)]
    factors = []
    for size in (1, 2, 3, 2, 3, 1):
        scope = [variables[i] for i in rng.permutation(5)[:size]]
        factors.append(Factor(scope, rng.gamma(1.0, size=[v.n_states for v in scope])))
    factors.append(
        Factor(
            [variables[4], variables[0]],
            np.ones([variables[4].n_states, variables[0].n_states]),
        )
    )
    present = list({name: None for factor in factors for name in factor.names})
    targets, given = [present[2], present[0]], {present[1]: 1}
    by_name = {v.name: v for v in variables}
    wanted = np.zeros([by_name[name].n_states for name in targets])
    for states in product(*(by_name[name].labels for name in present)):
        cell = dict(zip(present, states, strict=True))
        if cell[present[1]] == 1:
            term = np.prod([f.table()[tuple(cell[n] for n in f.names)] for f in factors])
            wanted[cell[targets[0]], cell[targets[1]]] += term
    for method in METHODS:
        answer = method(factors, targets, given)
        assert answer.names == tuple(targets)
        assert_allclose(answer.table(), wanted / wanted.sum())


def test_auxiliary_variables_of_compact_nodes_sum_out():
    parents = [Variable(f"p{i}", (False, True)) for i in range(5)]
    child = Variable("c", (False, True))
    node = NoisyOr({p.name: 0.1 + 0.15 * i for i, p in enumerate(parents)}, 0.02).bind(
        child, parents
    )
    roots = [Factor([p], [0.7, 0.3]) for p in parents]
    for method in METHODS:
        compact = method([*roots, *node.factors()], "p3", {"c": True})
        whole = method([*roots, node.table()], "p3", {"c": True})
        assert_allclose(compact.table(), whole.table())


@both
def test_impossible_states_name_a_smallest_conflict(method):
    given = {"C": True, "W": True, "S": False, "R": False}
    with pytest.raises(ImpossibleFindings, match="R=False has probability zero") as raised:
        method(SPRINKLER, [], given)
    assert raised.value.conflict == {"W": True, "S": False, "R": False}


@both
def test_factors_that_vanish_everywhere_are_refused(method):
    x = Variable("x", (0, 1))
    with pytest.raises(ValueError, match="positive somewhere; found zero everywhere"):
        method([Factor([x], [1.0, 0.0]), Factor([x], [0.0, 1.0])], "x")


@both
def test_bad_questions_say_what_to_do(method):
    network_with_long_names = [Factor([Variable("cloud", (0, 1))], [0.5, 0.5])]
    with pytest.raises(UnknownVariable, match="Did you mean 'cloud'"):
        method(network_with_long_names, "clod")
    with pytest.raises(UnknownVariable, match="found 'Z'"):
        method(SPRINKLER, "C", {"Z": True})
    with pytest.raises(ValueError, match="targets must be distinct and not given"):
        method(SPRINKLER, "C", {"C": True})
    with pytest.raises(ValueError, match="factors must not be empty"):
        method([], "C")


@both
def test_factors_that_disagree_about_states_are_refused(method):
    one, other = Variable("x", (0, 1)), Variable("x", (1, 0))
    factors = [Factor([one], [0.5, 0.5]), Factor([other], [0.1, 0.9])]
    with pytest.raises(
        ValueError, match=r"agree on the states of x; found \[0, 1\] and \[1, 0\]"
    ):
        method(factors, "x")


def peak_memory(call, *arguments):
    # What a first call loads and keeps is not what it needs.
    call(*arguments)
    tracemalloc.start()
    call(*arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_depth_first_keeps_one_state_per_variable_not_the_joint_table():
    chain = [Variable(f"x{i}", (0, 1)) for i in range(14)]
    factors = [Factor([chain[0]], [0.5, 0.5])]
    factors += [Factor(chain[i : i + 2], [[0.9, 0.1], [0.2, 0.8]]) for i in range(13)]
    joint_bytes = 8 * 2**14
    assert peak_memory(enumerate_query, factors, "x13") > joint_bytes
    assert peak_memory(enumerate_depth_first, factors, "x13") < joint_bytes / 2

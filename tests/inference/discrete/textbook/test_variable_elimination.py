import tracemalloc
from itertools import permutations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.graphs import (
    ConditionalTable,
    Deterministic,
    Factor,
    NoisyOr,
    UnknownVariable,
    Variable,
)
from credo.inference import (
    eliminate,
    enumerate_depth_first,
    enumerate_joint,
    enumerate_query,
    explain_elimination,
)
from credo.inference.engine.error import ImpossibleFindings
from naive import roof_factors

ROOF = roof_factors()
ALARM = {"L1": True, "L2": True}


def random_network(seed, n=6):
    """Return factors of a random Bayesian network, some of its entries zero."""
    rng = np.random.default_rng(seed)
    variables = [Variable(f"v{i}", tuple(range(rng.integers(2, 4)))) for i in range(n)]
    factors = []
    for i, child in enumerate(variables):
        parents = [variables[j] for j in rng.permutation(i)[: rng.integers(0, 4)]]
        shape = [v.n_states for v in (*parents, child)]
        table = rng.gamma(0.7, size=shape) * (rng.uniform(size=shape) > 0.15) + 1e-3
        factors.append(Factor([*parents, child], table / table.sum(axis=-1, keepdims=True)))
    return factors, rng


def test_the_steps_are_the_printed_tables():
    found = eliminate(ROOF, "C", ALARM, order=["A", "G"])
    by_alarm, by_goose = found.steps
    assert by_alarm.product.names == ("C", "G", "A")
    parts = [
        [0.58212, 0.0000016],
        [0.57024, 0.0000032],
        [0.1188, 0.000064],
        [0.04752, 0.0000736],
    ]
    assert_allclose(by_alarm.product.table().reshape(4, 2), parts)
    assert_allclose(by_alarm.result.table(), [[0.5821216, 0.5702432], [0.118864, 0.0475936]])
    assert_allclose(by_goose.result.table(), [0.57261888, 0.06184768])
    assert_allclose(found.joint.table(), [0.028630944, 0.058755296])
    assert_allclose(np.exp(found.log_evidence), 0.08738624)
    assert_allclose(found.posterior.table(), [894717 / 2730820, 1 - 894717 / 2730820])


def test_elimination_multiplies_22_times_where_enumeration_does_32_times():
    found = eliminate(ROOF, "C", ALARM, order=["A", "G"])
    assert [step.n_multiplications for step in found.steps] == [16, 4]
    assert found.n_multiplications == 22
    assert found.n_enumeration_multiplications == 32
    assert [step.n_additions for step in found.steps] == [4, 2]


def test_printed_product_of_two_factors_and_its_sum():
    a, b, c = (Variable(name, (True, False)) for name in "ABC")
    left = Factor([a, b], [[0.3, 0.9], [0.4, 0.1]])
    right = Factor([b, c], [[0.1, 0.8], [0.8, 0.3]])
    (step,) = eliminate([left, right], ["A", "C"]).steps
    assert_allclose(
        step.product.table().ravel(), [0.03, 0.24, 0.72, 0.27, 0.04, 0.32, 0.08, 0.03]
    )
    assert_allclose(step.result.table(), [[0.75, 0.51], [0.12, 0.35]])
    assert_allclose(
        (left * right).table(), np.einsum("ab,bc->abc", left.table(), right.table())
    )


@pytest.mark.parametrize("seed", range(5))
def test_every_order_gives_the_answer_of_both_enumerations(seed):
    factors, rng = random_network(seed)
    names = [f"v{i}" for i in rng.permutation(6)]
    target, given, hidden = names[0], {names[1]: 0}, names[2:]
    wanted = enumerate_query(factors, target, given).table()
    assert_allclose(enumerate_depth_first(factors, target, given).table(), wanted)
    evidence = np.log(enumerate_joint(factors, given).table().sum())
    for order in permutations(hidden):
        found = eliminate(factors, target, given, order)
        assert_allclose(found.posterior.table(), wanted, rtol=1e-12)
        assert_allclose(found.log_evidence, evidence, rtol=1e-12, atol=1e-13)
        assert [step.variable.name for step in found.steps] == list(order)


@pytest.mark.parametrize("seed", range(5, 12))
def test_greedy_order_gives_the_answer_of_enumeration_for_joint_targets(seed):
    factors, rng = random_network(seed, n=8)
    names = [f"v{i}" for i in rng.permutation(8)]
    given = {names[3]: 1, names[4]: 0}
    found = eliminate(factors, names[:3], given)
    wanted = enumerate_query(factors, names[:3], given)
    assert found.posterior.names == tuple(names[:3])
    assert_allclose(found.posterior.table(), wanted.table(), rtol=1e-12)


def test_greedy_order_eliminates_a_chain_at_linear_cost():
    n = 60
    chain = [Variable(f"x{i}", (0, 1)) for i in range(n)]
    factors = [Factor([chain[0]], [0.5, 0.5])]
    factors += [
        Factor([chain[i], chain[i + 1]], [[0.9, 0.1], [0.2, 0.8]]) for i in range(n - 1)
    ]
    found = eliminate(factors, f"x{n - 1}")
    assert_allclose(found.posterior.table(), [2 / 3, 1 / 3])
    assert max(step.product.values.size for step in found.steps) == 4
    assert found.n_multiplications == 4 * (n - 1)


def test_greedy_order_starts_with_unobserved_leaves():
    found = eliminate(ROOF, "C", {"L1": True})
    assert found.steps[0].variable.name == "L2"
    assert found.steps[0].n_multiplications == 0


def test_unobserved_leaves_are_told_to_be_barren():
    found = eliminate(ROOF, "C", {"L1": True}, order=["L2", "A", "G"])
    assert [step.is_barren for step in found.steps] == [True, False, False]
    assert found.steps[0].result.names == ("A",)


def test_an_order_must_have_every_hidden_variable_once():
    with pytest.raises(ValueError, match=r"once, \['G', 'A'\]; found \['A'\]"):
        eliminate(ROOF, "C", ALARM, order=["A"])


def test_impossible_states_name_a_smallest_conflict():
    x, y, z = (Variable(name, (0, 1)) for name in "xyz")
    factors = [
        Factor([z], [0.5, 0.5]),
        Factor([x], [1.0, 0.0]),
        Factor([x, y], [[1.0, 0.0], [0.5, 0.5]]),
    ]
    with pytest.raises(
        ImpossibleFindings, match="found that y=1 has probability zero"
    ) as raised:
        eliminate(factors, "x", {"z": 0, "y": 1})
    assert raised.value.conflict == {"y": 1}


def test_forty_causes_are_eliminated_in_small_steps():
    causes = [Variable(f"cause{i}", (False, True)) for i in range(40)]
    effect = Variable("effect", (False, True))
    chance = {cause.name: 0.01 * (i + 1) for i, cause in enumerate(causes)}
    node = NoisyOr(chance, leak=0.05).bind(effect, causes)
    roots = [Factor([cause], [0.9, 0.1]) for cause in causes]
    found = eliminate([*roots, *node.factors()], "effect")
    absent = 0.95 * np.prod([1 - 0.1 * p for p in chance.values()])
    assert_allclose(found.posterior.table(), [absent, 1 - absent])
    assert max(step.product.values.size for step in found.steps) == 8
    seen = eliminate([*roots, *node.factors()], "cause39", {"effect": False}).posterior
    assert_allclose(seen.table()[1], 0.1 * 0.6 / (1 - 0.1 * 0.4))


def test_the_sum_of_dice_has_the_distribution_of_a_convolution():
    dice = [Variable(f"die{i}", (1, 2, 3, 4, 5, 6)) for i in range(8)]
    node = Deterministic("sum").bind(Variable("total", tuple(range(8, 49))), dice)
    shares = np.arange(1, 7) / 21
    found = eliminate([*(Factor([die], shares) for die in dice), *node.factors()], "total")
    wanted = np.ones(1)
    for _ in dice:
        wanted = np.convolve(wanted, shares)
    assert_allclose(found.posterior.table(), wanted, rtol=1e-12)


EXPLANATION = """\
P(C | L1=True, L2=True) is proportional to
  F1(C) [sum_G F2(G) [sum_A F3(C, G, A) F4(A) F5(A)]]

Step 1. Sum out A: F3(C, G, A) F4(A) F5(A) -> F6(C, G)
  C      G      A=True   A=False   sum
  True   True   0.58212  1.6e-06   0.5821216
  True   False  0.57024  3.2e-06   0.5702432
  False  True   0.1188   6.4e-05   0.118864
  False  False  0.04752  7.36e-05  0.0475936
  16 multiplications, 4 additions

Step 2. Sum out G: F2(G) F6(C, G) -> F7(C)
  C      G=True      G=False     sum
  True   0.11642432  0.45619456  0.57261888
  False  0.0237728   0.03807488  0.06184768
  4 multiplications, 2 additions

Answer: F1(C) F7(C)
  C      product      P(C | L1=True, L2=True)
  True   0.028630944  0.327636754
  False  0.058755296  0.672363246
  sum    0.08738624

22 multiplications by elimination, 32 by full enumeration."""


def test_roof_climbers_are_written_out_as_on_paper():
    found = explain_elimination(ROOF, "C", {"L1": True, "L2": True}, order=["A", "G"])
    assert found == EXPLANATION


def test_a_variable_without_a_say_is_pointed_out():
    text = explain_elimination(ROOF, "C", {"L1": True}, order=["L2", "A", "G"])
    assert "all ones, so L2 has no say" in text


def test_joint_targets_have_a_column_each_in_the_order_asked():
    text = explain_elimination(ROOF, ["G", "C"], {"A": True}, order=["L1", "L2"])
    answer = text[text.index("Answer:") :].splitlines()
    assert answer[1].split()[:3] == ["G", "C", "product"]
    joint = [float(line.split()[2]) for line in answer[2:6]]
    assert np.allclose(joint, [0.0098, 0.038, 0.0384, 0.0608])


def test_long_tables_are_cut():
    a, b, c = (Variable(name, tuple(range(8))) for name in "abc")
    factors = [Factor([a, b], np.ones((8, 8))), Factor([b, c], np.ones((8, 8)))]
    text = explain_elimination(factors, ["a", "c"])
    assert "... and 32 more rows" in text


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


CLIMBERS = network(
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
    assert_allclose(prob(method, CLIMBERS, query), value, rtol=0, atol=6e-10)


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
    assert_allclose(enumerate_joint(CLIMBERS, given).table(), 0.0361152)
    assert_allclose(enumerate_joint(CLIMBERS, {"L": True, "M": True}).table().sum(), 0.08738624)


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
def test_impossible_states_name_a_smallest_conflict_by_enumeration(method):
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

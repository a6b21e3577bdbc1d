from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.graphs import Deterministic, Factor, NoisyOr, Variable
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

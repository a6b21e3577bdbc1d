import itertools
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.distributions import JointTable

YES_NO = ("yes", "no")
HEART = JointTable(
    [[[0.024, 0.006], [0.016, 0.004]], [[0.0019, 0.0076], [0.1881, 0.7524]]],
    {"HD": YES_NO, "CP": YES_NO, "SB": YES_NO},
)
COIN = JointTable([0.3, 0.7], {"coin": ["H", "T"]})
COIN_AND_DIE = JointTable.from_conditional(
    COIN, "die", range(1, 7), np.tile(np.arange(1, 7) / 21, (2, 1))
)
BOXES = JointTable.from_conditional(
    JointTable([0.4, 0.6], {"box": ["red", "blue"]}),
    "ball",
    ["green", "yellow"],
    [[1 / 4, 3 / 4], [3 / 4, 1 / 4]],
)


def yes(*names):
    return dict.fromkeys(names, "yes")


def test_coin_and_die_joint_is_the_product_with_every_printed_digit():
    heads = [0.0142857143, 0.0285714286, 0.0428571429, 0.0571428571, 0.0714285714, 0.0857142857]
    tails = [0.0333333333, 0.0666666667, 0.1, 0.1333333333, 0.1666666667, 0.2]
    assert_allclose(COIN_AND_DIE.probability, [heads, tails], atol=5e-11)
    # Rounded, the second and third cells are 0.029 and 0.043.
    assert_array_equal(COIN_AND_DIE.probability[0, 1:3].round(3), [0.029, 0.043])
    assert COIN_AND_DIE.is_independent("coin", "die")


@pytest.mark.parametrize(
    ("event", "given", "value"),
    [
        (yes("HD"), {}, Fraction(1, 20)),
        (yes("CP"), {}, Fraction(79, 2000)),
        (yes("SB"), {}, Fraction(23, 100)),
        (yes("CP"), yes("HD"), Fraction(6, 10)),
        (yes("SB"), yes("HD"), Fraction(8, 10)),
        (yes("CP", "SB"), yes("HD"), Fraction(48, 100)),
        (yes("CP"), {"HD": "no"}, Fraction(1, 100)),
        (yes("SB"), {"HD": "no"}, Fraction(2, 10)),
        (yes("CP", "SB"), {"HD": "no"}, Fraction(2, 1000)),
        (yes("CP", "SB"), {}, Fraction(259, 10000)),
        (yes("HD"), yes("CP"), Fraction(60, 79)),
        (yes("HD"), yes("SB"), Fraction(4, 23)),
        (yes("HD"), yes("CP", "SB"), Fraction(240, 259)),
        (yes("HD"), {"CP": "yes", "SB": "no"}, Fraction(15, 34)),
        (yes("HD"), {"CP": "no", "SB": "yes"}, Fraction(160, 2041)),
        (yes("HD"), {"CP": "no", "SB": "no"}, Fraction(10, 1891)),
    ],
)
def test_heart_disease_queries_are_exact(event, given, value):
    assert_allclose(HEART.prob(event, given), float(value), rtol=1e-12)


def test_symptoms_depend_on_each_other_but_not_given_the_disease():
    assert not HEART.is_independent("CP", "SB")
    assert HEART.is_independent("CP", "SB", given="HD")
    assert HEART.is_independent("CP", ["SB"], given=["HD"])


def test_dependence_between_rare_events_is_dependence():
    disease = JointTable([1e-9, 1.0 - 1e-9], {"d": YES_NO})
    table = JointTable.from_conditional(disease, "t", YES_NO, [[0.999, 0.001], [0.001, 0.999]])
    assert not table.is_independent("d", "t")
    same = JointTable.from_conditional(disease, "t", YES_NO, [[0.3, 0.7], [0.3, 0.7]])
    assert same.is_independent("d", "t")


def test_dependence_given_a_rare_condition_is_that_after_conditioning():
    rare = JointTable([1e-5, 1.0 - 1e-5], {"c": [1, 0]})
    both = JointTable.from_conditional(rare, "a", [0, 1], [[0.5, 0.5], [0.5, 0.5]])
    equal, free = np.eye(2), np.full((2, 2), 0.5)
    table = JointTable.from_conditional(both, "b", [0, 1], [equal, free])
    assert not table.is_independent("a", "b", given="c")
    assert not table.condition({"c": 1}).is_independent("a", "b")
    assert table.condition({"c": 0}).is_independent("a", "b")


def test_impossible_and_rounded_cells_do_not_hide_independence():
    prior = JointTable([0.3, 0.0, 0.7], {"a": "xyz"})
    nearly_zero = 1.0 - 0.3 - 0.7
    rows = [[0.3, 0.7, 0.0], [1.0, 0.0, 0.0], [0.3, 0.7, abs(nearly_zero)]]
    assert JointTable.from_conditional(prior, "b", "uvw", rows).is_independent("a", "b")
    assert not JointTable([[0.5, 0.0], [0.25, 0.25]], {"a": "xy", "b": "uv"}).is_independent(
        "a", "b"
    )


def test_queries_equal_brute_force_sums_over_a_random_table():
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(24)).reshape(2, 3, 4)
    joint = JointTable(table, {"a": range(2), "b": range(3), "c": range(4)})
    answer = joint.query(["c", "a"], given={"b": 2})
    for c, a in itertools.product(range(4), range(2)):
        expected = table[a, 2, c] / table[:, 2].sum()
        assert_allclose(answer.probability[c, a], expected)
        assert_allclose(joint.prob({"a": a, "c": c}, {"b": 2}), expected)
    # Chain rule: P(a, b, c) = P(c | a, b) P(b | a) P(a).
    chain = joint.prob({"c": 3}, {"a": 1, "b": 0}) * joint.prob({"b": 0}, {"a": 1})
    assert_allclose(chain * joint.prob({"a": 1}), joint.prob({"a": 1, "b": 0, "c": 3}))


def test_box_and_ball_is_bayes_rule():
    assert_allclose(BOXES.prob({"ball": "green"}), 11 / 20)
    assert_allclose(BOXES.prob({"box": "blue"}, {"ball": "yellow"}), 1 / 3)
    assert_allclose(BOXES.prob({"box": "red"}, {"ball": "yellow"}), 2 / 3)
    assert_allclose(BOXES.prob({"box": "blue"}, {"ball": "green"}), 9 / 11)
    assert_allclose(BOXES.prob({"box": "red"}, {"ball": "green"}), 2 / 11)
    prior = BOXES.marginal("box")
    seen = prior.update("box", {"red": 3 / 4, "blue": 1 / 4})
    assert_allclose(seen.prob({"box": "blue"}), 1 / 3)


def test_updating_one_piece_at_a_time_equals_updating_at_once():
    belief = JointTable([0.2, 0.5, 0.3], {"x": "abc"})
    first, second = {"a": 0.9, "b": 0.2, "c": 0.4}, {"a": 0.1, "b": 0.7, "c": 0.5}
    step_by_step = belief.update("x", first).update("x", second)
    at_once = belief.update("x", {s: first[s] * second[s] for s in "abc"})
    assert_allclose(at_once.probability, np.array([0.018, 0.07, 0.06]) / 0.148)
    assert_allclose(step_by_step.probability, at_once.probability)
    assert_allclose(
        belief.update("x", second).update("x", first).probability, at_once.probability
    )


def test_tiny_likelihoods_do_not_underflow():
    belief = JointTable([0.5, 0.5], {"x": "ab"}).update("x", {"a": 1e-310, "b": 3e-310})
    assert_allclose(belief.probability, [0.25, 0.75], rtol=1e-6)


@pytest.mark.parametrize(("lie", "belief"), [(0.7, 0.3), (0.5, 0.375), (0.3, 0.5)])
def test_report_of_an_unreliable_friend_moves_belief_in_a_fair_coin(lie, belief):
    coin = JointTable([0.5, 0.5], {"coin": ["h", "t"]})
    joint = JointTable.from_conditional(
        coin, "report", ["h", "t"], [[0.3, 0.7], [lie, 1 - lie]]
    )
    assert_allclose(joint.prob({"coin": "h"}, {"report": "h"}), belief)
    assert_allclose(joint.prob({"coin": "t", "report": "h"}), 0.5 * lie)


def test_truthful_friend_settles_the_matter():
    coin = JointTable([1 / 3, 2 / 3], {"coin": ["h", "t"]})
    joint = JointTable.from_conditional(coin, "report", ["h", "t"], np.eye(2))
    assert joint.prob({"coin": "h"}, {"report": "h"}) == 1.0


def test_implication_is_not_conditional_probability():
    fish = JointTable([0.001, 0.999], {"fish": [True, False]})
    table = JointTable.from_conditional(
        fish, "swims", [True, False], [[0.99, 0.01], [0.2, 0.8]]
    )
    assert_allclose(table.implication({"fish": True}, {"swims": False}), 0.99901)
    assert_allclose(table.prob({"swims": False}, {"fish": True}), 0.01)
    assert table.implication({"fish": True}, {"fish": True}) == 1.0


def test_probability_is_the_expectation_of_an_indicator():
    indicator = HEART.expectation(lambda HD, CP, SB: float(CP == "yes" and SB == "no"))
    assert_allclose(indicator, HEART.prob({"CP": "yes", "SB": "no"}))


def test_mean_of_conditional_means_is_the_mean():
    payoff = {"H": 2.0, "T": -1.0}

    def value(coin, die):
        return payoff[coin] * die**2

    tower = sum(
        COIN_AND_DIE.prob({"die": k}) * COIN_AND_DIE.expectation(value, given={"die": k})
        for k in range(1, 7)
    )
    assert_allclose(tower, COIN_AND_DIE.expectation(value))


def test_variance_and_covariance_are_mean_products_of_deviations():
    def die(coin, die):
        return float(die)

    def heads(coin, die):
        return float(coin == "H")

    assert_allclose(COIN_AND_DIE.expectation(die), 13 / 3)
    assert_allclose(COIN_AND_DIE.variance(die), 21 - (13 / 3) ** 2)
    assert_allclose(COIN_AND_DIE.covariance(die, heads), 0.0, atol=1e-14)
    assert_allclose(COIN_AND_DIE.variance(heads), 0.3 * 0.7)


def test_tables_come_from_mappings_and_records_alike():
    rows = [{"a": 0, "b": "x"}, {"a": 1, "b": "y"}, {"a": 0, "b": "x"}, {"a": 0, "b": "y"}]
    counted = JointTable.from_records(rows)
    named = JointTable.from_mapping(["a", "b"], {(0, "x"): 0.5, (1, "y"): 0.25, (0, "y"): 0.25})
    assert_allclose(counted.probability, named.probability)
    assert counted.states == {"a": (0, 1), "b": ("x", "y")}
    assert_allclose(counted.entropy(), 1.5 * np.log(2.0))


def test_draws_follow_the_table():
    draws = BOXES.sample(np.random.default_rng(0), 20_000)
    share = np.mean([d == {"box": "blue", "ball": "green"} for d in draws])
    assert abs(share - 0.45) < 5 * np.sqrt(0.45 * 0.55 / 20_000)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: JointTable([0.5, 0.6], {"a": "xy"}), "sums to 1"),
        (lambda: JointTable([-0.5, 1.5], {"a": "xy"}), "non-negative; found -0.5"),
        (
            lambda: JointTable([0.5, 0.5], {"a": "xyz"}),
            r"\(3,\) for \['a'\]; found shape \(2,\)",
        ),
        (lambda: HEART.prob({"XX": "yes"}), "one of .*'HD'.*; found 'XX'"),
        (lambda: HEART.prob({"HD": "maybe"}), "state of HD must be one of .* found 'maybe'"),
        (
            lambda: JointTable([1.0, 0.0], {"a": "xy"}).condition({"a": "y"}),
            "must be possible; found",
        ),
        (lambda: COIN.update("coin", {"H": 0.0, "T": 0.0}), "contradicts the belief"),
        (
            lambda: JointTable.from_conditional(COIN, "b", [0, 1], [0.5, 0.5]),
            r"conditional must have shape \(2, 2\)",
        ),
        (lambda: JointTable.from_records([]), "at least one row"),
    ],
)
def test_impossible_tables_and_questions_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import special

from credo.decisions import (
    LossMatrix,
    action_regions,
    bayes_risk,
    binary_threshold,
    decide,
    reject_threshold,
)
from credo.distributions import Normal

TREAT = LossMatrix([[0, 10], [1, 0]], ["well", "ill"], ["send home", "treat"])


def test_no_rule_at_all_has_less_risk_than_the_bayes_rule():
    rng = np.random.default_rng(0)
    joint = rng.dirichlet(np.ones(12)).reshape(4, 3)
    costs = LossMatrix(rng.uniform(size=(3, 3)), list("abc"))
    p_x = joint.sum(axis=1)
    risks = [
        sum(joint[x] @ costs.loss[a] for x, a in enumerate(rule))
        for rule in product(range(3), repeat=4)
    ]
    assert len(risks) == 81
    assert_allclose(bayes_risk(joint / p_x[:, None], costs, p_x), min(risks))


def test_the_error_between_two_normals_is_the_tail_at_half_their_distance():
    distance = 1.7
    classes = Normal([0.0, distance], 1.0)
    x = np.linspace(-8, 10, 20001)
    density = 0.5 * classes.prob(x[:, None])
    total = density.sum(axis=1)
    found = bayes_risk(density / total[:, None], LossMatrix.zero_one(["a", "b"]), total)
    assert_allclose(found, special.ndtr(-distance / 2), rtol=1e-6)


def test_rows_count_alike_unless_weighed():
    p = [[0.9, 0.1], [0.5, 0.5]]
    assert_allclose(bayes_risk(p, LossMatrix.zero_one([0, 1])), 0.3)
    assert_allclose(bayes_risk(p, LossMatrix.zero_one([0, 1]), [3.0, 1.0]), 0.2)


@pytest.mark.parametrize("weight", [[1.0], [0.0, 0.0]])
def test_weights_that_are_no_distribution_of_rows_are_refused(weight):
    with pytest.raises(ValueError, match="weight must give p"):
        bayes_risk([[0.9, 0.1], [0.5, 0.5]], TREAT, weight)


def test_the_reject_rule_of_decide_is_chows_threshold():
    p = np.random.default_rng(1).dirichlet(np.ones(3), size=500)
    for cost in [0.0, 0.1, 0.4, 0.7]:
        decision = decide(p, LossMatrix.zero_one(list("abc")), reject=cost)
        is_rejected = decision.action == "reject"
        assert (is_rejected == (p.max(axis=1) < reject_threshold(cost))).all()
    assert is_rejected.sum() == 0


def test_the_reject_threshold_counts_in_units_of_an_error():
    assert_allclose(reject_threshold(2.0, error=8.0), 0.75)
    assert reject_threshold(2.0) == 0.0
    for cost, error in [(-0.1, 1.0), (0.1, 0.0), (np.nan, 1.0)]:
        with pytest.raises(ValueError, match="cost must not be negative"):
            reject_threshold(cost, error)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=2), st.floats(-5, 5))
def test_both_actions_cost_the_same_at_the_threshold(costs, base):
    false_alarm, miss = costs
    loss = LossMatrix([[base, miss], [base + false_alarm, 0]], [0, 1])
    threshold = binary_threshold(loss)
    left, right = loss.conditional_risk([1 - threshold, threshold])
    assert_allclose(left, right, rtol=1e-9, atol=1e-9)
    above = min(threshold + 1e-3, 1.0)
    if above > threshold:
        left, right = loss.conditional_risk([1 - above, above])
        assert right < left


def test_a_tenfold_miss_moves_the_threshold_to_one_in_eleven():
    assert_allclose(binary_threshold(TREAT), 1 / 11)


def test_a_threshold_needs_two_classes_and_two_sensible_actions():
    with pytest.raises(ValueError, match="needs 2 actions; found 3"):
        binary_threshold(TREAT.with_reject(0.5))
    with pytest.raises(ValueError, match="need 2 classes; found 3"):
        binary_threshold(LossMatrix.zero_one(list("abc")))
    with pytest.raises(ValueError, match="better one in its own class"):
        binary_threshold(LossMatrix([[1, 0], [0, 1]], [0, 1]))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_regions_agree_with_decide_everywhere(seed, n_actions):
    loss = np.random.default_rng(seed).uniform(size=(n_actions, 2))
    costs = LossMatrix(loss, ["no", "yes"], [f"a{i}" for i in range(n_actions)])
    regions = action_regions(costs)
    assert (np.diff(regions.thresholds) > 0).all()
    p = np.linspace(0, 1, 301)
    p = p[np.abs(p[:, None] - regions.thresholds).min(axis=1, initial=1.0) > 1e-9]
    expected = regions.actions[np.searchsorted(regions.thresholds, p)]
    assert (decide(np.column_stack([1 - p, p]), costs).action == expected).all()


def test_the_doctor_defers_below_the_cost_of_eight_tenths():
    sick = LossMatrix([[0, 1], [10, 0]], ["sick", "healthy"], ["say sick", "say healthy"])
    p = [[0.2, 0.8]]
    assert decide(p, sick, reject=1.5).action[0] == "say sick"
    assert decide(p, sick, reject=0.81).action[0] == "say sick"
    assert decide(p, sick, reject=0.79).action[0] == "reject"
    assert decide(p, LossMatrix.zero_one(["sick", "healthy"])).action[0] == "healthy"

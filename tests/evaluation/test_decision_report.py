import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.decisions import (
    AbsoluteLoss,
    AsymmetricLinearLoss,
    LossMatrix,
    PinballLoss,
    QuadraticLoss,
    decide,
)
from credo.distributions import Categorical, Normal
from credo.evaluation import judge_decisions

TREAT = LossMatrix([[0, 10], [1, 0]], ["well", "ill"], ["send home", "treat"])


def patients(n=2000, sharpness=1.0, seed=0):
    """Return true probabilities, outcomes drawn from them, and what a forecaster claims."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(-2.0, 1.5, n)
    p = 1 / (1 + np.exp(-logit))
    y = np.where(rng.uniform(size=n) < p, "ill", "well")
    claimed = 1 / (1 + np.exp(-sharpness * logit))
    return y, Categorical(np.column_stack([1 - claimed, claimed]), ["well", "ill"])


def test_every_number_of_the_report_is_its_plain_average():
    y, predictive = patients(50)
    report = judge_decisions(y, predictive, TREAT, reject=0.7)
    costs = TREAT.with_reject(0.7)
    decision = decide(predictive, costs)
    column = {"well": 0, "ill": 1}
    row = {"send home": 0, "treat": 1, "reject": 2}
    table = np.array([[costs.loss[a, column[label]] for a in range(3)] for label in y])
    cost = np.array([table[i, row[a]] for i, a in enumerate(decision.action)])
    assert report.n_rows == 50
    assert_allclose(report.realized.value, cost.mean())
    assert_allclose(report.realized.standard_error, cost.std(ddof=1) / np.sqrt(50))
    assert_allclose(report.promised.value, decision.expected_loss.mean())
    assert_allclose(report.surprise.value, (cost - decision.expected_loss).mean())
    spread = [
        sum(p * (costs.loss[row[a], j] - e) ** 2 for j, p in enumerate(shares))
        for shares, a, e in zip(
            predictive.probability, decision.action, decision.expected_loss, strict=True
        )
    ]
    assert_allclose(report.surprise.standard_error, np.sqrt(sum(spread)) / 50)
    assert_allclose(report.promised.standard_error, np.sqrt(sum(spread)) / 50)
    assert_allclose(report.constant["loss"], table.mean(axis=0))
    error = table.std(axis=0, ddof=1) / np.sqrt(50)
    assert_allclose(report.constant["standard_error"], error, atol=1e-12)
    best = int(table.mean(axis=0).argmin())
    assert report.best_constant == ["send home", "treat", "reject"][best]
    saved = table[:, best] - cost
    assert_allclose(report.saving.value, saved.mean())
    assert_allclose(report.saving.standard_error, saved.std(ddof=1) / np.sqrt(50))
    assert_allclose(report.oracle, table.min(axis=1).mean())
    for action in row:
        assert_allclose(report.share[action], (decision.action == action).mean())


def test_honest_probabilities_keep_their_promise_and_pay():
    report = judge_decisions(*patients(), TREAT)
    low, high = report.surprise.interval(0.999)
    assert low < 0 < high
    assert report.oracle < report.realized.value < report.constant["loss"].min()
    assert "they save" in report.verdict
    assert report.verdict.endswith("was expected, which agrees.")


def test_probabilities_that_are_too_sure_break_their_promise():
    report = judge_decisions(*patients(sharpness=4.0), TREAT)
    assert report.surprise.value > 0
    assert report.verdict.endswith("the predictions are too sure.")
    assert report.realized.value > judge_decisions(*patients(), TREAT).realized.value


def test_probabilities_that_are_too_timid_are_called_cautious():
    report = judge_decisions(*patients(sharpness=0.3), LossMatrix.zero_one(["well", "ill"]))
    assert report.verdict.endswith("the predictions are too cautious.")


def test_honest_predictions_are_seldom_called_dishonest_though_dear_losses_are_rare():
    rng = np.random.default_rng(7)
    costs = LossMatrix([[0, 100], [1, 0]], ["well", "ill"], ["send home", "treat"])
    agree = 0
    for _ in range(200):
        p = rng.uniform(0.0, 0.009, size=400)
        y = np.where(rng.uniform(size=400) < p, "ill", "well")
        report = judge_decisions(y, np.column_stack([1 - p, p]), costs)
        agree += report.verdict.endswith("agrees.")
    assert agree >= 180


def test_the_error_of_a_promise_about_numbers_is_that_of_fresh_outcomes():
    rng = np.random.default_rng(8)
    predictive, loss = Normal(np.zeros(50), np.linspace(0.5, 2.0, 50)), PinballLoss(0.8)
    report = judge_decisions(predictive.sample(rng), predictive, loss)
    action = loss.action(predictive)
    means = [loss.loss(action, predictive.sample(rng)).mean() for _ in range(4000)]
    # A standard deviation from 4,000 draws is known to about one part in ninety.
    assert_allclose(report.promised.standard_error, np.std(means), rtol=0.05)
    assert_allclose(report.promised.value, np.mean(means), rtol=0.01)


def test_one_action_for_all_is_said_to_be_that_action():
    report = judge_decisions(["ill"] * 3 + ["well"] * 6, [[0.5, 0.5]] * 9, TREAT)
    assert "as much as always 'treat'." in report.verdict


def test_one_row_is_said_to_be_too_few_to_tell_a_saving():
    report = judge_decisions(["ill"], [[0.99, 0.01]], TREAT)
    assert "one row cannot tell whether they save anything against always" in report.verdict
    assert "nan" not in report.verdict


def test_ignorant_probabilities_are_not_distinguishable_from_one_action():
    y = np.array(["well", "ill"] * 40)
    p = np.random.default_rng(3).uniform(0.3, 0.7, size=80)
    report = judge_decisions(
        y, np.column_stack([1 - p, p]), LossMatrix.zero_one(["well", "ill"])
    )
    assert "is not distinguishable from always" in report.verdict


def test_a_rule_worse_than_one_action_is_told_so():
    y = np.array(["well"] * 90 + ["ill"] * 10)
    p = np.where(y == "ill", 0.1, 0.9)
    zero_one = LossMatrix.zero_one(["well", "ill"])
    report = judge_decisions(y, np.column_stack([1 - p, p]), zero_one)
    assert "always 'well' would have cost 0.9 less" in report.verdict


def test_the_bayes_rule_with_true_probabilities_beats_other_thresholds():
    y, predictive = patients(20000, seed=4)
    best = judge_decisions(y, predictive, TREAT).realized.value
    ill = predictive.probability[:, 1]
    for threshold in [0.02, 0.3, 0.5]:
        loss = np.where(ill > threshold, y == "well", 10.0 * (y == "ill")).mean()
        assert best < loss


@pytest.mark.parametrize(
    ("loss", "constant"),
    [
        (QuadraticLoss(), np.mean),
        (AbsoluteLoss(), lambda y: np.sort(y)[len(y) // 2 - 1]),
        (PinballLoss(0.75), lambda y: np.sort(y)[int(0.75 * len(y)) - 1]),
    ],
)
def test_numbers_are_judged_against_the_best_number_in_hindsight(loss, constant):
    rng = np.random.default_rng(5)
    center = rng.normal(size=400)
    y = center + 0.5 * rng.normal(size=400)
    report = judge_decisions(y, Normal(center, 0.5), loss)
    assert_allclose(report.best_constant, constant(y))
    assert_allclose(report.constant["loss"].iloc[0], loss.loss(constant(y), y).mean())
    cost = loss.loss(loss.action(Normal(center, 0.5)), y)
    assert_allclose(report.realized.value, cost.mean())
    assert_allclose(report.saving.value, report.constant["loss"].iloc[0] - cost.mean())
    assert report.oracle == 0.0
    low, high = report.surprise.interval(0.999)
    assert low < 0 < high


def test_an_undecided_number_costs_what_rejecting_costs():
    report = judge_decisions(
        [1.0, 5.0], Normal([0.0, 0.0], [0.1, 9.0]), QuadraticLoss(), reject=2.0
    )
    assert_allclose(report.realized.value, (1.0 + 2.0) / 2)
    assert_allclose(report.promised.value, (0.01 + 2.0) / 2)
    # The square of a normal has a variance of twice its mean squared; rejecting has none.
    assert_allclose(report.promised.standard_error, np.sqrt(2 * 0.01**2) / 2, rtol=1e-6)


def test_narrow_predictives_are_too_sure_of_a_newsvendor():
    rng = np.random.default_rng(6)
    demand = rng.normal(100, 20, size=500)
    loss = AsymmetricLinearLoss(under=3.0, over=0.5)
    report = judge_decisions(demand, Normal(np.full(500, 100.0), 5.0), loss)
    assert "too sure" in report.verdict


def test_the_table_has_a_row_for_each_thing_that_could_be_done():
    table = judge_decisions(*patients(100), TREAT).table()
    assert table.index.tolist() == [
        "outcome known",
        "promised",
        "decisions",
        "always 'send home'",
        "always 'treat'",
    ]
    assert table.loc["outcome known", "loss"] <= table.loc["decisions", "loss"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["sick"], [[0.5, 0.5]], TREAT), r"y_true must hold classes .* found \['sick'\]"),
        (
            (["ill", "ill"], [[0.5, 0.5]], TREAT),
            r"one class for each row .* found shape \(2,\)",
        ),
        ((["ill", "ill"], [0.5, 0.5], TREAT), r"predictions of shape \(2,\)"),
        (([], np.empty((0, 2)), TREAT), "y_true must hold at least one row"),
        ((["ill"], [[0.5, 0.6]], TREAT), "must be 1; found 1.1"),
        (([1.0, 2.0], Normal([0.0], 1.0), QuadraticLoss()), "one outcome for each"),
        (([np.nan], Normal([0.0], 1.0), QuadraticLoss()), "y_true must be finite"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        judge_decisions(*arguments)


@pytest.mark.parametrize(
    "call",
    [
        lambda y, said: judge_decisions(said, y, TREAT),
        lambda y, said: judge_decisions(said.probability, y, TREAT),
        lambda y, said: judge_decisions(predictive=said, y=y, loss=TREAT),
    ],
)
def test_predictions_before_what_came_true_work_for_one_release_with_a_warning(call):
    y, predictive = patients(100)
    with pytest.warns(FutureWarning, match="takes y_true first and y_pred second"):
        old = call(y, predictive)
    assert old.verdict == judge_decisions(y, predictive, TREAT).verdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import credo
from credo.decisions import (
    AbsoluteLoss,
    LossMatrix,
    PinballLoss,
    QuadraticLoss,
    averaged_hypotheses,
    decide,
)
from credo.distributions import Categorical, Normal, StudentT
from credo.models import LinearRegression

TREAT = LossMatrix([[0, 10], [1, 0]], ["well", "ill"], ["send home", "treat"])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(2, 6))
def test_no_action_costs_less_than_the_chosen_and_only_one_less_than_the_runner_up(
    seed, n_classes, n_actions
):
    rng = np.random.default_rng(seed)
    names = [f"action {i}" for i in range(n_actions)]
    costs = LossMatrix(rng.normal(size=(n_actions, n_classes)), np.arange(n_classes), names)
    p = rng.dirichlet(np.ones(n_classes), size=7)
    decision = decide(p, costs)
    risk = costs.conditional_risk(p)
    for i in range(7):
        order = sorted(range(n_actions), key=lambda a: risk[i, a])
        assert decision.action[i] == names[order[0]]
        assert decision.runner_up[i] == names[order[1]]
        assert_allclose(decision.expected_loss[i], risk[i, order[0]])
        assert_allclose(decision.runner_up_loss[i], risk[i, order[1]])


def test_the_least_error_is_made_by_the_most_probable_class():
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    weather = Categorical(p, labels=["rain", "snow", "sun"])
    decision = decide(weather, LossMatrix.zero_one(["rain", "snow", "sun"]))
    assert (decision.action == weather.mode()).all()
    assert_allclose(decision.expected_loss, 1 - p.max(axis=1))


def test_the_order_of_labels_does_not_matter():
    p = np.random.default_rng(1).dirichlet(np.ones(2), size=30)
    straight = decide(Categorical(p, ["well", "ill"]), TREAT)
    turned = decide(Categorical(p[:, ::-1], ["ill", "well"]), TREAT)
    assert (straight.action == turned.action).all()
    assert_allclose(straight.expected_loss, turned.expected_loss)
    given_apart = decide(p[:, ::-1], TREAT, labels=["ill", "well"])
    as_table = decide(pd.DataFrame(p[:, ::-1], columns=["ill", "well"]), TREAT)
    assert (given_apart.action == straight.action).all()
    assert (as_table.action == straight.action).all()


def test_plain_numbers_and_tables_serve_as_losses():
    p = [[0.9, 0.1], [0.5, 0.5]]
    array = decide(p, [[0, 5], [1, 0]], labels=["no", "yes"])
    table = pd.DataFrame({"yes": [5, 0], "no": [0, 1]}, index=["no", "yes"])
    assert array.action.tolist() == ["no", "yes"]
    assert decide(p, table, labels=["no", "yes"]).action.tolist() == ["no", "yes"]
    assert decide(p, [[0, 5], [1, 0]]).action.tolist() == [0, 1]


def test_a_tie_goes_to_the_first_action():
    assert decide([0.5, 0.5], LossMatrix.zero_one(["a", "b"])).action == "a"


@pytest.mark.parametrize("model", [GaussianNB(), LogisticRegression()], ids=str)
def test_classifiers_of_scikit_learn_can_be_decided_on(model):
    rng = np.random.default_rng(2)
    y = np.array(["ill", "well"])[rng.integers(0, 2, 80)]
    X = rng.normal(size=(80, 2)) + (y == "ill")[:, None]
    proba = model.fit(X, y).predict_proba(X)
    decision = credo.decide(proba, TREAT, labels=model.classes_)
    is_treated = decision.action == "treat"
    assert (is_treated == (proba[:, 0] > 1 / 11)).all()
    assert 0 < is_treated.sum() < 80


def test_averaging_hypotheses_decides_better_than_the_most_probable_hypothesis():
    rng = np.random.default_rng(3)
    posterior = np.array([0.4, 0.3, 0.3])
    by_hypothesis = rng.dirichlet(np.ones(2), size=(200, 3))
    averaged = np.einsum("h,nhc->nc", posterior, by_hypothesis)
    zero_one = LossMatrix.zero_one([0, 1])
    bayes = decide(averaged, zero_one).action
    votes = np.array(
        [
            [sum(posterior[h] * by_hypothesis[n, h, c] for h in range(3)) for c in range(2)]
            for n in range(200)
        ]
    )
    assert (bayes == votes.argmax(axis=1)).all()

    def expected_error(action):
        return 1.0 - averaged[np.arange(200), action]

    assert_allclose(decide(averaged, zero_one).expected_loss, expected_error(bayes))
    best_hypothesis = decide(by_hypothesis[:, 0], zero_one).action
    assert (bayes != best_hypothesis).sum() > 10
    assert (expected_error(bayes) <= expected_error(best_hypothesis)).all()
    for h in range(3):
        assert (
            expected_error(bayes).mean()
            <= expected_error(decide(by_hypothesis[:, h], zero_one).action).mean()
        )


def test_the_three_hypotheses_of_the_classic_example_are_outvoted():
    by_hypothesis = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    averaged = np.array([0.4, 0.3, 0.3]) @ by_hypothesis
    assert decide(averaged, LossMatrix.zero_one(["+", "-"])).action == "-"


def test_a_predictive_gives_mean_mode_variance_and_draws_in_closed_form():
    predictive = Normal([1.0, 2.0], [0.5, 3.0])
    assert_allclose(predictive.mean(), [1.0, 2.0])
    assert_allclose(predictive.mode(), [1.0, 2.0])
    assert_allclose(predictive.variance(), [0.25, 9.0])
    draws = predictive.sample(np.random.default_rng(4), 40000)
    error = 4 * predictive.std() / np.sqrt(40000)
    assert (np.abs(draws.mean(axis=0) - predictive.mean()) < error).all()
    best = decide(predictive, QuadraticLoss())
    assert_allclose(best.action, predictive.mean())
    assert_allclose(best.expected_loss, predictive.variance())


def test_a_regressor_decides_by_its_predictive():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 1))
    model = LinearRegression().fit(X, X[:, 0] + rng.normal(size=40))
    decision = model.decide(X[:5], PinballLoss(0.9))
    assert_allclose(decision.action, model.predict_quantiles(X[:5], 0.9)[:, 0])
    assert decision.runner_up is None
    assert decision.frame().columns.tolist() == ["action", "expected_loss"]


def test_a_number_is_left_undecided_where_the_best_guess_costs_more_than_that():
    decision = decide(Normal(0.0, [0.5, 2.0]), QuadraticLoss(), reject=1.0)
    assert decision.action[0] == 0.0
    assert np.isnan(decision.action[1])
    assert_allclose(decision.expected_loss, [0.25, 1.0])


def test_the_table_of_decisions_names_rows_and_runner_up():
    frame = decide([[0.95, 0.05], [0.8, 0.2]], TREAT).frame(index=["ann", "bob"])
    assert frame.loc["bob", "action"] == "treat"
    assert frame.loc["bob", "runner_up"] == "send home"
    assert_allclose(
        frame.loc["ann", ["expected_loss", "runner_up_loss"]].astype(float), [0.5, 0.95]
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((Normal(0.0, 1.0), TREAT), TypeError, "needs class probabilities; found a Normal"),
        (([0.5, 0.5], QuadraticLoss()), TypeError, "distribution of a number; found list"),
        (
            (make_pipeline(StandardScaler(), GaussianNB()), TREAT),
            TypeError,
            r"found the estimator Pipeline. Pass model.predict_proba\(X\), labels=model",
        ),
        (([0.5, 0.5], "zero-one"), TypeError, "loss must be a LossMatrix.*found 'zero-one'"),
        (([0.5, 0.6], TREAT), ValueError, "must be 1; found 1.1"),
        (([0.5, 0.5], [[0, 1, 2], [1, 0, 2]]), ValueError, "found shape"),
        (
            (Categorical([0.5, 0.5], ["well", "sick"]), TREAT),
            ValueError,
            r"no loss for \['sick",
        ),
    ],
)
def test_bad_input_is_refused_before_any_work(arguments, error, message):
    with pytest.raises(error, match=message):
        decide(*arguments)


def test_absolute_loss_takes_predictives_without_a_mean():
    assert_allclose(decide(StudentT(1.0, 3.0, 1.0), AbsoluteLoss()).action, 3.0)


def test_hypotheses_are_averaged_by_their_posterior_and_draws_alike():
    rng = np.random.default_rng(3)
    posterior = np.array([0.4, 0.3, 0.3])
    each = rng.dirichlet(np.ones(2), size=(3, 200))
    found = averaged_hypotheses(each, posterior)
    by_hand = sum(posterior[h] * each[h] for h in range(3))
    assert_allclose(found, by_hand, rtol=1e-12)
    zero_one = LossMatrix.zero_one([0, 1])
    bayes = decide(found, zero_one).action
    assert (bayes == by_hand.argmax(axis=1)).all()
    assert (bayes != decide(each[0], zero_one).action).sum() > 10
    assert_allclose(averaged_hypotheses(each), each.mean(axis=0), rtol=1e-12)
    # The best of three votes against the most probable hypothesis.
    outvoted = averaged_hypotheses([[[1.0, 0.0]], [[0.0, 1.0]], [[0.0, 1.0]]], posterior)
    assert decide(outvoted, zero_one).action.tolist() == [1]
    with pytest.raises(ValueError, match="which sum to one"):
        averaged_hypotheses(each, [0.5, 0.5, 0.5])

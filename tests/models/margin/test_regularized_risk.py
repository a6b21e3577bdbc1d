import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from credo.decisions import ExponentialMargin, HingeMargin, LossMatrix
from credo.features import PolynomialBasis, RadialBasis
from credo.models.margin.regularized_risk import RegularizedRisk

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, -2.0]
Y = (X @ [1.0, -0.1, 5.0] + 10.0 + 0.7 * RNG.normal(size=120) > 0).astype(int)
THREE = Y + (X[:, 1] > 8.0)
LOSSES = ["logistic", "hinge", "exponential", "quadratic", "zero_one"]


@pytest.mark.parametrize("decay", [0.1, 10.0])
def test_logistic_risk_is_map_logistic_regression_on_standardized_columns(decay):
    model = RegularizedRisk(weight_decay=decay).fit(X, Y)
    scaler = StandardScaler().fit(X)
    other = LogisticRegression(C=1 / decay, tol=1e-12, max_iter=10_000)
    other.fit(scaler.transform(X), Y)
    assert_allclose(model.predict_proba(X), other.predict_proba(scaler.transform(X)), rtol=1e-5)
    assert_allclose(model.coef_, other.coef_ / scaler.scale_, rtol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_scores_are_linear_in_the_data_and_their_sign_is_the_class(loss):
    model = RegularizedRisk(loss).fit(X, Y)
    score = X @ model.coef_[0] + model.intercept_[0]
    assert_allclose(model.decision_function(X), score)
    assert_array_equal(model.predict(X), (score > 0).astype(int))
    assert model.score(X, Y) > 0.75


@pytest.mark.parametrize("loss", LOSSES)
def test_more_classes_are_told_apart_one_against_the_rest(loss):
    model = RegularizedRisk(loss).fit(X, THREE)
    for k in range(3):
        one = RegularizedRisk(loss).fit(X, np.equal(THREE, k))
        if loss == "zero_one":
            assert_allclose(model.objective_[k], one.objective_[0], atol=2.0)
        else:
            found = model.decision_function(X)[:, k]
            assert_allclose(found, one.decision_function(X), atol=1e-4)
    assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_the_most_probable_class_is_the_predicted_one(loss):
    for y in (Y, THREE):
        model = RegularizedRisk(loss).fit(X, y)
        for x in (X, X * 1e4):
            share = model.predict_proba(x)
            assert_allclose(share.sum(axis=1), 1.0)
            assert_array_equal(model.classes_[share.argmax(axis=1)], model.predict(x))


def test_exponential_scores_are_half_log_odds():
    model = RegularizedRisk("exponential").fit(X, Y)
    odds = np.log(model.predict_proba(X)[:, 1] / model.predict_proba(X)[:, 0])
    assert_allclose(odds, 2 * model.decision_function(X), rtol=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "quadratic", "zero_one"])
def test_losses_that_tell_no_probability_have_no_predict_proba(loss):
    model = RegularizedRisk(loss).fit(X, Y)
    for verb in (
        "predict_proba",
        "predict_dist",
        "predict_log_proba",
        "decide",
        "predict_frame",
    ):
        assert not hasattr(model, verb)


def test_every_linear_score_makes_at_least_the_errors_of_the_search():
    direct = RegularizedRisk("zero_one").fit(X, Y)
    assert direct.objective_[0] == (direct.predict(X) != Y).sum()
    for loss in ("logistic", "hinge", "quadratic"):
        other = RegularizedRisk(loss).fit(X, Y)
        assert direct.objective_[0] <= (other.predict(X) != Y).sum()


def test_costs_shift_the_boundary_by_the_log_of_their_ratio():
    y = np.array([0] * 30 + [1] * 10)
    x = np.zeros((40, 1))
    even = RegularizedRisk().fit(x, y)
    dear = RegularizedRisk(costs=(1.0, 5.0)).fit(x, y)
    assert_allclose(even.intercept_[0], np.log(10 / 30), rtol=1e-6)
    assert_allclose(dear.intercept_[0], np.log(10 / 30) + np.log(5.0), rtol=1e-6)
    assert even.predict([[0.0]])[0] == 0
    assert dear.predict([[0.0]])[0] == 1
    assert not hasattr(dear, "predict_proba")


def test_costs_agree_with_deciding_by_probabilities():
    model = RegularizedRisk(weight_decay=1e-3).fit(X, Y)
    loss = LossMatrix([[0.0, 5.0], [1.0, 0.0]], [0, 1])
    decided = model.decide(X, loss).action
    assert_array_equal(decided, (model.predict_proba(X)[:, 1] > 1 / 6).astype(int))
    learned = RegularizedRisk(weight_decay=1e-3, costs=(1.0, 5.0)).fit(X, Y).predict(X)
    assert (decided == learned).mean() > 0.9
    misses = [int(((p == 0) & (Y == 1)).sum()) for p in (learned, model.predict(X))]
    assert misses[0] < misses[1]


@pytest.mark.parametrize("loss", LOSSES)
def test_a_cost_is_a_weight_of_the_rows_it_can_fall_on(loss):
    weight = np.where(Y == 1, 3.0, 1.0)
    costly = RegularizedRisk(loss, costs=(1.0, 3.0)).fit(X, Y)
    weighted = RegularizedRisk(loss).fit(X, Y, sample_weight=weight)
    if loss != "zero_one":
        # The spread of columns is that of weighted rows, which changes the decay a little.
        assert_allclose(costly.coef_, weighted.coef_, rtol=0.1, atol=0.05)
    assert (costly.predict(X) == weighted.predict(X)).mean() > 0.9


def test_a_basis_bends_the_boundary():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 2))
    y = (x**2).sum(axis=1) > 1.4
    assert RegularizedRisk("hinge").fit(x, y).score(x, y) < 0.75
    for basis in (PolynomialBasis(2), RadialBasis(15)):
        model = RegularizedRisk("hinge", basis, weight_decay=0.01).fit(x, y)
        assert model.score(x, y) > 0.95


def test_the_intercept_is_never_decayed():
    y = np.arange(120) % 4 == 0
    model = RegularizedRisk(weight_decay=1e9).fit(X, y)
    assert_allclose(model.predict_proba(X)[:, 1], 0.25, rtol=1e-4)


def test_lasso_drops_what_says_nothing():
    noise = np.random.default_rng(2).normal(size=(120, 4))
    model = RegularizedRisk("hinge", penalty="lasso", weight_decay=10.0)
    model.fit(np.hstack([X, noise]), Y)
    assert (model.coef_[0, 3:] == 0).sum() >= 3
    assert (model.coef_[0, :3] != 0).any()


def test_the_hinge_is_certified_by_its_dual():
    model = RegularizedRisk("hinge", weight_decay=0.01).fit(X, Y)
    assert 0 <= model.duality_gap_[0] <= 1e-6 * model.objective_[0]


def test_a_loss_may_be_named_or_given():
    named = RegularizedRisk("exponential").fit(X, Y)
    given = RegularizedRisk(ExponentialMargin()).fit(X, Y)
    assert_allclose(named.coef_, given.coef_)
    assert not hasattr(RegularizedRisk(HingeMargin()), "predict_proba")


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"loss": "square"}, "loss must be one of .* found 'square'"),
        ({"penalty": "l2"}, "penalty must be one of .* found 'l2'"),
        ({"weight_decay": -1.0}, "weight_decay must be 0 or a positive number; found -1.0"),
        ({"costs": (1.0,)}, r"costs must be two positive numbers, .* found \(1.0,\)"),
        ({"costs": (0.0, 1.0)}, r"costs must be two positive numbers, .* found \(0.0, 1.0\)"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, part):
    with pytest.raises(ValueError, match=part):
        RegularizedRisk(**settings).fit(X, Y)


def test_costs_of_more_than_two_classes_are_refused_with_a_way_out():
    with pytest.raises(ValueError, match=r"for 3 classes\. Use a model with predict_proba"):
        RegularizedRisk(costs=(1.0, 2.0)).fit(X, THREE)

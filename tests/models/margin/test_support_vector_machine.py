from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import credo
from credo import (
    LinearRegression,
    LogisticRegression,
    SupportVectorClassifier,
    SupportVectorRegressor,
    compare,
)
from credo.decisions import HingeMargin
from credo.features import FunctionKernel, Linear, Matern52, Polynomial, SquaredExponential
from credo.inference import Inseparable
from credo.models.margin import support_vector_machine as module
from credo.numerics.linear.linear_algebra import NotPositiveDefinite

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, -2.0]
Z = StandardScaler().fit_transform(X)
Y = np.where(Z[:, 0] + Z[:, 1] ** 2 - 1.0 + 0.4 * RNG.normal(size=120) > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(Z[:, 0] + 0.3 * Z[:, 1] ** 2, [-0.3, 0.8])]
NUMBER = np.sin(Z[:, 0]) + 0.2 * Z[:, 1] + 0.1 * RNG.normal(size=120)
LINE = np.array([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0])[:, None]
SIDE = np.array([0, 0, 0, 1, 1, 1])


def test_by_default_it_is_the_machine_of_scikit_learn_on_standardized_columns():
    model = SupportVectorClassifier(tolerance=1e-9).fit(X, Y)
    other = SVC(tol=1e-10).fit(Z, Y)
    assert_allclose(model.decision_function(X), other.decision_function(Z), atol=1e-6)
    assert_array_equal(model.support_, np.sort(other.support_))
    assert_allclose(np.sort(model.dual_coef_), np.sort(other.dual_coef_), atol=1e-5)
    assert_allclose(model.intercept_, other.intercept_, atol=1e-6)
    assert_array_equal(model.predict(X), other.predict(Z))
    assert_allclose(X[model.support_], model.support_vectors_)


def test_the_worked_boundary_its_distances_and_its_weights():
    x = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [3.0, 2.0]])
    model = SupportVectorClassifier(Linear(), C=np.inf, tolerance=1e-9).fit(x, [0, 0, 1, 1])
    assert_allclose(model.coef_, [[1.0, 0.0]], atol=1e-9)
    assert_allclose([*model.intercept_, *model.margin_], [-2.0, 1.0])
    assert_allclose(model.dual_coef_, [[-0.5, 0.5]])
    assert_array_equal(model.support_, [1, 2])
    assert_allclose(model.dual_objective_, 0.5)
    assert_allclose(model.duality_gap_, 0.0, atol=1e-9)
    # Rows on the boundary belong to the first class; distances are those of projections.
    assert_array_equal(model.predict([[2.0, 5.0], [2.1, 5.0]]), [0, 1])
    slanted = SupportVectorClassifier(Linear(), C=np.inf).fit(
        x @ [[3.0, 1.0], [-1.0, 3.0]], SIDE[1:5]
    )
    w, b = slanted.coef_[0], slanted.intercept_[0]
    point = np.array([4.0, -7.0])
    foot = point - (w @ point + b) / (w @ w) * w
    assert_allclose(w @ foot + b, 0.0, atol=1e-9)
    expected = np.sign(w @ point + b) * np.linalg.norm(point - foot)
    assert_allclose(slanted.distance([point]), [[expected]])


def test_scores_are_those_of_an_explicit_map_to_features():
    x = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [0.5, 2.0]])
    y = np.array([1, 0, 0, 1, 1])
    model = SupportVectorClassifier(Polynomial(2, 1.0), C=5.0, tolerance=1e-10).fit(x, y)
    root = np.sqrt(2.0)

    def mapped(x):
        a, b = x.T
        ones = np.ones_like(a)
        return np.column_stack([ones, root * a, root * b, a**2, b**2, root * a * b])

    plain = SupportVectorClassifier(Linear(), C=5.0, tolerance=1e-10).fit(mapped(x), y)
    queries = RNG.normal(size=(7, 2))
    assert_allclose(
        model.decision_function(queries), plain.decision_function(mapped(queries)), atol=1e-7
    )
    by_hand = plain.coef_[0] @ mapped(queries).T + plain.intercept_[0]
    assert_allclose(plain.decision_function(mapped(queries)), by_hand, atol=1e-9)


@pytest.mark.parametrize("C", [0.5, 1.0, 10.0])
def test_the_objective_is_the_hinge_loss_with_weight_decay(C):
    model = SupportVectorClassifier(Linear(), C=C, tolerance=1e-10).fit(LINE, SIDE)
    margins = np.where(SIDE == 1, 1.0, -1.0) * model.decision_function(LINE)
    risk = HingeMargin().value(margins).sum()
    value = C * risk + 0.5 * np.square(model.coef_).sum()
    assert_allclose(value, {0.5: 1.875, 1.0: 3.5, 10.0: 30.5}[C])
    assert_allclose(model.dual_objective_, value)


def test_moving_a_point_that_is_no_support_vector_changes_nothing():
    model = SupportVectorClassifier(Matern52(1.0), C=2.0, tolerance=1e-9).fit(Z, Y)
    signs = np.where(Y == "yes", 1.0, -1.0)
    margins = signs * model.decision_function(Z)
    dual = np.abs(model.dual_coef_[0])
    is_free = dual < 2.0 - 1e-9
    assert_allclose(margins[model.support_][is_free], 1.0, atol=1e-7)
    assert (margins[model.support_][~is_free] <= 1.0 + 1e-7).all()
    safe = int(np.argmax(margins))
    assert safe not in model.support_
    moved = Z.copy()
    moved[safe] += 0.01
    again = SupportVectorClassifier(Matern52(1.0), C=2.0, tolerance=1e-9).fit(moved, Y)
    assert_array_equal(again.support_, model.support_)
    assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-7)
    without = np.arange(len(Z)) != safe
    less = SupportVectorClassifier(Matern52(1.0), C=2.0, tolerance=1e-9)
    less.fit(Z[without], Y[without])
    assert_allclose(less.decision_function(X), model.decision_function(X), atol=1e-7)
    held = int(model.support_[0])
    moved = Z.copy()
    moved[held] += 0.01
    other = SupportVectorClassifier(Matern52(1.0), C=2.0, tolerance=1e-9).fit(moved, Y)
    assert np.abs(other.decision_function(Z) - model.decision_function(Z)).max() > 1e-5


def test_several_classes_vote_two_by_two_as_in_scikit_learn():
    model = SupportVectorClassifier(tolerance=1e-9).fit(X, THREE)
    other = SVC(tol=1e-10, decision_function_shape="ovr", break_ties=True).fit(Z, THREE)
    assert_allclose(model.decision_function(X), other.decision_function(Z), atol=1e-5)
    assert_array_equal(model.predict(X), other.predict(Z))
    pairs = SVC(tol=1e-10, decision_function_shape="ovo").fit(Z, THREE)
    assert_allclose(model.pair_scores(X), -pairs.decision_function(Z), atol=1e-5)
    for pair, (a, b) in enumerate([("a", "b"), ("a", "c"), ("b", "c")]):
        own = np.isin(THREE, [a, b])
        alone = SupportVectorClassifier(model.kernel_, tolerance=1e-9).fit(X[own], THREE[own])
        assert_allclose(model.pair_scores(X)[:, pair], alone.decision_function(X), atol=1e-7)
    assert model.pairs()["second"].tolist() == ["b", "c", "c"]


def test_votes_are_counted_pair_by_pair():
    scores = np.random.default_rng(0).normal(size=(40, 21)).round(1)
    votes, sums = np.zeros((2, 40, 7))
    for score, (a, b) in zip(scores.T, combinations(range(7), 2), strict=True):
        for row in range(40):
            votes[row, b if score[row] > 0 else a] += 1
        sums[:, b] += score
        sums[:, a] -= score
    assert_allclose(module._votes(scores, 7), votes + sums / (3 * (np.abs(sums) + 1)))


def test_support_vectors_are_made_ready_once_for_all_predictions(monkeypatch):
    made = []

    def counted(kernel, x, usual=module.kernel_values):
        made.append(len(x))
        return usual(kernel, x)

    model = SupportVectorClassifier().fit(X, THREE)
    before = set(vars(model))
    monkeypatch.setattr(module, "kernel_values", counted)
    first = model.predict(X)
    assert_array_equal(model.predict(X), first)
    assert made == [len(model.support_)]
    assert set(vars(model)) == before
    model.fit(X[:60], Y[:60])
    again = SupportVectorClassifier().fit(X[:60], Y[:60])
    assert_allclose(model.decision_function(X), again.decision_function(X))


def test_without_a_choice_a_pair_is_asked_about_its_own_classes_alone(monkeypatch):
    asked = []

    def counted(problem, path, x, usual=module._said):
        asked.append(len(x))
        return usual(problem, path, x)

    monkeypatch.setattr(module, "_said", counted)
    SupportVectorClassifier(probability=True).fit(X, THREE)
    # Every row is held out once, and is in two of the three pairs.
    assert sum(asked) == 2 * len(X)
    asked.clear()
    SupportVectorClassifier(C=(1.0, 2.0)).fit(X, THREE)
    assert sum(asked) == 3 * len(X)


def test_weights_multiply_the_cost_as_in_scikit_learn():
    weight = RNG.uniform(0.2, 3.0, size=120)
    factors = {"yes": 3.0, "no": 0.5}
    kernel = SquaredExponential(1.0)
    model = SupportVectorClassifier(kernel, class_weight=factors, tolerance=1e-9)
    model.fit(Z, Y, sample_weight=weight)
    other = SVC(gamma=0.5, class_weight=factors, tol=1e-10).fit(Z, Y, sample_weight=weight)
    assert_allclose(model.decision_function(Z), other.decision_function(Z), atol=1e-5)
    numbers = SupportVectorRegressor(kernel, tolerance=1e-9).fit(Z, NUMBER, weight)
    peer = SVR(gamma=0.5, tol=1e-10).fit(Z, NUMBER, sample_weight=weight)
    assert_allclose(numbers.predict(Z), peer.predict(Z), atol=1e-5)


def test_balanced_classes_cost_alike():
    y = np.where(np.arange(120) < 100, 0, 1)
    model = SupportVectorClassifier(class_weight="balanced", tolerance=1e-9).fit(X, y)
    other = SVC(class_weight="balanced", tol=1e-10).fit(Z, y)
    assert_allclose(model.decision_function(X), other.decision_function(Z), atol=1e-5)


def test_a_row_that_came_twice_is_one_of_weight_two():
    twice = SupportVectorClassifier(C=0.7).fit(np.vstack([X, X]), np.append(Y, Y))
    heavy = SupportVectorClassifier(C=0.7).fit(X, Y, sample_weight=np.full(120, 2.0))
    found = twice.decision_function(X)
    assert_allclose(found, heavy.decision_function(X), rtol=1e-10, atol=1e-12)
    shares = np.zeros(240)
    shares[twice.support_] = twice.dual_coef_[0]
    assert_allclose(shares[:120], shares[120:])
    assert np.abs(shares).max() <= 0.7 * (1 + 1e-12)


def test_regression_is_that_of_scikit_learn():
    model = SupportVectorRegressor(C=2.0, epsilon=0.05, tolerance=1e-9).fit(X, NUMBER + 100.0)
    other = SVR(C=2.0, epsilon=0.05, tol=1e-10).fit(Z, NUMBER + 100.0)
    assert_allclose(model.predict(X), other.predict(Z), atol=1e-5)
    assert_array_equal(model.support_, np.sort(other.support_))
    assert_allclose(model.intercept_, other.intercept_, atol=1e-5)


def test_rows_inside_the_tube_are_no_support_vectors():
    model = SupportVectorRegressor(epsilon=0.2, tolerance=1e-7).fit(X, NUMBER)
    error = NUMBER - model.predict(X)
    dual = np.zeros(120)
    dual[model.support_] = model.dual_coef_[0]
    assert (np.abs(error)[dual == 0] <= 0.2 + 1e-6).all()
    assert (np.abs(error)[dual != 0] >= 0.2 - 1e-6).all()
    assert_array_equal(np.sign(dual[dual != 0]), np.sign(error[dual != 0]))
    assert_allclose(np.abs(dual)[np.abs(error) > 0.2 + 1e-6], 1.0)


def test_units_of_columns_and_of_outcomes_do_not_matter():
    scale = np.array([1e-3, 50.0, 7.0])
    model = SupportVectorClassifier(tolerance=1e-8).fit(X, Y)
    moved = SupportVectorClassifier(tolerance=1e-8).fit(X * scale + 3.0, Y)
    found = moved.decision_function(X * scale + 3.0)
    assert_allclose(found, model.decision_function(X), atol=1e-6)
    small = SupportVectorRegressor(C=2.0, epsilon=0.1, tolerance=1e-8).fit(X, NUMBER)
    large = SupportVectorRegressor(C=2e6, epsilon=1e5, tolerance=1e-8)
    large.fit(X * scale, 1e6 * NUMBER)
    assert_allclose(large.predict(X * scale), 1e6 * small.predict(X), rtol=1e-5, atol=1.0)


def test_a_class_without_weight_is_never_predicted():
    weight = np.where(THREE == "b", 0.0, 1.0)
    model = SupportVectorClassifier().fit(X, THREE, sample_weight=weight)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert set(model.predict(X)) == {"a", "c"}
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("probability", [False, True])
@pytest.mark.parametrize("kernel", [Linear(), None])
def test_the_only_class_with_weight_is_predicted(kernel, probability):
    weight = {"a": 0.0, "b": 0.0, "c": 1.0}
    model = SupportVectorClassifier(kernel, class_weight=weight, probability=probability)
    assert set(model.fit(X, THREE).predict(X)) == {"c"}
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"C": 0.0}, ValueError, "C must be a positive number; found 0.0"),
        ({"C": -1.0}, ValueError, "C must be a positive number; found -1.0"),
        ({"C": np.nan}, ValueError, "C must be a positive number; found nan"),
        ({"tolerance": 0.0}, ValueError, "tolerance must be a positive number"),
        ({"kernel": "rbf"}, TypeError, "kernel must be None or a kernel from credo.features"),
        ({"cache": "many"}, ValueError, "size of memory"),
        ({"class_weight": {"maybe": 1.0}}, ValueError, "class_weight must give classes of y"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        SupportVectorClassifier(**changes).fit(X, Y)


def test_regression_refuses_a_negative_epsilon_and_an_infinite_cost():
    with pytest.raises(
        ValueError, match=r"epsilon must be 0 or a positive number; found -0\.1"
    ):
        SupportVectorRegressor(epsilon=-0.1).fit(X, NUMBER)
    with pytest.raises(ValueError, match="C must be finite for regression"):
        SupportVectorRegressor(C=np.inf).fit(X, NUMBER)


@pytest.mark.parametrize("kind", [SupportVectorClassifier, SupportVectorRegressor])
def test_a_cost_for_each_row_is_told_of_weights(kind):
    with pytest.raises(ValueError, match="sample_weight of fit"):
        kind(C=np.ones(len(LINE))).fit(LINE, SIDE)
    with pytest.raises(ValueError, match="found 6, as many as rows, and equal ones"):
        kind(C=[1.0, 2.0, 2.0, 1.0, 1.0, 3.0]).fit(LINE, SIDE)
    assert kind(C=(0.1, 0.2, 0.5, 1.0, 2.0, 5.0)).fit(LINE, SIDE).C_ in (0.1, 0.2, 0.5, 1, 2, 5)
    assert kind(C=np.array(2.0)).fit(LINE, SIDE).C_ == 2.0
    assert kind(C=[3.0]).fit(LINE[:1].repeat(2, axis=0) * [[1.0], [2.0]], [0, 1]).C_ == 3.0


@pytest.mark.parametrize("unit", [1e-200, 1e-160, 1e100])
def test_the_usual_kernel_is_in_units_of_columns_of_any_size(unit):
    model = SupportVectorClassifier().fit(X, Y)
    other = SupportVectorClassifier().fit(X * unit, Y)
    expected = np.array(model.kernel_.length_scale) * unit
    assert_allclose(other.kernel_.length_scale, expected)
    assert_allclose(other.decision_function(X * unit), model.decision_function(X), atol=1e-2)


def test_a_standard_deviation_needs_probabilities():
    model = SupportVectorRegressor().fit(X, NUMBER)
    with pytest.raises(ValueError, match="Pass probability=True and fit again"):
        model.predict(X, return_std=True)


def test_kernels_in_an_array_are_those_in_a_list():
    kernels = [Matern52(2.0), Linear()]
    listed = SupportVectorClassifier(kernels).fit(Z, Y)
    held = SupportVectorClassifier(np.array(kernels, dtype=object)).fit(Z, Y)
    assert held.kernel_ == listed.kernel_
    assert (
        SupportVectorClassifier(np.array(Linear(), dtype=object)).fit(Z, Y).kernel_ == Linear()
    )


def test_bad_data_are_refused():
    with pytest.raises(ValueError, match="at least 2 classes"):
        SupportVectorClassifier().fit(X, np.zeros(120, dtype=int))
    with pytest.raises(ValueError, match="X must have a number in every cell"):
        SupportVectorClassifier().fit(np.where(X > 12.0, np.nan, X), Y)
    with pytest.raises(ValueError, match="y must have a number in every row"):
        SupportVectorRegressor().fit(X, np.where(NUMBER > 0.5, np.nan, NUMBER))
    with pytest.raises(Inseparable, match="classes must be separable"):
        SupportVectorClassifier(Linear(), C=np.inf).fit(LINE, SIDE)


def test_a_function_that_is_no_kernel_is_refused_before_any_step():
    wave = FunctionKernel(lambda X, Z: np.sin(X @ Z.T))
    for model, y in (
        (SupportVectorClassifier(wave), Y),
        (SupportVectorRegressor(wave), NUMBER),
    ):
        with pytest.raises(NotPositiveDefinite, match="must be positive semidefinite"):
            model.fit(Z, y)
    valid = FunctionKernel(lambda X, Z: X @ Z.T)
    found = SupportVectorClassifier(valid, tolerance=1e-9).fit(Z, Y).decision_function(Z)
    plain = SupportVectorClassifier(Linear(), tolerance=1e-9).fit(Z, Y).decision_function(Z)
    assert_allclose(found, plain, atol=1e-6)


def test_weights_of_columns_are_asked_with_a_linear_kernel_alone():
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = SupportVectorClassifier().fit(X, Y).coef_
    model = SupportVectorRegressor(2.0 * Linear((1.0, 0.5, 4.0))).fit(Z, NUMBER)
    assert_allclose(Z @ model.coef_[0] + model.intercept_[0], model.predict(Z), atol=1e-9)


def test_an_optimum_that_was_not_reached_is_reported(monkeypatch):
    usual = module.SupportSettings
    monkeypatch.setattr(module, "SupportSettings", lambda *a: usual(*a, max_steps=10))
    with pytest.warns(ConvergenceWarning, match="found a violation of"):
        model = SupportVectorClassifier().fit(X, Y)
    assert model.kkt_residual_ > 1e-3


@pytest.mark.parametrize("y", [Y, THREE])
def test_a_loaded_classifier_answers_exactly_as_the_saved_one(y, tmp_path):
    model = SupportVectorClassifier(Matern52(1.0) + Linear(), C=3.0).fit(Z, y)
    credo.save(model, tmp_path / "machine.credo")
    after = credo.load(tmp_path / "machine.credo")
    assert_array_equal(after.decision_function(Z), model.decision_function(Z))
    assert_array_equal(after.predict(Z), model.predict(Z))
    assert_array_equal(after.support_, model.support_)
    assert after.dual_objective_ == model.dual_objective_


def test_a_loaded_regressor_answers_exactly_as_the_saved_one(tmp_path):
    model = SupportVectorRegressor().fit(X, NUMBER)
    credo.save(model, tmp_path / "machine.credo")
    assert_array_equal(credo.load(tmp_path / "machine.credo").predict(X), model.predict(X))


def spirals(n=300, seed=0, noise=0.15):
    """Two spirals that wind around each other one and a half times."""
    rng = np.random.default_rng(seed)
    turn = 3.0 * np.pi * np.sqrt(rng.uniform(0.02, 1.0, size=n))
    side = np.arange(n) % 2
    angle = turn + np.pi * side
    x = turn[:, None] / np.pi * np.column_stack([np.cos(angle), np.sin(angle)])
    return x + noise * rng.normal(size=(n, 2)), side


def held_out_by_hand(kernel, C, x, y):
    """The share of right answers to held-out rows, every fold learned anew."""
    rows = module.DistinctRows.of(x, y.astype(float), np.ones(len(y)))
    fold = rows.held_out_parts(rows.outcome).fold
    is_right = np.empty(len(y), dtype=bool)
    for part in range(fold.max() + 1):
        test = fold == part
        model = SVC(C=C, gamma=0.5 / kernel.length_scale**2, tol=1e-6)
        model.fit(rows.x[~test], rows.outcome[~test])
        is_right[test] = model.predict(rows.x[test]) == rows.outcome[test]
    return is_right.mean()


def test_settings_are_chosen_by_folds_as_by_learning_each_anew():
    x, y = spirals(160)
    kernels = [SquaredExponential(length) for length in (0.1, 0.4, 1.6)]
    costs = (0.1, 1.0, 10.0)
    model = SupportVectorClassifier(kernels, C=costs, tolerance=1e-6).fit(x, y)
    expected = [held_out_by_hand(kernel, C, x, y) for kernel in kernels for C in costs]
    assert_allclose(model.cv_results_["mean_test_score"], expected)
    best = int(np.argmax(expected))
    assert (model.kernel_, model.C_) == (kernels[best // 3], costs[best % 3])
    assert model.cv_results_["rank_test_score"][best] == 1
    alone = SupportVectorClassifier(model.kernel_, C=model.C_, tolerance=1e-6).fit(x, y)
    assert_allclose(model.decision_function(x), alone.decision_function(x))
    assert alone.cv_results_ is None


def test_a_grid_over_cost_and_width_parts_the_spirals():
    x, y = spirals()
    fresh, truth = spirals(400, seed=1)
    kernels = [SquaredExponential(length) for length in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)]
    fine = SupportVectorClassifier(kernels, C=np.geomspace(0.1, 1000.0, 5)).fit(x, y)
    coarse = SupportVectorClassifier(kernels[1::2], C=(1.0, 100.0)).fit(x, y)
    assert fine.score(fresh, truth) > 0.95
    best = max(fine.cv_results_["mean_test_score"])
    assert max(coarse.cv_results_["mean_test_score"]) > best - 0.03


def test_cost_and_epsilon_of_regression_are_chosen_by_folds():
    model = SupportVectorRegressor(C=(0.1, 1.0, 10.0), epsilon=(0.02, 0.1, 0.5)).fit(X, NUMBER)
    table = model.cv_results_
    best = int(np.argmax(table["mean_test_score"]))
    assert (model.C_, model.epsilon_) == (table["param_C"][best], table["param_epsilon"][best])
    rows = module.DistinctRows.of(X, NUMBER, np.ones(120))
    fold = rows.held_out_parts().fold
    z = (rows.x - X.mean(axis=0)) / X.std(axis=0)
    said = np.empty(120)
    for part in range(5):
        test = fold == part
        other = SVR(C=model.C_, epsilon=model.epsilon_, gamma=1.0 / 3.0, tol=1e-8)
        said[test] = other.fit(z[~test], rows.outcome[~test]).predict(z[test])
    error = np.square(said - rows.outcome).mean()
    assert_allclose(-table["mean_test_score"][best], error, rtol=1e-2)


@pytest.mark.parametrize("labels", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_answers_and_probabilities_and_scores_agree(labels, class_weight):
    model = SupportVectorClassifier(C=3.0, class_weight=class_weight, probability=True)
    model.fit(X, labels)
    queries = RNG.normal(size=(300, 3)) * [2.0, 20.0, 0.2] + [0.0, 5.0, -2.0]
    probability = model.predict_proba(queries)
    score = model.decision_function(queries)
    answer = model.predict(queries)
    assert_array_equal(answer, model.classes_[probability.argmax(axis=1)])
    assert_allclose(probability.sum(axis=1), 1.0)
    assert_array_equal(answer, model.predict_dist(queries).mode())
    if len(model.classes_) == 2:
        assert_array_equal(score > 0, probability[:, 1] > 0.5)
        order = np.argsort(score)
        assert (np.diff(probability[order, 1]) >= 0).all()
        assert_allclose(score, model.pair_scores(queries)[:, 0] - model.score_middle_[0])
    else:
        assert_array_equal(model.classes_[score.argmax(axis=1)], answer)


def test_probabilities_are_only_there_when_asked_for():
    plain = SupportVectorClassifier().fit(X, Y)
    assert not hasattr(plain, "predict_proba")
    assert not hasattr(plain, "predict_dist")
    assert not hasattr(SupportVectorRegressor().fit(X, NUMBER), "predict_dist")
    with pytest.raises(AttributeError) as refused:
        plain.predict_proba(X)
    assert "Pass probability=True" in str(refused.value.__cause__)


def test_the_log_score_is_that_of_a_calibrated_machine_on_real_data():
    for load in (load_breast_cancer, load_iris):
        x, y = load(return_X_y=True)
        some = train_test_split(x, y, test_size=0.4, stratify=y, random_state=0)
        train, test, y_train, y_test = some
        model = SupportVectorClassifier(probability=True).fit(train, y_train)
        scaler = StandardScaler().fit(train)
        other = CalibratedClassifierCV(SVC(), method="sigmoid", ensemble=False)
        other.fit(scaler.transform(train), y_train)
        own = log_loss(y_test, model.predict_proba(test))
        theirs = log_loss(y_test, other.predict_proba(scaler.transform(test)))
        base = log_loss(y_test, np.tile(np.bincount(y_train) / len(y_train), (len(y_test), 1)))
        assert own < theirs + 0.02
        assert own < 0.3 * base


def test_noise_of_regression_is_that_of_errors_out_of_fold():
    model = SupportVectorRegressor(probability=True).fit(X, NUMBER)
    rows = module.DistinctRows.of(X, NUMBER, np.ones(120))
    fold, error = rows.held_out_parts().fold, np.empty(120)
    for part in range(5):
        test = fold == part
        fitted = SupportVectorRegressor(model.kernel_).fit(rows.x[~test], rows.outcome[~test])
        error[test] = fitted.predict(rows.x[test]) - rows.outcome[test]
    assert_allclose(model.noise_scale_, np.sqrt(np.square(error).mean()), rtol=1e-3)
    assert model.noise_df_ == 120
    rng = np.random.default_rng(4)
    z = rng.normal(size=(1000, 3))
    truth = np.sin(z[:, 0]) + 0.2 * z[:, 1] + 0.1 * rng.normal(size=1000)
    low, high = model.predict_interval(z * X.std(axis=0) + X.mean(axis=0), 0.9).T
    assert 0.85 < np.mean((low < truth) & (high > truth)) < 0.97
    mean, std = model.predict(X, return_std=True)
    assert_allclose(mean, model.predict_dist(X).mean())
    assert_allclose(std, model.noise_scale_ * np.sqrt(120 / 118))


def test_weights_of_rows_are_copies_also_in_folds():
    weight = np.random.default_rng(3).integers(0, 3, size=120)
    settings = {"C": (0.3, 3.0), "probability": True}
    weighted = SupportVectorClassifier(**settings).fit(X, Y, sample_weight=weight)
    copied = SupportVectorClassifier(weighted.kernel_, **settings)
    copied.fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    assert weighted.C_ == copied.C_
    assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"C": (1.0, -1.0)}, ValueError, "C must be a positive number; found -1.0"),
        ({"C": (1.0, np.inf)}, ValueError, "several C must be finite"),
        ({"C": ()}, ValueError, "several C must be finite"),
        ({"kernel": ["rbf"]}, TypeError, "kernel must be None or a kernel"),
        ({"kernel": ()}, ValueError, "kernel must name one or more"),
        ({"probability": "yes"}, TypeError, "probability must be True or False"),
    ],
)
def test_several_settings_that_make_no_sense_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        SupportVectorClassifier(**settings).fit(X, Y)


def test_the_only_row_of_a_class_is_never_held_out():
    y = np.where(np.arange(120) == 7, "rare", "common")
    model = SupportVectorClassifier(C=(0.1, 1.0), probability=True).fit(X, y)
    rows = module.DistinctRows.of(X, (y == "rare").astype(float), np.ones(120))
    fold = rows.held_out_parts(rows.outcome).fold
    assert_array_equal(fold == -1, rows.outcome == 1)
    assert set(fold) == {-1, 0, 1, 2, 3, 4}
    assert model.predict_proba(X)[:, 1].mean() < 0.2


def test_copies_of_a_row_are_held_out_one_by_one():
    """Of two kinds of rows, 30 % of each have the class that is rare there."""
    x = np.repeat([[0.0], [1.0]], 100, axis=0)
    y = (np.arange(200) % 100 < np.repeat([30, 70], 100)).astype(int)
    model = SupportVectorClassifier(C=(1.0, 10.0), probability=True).fit(x, y)
    assert_allclose(model.cv_results_["mean_test_score"], 0.7)
    assert_allclose(model.predict_proba([[0.0], [1.0]])[:, 1], [0.3, 0.7], atol=0.01)
    rows = module.DistinctRows.of(x, y.astype(float), np.ones(200))
    parts = rows.held_out_parts(rows.outcome)
    assert_allclose(np.bincount(parts.row, parts.weight), rows.weight)
    for fold in range(5):
        own, weight = parts.learned(fold)
        assert_allclose(weight, 0.8 * rows.weight[own])
        assert_allclose(parts.weight[parts.test(fold)], 0.2 * rows.weight)


@pytest.mark.parametrize("weight", [1.0, 5.0, 100.0])
def test_weights_do_not_let_held_out_rows_be_learned_by_heart(weight):
    rng = np.random.default_rng(3)
    x, noise = rng.normal(size=(120, 3)), rng.integers(2, size=120)
    model = SupportVectorClassifier(C=(1.0 / weight, 100.0 / weight), probability=True)
    model.fit(x, noise, np.full(120, weight))
    assert max(model.cv_results_["mean_test_score"]) < 0.65
    assert np.abs(model.predict_proba(x) - 0.5).max() < 0.3
    numbers = SupportVectorRegressor(C=1.0 / weight, probability=True)
    numbers.fit(x, rng.normal(size=120), np.full(120, weight))
    assert numbers.noise_scale_ > 0.8


def test_a_rare_class_does_not_make_folds_few():
    x, y = np.arange(40.0)[:, None], np.append(np.zeros(38), [1.0, 1.0])
    rows = module.DistinctRows.of(x, y, np.ones(40))
    parts = rows.held_out_parts(rows.outcome)
    assert parts.n_folds == 5
    assert all(np.any(rows.outcome[parts.learned(fold)[0]] == 1.0) for fold in range(5))


def test_one_row_of_numbers_is_not_enough_for_folds():
    with pytest.raises(ValueError, match="need two distinct rows or more; found 1 sample"):
        SupportVectorRegressor(probability=True).fit([[1.0]], [2.0])


@pytest.mark.parametrize("unit", [1e-40, 1e-21, 1e25, 1e40])
def test_regression_in_any_unit_of_the_outcome_is_the_same(unit):
    settings = {"C": (0.5, 5.0), "epsilon": 0.1, "probability": True}
    usual = SupportVectorRegressor(**settings).fit(X, NUMBER)
    settings |= {"C": (0.5 * unit, 5.0 * unit), "epsilon": 0.1 * unit}
    other = SupportVectorRegressor(**settings).fit(X, NUMBER * unit)
    assert_allclose(other.predict(X) / unit, usual.predict(X), atol=1e-6)
    assert_allclose(other.noise_scale_ / unit, usual.noise_scale_, rtol=1e-6)
    assert_allclose(other.dual_coef_ / unit, usual.dual_coef_, atol=1e-6)
    assert_array_equal(other.support_, usual.support_)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1.7e9])
def test_a_linear_boundary_far_from_the_origin_keeps_its_digits(offset):
    near = SupportVectorClassifier(Linear()).fit(Z, Y)
    far = SupportVectorClassifier(Linear()).fit(Z + offset, Y)
    assert_allclose(far.coef_, near.coef_, atol=1e-3)
    assert_allclose(far.decision_function(Z + offset), near.decision_function(Z), atol=2e-3)


def test_class_weights_are_costs_and_no_copies():
    """Folds hold whole rows out; probabilities are those of classes as frequent as weighed."""
    weights = {"no": 1.0, "yes": 20.0}
    model = SupportVectorClassifier(class_weight=weights, probability=True).fit(X, Y)
    parts = module.DistinctRows.of(
        X, (Y == "yes").astype(float), np.ones(120), np.array([1.0, 20.0])
    ).held_out_parts()
    assert len(parts.row) == 120
    assert_allclose(parts.weight, 1.0)
    importance = np.where(Y == "yes", 20.0, 1.0)
    share = np.average(Y == "yes", weights=importance)
    assert share - (Y == "yes").mean() > 0.3
    said = model.predict_proba(X)[:, 1]
    assert_allclose(np.average(said, weights=importance), share, atol=0.02)


def test_machines_work_in_a_pipeline_a_grid_search_and_a_frame():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    steps = make_pipeline(StandardScaler(), SupportVectorClassifier())
    grid = {"supportvectorclassifier__C": [0.01, 10.0]}
    search = GridSearchCV(steps, grid, cv=3).fit(frame, Y)
    assert search.best_params_ == {"supportvectorclassifier__C": 10.0}
    assert search.score(frame, Y) > 0.9
    machine = SupportVectorRegressor(C=10.0, epsilon=0.01, probability=True)
    machine.fit(frame, NUMBER)
    assert list(machine.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        machine.predict(frame.rename(columns={"a": "z"}))
    polar = pl.from_pandas(frame)
    assert_array_equal(machine.predict(polar), machine.predict(frame))


def test_machines_are_compared_with_models_of_both_kinds():
    x = np.linspace(-3.0, 3.0, 60)[:, None]
    noise = 0.1 * np.random.default_rng(4).normal(size=60)
    y = np.sin(2.0 * x[:, 0]) + noise
    machine = SupportVectorRegressor(C=10.0, epsilon=0.05, probability=True)
    found = compare({"line": LinearRegression(), "machine": machine}, x, y)
    assert found.table.loc["machine", "rmse"] < 0.3 * found.table.loc["line", "rmse"]
    machine = SupportVectorClassifier(C=10.0, probability=True)
    found = compare({"line": LogisticRegression(), "machine": machine}, x, y > 0)
    scores = found.table["log_score"]
    assert scores["machine"] > scores["line"]

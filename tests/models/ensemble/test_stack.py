import threading
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier, is_regressor
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import KFold, RepeatedKFold, TimeSeriesSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from credo.evaluation import GroupedFolds, HoldOut, TimeFolds
from credo.features import PolynomialBasis
from credo.inference.engine.stacking import stacking_weights
from credo.models import AdaBoost, LinearRegression, NaiveBayes, Stack
from credo.models import LogisticRegression as Averaged
from credo.models.gaps.gap_average import GapAverage
from credo.models.gaps.row_completion import RowCompletion
from credo.validation import ResidualNormal, out_of_fold_normal
from credo.validation.splits import dealt_folds


def curve(n=80, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 1))
    return x, x[:, 0] ** 2 + 0.1 * rng.normal(size=n)


def classes(n=90, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    z = 2 * x[:, 0] + rng.logistic(size=n)
    return x, np.array(["low", "mid", "top"])[np.digitize(z, [-1.5, 1.5])]


LINE = ("line", LinearRegression())
PARABOLA = ("parabola", LinearRegression(PolynomialBasis(2)))
LOGISTIC = ("logistic", LogisticRegression())
CONSTANT = ("constant", DummyClassifier(strategy="prior"))


def test_weights_are_those_of_the_log_scores_of_a_manual_loop_over_folds():
    x, y = curve()
    cv = KFold(5, shuffle=True, random_state=3)
    stack = Stack([LINE, PARABOLA], cv=cv).fit(x, y)
    scores = np.empty((2, len(y)))
    for train, test in cv.split(x):
        for k, (_, model) in enumerate([LINE, PARABOLA]):
            predictive = model.fit(x[train], y[train]).predict_dist(x[test])
            scores[k, test] = predictive.log_prob(y[test])
    assert_allclose(stack.log_scores_, scores, rtol=1e-9)
    assert_allclose(stack.weights_, stacking_weights(scores), rtol=1e-9)


def test_the_predictive_is_the_weighted_mixture_of_models_fitted_to_all_rows():
    x, y = curve()
    stack = Stack([LINE, PARABOLA], cv=4).fit(x, y)
    parts = [model.fit(x, y).predict_dist(x) for _, model in (LINE, PARABOLA)]
    density = stack.weights_ @ np.exp([part.log_prob(y) for part in parts])
    assert_allclose(stack.predict_dist(x).log_prob(y), np.log(density), rtol=1e-9)
    assert stack.weights_[1] > 0.9
    assert_allclose(stack.table()["weight"], stack.weights_)


def test_a_stack_of_classifiers_mixes_probabilities():
    x, y = classes()
    stack = Stack([LOGISTIC, CONSTANT], cv=5).fit(x, y)
    assert is_classifier(stack)
    assert not is_regressor(stack)
    parts = [model.fit(x, y).predict_proba(x) for _, model in (LOGISTIC, CONSTANT)]
    mixed = stack.weights_[0] * parts[0] + stack.weights_[1] * parts[1]
    assert_allclose(stack.predict_proba(x), mixed, rtol=1e-9)
    assert set(stack.predict(x)) <= {"low", "mid", "top"}
    assert stack.held_out_.shape == (2, 90, 3)
    told = np.searchsorted(stack.classes_, y)
    assert_allclose(np.log(stack.held_out_[:, np.arange(90), told]), stack.log_scores_)
    assert stack.score(x, y) == (stack.predict(x) == y).mean()


def test_the_stack_scores_at_least_as_well_as_its_best_member_on_held_out_rows():
    x, y = classes(200, seed=2)
    stack = Stack([LOGISTIC, CONSTANT, ("bayes", GaussianNB())], cv=5).fit(x, y)
    mixture = np.log(stack.weights_ @ np.exp(stack.log_scores_)).mean()
    assert mixture >= stack.log_scores_.mean(axis=1).max() - 1e-5


def test_a_member_that_called_the_truth_impossible_is_outvoted_and_not_fatal():
    x, y = classes(60)
    sure = ("neighbor", KNeighborsClassifier(1))
    stack = Stack([sure, LOGISTIC], cv=5).fit(x, y)
    assert np.isneginf(stack.log_scores_[0]).any()
    assert stack.weights_[1] > stack.weights_[0]
    assert np.isneginf(stack.table().loc["neighbor", "log_score"])


def test_folds_are_stratified_and_keep_copies_of_a_row_together():
    x, y = classes(90)
    codes = np.unique(y, return_inverse=True)[1]
    rng = np.random.default_rng(0)
    fold = dealt_folds(np.r_[x, x], np.r_[codes, codes], 5, np.unique(y), rng)
    assert (fold[:90] == fold[90:]).all()
    counts = np.array([np.bincount(codes[fold[:90] == i], minlength=3) for i in range(5)])
    assert (np.ptp(counts, axis=0) <= 2).all()


def test_folds_follow_the_rows_when_their_order_changes():
    x, y = curve(33)
    order = np.random.default_rng(1).permutation(33)
    one = dealt_folds(x, y, 4, None, np.random.default_rng(0))
    two = dealt_folds(x[order], y[order], 4, None, np.random.default_rng(0))
    assert (one[order] == two).all()
    assert np.ptp(np.bincount(one)) <= 1


def test_text_and_missing_entries_reach_members_that_can_use_them():
    x, y = classes(60)
    frame = pd.DataFrame({"number": x[:, 0], "text": np.where(x[:, 1] > 0, "a", None)})
    chosen = make_pipeline(Columns(), LogisticRegression())
    stack = Stack([("pipeline", chosen), CONSTANT], cv=3).fit(frame, y)
    assert stack.feature_names_in_.tolist() == ["number", "text"]
    assert_allclose(stack.predict_proba(frame).sum(axis=1), 1.0)


class Columns(StandardScaler):
    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X[["number"]])

    def transform(self, X, copy=None):
        return super().transform(X[["number"]])


def test_a_stack_works_inside_cross_validation_of_scikit_learn():
    x, y = curve(60)
    found = cross_val_score(Stack([LINE, PARABOLA], cv=3), x, y, cv=3)
    assert (found > 0.5).all()


def test_settings_of_members_are_reached_by_name():
    stack = Stack([LINE, PARABOLA]).set_params(line__weight_precision=3.0)
    assert stack.get_params()["line__weight_precision"] == 3.0
    LINE[1].set_params(weight_precision="evidence")


def test_folds_are_drawn_by_random_state():
    x, y = curve(40)
    one, same, other = (Stack([LINE], cv=4, random_state=s).fit(x, y).fold_ for s in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


def test_mixed_kinds_and_members_without_probabilities_are_refused():
    x, y = classes(60)
    with pytest.raises(ValueError, match="all classifiers or all regressors; found"):
        Stack([LOGISTIC, LINE]).fit(x, y)
    with pytest.raises(TypeError, match=r"found none in \['ridge'\]"):
        Stack([LOGISTIC, ("ridge", RidgeClassifier())]).fit(x, y)


def test_a_foreign_regressor_is_weighed_by_the_normal_of_its_residuals():
    x, y = curve(60)
    stack = Stack([LINE, ("ridge", Ridge())], cv=5).fit(x, y)
    expected = out_of_fold_normal(Ridge(), x, y, stack.fold_)
    assert_allclose(stack.log_scores_[1], expected.log_prob(y))
    alone = Stack([("ridge", Ridge())], cv=5).fit(x, y)
    noise = ResidualNormal.of(y, alone.held_out_[0])
    found = alone.predict_dist(x[:3])
    expected = noise.around(Ridge().fit(x, y).predict(x[:3]))
    assert_allclose(found.mean(), expected.mean())
    assert_allclose(found.interval(0.9), expected.interval(0.9))
    assert_allclose(found.aleatoric_std, expected.std())


@pytest.mark.parametrize("estimators", [[], {}, [3.0], [("a", None)], None])
def test_what_holds_no_models_is_refused(estimators):
    with pytest.raises(ValueError, match=r"models by name, \(name, estimator\) pairs or"):
        Stack(estimators).fit(*curve())


def test_models_by_name_and_models_alone_are_stacked_as_pairs_are():
    x, y = curve()
    expected = Stack([LINE, ("ridge", Ridge())], cv=4).fit(x, y)
    for estimators in ({LINE[0]: LINE[1], "ridge": Ridge()}, [LINE[1], Ridge()]):
        found = Stack(estimators, cv=4).fit(x, y)
        assert_allclose(found.weights_, expected.weights_)
        assert_allclose(found.predict(x[:3]), expected.predict(x[:3]))


def test_more_folds_than_rows_in_the_rarest_class_is_refused_before_any_work():
    x, y = classes(30)
    y[:] = "low"
    y[:4] = "top"
    with pytest.raises(ValueError, match=r"found cv=10 and 4 rows of class 'top' \(of 2"):
        Stack([LOGISTIC], cv=10).fit(x, y)
    with pytest.raises(ValueError, match="at least 2 classes"):
        Stack([LOGISTIC], cv=2).fit(x, np.repeat("low", 30))


def test_a_splitter_that_repeats_rows_is_refused():
    with pytest.raises(ValueError, match="at most once"):
        Stack([LINE], cv=RepeatedKFold(n_splits=2, n_repeats=2)).fit(*curve(20))
    with pytest.raises(ValueError, match="on both sides"):
        Stack([LINE], cv=[(np.arange(12), np.arange(11, 20))]).fit(*curve(20))


def test_weights_go_only_to_members_that_take_them():
    x, y = classes(40)
    with pytest.raises(TypeError, match=r"found none in \['neighbors'\]"):
        Stack([("neighbors", KNeighborsClassifier())], cv=2).fit(x, y, np.ones(40))
    with pytest.raises(ValueError, match="at least one non-zero"):
        Stack([LOGISTIC], cv=2).fit(x, y, np.zeros(40))


def test_return_std_of_classes_is_refused_with_advice():
    stack = Stack([LOGISTIC, CONSTANT], cv=3).fit(*classes(60))
    with pytest.raises(ValueError, match="return_std needs outcomes that are numbers"):
        stack.predict([[0.0, 0.0]], return_std=True)


class Learned(LinearRegression):
    """A line that remembers which rows it was fitted to, told by their input."""

    seen: ClassVar = []

    def fit(self, X, y, sample_weight=None):
        self.seen.append(sorted(np.asarray(X)[:, 0].astype(int)))
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(
    "cv",
    [
        TimeFolds(3),
        TimeFolds(3, gap=1),
        TimeSeriesSplit(3, gap=1),
        HoldOut(0.25),
        GroupedFolds(3, groups=np.repeat(np.arange(6), 2)),
    ],
)
def test_members_learn_from_the_rows_that_the_splitter_names_and_from_no_others(cv):
    x = np.arange(12.0)[:, None]
    y = x[:, 0] + np.sin(5 * x[:, 0])
    Learned.seen.clear()
    stack = Stack([("line", Learned())], cv=cv).fit(x, y)
    pairs = list(cv.split(x, y))
    assert Learned.seen == [*[sorted(train) for train, _ in pairs], list(range(12))]
    expected = np.full(12, -1)
    for i, (train, test) in enumerate(pairs):
        expected[test] = i
        predictive = LinearRegression().fit(x[train], y[train]).predict_dist(x[test])
        assert_allclose(stack.log_scores_[0, test], predictive.log_prob(y[test]))
    assert (stack.fold_ == expected).all()
    assert (np.isnan(stack.log_scores_[0]) == (expected < 0)).all()


def test_rows_without_weight_are_not_learned_from_with_a_splitter():
    x = np.arange(12.0)[:, None]
    weight = np.where(np.arange(12) == 1, 0.0, 1.0)
    Learned.seen.clear()
    stack = Stack([("line", Learned())], cv=TimeFolds(3)).fit(x, np.sin(x[:, 0]), weight)
    assert Learned.seen[0] == [0, 2]
    assert (stack.fold_ == [-1, -1, -1, 0, 0, 0, 1, 1, 1, 2, 2, 2]).all()


def test_a_class_of_few_distinct_rows_is_in_every_fold():
    rng = np.random.default_rng(0)
    x = np.r_[np.ones((20, 2)), rng.normal(size=(40, 2))]
    y = np.repeat(["copy", "free"], [20, 40])
    codes = np.repeat([0, 1], [20, 40])
    fold = dealt_folds(x, codes, 5, np.array(["copy", "free"]), rng)
    assert (np.bincount(fold[:20], minlength=5) == 4).all()
    stack = Stack([LOGISTIC, CONSTANT], cv=5).fit(x, y)
    assert np.isfinite(stack.log_scores_).all()
    assert np.isfinite(stack.table().to_numpy()).all()


def test_few_distinct_rows_of_numbers_are_dealt_to_every_fold():
    x, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.repeat([1.0, 2.0], 10)
    fold = dealt_folds(x, y, 5, None, np.random.default_rng(0))
    assert (np.bincount(fold, minlength=5) == 4).all()
    stack = Stack([LINE], cv=5).fit(x, y + 0.0)
    assert np.isfinite(stack.log_scores_).all()


def test_copies_stay_together_in_a_class_that_has_enough_distinct_rows():
    rng = np.random.default_rng(0)
    x = np.r_[np.repeat(rng.normal(size=(10, 2)), 3, axis=0), np.zeros((9, 2))]
    codes = np.repeat([0, 1], [30, 9])
    fold = dealt_folds(x, codes, 3, np.array([5, 7]), rng)
    assert (fold[:30].reshape(10, 3) == fold[:30:3, None]).all()
    assert (np.bincount(fold[30:], minlength=3) == 3).all()


def test_the_table_counts_the_rows_that_a_member_called_impossible():
    x, y = classes(60)
    stack = Stack([("neighbor", KNeighborsClassifier(1)), LOGISTIC], cv=5).fit(x, y)
    wrong = (stack.held_out_[0].argmax(axis=1) != np.unique(y, return_inverse=True)[1]).sum()
    assert stack.table()["n_impossible"].tolist() == [wrong, 0]


def test_weights_are_refused_where_no_member_deemed_any_outcome_possible():
    x, y = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    apart = [(np.arange(4), np.arange(4, 8)), (np.arange(4, 8), np.arange(4))]
    with pytest.raises(ValueError, match=r"found none: .*'constant'.*hold every class"):
        Stack([CONSTANT], cv=apart).fit(x, y)


@pytest.mark.parametrize("seed", range(8))
def test_a_rare_class_leaves_every_held_out_score_finite(seed):
    x = np.array([[letter == other for letter in "abc"] for other in "bccccacabbbbacbbba"])
    y = np.array(list("bbbbcbcbbcbabbabcb"))
    stack = Stack([LOGISTIC, CONSTANT], cv=2, random_state=seed).fit(x.astype(float), y)
    assert np.isfinite(stack.log_scores_).all()


def test_a_model_without_hope_is_dropped_and_the_others_are_weighed_as_without_it():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(1500, 2))
    y = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=1500)
    line, parabola = LinearRegression(), LinearRegression(PolynomialBasis(2))
    pair = [("line", line), ("parabola", parabola)]
    raced, whole = Stack(pair, drop_early=True).fit(X, y), Stack(pair).fit(X, y)
    is_asked = np.isfinite(raced.log_scores_)
    assert (is_asked[0] == (raced.fold_ <= 1)).all()
    assert is_asked[1].all()
    assert_allclose(raced.log_scores_[is_asked], whole.log_scores_[is_asked])
    assert_allclose(raced.weights_, [0.0, 1.0])
    assert_allclose(whole.weights_, [0.0, 1.0], atol=0.01)
    assert raced.table()["log_score"].is_monotonic_increasing


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shared_settings_give_nearly_the_scores_of_fits_to_each_fold(n_classes):
    x, y = classes(500)
    y = np.where(y == "mid", "low", y) if n_classes == 2 else y
    weight = np.where(np.arange(500) % 7 == 0, 0.0, 1.0)
    pair = [("logistic", Averaged(PolynomialBasis(3))), CONSTANT]
    quick = Stack(pair, cv=5, share_settings=True).fit(x, y, weight)
    slow = Stack(pair, cv=5).fit(x, y, weight)
    is_held = weight > 0
    quick_scores, slow_scores = quick.log_scores_[0, is_held], slow.log_scores_[0, is_held]
    whole = quick.estimators_[0].predict_log_proba(x)
    own = whole[np.arange(500), np.searchsorted(quick.classes_, y)][is_held]
    assert np.abs(quick_scores - slow_scores).mean() < 0.2 * np.abs(own - slow_scores).mean()
    assert_allclose(quick_scores.mean(), slow_scores.mean(), atol=2e-3)
    assert (quick.log_scores_[1, is_held] == slow.log_scores_[1, is_held]).all()
    assert np.isnan(quick.log_scores_[:, ~is_held]).all()
    assert_allclose(quick.weights_, slow.weights_, atol=0.05)


def test_folds_of_shared_settings_have_not_seen_the_outcomes_of_their_rows():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(600, 30)), rng.integers(0, 2, 600)
    x[::9, 3] = np.nan
    completion = RowCompletion.learn(x, y)
    # A wide prior: the fit to all rows is sure of what it has seen.
    model = GapAverage(Averaged(weight_precision=1e-3), completion)
    stack = Stack([("logistic", model), CONSTANT], cv=10, share_settings=True).fit(x, y)
    told = stack.estimators_[0].predict_proba(x)[np.arange(600), y]
    assert np.log(told).mean() > np.log(0.5) + 0.02
    assert stack.log_scores_[0].mean() < np.log(0.5) - 0.01


def test_shared_settings_learn_from_the_past_alone_where_the_splitter_asks_for_it():
    x, y = classes(300)
    quick = Stack([("logistic", Averaged())], cv=TimeFolds(4), share_settings=True).fit(x, y)
    slow = Stack([("logistic", Averaged())], cv=TimeFolds(4)).fit(x, y)
    is_before = quick.fold_ < 3
    assert_allclose(quick.log_scores_[:, is_before], slow.log_scores_[:, is_before])
    # The last fold is held out of all rows.
    assert_allclose(quick.log_scores_, slow.log_scores_, atol=0.02)


def test_shared_settings_find_a_temperature_once(monkeypatch):
    x, y = classes(200)
    x[::9, 1] = np.nan
    seen = []
    monkeypatch.setattr(
        "credo.models.margin.ada_boost.vote_sharpness", lambda *data: seen.append(1) or 0.25
    )
    boosting = GapAverage(AdaBoost(5), RowCompletion.learn(x, y), is_single=True)
    stack = Stack([("boosting", boosting), CONSTANT], cv=3, share_settings=True).fit(x, y)
    assert len(seen) == 1
    assert stack.estimators_[0].estimator_.temperature_ == 4.0


def test_models_side_by_side_give_the_same_bits_as_one_after_the_other(monkeypatch):
    x, y = classes(240)
    x[::9, 1] = np.nan
    completion = RowCompletion.learn(x, y)
    members = [Averaged(PolynomialBasis(2)), AdaBoost(5), NaiveBayes()]
    pairs = [(f"m{k}", GapAverage(model, completion)) for k, model in enumerate(members)]
    found = []
    for n_cores in (1, 3):
        monkeypatch.setattr("credo.numerics.parallel.threads.n_cores", lambda n=n_cores: n)
        found.append(Stack([*pairs, CONSTANT], cv=4, share_settings=True).fit(x, y))
    alone, beside = found
    assert_array_equal(alone.held_out_, beside.held_out_)
    assert_array_equal(alone.weights_, beside.weights_)
    assert_array_equal(alone.predict_proba(x[1::9]), beside.predict_proba(x[1::9]))


def test_members_run_side_by_side_only_where_settings_are_shared():
    class Where(DummyClassifier):
        threads: ClassVar = set()

        def fit(self, X, y):
            Where.threads.add(threading.get_ident())
            return super().fit(X, y)

    Stack([("a", Where()), ("b", Where()), ("c", Where())], cv=3).fit(*classes(60))
    assert Where.threads == {threading.get_ident()}

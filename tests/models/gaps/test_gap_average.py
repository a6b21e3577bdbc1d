import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo import LinearRegression, LogisticRegression
from credo.data import load_set
from credo.distributions import Normal
from credo.evaluation import cross_validate
from credo.features import PolynomialBasis, SplineBasis
from credo.models import GaussianClassConditional, Stack
from credo.models.gaps.gap_average import (
    FoldCompletion,
    GapAverage,
    average_over_gaps,
    curved_completion,
    held_out_completion,
)
from credo.models.gaps.row_completion import RowCompletion


def normal_rows(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.6], [0.6, 1.0]], n)
    return X, X @ [1.0, 2.0] + 0.5 * rng.normal(size=n)


def test_a_gap_widens_the_prediction_to_what_the_rest_of_the_row_says():
    X, y = normal_rows(4000, 0)
    model = LinearRegression().fit(X, y)
    gap = np.array([[1.0, np.nan], [1.0, 1.0]])
    told = average_over_gaps(model, RowCompletion.learn(X, y), gap)
    # y given the first input alone: slope 1 + 2 * 0.6, variance 0.25 + 4 * (1 - 0.36).
    assert_allclose(told.mean(), [2.2, 3.0], atol=0.08)
    assert_allclose(told.std(), [np.sqrt(2.81), 0.5], rtol=0.03)
    expected = Normal(2.2, np.sqrt(2.81)).interval(0.9)
    assert_allclose(told.interval(0.9)[0], expected, atol=0.15)
    assert_allclose(told.epistemic_std**2 + told.aleatoric_std**2, told.variance())
    assert_allclose(told[1].interval(0.9), model.predict_interval([[1.0, 1.0]])[0])


def test_weights_learned_from_rows_with_gaps_are_not_attenuated():
    X, y = normal_rows(2000, 1)
    gaps = np.where(np.random.default_rng(2).random(X.shape) < 0.3, np.nan, X)
    model = GapAverage(LinearRegression(), RowCompletion.learn(gaps, y)).fit(gaps, y)
    assert_allclose(model.estimator_.coef_, [1.0, 2.0], atol=0.08)
    assert model.estimator_.noise_precision_**-0.5 == pytest.approx(0.5, rel=0.1)
    mean_filled = np.where(np.isnan(gaps), 0.0, gaps)
    assert LinearRegression().fit(mean_filled, y).noise_precision_ ** -0.5 > 1.0


def test_all_copies_of_a_row_are_held_out_together_and_without_their_outcome():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(120, 3)), rng.normal(size=120)
    gaps = np.where(rng.random(X.shape) < 0.4, np.nan, X)
    completion = RowCompletion.learn(gaps, y)
    line = cross_validate(GapAverage(LinearRegression(), completion), gaps, y)
    constant = cross_validate(LinearRegression(PolynomialBasis(0)), X, y)
    # Inputs say nothing: whoever had seen an outcome would score above the constant.
    assert line.score.value < constant.score.value + 0.01


@pytest.mark.parametrize("share_settings", [False, True])
def test_labels_that_are_noise_are_not_told_by_the_density_of_all_rows(share_settings):
    score = {}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(80, 7)), rng.permutation(np.resize(["a", "b"], 80))
        X[rng.random(X.shape) < 0.35] = np.nan
        completion = RowCompletion.learn(X, y)
        for kind in (completion, held_out_completion(completion, X, ())):
            members = [
                ("gaussian", GapAverage(GaussianClassConditional(), kind)),
                ("linear", GapAverage(LogisticRegression(), kind)),
            ]
            stack = Stack(members, cv=5, random_state=0, share_settings=share_settings)
            found = stack.fit(X, y).log_scores_.mean(axis=1)
            score.setdefault(type(kind), []).append(found)
    told = {kind: np.mean(found, axis=0) for kind, found in score.items()}
    assert told[RowCompletion][0] > -0.6
    # Shared settings have seen all rows, which logistic regression profits from a little.
    assert (told[FoldCompletion] < [-0.69, -0.66 if share_settings else -0.69]).all()


def test_rows_that_are_held_out_share_a_density_if_they_are_many_or_complete():
    X, y = normal_rows(6000, 0)
    completion = RowCompletion.learn(X, y)
    gaps = np.where(np.random.default_rng(5).random(X.shape) < 0.2, np.nan, X)
    assert held_out_completion(completion, X[:100], ()) is completion
    assert held_out_completion(completion, gaps, ()) is completion
    few = held_out_completion(completion, gaps[:100], ())
    assert few.of(gaps[:90], y[:90]) is few.of(gaps[:90].copy(), y[:90].copy())
    assert few.of(gaps[:90], y[:90]) is not few.of(gaps[10:100], y[10:100])
    empty = np.column_stack([gaps[:9, 0], np.full(9, np.nan)])
    assert few.of(empty, y[:9]) is completion


def test_folds_by_statistics_are_those_of_fits():
    X, y = normal_rows(90, 4)
    gaps = np.where(np.random.default_rng(5).random(X.shape) < 0.2, np.nan, X)
    completion = RowCompletion.learn(gaps, y)
    labels = np.arange(90) % 3
    quick = cross_validate(GapAverage(LinearRegression(), completion), gaps, y, labels=labels)
    slow = np.empty(90)
    for fold in range(3):
        out = labels == fold
        model = GapAverage(LinearRegression(), completion).fit(gaps[~out], y[~out])
        slow[out] = model.predict_dist(gaps[out]).log_prob(y[out])
    assert_allclose(quick.log_score, slow, atol=0.02)


def test_class_probabilities_are_averaged_over_gaps():
    rng = np.random.default_rng(6)
    labels = np.resize(["a", "a", "b"], 600)
    X = rng.normal(size=(600, 2)) + 2.5 * (labels == "b")[:, None]
    model = LogisticRegression().fit(X, labels)
    told = average_over_gaps(
        model, RowCompletion.learn(X, labels), np.array([[np.nan, np.nan], [1.25, np.nan]])
    )
    assert_allclose(told.probability[0], [2 / 3, 1 / 3], atol=0.05)
    # Half way between the classes the first column says nothing.
    assert_allclose(told.probability[1], [2 / 3, 1 / 3], atol=0.08)
    at_mean = model.predict_proba([X.mean(axis=0)])[0]
    assert at_mean.max() > 0.8


@pytest.fixture(scope="module")
def concrete():
    frame = load_set("concrete")
    rng = np.random.default_rng(7)
    order = rng.permutation(len(frame))
    X, y = frame.drop(columns="strength").to_numpy(), frame["strength"].to_numpy()
    return X[order[:600]], y[order[:600]], X[order[600:]], y[order[600:]]


def judged(predictive, y):
    low, high = predictive.interval(0.9).T
    return predictive.log_prob(y).mean(), np.mean((low <= y) & (y <= high))


def test_intervals_hold_where_a_column_that_matters_is_missing_at_prediction_only(concrete):
    X, y, new, truth = concrete
    model = LinearRegression(SplineBasis() + PolynomialBasis(2, orthogonal=True)).fit(X, y)
    new = new.copy()
    new[:, 0] = np.nan
    score, share = judged(average_over_gaps(model, RowCompletion.learn(X, y), new), truth)
    filled = np.where(np.isnan(new), X.mean(axis=0), new)
    other, narrow = judged(model.predict_dist(filled), truth)
    assert narrow < 0.7
    assert 0.86 <= share <= 0.94
    assert score > other + 0.5


def test_intervals_hold_where_a_fifth_of_all_cells_is_missing(concrete):
    rng = np.random.default_rng(8)
    X, y, new, truth = concrete
    X, new = (np.where(rng.random(part.shape) < 0.2, np.nan, part) for part in (X, new))
    spline = LinearRegression(SplineBasis())
    completion = curved_completion(RowCompletion.learn(X, y), [("spline", spline)], X, y)
    model = GapAverage(spline, completion).fit(X, y)
    score, share = judged(model.predict_dist(new), truth)
    mean = np.nanmean(X, axis=0)
    told = [np.column_stack([np.where(np.isnan(p), mean, p), np.isnan(p)]) for p in (X, new)]
    other, _ = judged(
        LinearRegression(SplineBasis()).fit(told[0], y).predict_dist(told[1]), truth
    )
    assert 0.86 <= share <= 0.94
    assert score > other


def test_a_curve_may_be_one_that_uses_no_column():
    rng = np.random.default_rng(9)
    X, y = (
        np.where(rng.random((80, 2)) < 0.3, np.nan, rng.normal(size=(80, 2))),
        rng.normal(size=80),
    )
    constant = [("constant", LinearRegression(PolynomialBasis(0)))]
    rows = curved_completion(RowCompletion.learn(X, y), constant, X, y).training(X, y)
    assert_allclose(rows.mean(np.ones(len(rows.row))), np.ones(80))
    assert not np.isnan(rows.X).any()


def test_a_curve_found_before_is_where_the_next_search_ends(concrete):
    X, y = concrete[0][:180].copy(), concrete[1][:180]
    X[np.random.default_rng(10).random(X.shape) < 0.2] = np.nan
    completion = RowCompletion.learn(X, y)
    candidates = [("spline", LinearRegression(SplineBasis()))]
    first = curved_completion(completion, candidates, X, y)
    again = curved_completion(completion, [], X, y, start=first.curve)
    assert_allclose(again.training(X, y).weight, first.training(X, y).weight, atol=0.05)


def test_noise_is_not_inflated_by_gaps_in_categories():
    rng = np.random.default_rng(11)
    level = rng.integers(0, 3, 400)
    X = np.column_stack([rng.normal(size=400), np.eye(3)[level]])
    y = X @ [1.0, 0.0, 1.5, 3.0] + 0.5 * rng.normal(size=400)
    X[rng.random(400) < 0.5, 1:] = np.nan
    line = [("linear", LinearRegression())]
    completion = curved_completion(RowCompletion.learn(X, y, [(1, 4)]), line, X, y)
    model = GapAverage(LinearRegression(), completion).fit(X, y).estimator_
    assert model.noise_precision_**-0.5 == pytest.approx(0.5, abs=0.1)
    assert_allclose(model.coef_[2:] - model.coef_[1], [1.5, 3.0], atol=0.2)


def hours_with_gaps(n, seed):
    """Return rows of a curve with a fifth of the cells missing, and its outcomes."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(0, 24, n), rng.normal(size=n)])
    y = (X[:, 0] - 12) ** 2 / 10 + X[:, 1] + 0.3 * rng.normal(size=n)
    return np.where(rng.random(X.shape) < 0.2, np.nan, X), y


def test_noise_does_not_grow_with_the_number_of_rows_with_gaps():
    X, y = hours_with_gaps(10_000, 12)
    new, truth = hours_with_gaps(4_000, 13)
    parabola = LinearRegression(PolynomialBasis(2, orthogonal=True))
    completion = curved_completion(RowCompletion.learn(X, y), [("parabola", parabola)], X, y)
    model = GapAverage(parabola, completion).fit(X, y)
    assert model.estimator_.noise_precision_**-0.5 == pytest.approx(0.3, abs=0.04)
    _, share = judged(model.predict_dist(new), truth)
    assert 0.86 <= share <= 0.94


def test_the_curve_of_copies_does_not_depend_on_the_order_or_period_of_rows():
    X, y = hours_with_gaps(8_000, 14)
    X[:, 0] = np.where(np.isnan(X[:, 0]), np.nan, np.resize([3.0, 9.0, 15.0, 21.0], 8_000))
    y = np.resize([8.1, 0.9, 0.9, 8.1], 8_000) + y / 10
    parabola = LinearRegression(PolynomialBasis(2, orthogonal=True))
    completion = RowCompletion.learn(X, y)
    order = np.random.default_rng(15).permutation(len(y))
    curves = [
        curved_completion(completion, [("parabola", parabola)], X[rows], y[rows]).curve
        for rows in (np.arange(len(y)), order)
    ]
    assert_allclose(curves[1].coef_, curves[0].coef_, rtol=1e-6)
    assert np.ptp(curves[0].predict([[3.0, 0.0], [9.0, 0.0]])) > 5

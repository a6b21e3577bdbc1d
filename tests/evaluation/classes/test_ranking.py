import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special
from sklearn import metrics

from credo.evaluation import precision_recall_curve, roc_curve

SCORES = [0.9, 0.8, 0.7, 0.6, 0.55, 0.4]
LABELS = [1, 1, 0, 1, 0, 0]
ROWS = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=40).filter(
    lambda rows: len({is_positive for _, is_positive in rows}) == 2
)


def wins(score, y):
    """Return the share of pairs of a positive and a negative row in the right order."""
    ahead = score[y][:, None] - score[~y]
    return np.mean((ahead > 0) + 0.5 * (ahead == 0))


def delong_variance(score, y):
    """Return the variance of the area as DeLong and others wrote it: of placements."""
    ahead = score[y][:, None] - score[~y]
    won = (ahead > 0) + 0.5 * (ahead == 0)
    return won.mean(axis=1).var(ddof=1) / y.sum() + won.mean(axis=0).var(ddof=1) / (~y).sum()


def test_the_worked_area_is_eight_ninths():
    assert_allclose(roc_curve(LABELS, SCORES).area.value, 8 / 9)


@given(ROWS)
def test_the_area_is_the_share_of_pairs_in_the_right_order_ties_half(rows):
    score, y = (np.array(column) for column in zip(*rows, strict=True))
    curve = roc_curve(y_true=y, y_score=score)
    assert_allclose(curve.area.value, wins(score, y), atol=1e-12)
    trapezoid = np.trapezoid(curve.true_positive_rate, curve.false_positive_rate)
    assert_allclose(curve.area.value, trapezoid, atol=1e-12)
    assert curve.area.low <= curve.area.value <= curve.area.high


@given(ROWS, st.booleans())
def test_curves_are_those_of_scikit_learn(rows, is_weighted):
    score, y = (np.array(column) for column in zip(*rows, strict=True))
    weight = np.linspace(0.5, 2.0, len(y)) if is_weighted else None
    ours = roc_curve(y_true=y, y_score=score, sample_weight=weight)
    fpr, tpr, threshold = metrics.roc_curve(
        y, score, sample_weight=weight, drop_intermediate=False
    )
    assert_allclose(ours.false_positive_rate, fpr, atol=1e-12)
    assert_allclose(ours.true_positive_rate, tpr, atol=1e-12)
    assert_array_equal(ours.threshold, threshold)
    area = metrics.roc_auc_score(y, score, sample_weight=weight)
    assert_allclose(ours.area.value, area, atol=1e-12)
    ours = precision_recall_curve(y_true=y, y_score=score, sample_weight=weight)
    precision, recall, threshold = metrics.precision_recall_curve(
        y, score, sample_weight=weight
    )
    assert_allclose(ours.precision, precision[-2::-1], atol=1e-12)
    assert_allclose(ours.recall, recall[-2::-1], atol=1e-12)
    assert_array_equal(ours.threshold, threshold[::-1])
    mean = metrics.average_precision_score(y, score, sample_weight=weight)
    assert_allclose(ours.average_precision.value, mean, atol=1e-12)


def test_the_interval_of_the_area_is_delongs_on_the_logit_scale():
    rng = np.random.default_rng(0)
    y = rng.uniform(size=60) < 0.4
    score = (rng.normal(size=60) + y).round(1)
    area = roc_curve(y, score, coverage=0.9).area
    half = 0.5 * (special.logit(area.high) - special.logit(area.low))
    error = np.sqrt(delong_variance(score, y)) / (area.value * (1 - area.value))
    assert_allclose(half, 1.6448536 * error, rtol=1e-6)


def test_the_error_of_average_precision_is_its_slope_in_the_weight_of_each_row():
    rng = np.random.default_rng(1)
    y = rng.uniform(size=40) < 0.4
    score = (rng.normal(size=40) + y).round(1)
    slopes = np.empty(40)
    for i in range(40):
        step = 1e-5 * (np.arange(40) == i)
        ends = [
            metrics.average_precision_score(y, score, sample_weight=1 + sign * step)
            for sign in (1, -1)
        ]
        slopes[i] = (ends[0] - ends[1]) / 2e-5
    found = precision_recall_curve(y, score, coverage=0.9).average_precision
    half = 0.5 * (special.logit(found.high) - special.logit(found.low))
    expected = np.sqrt((slopes**2).sum()) / (found.value * (1 - found.value))
    assert_allclose(half, 1.6448536 * expected, rtol=1e-5)


@pytest.mark.parametrize(("n_positive", "n_negative", "shift"), [(20, 80, 1.5), (50, 50, 3.0)])
def test_intervals_hold_the_truth_about_as_often_as_they_say(n_positive, n_negative, shift):
    rng = np.random.default_rng(0)
    truth = special.ndtr(shift / np.sqrt(2.0))
    y = np.repeat([1, 0], [n_positive, n_negative])
    many = np.repeat([1, 0], [n_positive * 4000, n_negative * 4000])
    precise = metrics.average_precision_score(many, rng.normal(size=many.size) + shift * many)
    hits = np.zeros(2)
    for _ in range(400):
        score = rng.normal(size=y.size) + shift * y
        area = roc_curve(y, score).area
        mean = precision_recall_curve(y, score).average_precision
        hits += [area.low <= truth <= area.high, mean.low <= precise <= mean.high]
    # Three standard errors of 400 trials, and two percent for so few rows.
    assert (np.abs(hits / 400 - 0.9) <= 0.065).all()


def test_rows_parted_without_error_still_leave_room_for_errors():
    area = roc_curve([0, 0, 0, 1, 1, 1], [1, 2, 3, 4, 5, 6]).area
    assert area.value == area.high == 1.0
    assert 0.4 < area.low < 0.9
    assert area.method == "Newcombe"
    longer = roc_curve(np.arange(60) >= 30, np.arange(60)).area
    assert area.low < longer.low < 1.0
    worst = roc_curve([0, 0, 0, 1, 1, 1], [6, 5, 4, 3, 2, 1]).area
    assert_allclose([worst.low, worst.high], [0.0, 1.0 - area.low], atol=1e-9)
    mean = precision_recall_curve([0, 0, 1, 1], [1, 2, 3, 4]).average_precision
    assert mean.high == mean.value == 1.0
    assert mean.low < 0.5


def test_a_coin_has_the_precision_of_the_base_rate():
    curve = precision_recall_curve(np.arange(10) < 3, np.zeros(10))
    assert curve.base_rate == 0.3
    assert_allclose(curve.average_precision.value, 0.3)


def test_any_monotone_change_of_the_score_changes_nothing():
    rng = np.random.default_rng(2)
    score, y = rng.normal(size=50), rng.uniform(size=50) < 0.5
    for curve in (roc_curve, precision_recall_curve):
        first, second = (curve(y, s) for s in (score, np.exp(3 * score)))
        ends = [getattr(c, "area", None) or c.average_precision for c in (first, second)]
        assert_allclose([ends[0].low, ends[0].high], [ends[1].low, ends[1].high], rtol=1e-9)


def test_the_positive_class_may_be_named_and_missing_classes_are_left_out():
    y = ["b", "b", "a", "b", "a", "a"]
    assert_allclose(roc_curve(y, SCORES).area.value, 8 / 9)
    assert_allclose(roc_curve(y, SCORES, pos_label="a").area.value, 1 / 9)
    gaps = roc_curve([*y, None], [*SCORES, 0.0])
    assert_allclose(gaps.area.value, 8 / 9)


@pytest.mark.parametrize(
    ("y", "score", "pos_label", "message"),
    [
        ([1, 1], [0.1, 0.2], None, "y_true must hold 2 classes if pos_label is not given"),
        ([1, 1], [0.1, 0.2], 1, "rows of the positive class and rows of others; found 2 rows"),
        ([0, 1, 2], [0.1, 0.2, 0.3], None, "y_true must hold 2 classes"),
        ([0, 1], [0.1, 0.2], 5, r"pos_label must be a class of y_true, \[0, 1\]; found 5"),
        ([0, 1], [0.1, np.nan], None, "y_score must be finite"),
        ([0, 1], [0.1, 0.2, 0.3], None, r"found shape \(3,\) for 2 rows"),
    ],
)
def test_rows_that_make_no_curve_are_refused(y, score, pos_label, message):
    for curve in (roc_curve, precision_recall_curve):
        with pytest.raises(ValueError, match=message):
            curve(y, score, pos_label=pos_label)


def test_an_old_call_keeps_all_its_arguments_by_place():
    score, y = [0.1, 0.4, 0.35, 0.8], ["a", "b", "a", "a"]
    weight = [1.0, 1.0, 2.0, 1.0]
    new = roc_curve(y, score, pos_label="a", sample_weight=weight)
    with pytest.warns(FutureWarning, match="y_true"):
        old = roc_curve(score, y, "a", weight=weight)
    assert old.area.value == new.area.value
    assert old.label == "a"
    many = (score, y, "a", 0.9, None, 7)
    with pytest.warns(FutureWarning), pytest.raises(TypeError, match="at most 5 arguments"):
        roc_curve(*many, weight=weight)

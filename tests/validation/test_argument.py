"""Scores take what scikit-learn's metrics take, in their order, and say what they want."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics
from sklearn.calibration import calibration_curve
from sklearn.naive_bayes import GaussianNB

from credo.distributions import Categorical, Normal
from credo.evaluation import (
    Confusion,
    absolute_error,
    accuracy,
    balanced_accuracy,
    brier_decomposition,
    brier_score,
    class_rates,
    coverage_curve,
    crps_score,
    error_rate,
    evaluate,
    evaluate_classes,
    f1_score,
    interval_score,
    is_covered,
    log_score,
    macro_f1,
    matthews_correlation,
    micro_f1,
    precision_recall_curve,
    probability_integral_transform,
    reliability_curve,
    roc_curve,
    squared_error,
)

RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 2, 60)
SAID = np.where(RNG.uniform(size=60) < 0.8, CODES, 1 - CODES)
SHARE = np.clip(0.5 * CODES + RNG.uniform(0.0, 0.5, 60), 0.01, 0.99)
WEIGHT = RNG.uniform(0.2, 2.0, 60)
NORMAL = Normal([0.0, 1.0], [1.0, 2.0])
COIN = Categorical([[0.3, 0.7], [0.6, 0.4]], ["no", "yes"])

KINDS = {
    "numbers": np.array([0, 1]),
    "booleans": np.array([False, True]),
    "text": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
}


@pytest.fixture(params=KINDS)
def names(request):
    return KINDS[request.param]


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
@pytest.mark.parametrize("form", [np.asarray, list, pd.Series], ids=["array", "list", "series"])
def test_rates_of_classes_are_those_of_scikit_learn(names, weight, form):
    true, said = form(names[CODES]), form(names[SAID])
    sums = {"sample_weight": weight}
    first = names[0].item() if hasattr(names[0], "item") else names[0]
    pairs = [
        (accuracy, metrics.accuracy_score, {}),
        (balanced_accuracy, metrics.balanced_accuracy_score, {}),
        (matthews_correlation, metrics.matthews_corrcoef, {}),
        (f1_score, metrics.f1_score, {"pos_label": first}),
        (f1_score, metrics.f1_score, {"average": "macro"}),
        (f1_score, metrics.f1_score, {"average": "micro"}),
    ]
    for ours, theirs, settings in pairs:
        expected = theirs(true, said, **settings, **sums)
        assert_allclose(ours(true, said, **settings, **sums).value, expected)
    rates = class_rates(true, said, pos_label=first, **sums)
    precision = metrics.precision_score(true, said, pos_label=first, **sums)
    recall = metrics.recall_score(true, said, pos_label=first, **sums)
    assert_allclose([rates["PPV"].value, rates["TPR"].value], [precision, recall])
    table = metrics.confusion_matrix(true, said, **sums)
    assert_allclose(Confusion.of(true, said, **sums).table, table)
    assert_allclose(
        error_rate(true, said, **sums).value, 1 - accuracy(true, said, **sums).value
    )
    assert_allclose(macro_f1(true, said).value, f1_score(true, said, average="macro").value)
    assert_allclose(micro_f1(true, said).value, f1_score(true, said, average="micro").value)


def test_the_positive_class_of_zeros_and_ones_is_one_as_in_scikit_learn():
    assert_allclose(f1_score(CODES, SAID).value, metrics.f1_score(CODES, SAID))
    assert f1_score([1, 1], [1, 1]).value == metrics.f1_score([1, 1], [1, 1]) == 1.0
    assert f1_score([True, True], [True, True]).value == 1.0
    assert np.isnan(f1_score([0, 0], [0, 0]).value)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
@pytest.mark.parametrize("place", [0, 1])
def test_curves_and_areas_are_those_of_scikit_learn(names, weight, place):
    true, label = names[CODES], names[place]
    score = SHARE if place else 1 - SHARE
    roc = roc_curve(true, score, pos_label=label, sample_weight=weight)
    fpr, tpr, threshold = metrics.roc_curve(
        true, score, pos_label=label, sample_weight=weight, drop_intermediate=False
    )
    assert_allclose(roc.false_positive_rate, fpr)
    assert_allclose(roc.true_positive_rate, tpr)
    assert_array_equal(roc.threshold, threshold)
    area = metrics.roc_auc_score(true == label, score, sample_weight=weight)
    assert_allclose(roc.area.value, area)
    found = precision_recall_curve(true, score, pos_label=label, sample_weight=weight)
    mean = metrics.average_precision_score(true, score, pos_label=label, sample_weight=weight)
    assert_allclose(found.average_precision.value, mean)


def test_curves_unpack_as_those_of_scikit_learn_do():
    fpr, tpr, threshold = roc_curve(CODES, SHARE)
    expected = metrics.roc_curve(CODES, SHARE, drop_intermediate=False)
    for found, theirs in zip((fpr, tpr, threshold), expected, strict=True):
        assert_allclose(found, theirs)
    precision, recall, threshold = precision_recall_curve(CODES, SHARE)
    theirs = metrics.precision_recall_curve(CODES, SHARE)
    assert_allclose(precision, theirs[0][-2::-1])
    assert_allclose(recall, theirs[1][-2::-1])
    assert_array_equal(threshold, theirs[2][::-1])


def test_a_score_is_a_number_where_one_is_asked_for():
    found = accuracy(CODES, SAID)
    expected = metrics.accuracy_score(CODES, SAID)
    assert float(found) == pytest.approx(expected)
    assert f"{found:.4f}" == f"{expected:.4f}"
    assert f"{found}" == str(found)


def test_probabilities_are_scored_as_by_scikit_learn(names):
    true = names[CODES]
    columns = np.stack([1 - SHARE, SHARE], axis=1)
    loss = metrics.log_loss(true, columns)
    brier = metrics.brier_score_loss(true, SHARE, pos_label=names[1])
    turned = {"labels": names[::-1]}
    for proba, labels in ((columns, {}), (SHARE, {}), (columns[:, ::-1], turned)):
        assert_allclose(-log_score(true, proba, **labels).mean(), loss)
        assert_allclose(brier_score(true, proba, **labels).mean(), brier)
        assert_allclose(brier_decomposition(true, proba, **labels).value, brier)
    report = evaluate_classes(true, columns, sample_weight=WEIGHT)
    weighted = metrics.log_loss(true, columns, sample_weight=WEIGHT)
    assert_allclose(report.scores["log_loss"].value, weighted)


def test_errors_of_numbers_are_those_of_scikit_learn():
    true, said = RNG.normal(size=(2, 20))
    assert_allclose(squared_error(true, said).mean(), metrics.mean_squared_error(true, said))
    assert_allclose(absolute_error(true, said).mean(), metrics.mean_absolute_error(true, said))


def test_reliability_in_bins_of_one_probability_is_that_of_scikit_learn(names):
    share = np.repeat([0.1, 0.4, 0.8], 20)
    true = names[CODES]
    observed, predicted = calibration_curve(true, share, pos_label=names[0], n_bins=10)
    curve = reliability_curve(true, share, pos_label=names[0], n_bins=3)
    assert_allclose(curve.observed, observed)
    assert_allclose(curve.predicted, predicted)
    second = reliability_curve(true, share, n_bins=3)
    assert_allclose(second.observed, 1 - observed)


MODEL = GaussianNB().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: accuracy([0, 1], MODEL),
            TypeError,
            r"found GaussianNB, a model. Pass model.pr",
        ),
        (lambda: accuracy(MODEL, [0, 1]), TypeError, "y_true must hold classes"),
        (lambda: accuracy([0, 1], COIN), TypeError, r"found Categorical, a distribution.*mode"),
        (lambda: accuracy([0, 1]), TypeError, "y_pred must hold classes, .* found NoneType"),
        (lambda: accuracy([0, 1], 1), TypeError, "y_pred must hold classes, .* found int"),
        (lambda: accuracy([0, 1], [0.2, 0.7]), ValueError, "0.7 .* not probabilities"),
        (lambda: accuracy([0.2, 0.7], [0, 1]), ValueError, "such as 0.2, .* in this order"),
        (
            lambda: f1_score([0, 1], [[0.3, 0.7], [0.6, 0.4]]),
            ValueError,
            r"found shape \(2, 2\), as class probabilities have. Pass one column of classes",
        ),
        (lambda: accuracy([0, 1], ["0", "1"]), ValueError, "alike; found text and numbers"),
        (
            lambda: accuracy(Confusion.of([0, 1], [0, 1]), y_pred=[0, 1]),
            TypeError,
            "a Confusion holds predicted classes",
        ),
        (lambda: f1_score(["a", "b"], ["a", "b"], pos_label="c"), ValueError, "found 'c'"),
        (lambda: f1_score([0, 1], [0, 1], average="samples"), ValueError, "found 'samples'"),
        (lambda: roc_curve([0, 1], MODEL), TypeError, r"predict_proba\(X\)\[:, 1\]"),
        (lambda: roc_curve([0, 1], COIN), TypeError, "Pass the probability of one class"),
        (lambda: roc_curve(COIN, [0, 1]), TypeError, "y_true must hold classes"),
        (
            lambda: roc_curve([0, 1], [[0.3, 0.7], [0.6, 0.4]]),
            ValueError,
            r"y_score must hold numbers, one for each row; found shape \(2, 2\)",
        ),
        (lambda: roc_curve([0.2, 0.7], [0, 1]), ValueError, "0.2. Call roc_curve.y_true, y_sc"),
        (
            lambda: precision_recall_curve([0.2, 0.7], ["a", "b"]),
            ValueError,
            "found 'a'. Call precision_recall_curve.y_true, y_score.: what came true is first",
        ),
        (lambda: roc_curve([0, 1], [0.2, 0.7], 1), TypeError, "two arrays by place; found 3"),
        (lambda: reliability_curve([0.2, 0.7], [0, 1]), ValueError, "Call reliability_curve"),
        (lambda: log_score([0.5, 1.5], [0.4, 1.4]), TypeError, r"model.predict_dist\(X\)"),
        (lambda: log_score([0, 1, 1], [0, 1, 0]), ValueError, "found 0, a label. Pass model"),
        (lambda: brier_score([0, 1], np.array([True, False])), ValueError, "True, a label"),
        (lambda: log_score([0.5, 1.5], MODEL), TypeError, r"model.predict_dist\(X\)"),
        (lambda: log_score(["a", "b"], NORMAL), ValueError, "must hold numbers.* found 'a'"),
        (lambda: crps_score([0.5, 1.5], [0.4, 1.4]), TypeError, "found an array. Pass model"),
        (lambda: crps_score([0.5, 1.5], MODEL), TypeError, "found GaussianNB. Pass model"),
        (lambda: brier_score([0, 1], NORMAL), TypeError, "found Normal. Pass predictions of a"),
        (lambda: brier_score([0.2, 0.7], ["a", "b"]), ValueError, "found 'a'"),
        (lambda: squared_error([0.5, 1.5], MODEL), TypeError, r"Pass model.predict\(X\)"),
        (lambda: squared_error([0.5, 1.5], [0.5]), ValueError, r"shapes \(2,\) and \(1,\)"),
    ],
)
def test_arguments_of_another_kind_are_refused_with_what_is_wanted(call, error, message):
    with pytest.raises(error, match=message):
        call()


OUTCOMES = np.array([0.5, 1.5])
TABLE = Confusion.of([0, 1, 1], [0, 1, 0])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (lambda: log_score(NORMAL, OUTCOMES), lambda: log_score(OUTCOMES, NORMAL)),
        (lambda: log_score(predictive=NORMAL, y=OUTCOMES), lambda: log_score(OUTCOMES, NORMAL)),
        (lambda: log_score(NORMAL, y=OUTCOMES), lambda: log_score(OUTCOMES, NORMAL)),
        (lambda: crps_score(NORMAL, OUTCOMES), lambda: crps_score(OUTCOMES, NORMAL)),
        (lambda: squared_error(NORMAL, OUTCOMES), lambda: squared_error(OUTCOMES, NORMAL)),
        (
            lambda: interval_score(NORMAL, OUTCOMES, 0.5),
            lambda: interval_score(OUTCOMES, NORMAL, 0.5),
        ),
        (lambda: is_covered(NORMAL, OUTCOMES, 0.1), lambda: is_covered(OUTCOMES, NORMAL, 0.1)),
        (
            lambda: evaluate(NORMAL, OUTCOMES, coverage=0.5).coverage.value,
            lambda: evaluate(OUTCOMES, NORMAL, coverage=0.5).coverage.value,
        ),
        (
            lambda: coverage_curve(NORMAL, OUTCOMES, [0.5]).low,
            lambda: coverage_curve(OUTCOMES, NORMAL, [0.5]).low,
        ),
        (
            lambda: probability_integral_transform(NORMAL, OUTCOMES),
            lambda: probability_integral_transform(OUTCOMES, NORMAL),
        ),
        (
            lambda: brier_score(COIN, ["no", "yes"]),
            lambda: brier_score(["no", "yes"], COIN),
        ),
        (
            lambda: brier_decomposition(COIN, ["no", "yes"], 2, [1.0, 3.0]).value,
            lambda: (
                brier_decomposition(
                    ["no", "yes"], COIN, n_bins=2, sample_weight=[1.0, 3.0]
                ).value
            ),
        ),
        (
            lambda: evaluate_classes(COIN, ["no", "yes"], 0.8, "no").table()["low"],
            lambda: evaluate_classes(["no", "yes"], COIN, coverage=0.8, pos_label="no").table()[
                "low"
            ],
        ),
        (
            lambda: evaluate_classes(
                COIN.probability, ["no", "yes"], labels=["no", "yes"]
            ).table()["value"],
            lambda: evaluate_classes(["no", "yes"], COIN).table()["value"],
        ),
        (lambda: accuracy(TABLE, 0.5).low, lambda: accuracy(TABLE, coverage=0.5).low),
        (lambda: accuracy(confusion=TABLE).low, lambda: accuracy(TABLE).low),
        (lambda: f1_score(TABLE, 0).value, lambda: f1_score(TABLE, pos_label=0).value),
        (lambda: f1_score(TABLE, positive=0).value, lambda: f1_score(TABLE, pos_label=0).value),
        (
            lambda: class_rates(TABLE, 0, 0.5, "wilson")["PPV"].low,
            lambda: class_rates(TABLE, pos_label=0, coverage=0.5, method="wilson")["PPV"].low,
        ),
        (
            lambda: Confusion.of([0, 1], y_predicted=[1, 1], weight=[1.0, 3.0]).table,
            lambda: Confusion.of([0, 1], [1, 1], sample_weight=[1.0, 3.0]).table,
        ),
        (
            lambda: roc_curve(score=SHARE, y=CODES).area.value,
            lambda: roc_curve(CODES, SHARE).area.value,
        ),
        (
            lambda: roc_curve(SHARE, CODES, positive=0).area.value,
            lambda: roc_curve(CODES, SHARE, pos_label=0).area.value,
        ),
        (
            lambda: precision_recall_curve(SHARE, y=CODES, weight=WEIGHT).precision,
            lambda: precision_recall_curve(CODES, SHARE, sample_weight=WEIGHT).precision,
        ),
        (
            lambda: reliability_curve(SHARE, CODES, weight=WEIGHT).observed,
            lambda: reliability_curve(CODES, SHARE, sample_weight=WEIGHT).observed,
        ),
    ],
)
def test_calls_of_the_last_release_work_and_warn_at_the_line_of_the_call(old, new):
    with pytest.warns(FutureWarning, match="goes with the next release") as caught:
        found = old()
    assert [warning.filename for warning in caught] == [__file__]
    assert_allclose(found, new())


def test_a_warning_says_the_new_names_and_order():
    message = "log_score takes y_true first and y_pred second.*y is now y_true"
    with pytest.warns(FutureWarning, match=message):
        log_score(NORMAL, y=OUTCOMES)
    message = "Confusion.of takes y_true first and y_pred second.*weight is now sample_weight"
    with pytest.warns(FutureWarning, match=message):
        Confusion.of([0, 1], [0, 1], weight=[1.0, 2.0])


@pytest.mark.parametrize("curve", [roc_curve, precision_recall_curve])
@pytest.mark.parametrize(
    ("first", "second", "settings"),
    [([0, 1, 1], [1, 1, 0], {}), ([1, 2, 5, 3], [0, 1, 1, 0], {"pos_label": 1})],
)
def test_arrays_that_either_order_would_take_bring_a_warning(curve, first, second, settings):
    with pytest.warns(FutureWarning, match="could be either. Pass them by name") as caught:
        curve(first, second, **settings)
    assert caught[0].filename == __file__


def test_named_arrays_and_plain_scores_bring_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        roc_curve(y_true=[0, 1, 1], y_score=[1, 1, 0])
        roc_curve([0, 1, 1], [0.2, 0.3, 1.0], pos_label=1)
        roc_curve(["no", "yes", "yes"], [1, 1, 0])
        roc_curve([0, 1, 1], [3, 1, 2])


def test_classes_written_as_fractions_are_classes():
    assert accuracy([0.5, 1.5, 1.5], [0.5, 1.5, 0.5]).value == pytest.approx(2 / 3)

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics

from credo.distributions import Categorical
from credo.evaluation import (
    Confusion,
    brier_score,
    evaluate_classes,
    log_score,
    matthews_correlation,
    roc_curve,
)
from credo.evaluation.classes.rank_area import Ranking, roc_score


def predictions(k, n=300, seed=0):
    """Return predictions of k classes and what came true."""
    rng = np.random.default_rng(seed)
    probability = rng.dirichlet(np.full(k, 0.7), n)
    labels = np.array(list("abcdefg"[:k]))
    codes = (rng.uniform(size=(n, 1)) > probability.cumsum(axis=1)).sum(axis=1)
    return Categorical(probability, labels), labels[np.minimum(codes, k - 1)]


def test_two_classes_are_scored_as_scikit_learn_does():
    predictive, y = predictions(2)
    called, share = predictive.mode(), predictive.probability[:, 1]
    scores = evaluate_classes(y, predictive).scores
    expected = {
        "accuracy": metrics.accuracy_score(y, called),
        "error_rate": metrics.zero_one_loss(y, called),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, called),
        "mcc": metrics.matthews_corrcoef(y, called),
        "f1": metrics.f1_score(y, called, pos_label="b"),
        "PPV": metrics.precision_score(y, called, pos_label="b"),
        "TPR": metrics.recall_score(y, called, pos_label="b"),
        "log_loss": metrics.log_loss(y, predictive.probability),
        "brier": metrics.brier_score_loss(y, share, pos_label="b"),
        "auc": metrics.roc_auc_score(y, share),
        "average_precision": metrics.average_precision_score(y, share, pos_label="b"),
    }
    for name, value in expected.items():
        assert_allclose(scores[name].value, value, rtol=1e-10)
        assert scores[name].low < value < scores[name].high
    higher = {name for name, score in scores.items() if score.higher_is_better}
    lower = {"error_rate", "log_loss", "brier", "FPR", "FNR", "FDR"}
    assert higher == scores.keys() - lower - {"calibration_error", "class_calibration_error"}


def test_many_classes_are_scored_as_scikit_learn_does():
    predictive, y = predictions(4)
    called, probability = predictive.mode(), predictive.probability
    report = evaluate_classes(y, predictive)
    expected = {
        "mcc": metrics.matthews_corrcoef(y, called),
        "f1_macro": metrics.f1_score(y, called, average="macro"),
        "f1_micro": metrics.f1_score(y, called, average="micro"),
        "auc": metrics.roc_auc_score(y, probability, multi_class="ovr"),
        "average_precision": metrics.average_precision_score(
            (y[:, None] == predictive.labels).astype(int), probability
        ),
        "log_loss": metrics.log_loss(y, probability),
    }
    for name, value in expected.items():
        assert_allclose(report.scores[name].value, value, rtol=1e-10)
    assert [curve.label for curve in report.roc] == list("abcd")
    assert_allclose(
        report.class_table().loc[("c", "TPR"), "value"],
        metrics.recall_score(y, called, labels=["c"], average="macro"),
    )


def test_the_interval_of_a_mean_area_knows_that_classes_share_rows():
    values, widths = [], []
    for seed in range(300):
        predictive, y = predictions(3, 60, seed)
        columns = zip(predictive.probability.T, predictive.labels, strict=True)
        rankings = [Ranking.of(column, y == label, np.ones(60)) for column, label in columns]
        score = roc_score(rankings, 0.9)
        values.append(score.value)
        widths.append(score.high - score.low)
    # 300 draws know a standard deviation to four percent.
    assert_allclose(np.mean(widths), 2 * 1.645 * np.std(values), rtol=0.15)


def test_parts_of_the_report_agree_with_each_other():
    predictive, y = predictions(3)
    report = evaluate_classes(y, predictive)
    assert report.n_rows == 300
    assert_allclose(report.brier.value, brier_score(y, predictive).mean())
    assert_allclose(report.scores["log_loss"].value, -log_score(y, predictive).mean())
    assert_array_equal(report.confusion.table, Confusion.of(y, predictive.mode()).table)
    assert report.scores["mcc"] == matthews_correlation(report.confusion)
    alone = roc_curve(y, predictive.probability[:, 2], pos_label="c")
    assert report.roc[2].area == alone.area
    assert_allclose(report.reliability.error.value, report.scores["calibration_error"].value)
    assert report.class_reliability[1].label == "b"
    assert report.table().loc["auc", "method"] == "DeLong"


def test_accuracy_is_put_beside_what_the_commonest_class_gives():
    predictive = Categorical(np.tile([0.9, 0.1], (10, 1)), ["no", "yes"])
    report = evaluate_classes(["no"] * 8 + ["yes"] * 2, predictive)
    assert report.scores["accuracy"].note == "0.8 by always saying no"
    assert report.scores["mcc"].value == 0.0


def test_weights_count_and_rows_without_a_class_do_not():
    predictive, y = predictions(3, 60)
    times = np.random.default_rng(1).integers(0, 3, 60)
    heavy = evaluate_classes(y, predictive, sample_weight=times)
    repeated = evaluate_classes(
        np.repeat(y, times),
        Categorical(np.repeat(predictive.probability, times, axis=0), predictive.labels),
    )
    for name, score in heavy.scores.items():
        assert_allclose(score.value, repeated.scores[name].value, err_msg=name)
    gaps = np.where(times > 0, y.astype(object), None)
    kept = evaluate_classes(gaps, predictive)
    whole = evaluate_classes(
        y[times > 0], Categorical(predictive.probability[times > 0], predictive.labels)
    )
    assert kept.scores == whole.scores


def test_one_class_among_the_rows_has_no_ranking_and_says_why():
    predictive, _ = predictions(2, 5)
    report = evaluate_classes(["a"] * 5, predictive)
    assert report.roc == ()
    score = report.scores["auc"]
    assert np.isnan(score.value)
    assert (score.low, score.high) == (0.0, 1.0)
    assert score.note == "needs rows of two classes"


def test_a_class_without_rows_is_left_out_of_means():
    predictive, y = predictions(3)
    y[y == "c"] = "a"
    report = evaluate_classes(y, predictive)
    assert [curve.label for curve in report.roc] == ["a", "b"]
    assert report.scores["auc"].note == "without 1 classes that have no rows"


def test_another_class_may_be_the_positive_one():
    predictive, y = predictions(2)
    first, second = (evaluate_classes(y, predictive, pos_label=p).scores for p in "ab")
    assert_allclose(first["TPR"].value, second["TNR"].value)
    assert_allclose(first["auc"].value, second["auc"].value)


def test_probabilities_with_labels_are_scored_as_their_distribution():
    predictive, y = predictions(3, 60)
    expected = evaluate_classes(y, predictive).table()["value"]
    shares, labels = predictive.probability, predictive.labels
    turned = evaluate_classes(y, shares[:, ::-1], labels=labels[::-1]).table()["value"]
    framed = evaluate_classes(y, pd.DataFrame(shares, columns=labels)).table()["value"]
    assert_allclose(turned[expected.index], expected)
    assert_allclose(framed, expected)


def test_what_does_not_fit_is_refused():
    predictive, y = predictions(2, 5)
    with pytest.raises(ValueError, match=r"found \['z'\]"):
        evaluate_classes([*y[:4], "z"], predictive)
    with pytest.raises(ValueError, match=r"pos_label must be one of \['a', 'b'\]; found 'z'"):
        evaluate_classes(y, predictive, pos_label="z")
    with pytest.raises(ValueError, match="found none in 5 rows"):
        evaluate_classes([None] * 5, predictive)
    with pytest.raises(ValueError, match=r"each of the 2 classes .* found shape \(5, 3\)"):
        evaluate_classes(y, np.full((5, 3), 1 / 3))

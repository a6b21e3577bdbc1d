import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn import metrics

from credo import evaluation
from credo.evaluation import (
    Confusion,
    accuracy,
    balanced_accuracy,
    class_rates,
    error_rate,
    f1_score,
    macro_f1,
    matthews_correlation,
    micro_f1,
)

WORKED = Confusion.of_counts([[930, 10], [20, 40]], ["no", "yes"])
ALL_NEGATIVE = Confusion.of_counts([[940, 0], [60, 0]], ["no", "yes"])
TABLES = st.lists(st.integers(0, 40), min_size=9, max_size=9).filter(any)


def rows_of(table):
    """Return true and predicted codes that make a table."""
    table = np.asarray(table)
    cells = np.repeat(np.arange(table.size), table.ravel())
    return cells // len(table), cells % len(table)


def test_the_worked_rates_come_out():
    expected = {
        "PPV": 0.8,
        "NPV": 0.9789473684,
        "TPR": 0.6666666667,
        "TNR": 0.9893617021,
        "FPR": 0.0106382979,
        "FNR": 0.3333333333,
        "FDR": 0.2,
    }
    found = class_rates(WORKED)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert_allclose(found[name].value, value, atol=1e-10)
        assert found[name].low < value < found[name].high
    assert_allclose(accuracy(WORKED).value, 0.97)
    assert_allclose(error_rate(WORKED).value, 0.03)
    assert_allclose(matthews_correlation(WORKED).value, 0.7148507337, atol=1e-10)
    assert_allclose(f1_score(WORKED).value, 8 / 11)


def test_a_classifier_that_never_says_yes_is_accurate_and_worthless():
    assert_allclose(accuracy(ALL_NEGATIVE).value, 0.94)
    score = matthews_correlation(ALL_NEGATIVE)
    assert score.value == 0.0
    assert score.note == "only one class occurs or is called"
    assert balanced_accuracy(ALL_NEGATIVE).value == 0.5


def test_a_rate_of_nothing_is_no_number_and_anything_is_possible():
    score = class_rates(ALL_NEGATIVE)["PPV"]
    assert np.isnan(score.value)
    assert (score.low, score.high) == (0.0, 1.0)
    assert score.note == "0 / 0: no such rows"
    assert np.isnan(f1_score(Confusion.of_counts([[5, 0], [0, 0]])).value)


@given(TABLES, st.integers(0, 2))
def test_opposite_rates_sum_to_one_with_mirrored_intervals(cells, positive):
    found = class_rates(Confusion.of_counts(np.reshape(cells, (3, 3))), pos_label=positive)
    for one, other in (("PPV", "FDR"), ("TPR", "FNR"), ("TNR", "FPR")):
        assert_allclose(found[one].value, 1.0 - found[other].value)
        assert_allclose(found[one].low, 1.0 - found[other].high, atol=1e-9)
        assert found[one].higher_is_better
        assert not found[other].higher_is_better


def test_eighteen_errors_in_a_hundred_have_the_worked_interval():
    confusion = Confusion.of_counts([[50, 8], [10, 32]])
    score = error_rate(confusion, coverage=0.95, method="normal")
    assert_allclose(score.value, 0.18)
    assert_allclose([score.low, score.high], 0.18 + np.array([-1, 1]) * 0.0752993574, atol=1e-9)
    assert error_rate(confusion, coverage=0.95).high > score.high


@given(TABLES)
def test_scores_are_those_of_scikit_learn(cells):
    table = np.reshape(cells, (3, 3))
    true, predicted = rows_of(table)
    # Of a single class scikit-learn warns.
    assume(len({*true, *predicted}) > 1)
    confusion = Confusion.of(true, predicted)
    assert_allclose(accuracy(confusion).value, metrics.accuracy_score(true, predicted))
    assert_allclose(
        matthews_correlation(confusion).value,
        metrics.matthews_corrcoef(true, predicted),
        atol=1e-12,
    )
    macro = metrics.f1_score(true, predicted, average="macro", zero_division=0.0)
    micro = metrics.f1_score(true, predicted, average="micro")
    assert_allclose(macro_f1(confusion).value, macro, atol=1e-12)
    assert_allclose(micro_f1(confusion).value, micro)
    recall = [table[k, k] / table[k].sum() for k in range(3) if table[k].sum()]
    assert_allclose(balanced_accuracy(confusion).value, np.mean(recall))


def test_the_correlation_of_two_classes_is_that_of_their_numbers():
    true, predicted = rows_of(WORKED.table.astype(int))
    expected = np.corrcoef(true, predicted)[0, 1]
    assert_allclose(matthews_correlation(WORKED).value, expected, rtol=1e-12)


def test_counts_of_billions_do_not_overflow():
    huge = Confusion.of_counts(np.array([[930, 10], [20, 40]]) * 10**12)
    assert_allclose(matthews_correlation(huge).value, 0.7148507337, atol=1e-10)


def test_weights_scale_scores_as_repeated_rows_do():
    true, predicted = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 1, 0])
    weight = np.array([1.0, 2.0, 3.0, 1.0, 2.0])
    heavy = Confusion.of(true, predicted, sample_weight=weight)
    repeated = Confusion.of(
        np.repeat(true, [1, 2, 3, 1, 2]), np.repeat(predicted, [1, 2, 3, 1, 2])
    )
    for score in (accuracy, matthews_correlation, macro_f1, balanced_accuracy):
        assert_allclose(score(heavy).value, score(repeated).value)
        # The same weight on fewer rows is less certain.
        assert score(heavy).high - score(heavy).low > score(repeated).high - score(repeated).low


@pytest.mark.parametrize(
    ("share", "n"),
    [
        ([[0.9, 0.02], [0.03, 0.05]], 100),
        ([[0.45, 0.05], [0.05, 0.45]], 50),
        ([[0.495, 0.005], [0.005, 0.495]], 100),
        ([[0.3, 0.05, 0.02], [0.03, 0.2, 0.05], [0.05, 0.0, 0.3]], 60),
    ],
)
def test_intervals_hold_the_truth_about_as_often_as_they_say(share, n):
    share = np.array(share)
    k, truth = len(share), Confusion.of_counts(np.array(share) * 1e9)
    scores = [
        matthews_correlation,
        macro_f1,
        balanced_accuracy,
        lambda confusion: f1_score(confusion, pos_label=1),
    ]
    targets = [score(truth).value for score in scores]
    rng, hits = np.random.default_rng(0), np.zeros(4)
    for table in rng.multinomial(n, share.ravel(), size=400):
        found = [score(Confusion.of_counts(table.reshape(k, k))) for score in scores]
        hits += [s.low <= target <= s.high for s, target in zip(found, targets, strict=True)]
    # 0.85 is three standard errors of 400 trials below the nominal 0.9.
    assert (hits / 400 >= 0.85).all()


def test_no_errors_do_not_rule_out_errors():
    perfect = Confusion.of_counts([[50, 0], [0, 50]])
    for score in (matthews_correlation, macro_f1, balanced_accuracy, accuracy, f1_score):
        found = score(perfect)
        assert found.value == found.high == 1.0
        assert 0.8 < found.low < 0.99


def test_one_class_in_truth_and_answers_leaves_everything_open():
    score = matthews_correlation(Confusion.of_counts([[5, 0], [0, 0]]))
    assert (score.value, score.low, score.high) == (0.0, -1.0, 1.0)


def test_more_than_two_classes_need_a_positive_one():
    three = Confusion.of_counts(np.eye(3))
    with pytest.raises(ValueError, match=r"unless there are 2; found None for \[0, 1, 2\]"):
        class_rates(three)
    with pytest.raises(ValueError, match=r"one of the classes \[0, 1, 2\]; found 7"):
        f1_score(three, pos_label=7)


def test_truth_values_are_the_labels_one_and_zero():
    for true, called in (
        ([True, False, True], [1, 0, 0]),
        ([1.0, 0.0, 1.0], [True, False, False]),
    ):
        assert evaluation.accuracy(true, called).value == pytest.approx(2 / 3)
        assert evaluation.recall_score(true, called).value == pytest.approx(1 / 2)


@pytest.mark.parametrize("numbers", [int, float])
def test_truth_values_in_an_array_of_objects_are_one_and_zero_too(numbers):
    true, called = np.array([True, False, True], dtype=object), np.array([1, 0, 0])
    assert evaluation.accuracy(true, called.astype(numbers)).value == pytest.approx(2 / 3)
    assert evaluation.recall_score(called, true).value == 1.0
    objects = called.astype(numbers).astype(object)
    assert evaluation.accuracy(true.astype(bool), objects).value == pytest.approx(2 / 3)


@pytest.mark.parametrize("missing", [np.nan, None])
def test_truths_that_are_missing_are_counted_and_refused(missing):
    with pytest.raises(ValueError, match="found 2 of 4 missing"):
        accuracy([1, missing, 0, missing], [1, 0, 0, 1])


def test_precision_and_recall_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    true, called = rng.integers(0, 3, (2, 60))
    for label in range(3):
        for own, other in (
            (evaluation.precision_score, metrics.precision_score),
            (evaluation.recall_score, metrics.recall_score),
        ):
            expected = other(true == label, called == label)
            assert own(true, called, pos_label=label).value == pytest.approx(expected)
            assert own(true == label, called == label).value == pytest.approx(expected)
    expected = metrics.matthews_corrcoef(true, called)
    assert evaluation.matthews_corrcoef(true, called).value == pytest.approx(expected)

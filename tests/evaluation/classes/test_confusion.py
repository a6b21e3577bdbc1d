import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics

from credo.evaluation import Confusion

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60)


@given(PAIRS, st.booleans())
def test_the_table_is_that_of_scikit_learn(pairs, is_weighted):
    true, predicted = np.array(pairs).T
    weight = np.linspace(0.1, 2.0, len(true)) if is_weighted else None
    confusion = Confusion.of(true, predicted, labels=[0, 1, 2, 3], sample_weight=weight)
    expected = metrics.confusion_matrix(true, predicted, labels=range(4), sample_weight=weight)
    assert_allclose(confusion.table, expected)
    assert_allclose(confusion.n, len(true) if weight is None else weight.sum())


@given(PAIRS, st.integers(0, 3))
def test_one_against_rest_counts_every_row_once(pairs, label):
    true, predicted = np.array(pairs).T
    counts = Confusion.of(true, predicted, labels=[0, 1, 2, 3]).one_against_rest(label)
    is_true, is_called = true == label, predicted == label
    assert counts.true_positive == (is_true & is_called).sum()
    assert counts.false_positive == (~is_true & is_called).sum()
    assert counts.true_negative == (~is_true & ~is_called).sum()
    assert counts.false_negative == (is_true & ~is_called).sum()
    assert sum(counts) == len(true)


def test_a_row_of_weight_two_is_two_rows_to_the_table():
    twice = Confusion.of(["a", "b", "b"], ["a", "a", "a"])
    once = Confusion.of(["a", "b"], ["a", "a"], sample_weight=[1.0, 2.0])
    assert_array_equal(once.table, twice.table)


def test_rows_without_a_true_class_are_left_out():
    confusion = Confusion.of(["a", None, "b"], ["a", "b", "a"])
    assert_array_equal(confusion.table, [[1, 0], [1, 0]])
    assert_array_equal(confusion.frame().loc["b"], [1, 0])


def test_labels_fix_the_order_and_keep_absent_classes():
    confusion = Confusion.of(["a"], ["b"], labels=["c", "b", "a"])
    assert_array_equal(confusion.table, [[0, 0, 0], [0, 0, 0], [0, 1, 0]])


def test_shares_of_a_class_have_exact_intervals_and_no_rows_say_nothing():
    shares = Confusion.of_counts([[9, 1], [0, 0]]).shares(0.9)
    # Of 9 in 10: the worked interval of Clopper and Pearson.
    assert_allclose(shares[0, 0], [0.9, 0.606, 0.995], atol=5e-4)
    assert_array_equal(np.isnan(shares[1, :, 0]), True)
    assert_array_equal(shares[1, :, 1:], [[0, 1], [0, 1]])


def test_unequal_weights_widen_the_interval_and_equal_ones_do_not():
    true, predicted = ["a"] * 6 + ["b"] * 2, ["a"] * 4 + ["b"] * 4
    plain, threefold, uneven = (
        Confusion.of(true, predicted, sample_weight=weight).shares()[0, 0]
        for weight in (None, 3.0, [1, 1, 1, 9, 1, 9, 1, 1])
    )
    assert_allclose(threefold, plain)
    assert uneven[2] - uneven[1] > plain[2] - plain[1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Confusion.of(["a"], ["a", "b"]), "found 1 and 2 rows"),
        (lambda: Confusion.of(["a"], [None]), "1 without a prediction"),
        (lambda: Confusion.of(["a"], ["c"], labels=["a", "b"]), r"found \['c'\]"),
        (lambda: Confusion.of_counts([[1, 2, 3], [1, 2, 3]]), r"found shape \(2, 3\)"),
        (lambda: Confusion.of_counts([[1, -2], [1, 2]]), "table must be non-negative"),
        (
            lambda: Confusion.of([0, 1], [0, 1], sample_weight=[1, -1]),
            "weight must be non-negative",
        ),
    ],
)
def test_what_is_no_table_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()

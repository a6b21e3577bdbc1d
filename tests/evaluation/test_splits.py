import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from credo.evaluation import fold_labels, hold_out, leave_one_out_labels


@given(st.integers(2, 200), st.floats(0.01, 0.99))
def test_training_and_test_rows_partition_all_rows(n, share):
    train, test = hold_out(n, share, np.random.default_rng(0))
    assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n))
    assert len(train) >= 1
    assert abs(len(test) - share * n) <= 0.5 or len(test) in (1, n - 1)


def test_every_row_is_held_out_equally_often():
    rng = np.random.default_rng(0)
    counts = np.zeros(10)
    for _ in range(2000):
        counts[hold_out(10, 0.3, rng)[1]] += 1
    # Five standard errors of a proportion of 0.3 in 2000 trials.
    assert np.abs(counts / 2000 - 0.3).max() < 5 * np.sqrt(0.3 * 0.7 / 2000)


@given(st.integers(2, 100), st.data())
def test_folds_are_balanced(n, data):
    n_folds = data.draw(st.integers(2, n))
    sizes = np.bincount(fold_labels(n, n_folds, np.random.default_rng(0)))
    assert len(sizes) == n_folds
    assert sizes.sum() == n
    assert sizes.max() - sizes.min() <= 1


def test_folds_are_drawn_by_the_generator():
    labels = [fold_labels(30, 3, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert_array_equal(labels[0], labels[1])
    assert (labels[0] != labels[2]).any()


def test_leaving_one_out_makes_every_row_a_fold():
    assert_array_equal(leave_one_out_labels(4), [0, 1, 2, 3])


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (lambda rng: hold_out(1, 0.5, rng), "at least 2 rows"),
        (lambda rng: hold_out(9, 20.0, rng), "share must be above 0 and below 1; found 20"),
        (lambda rng: fold_labels(5, 10, rng), "found 10 for 5 rows"),
        (lambda rng: fold_labels(5, 1, rng), "n_folds must be from 2"),
        (lambda rng: leave_one_out_labels(1), "at least 2 rows"),
    ],
)
def test_impossible_splits_are_refused(split, message):
    with pytest.raises(ValueError, match=message):
        split(np.random.default_rng(0))

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from credo.evaluation import (
    fold_labels,
    grouped_fold_labels,
    hold_out,
    leave_one_out_labels,
    stratified_fold_labels,
    time_splits,
)
from credo.validation.splits import dealt_folds

LABELED = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=4, max_size=80)


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
        (lambda rng: stratified_fold_labels("aaab", 2, rng), "one class for each row"),
        (lambda rng: stratified_fold_labels(list("aaab"), 2, rng), "1 rows of class 'b'"),
        (lambda rng: stratified_fold_labels([None] * 4, 2, rng), "0 rows of class 'none'"),
        (lambda rng: grouped_fold_labels([1, 1, 2], 3, rng), "3 for 2 groups"),
        (lambda rng: grouped_fold_labels([1, 1, np.nan], 2, rng), "NaN or None. in 1 rows"),
        (lambda rng: hold_out(5, 0.5, rng, stratify=[0, 1]), "5 rows; found 2"),
        (lambda rng: time_splits(5, 5), "n_folds=5, gap=0 for 5 rows"),
        (lambda rng: time_splits(9, 2, gap=3), "gap=3 for 9 rows"),
        (lambda rng: time_splits(4, 1, time=[1, 1, 1, 1]), "too many rows of equal time"),
        (lambda rng: time_splits(4, 1, time=[1, 2, 3, np.nan]), "1 of them missing"),
    ],
)
def test_impossible_splits_are_refused(split, message):
    with pytest.raises(ValueError, match=message):
        split(np.random.default_rng(0))


@given(
    st.lists(st.integers(6, 30), min_size=1, max_size=3), st.integers(0, 9), st.integers(2, 6)
)
def test_stratified_folds_are_level_in_size_and_in_every_class(sizes, n_missing, n_folds):
    strata = np.repeat(["a", "b", "c", None], [*sizes, *[0] * (3 - len(sizes)), n_missing])
    y = np.random.default_rng(n_folds).permutation(strata)
    fold = stratified_fold_labels(y, n_folds, np.random.default_rng(0))
    for stratum in ("a", "b", "c", None, "all"):
        rows = np.ones(len(y), bool) if stratum == "all" else y == stratum
        counts = np.bincount(fold[rows], minlength=n_folds)
        assert counts.max() - counts.min() <= 1


def test_rows_of_a_class_meet_every_fold_equally_often():
    y, rng = np.array([0] * 6 + [1] * 4), np.random.default_rng(0)
    counts = np.zeros((10, 2))
    for _ in range(2000):
        counts[np.arange(10), stratified_fold_labels(y, 2, rng)] += 1
    # Five standard errors of a proportion of one half in 2000 trials.
    assert np.abs(counts / 2000 - 0.5).max() < 5 * np.sqrt(0.25 / 2000)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=80), st.integers(2, 5))
def test_no_group_is_in_two_folds_and_no_fold_is_a_group_larger(groups, n_folds):
    assume(len(set(groups)) >= n_folds)
    fold = grouped_fold_labels(groups, n_folds, np.random.default_rng(0))
    names, codes = np.unique(groups, return_inverse=True)
    assert all(len(set(fold[codes == k])) == 1 for k in range(len(names)))
    sizes = np.bincount(fold, minlength=n_folds)
    assert sizes.min() > 0
    # Else the last group dealt to the largest fold would have gone to the smallest.
    assert sizes.max() - sizes.min() <= np.bincount(codes).max()


@given(LABELED, st.floats(0.05, 0.95), st.integers(0, 99))
def test_a_stratified_hold_out_has_its_share_of_every_class(labels, share, seed):
    y = np.array(labels, dtype=object)
    train, test = hold_out(len(y), share, np.random.default_rng(seed), stratify=y)
    assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(y)))
    assert len(test) == len(hold_out(len(y), share, np.random.default_rng(0))[1])
    for stratum in ("a", "b", "c", None):
        rows = y == stratum
        assert abs(rows[test].sum() - rows.sum() * len(test) / len(y)) < 1 + 1e-9


@given(st.integers(4, 60), st.integers(1, 3), st.integers(0, 3), st.booleans())
def test_training_rows_are_older_than_test_rows_and_no_time_is_parted(n, n_folds, gap, ties):
    assume(n // (n_folds + 1) > gap + 2)
    time = np.random.default_rng(n).permutation(n) // (2 if ties else 1)
    tested = []
    for train, test in time_splits(n, n_folds, gap, time):
        assert time[train].max() < time[test].min()
        assert len(train) + gap == (time < time[test].min()).sum()
        tested.extend(test)
    assert len(set(tested)) == len(tested)
    assert time[tested].max() == time.max()


def test_time_may_be_dates():
    days = np.array(["2024-01-03", "2024-01-01", "2024-01-02"], dtype="datetime64[D]")
    ((train, test),) = time_splits(3, 1, time=days)
    assert_array_equal(train, [1])
    assert_array_equal(test, [0, 2])


def counts(fold, codes, n_folds):
    """Rows of each class in each fold."""
    return np.array([np.bincount(fold[codes == c], minlength=n_folds) for c in set(codes)])


@pytest.mark.parametrize(("sizes", "n_folds"), [([3, 2, 4], 2), ([13, 10, 40], 10)])
def test_every_class_is_in_every_fold_of_a_thousand_deals(sizes, n_folds):
    codes, labels = np.repeat(np.arange(3), sizes), np.arange(3)
    x = np.arange(len(codes), dtype=float)[:, None]
    deals = [
        dealt_folds(x, codes, n_folds, labels, np.random.default_rng(seed))
        for seed in range(1000)
    ]
    assert sum((counts(deal, codes, n_folds) == 0).any() for deal in deals) == 0
    # Stratified, and still random: a row does not always meet the same others.
    assert len({tuple(deal) for deal in deals}) > 20


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(2, 6), st.integers(0, 2**31))
def test_folds_are_level_in_every_class_and_on_the_whole(data, n_folds, seed):
    sizes = data.draw(st.lists(st.integers(n_folds, 4 * n_folds), min_size=1, max_size=5))
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    x = rng.normal(size=(len(codes), 2))
    fold = dealt_folds(x, codes, n_folds, np.arange(len(sizes)), rng)
    found = counts(fold, codes, n_folds)
    assert (np.ptp(found, axis=1) <= 1).all()
    assert np.ptp(found.sum(axis=0)) <= 1


def test_folds_of_classes_follow_the_rows_when_order_and_units_change():
    rng = np.random.default_rng(0)
    codes, x = np.repeat([0, 1, 2], [7, 5, 11]), rng.normal(size=(23, 2))
    order = rng.permutation(23)
    one = dealt_folds(x, codes, 4, np.arange(3), np.random.default_rng(5))
    two = dealt_folds(
        1e9 * x[order] + 3, codes[order], 4, np.arange(3), np.random.default_rng(5)
    )
    assert (one[order] == two).all()


def test_rows_of_a_sparse_table_are_spread_by_class():
    codes, x = np.repeat([0, 1], [4, 9]), sparse.csr_array(np.eye(13))
    fold = dealt_folds(x, codes, 4, np.arange(2), np.random.default_rng(0))
    assert (counts(fold, codes, 4) > 0).all()


def test_copies_stay_together_in_every_class_that_has_enough_others():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(11, 2)), 2, axis=0)
    codes = np.repeat([0, 1], [10, 12])
    fold = dealt_folds(x, codes, 5, np.arange(2), rng)
    assert (fold[::2] == fold[1::2]).all()
    assert (counts(fold, codes, 5) > 0).all()

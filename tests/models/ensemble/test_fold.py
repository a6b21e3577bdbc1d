import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from credo.models.ensemble.fold import dealt_folds


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

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold, RepeatedKFold

from credo.evaluation import GroupedFolds, HoldOut, TimeFolds
from credo.validation.outcome import Outcome
from credo.validation.split_plan import NEVER, SplitPlan

X = np.arange(24.0)[:, None]
NUMBERS = Outcome(X[:, 0])


def test_a_partition_learned_from_all_other_folds_needs_no_pairs():
    for cv in (4, np.arange(24) % 4, KFold(4), GroupedFolds(4, groups=np.arange(24) // 3)):
        plan = SplitPlan.of(NUMBERS, X, cv, 0)
        assert plan.pairs is None
        assert_array_equal(np.bincount(plan.fold), [6, 6, 6, 6])
        assert_allclose(plan.overlap, 6 / 18)


def test_splits_that_name_other_rows_keep_their_pairs():
    plan = SplitPlan.of(NUMBERS, X, TimeFolds(3, gap=1), 0)
    assert_array_equal(plan.fold, np.repeat([NEVER, 0, 1, 2], 6))
    for (train, test), (a, b) in zip(plan.pairs, TimeFolds(3, gap=1).split(X), strict=True):
        assert_array_equal(train, a)
        assert_array_equal(test, b)
    assert_allclose(plan.overlap, np.mean([6 / 5, 6 / 11, 6 / 17]))
    assert len(SplitPlan.of(NUMBERS, X, HoldOut(0.25), 0).pairs) == 1


def test_a_partition_learned_from_drawn_rows_keeps_its_pairs():
    halves = np.arange(12), np.arange(12, 24)
    drawn = [(np.repeat(halves[1][:6], 2), halves[0]), (halves[0], halves[1])]
    plan = SplitPlan.of(NUMBERS, X, drawn, 0)
    assert_array_equal(plan.pairs[0][0], drawn[0][0])


def test_rows_held_out_twice_or_learned_from_at_once_are_refused():
    with pytest.raises(ValueError, match="found 24 rows held out more often"):
        SplitPlan.of(NUMBERS, X, RepeatedKFold(n_splits=2, n_repeats=2), 0)
    with pytest.raises(ValueError, match="found 3 rows on both sides"):
        SplitPlan.of(NUMBERS, X, [(np.arange(12), np.arange(9, 24))], 0)

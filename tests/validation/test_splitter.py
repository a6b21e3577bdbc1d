import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB

from credo.evaluation import Folds, GroupedFolds, HoldOut, TimeFolds, log_score_scorer

RNG = np.random.default_rng(0)
Y = np.array(["no"] * 45 + ["yes"] * 15)
X = RNG.normal(size=(60, 2)) + (Y == "yes")[:, None]
GROUPS = np.arange(60) % 12


@pytest.mark.parametrize("cv", [Folds(5), Folds(5, stratify=True), GroupedFolds(5)])
def test_every_row_is_tested_once_by_rows_other_than_itself(cv):
    tested = np.zeros(60, int)
    for train, test in cv.split(X, Y, GROUPS):
        assert_array_equal(np.sort(np.append(train, test)), np.arange(60))
        tested[test] += 1
    assert_array_equal(tested, 1)
    assert cv.get_n_splits(X, Y) == 5


def test_stratified_folds_keep_the_share_of_classes():
    for _, test in Folds(5, stratify=True).split(X, Y):
        assert (Y[test] == "yes").sum() == 3


def test_no_group_is_on_both_sides():
    for train, test in GroupedFolds(4).split(X, Y, GROUPS):
        assert not set(GROUPS[train]) & set(GROUPS[test])


def test_time_folds_learn_from_the_past_only():
    time = RNG.permutation(60)
    for train, test in TimeFolds(3, gap=2).split(X, Y, time):
        assert time[train].max() + 3 == time[test].min()


def test_searches_take_the_splits_as_cv():
    grid = {"C": [0.01, 1.0]}
    for cv in (Folds(3, stratify=True), GroupedFolds(3)):
        search = GridSearchCV(LogisticRegression(), grid, cv=cv).fit(X, Y, groups=GROUPS)
        assert search.n_splits_ == 3
    scores = cross_val_score(GaussianNB(), X[::-1], np.tile(["a", "b"], 30), cv=TimeFolds(4))
    assert scores.shape == (4,)


def test_hold_out_validation_is_the_manual_loop():
    cv = HoldOut(0.3, stratify=True)
    ((train, test),) = cv.split(X, Y)
    assert (Y[test] == "yes").mean() == pytest.approx(0.25, abs=1 / 18)
    candidates = [1e-3, 1e-2, 1e-1, 1.0]
    scores = [
        log_score_scorer(LogisticRegression(C=c).fit(X[train], Y[train]), X[test], Y[test])
        for c in candidates
    ]
    search = GridSearchCV(
        LogisticRegression(), {"C": candidates}, scoring=log_score_scorer, cv=cv
    )
    search.fit(X, Y)
    assert cv.get_n_splits() == search.n_splits_ == 1
    assert_array_equal(search.cv_results_["mean_test_score"], scores)
    assert search.best_params_["C"] == candidates[np.argmax(scores)]
    # Refitted to all rows with the winner, as the rule asks.
    assert_array_equal(
        search.predict_proba(X),
        LogisticRegression(C=search.best_params_["C"]).fit(X, Y).predict_proba(X),
    )


def test_the_same_seed_draws_the_same_folds():
    first, again = (
        cross_val_predict(GaussianNB(), X, Y, cv=Folds(5), method="predict_proba")
        for _ in range(2)
    )
    assert_array_equal(first, again)
    tests = [next(iter(Folds(5, random_state=seed).split(X)))[1] for seed in (0, 1)]
    assert (tests[0] != tests[1]).any()


def test_what_a_split_needs_must_be_given():
    with pytest.raises(ValueError, match="y must be given to keep its proportions"):
        Folds(stratify=True).split(X)
    with pytest.raises(ValueError, match="y must be given to keep its proportions"):
        HoldOut(stratify=True).split(X)
    with pytest.raises(ValueError, match="groups must be given to keep them together"):
        GroupedFolds().split(X)
    with pytest.raises(ValueError, match=r"each of the 60 rows; found 59 groups\. Pass"):
        GroupedFolds(3, groups=GROUPS[1:]).split(X)


def test_groups_and_times_may_be_bound_to_the_splitter():
    time = RNG.permutation(60)
    for bound, told, free in (
        (GroupedFolds(4, groups=GROUPS), GROUPS, GroupedFolds(4)),
        (TimeFolds(3, gap=2, time=time), time, TimeFolds(3, gap=2)),
    ):
        for one, two in zip(bound.split(X, Y), free.split(X, Y, told), strict=True):
            assert_array_equal(one[0], two[0])
            assert_array_equal(one[1], two[1])
    scores = cross_val_score(GaussianNB(), X, Y, cv=GroupedFolds(4, groups=GROUPS))
    assert_array_equal(
        scores, cross_val_score(GaussianNB(), X, Y, cv=GroupedFolds(4), groups=GROUPS)
    )

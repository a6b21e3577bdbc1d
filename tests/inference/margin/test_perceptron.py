import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from credo.inference.margin.perceptron import (
    distinct_labeled_rows,
    perceptron_epoch,
    vote_shares,
)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 3))
def test_distinct_rows_do_not_depend_on_order_or_copies(seed, n, d):
    rng = np.random.default_rng(seed)
    x, code = rng.integers(0, 3, size=(n, d)).astype(float), rng.integers(0, 2, n)
    copies = rng.integers(0, 3, n)
    copies[0] = 1
    rows = rng.permutation(np.repeat(np.arange(n), copies))
    left = distinct_labeled_rows(x, code, copies.astype(float))
    right = distinct_labeled_rows(x[rows], code[rows], np.ones(len(rows)))
    for a, b in zip(left, right, strict=True):
        assert_array_equal(a, b)
    assert_allclose(left[2].sum(), copies.sum())
    pairs = {(*row, c) for row, c in zip(left[0].tolist(), left[1].tolist(), strict=True)}
    assert len(pairs) == len(left[1])


def test_an_epoch_records_mistakes_rivals_and_what_each_weight_survived():
    x = np.array([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.5], [3.0, 0.0]])
    code = np.array([0, 0, 1, 2])
    coef = np.zeros((3, 2))
    epoch = perceptron_epoch(x, code, np.array([1.0, 2.0, 1.0, 0.5]), np.arange(4), coef)
    # Row 0 is a tie with class 1; row 1 is right; so is row 2 (1 > -1); row 3 loses to class 0.
    assert epoch.mistaken.tolist() == [0, 3]
    assert epoch.rival.tolist() == [1, 0]
    assert_allclose(epoch.votes, [0.0, 1.0 + 2.0 + 1.0])
    assert_allclose(epoch.survived, 0.5)
    assert_allclose(coef, [[1.0 - 1.5, 0.0], [-1.0, 0.0], [1.5, 0.0]])


def test_weights_that_are_right_are_left_alone():
    coef = np.array([[-1.0], [1.0]])
    epoch = perceptron_epoch(
        np.array([[2.0], [-3.0]]), np.array([1, 0]), np.ones(2), np.arange(2), coef, 5.0
    )
    assert len(epoch.mistaken) == 0
    assert epoch.survived == 7.0
    assert_allclose(coef, [[-1.0], [1.0]])


def test_votes_go_to_the_highest_score_and_the_first_of_equals():
    rng = np.random.default_rng(0)
    x, coef = rng.integers(-1, 2, size=(9, 2)).astype(float), rng.integers(-1, 2, (5, 3, 2))
    intercept, votes = rng.integers(-1, 2, (5, 3)).astype(float), rng.uniform(size=5)
    expected = np.zeros((9, 3))
    for i, row in enumerate(x):
        for m in range(5):
            expected[i, np.argmax(coef[m] @ row + intercept[m])] += votes[m]
    assert_allclose(vote_shares(x, coef.astype(float), intercept, votes), expected)


def test_every_classifier_must_have_its_vote():
    coef, intercept = np.zeros((3, 1, 2)), np.zeros((3, 1))
    with pytest.raises(ValueError, match=r"votes of shape \(2,\)"):
        vote_shares(np.zeros((1, 2)), coef, intercept, np.ones(2))
    with pytest.raises(ValueError, match=r"intercepts of shape \(3, 2\)"):
        vote_shares(np.zeros((1, 2)), coef, np.zeros((3, 2)), np.ones(3))

from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, special

from credo.inference.margin.boosting import boosting_rounds, content_parts, vote_sharpness
from credo.inference.margin.presorted import Presorted
from credo.inference.margin.stumps import best_stump


def stump_rounds(x, codes, weight, n_classes, n):
    rows, seen = Presorted.of(x), []

    def learn(current):
        seen.append(current / current.sum())
        stump = best_stump(rows, codes, n_classes, current)
        return stump, stump.codes(x[:, stump.feature])

    return list(islice(boosting_rounds(learn, codes, weight, n_classes), n)), seen


def test_three_rounds_match_the_worked_example():
    x, codes = np.arange(1.0, 7.0)[:, None], np.array([1, 1, 0, 0, 1, 0])
    rounds, seen = stump_rounds(x, codes, np.ones(6), 2, 3)
    stumps = [(r.member.threshold, r.member.left, r.member.right) for r in rounds]
    assert stumps == [(2.5, 1, 0), (5.5, 1, 0), (4.5, 0, 1)]
    assert_allclose([r.error for r in rounds], [1 / 6, 0.2, 0.1875])
    votes = [1.6094379124, 1.3862943611, 1.4663370688]
    assert_allclose([r.vote for r in rounds], votes, rtol=1e-9)
    losses = [4.4721359550, 3.5777087640, 2.7928480088]
    assert_allclose(np.exp([r.log_loss for r in rounds]), losses, rtol=1e-9)
    assert_allclose(seen[1], [0.1, 0.1, 0.1, 0.1, 0.5, 0.1])
    assert_allclose(seen[2], [0.0625, 0.0625, 0.25, 0.25, 0.3125, 0.0625])


def test_the_slope_of_the_loss_in_the_vote_has_factors_of_one_half():
    vote, error, step = 1.2, 0.3, 1e-6

    def loss(a):
        return (np.exp(a / 2) - np.exp(-a / 2)) * error + np.exp(-a / 2)

    slope = (loss(vote + step) - loss(vote - step)) / (2 * step)
    exact = 0.5 * (np.exp(vote / 2) + np.exp(-vote / 2)) * error - 0.5 * np.exp(-vote / 2)
    assert_allclose([slope, exact], 0.0812337474, atol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_each_vote_minimizes_the_exponential_loss_and_the_loss_is_what_it_says(n_classes):
    rng = np.random.default_rng(n_classes)
    x, codes = rng.normal(size=(80, 3)), rng.integers(0, n_classes, 80)
    weight = rng.exponential(size=80)
    rounds, _ = stump_rounds(x, codes, weight, n_classes, 5)
    wrong = np.array([r.member.codes(x[:, r.member.feature]) != codes for r in rounds])
    votes = np.array([r.vote for r in rounds])

    def loss(last):
        amounts = np.append(votes[:-1], last)
        return weight @ np.exp(amounts @ (wrong - (n_classes - 1) / n_classes))

    assert_allclose(np.exp(rounds[-1].log_loss), loss(votes[-1]), rtol=1e-10)
    found = optimize.minimize_scalar(loss, bounds=(0, 10), method="bounded")
    assert_allclose(found.x, votes[-1], rtol=1e-3)


def test_a_learner_without_error_ends_boosting_with_a_finite_vote():
    codes = np.array([0, 1, 1])
    rounds = list(boosting_rounds(lambda w: ("right", codes), codes, np.ones(3), 2))
    assert len(rounds) == 1
    assert rounds[0].is_perfect
    assert 20 < rounds[0].vote < 30


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_learner_no_better_than_chance_gets_no_vote(n_classes):
    codes = np.arange(6) % n_classes
    rounds = boosting_rounds(lambda w: ("same", np.zeros(6)), codes, np.ones(6), n_classes)
    assert list(rounds) == []


def test_weights_stay_finite_over_many_rounds():
    rng = np.random.default_rng(0)
    x, codes = rng.normal(size=(50, 1)), rng.integers(0, 2, 50)
    _, seen = stump_rounds(x, codes, np.ones(50), 2, 3000)
    assert len(seen) > 1000
    assert np.isfinite(seen[-1]).all()
    assert_allclose(seen[-1].sum(), 1.0)


def test_parts_hold_copies_together_and_share_the_classes_evenly():
    keys = np.random.default_rng(0).integers(0, 60, 500).astype(np.uint64)
    codes = (np.random.default_rng(1).uniform(size=500) < 0.2).astype(np.intp)
    place, is_opening = content_parts(keys, codes)
    pairs = np.unique(np.column_stack([keys, codes, place]), axis=0)
    assert len(pairs) == place.max() + 1 == len(np.unique(pairs[:, :2], axis=0))
    distinct = pairs[:, 1].astype(int)
    sizes = np.array([np.bincount(distinct[pairs[:, 2] % 5 == p]) for p in range(5)])
    assert np.ptp(sizes, axis=0).max() <= 1
    assert_array_equal(np.unique(codes[is_opening]), [0, 1])


def test_sharpness_maximizes_the_held_out_likelihood():
    rng = np.random.default_rng(0)
    votes = rng.normal(size=(4000, 3)) * 5
    chance = special.softmax(0.3 * votes, axis=1)
    codes = (rng.uniform(size=(4000, 1)) > chance.cumsum(axis=1)).sum(axis=1)
    weight = rng.uniform(0.5, 2.0, 4000)

    def loss(b):
        return -weight @ special.log_softmax(b * votes, axis=1)[np.arange(4000), codes]

    best = optimize.minimize_scalar(loss, bounds=(0.01, 2), method="bounded").x
    found = vote_sharpness(votes, codes, weight)
    assert_allclose(found, best, rtol=1e-3)
    assert_allclose(found, 0.3, rtol=0.1)


def best_sharpness(votes, codes, weight):
    """Return the same by Brent's method on the slope of the likelihood."""
    row = np.arange(len(votes))
    others = votes.copy()
    others[row, codes] = -np.inf
    margin = votes[row, codes] - others.max(axis=1)
    size = np.sqrt(weight @ margin**2 / weight.sum())
    unseen = np.zeros((2, votes.shape[1]))
    unseen[:, 0] = size
    scaled, label = np.vstack([votes, unseen]) / size, np.append(codes, [0, 1])
    amount = np.append(weight, [0.5, 0.5])

    def slope(t):
        mean = (special.softmax(np.exp(t) * scaled, axis=1) * scaled).sum(axis=1)
        return amount @ (scaled[np.arange(len(scaled)), label] - mean)

    ends = np.log([1e-3, 1e3])
    if slope(ends[0]) <= 0 or slope(ends[1]) >= 0:
        return np.exp(ends[0] if slope(ends[0]) <= 0 else ends[1]) / size
    return np.exp(optimize.brentq(slope, *ends, xtol=1e-13)) / size


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("tail", [1.0, 6.0])
def test_sharpness_is_found_however_odd_votes_and_weights_are(tail):
    rng = np.random.default_rng(1)
    for _ in range(300):
        n, n_classes = rng.integers(2, 30), rng.integers(2, 5)
        votes = rng.normal(size=(n, n_classes)) * np.exp(rng.normal(0, tail / 2, (n, 1)))
        weight = np.exp(rng.normal(0, tail, n))
        codes = np.where(rng.random(n) < 0.7, votes.argmax(1), rng.integers(0, n_classes, n))
        found = vote_sharpness(votes, codes, weight)
        assert_allclose(found, best_sharpness(votes, codes, weight), rtol=1e-7)


def test_sharpness_stays_within_its_bounds_where_the_slope_is_nearly_flat():
    votes = np.array([[0.0, -1.3], [0.0, 0.0], [0.0, -0.4], [0.0, -1.0]])
    codes, weight = np.array([0, 1, 1, 1]), np.array([10.0, 1e4, 10.0, 1.0])
    found = vote_sharpness(votes, codes, weight)
    assert_allclose(found, best_sharpness(votes, codes, weight), rtol=1e-7)


@pytest.mark.parametrize("n", [1, 10, 1000])
def test_rows_that_are_all_right_leave_half_a_row_of_doubt(n):
    votes = np.tile([[0.0, 3.0]], (n, 1))
    sharpness = vote_sharpness(votes, np.ones(n, dtype=np.intp), np.ones(n))
    assert_allclose(special.expit(3.0 * sharpness), (n + 0.5) / (n + 1.0))


def test_votes_worse_than_chance_give_almost_even_odds_but_still_decide():
    votes = np.tile([[0.0, 3.0]], (50, 1))
    sharpness = vote_sharpness(votes, np.zeros(50, dtype=np.intp), np.ones(50))
    assert 0.5 < special.expit(3.0 * sharpness) < 0.501


def test_the_unit_of_votes_does_not_matter():
    votes = np.random.default_rng(0).normal(size=(60, 2))
    codes = (votes[:, 1] + np.random.default_rng(1).normal(size=60) > votes[:, 0]).astype(int)
    one = vote_sharpness(votes, codes, np.ones(60))
    assert_allclose(vote_sharpness(1e6 * votes, codes, np.ones(60)), one / 1e6)

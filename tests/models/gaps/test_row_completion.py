import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.distributions import MultivariateNormal, Normal
from credo.models.gaps.row_completion import (
    N_DRAWS,
    CompletedRows,
    NoGaps,
    RowCompletion,
    WeighedCompletion,
    learned_completion,
)

RNG = np.random.default_rng(0)
COVARIANCE = np.array([[1.0, 0.5, 0.3], [0.5, 2.0, -0.4], [0.3, -0.4, 1.5]])
X = RNG.multivariate_normal([1.0, -2.0, 0.0], COVARIANCE, 4000)
Y = X @ [1.0, 2.0, -1.0] + RNG.normal(size=4000)
JOINT = np.column_stack([X, Y])
NORMAL = MultivariateNormal(JOINT.mean(axis=0), np.cov(JOINT.T))
COMPLETION = RowCompletion.learn(X, Y)


def moments(rows, columns):
    """Return mean and covariance of the copies of one row, which count alike."""
    return rows.X[:, columns].mean(axis=0), np.cov(rows.X[:, columns].T, ddof=0)


def test_a_row_to_predict_is_completed_given_what_it_has():
    row = np.array([[1.5, np.nan, np.nan]])
    rows = COMPLETION.prediction(row)
    given = NORMAL.marginal([0, 1, 2]).condition({0: 1.5})
    mean, covariance = moments(rows, [1, 2])
    assert len(rows.X) == N_DRAWS
    assert_array_equal(rows.X[:, 0], 1.5)
    assert_allclose(mean, given.mean(), atol=0.01)
    assert_allclose(covariance, given.covariance(), atol=0.02)


def test_a_row_to_learn_from_is_completed_given_its_outcome_too():
    row, y = np.array([[1.5, np.nan, 0.5]]), np.array([4.0])
    known = NORMAL.condition({0: 1.5, 2: 0.5, 3: 4.0})
    blind = NORMAL.marginal([0, 1, 2]).condition({0: 1.5, 2: 0.5})
    rows = COMPLETION.training(row, y)
    assert rows.X[:, 1].mean() == pytest.approx(float(known.mean()[0]), abs=0.02)
    assert rows.X[:, 1].std() == pytest.approx(float(known.std()[0]), rel=0.02)
    assert abs(float(known.mean()[0] - blind.mean()[0])) > 1
    assert rows.weight.sum() == pytest.approx(1.0)


def test_gaps_in_training_rows_do_not_bias_what_is_learned():
    gaps = np.where(np.random.default_rng(1).random(X.shape) < 0.3, np.nan, X)[:1000]
    learned, whole = (RowCompletion.learn(part, Y[:1000]) for part in (gaps, X[:1000]))
    means, covariances = zip(*map(unscaled, (learned, whole)), strict=True)
    assert_allclose(*means, atol=0.1)
    assert_allclose(*covariances, atol=0.3)


def unscaled(completion):
    """Return mean and covariance of inputs and outcome, in their units."""
    density, scale = completion.joint.density, completion.scale
    covariance = density.covariance()[0] * np.outer(scale, scale)
    return density.loc[0] * scale + completion.center, covariance


def test_complete_rows_stay_as_they_are():
    rows = COMPLETION.prediction(X[:5])
    assert_array_equal(rows.X, X[:5])
    assert_array_equal(rows.weight, 1.0)
    assert_array_equal(rows.row, np.arange(5))


def test_no_draw_leaves_the_training_range():
    far = np.array([[X[:, 0].max(), np.nan, np.nan], [np.nan, X[:, 1].min(), np.nan]])
    drawn = COMPLETION.prediction(far).X
    assert np.all(drawn >= X.min(axis=0))
    assert np.all(drawn <= X.max(axis=0))


def test_units_do_not_matter():
    gaps = np.where(np.random.default_rng(2).random((300, 3)) < 0.2, np.nan, X[:300])
    unit = np.array([1e-9, 1.0, 1e9])
    here = RowCompletion.learn(gaps, Y[:300]).training(gaps, Y[:300])
    there = RowCompletion.learn(gaps * unit, Y[:300] * 1e6).training(gaps * unit, Y[:300] * 1e6)
    assert_allclose(there.X / unit, here.X, rtol=1e-6, atol=1e-6)


def test_a_missing_level_is_drawn_as_often_as_it_is_probable_and_never_half():
    rng = np.random.default_rng(3)
    level = rng.choice(3, 600, p=[0.7, 0.2, 0.1])
    number = rng.normal(size=600)
    inputs = np.column_stack([np.eye(3)[level], number])
    completion = RowCompletion.learn(inputs, number, [(0, 3)])
    drawn = completion.prediction(np.array([[np.nan, np.nan, np.nan, 0.0]])).X[:, :3]
    assert_array_equal(np.sort(drawn, axis=1), np.tile([0, 0, 1], (N_DRAWS, 1)))
    assert_allclose(drawn.mean(axis=0), [0.7, 0.2, 0.1], atol=0.04)


def test_classes_of_a_row_with_nothing_in_it_have_their_shares():
    labels = np.repeat(["a", "b"], [300, 100])
    inputs = np.random.default_rng(4).normal(size=(400, 2)) + 3.0 * (labels == "b")[:, None]
    completion = RowCompletion.learn(inputs, labels)
    rows = completion.prediction(np.full((1, 2), np.nan))
    is_b = rows.X.mean(axis=1) > 1.5
    assert rows.weight[is_b].sum() == pytest.approx(0.25, abs=0.05)
    near = completion.prediction(np.array([[3.0, np.nan]]))
    assert near.weight @ near.X[:, 1] > 2.0


def test_levels_that_a_class_always_has_do_not_drown_how_often_others_have_them():
    labels = np.repeat(["a", "b"], [100, 100])
    level = np.r_[np.resize([0, 0, 1, 1], 100), np.zeros(100, int)]
    inputs = np.column_stack([np.eye(2)[level], np.random.default_rng(5).normal(size=200)])
    inputs[labels == "b", 2] += 9.0
    rows = RowCompletion.learn(inputs, labels, [(0, 2)]).prediction(
        np.array([[1.0, 0, np.nan]])
    )
    assert rows.weight[rows.X[:, 2] > 4.5].sum() == pytest.approx(2 / 3, abs=0.03)


def test_copies_count_by_the_curve_that_made_the_outcome():
    rng = np.random.default_rng(6)
    x = rng.uniform(-2, 2, 500)
    other = x + rng.normal(size=500)
    y = x**2 + 0.1 * rng.normal(size=500)

    class Parabola:
        def predict_dist(self, X):
            return Normal(np.asarray(X)[:, 0] ** 2, 0.1)

    gap = np.array([[np.nan, 1.5]])
    completion = RowCompletion.learn(np.column_stack([x, other]), y)
    plain = completion.training(gap, np.array([1.0]))
    told = WeighedCompletion(completion, Parabola()).training(gap, np.array([1.0]))
    error = [rows.weight @ np.abs(np.abs(rows.X[:, 0]) - 1.0) for rows in (plain, told)]
    assert error[1] < 0.3 * error[0]


def test_wide_rows_are_completed_column_by_column():
    rng = np.random.default_rng(7)
    wide = rng.normal(size=(30, 500))
    wide[::3, 0] = np.nan
    rows = RowCompletion.learn(wide, rng.normal(size=30)).prediction(wide)
    assert np.isfinite(rows.X).all()


def test_different_copies_of_rows_are_found_once_each():
    copies = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0], [0.0, 1.0], [2.0, 0.0], [3.0, 0.0]])
    rows = CompletedRows(copies, np.array([0, 1, 1, 1, 1, 2]), np.full(6, 0.25))
    distinct, place = rows.distinct()
    assert sorted(rows.row[distinct].tolist()) == [0, 1, 1, 2]
    assert_array_equal(rows.X[distinct][place], rows.X)
    assert_array_equal(rows.row[distinct][place], rows.row)


def test_copies_of_many_rows_of_classes_spread_as_what_is_missing_does():
    rng = np.random.default_rng(8)
    labels = np.resize(["a", "b"], 6000)
    inputs = rng.normal(size=(6000, 2)) + 2.0 * (labels == "b")[:, None]
    gaps = inputs.copy()
    gaps[:, 0] = np.where(rng.random(6000) < 0.9, np.nan, inputs[:, 0])
    rows = RowCompletion.learn(gaps, labels).training(gaps, labels)
    for label in "ab":
        copies = rows.X[labels[rows.row] == label, 0]
        assert copies.mean() == pytest.approx(inputs[labels == label, 0].mean(), abs=0.1)
        assert copies.std() == pytest.approx(1.0, abs=0.1)


def with_gaps(inputs, share, seed):
    return np.where(np.random.default_rng(seed).random(inputs.shape) < share, np.nan, inputs)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.5])
def test_a_missing_two_valued_input_has_its_share_and_its_covariance(share):
    rng = np.random.default_rng(9)
    number = rng.normal(size=8000)
    chance = np.clip(share * (1 + 0.8 * number), 0.0, 1.0)
    flag = np.where(rng.random(8000) < chance, 7.0, 3.0)
    inputs = np.column_stack([flag, number])
    gaps = inputs.copy()
    gaps[:5000, 0] = np.nan
    completion = RowCompletion.learn(gaps, number)
    for rows in (completion.training(gaps, number), completion.prediction(gaps)):
        drawn = rows.X[rows.row < 5000]
        weight = rows.weight[rows.row < 5000]
        assert_array_equal(np.unique(drawn[:, 0]), [3.0, 7.0])
        truth = inputs[5000:]
        is_high = drawn[:, 0] == 7.0
        expected = np.mean(truth[:, 0] == 7.0)
        assert weight @ is_high / 5000 == pytest.approx(expected, rel=0.1)
        covariance = np.cov(drawn.T, aweights=weight)[0, 1]
        assert covariance == pytest.approx(np.cov(truth.T)[0, 1], rel=0.25)


def test_shares_of_levels_are_right_over_many_rows_with_few_copies():
    rng = np.random.default_rng(10)
    level = rng.choice(4, 6000, p=[0.55, 0.3, 0.11, 0.04])
    number = rng.normal(size=6000)
    inputs = np.column_stack([np.eye(4)[level], number])
    inputs[:4000, :4] = np.nan
    completion = RowCompletion.learn(inputs, number, [(0, 4)])
    rows = completion.training(inputs, number)
    own = rows.row < 4000
    drawn = rows.weight[own] @ rows.X[own, :4] / 4000
    assert own.sum() <= 2 * 4000
    assert_allclose(drawn, np.eye(4)[level[4000:]].mean(axis=0), atol=0.012)


def test_equal_rows_have_among_them_what_may_be_in_their_gaps():
    rng = np.random.default_rng(11)
    labels = rng.choice(["a", "b"], 8000)
    flag = np.where(rng.random(8000) < 0.3, 1.0, 0.0)
    inputs = np.column_stack([flag, np.resize([0.0, 0.0, 1.0], 8000)])
    inputs[::2, 0] = np.nan
    inputs[1::4, 0] = np.nan
    rows = RowCompletion.learn(inputs, labels).training(inputs, labels)
    assert len(rows.row) == 8000
    drawn = rows.X[np.isnan(inputs[rows.row, 0]), 0]
    assert drawn.mean() == pytest.approx(np.nanmean(inputs[:, 0]), abs=0.01)


def test_independent_inputs_stay_independent_in_completed_rows():
    rng = np.random.default_rng(12)
    inputs, y = rng.normal(size=(8000, 3)), rng.normal(size=8000)
    gaps = with_gaps(inputs, 0.6, 13)
    rows = RowCompletion.learn(gaps, y).training(gaps, y)
    both = np.isnan(gaps).sum(axis=1)[rows.row] > 1
    covariance = np.cov(rows.X[both].T, aweights=rows.weight[both])
    assert_allclose(covariance, np.eye(3), atol=0.08)


@pytest.mark.parametrize("labels", [Y, np.where(Y > 0, "high", "low")], ids=["number", "class"])
def test_what_stands_in_gaps_does_not_depend_on_the_order_of_rows(labels):
    gaps, order = with_gaps(X, 0.3, 14), np.random.default_rng(15).permutation(len(X))
    completion = RowCompletion.learn(gaps, labels)
    here = completion.training(gaps, labels)
    there = completion.training(gaps[order], labels[order])
    for rows, moved in ((here, there), (here.one_of_each(), there.one_of_each())):
        told = np.unique(labels, return_inverse=True)[1]
        columns = [
            np.column_stack([part.X, outcome[part.row], part.weight])
            for part, outcome in ((rows, told), (moved, told[order]))
        ]
        # Equal rows may change places.
        by_value = [part[np.lexsort(part.T)] for part in columns]
        assert_allclose(by_value[1], by_value[0], rtol=1e-12)


def test_copies_are_kept_as_often_as_they_count():
    n = 3000
    weight = np.tile([0.5, 0.3, 0.15, 0.05], n)
    choice = np.random.default_rng(16).random((n, 2))
    copies = np.tile(np.arange(4.0), n)[:, None]
    rows = CompletedRows(copies, np.repeat(np.arange(n), 4), weight, choice=choice)
    for kept in (rows.one_of_each(), rows.resampled(3), rows.resampled(2).one_of_each()):
        assert_array_equal(np.unique(kept.row), np.arange(n))
        assert_allclose(kept.mean(np.ones(len(kept.row))), np.ones(n))
        shares = np.bincount(kept.X[:, 0].astype(int), kept.weight) / n
        assert_allclose(shares, weight[:4], atol=0.03)


def test_rows_of_which_few_copies_count_get_others():
    weight = np.array([0.25, 0.25, 0.25, 0.25, 1.0, 0.0, 0.0, 0.0, 0.0])
    rows = CompletedRows(np.arange(9.0)[:, None], np.repeat([0, 1], [4, 5]), weight)
    assert_array_equal(rows.is_sharp, [False, True])
    other = CompletedRows(np.array([[20.0], [21.0]]), np.array([0, 0]), np.array([0.7, 0.3]))
    first, second = (rows.replaced(np.array([k]), other) for k in (0, 1))
    assert_array_equal(first.X[:, 0], [20, 21, 4, 5, 6, 7, 8])
    assert_array_equal(second.X[:, 0], [0, 1, 2, 3, 20, 21])
    assert_array_equal(second.row, [0, 0, 0, 0, 1, 1])
    assert_array_equal(second.weight, [0.25, 0.25, 0.25, 0.25, 0.7, 0.3])


def test_where_no_row_has_a_gap_nothing_is_learned_to_complete_them():
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    holed = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    assert isinstance(learned_completion(X, y, ()), NoGaps)
    assert isinstance(learned_completion(X, y, (), X[:5]), NoGaps)
    assert isinstance(learned_completion(holed, y, (), X), RowCompletion)
    assert isinstance(learned_completion(X, y, (), holed), RowCompletion)


def test_rows_without_gaps_complete_themselves_as_a_density_completes_them():
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    learned, none = RowCompletion.learn(X, y), NoGaps()
    for one, two in (
        (none.training(X, y), learned.training(X, y)),
        (none.training(X, y).one_of_each(), learned.training(X, y).one_of_each()),
        (none.prediction(X), learned.prediction(X)),
    ):
        assert_array_equal(one.X, two.X)
        assert_array_equal(one.row, two.row)
        assert_array_equal(one.weight, two.weight)


def test_rows_that_stand_for_themselves_need_no_weights():
    x = np.column_stack([np.linspace(-1.0, 1.0, 20), np.cos(np.arange(20))])
    y = x.sum(axis=1)
    assert NoGaps().training(x, y).given_weight is None
    holed = x.copy()
    holed[3, 1] = np.nan
    rows = RowCompletion.learn(holed, y).training(holed, y)
    assert rows.given_weight is rows.weight
    assert_allclose(rows.weight[rows.row == 3].sum(), 1.0)
    assert (rows.row == 3).sum() > 1

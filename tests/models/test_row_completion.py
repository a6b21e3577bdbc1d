import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.distributions import MultivariateNormal, Normal
from credo.models.row_completion import N_DRAWS, CompletedRows, RowCompletion, WeighedCompletion

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

""""""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.engine.engine import ConvergenceWarning
from credo.inference.engine.weighted_draws import DrawAccount, WeightedDraws, ZeroWeights


def test_equal_weights_give_ordinary_averages():
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    draws = WeightedDraws({"x": x}, np.full(1000, -800.0))
    mean, error = draws.mean(x)
    assert_allclose([mean, error], [x.mean(), x.std() / np.sqrt(1000)])
    assert_allclose(draws.effective_draws, 1000)
    assert_allclose(draws.log_evidence, -800.0)
    assert draws.log_evidence_error == pytest.approx(0.0, abs=1e-7)


def test_weights_correct_the_distribution_they_were_drawn_from():
    # Draws from N(0, 1), weighted to be draws from N(0.5, 1).
    x = np.random.default_rng(1).normal(size=50_000)
    draws = WeightedDraws({"x": x}, 0.5 * x - 0.125)
    mean, error = draws.mean(x)
    assert abs(mean - 0.5) < 4 * error
    assert_allclose(draws.effective_draws / 50_000, np.exp(-0.25), rtol=0.02)
    assert abs(draws.log_evidence) < 4 * draws.log_evidence_error


def test_the_error_of_the_log_evidence_is_its_spread():
    rng = np.random.default_rng(2)
    runs = [WeightedDraws({}, 0.7 * rng.normal(size=400)) for _ in range(500)]
    spread = np.std([r.log_evidence for r in runs])
    assert_allclose(np.mean([r.log_evidence_error for r in runs]), spread, rtol=0.1)


def test_pooled_draws_are_all_draws():
    a, b = (WeightedDraws({"x": np.array([k, k])}, np.log([1.0, k])) for k in (1, 2))
    both = WeightedDraws.pooled([a, b])
    assert_allclose(both.probability("x", 3), [0, 0.4, 0.6])


def test_resampled_draws_need_no_weights():
    draws = WeightedDraws(
        {"x": np.array([0, 1]), "y": np.array([5.0, 6.0])}, np.log([0.2, 0.8])
    )
    again = draws.resampled(10_000, np.random.default_rng(3))
    assert abs(again["x"].mean() - 0.8) < 4 * 0.4 / 100
    assert_allclose(again["y"], 5.0 + again["x"])


def test_weights_that_are_all_zero_are_said_to_be():
    draws = WeightedDraws({"x": np.array([0, 1])}, np.full(2, -np.inf))
    assert draws.effective_draws == 0
    assert draws.log_evidence == -np.inf
    assert draws.log_evidence_error == np.inf
    with pytest.raises(ZeroWeights, match="found none among 2"):
        draws.probability("x", 2)
    assert pickle.loads(pickle.dumps(ZeroWeights(3))).n_draws == 3


def test_moments_are_those_of_weighted_points_and_empty_of_no_variable():
    x, y, weight = np.array([0.0, 1.0, 4.0]), np.array([2.0, 0.0, 1.0]), [0.2, 0.3, 0.5]
    draws = WeightedDraws({"x": x, "y": y}, np.log(weight))
    mean, covariance = draws.moments(["x", "y"])
    assert_allclose(mean, [np.average(x, weights=weight), np.average(y, weights=weight)])
    assert_allclose(covariance, np.cov(x, y, aweights=weight, ddof=0))
    mean, covariance = draws.moments([])
    assert (mean.shape, covariance.shape) == ((0,), (0, 0))


def test_the_spread_of_a_real_variable_is_its_weighted_mean_and_variance():
    rng = np.random.default_rng(6)
    x, weight = 1e3 + rng.normal(size=500), rng.uniform(size=500)
    mean, variance, error = WeightedDraws({"x": x}, np.log(weight)).spread("x")
    assert_allclose(
        [mean, variance], [np.average(x, weights=weight), np.cov(x, aweights=weight, ddof=0)]
    )
    share = weight / weight.sum()
    assert_allclose(error, np.sqrt((share**2 * (x - mean) ** 2).sum() / variance))


def test_the_relative_error_is_zero_without_spread_and_infinite_for_a_single_draw():
    assert WeightedDraws({"x": np.full(3, 2.5)}, np.zeros(3)).spread("x") == (2.5, 0.0, 0.0)
    lone = WeightedDraws({"x": np.array([1.0, 2.0])}, np.array([0.0, -np.inf]))
    assert lone.spread("x") == (1.0, 0.0, np.inf)


def test_the_error_of_a_table_is_the_largest_error_of_the_mean_of_a_cell():
    rng = np.random.default_rng(7)
    code, log_weight = rng.integers(0, 3, size=200), rng.normal(size=200)
    draws = WeightedDraws({"x": code}, log_weight)
    share, error = draws.joint(["x"], (3,))
    cells = [draws.mean(code == k) for k in range(3)]
    assert_allclose(share, [mean for mean, _ in cells])
    assert_allclose(error, max(cell for _, cell in cells))


def test_the_worth_of_one_draw_is_added_to_the_largest_error_of_any_row():
    account = DrawAccount([5000.0, 40_000.0], [0.003, 0.004]).account(tolerance=0.01)
    assert_allclose(account.error, np.hypot(0.004, 1 / 5000))
    assert account.effective_draws == 5000
    assert not account.is_exact
    assert account.error_kind == "largest standard error"


def test_rows_known_worse_than_asked_for_are_told():
    # A probability of one half has standard error 0.5 / sqrt(n) after n independent draws.
    DrawAccount([2500.0], [0.01]).account(tolerance=0.01)
    with pytest.warns(ConvergenceWarning, match="worth only 2400 independent"):
        DrawAccount([2400.0], [0.01]).account(tolerance=0.01)


def test_the_error_of_a_few_draws_is_not_known():
    with pytest.warns(ConvergenceWarning, match="found 3. Do not trust"):
        account = DrawAccount([1e6, 3.0], [0.0, 0.0]).account(tolerance=0.01)
    assert account.error == np.inf


def test_rows_without_any_draw_have_an_unknown_error_and_no_warning_of_their_own():
    assert DrawAccount([0.0], []).account(tolerance=0.01).error == np.inf

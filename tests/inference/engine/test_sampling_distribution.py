"""Standard errors of estimates: worked values, exact formulas, and many data sets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.distributions import MultivariateNormal, Normal
from credo.inference import (
    bootstrap_draws,
    curvature_covariance,
    jackknife_error,
    sampling_table,
)
from credo.numerics.array import Array
from credo.numerics.linear.linear_algebra import NotPositiveDefinite

X = np.array([0.0, 1.0, 2.0, 3.0])
T = np.array([0.2, 0.9, 2.1, 2.8])
DESIGN = np.column_stack([np.ones(4), X])


def _log_likelihood(weights: Array) -> float:
    left = T - DESIGN @ weights
    return float(-0.5 * left @ left / 0.0125)


def _line(rows: Array) -> Array:
    design = np.column_stack([np.ones(len(rows)), rows[:, 0]])
    return np.asarray(np.linalg.lstsq(design, rows[:, 1], rcond=None)[0])


def test_curvature_of_the_worked_line_gives_its_standard_errors() -> None:
    covariance = curvature_covariance(_log_likelihood, [0.15, 0.9])
    assert_allclose(np.sqrt(np.diagonal(covariance)), [0.0935414347, 0.05], rtol=1e-5)
    assert_allclose(covariance, 0.0125 * np.linalg.inv(DESIGN.T @ DESIGN), rtol=1e-5)
    with pytest.raises(NotPositiveDefinite):
        curvature_covariance(lambda w: float(w @ w), [0.0])


def test_leaving_rows_out_gives_the_error_of_a_mean_exactly() -> None:
    x = np.random.default_rng(0).gamma(2.0, size=30)
    assert_allclose(jackknife_error(np.mean, x), x.std(ddof=1) / np.sqrt(30), rtol=1e-12)
    with pytest.raises(ValueError, match="at least two"):
        jackknife_error(np.mean, x[:1])


def test_resampled_means_spread_by_the_root_of_n() -> None:
    x = np.random.default_rng(1).normal(size=50)
    draws = bootstrap_draws(np.mean, x, np.random.default_rng(2), 4000)
    assert draws.shape == (4000, 1)
    assert draws.std() == pytest.approx(x.std() / np.sqrt(50), rel=0.05)
    assert draws.mean() == pytest.approx(x.mean(), abs=4 * x.std() / np.sqrt(50 * 4000))


def test_table_has_estimate_and_posterior_side_by_side() -> None:
    """A mean of known variance: with a flat prior both say the same."""
    x = np.random.default_rng(3).normal(1.0, 2.0, size=80)
    table = sampling_table(
        np.mean,
        x,
        np.random.default_rng(4),
        log_likelihood=lambda m: float(-0.5 * ((x - m[0]) ** 2).sum() / 4.0),
        posterior=Normal(x.mean(), 2.0 / np.sqrt(80)),
        n_resamples=2000,
        names=["mean"],
    )
    row = table.loc["mean"]
    assert row["estimate"] == pytest.approx(x.mean(), abs=1e-14)
    assert row["curvature_error"] == pytest.approx(2.0 / np.sqrt(80), rel=1e-6)
    assert row["posterior_mean"] == pytest.approx(x.mean(), abs=1e-14)
    assert row["posterior_std"] == pytest.approx(row["curvature_error"], rel=1e-6)
    assert row["bootstrap_error"] == pytest.approx(x.std() / np.sqrt(80), rel=0.08)
    assert row["jackknife_error"] == pytest.approx(x.std(ddof=1) / np.sqrt(80), rel=1e-12)
    assert abs(row["bootstrap_bias"]) < 0.02


def test_errors_of_a_line_are_those_over_many_data_sets() -> None:
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 3, size=60)
    many = np.stack(
        [_line(np.column_stack([x, 1 + 2 * x + rng.normal(size=60)])) for _ in range(2000)]
    )
    rows = np.column_stack([x, 1 + 2 * x + rng.normal(size=60)])
    law = MultivariateNormal([1.0, 2.0], np.eye(2))
    table = sampling_table(_line, rows, rng, posterior=law, names=["level", "slope"])
    assert list(table.columns) == [
        "estimate",
        "bootstrap_error",
        "bootstrap_bias",
        "jackknife_error",
        "posterior_mean",
        "posterior_std",
    ]
    for way in ("bootstrap_error", "jackknife_error"):
        assert_allclose(table[way], many.std(axis=0), rtol=0.35)

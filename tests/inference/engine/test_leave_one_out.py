"""Leave-one-out scores against ArviZ, and against exact ones of linear regression."""

import warnings

import numpy as np
import pytest
from scipy import stats

from credo.inference import (
    ConvergenceWarning,
    LeaveOneOut,
    compare_leave_one_out,
    leave_one_out,
)
from credo.numerics.array import Array
from naive import peer

NOISE = 0.5


def _line(n: int = 40, n_columns: int = 3) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, n_columns))
    return x, x @ np.arange(1.0, n_columns + 1) + NOISE * rng.normal(size=n)


def _log_normal(y: Array, mean: Array, variance: Array | float) -> Array:
    return -0.5 * (y - mean) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)


def _posterior(x: Array, y: Array) -> tuple[Array, Array]:
    covariance = np.linalg.inv(np.eye(x.shape[1]) + x.T @ x / NOISE**2)
    return covariance @ x.T @ y / NOISE**2, covariance


def _log_likelihood(x: Array, y: Array, shape: tuple[int, int], seed: int = 1) -> Array:
    weights = np.random.default_rng(seed).multivariate_normal(*_posterior(x, y), size=shape)
    return _log_normal(y, weights @ x.T, NOISE**2)


def _exact(x: Array, y: Array) -> Array:
    scores = np.empty(len(y))
    for i in range(len(y)):
        kept = np.arange(len(y)) != i
        mean, covariance = _posterior(x[kept], y[kept])
        scores[i] = _log_normal(y[i], x[i] @ mean, x[i] @ covariance @ x[i] + NOISE**2)
    return scores


def test_scores_of_a_linear_regression_are_those_of_leaving_each_row_out() -> None:
    x, y = _line()
    found = leave_one_out(_log_likelihood(x, y, (4, 2000)))
    exact = _exact(x, y)
    np.testing.assert_allclose(found.log_score, exact, atol=0.02)
    assert found.elpd == pytest.approx(exact.sum(), abs=0.1)
    assert found.standard_error == pytest.approx(np.sqrt(40) * exact.std(ddof=1), rel=0.02)
    mean, covariance = _posterior(x, y)
    variance = np.einsum("ij,jk,ik->i", x, covariance, x) + NOISE**2
    assert found.log_fit == pytest.approx(_log_normal(y, x @ mean, variance), abs=0.02)
    assert found.effective_parameters == pytest.approx(
        _log_normal(y, x @ mean, variance).sum() - exact.sum(), abs=0.1
    )
    assert len(found.doubtful) == 0


def test_weighted_draws_give_the_same_scores() -> None:
    x, y = _line()
    mean, covariance = _posterior(x, y)
    rng = np.random.default_rng(3)
    weights = rng.multivariate_normal(mean, 1.5 * covariance, size=(1, 8000))
    shift = weights - mean
    form = np.einsum("cdi,ij,cdj->cd", shift, np.linalg.inv(covariance), shift)
    density = _log_normal(y, weights @ x.T, NOISE**2)
    found = leave_one_out(density, -0.5 * form * (1 - 1 / 1.5))
    np.testing.assert_allclose(found.log_score, _exact(x, y), atol=0.03)


@pytest.mark.parametrize("efficiency", [1.0, 0.4])
def test_scores_are_those_of_arviz(efficiency: float) -> None:
    arviz = peer("arviz")
    x, y = _line(n=25, n_columns=5)
    density = _log_likelihood(x, y, (2, 500))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = leave_one_out(density, efficiency=efficiency)
        data = arviz.from_dict(posterior={"w": density[..., 0]}, log_likelihood={"y": density})
        expected = arviz.loo(data, pointwise=True, reff=efficiency)
    np.testing.assert_allclose(found.log_score, expected.loo_i.values, atol=1e-8)
    np.testing.assert_allclose(found.k_hat, expected.pareto_k.values, atol=1e-8)
    assert found.elpd == pytest.approx(expected.elpd_loo, abs=1e-7)
    assert found.effective_parameters == pytest.approx(expected.p_loo, abs=1e-7)
    # ArviZ divides by n, not n - 1.
    assert found.standard_error == pytest.approx(expected.se * np.sqrt(25 / 24), abs=1e-7)


def test_models_are_compared_row_by_row() -> None:
    x, y = _line()
    whole = leave_one_out(_log_likelihood(x, y, (4, 1000)))
    part = leave_one_out(_log_likelihood(x[:, 1:], y, (4, 1000)))
    table = compare_leave_one_out({"part": part, "whole": whole})
    assert list(table.index) == ["whole", "part"]
    shift = _exact(x[:, 1:], y) - _exact(x, y)
    assert table.loc["part", "difference"] == pytest.approx(shift.sum(), rel=0.01)
    error = np.sqrt(40) * shift.std(ddof=1)
    assert table.loc["part", "difference_error"] == pytest.approx(error, rel=0.02)
    assert table.loc["part", "difference_error"] < np.hypot(*table["standard_error"])
    assert table["weight"].sum() == pytest.approx(1.0)
    assert table.loc["whole", "weight"] > 0.9


def test_evidence_and_held_out_scores_stand_beside() -> None:
    x, y = _line()
    columns = {"part": x[:, 1:], "whole": x}
    found = {
        name: leave_one_out(_log_likelihood(rows, y, (4, 1000)))
        for name, rows in columns.items()
    }
    exact = {name: _exact(rows, y) for name, rows in columns.items()}
    evidence = {
        name: float(
            stats.multivariate_normal(
                np.zeros(len(y)), rows @ rows.T + NOISE**2 * np.eye(len(y))
            ).logpdf(y)
        )
        for name, rows in columns.items()
    }
    table = compare_leave_one_out(found, evidence, exact)
    assert table.loc["whole", "log_evidence"] == evidence["whole"]
    assert table.loc["part", "held_out"] == pytest.approx(exact["part"].sum())
    assert np.abs(table["beyond_held_out"]).max() < 0.1
    assert table["log_evidence"].is_monotonic_decreasing
    with pytest.raises(ValueError, match="held_out must have an entry for each"):
        compare_leave_one_out(found, evidence, {"whole": exact["whole"]})
    with pytest.raises(ValueError, match="must be of the same rows"):
        compare_leave_one_out(found, None, {name: x[1:] for name, x in exact.items()})


def test_a_row_far_out_is_doubtful_and_said() -> None:
    x, y = _line()
    y = y.copy()
    y[7] += 12.0
    with pytest.warns(ConvergenceWarning, match="for row 7"):
        found = leave_one_out(_log_likelihood(x, y, (4, 1000)))
    assert 7 in found.doubtful
    assert "doubtful" in repr(found)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="n_chains, n_draws, n_rows"):
        leave_one_out(np.zeros((3, 2)))
    bad = np.zeros((1, 20, 3))
    bad[0, 3, 2] = -np.inf
    with pytest.raises(ValueError, match="in row 2"):
        leave_one_out(bad)
    one, two = (LeaveOneOut(np.zeros(n), np.zeros(n), np.zeros(n), 10) for n in (3, 4))
    with pytest.raises(ValueError, match="same rows"):
        compare_leave_one_out({"one": one, "two": two})

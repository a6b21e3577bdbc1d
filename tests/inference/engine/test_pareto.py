"""Pareto smoothing against ArviZ, and against tails of known shape."""

import warnings

import numpy as np
import pytest

from credo.inference import ZeroWeights, largest_k_hat, pareto_smoothed
from credo.numerics.array import Array
from naive import peer

SIZES = (25, 30, 50, 100, 500, 2000, 10000)


def _log_weights(n: int, kind: int, rng: np.random.Generator) -> Array:
    x = rng.normal(size=n)
    return (-0.3 * x**2, 0.4 * x**2, 3.0 * rng.standard_t(3, n), 1e3 * x, 500 + 1e-3 * x)[kind]


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("n", SIZES)
def test_weights_and_shape_are_those_of_arviz(n: int, kind: int) -> None:
    arviz = peer("arviz")
    rng = np.random.default_rng([n, kind])
    for efficiency in (0.3, 1.0, 1.5):
        given = _log_weights(n, kind, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            weight, shape = arviz.psislw(given.copy(), efficiency, normalize=False)
        found = pareto_smoothed(given, efficiency=efficiency)
        np.testing.assert_allclose(found.log_weight, weight, rtol=0, atol=1e-8)
        np.testing.assert_allclose(found.k_hat, shape, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("slope", "shape", "largest", "second"),
    [
        (0.5, 0.495277070550, 2.987330440251926, 2.4415032343474925),
        (2.0, 1.593183444616, 10.547093406080782, 8.795428566103894),
    ],
)
def test_shape_and_weights_of_a_grid_are_those_stored_from_arviz(
    slope: float, shape: float, largest: float, second: float
) -> None:
    found = pareto_smoothed(slope * -np.log(1.0 - (np.arange(200) + 0.5) / 200))
    assert float(found.k_hat) == pytest.approx(shape, abs=1e-10)
    assert np.sort(found.log_weight)[[-1, -2]] == pytest.approx([largest, second], abs=1e-8)


@pytest.mark.parametrize("variance", [0.2, 0.5])
def test_shape_is_that_of_a_ratio_of_normal_densities(variance: float) -> None:
    """The weight of N(0, 1) under N(0, v) has a tail of shape 1 - v."""
    rng = np.random.default_rng(1)
    x = rng.normal(scale=np.sqrt(variance), size=(100_000, 4))
    shapes = pareto_smoothed(-0.5 * x**2 + 0.5 * x**2 / variance).k_hat
    # Logarithms before the power law make the shape larger than its limit.
    assert float(shapes.mean()) == pytest.approx(1.0 - variance, abs=0.12)


def test_each_column_is_smoothed_by_itself_and_a_constant_changes_nothing() -> None:
    given = 0.4 * np.random.default_rng(2).normal(size=(300, 3)) ** 2
    together = pareto_smoothed(given + np.array([0.0, 100.0, -800.0]))
    for j, shift in enumerate([0.0, 100.0, -800.0]):
        alone = pareto_smoothed(given[:, j])
        assert together.k_hat[j] == pytest.approx(float(alone.k_hat), abs=1e-9)
        np.testing.assert_allclose(
            together.log_weight[:, j] - shift, alone.log_weight, atol=1e-9
        )


def test_smoothing_keeps_order_and_the_largest_weight_and_moves_the_tail_only() -> None:
    given = 0.45 * np.random.default_rng(3).normal(size=1000) ** 2
    found = pareto_smoothed(given)
    assert np.all(np.diff(found.log_weight[np.argsort(given)]) >= 0)
    assert found.log_weight.max() <= given.max()
    moved = np.flatnonzero(found.log_weight != given)
    assert set(moved) <= set(np.argsort(given)[-95:])
    # The largest stays where its quantile lies above it.
    assert len(moved) in (94, 95)


def test_even_weights_are_the_best_and_few_tell_nothing() -> None:
    assert float(pareto_smoothed(np.full(500, 3.0)).k_hat) == -np.inf
    assert float(pareto_smoothed(1e-13 * np.random.default_rng(0).normal(size=500)).k_hat) < 0
    assert float(pareto_smoothed([0.0, 1.0, 2.0]).k_hat) == np.inf
    assert float(pareto_smoothed([0.0] + [-np.inf] * 99).k_hat) == np.inf
    extreme = np.linspace(-3000.0, 3000.0, 200)
    assert float(pareto_smoothed(extreme).k_hat) > 1.0


def test_limit_of_the_shape_grows_with_draws() -> None:
    assert largest_k_hat(100) == pytest.approx(0.5)
    assert largest_k_hat(10_000) == 0.7
    assert largest_k_hat(1) == -np.inf


def test_bad_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="found NaN or infinity"):
        pareto_smoothed([0.0, np.nan])
    with pytest.raises(ZeroWeights):
        pareto_smoothed(np.full(20, -np.inf))
    with pytest.raises(ValueError, match="draws on the first axis"):
        pareto_smoothed(3.0)
    with pytest.raises(ValueError, match="efficiency must be positive"):
        pareto_smoothed([0.0, 1.0], efficiency=0.0)

"""Bijections: there and back, and every derivative against finite differences."""

import numpy as np
import pytest
from scipy import special

from credo.numerics.array import Array
from credo.numerics.special.bijection import (
    Bijection,
    Covariance,
    Interval,
    Ordered,
    Simplex,
    positive,
    real,
)

BIJECTIONS: dict[str, Bijection] = {
    "real": real(2, 3),
    "number": real(),
    "positive": positive(3),
    "above": Interval(low=-2.0, shape=(2,)),
    "below": Interval(high=5.0, shape=(2, 2)),
    "between": Interval(-1.0, 3.0, (3,)),
    "two classes": Simplex(2),
    "simplex": Simplex(5),
    "ordered": Ordered(4),
    "variance": Covariance(1),
    "covariance": Covariance(4),
}
every = pytest.mark.parametrize("bijection", BIJECTIONS.values(), ids=BIJECTIONS.keys())
STEP = 1e-6


def _places(bijection: Bijection, n: int = 5) -> Array:
    return np.random.default_rng(0).normal(size=(n, bijection.n_free))


def _coordinates(bijection: Bijection, value: Array) -> Array:
    """Return the entries of a value whose volume counts."""
    if isinstance(bijection, Simplex):
        return value[:-1]
    if isinstance(bijection, Covariance):
        return value[np.tril_indices(bijection.size)]
    return value.ravel()


@every
def test_values_lie_in_their_support_and_lead_back(bijection: Bijection) -> None:
    free = _places(bijection)
    value = bijection.constrain(free)
    assert value.shape == (5, *bijection.shape)
    np.testing.assert_allclose(bijection.free(value), free, atol=1e-12)
    one = bijection.constrain(free[2])
    np.testing.assert_allclose(one, value[2], rtol=1e-14)


def test_supports_are_those_of_their_names() -> None:
    values = {name: b.constrain(3 * _places(b, 50)) for name, b in BIJECTIONS.items()}
    assert (values["positive"] > 0).all()
    assert (values["above"] > -2).all()
    assert (values["below"] < 5).all()
    assert (np.abs(values["between"] - 1) < 2).all()
    np.testing.assert_allclose(values["simplex"].sum(axis=-1), 1.0)
    assert (values["simplex"] > 0).all()
    assert (np.diff(values["ordered"]) > 0).all()
    assert (np.linalg.eigvalsh(values["covariance"]) > 0).all()


@every
def test_the_log_jacobian_is_that_of_finite_differences(bijection: Bijection) -> None:
    for free in _places(bijection):
        steps = STEP * np.eye(bijection.n_free)
        columns = [
            (
                _coordinates(bijection, bijection.constrain(free + step))
                - _coordinates(bijection, bijection.constrain(free - step))
            )
            / (2 * STEP)
            for step in steps
        ]
        _, expected = np.linalg.slogdet(np.array(columns))
        assert float(bijection.log_jacobian(free)) == pytest.approx(expected, abs=1e-7)


@every
def test_the_slope_of_the_log_jacobian_is_that_of_finite_differences(
    bijection: Bijection,
) -> None:
    free = _places(bijection)
    for i in range(bijection.n_free):
        step = np.zeros(bijection.n_free)
        step[i] = STEP
        ahead, behind = bijection.log_jacobian(free + step), bijection.log_jacobian(free - step)
        found = bijection.jacobian_slope(free)[:, i]
        np.testing.assert_allclose(found, (ahead - behind) / (2 * STEP), atol=1e-7)


@every
def test_gradients_are_pulled_back_as_finite_differences_say(bijection: Bijection) -> None:
    free = _places(bijection)
    weight = np.random.default_rng(1).normal(size=bijection.shape)
    axes = tuple(range(1, 1 + len(bijection.shape)))

    def objective(at: Array) -> Array:
        return np.asarray((weight * np.sin(bijection.constrain(at))).sum(axis=axes))

    value = bijection.constrain(free)
    found = bijection.pull_back(free, weight * np.cos(value))
    for i in range(bijection.n_free):
        step = np.zeros(bijection.n_free)
        step[i] = STEP
        slope = (objective(free + step) - objective(free - step)) / (2 * STEP)
        np.testing.assert_allclose(found[:, i], slope, atol=1e-6)


def test_far_free_numbers_stay_inside() -> None:
    between = Interval(-1.0, 3.0)
    far = np.array([[-800.0], [-40.0], [40.0], [800.0]])
    value = between.constrain(far)
    assert ((value >= -1) & (value <= 3)).all()
    assert np.isfinite(between.log_jacobian(far)).all()
    p = Simplex(3).constrain(np.array([900.0, 0.0]))
    assert np.isfinite(p).all()
    assert np.isfinite(Simplex(3).log_jacobian(np.array([900.0, 0.0])))


def test_a_uniform_simplex_is_a_density_of_its_free_numbers() -> None:
    bijection, grid = Simplex(3), np.linspace(-12, 12, 601)
    places = np.stack(np.meshgrid(grid, grid), axis=-1)
    mass = np.exp(bijection.log_jacobian(places)).sum() * (grid[1] - grid[0]) ** 2
    # The triangle of two coordinates has the area one half.
    assert mass == pytest.approx(0.5, rel=1e-4)
    log_uniform = special.gammaln(3)
    assert mass * np.exp(log_uniform) == pytest.approx(1.0, rel=1e-4)


def test_ends_must_be_in_order() -> None:
    with pytest.raises(ValueError, match="low must be below high"):
        Interval(1.0, 1.0)

"""Densities of named parameters against closed forms, finite differences and quadrature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from credo.inference import Draws, LaplaceApproximation, LogDensity, Parameters, run
from credo.numerics.optimize import finite_difference_gradient
from credo.numerics.special.bijection import (
    Covariance,
    Interval,
    Ordered,
    Simplex,
    positive,
    real,
)

EVERY = Parameters(
    {
        "level": real(2),
        "scale": positive(),
        "share": Interval(0.0, 1.0),
        "mix": Simplex(3),
        "cut": Ordered(3),
        "cov": Covariance(2),
    }
)


def everything(values):
    """Return a smooth function of all parameters, and its gradient."""
    weight = {name: np.cos(np.arange(x.size)).reshape(x.shape) for name, x in values.items()}
    value = sum(float(np.sum(w * np.sin(values[name]))) for name, w in weight.items())
    return value, {name: w * np.cos(values[name]) for name, w in weight.items()}


def test_values_come_back_from_their_free_numbers():
    free = np.random.default_rng(0).normal(size=EVERY.n_free)
    values = EVERY.constrain(free)
    assert list(values) == list(EVERY.names)
    assert_allclose(EVERY.free(values), free, atol=1e-10)
    assert values["mix"].sum() == pytest.approx(1.0)
    assert np.all(np.diff(values["cut"]) > 0)
    assert np.linalg.eigvalsh(values["cov"]).min() > 0


@pytest.mark.parametrize("seed", range(5))
def test_the_gradient_by_free_numbers_is_that_of_differences(seed):
    problem = LogDensity(EVERY, everything)
    free = 0.5 * np.random.default_rng(seed).normal(size=EVERY.n_free)
    value, gradient = problem.log_density_and_gradient(free)
    assert_allclose(
        gradient, finite_difference_gradient(problem.log_density, free), rtol=1e-5, atol=1e-6
    )
    minus, downward = problem.value_and_gradient(free)
    assert minus == -value
    assert_allclose(downward, -gradient)


def test_the_curvature_is_that_of_the_gradient():
    problem = LogDensity(EVERY, everything)
    free = 0.3 * np.random.default_rng(3).normal(size=EVERY.n_free)
    _, gradient, curvature = problem.derivatives(free)
    moved = 1e-4 * np.random.default_rng(4).normal(size=EVERY.n_free)
    ends = [problem.value_and_gradient(free + sign * moved)[1] for sign in (1, -1)]
    assert_allclose(curvature @ moved, (ends[0] - ends[1]) / 2, rtol=1e-4, atol=1e-8)
    assert_allclose(curvature, curvature.T)
    assert_allclose(gradient, problem.value_and_gradient(free)[1])


def test_the_density_of_free_numbers_integrates_to_that_of_the_values():
    """A gamma density times the Jacobian of its log, against its own normalizer."""

    def gamma(values):
        x = values["rate"]
        return float(2.5 * np.log(x) - 3.0 * x), {"rate": 2.5 / x - 3.0}

    problem = LogDensity(Parameters({"rate": positive()}), gamma)
    total, _ = integrate.quad(lambda u: np.exp(problem.log_density(np.array([u]))), -20, 6)
    assert_allclose(total, special.gamma(3.5) / 3.0**3.5, rtol=1e-8)


def test_laplace_of_a_normal_of_transformed_numbers_is_exact():
    """Where the free numbers are normal the evidence is the integral, and draws are right."""

    def lognormal(values):
        x = np.log(values["scale"])
        slope = -(x - 0.3) / 0.04 - 1.0
        return float(-0.5 * (x - 0.3) ** 2 / 0.04 - x), {"scale": slope / values["scale"]}

    problem = LogDensity(Parameters({"scale": positive()}), lognormal)
    found = run(LaplaceApproximation(1e-9), problem)
    assert_allclose(found.log_evidence, 0.5 * np.log(2 * np.pi * 0.04), rtol=1e-6)
    assert_allclose(found.posterior.mean(), [0.3], atol=1e-8)
    assert not found.is_exact
    free = found.posterior.sample(np.random.default_rng(0), 20_000)
    draws = problem.parameters.draws(free.reshape(4, 5000, 1))
    assert isinstance(draws, Draws)
    exact = stats.lognorm(0.2, scale=np.exp(0.3))
    row = draws.summary().loc["scale"]
    assert abs(row["mean"] - exact.mean()) < 4.5 * row["mean_error"]
    assert abs(row["std"] - exact.std()) < 4.5 * row["std_error"]


def test_draws_keep_chains_apart_and_shapes_whole():
    free = np.random.default_rng(1).normal(size=(2, 7, EVERY.n_free))
    draws = EVERY.draws(free)
    assert (draws.n_chains, draws.n_draws) == (2, 7)
    assert draws["cov"].shape == (2, 7, 2, 2)
    assert_allclose(draws["mix"][1, 3], EVERY.constrain(free[1, 3])["mix"])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"scale": 1.0}, "values must be given for"),
        ({"scale": 1.0, "share": 0.5, "odd": 2.0}, "values must be given for"),
        ({"scale": -1.0, "share": 0.5}, "scale must lie inside its support"),
        ({"scale": 1.0, "share": 1.0}, "share must lie inside its support"),
    ],
)
def test_values_outside_their_support_are_refused(values, said):
    parameters = Parameters({"scale": positive(), "share": Interval(0.0, 1.0)})
    with pytest.raises(ValueError, match=said):
        parameters.free(values)


def test_parameters_must_have_names():
    with pytest.raises(ValueError, match="a bijection for each of at least one name"):
        Parameters({})


def test_what_a_density_must_return_is_said():
    one = Parameters({"level": real()})
    for wrong in (lambda values: 0.0, lambda values: (0.0, {}), lambda values: (0.0, {"x": 1})):
        with pytest.raises(ValueError, match="density must return its log and a gradient"):
            LogDensity(one, wrong).log_density(np.zeros(1))
    with pytest.raises(ValueError, match="guess must hold the 1 free numbers"):
        LogDensity(one, everything, np.zeros(3))
    with pytest.raises(ValueError, match="a bijection for each"):
        Parameters({"level": "real"})

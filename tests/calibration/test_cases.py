"""Levels of a truth are uniform, and a wrong prior shows."""

import numpy as np
import pytest
from calibration.__main__ import uniformity
from calibration.cases import (
    CASES,
    CHAINS,
    ENGINES,
    compiled_units,
    line,
    network_problem,
)
from calibration.mixtures import MIXTURES
from scipy import stats

from credo.inference import run
from credo.inference.density.laplace import LaplaceApproximation
from credo.inference.neural.sampling import NetworkDensity


@pytest.mark.parametrize("name", CASES)
def test_levels_of_the_truth_are_uniform_on_average(name):
    simulate, _ = CASES[name]
    rng = np.random.default_rng(0)
    levels = np.array([simulate(rng) for _ in range(120)])
    assert np.all((levels >= 0) & (levels <= 1))
    # The mean of 120 uniform numbers has standard error 0.026; four of those.
    assert abs(levels.mean() - 0.5) < 0.106
    assert 0.2 < levels.std() < 0.38


def test_uneven_levels_are_improbable():
    rng = np.random.default_rng(0)
    assert uniformity(rng.random(4000))["p_value"] > 1e-3
    assert uniformity(rng.beta(1.3, 1.3, 4000))["p_value"] < 1e-6


@pytest.mark.parametrize("name", ENGINES)
def test_ranks_of_the_truth_are_uniform(name):
    found = ENGINES[name].ranks(np.random.default_rng(0), 100)
    assert found.is_calibrated()
    assert found.names[-1] == "log likelihood"


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAINS)
def test_chains_rank_the_truth_evenly(name):
    found = CHAINS[name].ranks(np.random.default_rng(0), 500)
    assert found.is_calibrated()
    assert found.names[-1] == "log likelihood"


def test_draws_of_a_mixture_rank_its_weights_and_densities_evenly():
    found = MIXTURES["collapsed Gibbs, mixture"].ranks(np.random.default_rng(0), 100)
    assert found.is_calibrated()
    assert found.names[-1] == "log likelihood"


@pytest.mark.slow
@pytest.mark.parametrize("name", MIXTURES)
def test_draws_of_components_rank_the_truth_evenly(name):
    assert MIXTURES[name].ranks(np.random.default_rng(0), 400).is_calibrated()


def test_the_compiled_network_has_the_density_of_the_estimator_up_to_a_constant():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 1)), rng.normal(size=(8, 1))
    compiled, plain = compiled_units(x, y).density, NetworkDensity(network_problem(x, y))
    constants = []
    for _ in range(3):
        values = {
            "standard": rng.normal(size=7),
            "log_precision": rng.normal(size=2),
            "log_noise": rng.normal(size=1),
        }
        (own, own_slope), (other, other_slope) = compiled(values), plain(values)
        constants.append(own - other)
        for name in values:
            np.testing.assert_allclose(own_slope[name], other_slope[name], atol=1e-11)
    np.testing.assert_allclose(constants, constants[0], atol=1e-10)


def test_the_line_has_a_posterior_that_the_laplace_approximation_meets_exactly():
    _, problem = line(np.random.default_rng(0))
    found = run(LaplaceApproximation(), problem)
    n = len(problem.y)
    precision = np.eye(2) + problem.design.T @ problem.design / 0.25
    mean = np.linalg.solve(precision, problem.design.T @ problem.y / 0.25)
    np.testing.assert_allclose(found.posterior.mean(), mean)
    # What the value leaves out: constants of the prior and of the noise.
    constant = -0.5 * (n + 2) * np.log(2 * np.pi) - n * np.log(0.5)
    marginal = problem.design @ problem.design.T + 0.25 * np.eye(n)
    exact = stats.multivariate_normal(np.zeros(n), marginal).logpdf(problem.y)
    np.testing.assert_allclose(found.log_evidence + constant, exact)

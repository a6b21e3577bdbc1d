from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from credo import posterior
from credo.inference import LogDensity, Parameter, Parameters, run
from credo.inference.density.laplace import LaplaceApproximation, approach
from credo.inference.density.pathfinder import Pathfinder, path_metric
from credo.inference.engine.engine import ConvergenceWarning
from credo.numerics.linear.linear_algebra import NotPositiveDefinite
from credo.numerics.special.bijection import positive, real
from credo.numerics.status import Status

PRECISION = np.array([[3.0, 1.0], [1.0, 2.0]])


@dataclass
class Quadratic:
    center: np.ndarray
    start: np.ndarray

    def value_and_gradient(self, parameters):
        shift = parameters - self.center
        return 0.5 * shift @ PRECISION @ shift + 4.0, PRECISION @ shift

    def derivatives(self, parameters):
        return *self.value_and_gradient(parameters), PRECISION


class LogGamma:
    """Minus the log density of t = log x for x ~ Gamma(a, 1), up to a constant."""

    start = np.array([4.0])
    a = 30.0

    def value_and_gradient(self, parameters):
        t = parameters[0]
        return np.exp(t) - self.a * t, np.array([np.exp(t) - self.a])

    def derivatives(self, parameters):
        return *self.value_and_gradient(parameters), np.exp(parameters)[:, None]


def normal_of_unknown_scale(y):
    def log_density(values):
        mu, scale = values["mu"], values["scale"]
        gap = y - mu
        value = float(-len(y) * np.log(scale) - 0.5 * gap @ gap / scale**2)
        return value, {
            "mu": gap.sum() / scale**2,
            "scale": -len(y) / scale + gap @ gap / scale**3,
        }

    return log_density


def test_a_start_far_from_the_mode_where_the_density_bends_up_still_leads_there():
    y = np.random.default_rng(0).normal(3.0, 2.0, 50)
    parameters = Parameters({"mu": real(), "scale": positive()})
    for guess in (None, [1.0, 1.0], [0.0, 3.0], [3.0, 0.7]):
        start = None if guess is None else np.array(guess)
        problem = LogDensity(parameters, normal_of_unknown_scale(y), start)
        found = run(LaplaceApproximation(1e-8), problem)
        mode = parameters.constrain(found.posterior.mean())
        assert_allclose(mode["mu"], y.mean(), atol=1e-6)
        # The Jacobian of the log scale adds one to the power of the scale.
        assert_allclose(mode["scale"] ** 2, ((y - y.mean()) ** 2).sum() / 49, rtol=1e-6)


def test_a_density_without_a_peak_is_refused():
    flat = LogDensity(Parameters({"mu": real()}), lambda values: (0.0, {"mu": 0.0}))
    with pytest.raises(NotPositiveDefinite, match="a density must have a peak"):
        run(LaplaceApproximation(), flat)


def test_a_gaussian_is_its_own_approximation_with_an_exact_integral():
    found = run(LaplaceApproximation(), Quadratic(np.array([1.0, -2.0]), np.zeros(2)))
    assert_allclose(found.posterior.mean(), [1.0, -2.0])
    assert_allclose(found.posterior.covariance(), np.linalg.inv(PRECISION))
    exact = -4.0 + np.log(2 * np.pi) - 0.5 * np.log(np.linalg.det(PRECISION))
    assert_allclose(found.log_evidence, exact)
    assert found.evidence_method == "laplace"


def correlated_normal(values):
    free = np.append(values["pair"], values["single"])
    precision = np.array([[2.0, 0.6, 0.3], [0.6, 1.5, -0.4], [0.3, -0.4, 1.0]])
    slope = -precision @ (free - [1.0, 2.0, 3.0])
    value = 0.5 * float(slope @ (free - [1.0, 2.0, 3.0]))
    return value, {"pair": slope[:2], "single": slope[2]}


@pytest.mark.parametrize(
    ("kept", "covariance"),
    [
        ("full", np.linalg.inv([[2.0, 0.6, 0.3], [0.6, 1.5, -0.4], [0.3, -0.4, 1.0]])),
        ("block", np.linalg.inv([[2.0, 0.6, 0.0], [0.6, 1.5, 0.0], [0.0, 0.0, 1.0]])),
        ("diagonal", np.diag([1 / 2.0, 1 / 1.5, 1.0])),
    ],
)
def test_blocks_and_diagonal_of_the_curvature_are_kept_as_asked(kept, covariance):
    problem = LogDensity(Parameters({"pair": real(2), "single": real()}), correlated_normal)
    found = run(LaplaceApproximation(curvature=kept), problem)
    assert_allclose(found.posterior.mean(), [1.0, 2.0, 3.0], rtol=1e-6)
    assert_allclose(found.posterior.covariance(), covariance, rtol=1e-5, atol=1e-8)
    volume = 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
    assert_allclose(found.log_evidence, volume, rtol=1e-6)


def test_the_front_door_weighs_draws_of_a_diagonal_gaussian_back_to_the_posterior():
    parameters = {"pair": Parameter(2), "single": Parameter()}
    found = posterior(
        lambda pair, single: correlated_normal({"pair": pair, "single": single})[0],
        parameters,
        inference=LaplaceApproximation(curvature="diagonal"),
        random_state=0,
    )
    exact = np.linalg.inv([[2.0, 0.6, 0.3], [0.6, 1.5, -0.4], [0.3, -0.4, 1.0]])
    assert_allclose(found.draws.std("single"), np.sqrt(exact[2, 2]), rtol=0.06)
    assert_allclose(
        found.log_evidence, 0.5 * np.linalg.slogdet(2 * np.pi * exact)[1], atol=0.05
    )


def test_a_part_of_the_curvature_that_is_unknown_or_has_no_names_is_refused():
    with pytest.raises(ValueError, match="curvature must be 'full', 'block' or 'diagonal'"):
        LaplaceApproximation(curvature="banded")
    with pytest.raises(ValueError, match="needs a density of named parameters"):
        run(LaplaceApproximation(curvature="block"), Quadratic(np.ones(2), np.zeros(2)))


def test_the_integral_of_a_gamma_density_is_stirlings_formula():
    found = run(LaplaceApproximation(1e-9), LogGamma())
    a = LogGamma.a
    assert_allclose(found.posterior.mean(), np.log(a))
    stirling = a * np.log(a) - a + 0.5 * np.log(2 * np.pi / a)
    assert_allclose(found.log_evidence, stirling)
    assert found.status is Status.CONVERGED


def test_steps_that_overshoot_are_halved():
    far = LogGamma()
    far.start = np.array([-2.0])
    found = run(LaplaceApproximation(), far)
    values = [info.objective for info in found.trace]
    assert all(a >= b for a, b in pairwise(values))
    assert_allclose(found.posterior.mean(), np.log(LogGamma.a), rtol=1e-6)


def test_giving_up_is_said():
    with pytest.warns(ConvergenceWarning, match="LaplaceApproximation"):
        found = run(LaplaceApproximation(max_steps=1), LogGamma())
    assert found.status is Status.MAX_STEPS


@pytest.mark.parametrize("guide", [PRECISION, np.diag(PRECISION), np.eye(2)])
def test_gradients_alone_lead_close_to_the_mode_whatever_the_guide(guide):
    problem = Quadratic(np.array([5.0, 1.0]), np.zeros(2))
    assert_allclose(approach(problem, np.zeros(2), guide).x, [5.0, 1.0], atol=1e-3)


def test_factors_of_pairs_are_the_inverse_hessian_that_they_give_one_by_one():
    rng = np.random.default_rng(0)
    for m, d in ((1, 3), (4, 9), (6, 5)):
        root = rng.normal(size=(d, d))
        hessian = root @ root.T + np.eye(d)
        steps = rng.normal(size=(m, d))
        changes = steps @ hessian
        diagonal = rng.uniform(0.2, 3.0, d)
        dense = np.diag(diagonal)
        for s, z in zip(steps, changes, strict=True):
            left = np.eye(d) - np.outer(s, z) / (s @ z)
            dense = left @ dense @ left.T + np.outer(s, s) / (s @ z)
        metric = path_metric(diagonal, steps, changes)
        found = np.stack([metric.times(unit) for unit in np.eye(d)])
        assert_allclose(found, dense, rtol=1e-8, atol=1e-8 * np.abs(dense).max())
        noise = rng.normal(size=(2, d))
        momenta, velocities = metric.momenta(noise)
        assert_allclose(momenta @ dense, velocities, rtol=1e-6, atol=1e-8)


def gaussian(d, seed=0):
    """Return a density proportional to a Gaussian, its mean, covariance and log integral."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(d, d))
    covariance = root @ root.T / d + 0.1 * np.eye(d)
    precision, mean = np.linalg.inv(covariance), rng.normal(size=d)

    def density(values):
        shift = values["x"] - mean
        return 1.5 - 0.5 * float(shift @ precision @ shift), {"x": -precision @ shift}

    log_integral = 1.5 + 0.5 * np.linalg.slogdet(2.0 * np.pi * covariance)[1]
    return LogDensity(Parameters({"x": real(d)}), density), mean, covariance, log_integral


def test_a_path_to_a_gaussian_ends_in_it_with_its_evidence():
    problem, mean, covariance, log_integral = gaussian(6)
    found = run(Pathfinder(), problem, np.random.default_rng(0))
    assert found.status is Status.CONVERGED
    assert_allclose(found.posterior.mean(), mean, atol=1e-6)
    assert_allclose(found.posterior.covariance(), covariance, atol=1e-5)
    assert found.log_evidence == pytest.approx(log_integral, abs=1e-5)
    assert found.trace[-1].objective == pytest.approx(log_integral, abs=1e-4)


def test_a_path_to_positive_rates_has_their_evidence_and_a_bound_below_it():
    # Densities x^4 exp(-1.5 x) and x^6 exp(-1.5 x), whose integrals are gamma functions.
    problem = Pathfinder.examples()[0].arguments["problem"]
    shape = np.array([5.0, 7.0])
    exact = float((special.gammaln(shape) - shape * np.log(1.5)).sum())
    found = [run(Pathfinder(), problem, np.random.default_rng(seed)) for seed in range(20)]
    logs = np.array([each.log_evidence for each in found])
    assert abs(logs.mean() - exact) < 4.0 * logs.std(ddof=1) / np.sqrt(20.0) < 0.02
    # Logs of rates have a longer tail than a Gaussian, so that some k-hats are large.
    assert np.median([each.error for each in found]) < 0.7
    judged = run(Pathfinder(n_draws=2000), problem, np.random.default_rng(0))
    assert exact - 0.2 < judged.trace[-1].objective < exact


def test_a_heavy_tail_is_seen_in_the_k_hat_of_a_path():
    def density(values):
        x = values["x"]
        return -float(np.log1p(x @ x)), {"x": -2.0 * x / (1.0 + x @ x)}

    problem = LogDensity(Parameters({"x": real(3)}), density)
    found = run(Pathfinder(), problem, np.random.default_rng(0))
    assert found.error > 0.7


def test_a_path_of_more_numbers_than_pairs_has_the_units_of_each():
    scale = 10.0 ** np.linspace(-3.0, 3.0, 40)

    def density(values):
        x = values["x"] / scale
        return -0.5 * float(x @ x), {"x": -x / scale}

    problem = LogDensity(Parameters({"x": real(40)}), density)
    found = run(Pathfinder(), problem, np.random.default_rng(0))
    assert found.status is Status.CONVERGED
    assert_allclose(found.posterior.std(), scale, rtol=1.0)
    with pytest.raises(ValueError, match="n_pairs and n_draws must be at least 1"):
        Pathfinder(n_pairs=0)

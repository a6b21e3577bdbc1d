from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference import LogDensity, Parameters, run
from credo.inference.density.laplace import LaplaceApproximation, approach
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

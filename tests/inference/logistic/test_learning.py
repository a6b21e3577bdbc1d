from dataclasses import replace

import numpy as np
import pytest

from credo.inference.engine.engine import ConvergenceWarning, Status, run
from credo.inference.logistic.learning import GaussianFit, VariationalLogistic
from credo.inference.logistic.problem import LogisticProblem
from credo.inference.logistic.softmax import SoftmaxRows
from credo.numerics.linear.linear_algebra import cholesky


def problem():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    code = (x[:, 0] + rng.logistic(size=40) > 0).astype(np.intp)
    coding = np.array([[0.0], [1.0]])
    rows = SoftmaxRows(x, code, np.ones(40), np.zeros(2), np.ones(2), coding, True)
    return LogisticProblem(rows, 1.0)


def test_a_bound_that_falls_however_short_the_step_is_not_convergence(monkeypatch):
    engine = VariationalLogistic(learns_precision=False, tolerance=1e-6)
    start = engine.init(problem())

    def bound(fit):
        return 0.0 if fit.mean is start.fit.mean else -1e6

    monkeypatch.setattr(GaussianFit, "bound", property(bound))
    with pytest.warns(ConvergenceWarning, match="found no better step after 1 steps"):
        found = run(engine, problem(), start)
    assert found.status is Status.STUCK
    assert found.state is start


def test_the_same_problem_converges_where_the_bound_can_be_climbed():
    assert run(VariationalLogistic(True, tolerance=1e-3), problem()).status is Status.CONVERGED


def test_a_wide_gaussian_survives_a_prior_that_gives_way_quickly():
    rng = np.random.default_rng(1)
    x, code = rng.normal(size=(4, 12)), np.array([0, 1, 0, 1])
    coding = np.array([[0.0], [1.0]])
    rows = SoftmaxRows(x, code, np.ones(4), np.zeros(12), np.ones(12), coding, True)
    wide = LogisticProblem(rows, 5.0)
    engine = VariationalLogistic(learns_precision=True)
    start = engine.init(wide)
    state = replace(start, fit=start.fit.times(np.array([0.0, 1.5])), stride=-1.0)
    found, info = engine.step(wide, state)
    assert np.linalg.eigvalsh(found.fit.precision).min() > 0
    assert found.fit.bound > state.fit.bound
    assert -info.objective == found.fit.bound


def test_the_distance_of_a_precision_is_the_loss_of_stein():
    fit = VariationalLogistic(learns_precision=False).init(problem()).fit
    shift = np.diag([0.5, 0.0, 0.2]) + 0.1
    other = fit.precision + fit.precision @ shift @ fit.precision / fit.precision.max()
    other = 0.5 * (other + other.T)
    apart = np.linalg.eigvals(np.linalg.solve(fit.precision, other)).real - 1.0
    expected = np.sqrt(2.0 * np.mean(apart - np.log1p(apart)))
    assert expected > 0.05
    assert np.isclose(fit.distance(other, cholesky(other)), expected, rtol=1e-9)
    near = fit.precision + 1e-3 * (other - fit.precision)
    rms = np.sqrt(np.mean((1e-3 * apart) ** 2))
    assert np.isclose(fit.distance(near, cholesky(near)), rms, rtol=1e-2)

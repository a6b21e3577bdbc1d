"""Weights, precisions and evidence of networks against exact and brute-force answers."""

from dataclasses import replace

import numpy as np
import pytest

from credo.distributions import MultivariateNormal
from credo.inference import (
    ClassOutcome,
    NetworkLaplace,
    NormalOutcome,
    VaryingNormalOutcome,
    run,
)
from credo.inference.neural.curvature import FullCurvature
from credo.inference.neural.problem import BIAS_PRECISION, NetworkProblem, NetworkSettings
from credo.inference.neural.sampling import NetworkDensity, drawn_density, fixed_density
from credo.inference.neural.training import (
    DivergedNetwork,
    determined,
    laplace_evidence,
    learned_settings,
    mode_drift,
    without_own_row,
)
from credo.numerics.layers.layered_network import LayeredNetwork
from credo.numerics.optimize.difference import check_gradient


def linear_problem(n=25, d=2):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    y = x @ rng.normal(size=(d, 1)) + 0.3 * rng.normal(size=(n, 1))
    outcome = NormalOutcome(y, np.ones(n), np.ones(1))
    return NetworkProblem(LayeredNetwork((d, 1)), x, outcome)


def curved_problem(n=40, hidden=4, varying=False):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, 1))
    y = np.sin(2.0 * x) + 0.2 * rng.normal(size=(n, 1))
    outcome = NormalOutcome(y, np.ones(n), np.ones(1))
    if varying:
        outcome = VaryingNormalOutcome(y, np.ones(n))
    network = LayeredNetwork((1, hidden, outcome.n_outputs), "tanh")
    return NetworkProblem(network, x, outcome)


def test_without_hidden_layer_belief_is_bayesian_linear_regression():
    problem = linear_problem()
    found = run(NetworkLaplace(), problem, np.random.default_rng(0)).posterior
    alpha, beta = np.exp(found.settings.log_precision[0]), np.exp(found.settings.log_noise[0])
    design = np.column_stack([problem.x, np.ones(len(problem.x))])
    precision = beta * design.T @ design + np.diag([alpha, alpha, 0.0])
    mean = np.linalg.solve(precision, beta * design.T @ problem.outcome.y[:, 0])
    np.testing.assert_allclose(found.parameters, mean, atol=1e-5)
    center, covariance = found.moments(np.array([[1.5, -0.5]]))
    row = np.array([1.5, -0.5, 1.0])
    assert center[0, 0] == pytest.approx(row @ mean, abs=1e-5)
    assert covariance[0, 0, 0] == pytest.approx(row @ np.linalg.solve(precision, row))


def test_evidence_without_hidden_layer_is_that_of_a_gaussian():
    problem = linear_problem()
    settings = NetworkSettings(np.array([0.4]), np.array([1.1]))
    here = problem.at(settings)
    design, y = problem.x, problem.outcome.y[:, 0]
    beta, alpha = np.exp(1.1), np.exp(0.4)
    whole = np.column_stack([design, np.ones(len(y))])
    prior = np.diag([alpha, alpha, 0.0])
    mode = np.linalg.solve(beta * whole.T @ whole + prior, beta * whole.T @ y)
    precision = FullCurvature.of(here.network, mode, here.x, here.outcome).precision(
        here.free_prior(settings)
    )
    found = laplace_evidence(here, mode, settings, precision)
    wide = 1e8
    covariance = design @ design.T / alpha + np.eye(len(y)) / beta + wide
    exact = MultivariateNormal(np.zeros(len(y)), covariance).log_prob(y)
    # The flat bias has density one where the wide one has one over its peak.
    assert found == pytest.approx(float(exact) + 0.5 * np.log(2 * np.pi * wide), abs=1e-3)


def test_learned_settings_of_a_linear_network_are_the_fixed_point_of_the_evidence():
    problem = linear_problem()
    engine = NetworkLaplace(tolerance=1e-10, max_steps=60)
    state = run(engine, problem, np.random.default_rng(0)).state
    found = state.settings
    here = problem.at(found)
    precision = FullCurvature.of(here.network, state.parameters, here.x, here.outcome)
    gamma = determined(here, found, precision.precision(here.free_prior(found)))
    squares = (state.parameters[:2] ** 2).sum()
    # The prior of the precision counts as much as three weights.
    expected = (gamma[0] + 3.0) / (squares + 3.0 * here.natural_variance[0])
    assert np.exp(found.log_precision[0]) == pytest.approx(expected, rel=1e-3)
    error = here.outcome.squared_error(here.network.outputs(state.parameters, here.x))[0]
    noise = (error + 1e-4) / (len(here.x) - gamma[0] - 1.0 + 1.0)
    assert np.exp(-found.log_noise[0]) == pytest.approx(noise, rel=1e-3)


def test_drift_is_the_slope_of_the_determinant_along_the_path_of_the_mode():
    problem = curved_problem()
    found = run(NetworkLaplace(tolerance=1e-6), problem, np.random.default_rng(0))
    state, settings = found.state, found.state.settings
    here = problem.at(settings)
    curvature = FullCurvature.of(here.network, state.parameters, here.x, here.outcome)
    prior = here.free_prior(settings)
    precision = curvature.precision(prior)
    drift = mode_drift(here, state.parameters, settings, curvature, precision)
    pull = np.where(here.group == 0, prior * state.parameters, 0.0)
    step = 1e-4
    logs = []
    for sign in (1.0, -1.0):
        moved = state.parameters - sign * step * precision.solve(pull)
        there = FullCurvature.of(here.network, moved, here.x, here.outcome)
        logs.append(there.precision(prior).log_det())
    assert drift[0] == pytest.approx((logs[1] - logs[0]) / (2 * step), rel=0.05, abs=0.05)


def test_evidence_never_falls_from_turn_to_turn():
    found = run(NetworkLaplace(), curved_problem(), np.random.default_rng(0))
    values = np.array([step.objective for step in found.trace])
    assert (np.diff(values) >= 0).all()
    assert values[-1] > values[0] + 10.0


def test_mode_has_no_slope_and_noise_is_found():
    problem = curved_problem(n=200, hidden=6)
    found = run(NetworkLaplace(), problem, np.random.default_rng(0)).posterior
    here = problem.at(found.settings)
    prior = here.prior(found.settings)
    before = here.value_and_gradient(found.parameters, prior)
    step = 1e-3 * np.random.default_rng(0).normal(size=len(prior))
    for sign in (1.0, -1.0):
        assert here.value_and_gradient(found.parameters + sign * step, prior)[0] > before[0]
    noise = float(np.exp(-0.5 * found.settings.log_noise[0]))
    assert noise == pytest.approx(0.2, rel=0.2)


def test_shrinking_without_end_leaves_the_mean():
    problem = curved_problem()
    settings = NetworkSettings(np.array([20.0, 20.0]), np.array([0.0]))
    engine = NetworkLaplace()
    state = engine.init(problem, np.random.default_rng(0))
    state = replace(state, settings=settings, wanted=settings)
    found = engine.posterior(problem, state).posterior
    outputs = problem.network.outputs(found.parameters, problem.x)
    np.testing.assert_allclose(outputs, problem.outcome.y.mean(), atol=1e-3)


@pytest.mark.parametrize("varying", [False, True])
def test_densities_for_other_engines_have_their_slopes(varying):
    problem = curved_problem(n=12, hidden=2, varying=varying)
    parameters, settings = problem.start(np.random.default_rng(2))
    for density in (drawn_density, fixed_density):
        target = density(problem, parameters, settings)
        point = target.start + 0.1 * np.random.default_rng(3).normal(size=len(target.start))
        both = target.log_density_and_gradient
        check_gradient(target.log_density, lambda u, f=both: f(u)[1], point)


def test_drawn_density_differs_from_the_fixed_one_by_priors_of_settings_alone():
    problem = curved_problem(n=12, hidden=2)
    parameters, settings = problem.start(np.random.default_rng(2))
    drawn = drawn_density(problem, parameters, settings)
    fixed = fixed_density(problem, parameters, settings)
    scale, rng, gaps = NetworkDensity(problem).scale(settings), np.random.default_rng(4), []
    for _ in range(2):
        other = parameters + 0.1 * rng.normal(size=len(parameters))
        free = np.concatenate([other / scale, drawn.start[len(other) :]])
        gaps.append(drawn.log_density(free) - fixed.log_density(other))
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-8)


def test_settings_asked_for_are_known_and_errors_say_so():
    with pytest.raises(ValueError, match="curvature must be one of"):
        NetworkLaplace(curvature="half")
    problem = curved_problem()
    broken = replace(problem, x=problem.x * np.inf)
    with pytest.raises(DivergedNetwork, match="must stay finite"), np.errstate(all="ignore"):
        run(NetworkLaplace(), broken, np.random.default_rng(0))


def test_settings_are_asked_for_in_the_direction_of_more_evidence():
    problem = curved_problem()
    engine = NetworkLaplace()
    rng = np.random.default_rng(0)
    state, _ = engine.step(problem, engine.init(problem, rng), rng)
    here = problem.at(state.settings)
    curvature = FullCurvature.of(here.network, state.parameters, here.x, here.outcome)
    precision = curvature.precision(here.free_prior(state.settings))
    wanted = learned_settings(here, state.parameters, state.settings, curvature, precision)
    after, _ = engine.step(problem, state, rng)
    assert after.log_evidence > state.log_evidence
    np.testing.assert_allclose(wanted.log_noise, state.wanted.log_noise)


def test_rows_left_out_are_told_as_by_training_without_them():
    rng = np.random.default_rng(5)
    n, network = 60, LayeredNetwork((2, 2))
    x = rng.normal(size=(n, 2))
    score = x @ rng.normal(size=(2, 3)) + rng.gumbel(size=(n, 3))
    outcome = ClassOutcome(score.argmax(axis=1), np.ones(n), 3)
    settings = NetworkSettings(np.zeros(1), np.zeros(0))

    def told(weight):
        """Return mean and covariance of the outputs at the mode."""
        problem = NetworkProblem(network, x, replace(outcome, weight=weight))
        prior, w = problem.prior(settings), np.zeros(network.n_parameters)
        for _ in range(30):
            curvature = FullCurvature.of(network, w, x, problem.outcome)
            precision = curvature.precision(prior)
            w = w - precision.solve(problem.value_and_gradient(w, prior)[1])
        jacobian = network.jacobian(w, x)
        return network.outputs(w, x), precision.output_covariance(jacobian)

    all_mean, all_covariance = told(np.ones(n))
    mean, covariance = without_own_row(outcome, all_mean, all_covariance)
    exact = [told(1.0 - np.eye(n)[i]) for i in range(n)]
    moved = np.array([exact[i][0][i] for i in range(n)]) - all_mean
    # One step of Newton's method, which is near where a row is one of many.
    np.testing.assert_allclose(mean - all_mean, moved, atol=0.15 * np.abs(moved).max())
    assert np.corrcoef((mean - all_mean).ravel(), moved.ravel())[0, 1] > 0.99
    widths = np.array([exact[i][1][i] for i in range(n)])
    np.testing.assert_allclose(covariance, widths, rtol=0.3, atol=0.02)


def test_objective_is_squared_error_with_decay_of_weights_and_not_of_output_biases():
    problem = curved_problem()
    decay = 0.3
    # With a noise of variance one half and no constants, it is the sum of squares.
    settings = NetworkSettings(np.log([2.0 * decay, 2.0 * decay]), np.array([np.log(2.0)]))
    here = problem.at(settings)
    w = np.random.default_rng(0).normal(size=problem.network.n_parameters)
    layers = problem.network.layers(w)
    squares = ((problem.outcome.y - problem.network.outputs(w, problem.x)) ** 2).sum()
    shrunk = decay * sum((layer.weights**2).sum() for layer in layers)
    hidden = 0.5 * BIAS_PRECISION * (layers[0].biases ** 2).sum()
    constant = 0.5 * len(problem.x) * np.log(np.pi)
    value, gradient = here.value_and_gradient(w, here.prior(settings))
    assert value == pytest.approx(squares + shrunk + hidden + constant)
    check_gradient(
        lambda v: here.value_and_gradient(v, here.prior(settings))[0], lambda v: gradient, w
    )


def test_blocks_of_rows_add_up_to_the_loss_of_all(monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 2)), rng.normal(size=(50, 1))
    network = LayeredNetwork((2, 4, 1), "tanh")
    outcome = NormalOutcome(y, rng.uniform(0.5, 2.0, 50), np.array([3.0]))
    problem = NetworkProblem(network, x, outcome)
    w, prior = rng.normal(size=network.n_parameters), np.full(network.n_parameters, 0.3)
    value, gradient = problem.value_and_gradient(w, prior)
    monkeypatch.setattr("credo.inference.neural.problem.ROWS_AT_ONCE", 7)
    in_blocks, slopes = problem.value_and_gradient(w, prior)
    assert in_blocks == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(slopes, gradient, rtol=1e-10)


def test_some_rows_stand_for_all_in_weight_and_nearly_in_curvature():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4000, 2))
    network = LayeredNetwork((2, 3, 1), "tanh")
    outcome = NormalOutcome(np.zeros((4000, 1)), np.ones(4000), np.ones(1))
    problem = NetworkProblem(network, x, outcome)
    some = problem.thinned(1000)
    assert len(some.x) == 1000
    assert some.n_rows == pytest.approx(4000.0)
    assert problem.thinned(4000) is problem
    w = rng.normal(size=network.n_parameters)
    whole = FullCurvature.of(network, w, x, outcome).matrix
    part = FullCurvature.of(network, w, some.x, some.outcome).matrix
    # Means of 1,000 rows have an error of about 3 percent.
    assert np.trace(part) == pytest.approx(np.trace(whole), rel=0.1)


@pytest.mark.parametrize(("hidden", "kind"), [((3,), "full"), ((60, 40), "kronecker")])
def test_the_kind_of_curvature_follows_the_number_of_weights_and_is_said(hidden, kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 2))
    network = LayeredNetwork((2, *hidden, 1), "tanh")
    outcome = NormalOutcome(np.sin(x[:, :1]), np.ones(30), np.ones(1))
    found = run(NetworkLaplace(tolerance=0.1), NetworkProblem(network, x, outcome), rng)
    assert f"{kind} curvature of all layers" in found.account.method

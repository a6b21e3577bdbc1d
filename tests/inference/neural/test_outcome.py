"""Likelihoods of the outputs of networks against differences and expectations."""

import numpy as np
import pytest

from credo.distributions import Normal
from credo.inference.neural.outcome import ClassOutcome, NormalOutcome, VaryingNormalOutcome
from credo.numerics.layers.layered_network import LayeredNetwork
from credo.numerics.optimize.difference import check_gradient, finite_difference_gradient

RNG = np.random.default_rng(0)
WEIGHT = np.array([1.0, 2.0, 0.5, 1.0])
OUTCOMES = [
    NormalOutcome(RNG.normal(size=(4, 2)), WEIGHT, np.array([2.0, 0.7])),
    VaryingNormalOutcome(RNG.normal(size=(4, 2)), WEIGHT),
    ClassOutcome(np.array([0, 1, 1, 0]), WEIGHT, 2),
    ClassOutcome(np.array([0, 2, 1, 3]), WEIGHT, 4),
]


def outputs_of(outcome):
    return np.random.default_rng(1).normal(size=(4, outcome.n_outputs))


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_slopes_and_curvatures_agree_with_differences(outcome):
    outputs = outputs_of(outcome)
    check_gradient(lambda z: outcome.loss(z)[0], lambda z: outcome.loss(z)[1], outputs)
    found = outcome.derivatives(outputs)
    for row in range(4):
        for k in range(outcome.n_outputs):
            expected = finite_difference_gradient(
                lambda z, i=row, j=k: outcome.loss(z)[1][i, j], outputs
            )
            np.testing.assert_allclose(found.curvature[row, k], expected[row], atol=1e-7)


@pytest.mark.parametrize("outcome", [OUTCOMES[0], OUTCOMES[2], OUTCOMES[3]])
def test_roots_of_exponential_families_are_those_of_the_exact_curvature(outcome):
    outputs = outputs_of(outcome)
    root = outcome.root(outputs)
    expected = outcome.derivatives(outputs).curvature
    np.testing.assert_allclose(root.transpose(0, 2, 1) @ root, expected, atol=1e-12)


def test_root_of_varying_noise_is_the_mean_curvature_over_outcomes():
    outputs = np.array([[0.3, -0.5]])
    noise = np.exp(0.5 * outputs[0, 1])
    draws = outputs[0, 0] + noise * np.random.default_rng(2).normal(size=200_000)
    many = VaryingNormalOutcome(draws[:, None], np.ones(len(draws)))
    curvature = many.derivatives(np.tile(outputs, (len(draws), 1))).curvature
    root = VaryingNormalOutcome(np.zeros((1, 1)), np.ones(1)).root(outputs)[0]
    np.testing.assert_allclose(curvature.mean(axis=0), root.T @ root, atol=0.01)


def test_loss_is_minus_the_log_density_of_the_outcomes():
    outcome = OUTCOMES[0]
    outputs = outputs_of(outcome)
    normal = Normal(outputs, np.sqrt(1.0 / outcome.precision))
    expected = -(WEIGHT @ normal.log_prob(outcome.y)).sum()
    assert outcome.loss(outputs)[0] == pytest.approx(expected)
    varying = OUTCOMES[1]
    outputs = outputs_of(varying)
    normal = Normal(outputs[:, :2], np.exp(0.5 * outputs[:, 2:]))
    expected = -(WEIGHT @ normal.log_prob(varying.y)).sum()
    assert varying.loss(outputs)[0] == pytest.approx(expected)
    sure = np.zeros((4, 4, 4))
    found = varying.log_prob(outputs, sure, np.zeros(0))
    np.testing.assert_allclose(found, normal.log_prob(varying.y).sum(axis=1))


def test_scores_of_classes_are_averaged_over_draws_of_the_outputs():
    outcome, rng = OUTCOMES[3], np.random.default_rng(3)
    mean = outputs_of(outcome)
    root = 0.7 * rng.normal(size=(3, 3))
    covariance = np.tile(root @ root.T, (4, 1, 1))
    draws = mean + rng.normal(size=(40_000, 4, 3)) @ root.T
    scores = draws @ outcome.coding.T
    each = np.exp(scores - np.log(np.exp(scores).sum(axis=2, keepdims=True)))
    expected = np.log(each.mean(axis=0)[np.arange(4), outcome.code])
    np.testing.assert_allclose(outcome.log_prob(mean, covariance, None), expected, atol=0.03)


def test_worked_network_has_the_printed_probability_of_its_class():
    network = LayeredNetwork((2, 2, 1), "sigmoid")
    w = np.array([0.1, -0.2, 0.4, 0.3, 0.05, -0.1, 0.7, -0.5, 0.2])
    outputs = network.outputs(w, np.array([[1.0, 2.0]]))
    loss, slope = ClassOutcome(np.array([1]), np.ones(1), 2).loss(outputs)
    assert np.exp(-loss) == pytest.approx(0.6028990804, abs=1e-9)
    assert slope[0, 0] == pytest.approx(0.6028990804 - 1.0, abs=1e-9)

"""Curvatures of networks against sums over rows, and Gaussians against dense matrices."""

import numpy as np
import pytest

from credo.inference.neural.curvature import (
    CURVATURES,
    DiagonalCurvature,
    FullCurvature,
    KroneckerCurvature,
)
from credo.inference.neural.outcome import ClassOutcome, NormalOutcome, VaryingNormalOutcome
from credo.numerics.layers.layered_network import LayeredNetwork


def problem(kind="normal", sizes=(2, 3)):
    rng = np.random.default_rng(0)
    n = 9
    x, weight = rng.normal(size=(n, 2)), rng.uniform(0.5, 2.0, n)
    outcome = {
        "normal": NormalOutcome(rng.normal(size=(n, 2)), weight, np.array([2.0, 0.5])),
        "varying": VaryingNormalOutcome(rng.normal(size=(n, 1)), weight),
        "class": ClassOutcome(np.arange(n) % 3, weight, 3),
    }[kind]
    network = LayeredNetwork((*sizes, outcome.n_outputs), "tanh")
    return network, rng.normal(size=network.n_parameters), x, outcome


def dense(network, w, x, outcome):
    jacobian, root = network.jacobian(w, x), outcome.root(network.outputs(w, x))
    each = root @ jacobian
    return np.einsum("nip,niq->pq", each, each)


@pytest.mark.parametrize("kind", ["normal", "varying", "class"])
def test_full_and_diagonal_curvature_are_sums_over_rows(kind):
    parts = problem(kind)
    expected = dense(*parts)
    np.testing.assert_allclose(np.tril(FullCurvature.of(*parts).matrix), np.tril(expected))
    np.testing.assert_allclose(DiagonalCurvature.of(*parts).diagonal, np.diagonal(expected))


def test_kronecker_products_are_exact_for_the_outputs_of_a_linear_network():
    network, _, x, outcome = problem("normal")
    network = LayeredNetwork((2, 2), "tanh")
    w = np.zeros(network.n_parameters)
    found = KroneckerCurvature.of(network, w, x, outcome)
    whole = np.kron(found.incoming[0], found.returning[0])
    np.testing.assert_allclose(whole, dense(network, w, x, outcome), atol=1e-10)


def test_kronecker_curvature_of_one_row_is_that_of_each_layer():
    network, w, x, outcome = problem("class")
    one = outcome.taken(slice(0, 1))
    found = KroneckerCurvature.of(network, w, x[:1], one)
    expected = dense(network, w, x[:1], one)
    for i in range(network.n_layers):
        own = slice(network.ends[i], network.ends[i + 1])
        block = np.kron(found.incoming[i], found.returning[i])
        np.testing.assert_allclose(block, expected[own, own], atol=1e-10)


def dense_precision(found, prior):
    if isinstance(found, FullCurvature):
        lower = np.tril(found.matrix)
        return lower + np.tril(lower, -1).T + np.diag(prior)
    if isinstance(found, DiagonalCurvature):
        return np.diag(found.diagonal + prior)
    whole, begin = np.diag(prior), 0
    for a, g in zip(found.incoming, found.returning, strict=True):
        size = len(a) * len(g)
        whole[begin : begin + size, begin : begin + size] += np.kron(a, g)
        begin += size
    return whole


@pytest.mark.parametrize("name", sorted(CURVATURES))
def test_gaussians_agree_with_their_dense_precision(name):
    network, w, x, outcome = problem("normal")
    found = CURVATURES[name].of(network, w, x, outcome)
    prior = np.full(network.n_parameters, 0.7)
    prior[6:9], prior[9:15], prior[15:] = 0.3, 1.9, 0.4
    precision, whole = found.precision(prior), dense_precision(found, prior)
    covariance = np.linalg.inv(whole)
    assert precision.log_det() == pytest.approx(np.linalg.slogdet(whole)[1])
    np.testing.assert_allclose(precision.variances(), np.diagonal(covariance), rtol=1e-8)
    jacobian = network.jacobian(w, x)
    expected = jacobian @ covariance @ jacobian.transpose(0, 2, 1)
    np.testing.assert_allclose(precision.output_covariance(jacobian), expected, rtol=1e-7)
    vector = np.arange(1.0, len(prior) + 1.0)
    np.testing.assert_allclose(precision.solve(vector), covariance @ vector, rtol=1e-7)
    draws = precision.sample(np.random.default_rng(1), 60_000)
    spread = np.sqrt(np.diagonal(covariance))
    np.testing.assert_allclose(
        np.cov(draws.T) / np.outer(spread, spread),
        covariance / np.outer(spread, spread),
        atol=0.03,
    )
    twice = found.scaled(2.0).precision(prior)
    doubled = 2.0 * (whole - np.diag(prior)) + np.diag(prior)
    assert twice.log_det() == pytest.approx(np.linalg.slogdet(doubled)[1])

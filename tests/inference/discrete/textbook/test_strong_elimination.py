"""Elimination by canonical forms, against sums over all settings and against the engines."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.distributions import Gamma
from credo.graphs import (
    ConditionalLinearGaussian,
    ConditionalTable,
    DistributionNode,
    Factor,
    GaussianFactor,
    LinearGaussian,
    UnknownVariable,
    Variable,
)
from credo.inference.discrete.textbook.strong_elimination import (
    eliminate_strongly,
    hybrid_factors,
)
from credo.inference.engine.error import ImpossibleFindings
from credo.inference.engine.findings import Findings
from credo.inference.hybrid.gaussian_network import GaussianNetwork
from credo.inference.hybrid.strong_inference import HybridInference

A, B = Variable("a", ("lo", "hi")), Variable("b", (0, 1, 2))
X, Y, Z = Variable("x"), Variable("y"), Variable("z")
P_A = np.array([0.3, 0.7])
P_B = np.array([[0.2, 0.3, 0.5], [0.6, 0.0, 0.4]])


def network():
    """Return a, b given a, x given a, y given x and b, z given x and y."""
    x = ConditionalLinearGaussian(
        {"lo": LinearGaussian(0.0), "hi": LinearGaussian(2.0, {}, 0.5)}
    )
    y = ConditionalLinearGaussian(
        {k: LinearGaussian(0.5 * k, {"x": 1.0 - 0.4 * k}, 1.0 + 0.2 * k) for k in range(3)}
    )
    z = LinearGaussian(-1.0, {"x": 0.5, "y": 2.0}, 0.7)
    return [
        ConditionalTable(A, (), P_A),
        ConditionalTable(B, (A,), P_B),
        x.bind(X, (A,)),
        y.bind(Y, (X, B)),
        z.bind(Z, (X, Y)),
    ]


def components():
    """Return weight, mean and covariance of (x, y, z) for every setting of a and b."""
    for i, k in product(range(2), range(3)):
        slope, mean_x, scale_x = 1.0 - 0.4 * k, [0.0, 2.0][i], [1.0, 0.5][i]
        # Each row tells a variable as a combination of the three standard noises.
        x = np.array([scale_x, 0.0, 0.0])
        y = slope * x + np.array([0.0, 1.0 + 0.2 * k, 0.0])
        root = np.array([x, y, 0.5 * x + 2.0 * y + np.array([0.0, 0.0, 0.7])])
        mean_y = 0.5 * k + slope * mean_x
        mean = np.array([mean_x, mean_y, -1.0 + 0.5 * mean_x + 2.0 * mean_y])
        yield (i, k), P_A[i] * P_B[i, k], mean, root @ root.T


def brute(given):
    """Return the table of a and b, the moments of hidden real variables, and the density."""
    seen = [n for n in ("x", "y", "z") if n in given]
    s = ["xyz".index(n) for n in seen]
    h = [j for j in range(3) if j not in s]
    value = np.array([given[n] for n in seen])
    table, means, spreads = np.zeros((2, 3)), {}, {}
    for cell, weight, mean, covariance in components():
        density = 1.0
        if s:
            density = stats.multivariate_normal(mean[s], covariance[np.ix_(s, s)]).pdf(value)
        gain = np.linalg.solve(covariance[np.ix_(s, s)], covariance[np.ix_(s, h)]).T
        table[cell] = weight * density
        means[cell] = mean[h] + gain @ (value - mean[s])
        spreads[cell] = covariance[np.ix_(h, h)] - gain @ covariance[np.ix_(s, h)]
    if "a" in given:
        table[1 - A.index(given["a"])] = 0.0
    share = table / table.sum()
    mean = sum(share[c] * means[c] for c in means)
    spread = sum(
        share[c] * (spreads[c] + np.outer(means[c] - mean, means[c] - mean)) for c in means
    )
    return share, mean, spread, np.log(table.sum())


GIVEN = [{}, {"z": 1.5}, {"x": 0.3, "z": -2.0}, {"a": "hi", "y": 1.0}]


@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_discrete_posteriors_and_densities_are_sums_over_all_settings(given):
    factors = hybrid_factors(network())
    share, _, _, log_density = brute(given)
    found = eliminate_strongly(factors, "b", given)
    assert_allclose(found.table().table(), share.sum(axis=0), rtol=1e-10, atol=1e-14)
    assert_allclose(found.log_evidence, log_density, rtol=1e-10, atol=1e-12)
    if "a" not in given:
        both = eliminate_strongly(factors, ("a", "b"), given).table()
        order = both.names
        values = both.table() if order == ("a", "b") else both.table().T
        assert_allclose(values, share, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_real_posteriors_have_the_moments_of_the_mixture(given):
    targets = [n for n in ("x", "y", "z") if n not in given]
    found = eliminate_strongly(hybrid_factors(network()), targets[::-1], given)
    _, mean, spread, log_density = brute(given)
    normal = found.normal()
    assert_allclose(normal.mean(), mean[::-1], rtol=1e-9)
    assert_allclose(normal.covariance(), spread[::-1, ::-1], rtol=1e-9)
    assert_allclose(found.log_evidence, log_density, rtol=1e-10, atol=1e-12)


def test_real_and_discrete_targets_are_answered_together():
    found = eliminate_strongly(hybrid_factors(network()), ("b", "y"), {"z": 1.5})
    share, mean, _, _ = brute({"z": 1.5})
    assert_allclose(found.table().table(), share.sum(axis=0), rtol=1e-10, atol=1e-14)
    assert_allclose(found.normal().mean(), mean[1:2], rtol=1e-9)


def test_reals_go_before_discrete_ones_and_every_step_can_be_checked():
    found = eliminate_strongly(hybrid_factors(network()), "b", {"z": 1.5})
    assert [step.name for step in found.steps] == ["y", "x", "a"]
    for step in found.steps:
        names = [*step.result.names, *(v.name for v in step.result.variables)]
        assert step.name not in names
        assert all(
            step.name in (*f.names, *(v.name for v in f.variables)) for f in step.factors
        )


@pytest.mark.parametrize("given", GIVEN[:3], ids=str)
def test_the_engine_for_hybrid_networks_gives_the_same_answers(given):
    problem = HybridInference(network())
    known = Findings.of({}, given)
    found = eliminate_strongly(hybrid_factors(network()), "a", given)
    assert_allclose(problem.log_prob(known)[0], found.log_evidence, rtol=1e-10, atol=1e-12)
    assert_allclose(problem.marginals(known, ["a"])["a"][0], found.table().table(), rtol=1e-10)
    y = eliminate_strongly(hybrid_factors(network()), "y", given).normal()
    engine = problem.marginals(known, ["y"])["y"]
    assert_allclose(engine.total_mean()[0], y.mean()[0], rtol=1e-9)
    assert_allclose(engine.total_variance()[0], y.covariance()[0, 0], rtol=1e-9)


def test_the_engine_for_gaussian_networks_gives_the_same_answers():
    rng = np.random.default_rng(0)
    variables = [Variable(f"v{i}") for i in range(8)]
    nodes = []
    for i, child in enumerate(variables):
        parents = [v for v in variables[:i] if rng.random() < 0.4]
        weights = {v.name: float(rng.normal()) for v in parents}
        spec = LinearGaussian(float(rng.normal()), weights, float(rng.uniform(0.3, 2.0)))
        nodes.append(spec.bind(child, parents))
    given = {"v3": 0.4, "v7": -1.2}
    targets = ["v5", "v0"]
    found = eliminate_strongly([GaussianFactor.of(node) for node in nodes], targets, given)
    known, engine = Findings.of(values=given), GaussianNetwork(nodes)
    assert_allclose(engine.log_prob(known)[0], found.log_evidence, rtol=1e-9)
    joint = engine.joint(known, targets)
    assert_allclose(np.ravel(joint.total_mean()), found.normal().mean(), rtol=1e-9)
    covariance = np.reshape(joint.total_covariance(), (2, 2))
    assert_allclose(covariance, found.normal().covariance(), rtol=1e-9)


def test_gaussian_factors_and_tables_may_be_mixed():
    prior = GaussianFactor(("x",), [[1.0]], [0.0], -0.5 * np.log(2 * np.pi))
    found = eliminate_strongly([Factor((A,), [0.4, 0.6]), prior], "x")
    assert_allclose(found.normal().covariance(), [[1.0]])
    assert_allclose(found.log_evidence, 0.0, atol=1e-15)


def test_what_cannot_be_is_told():
    factors = [*hybrid_factors(network()), Factor((A,), [1.0, 0.0])]
    with pytest.raises(ImpossibleFindings):
        eliminate_strongly(factors, "x", {"a": "hi"})


def test_unknown_repeated_and_inexact_variables_are_refused():
    factors = hybrid_factors(network())
    with pytest.raises(UnknownVariable, match="found 'w'"):
        eliminate_strongly(factors, "w")
    with pytest.raises(UnknownVariable, match="found 'x'"):
        eliminate_strongly(factors, "x", {"x": 1.0})
    rate = DistributionNode(Gamma(2.0, 1.0)).bind(Variable("rate"), ())
    with pytest.raises(TypeError, match="likelihood weighting"):
        hybrid_factors([rate])

"""Networks of linear Gaussians against the dense joint normal."""

import json
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.graphs import ConditionalTable, LinearGaussian, Variable
from credo.inference.engine.findings import Findings
from credo.inference.hybrid.gaussian_network import GaussianNetwork, is_linear_gaussian
from credo.inference.hybrid.strong_inference import HybridInference
from credo.numerics.linear.linear_algebra import NotPositiveDefinite
from naive import published_file


def stored_network(name):
    stored = json.loads(published_file(f"{name}.json").read_text())
    nodes = []
    for child, cpd in stored["cpds"].items():
        slopes = {p: c[0] for p, c in cpd["coefficients"].items() if p != "(Intercept)"}
        spec = LinearGaussian(
            cpd["coefficients"]["(Intercept)"][0], slopes, cpd["variance"][0] ** 0.5
        )
        nodes.append(spec.bind(Variable(child), [Variable(p) for p in slopes]))
    return nodes


def dense(nodes):
    """Return names, mean and covariance of the joint, by solving for all variables at once."""
    names = [node.child.name for node in nodes]
    slopes = np.zeros((len(names), len(names)))
    for i, node in enumerate(nodes):
        for parent, slope in zip(node.parents, node.coefficients, strict=True):
            slopes[i, names.index(parent.name)] = slope
    inverse = np.linalg.inv(np.eye(len(names)) - slopes)
    noise = np.diag([float(node.scale) ** 2 for node in nodes])
    mean = inverse @ np.array([float(node.intercept) for node in nodes])
    return names, mean, inverse @ noise @ inverse.T


def conditional(mean, cov, known, values):
    free = [i for i in range(len(mean)) if i not in known]
    gain = np.linalg.solve(cov[np.ix_(known, known)], cov[np.ix_(known, free)]).T
    shifted = mean[free] + (values - mean[known]) @ gain.T
    return free, shifted, cov[np.ix_(free, free)] - gain @ cov[np.ix_(known, free)]


@pytest.mark.comparison
@pytest.mark.parametrize("name", ["ecoli70", "arth150", "magic-irri", "magic-niab"])
def test_stored_networks_agree_with_the_dense_joint(name):
    nodes = stored_network(name)
    names, mean, cov = dense(nodes)
    network, rng = GaussianNetwork(nodes), np.random.default_rng(0)
    known = [names.index(n) for n in rng.permutation(names)[:9]]
    scale = np.sqrt(np.diag(cov))[known]
    values = mean[known] + scale * rng.normal(size=(5, 9))
    given = {names[i]: values[:, j] for j, i in enumerate(known)}
    free, shifted, rest = conditional(mean, cov, known, values)
    found = network.marginals(Findings.of(values=given), names)
    for j, i in enumerate(free):
        unit = np.sqrt(rest[j, j])
        assert_allclose(found[names[i]].total_mean() / unit, shifted[:, j] / unit, atol=1e-7)
        assert_allclose(found[names[i]].total_variance(), rest[j, j], rtol=1e-8)
    block = cov[np.ix_(known, known)]
    expected = stats.multivariate_normal(mean[known], block).logpdf(values)
    assert_allclose(network.log_prob(Findings.of(values=given)), expected, rtol=1e-9)
    picked = free[3:7]
    joint = network.joint(Findings.of(values=given), [names[i] for i in picked])
    assert_allclose(joint.total_covariance()[0], rest[3:7, 3:7], rtol=1e-7, atol=1e-12)
    assert_allclose(joint.total_mean(), shifted[:, 3:7], rtol=1e-8)


@pytest.mark.comparison
def test_hybrid_inference_agrees_on_a_stored_network():
    nodes = stored_network("ecoli70")
    given = {"aceB": [1.0, 0.2], "yheI": [0.3, -0.4]}
    names = [node.child.name for node in nodes]
    ours = GaussianNetwork(nodes).marginals(Findings.of(values=given), names)
    other = HybridInference(nodes).marginals(Findings.of(values=given), names)
    for name in names:
        assert_allclose(ours[name].mean, other[name].mean, rtol=1e-9, atol=1e-9)
        assert_allclose(ours[name].variance, other[name].variance, rtol=1e-9)
    ours, other = (
        kind(nodes).log_prob(Findings.of(values=given))
        for kind in (GaussianNetwork, HybridInference)
    )
    assert_allclose(ours, other, rtol=1e-11)


@pytest.mark.comparison
def test_without_findings_marginals_are_the_prior_and_the_log_density_is_zero():
    nodes = stored_network("arth150")
    names, mean, cov = dense(nodes)
    found = GaussianNetwork(nodes).marginals(Findings(1), names)
    assert_allclose([found[n].total_mean()[0] for n in names], mean, rtol=1e-9)
    assert_allclose([found[n].total_variance()[0] for n in names], np.diag(cov), rtol=1e-9)
    assert_allclose(GaussianNetwork(nodes).log_prob(Findings(1)), [0.0])


@pytest.mark.comparison
def test_draws_given_findings_have_the_conditional_moments():
    nodes = stored_network("ecoli70")
    names, mean, cov = dense(nodes)
    known = [names.index("icdA"), names.index("lacZ")]
    values = np.array([[1.0, -0.5]])
    free, shifted, rest = conditional(mean, cov, known, values)
    draws = GaussianNetwork(nodes).sample(
        Findings.of(values={"icdA": [1.0], "lacZ": [-0.5]}), 40_000, np.random.default_rng(1)
    )
    columns = np.array([draws[names[i]][0] for i in free])
    error = np.sqrt(np.diag(rest) / 40_000)
    assert np.all(np.abs(columns.mean(axis=1) - shifted[0]) < 4.5 * error)
    scale = np.sqrt(np.diag(rest))
    assert_allclose(
        np.cov(columns) / np.outer(scale, scale), rest / np.outer(scale, scale), atol=0.03
    )
    assert np.all(draws["icdA"] == 1.0)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_answers_do_not_depend_on_units(unit):
    def answer(u):
        x, y, z = (Variable(n) for n in "xyz")
        nodes = [
            LinearGaussian(1.0 * u, {}, 3.0 * u).bind(x, ()),
            LinearGaussian(1.0, {"x": 2.0 / u}, 0.5).bind(y, (x,)),
            LinearGaussian(0.0, {"x": 1.0, "y": 0.7 * u}, 0.1 * u).bind(z, (x, y)),
        ]
        found = GaussianNetwork(nodes).marginals(
            Findings.of(values={"z": [2.0 * u]}), ["x", "y"]
        )
        x, y = found["x"], found["y"]
        return [x.total_mean() / u, x.total_variance() / u**2, y.total_mean()]

    assert_allclose(answer(unit), answer(1.0), rtol=1e-11)


def test_a_long_chain_equals_its_own_recursion():
    n = 5_000
    names = [f"x{i}" for i in range(n)]
    nodes = [LinearGaussian(0.0, {}, 1.0).bind(Variable(names[0]), ())]
    nodes += [
        LinearGaussian(0.1, {a: 0.9}, 0.5).bind(Variable(b), [Variable(a)])
        for a, b in pairwise(names)
    ]
    variance = [1.0]
    mean = [0.0]
    for _ in range(n - 1):
        variance.append(0.81 * variance[-1] + 0.25)
        mean.append(0.9 * mean[-1] + 0.1)
    found = GaussianNetwork(nodes).marginals(Findings(1), names)
    assert_allclose([found[name].total_variance()[0] for name in names], variance, rtol=1e-10)
    assert_allclose([found[name].total_mean()[0] for name in names], mean, rtol=1e-10)
    log_prob = GaussianNetwork(nodes).log_prob(
        Findings.of(values={name: [0.5] for name in names})
    )
    expected = stats.norm.logpdf(0.5) + (n - 1) * stats.norm.logpdf(0.5, 0.55, 0.5)
    assert_allclose(log_prob, expected, rtol=1e-11)


def test_the_stated_cost_is_the_size_of_the_factor():
    names = [f"x{i}" for i in range(50)]
    nodes = [LinearGaussian().bind(Variable(names[0]), ())]
    nodes += [
        LinearGaussian(0.0, {a: 1.0}).bind(Variable(b), [Variable(a)])
        for a, b in pairwise(names)
    ]
    width, entries, n_bytes, _, fits = GaussianNetwork(nodes).cost([], names)
    assert (width, entries, n_bytes, fits) == (1, 99, 99 * 16, True)


def test_relations_almost_without_noise_are_refused_where_squares_lose_them():
    x, y, z = Variable("x"), Variable("y"), Variable("z")
    nodes = [
        LinearGaussian(0.0, {}, 1.0).bind(x, ()),
        LinearGaussian(0.0, {"x": 1.0}, 1e-9).bind(y, (x,)),
        LinearGaussian(0.0, {"y": 1.0}, 1.0).bind(z, (y,)),
    ]
    with pytest.raises(NotPositiveDefinite, match="found 1e-09 at y and up to 1"):
        GaussianNetwork(nodes).marginals(Findings.of(values={"z": [3.0]}), ["x"])
    found = HybridInference(nodes).marginals(Findings.of(values={"z": [3.0]}), ["x"])["x"]
    assert_allclose(found.total_mean(), 1.5, rtol=1e-7)


def test_networks_with_tables_are_refused():
    d = ConditionalTable(Variable("d", (0, 1)), (), [0.5, 0.5])
    assert not is_linear_gaussian([d])
    with pytest.raises(ValueError, match="Use HybridInference"):
        GaussianNetwork([d])


def test_a_parent_without_a_node_is_set_from_outside():
    x, y, z = Variable("x"), Variable("y"), Variable("z")
    root = LinearGaussian(0.5, {}, 2.0).bind(x, ())
    child = LinearGaussian(1.0, {"x": 2.0, "y": -1.0}, 0.7).bind(z, (x, y))
    network, dense = GaussianNetwork([root, child]), HybridInference([root, child])
    findings = Findings.of(values={"y": [3.0, -1.0], "z": [0.4, 5.0]})
    found, log_prob = network.posterior(findings, ["x"])
    mean, sd = 1.0 + 2.0 * 0.5 - np.array([3.0, -1.0]), np.hypot(0.7, 4.0)
    assert_allclose(log_prob, stats.norm.logpdf([0.4, 5.0], mean, sd))
    same = dense.marginals(findings, ["x"])["x"]
    assert_allclose(found["x"].total_mean(), same.total_mean())
    assert_allclose(found["x"].total_variance(), same.total_variance())
    draws = network.sample(findings, 4, np.random.default_rng(0))
    assert set(draws) == {"x", "z"}


def test_a_factor_is_made_once_for_what_is_known():
    x, y = Variable("x"), Variable("y")
    nodes = [LinearGaussian().bind(x, ()), LinearGaussian(0.0, {"x": 1.0}).bind(y, [x])]
    network = GaussianNetwork(nodes)
    first = network._factored(frozenset(["y"]), ["x"])
    assert network._factored(frozenset(["y"]), ["x"]) is first
    other = network._factored(frozenset(), ["x"])
    assert other is not first
    for values in ({"y": [2.0]}, {"y": [-1.0, 4.0]}):
        found = network.marginals(Findings.of(values=values), ["x"])["x"]
        assert_allclose(found.total_mean(), np.array(values["y"]) / 2)


def test_gaps_are_refused_for_each_pattern_has_its_own_factor():
    network = GaussianNetwork([LinearGaussian().bind(Variable("x"), ())])
    with pytest.raises(ValueError, match="given values of x must be finite; found nan"):
        network.log_prob(Findings.of(values={"x": [1.0, np.nan]}))

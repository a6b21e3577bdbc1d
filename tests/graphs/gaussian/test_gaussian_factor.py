"""Gaussian factors in canonical form against densities of joint normals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from credo.distributions import MultivariateNormal
from credo.graphs import UnknownVariable, Variable
from credo.graphs.gaussian.gaussian_factor import GaussianFactor
from credo.graphs.node.linear_gaussian import ConditionalLinearGaussian, LinearGaussian
from credo.numerics.linear.linear_algebra import NotPositiveDefinite

MEAN = np.array([1.0, -2.0, 0.5])
COV = np.array([[2.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 0.8]])
NAMES = ("a", "b", "c")


def factor():
    return GaussianFactor.from_normal(NAMES, MultivariateNormal(MEAN, COV))


def test_factor_of_a_normal_has_its_density():
    x = np.random.default_rng(0).normal(size=(5, 3))
    found = factor().log_value(dict(zip(NAMES, x.T, strict=True)))
    assert_allclose(found, stats.multivariate_normal(MEAN, COV).logpdf(x), rtol=1e-10)


def test_integrating_leaves_the_marginal_and_its_mass():
    left = (factor()).integrate_out("b")
    assert left.names == ("a", "c")
    keep = [0, 2]
    assert_allclose(left.normal().mean(), MEAN[keep])
    assert_allclose(left.normal().covariance(), COV[np.ix_(keep, keep)])
    assert_allclose(left.log_mass(), 0.0, atol=1e-12)


def test_integrating_agrees_with_quadrature_of_a_factor_that_is_no_density():
    f = GaussianFactor(("x", "y"), [[2.0, 0.7], [0.7, 1.5]], [0.3, -0.4], 0.9)
    numeric, _ = integrate.quad(
        lambda y: float(np.exp(f.log_value({"x": 0.8, "y": y}))), -np.inf, np.inf
    )
    left = f.integrate_out("y")
    assert_allclose(np.exp(left.log_value({"x": np.array(0.8)})), numeric, rtol=1e-9)


def test_restricting_gives_the_density_of_what_is_known_times_the_conditional():
    left = factor().restrict({"c": 1.2})
    slope = COV[:2, 2] / COV[2, 2]
    assert_allclose(left.normal().mean(), MEAN[:2] + slope * (1.2 - MEAN[2]))
    assert_allclose(left.normal().covariance(), COV[:2, :2] - np.outer(slope, COV[2, :2]))
    assert_allclose(left.log_mass(), stats.norm.logpdf(1.2, 0.5, np.sqrt(0.8)), rtol=1e-12)


def test_product_adds_exponents_whatever_the_order_of_names():
    f = factor()
    g = GaussianFactor(("d", "b"), [[1.0, 0.2], [0.2, 3.0]], [0.5, -1.0], 0.3)
    values = dict(zip(("a", "b", "c", "d"), (0.3, 1.1, -0.7, 2.0), strict=True))
    expected = f.log_value(values) + g.log_value(values)
    assert_allclose((f * g).log_value(values), expected, rtol=1e-12)
    assert_allclose((g * f).log_value(values), expected, rtol=1e-12)


def test_conditional_densities_multiply_to_the_joint():
    x, y = Variable("x"), Variable("y")
    root = LinearGaussian(1.0, {}, 2.0).bind(x, ())
    child = LinearGaussian(-1.0, {"x": 0.5}, 0.7).bind(y, (x,))
    joint = GaussianFactor.of(root) * GaussianFactor.of(child)
    values = {"x": np.array([0.2, 3.0]), "y": np.array([-1.0, 0.4])}
    assert_allclose(joint.log_value(values), root.log_prob(values) + child.log_prob(values))
    assert_allclose(joint.normal().mean(), [1.0, -0.5])
    assert_allclose(joint.normal().covariance(), [[4.0, 2.0], [2.0, 1.0 + 0.49]])


def test_a_conditional_density_alone_has_no_integral_over_its_parent():
    x, y = Variable("x"), Variable("y")
    child = GaussianFactor.of(LinearGaussian(0.0, {"x": 1.0}, 1.0).bind(y, (x,)))
    assert_allclose(child.integrate_out("y").log_value({"x": np.array([3.0])}), 0, atol=1e-12)
    with pytest.raises(NotPositiveDefinite):
        child.integrate_out("y", "x")


def test_unknown_names_and_wrong_shapes_are_refused():
    with pytest.raises(UnknownVariable, match="found 'z'"):
        factor().integrate_out("z")
    with pytest.raises(ValueError, match=r"must have shapes \(2, 2\) and \(2,\)"):
        GaussianFactor(("a", "b"), np.eye(3), np.zeros(2))
    d = Variable("d", (0, 1))
    spec = ConditionalLinearGaussian({0: LinearGaussian(), 1: LinearGaussian()})
    with pytest.raises(ValueError, match="Use ConditionalGaussianFactor"):
        GaussianFactor.of(spec.bind(Variable("x"), (d,)))

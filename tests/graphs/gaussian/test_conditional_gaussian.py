"""Tables of Gaussian factors: strong elimination by hand, and the weak marginal."""

from functools import reduce
from operator import mul

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.graphs import (
    ConditionalLinearGaussian,
    ConditionalTable,
    Factor,
    LinearGaussian,
    UnknownVariable,
    Variable,
)
from credo.graphs.gaussian.conditional_gaussian import ConditionalGaussianFactor
from credo.numerics.linear.linear_algebra import NotPositiveDefinite

A, B = Variable("a", ("lo", "hi")), Variable("b", (0, 1, 2))
X, Y = Variable("x"), Variable("y")


def network():
    prior = ConditionalTable(A, (), [0.3, 0.7])
    child = ConditionalTable(B, (A,), [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    x = ConditionalLinearGaussian(
        {"lo": LinearGaussian(0.0), "hi": LinearGaussian(2.0, {}, 0.5)}
    )
    y = ConditionalLinearGaussian(
        {k: LinearGaussian(0.5 * k, {"x": 1.0 - 0.4 * k}, 1.0 + 0.2 * k) for k in range(3)}
    )
    tables = [ConditionalGaussianFactor.of_table(c.table()) for c in (prior, child)]
    nodes = [ConditionalGaussianFactor.of(n) for n in (x.bind(X, (A,)), y.bind(Y, (X, B)))]
    return reduce(mul, [*nodes, *tables])


def brute(x_given=None, y_given=None):
    """Return the joint table of a and b with the densities of what is given."""
    table = np.array([0.3, 0.7])[:, None] * np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    for i, (m, s) in enumerate([(0.0, 1.0), (2.0, 0.5)]):
        for k in range(3):
            slope, scale = 1.0 - 0.4 * k, 1.0 + 0.2 * k
            if x_given is not None:
                table[i, k] *= stats.norm.pdf(x_given, m, s)
            if y_given is not None:
                spread = np.hypot(slope * s, scale)
                table[i, k] *= stats.norm.pdf(y_given, 0.5 * k + slope * m, spread)
    return table


def table_of(factor):
    return factor.table().restrict({}).table().reshape([v.n_states for v in factor.variables])


def test_integrating_all_real_variables_leaves_the_discrete_joint():
    left = network().integrate_out("y").integrate_out("x")
    assert left.variables == (A, B)
    assert_allclose(table_of(left), brute(), rtol=1e-12)


def test_order_of_integration_does_not_matter():
    one = network().integrate_out("x", "y")
    other = network().integrate_out("y").integrate_out("x")
    assert_allclose(one.log_scale, other.log_scale, rtol=1e-12)


def test_values_of_real_variables_weigh_the_settings():
    left = network().restrict(values={"y": 1.3}).integrate_out("x")
    assert_allclose(table_of(left), brute(y_given=1.3), rtol=1e-12)


def test_states_and_values_may_be_given_together():
    left = network().restrict({"a": "hi"}, {"y": 1.3}).integrate_out("x")
    assert left.variables == (B,)
    assert_allclose(table_of(left), brute(y_given=1.3)[1], rtol=1e-12)


def test_far_values_do_not_underflow():
    left = network().restrict(values={"y": 1e6}).integrate_out("x")
    assert np.all(np.isfinite(left.log_scale))
    assert_allclose(left.table().normalized().table().sum(), 1.0)


def test_impossible_settings_stay_impossible():
    zero = ConditionalGaussianFactor.of_table(Factor((A,), [0.0, 1.0]))
    left = (network() * zero).integrate_out("x", "y")
    assert_allclose(table_of(left)[0], 0.0)
    assert_allclose(table_of(left)[1], brute()[1], rtol=1e-12)


def test_weak_marginal_keeps_mass_mean_and_variance():
    left = network().integrate_out("y").collapsed("b")
    log_mass, mean, cov = left.moments()
    assert_allclose(np.exp(log_mass), [0.3, 0.7])
    assert_allclose(mean[:, 0], [0.0, 2.0], atol=1e-12)
    assert_allclose(cov[:, 0, 0], [1.0, 0.25])
    whole = network().integrate_out("y").collapsed("a", "b")
    log_mass, mean, cov = whole.moments()
    assert_allclose(np.exp(log_mass), 1.0)
    assert_allclose(mean, [1.4])
    assert_allclose(cov, [[0.3 * 1.96 + 0.7 * 0.36 + 0.3 * 1.0 + 0.7 * 0.25]])


def test_summing_before_integrating_is_refused():
    with pytest.raises(ValueError, match="integrated out first; found"):
        network().table()
    with pytest.raises(UnknownVariable, match="found 'w'"):
        network().integrate_out("w")
    with pytest.raises(ValueError, match="log_scale must have shape"):
        ConditionalGaussianFactor((A,), (), np.zeros((2, 0, 0)), np.zeros((2, 0)), np.zeros(3))


def test_states_alone_may_be_given():
    left = network().restrict(states={"a": "hi"}).integrate_out("x", "y")
    assert_allclose(left.table().table(), brute()[1], rtol=1e-12)


def test_a_setting_without_mass_collapses_to_no_mass():
    ruled_out = ConditionalGaussianFactor.of_table(Factor((A,), [0.0, 1.0]))
    joint = network() * ruled_out
    left = joint.collapsed("b")
    log_mass, mean, _ = left.moments()
    assert np.isneginf(log_mass[0])
    assert_allclose(np.exp(log_mass[1]), 0.7, rtol=1e-12)
    expected = network().restrict(states={"a": "hi"}).collapsed("b").moments()
    assert_allclose(mean[1], expected[1], rtol=1e-12)
    everything = left.collapsed("a")
    assert_allclose(everything.moments()[1], mean[1], rtol=1e-12)


def test_tables_keep_settings_that_no_number_holds():
    far = network().restrict(values={"x": 0.0, "y": 80.0}).table()
    logs = [stats.norm.logpdf(80.0, 0.5 * k, 1.0 + 0.2 * k) for k in range(3)]
    expected = np.log(brute(x_given=0.0)[0]) + logs
    assert_allclose(far.log_table()[0], expected, rtol=1e-12)


def test_a_conditional_density_alone_has_no_moments_to_keep():
    y = ConditionalLinearGaussian({k: LinearGaussian(0.0, {"x": 1.0}) for k in range(3)})
    alone = ConditionalGaussianFactor.of(y.bind(Y, (X, B)))
    with pytest.raises(NotPositiveDefinite):
        alone.collapsed("b")

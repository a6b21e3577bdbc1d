"""Linear-Gaussian nodes against the normal distribution itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from credo.graphs import ConditionalLinearGaussian, LinearGaussian, UnknownState, Variable
from credo.graphs.node.conditional import Conditional, DiscreteConditional
from credo.graphs.node.linear_gaussian import GaussianNode

X, Y, Z = Variable("x"), Variable("y"), Variable("z")


def test_density_is_normal_around_the_linear_mean():
    node = LinearGaussian(1.0, {"y": -2.0, "x": 0.5}, 0.3).bind(Z, (X, Y))
    x, y, z = np.random.default_rng(0).normal(size=(3, 6))
    found = node.log_prob({"x": x, "y": y, "z": z})
    assert_allclose(found, stats.norm.logpdf(z, 1.0 + 0.5 * x - 2.0 * y, 0.3))


def test_density_integrates_to_one_over_the_child():
    node = LinearGaussian(1.0, {"x": 3.0}, 0.7).bind(Y, (X,))
    total, _ = integrate.quad(
        lambda y: float(np.exp(node.log_prob({"x": np.array(2.0), "y": np.array(y)}))),
        -10,
        20,
        points=[7.0],
    )
    assert_allclose(total, 1.0, rtol=1e-9)


def test_draws_have_the_mean_and_scale_of_their_row():
    node = LinearGaussian(1.0, {"x": 3.0}, 0.5).bind(Y, (X,))
    x = np.repeat([0.0, 2.0], 20_000)
    draws = node.sample({"x": x}, 40_000, np.random.default_rng(1)).reshape(2, -1)
    assert_allclose(draws.mean(axis=1), [1.0, 7.0], atol=0.02)
    assert_allclose(draws.std(axis=1), 0.5, rtol=0.02)


def test_a_root_draws_as_many_as_asked():
    node = LinearGaussian(2.0).bind(X, ())
    assert node.sample({}, 7, np.random.default_rng(0)).shape == (7,)


def test_parameters_are_intercept_slopes_and_scale():
    assert LinearGaussian(1.0, {"x": 3.0}).bind(Y, (X,)).n_parameters == 3
    assert LinearGaussian(1.0).bind(Y, ()).n_parameters == 2


def test_node_is_a_conditional_but_no_table():
    node = LinearGaussian().bind(X, ())
    assert isinstance(node, Conditional)
    assert not isinstance(node, DiscreteConditional)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf])
def test_a_scale_that_is_not_positive_is_refused_with_a_way_out(scale):
    with pytest.raises(ValueError, match=r"scale must be positive.*relation without noise"):
        LinearGaussian(0.0, {}, scale)


def test_coefficients_must_match_the_real_parents():
    with pytest.raises(ValueError, match=r"found none for \['y'\]. Write 0.0"):
        LinearGaussian(0.0, {"x": 1.0}).bind(Z, (X, Y))
    with pytest.raises(ValueError, match=r"found 'height'.*Did you mean 'weight'"):
        LinearGaussian(0.0, {"height": 1.0}).bind(Z, (Variable("weight"),))
    with pytest.raises(ValueError, match="coefficients of y must be finite"):
        LinearGaussian(0.0, {"x": np.nan}).bind(Y, (X,))
    with pytest.raises(ValueError, match="intercept must be finite"):
        LinearGaussian(np.inf)


def test_discrete_children_and_parents_are_refused():
    d = Variable("d", (0, 1))
    with pytest.raises(ValueError, match="d must be real-valued to be normal"):
        LinearGaussian().bind(d, ())
    with pytest.raises(ValueError, match="Use ConditionalLinearGaussian"):
        LinearGaussian().bind(X, (d,))


def test_shapes_of_a_node_must_follow_its_parents():
    with pytest.raises(ValueError, match=r"coefficients of y must have shape \(1,\)"):
        GaussianNode(Y, (X,), np.array(0.0), np.zeros(2), np.array(1.0))


A, B = Variable("a", ("lo", "hi")), Variable("b", (0, 1, 2))
CONDITIONAL_LINEAR_GAUSSIAN_X, CONDITIONAL_LINEAR_GAUSSIAN_Y = Variable("x"), Variable("y")


def by_pair():
    return ConditionalLinearGaussian(
        {
            (b, a): LinearGaussian(b + (a == "hi"), {"x": 10.0 * b}, 1.0 + b)
            for a in A.labels
            for b in B.labels
        }
    )


def test_parameters_follow_the_labels_of_the_setting_not_the_order_of_writing():
    node = by_pair().bind(CONDITIONAL_LINEAR_GAUSSIAN_Y, (B, CONDITIONAL_LINEAR_GAUSSIAN_X, A))
    b, a = np.array([0, 2, 1]), np.array([1, 0, 1])
    values = {"a": a, "b": b, "x": np.array([1.0, 2.0, -1.0]), "y": np.array([0.5, 40.0, 1.0])}
    expected = stats.norm.logpdf(values["y"], b + a + 10.0 * b * values["x"], 1.0 + b)
    assert_allclose(node.log_prob(values), expected)


def test_draws_follow_the_setting():
    node = by_pair().bind(CONDITIONAL_LINEAR_GAUSSIAN_Y, (B, CONDITIONAL_LINEAR_GAUSSIAN_X, A))
    n = 20_000
    values = {"b": np.full(n, 2), "a": np.full(n, 1), "x": np.full(n, 0.5)}
    draws = node.sample(values, n, np.random.default_rng(0))
    assert_allclose(draws.mean(), 13.0, atol=0.08)
    assert_allclose(draws.std(), 3.0, rtol=0.02)


def test_there_is_one_parameter_set_per_setting():
    assert (
        by_pair()
        .bind(CONDITIONAL_LINEAR_GAUSSIAN_Y, (B, CONDITIONAL_LINEAR_GAUSSIAN_X, A))
        .n_parameters
        == 6 * 3
    )


def test_truth_values_and_single_parents_need_no_tuples():
    t = Variable("t", (False, True))
    spec = ConditionalLinearGaussian({True: LinearGaussian(1.0), False: LinearGaussian(-1.0)})
    assert_allclose(spec.bind(CONDITIONAL_LINEAR_GAUSSIAN_X, (t,)).intercept, [-1.0, 1.0])


def test_absent_and_unknown_settings_are_refused():
    spec = ConditionalLinearGaussian({"lo": LinearGaussian()})
    with pytest.raises(ValueError, match=r"found none for \('hi',\) \(1 of 2 are absent\)"):
        spec.bind(CONDITIONAL_LINEAR_GAUSSIAN_X, (A,))
    both = ConditionalLinearGaussian({"lo": LinearGaussian(), "Hi": LinearGaussian()})
    with pytest.raises(UnknownState, match="Did you mean 'hi'"):
        both.bind(CONDITIONAL_LINEAR_GAUSSIAN_X, (A,))
    with pytest.raises(ValueError, match="must name one state per discrete parent"):
        spec.bind(CONDITIONAL_LINEAR_GAUSSIAN_X, (A, B))
    with pytest.raises(TypeError, match="must have a LinearGaussian; found float"):
        ConditionalLinearGaussian({"lo": 1.0})

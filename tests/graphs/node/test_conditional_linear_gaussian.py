"""Linear Gaussians by setting of discrete parents."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.graphs import ConditionalLinearGaussian, LinearGaussian, UnknownState, Variable

A, B = Variable("a", ("lo", "hi")), Variable("b", (0, 1, 2))
X, Y = Variable("x"), Variable("y")


def by_pair():
    return ConditionalLinearGaussian(
        {
            (b, a): LinearGaussian(b + (a == "hi"), {"x": 10.0 * b}, 1.0 + b)
            for a in A.labels
            for b in B.labels
        }
    )


def test_parameters_follow_the_labels_of_the_setting_not_the_order_of_writing():
    node = by_pair().bind(Y, (B, X, A))
    b, a = np.array([0, 2, 1]), np.array([1, 0, 1])
    values = {"a": a, "b": b, "x": np.array([1.0, 2.0, -1.0]), "y": np.array([0.5, 40.0, 1.0])}
    expected = stats.norm.logpdf(values["y"], b + a + 10.0 * b * values["x"], 1.0 + b)
    assert_allclose(node.log_prob(values), expected)


def test_draws_follow_the_setting():
    node = by_pair().bind(Y, (B, X, A))
    n = 20_000
    values = {"b": np.full(n, 2), "a": np.full(n, 1), "x": np.full(n, 0.5)}
    draws = node.sample(values, n, np.random.default_rng(0))
    assert_allclose(draws.mean(), 13.0, atol=0.08)
    assert_allclose(draws.std(), 3.0, rtol=0.02)


def test_there_is_one_parameter_set_per_setting():
    assert by_pair().bind(Y, (B, X, A)).n_parameters == 6 * 3


def test_truth_values_and_single_parents_need_no_tuples():
    t = Variable("t", (False, True))
    spec = ConditionalLinearGaussian({True: LinearGaussian(1.0), False: LinearGaussian(-1.0)})
    assert_allclose(spec.bind(X, (t,)).intercept, [-1.0, 1.0])


def test_absent_and_unknown_settings_are_refused():
    spec = ConditionalLinearGaussian({"lo": LinearGaussian()})
    with pytest.raises(ValueError, match=r"found none for \('hi',\) \(1 of 2 are absent\)"):
        spec.bind(X, (A,))
    both = ConditionalLinearGaussian({"lo": LinearGaussian(), "Hi": LinearGaussian()})
    with pytest.raises(UnknownState, match="Did you mean 'hi'"):
        both.bind(X, (A,))
    with pytest.raises(ValueError, match="must name one state per discrete parent"):
        spec.bind(X, (A, B))
    with pytest.raises(TypeError, match="must have a LinearGaussian; found float"):
        ConditionalLinearGaussian({"lo": 1.0})

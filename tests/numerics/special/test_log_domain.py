import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

from credo.numerics.special.log_domain import (
    log1m_exp,
    log_normal_cdf,
    log_normalize,
    log_sigmoid,
    log_sum_exp,
    normal_cdf,
    sigmoid,
    softmax,
)

exponents = arrays(
    float, st.tuples(st.integers(1, 4), st.integers(1, 5)), elements=st.floats(-2e3, 2e3)
)


@settings(max_examples=50, deadline=None)
@given(exponents, st.sampled_from([None, 0, 1, (0, 1)]))
def test_log_sum_exp_agrees_with_scipy(a, axis):
    assert_allclose(log_sum_exp(a, axis), special.logsumexp(a, axis), rtol=1e-12, atol=1e-12)


def test_weights_scale_the_terms_and_zero_weight_removes_one():
    a, w = np.array([1000.0, 0.0, 1.0]), np.array([0.0, 2.0, 3.0])
    assert_allclose(log_sum_exp(a, weights=w), np.log(2.0 + 3.0 * np.e))
    with pytest.raises(ValueError, match="must not be negative; found -1"):
        log_sum_exp(a, weights=[1.0, -1.0, 1.0])


def test_infinite_exponents_are_terms_of_zero_or_infinity():
    assert log_sum_exp([-np.inf, -np.inf]) == -np.inf
    assert log_sum_exp([]) == -np.inf
    assert log_sum_exp([-np.inf, 3.0]) == 3.0
    assert log_sum_exp([np.inf, 3.0]) == np.inf
    assert_array_equal(log_sum_exp(np.full((2, 3), -np.inf), axis=1), [-np.inf, -np.inf])


def test_shift_by_the_largest_exponent_survives_where_the_smallest_overflows():
    a = np.array([-800.0, -10.0, -1600.0])
    with np.errstate(over="ignore", invalid="ignore"):
        by_smallest = np.exp(a - a.min()) / np.exp(a - a.min()).sum()
    assert np.isnan(by_smallest[0])
    assert_array_equal(softmax(a), [0.0, 1.0, 0.0])


def test_softmax_of_two_scores_is_the_sigmoid_of_their_difference():
    x, first, second = np.array([1.0, 2.0]), np.array([0.5, -0.2]), np.array([-0.3, 0.4])
    scores = [first @ x, second @ x]
    assert_allclose(softmax(scores)[0], 0.4013123399, atol=5e-11)
    assert_allclose(softmax(scores)[0], sigmoid((first - second) @ x))


def test_normalizing_nothing_gives_nan_and_no_warning():
    assert np.isnan(softmax([-np.inf, -np.inf])).all()
    assert_allclose(
        log_sum_exp(log_normalize([[3.0, -np.inf], [700.0, 710.0]]), axis=1), 0.0, atol=1e-12
    )


@settings(max_examples=50, deadline=None)
@given(
    arrays(float, 5, elements=st.floats(0.1, 50.0)),
    arrays(float, 5, elements=st.floats(0.01, 1.0)),
)
def test_log_of_a_mean_is_at_least_the_mean_of_logs(x, b):
    b = b / b.sum()
    assert log_sum_exp(np.log(x), weights=b) >= np.sum(b * np.log(x)) - 1e-12


def test_jensen_is_an_equality_only_for_a_constant():
    b = np.array([0.2, 0.3, 0.5])
    assert_allclose(log_sum_exp(np.log([4.0, 4.0, 4.0]), weights=b), np.log(4.0))
    assert log_sum_exp(np.log([4.0, 4.0, 4.1]), weights=b) > np.sum(b * np.log([4.0, 4.0, 4.1]))


def test_sigmoid_slope_is_sharpness_times_variance_by_finite_differences():
    z, step = np.linspace(-3, 3, 13), 1e-6
    for sharpness in (0.5, 1.0, 4.0):
        s = sigmoid(z, sharpness)
        slope = (sigmoid(z + step, sharpness) - sigmoid(z - step, sharpness)) / (2 * step)
        assert_allclose(slope, sharpness * s * (1 - s), atol=1e-8)
    assert_allclose(sigmoid([-1.0, 1.0], 1e4), [0.0, 1.0])


def test_log_sigmoid_keeps_its_tails():
    assert_allclose(log_sigmoid([-800.0, 0.0]), [-800.0, -np.log(2.0)])
    assert_allclose(log_sigmoid(50.0), -np.exp(-50.0))


def test_normal_cdf_and_its_log_keep_their_tails():
    assert_allclose(normal_cdf(1.96), 0.975002105, atol=5e-10)
    assert_allclose(log_normal_cdf(-2.0), np.log(normal_cdf(-2.0)))
    assert_allclose(log_normal_cdf(-40.0), -804.608442, rtol=1e-8)


def test_log_of_a_complement_is_right_at_both_ends():
    assert_allclose(
        log1m_exp([-1e-20, -0.5, -3.0, -60.0]),
        [np.log(1e-20), np.log1p(-np.exp(-0.5)), np.log1p(-np.exp(-3.0)), -np.exp(-60.0)],
    )
    assert_array_equal(log1m_exp([0.0, -np.inf]), [-np.inf, 0.0])

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from credo.numerics.special.logistic_integral import (
    log_logistic_normal_mean,
    moderation,
)


def logistic_normal_mean(mean, std):
    return np.exp(log_logistic_normal_mean(mean, std))


@pytest.mark.parametrize("std", [0.0, 0.1, 0.99, 1.0, 1.01, 3.0, 20.0])
@pytest.mark.parametrize("mean", [-20.0, -3.0, -0.2, 0.0, 1.0, 6.0])
def test_mean_is_that_of_adaptive_integration(mean, std):
    def integrand(e):
        return special.expit(mean + std * e) * stats.norm.pdf(e)

    kink = np.clip(-mean / std, -12, 12) if std else 0.0
    expected = integrate.quad(integrand, -12, 12, points=[kink], epsabs=1e-14, limit=400)[0]
    assert_allclose(logistic_normal_mean(mean, std), expected, rtol=1e-9)


@given(st.floats(-30, 30), st.floats(0, 50))
def test_mean_is_never_more_extreme_than_the_function_of_the_mean(mean, std):
    found = float(logistic_normal_mean(mean, std))
    assert abs(found - 0.5) <= abs(special.expit(mean) - 0.5) + 1e-12
    assert_allclose(found + logistic_normal_mean(-mean, std), 1.0, rtol=1e-12)


def test_a_huge_spread_leaves_only_the_sign_of_the_mean():
    assert_allclose(logistic_normal_mean(1.0, 1e6), 0.5, atol=1e-6)
    assert_allclose(logistic_normal_mean(1e6, 1e6), stats.norm.cdf(1.0), rtol=1e-6)


def test_moderated_score_is_close_to_the_integral():
    mean, std = np.meshgrid(np.linspace(-6, 6, 25), np.linspace(0, 4, 9))
    close = special.expit(mean * moderation(std**2))
    assert_allclose(close, logistic_normal_mean(mean, std), atol=0.02)
    assert_allclose(moderation(8 / np.pi), np.sqrt(0.5))


def test_shapes_broadcast_and_empty_stays_empty():
    assert logistic_normal_mean(np.zeros((3, 1)), np.ones(2)).shape == (3, 2)
    assert logistic_normal_mean(np.zeros(0), 1.0).shape == (0,)


@pytest.mark.parametrize(
    ("mean", "std"),
    [(-70, 1.2), (-700, 3), (-24, 5), (-800, 30), (-449, 30), (-60, 8), (-5, 0.3)],
)
def test_the_far_tail_keeps_its_digits(mean, std):
    a = np.linspace(mean - 45 * std, mean + 45 * std, 1_000_001)
    logs = special.log_expit(a) + stats.norm.logpdf(a, mean, std)
    expected = special.logsumexp(logs) + np.log(a[1] - a[0])
    assert_allclose(log_logistic_normal_mean(mean, std), expected, rtol=1e-8)
    assert log_logistic_normal_mean(mean, std) >= special.log_expit(mean)
    assert_allclose(
        log_logistic_normal_mean(-mean, std), np.log1p(-np.exp(expected)), rtol=1e-7
    )

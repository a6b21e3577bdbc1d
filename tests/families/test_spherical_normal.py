import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats

from credo.families import NormalInverseGamma, NormalStatistics, SphericalNormalInverseGamma

PRIOR = SphericalNormalInverseGamma([0.3, -0.2], [0.7, 1.4], 1.5, 2.0)
ROWS = np.random.default_rng(0).normal([1.0, 0.0], 1.5, size=(6, 2))


def test_one_feature_is_the_normal_inverse_gamma():
    x = ROWS[:, :1]
    sphere, line = (
        kind(location, 0.7, 1.5, 2.0)
        for kind, location in ((SphericalNormalInverseGamma, [0.3]), (NormalInverseGamma, 0.3))
    )
    s = NormalStatistics.of(x)
    assert_allclose(sphere.log_evidence(s), line.log_evidence(s)[0])
    after, also = sphere.update(s), line.update(s)
    assert_allclose(after.expected_log_density(x), also.expected_log_density(x)[:, 0])
    assert_allclose(after.predictive().log_prob(x), also.predictive().log_prob(x)[:, 0])
    assert_allclose(after.kl(sphere), also.kl(line)[0])
    assert_allclose(after.mode().variance(), also.mode().variance())
    assert_allclose(after.mean().variance(), also.mean().variance())
    assert_allclose(after.marginal_mean().variance(), also.marginal_mean().variance())


def test_mode_maximizes_the_joint_posterior_density():
    def loss(p):
        v = np.exp(p[2])
        fit = stats.norm(p[:2], np.sqrt(v)).logpdf(ROWS).sum()
        means = stats.norm(PRIOR.location, np.sqrt(v / PRIOR.strength)).logpdf(p[:2]).sum()
        return -(fit + means + stats.invgamma(1.5, scale=2.0).logpdf(v))

    found = optimize.minimize(loss, np.zeros(3), options={"gtol": 1e-8}).x
    mode = PRIOR.update(NormalStatistics.of(ROWS)).mode()
    assert_allclose(mode.mean(), found[:2], atol=1e-6)
    assert_allclose(mode.covariance(), np.exp(found[2]) * np.eye(2), atol=1e-5)


def test_features_may_miss_different_rows():
    x = ROWS.copy()
    x[0, 0] = x[3, 1] = x[4, 1] = np.nan
    # One variance, seen through the entries that are there: x = m + e with known structure.
    variances = np.linspace(0.02, 60, 6000)
    log_joint = stats.invgamma(1.5, scale=2.0).logpdf(variances)
    for j in range(2):
        seen = x[~np.isnan(x[:, j]), j]
        n = len(seen)
        unit = np.eye(n) + 1 / PRIOR.strength[j]
        residual = seen - PRIOR.location[j]
        square = residual @ np.linalg.solve(unit, residual)
        log_joint -= 0.5 * (square / variances + n * np.log(2 * np.pi * variances))
        log_joint -= 0.5 * np.linalg.slogdet(unit)[1]
    total = np.trapezoid(np.exp(log_joint), variances)
    evidence = PRIOR.log_evidence(NormalStatistics.of(x))
    assert_allclose(np.exp(evidence), total, rtol=1e-3)


def test_mean_needs_a_shape_above_one():
    with pytest.raises(ValueError, match=r"shape - 1 must be positive .* Use mode"):
        SphericalNormalInverseGamma([0.0], 1.0, 1.0, 1.0).mean()


def test_weak_prior_moves_with_the_common_unit():
    def log_density(scale):
        s = NormalStatistics.of(ROWS * scale)
        predictive = SphericalNormalInverseGamma.weak(s).update(s).predictive()
        return predictive.log_prob(np.full(2, 0.4) * scale) + 2 * np.log(scale)

    assert_allclose(log_density(1000.0), log_density(1.0), rtol=1e-9)


def test_weak_prior_survives_constant_columns():
    weak = SphericalNormalInverseGamma.weak(NormalStatistics.of(np.full((3, 2), 2.0)))
    assert_allclose((weak.shape, weak.rate), (1.0, 4.0))
    some = np.column_stack([np.full(3, 0.1), [1.0, 2.0, 3.0]])
    assert_allclose(SphericalNormalInverseGamma.weak(NormalStatistics.of(some)).rate, 1 / 3)
    assert_allclose(weak.strength, 0.01)


def test_beliefs_broadcast_over_groups():
    groups = NormalStatistics.by_group(ROWS, np.arange(6) % 2, 2)
    posterior = PRIOR.update(groups)
    assert posterior.batch_shape == (2,)
    assert_allclose(posterior[1].rate, PRIOR.update(groups[1]).rate)
    found = posterior.expected_log_density(ROWS[:, None, :])
    assert_allclose(found[:, 0], posterior[0].expected_log_density(ROWS))

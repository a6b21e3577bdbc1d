import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy import integrate, optimize, stats

from credo.families import NormalInverseGamma, NormalStatistics, SphericalNormalInverseGamma

PRIOR = NormalInverseGamma(location=0.3, strength=0.7, shape=1.5, rate=2.0)
ROWS = np.array([1.0, -0.4, 2.2, 0.9])

samples = arrays(
    float, st.tuples(st.integers(1, 30), st.just(2)), elements=st.floats(-1e3, 1e3)
)


def log_prior(mean, variance):
    return stats.norm(0.3, np.sqrt(variance / 0.7)).logpdf(mean) + stats.invgamma(
        1.5, scale=2.0
    ).logpdf(variance)


@settings(max_examples=50, deadline=None)
@given(samples, samples)
def test_subtracting_a_chunk_forgets_it(a, b):
    left = NormalStatistics.of(a) + NormalStatistics.of(b) - NormalStatistics.of(b)
    right = NormalStatistics.of(a)
    assert_allclose(left.weight, right.weight)
    assert_allclose(left.mean, right.mean, rtol=1e-7, atol=1e-9)
    assert_allclose(left.scatter, right.scatter, rtol=1e-7, atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(samples, st.integers(1, 4), st.randoms(use_true_random=False))
def test_grouped_pass_equals_one_summary_per_group(x, k, random):
    label = np.array([random.randrange(k) for _ in x])
    weight = np.array([random.random() for _ in x])
    x[::3, 0] = np.nan
    grouped = NormalStatistics.by_group(x, label, k, weight)
    for g in range(k):
        alone = NormalStatistics.of(x[label == g], weight[label == g])
        assert_allclose(grouped[g].weight, alone.weight, atol=1e-12)
        assert_allclose(grouped[g].mean, alone.mean, rtol=1e-9, atol=1e-9)
        assert_allclose(grouped[g].scatter, alone.scatter, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_merge_and_grouped_pass_are_stable_under_a_large_offset(offset):
    # The offset itself costs eight of sixteen digits when it is added to the data.
    x = np.random.default_rng(2).normal(size=(100, 1)) + offset
    merged = NormalStatistics.of(x[:37]) + NormalStatistics.of(x[37:])
    grouped = NormalStatistics.by_group(x, np.repeat([0, 1], [37, 63]), 2)
    assert_allclose(merged.scatter / 100, x.var(axis=0), rtol=1e-6)
    assert_allclose(grouped[1].scatter / 63, x[37:].var(axis=0), rtol=1e-6)
    assert_allclose(grouped.pooled().scatter / 100, x.var(axis=0), rtol=1e-6)


def test_grouped_pass_is_stable_when_the_first_row_is_an_outlier():
    x = np.append(1e8, np.random.default_rng(3).normal(size=1000))[:, None]
    grouped = NormalStatistics.by_group(x, np.zeros(1001, dtype=int), 1)
    assert_allclose(grouped.scatter[0], 1001 * x.var(axis=0), rtol=1e-12)


def test_maximum_likelihood_matches_scipy_and_has_zero_gradient():
    best = NormalStatistics.of(ROWS).maximum_likelihood()
    assert_allclose((best.loc, best.scale), stats.norm.fit(ROWS))

    def loss(p):
        return -stats.norm(p[0], p[1]).logpdf(ROWS).sum()

    gradient = optimize.approx_fprime([float(best.loc), float(best.scale)], loss, 1e-7)
    assert_allclose(gradient, 0.0, atol=1e-5)


def test_maximum_likelihood_needs_two_values():
    with pytest.raises(
        ValueError, match=r"scatter must be positive .* found 0 at index 0\. Obs"
    ):
        NormalStatistics.of([[1.0]]).maximum_likelihood()


def test_evidence_matches_grid_integration():
    m, log_v = np.linspace(-15, 15, 601), np.linspace(-5, 9, 401)
    center, v = m[:, None], np.exp(log_v)
    rows = np.asarray(ROWS)[:, None, None]
    joint = stats.norm(center, np.sqrt(v)).logpdf(rows).sum(axis=0) + log_prior(center, v)
    values = np.exp(joint + log_v)
    total = integrate.trapezoid(integrate.trapezoid(values, log_v, axis=1), m)
    assert_allclose(np.exp(PRIOR.log_evidence(NormalStatistics.of(ROWS))), total, rtol=1e-3)


def test_mode_maximizes_the_joint_posterior_density():
    def loss(p):
        v = np.exp(p[1])
        return -(stats.norm(p[0], np.sqrt(v)).logpdf(ROWS).sum() + log_prior(p[0], v))

    found = optimize.minimize(loss, [0.0, 0.0], options={"gtol": 1e-9}).x
    mode = PRIOR.update(NormalStatistics.of(ROWS)).mode()
    assert_allclose(mode.loc, found[0], atol=1e-6)
    assert_allclose(mode.variance(), np.exp(found[1]), rtol=1e-5)


def test_mean_is_the_posterior_expectation_and_needs_a_shape_above_one():
    mean = PRIOR.mean()
    assert_allclose((mean.loc, mean.variance()), (0.3, stats.invgamma(1.5, scale=2.0).mean()))
    with pytest.raises(ValueError, match=r"shape - 1 must be positive .* Use mode"):
        NormalInverseGamma(0.0, 1.0, 1.0, 1.0).mean()


def test_predictive_matches_scipy_student_t():
    p = PRIOR.predictive()
    x = np.linspace(-3, 3, 7)
    oracle = stats.t(3.0, 0.3, np.sqrt(2.0 / 1.5 * (1 + 1 / 0.7)))
    assert_allclose(p.log_prob(x), oracle.logpdf(x))


def test_marginals_match_their_definitions():
    assert_allclose(PRIOR.marginal_variance().mean(), 4.0)
    assert_allclose(PRIOR.marginal_mean().variance(), 4.0 / 0.7)


def test_divergence_matches_monte_carlo():
    q = PRIOR.update(NormalStatistics.of(ROWS))
    rng = np.random.default_rng(0)
    drawn = q.sample(rng, 20_000)
    m, v = drawn.loc, drawn.variance()
    log_q = stats.norm(q.location, np.sqrt(v / q.strength)).logpdf(m) + stats.invgamma(
        q.shape, scale=q.rate
    ).logpdf(v)
    ratio = log_q - log_prior(m, v)
    assert_allclose(q.kl(PRIOR), ratio.mean(), atol=5 * ratio.std() / np.sqrt(20_000))


def test_weak_prior_moves_with_the_units_of_the_data():
    x = np.random.default_rng(0).normal(size=(12, 2))

    def log_density(scale, origin):
        s = NormalStatistics.of(x * scale + origin)
        predictive = NormalInverseGamma.weak(s).update(s).predictive()
        return predictive.log_prob(0.4 * scale + origin) + np.log(scale)

    assert_allclose(log_density(1000.0, 5.0), log_density(1.0, 0.0), rtol=1e-9)


def test_weak_prior_survives_a_constant_column():
    s = NormalStatistics.of(np.full((3, 1), 2.0))
    weak = NormalInverseGamma.weak(s)
    assert_allclose(
        (weak.location, weak.strength, weak.shape, weak.rate), [[2], [0.01], [1], [4]]
    )
    assert_allclose(weak.update(s).mode().loc, [2.0])


def test_statistics_know_the_groups_they_hold():
    groups = NormalStatistics.by_group([[1.0], [2.0], [6.0]], [0, 0, 2], 3)
    assert len(groups) == 3
    assert_allclose(groups.weight[:, 0], [2, 0, 1])
    assert_allclose(groups.mean[:, 0], [1.5, 0, 6])
    assert_allclose(groups.variance()[:, 0], [0.25, 0, 0])
    posterior = PRIOR.update(groups)
    assert_allclose(posterior[1].location, PRIOR.location)
    assert posterior.expected_log_density(np.zeros((5, 1, 1))).shape == (5, 3, 1)


def test_a_row_of_almost_no_weight_keeps_its_value():
    assert_allclose(NormalStatistics.of([[1.5]], [5e-324]).mean, [1.5])


SPHERE = SphericalNormalInverseGamma([0.3, -0.2], [0.7, 1.4], 1.5, 2.0)
SPHERE_ROWS = np.random.default_rng(0).normal([1.0, 0.0], 1.5, size=(6, 2))


def test_one_feature_is_the_normal_inverse_gamma():
    x = SPHERE_ROWS[:, :1]
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


def test_mode_maximizes_the_joint_posterior_density_of_a_sphere():
    def loss(p):
        v = np.exp(p[2])
        fit = stats.norm(p[:2], np.sqrt(v)).logpdf(SPHERE_ROWS).sum()
        means = stats.norm(SPHERE.location, np.sqrt(v / SPHERE.strength)).logpdf(p[:2]).sum()
        return -(fit + means + stats.invgamma(1.5, scale=2.0).logpdf(v))

    found = optimize.minimize(loss, np.zeros(3), options={"gtol": 1e-8}).x
    mode = SPHERE.update(NormalStatistics.of(SPHERE_ROWS)).mode()
    assert_allclose(mode.mean(), found[:2], atol=1e-6)
    assert_allclose(mode.covariance(), np.exp(found[2]) * np.eye(2), atol=1e-5)


def test_features_may_miss_different_rows():
    x = SPHERE_ROWS.copy()
    x[0, 0] = x[3, 1] = x[4, 1] = np.nan
    # One variance, seen through the entries that are there: x = m + e with known structure.
    variances = np.linspace(0.02, 60, 6000)
    log_joint = stats.invgamma(1.5, scale=2.0).logpdf(variances)
    for j in range(2):
        seen = x[~np.isnan(x[:, j]), j]
        n = len(seen)
        unit = np.eye(n) + 1 / SPHERE.strength[j]
        residual = seen - SPHERE.location[j]
        square = residual @ np.linalg.solve(unit, residual)
        log_joint -= 0.5 * (square / variances + n * np.log(2 * np.pi * variances))
        log_joint -= 0.5 * np.linalg.slogdet(unit)[1]
    total = np.trapezoid(np.exp(log_joint), variances)
    evidence = SPHERE.log_evidence(NormalStatistics.of(x))
    assert_allclose(np.exp(evidence), total, rtol=1e-3)


def test_mean_needs_a_shape_above_one():
    with pytest.raises(ValueError, match=r"shape - 1 must be positive .* Use mode"):
        SphericalNormalInverseGamma([0.0], 1.0, 1.0, 1.0).mean()


def test_weak_prior_moves_with_the_common_unit():
    def log_density(scale):
        s = NormalStatistics.of(SPHERE_ROWS * scale)
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
    groups = NormalStatistics.by_group(SPHERE_ROWS, np.arange(6) % 2, 2)
    posterior = SPHERE.update(groups)
    assert posterior.batch_shape == (2,)
    assert_allclose(posterior[1].rate, SPHERE.update(groups[1]).rate)
    found = posterior.expected_log_density(SPHERE_ROWS[:, None, :])
    assert_allclose(found[:, 0], posterior[0].expected_log_density(SPHERE_ROWS))

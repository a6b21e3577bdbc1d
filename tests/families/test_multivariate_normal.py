import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats

from credo.families import (
    MultivariateNormalStatistics,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalStatistics,
    TiedNormalInverseWishart,
)

SCALE = np.array([[2.0, 0.6], [0.6, 1.0]])
PRIOR = NormalInverseWishart([0.3, -0.2], 0.7, 5.0, SCALE)
ROWS = np.random.default_rng(0).multivariate_normal([1.0, 0.0], [[1.0, 0.7], [0.7, 2.0]], 9)


def log_prior(mean, covariance):
    return stats.multivariate_normal([0.3, -0.2], covariance / 0.7).logpdf(
        mean
    ) + stats.invwishart(5.0, SCALE).logpdf(covariance)


def test_one_feature_is_the_normal_inverse_gamma():
    x = ROWS[:, :1]
    wishart = NormalInverseWishart([0.3], 0.7, 5.0, [[2.0]])
    gamma = NormalInverseGamma(0.3, 0.7, 2.5, 1.0)
    s, t = MultivariateNormalStatistics.of(x), NormalStatistics.of(x)
    assert_allclose(wishart.log_evidence(s), gamma.log_evidence(t)[0])
    after, also = wishart.update(s), gamma.update(t)
    assert_allclose(after.predictive().log_prob(x), also.predictive().log_prob(x)[:, 0])
    assert_allclose(after.expected_log_density(x), also.expected_log_density(x)[:, 0])
    assert_allclose(after.kl(wishart), also.kl(gamma)[0])
    assert_allclose(after.mean().variance(), also.mean().variance())
    assert_allclose(after.mode().variance(), also.mode().variance())
    assert_allclose(after.marginal_mean().variance(), also.marginal_mean().variance())


def test_maximum_likelihood_matches_scipy():
    best = MultivariateNormalStatistics.of(ROWS).maximum_likelihood()
    mean, covariance = stats.multivariate_normal.fit(ROWS)
    assert_allclose(best.mean(), mean)
    assert_allclose(best.covariance(), covariance)


def test_maximum_likelihood_of_too_few_rows_is_refused():
    with pytest.raises(ValueError, match="Observe more rows than features"):
        MultivariateNormalStatistics.of(ROWS[:2]).maximum_likelihood()


def test_mode_maximizes_the_joint_posterior_density():
    def loss(p):
        root = np.array([[np.exp(p[2]), 0.0], [p[3], np.exp(p[4])]])
        covariance = root @ root.T
        fit = stats.multivariate_normal(p[:2], covariance).logpdf(ROWS).sum()
        return -fit - log_prior(p[:2], covariance)

    found = optimize.minimize(loss, np.zeros(5), options={"gtol": 1e-7}).x
    root = np.array([[np.exp(found[2]), 0.0], [found[3], np.exp(found[4])]])
    mode = PRIOR.update(MultivariateNormalStatistics.of(ROWS)).mode()
    assert_allclose(mode.mean(), found[:2], atol=1e-5)
    assert_allclose(mode.covariance(), root @ root.T, atol=1e-4)


def test_mean_is_the_expected_covariance_and_needs_enough_degrees_of_freedom():
    assert_allclose(PRIOR.mean().covariance(), stats.invwishart(5.0, SCALE).mean())
    with pytest.raises(ValueError, match=r"df must be above 3 .* found 2.5\. Use mode"):
        NormalInverseWishart([0.0, 0.0], 1.0, 2.5, np.eye(2)).mean()


def test_predictive_matches_scipy_multivariate_t():
    factor = (1 + 1 / 0.7) / 4.0
    oracle = stats.multivariate_t([0.3, -0.2], SCALE * factor, df=4.0)
    assert_allclose(PRIOR.predictive().log_prob(ROWS), oracle.logpdf(ROWS))


def test_divergence_matches_monte_carlo():
    q = PRIOR.update(MultivariateNormalStatistics.of(ROWS[:4]))
    drawn = q.sample(np.random.default_rng(0), 2000)
    ratio = []
    for m, c in zip(drawn.mean(), drawn.covariance(), strict=True):
        log_q = stats.multivariate_normal(q.location, c / q.strength).logpdf(m)
        log_q += stats.invwishart(float(q.df), q.scale_matrix).logpdf(c)
        ratio.append(log_q - log_prior(m, c))
    assert_allclose(q.kl(PRIOR), np.mean(ratio), atol=5 * np.std(ratio) / np.sqrt(2000))


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_scatter_is_stable_under_a_large_offset(offset):
    # The offset itself costs eight of sixteen digits when it is added to the data.
    x = np.random.default_rng(2).normal(size=(100, 3)) @ np.triu(np.ones((3, 3))) + offset
    merged = MultivariateNormalStatistics.of(x[:37]) + MultivariateNormalStatistics.of(x[37:])
    grouped = MultivariateNormalStatistics.by_group(x, np.repeat([0, 1], [37, 63]), 2)
    assert_allclose(merged.covariance(), np.cov(x.T, bias=True), rtol=1e-6)
    assert_allclose(grouped[0].covariance(), np.cov(x[:37].T, bias=True), rtol=1e-6)
    assert_allclose(grouped.pooled().covariance(), np.cov(x.T, bias=True), rtol=1e-6)


def test_weighted_groups_match_numpy_covariance():
    rng = np.random.default_rng(1)
    x, label, weight = rng.normal(size=(50, 3)), rng.integers(0, 3, 50), rng.uniform(0, 2, 50)
    grouped = MultivariateNormalStatistics.by_group(x, label, 3, weight)
    for g in range(3):
        rows = label == g
        oracle = np.cov(x[rows].T, aweights=weight[rows], bias=True)
        assert_allclose(grouped[g].covariance(), oracle)


def test_missing_values_are_refused_in_three_parts():
    x = ROWS.copy()
    x[3, 1] = np.nan
    message = (
        r"x must be complete and finite .*; found nan at index \(3, 1\)\. .*neither conjugate"
    )
    with pytest.raises(ValueError, match=message):
        MultivariateNormalStatistics.of(x)
    with pytest.raises(ValueError, match=message):
        MultivariateNormalStatistics.by_group(x, np.zeros(9, dtype=int), 1)


def test_a_row_of_weight_zero_is_absent_even_if_it_is_missing():
    x, weight = ROWS.copy(), np.ones(9)
    x[3], weight[3] = np.nan, 0.0
    found = MultivariateNormalStatistics.of(x, weight)
    expected = MultivariateNormalStatistics.of(np.delete(ROWS, 3, axis=0))
    assert_allclose(found.mean, expected.mean)
    assert_allclose(found.scatter, expected.scatter)


def test_parameters_outside_the_family_are_refused():
    with pytest.raises(ValueError, match=r"df must be above n_features - 1 = 1; found 1"):
        NormalInverseWishart([0.0, 0.0], 1.0, 1.0, np.eye(2))
    with pytest.raises(ValueError, match=r"matrix of rows .* found shape \(2,\)"):
        MultivariateNormalStatistics.of([1.0, 2.0])


def test_weak_prior_moves_with_the_units_of_the_data():
    def log_density(scale, origin):
        s = MultivariateNormalStatistics.of(ROWS * scale + origin)
        predictive = NormalInverseWishart.weak(s).update(s).predictive()
        return predictive.log_prob(0.4 * scale + origin) + np.log(scale).sum()

    moved = log_density(np.array([1000.0, 0.1]), 5.0)
    assert_allclose(moved, log_density(np.ones(2), 0.0), rtol=1e-9)


@pytest.mark.parametrize("value", [2.0, 0.1, 7.7])
def test_weak_prior_survives_a_constant_column(value):
    s = MultivariateNormalStatistics.of(np.column_stack([ROWS[:, 0], np.full(9, value)]))
    weak = NormalInverseWishart.weak(s)
    assert_allclose(weak.scale_matrix, np.diag([ROWS[:, 0].var(), value**2]))
    assert_allclose((weak.strength, weak.df), (0.01, 4.0))


def test_beliefs_broadcast_over_groups():
    groups = MultivariateNormalStatistics.by_group(ROWS, np.arange(9) % 2, 3)
    posterior = PRIOR.update(groups)
    assert_allclose(posterior[2].scale_matrix, SCALE)
    assert_allclose(posterior[0].location, PRIOR.update(groups[0]).location)
    assert posterior.expected_log_density(ROWS[:, None, :]).shape == (9, 3)
    assert_allclose(
        posterior.expected_log_density(ROWS[:, None, :])[:, 1],
        posterior[1].expected_log_density(ROWS),
    )


TIED = TiedNormalInverseWishart([[0.3, -0.2], [1.0, 1.0]], [0.7, 1.2], 5.0, SCALE)
TIED_RNG = np.random.default_rng(0)
GROUPED, LABEL = TIED_RNG.normal(size=(9, 2)), np.array([0, 1, 1, 0, 1, 0, 1, 1, 0])
GROUPS = MultivariateNormalStatistics.by_group(GROUPED, LABEL, 2)


def test_one_group_is_the_normal_inverse_wishart():
    tied = TiedNormalInverseWishart([[0.3, -0.2]], 0.7, 5.0, SCALE)
    alone = NormalInverseWishart([0.3, -0.2], 0.7, 5.0, SCALE)
    groups = MultivariateNormalStatistics.by_group(GROUPED, np.zeros(9, dtype=int), 1)
    assert_allclose(tied.log_evidence(groups), alone.log_evidence(groups[0]))
    after, also = tied.update(groups), alone.update(groups[0])
    assert_allclose(after.mode().covariance()[0], also.mode().covariance())
    assert_allclose(after.mean().covariance()[0], also.mean().covariance())
    assert_allclose(after.kl(tied), also.kl(alone))


def test_mode_maximizes_the_joint_posterior_density_of_groups():
    def loss(p):
        means = p[:4].reshape(2, 2)
        root = np.array([[np.exp(p[4]), 0.0], [p[5], np.exp(p[6])]])
        covariance = root @ root.T
        total = stats.invwishart(5.0, SCALE).logpdf(covariance)
        for g in range(2):
            about = stats.multivariate_normal(TIED.location[g], covariance / TIED.strength[g])
            total += about.logpdf(means[g])
            fit = stats.multivariate_normal(means[g], covariance)
            total += fit.logpdf(GROUPED[g == LABEL]).sum()
        return -total

    found = optimize.minimize(loss, np.zeros(7), options={"gtol": 1e-7}).x
    root = np.array([[np.exp(found[4]), 0.0], [found[5], np.exp(found[6])]])
    mode = TIED.update(GROUPS).mode()
    assert_allclose(mode.mean(), found[:4].reshape(2, 2), atol=1e-5)
    assert_allclose(mode.covariance()[1], root @ root.T, atol=1e-4)


def test_maximum_likelihood_pools_the_scatter_within_groups():
    best = GROUPS.tied_maximum_likelihood()
    within = sum(
        (g == LABEL).sum() * np.cov(GROUPED[g == LABEL].T, bias=True) for g in range(2)
    )
    assert_allclose(best.covariance()[0], within / 9)
    assert_allclose(best.mean()[1], GROUPED[LABEL == 1].mean(axis=0))


def test_draws_share_one_covariance():
    drawn = TIED.sample(np.random.default_rng(0), 3)
    covariance = drawn.covariance()
    assert_allclose(covariance[:, 0], covariance[:, 1])
    assert np.abs(np.diff(covariance[:, 0], axis=0)).min() > 0


def test_predictive_of_each_group_uses_the_scatter_of_all():
    posterior = TIED.update(GROUPS)
    alone = NormalInverseWishart(TIED.location[0], 0.7, 5.0, SCALE).update(GROUPS[0])
    assert_allclose(posterior.predictive()[0].mean(), alone.predictive().mean())
    assert float(posterior.predictive()[0].df) == float(alone.predictive().df) + 5


def test_weak_prior_centers_every_group_on_the_pooled_mean():
    weak = TiedNormalInverseWishart.weak(GROUPS)
    assert_allclose(weak.location, np.tile(GROUPED.mean(axis=0), (2, 1)))
    assert_allclose(np.diag(weak.scale_matrix), GROUPED.var(axis=0))

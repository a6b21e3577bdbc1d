import numpy as np
from numpy.testing import assert_allclose
from scipy import optimize, stats

from credo.families import (
    MultivariateNormalStatistics,
    NormalInverseWishart,
    TiedNormalInverseWishart,
)

SCALE = np.array([[2.0, 0.6], [0.6, 1.0]])
PRIOR = TiedNormalInverseWishart([[0.3, -0.2], [1.0, 1.0]], [0.7, 1.2], 5.0, SCALE)
RNG = np.random.default_rng(0)
ROWS, LABEL = RNG.normal(size=(9, 2)), np.array([0, 1, 1, 0, 1, 0, 1, 1, 0])
GROUPS = MultivariateNormalStatistics.by_group(ROWS, LABEL, 2)


def test_one_group_is_the_normal_inverse_wishart():
    tied = TiedNormalInverseWishart([[0.3, -0.2]], 0.7, 5.0, SCALE)
    alone = NormalInverseWishart([0.3, -0.2], 0.7, 5.0, SCALE)
    groups = MultivariateNormalStatistics.by_group(ROWS, np.zeros(9, dtype=int), 1)
    assert_allclose(tied.log_evidence(groups), alone.log_evidence(groups[0]))
    after, also = tied.update(groups), alone.update(groups[0])
    assert_allclose(after.mode().covariance()[0], also.mode().covariance())
    assert_allclose(after.mean().covariance()[0], also.mean().covariance())
    assert_allclose(after.kl(tied), also.kl(alone))


def test_mode_maximizes_the_joint_posterior_density():
    def loss(p):
        means = p[:4].reshape(2, 2)
        root = np.array([[np.exp(p[4]), 0.0], [p[5], np.exp(p[6])]])
        covariance = root @ root.T
        total = stats.invwishart(5.0, SCALE).logpdf(covariance)
        for g in range(2):
            about = stats.multivariate_normal(PRIOR.location[g], covariance / PRIOR.strength[g])
            total += about.logpdf(means[g])
            fit = stats.multivariate_normal(means[g], covariance)
            total += fit.logpdf(ROWS[g == LABEL]).sum()
        return -total

    found = optimize.minimize(loss, np.zeros(7), options={"gtol": 1e-7}).x
    root = np.array([[np.exp(found[4]), 0.0], [found[5], np.exp(found[6])]])
    mode = PRIOR.update(GROUPS).mode()
    assert_allclose(mode.mean(), found[:4].reshape(2, 2), atol=1e-5)
    assert_allclose(mode.covariance()[1], root @ root.T, atol=1e-4)


def test_maximum_likelihood_pools_the_scatter_within_groups():
    best = GROUPS.tied_maximum_likelihood()
    within = sum((g == LABEL).sum() * np.cov(ROWS[g == LABEL].T, bias=True) for g in range(2))
    assert_allclose(best.covariance()[0], within / 9)
    assert_allclose(best.mean()[1], ROWS[LABEL == 1].mean(axis=0))


def test_draws_share_one_covariance():
    drawn = PRIOR.sample(np.random.default_rng(0), 3)
    covariance = drawn.covariance()
    assert_allclose(covariance[:, 0], covariance[:, 1])
    assert np.abs(np.diff(covariance[:, 0], axis=0)).min() > 0


def test_predictive_of_each_group_uses_the_scatter_of_all():
    posterior = PRIOR.update(GROUPS)
    alone = NormalInverseWishart(PRIOR.location[0], 0.7, 5.0, SCALE).update(GROUPS[0])
    assert_allclose(posterior.predictive()[0].mean(), alone.predictive().mean())
    assert float(posterior.predictive()[0].df) == float(alone.predictive().df) + 5


def test_weak_prior_centers_every_group_on_the_pooled_mean():
    weak = TiedNormalInverseWishart.weak(GROUPS)
    assert_allclose(weak.location, np.tile(ROWS.mean(axis=0), (2, 1)))
    assert_allclose(np.diag(weak.scale_matrix), ROWS.var(axis=0))

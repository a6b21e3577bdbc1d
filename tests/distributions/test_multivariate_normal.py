import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from credo.distributions import MultivariateNormal
from credo.numerics.linear.linear_algebra import NotPositiveDefinite

RNG = np.random.default_rng(0)
LOC = RNG.normal(size=5)
FACTOR = RNG.normal(size=(5, 2))
DIAGONAL = RNG.uniform(0.5, 2.0, size=5)
SIGMA = FACTOR @ FACTOR.T + np.diag(DIAGONAL)
FORMS = {
    "dense": MultivariateNormal(LOC, SIGMA),
    "precision": MultivariateNormal.from_precision(LOC, np.linalg.inv(SIGMA)),
    "low rank": MultivariateNormal.from_low_rank(LOC, FACTOR, DIAGONAL),
}
each_form = pytest.mark.parametrize("d", FORMS.values(), ids=FORMS.keys())
X = RNG.normal(size=(4, 5))


@each_form
def test_every_form_agrees_with_scipy(d):
    theirs = stats.multivariate_normal(LOC, SIGMA)
    assert_allclose(d.log_prob(X), theirs.logpdf(X))
    assert_allclose(d.entropy(), theirs.entropy())
    assert_allclose(d.mean(), LOC)
    assert_allclose(d.mode(), LOC)
    assert_allclose(d.covariance(), SIGMA)
    assert_allclose(d.variance(), np.diag(SIGMA))
    std = np.sqrt(np.diag(SIGMA))
    assert_allclose(d.correlation(), SIGMA / np.outer(std, std))


@each_form
def test_marginal_and_conditional_follow_the_block_formulas(d):
    a, b, x_b = [0, 3], [1, 2, 4], np.array([0.3, -1.0, 2.0])
    assert_allclose(d.marginal(a).covariance(), SIGMA[np.ix_(a, a)])
    assert_allclose(d.marginal([3, 0]).mean(), LOC[[3, 0]])
    gain = SIGMA[np.ix_(a, b)] @ np.linalg.inv(SIGMA[np.ix_(b, b)])
    given = d.condition(b, x_b)
    assert_allclose(given.mean(), LOC[a] + gain @ (x_b - LOC[b]))
    assert_allclose(given.covariance(), SIGMA[np.ix_(a, a)] - gain @ SIGMA[np.ix_(b, a)])
    by_name = d.condition(dict(zip(b, x_b, strict=True)))
    assert_allclose(by_name.mean(), given.mean())


@each_form
def test_joint_density_is_marginal_times_conditional(d):
    b, a = [1, 4], [0, 2, 3]
    product = d.marginal(b).log_prob(X[:, b]) + d.condition(b, X[:, b]).log_prob(X[:, a])
    assert_allclose(product, d.log_prob(X))


@each_form
def test_affine_map_and_sum_add_means_and_covariances(d):
    a, b = np.arange(10.0).reshape(2, 5), np.array([1.0, -1.0])
    mapped = d.affine(a, b)
    assert_allclose(mapped.mean(), a @ LOC + b)
    assert_allclose(mapped.covariance(), a @ SIGMA @ a.T)
    total = d + MultivariateNormal(np.ones(5), 2 * np.eye(5))
    assert_allclose(total.mean(), LOC + 1)
    assert_allclose(total.covariance(), SIGMA + 2 * np.eye(5))


@each_form
def test_draws_whiten_to_standard_normal(d):
    n = 20_000
    x = d.sample(np.random.default_rng(1), n)
    z = d.whiten(x)
    assert_allclose(z[:3], np.random.default_rng(1).standard_normal((3, 5)))
    assert_allclose(z.mean(axis=0), 0.0, atol=5 / np.sqrt(n))
    assert_allclose(z.T @ z / n, np.eye(5), atol=7 / np.sqrt(n))
    assert_allclose(np.cov(x.T), SIGMA, atol=7 * SIGMA.max() / np.sqrt(n))
    assert d.sample(np.random.default_rng(1)).shape == (5,)


@each_form
def test_product_of_densities_is_a_constant_times_a_gaussian(d):
    other = MultivariateNormal(np.zeros(5), np.diag([1.0, 2.0, 0.5, 3.0, 1.5]))
    both, log_constant = d.product(other)
    assert_allclose(d.log_prob(X) + other.log_prob(X), log_constant + both.log_prob(X))


@each_form
@pytest.mark.parametrize("other", FORMS.values(), ids=FORMS.keys())
def test_kl_is_the_textbook_formula_for_every_pair_of_forms(d, other):
    moved = other.affine(0.8 * np.eye(5), np.ones(5))
    s2, gap = moved.covariance(), moved.mean() - LOC
    p2 = np.linalg.inv(s2)
    log_ratio = np.linalg.slogdet(s2)[1] - np.linalg.slogdet(SIGMA)[1]
    expected = 0.5 * (np.trace(p2 @ SIGMA) + gap @ p2 @ gap - 5 + log_ratio)
    assert_allclose(d.kl(moved), expected)
    assert_allclose(d.kl(other), 0.0, atol=1e-10)


def test_conditional_product_and_precision_reproduce_hand_calculations():
    joint = MultivariateNormal([1.0, 2.0], [[2.0, 0.6], [0.6, 1.0]])
    first = joint.condition({1: 3.0})
    assert_allclose([first.mean()[0], first.variance()[0]], [1.6, 1.64])
    both, log_constant = MultivariateNormal([0.0], 1.0).product(MultivariateNormal([3.0], 2.0))
    assert_allclose([both.mean()[0], both.variance()[0]], [1.0, 2 / 3])
    assert_allclose(np.exp(log_constant), 0.0513934433, atol=5e-11)


def test_density_of_a_conditional_matches_grid_integration():
    joint = MultivariateNormal([1.0, 2.0], [[2.0, 0.6], [0.6, 1.0]])
    evidence = integrate.quad(lambda a: joint.prob([a, 3.0]), -12, 14)[0]
    mean = integrate.quad(lambda a: a * joint.prob([a, 3.0]), -12, 14)[0] / evidence
    assert_allclose(joint.condition({1: 3.0}).mean()[0], mean, rtol=1e-8)
    assert_allclose(joint.marginal(1).prob([3.0]), evidence, rtol=1e-8)


def test_conditional_mean_from_correlation_keeps_the_other_scale():
    pair = MultivariateNormal.from_correlation([0.0, 2.0], [0.5, 3.0], [[1, 0.4], [0.4, 1]])
    assert_allclose(pair.condition({0: 1.0}).mean(), [4.4])


def test_principal_axes_diagonalize_the_covariance():
    d = FORMS["dense"]
    variances, axes = d.principal_axes()
    assert np.all(np.diff(variances) < 0)
    assert_allclose(axes @ np.diag(variances) @ axes.T, SIGMA)
    v = axes.T @ (X[0] - LOC)
    assert_allclose(np.sum(v**2 / variances), np.sum(d.whiten(X[0]) ** 2))


@each_form
def test_batches_answer_row_by_row(d):
    many = d.condition([0], X[:, :1])
    assert many.batch_shape == (4,)
    for i in range(4):
        alone = d.condition({0: X[i, 0]})
        assert_allclose(many[i].mean(), alone.mean())
        assert_allclose(many[i].covariance(), alone.covariance())
    assert many.sample(np.random.default_rng(0), 3).shape == (3, 4, 4)


def test_stacked_covariances_are_factored_together():
    stack = np.stack([SIGMA, 2 * SIGMA, np.eye(5)])
    d = MultivariateNormal(LOC, stack)
    for i in range(3):
        theirs = stats.multivariate_normal(LOC, stack[i])
        assert_allclose(d.log_prob(X[:3])[i], theirs.logpdf(X[i]))
        assert_allclose(d[i].log_prob(X), theirs.logpdf(X))
    assert_allclose(d.entropy()[1], d[1].entropy())


def test_low_rank_form_handles_many_dimensions_without_a_dense_matrix():
    d = 20_000
    rng = np.random.default_rng(3)
    wide = MultivariateNormal.from_low_rank(np.zeros(d), rng.normal(size=(d, 3)), 0.5)
    x = wide.sample(rng, 2)
    few = np.arange(6)
    assert_allclose(
        wide.marginal(few).log_prob(x[:, few]),
        stats.multivariate_normal(cov=wide.marginal(few).covariance()).logpdf(x[:, few]),
    )
    assert abs(wide.log_prob(x)[0] + wide.entropy()) < 5 * np.sqrt(d / 2)


def test_semi_definite_covariance_draws_on_its_plane_with_reported_jitter():
    d = MultivariateNormal([0.0, 0.0], [[1.0, 2.0], [2.0, 4.0]])
    assert 0 < d.jitter < 1e-7
    x = d.sample(np.random.default_rng(0), 100)
    assert_allclose(x[:, 1], 2 * x[:, 0], atol=1e-2)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: MultivariateNormal([0, 0], -np.eye(2)), NotPositiveDefinite, "eigenvalue -1"),
        (lambda: MultivariateNormal([0, 0], [[1, 0.5], [0, 1]]), ValueError, "symmetric"),
        (lambda: MultivariateNormal([0, 0], np.ones((2, 3))), ValueError, "square"),
        (lambda: MultivariateNormal([0, 0, 0], np.eye(2)), ValueError, "found 3 and 2"),
        (lambda: FORMS["dense"].condition({}), ValueError, "some but not all of 5"),
        (lambda: FORMS["dense"].condition([0, 1]), ValueError, "each with a value"),
        (
            lambda: MultivariateNormal.from_correlation([0, 0], 1.0, [[2, 0], [0, 1]]),
            ValueError,
            "must be one; found 2 at index 0",
        ),
    ],
)
def test_impossible_gaussians_are_refused_with_reasons(make, error, message):
    with pytest.raises(error, match=message):
        make()

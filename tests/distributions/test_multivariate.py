"""Laws of distributions of vectors, matrices and labels, against scipy.stats."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, special, stats

from credo.distributions import (
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Gamma,
    InverseGamma,
    InverseWishart,
    Mixture,
    Multinomial,
    MultivariateNormal,
    MultivariateStudentT,
    StudentT,
    Wishart,
)

SCALE = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, -0.2], [0.1, -0.2, 0.7]])
SMALL = np.array([[1.5, -0.3, 0.0], [-0.3, 0.8, 0.2], [0.0, 0.2, 1.1]])
LOC = np.array([1.0, -2.0, 0.5])
PAIRS = {
    "dirichlet": (Dirichlet([2.0, 3.5, 1.2]), stats.dirichlet([2.0, 3.5, 1.2])),
    "student": (MultivariateStudentT(5.5, LOC, SCALE), stats.multivariate_t(LOC, SCALE, 5.5)),
    "wishart": (Wishart(6.5, SCALE), stats.wishart(6.5, SCALE)),
    "inverse wishart": (InverseWishart(9.5, SCALE), stats.invwishart(9.5, SCALE)),
    "multinomial": (Multinomial(7, [0.2, 0.5, 0.3]), stats.multinomial(7, [0.2, 0.5, 0.3])),
    "normal mixture": (
        Mixture([0.3, 0.7], [MultivariateNormal(LOC, SCALE), MultivariateNormal(-LOC, SMALL)]),
        None,
    ),
}
every = pytest.mark.parametrize("name", PAIRS)


@pytest.mark.parametrize("name", [n for n, (_, theirs) in PAIRS.items() if theirs])
def test_log_prob_and_entropy_agree_with_scipy(name):
    ours, theirs = PAIRS[name]
    x = ours.sample(np.random.default_rng(0), 5)
    log_density = theirs.logpmf if ours.is_discrete else theirs.logpdf
    expected = [np.squeeze(log_density(row)) for row in x]
    assert_allclose(ours.log_prob(x), expected, rtol=1e-9)
    if name == "inverse wishart":
        # SciPy 1.17 halves the scale once where each of d dimensions needs it.
        excess = 0.5 * (3 + 1) * (3 - 1) * np.log(2.0)
        assert_allclose(ours.entropy() + excess, theirs.entropy(), rtol=1e-9)
    else:
        assert_allclose(ours.entropy(), theirs.entropy(), rtol=1e-9)


@every
def test_draws_have_the_right_mean_and_covariance(name):
    d = PAIRS[name][0]
    n = 40_000
    x = d.sample(np.random.default_rng(1), n)
    assert x.shape == (n, *d.event_shape)
    mean, std = d.mean(), d.std()
    assert np.all(np.abs(x.mean(axis=0) - mean) < 5 * std / np.sqrt(n) + 1e-12)
    size = int(np.prod(d.event_shape))
    flat = (x - mean).reshape(n, size)
    covariance = d.covariance().reshape(size, size)
    # The standard error of a product of two centered coordinates, from the draws themselves.
    error = (flat[:, :, None] * flat[:, None, :]).std(axis=0) / np.sqrt(n)
    assert np.all(np.abs(flat.T @ flat / n - covariance) < 5.5 * error + 1e-12)
    assert_allclose(np.diag(covariance), d.variance().ravel())


@pytest.mark.parametrize("name", [n for n in PAIRS if n != "normal mixture"])
def test_entropy_is_the_mean_of_minus_log_prob_over_draws(name):
    d = PAIRS[name][0]
    surprise = -d.log_prob(d.sample(np.random.default_rng(2), 20_000))
    assert abs(surprise.mean() - d.entropy()) < 5 * surprise.std() / np.sqrt(20_000)


DIVERGENCES = {
    "dirichlet": (Dirichlet([2.0, 3.5, 1.2]), Dirichlet([1.0, 1.0, 4.0])),
    "wishart": (Wishart(6.5, SCALE), Wishart(5.0, SMALL)),
    "inverse wishart": (InverseWishart(9.5, SCALE), InverseWishart(5.0, SMALL)),
    "multinomial": (Multinomial(7, [0.2, 0.5, 0.3]), Multinomial(7, [0.4, 0.4, 0.2])),
    "categorical": (Categorical([0.2, 0.5, 0.3]), Categorical([0.4, 0.4, 0.2])),
}


@pytest.mark.parametrize("pair", DIVERGENCES.values(), ids=DIVERGENCES.keys())
def test_kl_is_the_mean_log_ratio_over_draws(pair):
    p, q = pair
    x = p.sample(np.random.default_rng(3), 20_000)
    ratio = p.log_prob(x) - q.log_prob(x)
    assert abs(ratio.mean() - p.kl(q)) < 5 * ratio.std() / np.sqrt(20_000)
    assert_allclose(p.kl(p), 0.0, atol=1e-10)


def test_one_dimensional_matrices_are_the_gamma_families():
    x = np.array([0.4, 1.7])
    wishart, inverse = Wishart(5.0, 2.0), InverseWishart(5.0, 2.0)
    gamma, inverse_gamma = Gamma(2.5, 0.25), InverseGamma(2.5, 1.0)
    for matrix, plain in ((wishart, gamma), (inverse, inverse_gamma)):
        assert_allclose(matrix.log_prob(x[:, None, None]), plain.log_prob(x))
        assert_allclose(matrix.entropy(), plain.entropy())
        assert_allclose(np.squeeze(matrix.mean()), plain.mean())
        assert_allclose(np.squeeze(matrix.variance()), plain.variance())
        assert_allclose(np.squeeze(matrix.mode()), plain.mode())
    assert_allclose(wishart.kl(Wishart(3.0, 1.0)), gamma.kl(Gamma(1.5, 0.5)))
    assert_allclose(
        inverse.kl(InverseWishart(3.0, 1.0)), inverse_gamma.kl(InverseGamma(1.5, 0.5))
    )


def test_matrix_modes_are_not_beaten_nearby():
    rng = np.random.default_rng(4)
    for d in (Wishart(6.5, SCALE), InverseWishart(9.5, SCALE)):
        bumps = rng.normal(size=(50, 3, 3)) * 0.05
        rivals = d.mode() + bumps @ bumps.swapaxes(-1, -2) - 0.003 * np.eye(3)
        assert np.all(d.log_prob(d.mode()) > d.log_prob(rivals))
    assert np.isnan(Wishart(3.0, SCALE).mode()).all()
    assert np.isnan(InverseWishart(4.0, SCALE).mean()).all()


def test_expected_log_determinant_matches_draws():
    for d in (Wishart(6.5, SCALE), InverseWishart(9.5, SCALE)):
        logs = np.linalg.slogdet(d.sample(np.random.default_rng(5), 20_000))[1]
        assert abs(logs.mean() - d.mean_log_det()) < 5 * logs.std() / np.sqrt(20_000)


def test_matrix_batches_answer_row_by_row():
    d = Wishart([4.0, 6.0], np.stack([SCALE, SMALL]))
    x = d.sample(np.random.default_rng(6))
    for i in range(2):
        assert_allclose(d.log_prob(x)[i], d[i].log_prob(x[i]))
        assert_allclose(d.kl(Wishart(5.0, SCALE))[i], d[i].kl(Wishart(5.0, SCALE)))
        inverse = InverseWishart(d.df + 3, d.scale_matrix)
        assert_allclose(inverse.log_prob(x)[i], inverse[i].log_prob(x[i]))
        assert_allclose(inverse.mean()[i], inverse[i].mean())


def test_student_marginals_are_univariate_and_conditionals_complete_the_joint():
    d = MultivariateStudentT(5.5, LOC, SCALE)
    x = d.sample(np.random.default_rng(7), 4)
    first = StudentT(5.5, LOC[0], np.sqrt(SCALE[0, 0]))
    assert_allclose(d.marginal(0).log_prob(x[:, :1]), first.log_prob(x[:, 0]))
    rest = d.condition([0], x[:, :1])
    assert_allclose(d.marginal(0).log_prob(x[:, :1]) + rest.log_prob(x[:, 1:]), d.log_prob(x))
    assert_allclose(d.covariance(), 5.5 / 3.5 * SCALE)
    assert np.isinf(MultivariateStudentT(1.5, LOC, SCALE).variance()).all()
    assert np.isnan(MultivariateStudentT(0.9, LOC, SCALE).mean()).all()


def test_multinomial_reduces_to_binomial_and_sums_to_one():
    d = Multinomial(4, [0.3, 0.7])
    k = np.arange(5)
    pairs = np.column_stack([k, 4 - k])
    assert_allclose(d.prob(pairs), Binomial(4, 0.3).prob(k))
    triples = [t for t in itertools.product(range(6), repeat=3) if sum(t) == 5]
    three = Multinomial(5, [0.15, 0.55, 0.3])
    assert_allclose(three.prob(triples).sum(), 1.0)
    p = three.prob(triples)
    assert_allclose(three.entropy(), -np.sum(p * np.log(p)))
    assert_array_equal(three.mode(), triples[int(np.argmax(p))])
    assert_allclose(Multinomial(6, [1 / 6] * 6).prob([1] * 6), 0.0154320988, atol=5e-11)
    assert_array_equal(three.log_prob([[1, 1, 1], [2.5, 1.5, 1.0], [-1, 3, 3]]), -np.inf)


def test_multinomial_batches_draw_their_own_trials():
    d = Multinomial([3, 50], [[0.5, 0.5], [0.1, 0.9]])
    x = d.sample(np.random.default_rng(8), 7)
    assert_array_equal(x.sum(axis=-1), np.tile([3.0, 50.0], (7, 1)))
    assert_allclose(d.entropy()[1], d[1].entropy())
    assert_array_equal(d.mode(), [[2.0, 1.0], [5.0, 45.0]])


def test_dirichlet_of_two_is_the_beta_and_integrates_to_one():
    d, beta = Dirichlet([2.5, 4.0]), Beta(2.5, 4.0)
    x = np.array([0.2, 0.7])
    both = np.column_stack([x, 1 - x])
    assert_allclose(d.log_prob(both), beta.log_prob(x))
    assert_allclose(d.entropy(), beta.entropy())
    assert_allclose(d.mode()[0], beta.mode())
    assert_allclose(d.kl(Dirichlet([1.0, 2.0])), beta.kl(Beta(1.0, 2.0)))
    assert_allclose(integrate.quad(lambda v: d.prob([v, 1 - v]), 0, 1)[0], 1.0)
    assert d.log_prob([0.2, 0.7]) == -np.inf
    assert np.isnan(Dirichlet([0.5, 2.0]).mode()).all()
    logs = np.log(d.sample(np.random.default_rng(9), 20_000))
    assert_allclose(logs.mean(axis=0), d.mean_log(), atol=0.03)


def test_dirichlet_with_tiny_concentration_draws_vertices_not_nan():
    x = Dirichlet([1e-4, 1e-4, 1e-4]).sample(np.random.default_rng(0), 300)
    assert_allclose(x.sum(axis=-1), 1.0)
    assert_allclose(np.bincount(x.argmax(axis=-1)) / 300, 1 / 3, atol=0.12)


def test_categorical_speaks_in_labels():
    d = Categorical([[0.2, 0.5, 0.3], [0.7, 0.1, 0.2]], labels=["low", "mid", "high"])
    assert_array_equal(d.mode(), ["mid", "low"])
    assert_allclose(d.log_prob(["high", "low"]), np.log([0.3, 0.7]))
    assert_allclose(d.prob("none of these"), [0.0, 0.0])
    assert_allclose(d.entropy(), [stats.entropy(row) for row in d.probability])
    x = d.sample(np.random.default_rng(0), 20_000)
    assert_allclose((x == "low").mean(axis=0), [0.2, 0.7], atol=0.015)
    assert_array_equal(d[1].mode(), "low")
    assert len(d) == 2
    with pytest.raises(TypeError, match="labels that are numbers"):
        d.mean()
    with pytest.raises(TypeError, match="Pass labels, not positions"):
        d.log_prob(1)


def test_categorical_with_numbers_has_moments():
    die = Categorical([1 / 6] * 6, labels=range(1, 7))
    assert_allclose([die.mean(), die.variance()], [3.5, 35 / 12])
    assert_allclose(die.prob([6, 7]), [1 / 6, 0.0])
    assert_array_equal(Categorical([0.1, 0.9]).mode(), 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Categorical([0.5, 0.6]), "sums to 1 along its last axis; found 1.1"),
        (lambda: Categorical([0.5, 0.5], ["a", "a"]), "2 distinct values"),
        (lambda: Categorical([0.5, 0.5], ["a", 1]), "all text or all numbers"),
        (lambda: Categorical([-0.5, 1.5]), "non-negative; found -0.5 at index 0"),
        (lambda: Dirichlet([1.0, 0.0]), "positive; found 0 at index 1"),
        (lambda: Wishart(1.5, SCALE), "df must be above 2"),
        (lambda: Multinomial(-1, [1.0]), "n_trials must be a non-negative integer"),
        (lambda: Categorical([1, 0]).kl(Categorical([1, 0], ["a", "b"])), "equal labels"),
        (
            lambda: Mixture([0.5, 0.5], (Dirichlet([1, 1]), Dirichlet([1, 1, 1]))),
            "one event shape",
        ),
    ],
)
def test_bad_parameters_are_refused_with_reasons(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_mixture_of_vectors_sums_densities_and_refuses_quantiles():
    d, _ = PAIRS["normal mixture"]
    x = np.random.default_rng(10).normal(size=(4, 3))
    parts = [part.log_prob(x) for part in d.components]
    assert_allclose(d.log_prob(x), special.logsumexp(parts, axis=0, b=[[0.3], [0.7]]))
    assert_allclose(d.responsibility(x).sum(axis=-1), 1.0)
    assert_allclose(d.mode(), -LOC)
    with pytest.raises(TypeError, match="components of one number"):
        d.cdf(x)


def test_missing_label_among_numbers_has_an_unknown_probability():
    d = Categorical([0.2, 0.8], labels=[1.0, 2.0])
    assert_allclose(d.log_prob([1.0, np.nan, 7.0]), [np.log(0.2), np.nan, -np.inf])
    assert np.isnan(Categorical([0.2, 0.8]).log_prob(np.nan))
    assert Categorical([0.2, 0.8]).log_prob(np.inf) == -np.inf


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("df", [5.0, 1e6, 1e12, 1e15])
def test_multivariate_t_with_many_degrees_of_freedom_is_normal(dimension, df):
    loc, matrix = np.zeros(dimension), np.eye(dimension)
    t, n = MultivariateStudentT(df, loc, matrix), MultivariateNormal(loc, matrix)
    if df < 10:
        half, size = 0.5 * df, 0.5 * dimension
        growth = special.digamma(half + size) - special.digamma(half)
        assert_allclose(t.entropy() + t.log_prob(loc), (half + size) * growth, rtol=1e-12)
        return
    assert_allclose(t.entropy(), n.entropy(), atol=20.0 / df + 1e-13)
    assert_allclose(t.log_prob(loc + 0.7), n.log_prob(loc + 0.7), atol=20.0 / df + 1e-13)


@pytest.mark.parametrize(
    ("d", "impossible"),
    [
        (MultivariateNormal(LOC[:2], SCALE[:2, :2]), [[np.inf, 0.0], [-np.inf, np.inf]]),
        (MultivariateStudentT(3.0, LOC[:2], SCALE[:2, :2]), [[np.inf, np.inf], [0.0, -np.inf]]),
        (Dirichlet([2.0, 0.5]), [[np.inf, -np.inf], [-0.1, 1.1]]),
        (Multinomial(3, [0.5, 0.5]), [[np.inf, -np.inf], [4.0, -1.0]]),
        (Multinomial(0, [0.5, 0.5]), [[1.0, 0.0], [np.inf, 0.0]]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_infinite_and_impossible_vectors_have_no_density_and_unknown_ones_an_unknown(
    d, impossible
):
    assert_array_equal(d.log_prob(impossible), [-np.inf, -np.inf])
    assert np.isnan(d.log_prob([np.nan, 1.0]))


def test_entropy_of_an_inverse_gamma_with_a_large_shape_is_that_of_a_normal():
    d = InverseGamma([1e9, 1e12], [1e9, 1e12])
    assert_allclose(d.entropy(), 0.5 * np.log(2 * np.pi * np.e / d.shape), rtol=1e-9)
    assert_allclose(
        InverseGamma(60.0, 2.0).entropy(), stats.invgamma(60.0, scale=2.0).entropy()
    )

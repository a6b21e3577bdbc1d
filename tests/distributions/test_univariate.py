"""Laws of every distribution of one number, against scipy.stats and numerical integrals."""

import itertools
from dataclasses import fields
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from credo.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Empirical,
    Exponential,
    Gamma,
    InverseGamma,
    Laplace,
    Lomax,
    Mixture,
    NegativeBinomial,
    Normal,
    Poisson,
    Predictive,
    StudentT,
    Uniform,
    Univariate,
)


class Case(NamedTuple):
    """A distribution and what SciPy calls it; None where SciPy has no name for it."""

    ours: Univariate
    theirs: object


CASES = {
    "normal": Case(Normal(1.3, 0.7), stats.norm(1.3, 0.7)),
    "student": Case(StudentT(5.5, -1.0, 2.0), stats.t(5.5, -1.0, 2.0)),
    "student heavy": Case(StudentT(2.3, 0.0, 1.0), stats.t(2.3)),
    "laplace": Case(Laplace(0.4, 1.7), stats.laplace(0.4, 1.7)),
    "uniform": Case(Uniform(-1.0, 3.0), stats.uniform(-1.0, 4.0)),
    "gamma": Case(Gamma(3.2, 2.5), stats.gamma(3.2, scale=1 / 2.5)),
    "gamma singular": Case(Gamma(0.4, 2.5), stats.gamma(0.4, scale=1 / 2.5)),
    "inverse gamma": Case(InverseGamma(4.5, 2.0), stats.invgamma(4.5, scale=2.0)),
    "exponential": Case(Exponential(1.6), stats.expon(scale=1 / 1.6)),
    "beta": Case(Beta(2.5, 4.0), stats.beta(2.5, 4.0)),
    "beta singular": Case(Beta(0.6, 1.7), stats.beta(0.6, 1.7)),
    "bernoulli": Case(Bernoulli(0.3), stats.bernoulli(0.3)),
    "binomial": Case(Binomial(12, 0.35), stats.binom(12, 0.35)),
    "poisson": Case(Poisson(4.7), stats.poisson(4.7)),
    "mixture": Case(Mixture([0.3, 0.7], (Normal(-1.0, 0.3), Normal(2.0, 1.5))), None),
    "student mixture": Case(
        Mixture([0.6, 0.4], (StudentT(4.0, 0.0, 1.0), StudentT(9.0, 3.0, 0.5))), None
    ),
    "count mixture": Case(Mixture([0.5, 0.5], (Poisson(2.0), Binomial(20, 0.6))), None),
    "empirical": Case(
        Empirical([0.3, -1.2, 0.3, 2.2, 0.9], [0.1, 0.2, 0.25, 0.15, 0.3]),
        stats.rv_discrete(values=([0, 1, 2, 3], [0.2, 0.35, 0.3, 0.15])),
    ),
}
NAMED = [name for name, case in CASES.items() if case.theirs and name != "empirical"]
CONTINUOUS = [name for name, case in CASES.items() if not case.ours.is_discrete]
DISCRETE = [name for name, case in CASES.items() if case.ours.is_discrete]
LEVELS = np.array([1e-12, 1e-6, 0.01, 0.2, 0.5, 0.77, 0.99, 1 - 1e-9])
every = pytest.mark.parametrize("name", CASES)
named = pytest.mark.parametrize("name", NAMED)
continuous = pytest.mark.parametrize("name", CONTINUOUS)


def points(d):
    """Outcomes across the support, and some outside of it."""
    inside = d.quantile(LEVELS)
    return np.concatenate([inside, [d.quantile(1e-3) - 5.0, d.upper_quantile(1e-3) + 5.0]])


def integral(function, d, low=-np.inf, high=np.inf):
    """Integrate over the support, cut at many quantiles so that no peak is missed."""
    levels = np.exp(-np.array([60, 45, 36, 28, 20, 14, 9, 6, 4, 2.5, 1.5, 0.7]))
    edges = np.concatenate([d.quantile(levels), d.upper_quantile(levels[::-1])])
    if isinstance(d, Mixture):
        edges = np.concatenate([p.quantile(levels) for p in d.components] + [edges])
        edges = np.concatenate([p.upper_quantile(levels) for p in d.components] + [edges])
    edges = np.unique(np.clip(edges, low, high))
    pieces = [
        integrate.quad(function, a, b, epsabs=1e-13, epsrel=1e-11, limit=200)[0]
        for a, b in itertools.pairwise(edges)
        if b - a > 1e-13 * abs(a)
    ]
    return sum(pieces)


def outcomes(d):
    """All outcomes of a discrete distribution that matter."""
    if isinstance(d, Empirical):
        return np.unique(d.draws)
    return np.arange(0.0, 60.0)


@named
def test_log_prob_agrees_with_scipy(name):
    ours, theirs = CASES[name]
    x = points(ours)
    log_density = theirs.logpmf if ours.is_discrete else theirs.logpdf
    assert_allclose(ours.log_prob(x), log_density(x), rtol=1e-9, atol=1e-9)
    assert_allclose(ours.prob(x), np.exp(log_density(x)), rtol=1e-9, atol=1e-300)


@named
def test_cdf_and_survival_agree_with_scipy_in_both_tails(name):
    ours, theirs = CASES[name]
    x = points(ours)
    assert_allclose(ours.cdf(x), theirs.cdf(x), rtol=1e-9, atol=1e-300)
    assert_allclose(ours.survival(x), theirs.sf(x), rtol=1e-7, atol=1e-300)


@named
def test_quantiles_agree_with_scipy(name):
    ours, theirs = CASES[name]
    assert_allclose(ours.quantile(LEVELS), theirs.ppf(LEVELS), rtol=1e-8, atol=1e-12)
    assert_allclose(ours.upper_quantile(LEVELS), theirs.isf(LEVELS), rtol=1e-8, atol=1e-12)


@named
def test_moments_and_entropy_agree_with_scipy(name):
    ours, theirs = CASES[name]
    assert_allclose(ours.mean(), theirs.mean(), rtol=1e-12)
    assert_allclose(ours.variance(), theirs.var(), rtol=1e-10)
    assert_allclose(ours.std(), theirs.std(), rtol=1e-10)
    # SciPy sums or integrates some entropies numerically, to about nine digits.
    assert_allclose(ours.entropy(), theirs.entropy(), rtol=1e-8)


@continuous
def test_density_integrates_to_one(name):
    d = CASES[name].ours
    assert_allclose(integral(d.prob, d), 1.0, rtol=1e-8)


@pytest.mark.parametrize("name", DISCRETE)
def test_probabilities_sum_to_one(name):
    d = CASES[name].ours
    assert_allclose(d.prob(outcomes(d)).sum(), 1.0, rtol=1e-12)


@continuous
def test_cdf_inverts_quantile_even_at_extreme_levels(name):
    d = CASES[name].ours
    levels = np.append(LEVELS, 1e-30)
    low, high = d.support()
    # Next to an end other than zero or infinity the outcomes themselves run out of digits.
    lower = levels if low in (0, -np.inf) else LEVELS[1:]
    upper = levels if high == np.inf else LEVELS[2:]
    assert_allclose(d.cdf(d.quantile(lower)), lower, rtol=1e-8)
    assert_allclose(d.survival(d.upper_quantile(upper)), upper, rtol=1e-8)


@pytest.mark.parametrize("name", DISCRETE)
def test_quantile_is_the_first_outcome_that_reaches_the_level(name):
    d = CASES[name].ours
    levels = np.append(LEVELS, d.cdf(outcomes(d)[:4]))
    q = d.quantile(levels)
    assert np.all(d.cdf(q) >= levels - 1e-12)
    assert np.all(d.cdf(q - 1e-9) < levels)


@every
def test_quantiles_of_zero_and_one_are_the_support(name):
    d = CASES[name].ours
    low, high = d.support()
    assert_allclose(d.quantile([0.0, 1.0]), [low, high])
    assert np.isnan(d.quantile(1.5))


@every
def test_nan_in_gives_nan_out(name):
    d = CASES[name].ours
    assert np.isnan(d.log_prob(np.nan))
    assert np.isnan(d.cdf(np.nan))
    assert np.isnan(d.quantile(np.nan))


@every
def test_interval_holds_its_coverage(name):
    d = CASES[name].ours
    low, high = d.interval(0.8)
    if d.is_discrete:
        assert d.cdf(high) - d.cdf(low - 1e-9) >= 0.8 - 1e-12
    else:
        assert_allclose(d.cdf([low, high]), [0.1, 0.9], rtol=1e-9)


@every
def test_draws_have_the_right_mean_variance_and_distribution(name):
    d = CASES[name].ours
    n = 20_000
    x = d.sample(np.random.default_rng(0), n)
    assert x.shape == (n,)
    assert abs(x.mean() - d.mean()) < 5 * d.std() / np.sqrt(n)
    # Kolmogorov distance; below 1.95 / sqrt(n) with probability 0.999.
    levels = np.linspace(0.05, 0.95, 19)
    q = d.quantile(levels)
    gap = np.abs((x[:, None] <= q).mean(axis=0) - d.cdf(q))
    assert gap.max() < 1.95 / np.sqrt(n)


@every
def test_entropy_is_the_mean_of_minus_log_prob(name):
    d = CASES[name].ours
    if d.is_discrete:
        p = d.prob(outcomes(d))
        expected = -np.sum(p[p > 0] * np.log(p[p > 0]))
    else:
        expected = integral(lambda x: -d.prob(x) * d.log_prob(x), d)
    assert_allclose(d.entropy(), expected, rtol=1e-6, atol=1e-8)


@every
@pytest.mark.parametrize("level", [0.02, 0.4, 0.9])
def test_crps_is_the_integral_of_the_squared_cdf_gap(name, level):
    d = CASES[name].ours
    y = float(d.quantile(level)) + 0.1
    if d.is_discrete:
        grid = np.unique(np.append(outcomes(d), y))
        below = d.cdf(grid[:-1])
        squares = np.where(grid[:-1] < y, below**2, d.survival(grid[:-1]) ** 2)
        expected = np.sum(np.diff(grid) * squares)
    else:
        left = integral(lambda x: d.cdf(x) ** 2, d, high=y)
        expected = left + integral(lambda x: d.survival(x) ** 2, d, low=y)
    assert_allclose(d.crps(y), expected, rtol=1e-6)


@every
def test_crps_outside_the_support_adds_the_distance(name):
    d = CASES[name].ours
    low, high = d.support()
    if np.isfinite(low):
        assert_allclose(d.crps(low - 3.0), d.crps(low) + 3.0, rtol=1e-12)
    if np.isfinite(high):
        assert_allclose(d.crps(high + 3.0), d.crps(high) + 3.0, rtol=1e-12)


@every
def test_mode_is_not_beaten_by_any_outcome(name):
    d = CASES[name].ours
    mode = d.mode()
    if np.isnan(mode):
        assert name == "uniform"
        return
    rivals = outcomes(d) if d.is_discrete else d.quantile(np.linspace(1e-3, 1 - 1e-3, 4001))
    assert np.all(d.log_prob(mode) >= d.log_prob(rivals) - 1e-9)


DIVERGENCES = {
    "normal": (Normal(0.0, 1.0), Normal(1.0, 2.0)),
    "gamma": (Gamma(3.2, 2.5), Gamma(1.1, 0.7)),
    "inverse gamma": (InverseGamma(4.5, 2.0), InverseGamma(2.2, 1.0)),
    "exponential": (Exponential(1.6), Exponential(0.4)),
    "beta": (Beta(2.5, 4.0), Beta(1.2, 0.8)),
    "laplace": (Laplace(0.4, 1.7), Laplace(-1.0, 0.9)),
    "uniform": (Uniform(0.0, 1.0), Uniform(-1.0, 3.0)),
    "bernoulli": (Bernoulli(0.3), Bernoulli(0.6)),
    "binomial": (Binomial(12, 0.35), Binomial(12, 0.6)),
    "poisson": (Poisson(4.7), Poisson(2.2)),
}


@pytest.mark.parametrize("pair", DIVERGENCES.values(), ids=DIVERGENCES.keys())
def test_kl_is_the_mean_log_ratio_and_zero_only_for_equals(pair):
    p, q = pair
    if p.is_discrete:
        x = outcomes(p)[p.prob(outcomes(p)) > 0]
        expected = np.sum(p.prob(x) * (p.log_prob(x) - q.log_prob(x)))
    else:
        expected = integral(lambda x: p.prob(x) * (p.log_prob(x) - q.log_prob(x)), p)
    assert_allclose(p.kl(q), expected, rtol=1e-7)
    assert_allclose(p.kl(p), 0.0, atol=1e-12)


def test_kl_reproduces_hand_calculations():
    assert_allclose(Bernoulli(0.3).kl(Bernoulli(0.5)), 0.0822828785, atol=5e-11)
    assert_allclose(Bernoulli(0.5).kl(Bernoulli(0.3)), 0.0871766936, atol=5e-11)
    assert_allclose(Normal(0, 1).kl(Normal(1, 2)), 0.4431471806, atol=5e-11)
    assert_allclose(Normal(1, 2).kl(Normal(0, 1)), 1.3068528194, atol=5e-11)


def test_kl_is_infinite_where_the_other_rules_out_what_is_possible():
    assert Uniform(-1.0, 1.0).kl(Uniform(0.0, 1.0)) == np.inf
    assert Bernoulli(0.5).kl(Bernoulli(1.0)) == np.inf
    assert Bernoulli(1.0).kl(Bernoulli(0.25)) == -np.log(0.25)


def test_kl_of_different_families_is_refused():
    with pytest.raises(TypeError, match="one family; found Normal and Laplace"):
        Normal(0, 1).kl(Laplace(0, 1))
    with pytest.raises(TypeError, match="no closed form"):
        StudentT(3, 0, 1).kl(StudentT(4, 0, 1))
    with pytest.raises(TypeError, match="equal n_trials"):
        Binomial(3, 0.5).kl(Binomial(4, 0.5))


BATCHES = [
    Normal(np.arange(6.0).reshape(2, 3), [1.0, 2.0, 3.0]),
    StudentT(3.5, np.arange(3.0), 2.0),
    Laplace([0.0, 1.0], 2.0),
    Uniform([0.0, 1.0], 4.0),
    Gamma([1.0, 2.5], [[1.0], [3.0]]),
    InverseGamma([3.0, 2.5], 1.0),
    Exponential([1.0, 2.0, 3.0]),
    Beta([1.5, 2.5], 3.0),
    Bernoulli([0.1, 0.5, 0.9]),
    Binomial([3, 10], 0.4),
    Poisson([0.5, 30.0]),
    Mixture([[0.2, 0.8], [0.9, 0.1]], (Normal([0.0, 5.0], 1.0), Normal(1.0, 2.0))),
    Mixture([0.5, 0.5], (Poisson([1.0, 9.0]), Poisson(3.0))),
    Empirical(np.random.default_rng(0).normal(size=(7, 2, 3)).round(1)),
]


@pytest.mark.parametrize("batch", BATCHES, ids=lambda d: type(d).__name__)
def test_every_answer_for_a_batch_is_that_of_its_entries(batch):
    x = 0.7 + np.zeros(batch.batch_shape)
    for name in ("log_prob", "cdf", "survival", "crps", "expected_distance"):
        whole = getattr(batch, name)(x)
        for index in np.ndindex(batch.batch_shape):
            assert_allclose(whole[index], getattr(batch[index], name)(0.7), rtol=1e-10)
    for name in ("mean", "variance", "std", "mode", "entropy", "interval", "mean_difference"):
        whole = getattr(batch, name)()
        assert whole.shape[: len(batch.batch_shape)] == batch.batch_shape
        for index in np.ndindex(batch.batch_shape):
            assert_allclose(whole[index], getattr(batch[index], name)(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("batch", BATCHES, ids=lambda d: type(d).__name__)
def test_levels_broadcast_against_the_batch(batch):
    levels = np.array([0.1, 0.6]).reshape(-1, *[1] * len(batch.batch_shape))
    whole = batch.quantile(levels)
    assert whole.shape == (2, *batch.batch_shape)
    for index in np.ndindex(batch.batch_shape):
        each = batch[index].quantile([0.1, 0.6])
        assert_allclose(whole[(slice(None), *index)], each, rtol=1e-10)


@pytest.mark.parametrize("batch", BATCHES, ids=lambda d: type(d).__name__)
def test_draws_of_a_batch_have_its_shape_and_its_means(batch):
    rng = np.random.default_rng(1)
    assert batch.sample(rng).shape == batch.batch_shape
    x = batch.sample(rng, 4000)
    assert x.shape == (4000, *batch.batch_shape)
    assert np.all(np.abs(x.mean(axis=0) - batch.mean()) < 5 * batch.std() / np.sqrt(4000))


def test_indexing_slices_masks_and_counts_rows():
    batch = Normal(np.arange(6.0).reshape(2, 3), 1.0)
    assert len(batch) == 2
    assert_allclose(batch[1].loc, [3.0, 4.0, 5.0])
    assert_allclose(batch[..., 0].loc, [0.0, 3.0])
    assert_allclose(batch[:, 1:].mean(), [[1.0, 2.0], [4.0, 5.0]])
    assert_allclose(batch[np.array([True, False])].scale, np.ones((1, 3)))
    assert [float(d.mean()[0]) for d in batch] == [0.0, 3.0]
    with pytest.raises(TypeError, match="needs a batch"):
        len(Normal(0.0, 1.0))
    assert Normal(0.0, 1.0)


def test_distributions_are_immutable():
    d = Normal(0.0, 1.0)
    with pytest.raises(AttributeError):
        d.loc = 2.0
    assert [f.name for f in fields(d)] == ["loc", "scale"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Normal(0, [1, -0.3]), r"scale must be positive; found -0.3 at index 1. Pass"),
        (lambda: Normal(np.nan, 1), "loc must be finite; found nan"),
        (lambda: StudentT(0.0, 0, 1), "df must be positive; found 0"),
        (lambda: Gamma(1, np.inf), "rate must be positive; found inf"),
        (lambda: Beta([[1.0, -2.0]], 1), r"a must be positive; found -2 at index \(0, 1\)"),
        (lambda: Bernoulli(1.2), r"probability must be in \[0, 1\]; found 1.2"),
        (lambda: Binomial(2.5, 0.5), "n_trials must be a non-negative integer; found 2.5"),
        (lambda: Poisson(-1.0), "rate must be non-negative; found -1"),
        (lambda: Uniform([0, 2], 1), "high must be above low"),
        (lambda: Mixture([0.5, 0.6], (Normal(0, 1), Normal(1, 1))), "sums to 1"),
        (lambda: Mixture([1.0], (Normal(0, 1), Normal(1, 1))), "1 weights and 2 components"),
        (lambda: Mixture([0.5, 0.5], (Normal(0, 1), Poisson(1))), "all discrete or all contin"),
        (lambda: Empirical([]), "at least one draw"),
        (lambda: Empirical([1.0, 2.0], [1.0]), r"weights must have shape \(2,\)"),
        (lambda: Normal([0, 1, 2], [1, 1]), r"broadcast to one batch shape; found loc \(3,\)"),
    ],
)
def test_bad_parameters_are_named_with_value_place_and_advice(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_moments_that_do_not_exist_are_infinite_or_nan():
    t = StudentT([0.8, 1.5, 2.0, 2.5], 3.0, 1.0)
    assert_allclose(t.mean(), [np.nan, 3.0, 3.0, 3.0])
    assert_allclose(t.variance(), [np.nan, np.inf, np.inf, 5.0])
    assert np.isnan(t.crps(0.0)[0])
    g = InverseGamma([0.5, 1.5, 3.0], 2.0)
    assert_allclose(g.mean(), [np.inf, 4.0, 1.0])
    assert_allclose(g.variance(), [np.nan, np.inf, 1.0])
    assert np.isnan(Beta(1.0, 1.0).mode())
    assert_allclose(Beta([0.5, 3.0, 1.0, 3.0], [2.0, 0.5, 0.5, 2.0]).mode(), [0, 1, 1, 2 / 3])


def test_crps_keeps_its_digits_far_from_zero():
    near, far = Normal(0.0, 1.0).crps(0.5), Normal(1e8, 1.0).crps(1e8 + 0.5)
    assert_allclose(far, near, rtol=1e-12)


class Triangle(Univariate):
    """A user's own density ``2 x`` on (0, 1), which supplies only what it must."""

    def log_prob(self, x):
        x = np.asarray(x, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where((x < 0) | (x > 1), -np.inf, np.log(2 * x))

    def cdf(self, x):
        return np.clip(x, 0.0, 1.0) ** 2

    def quantile(self, p):
        return np.sqrt(np.asarray(p, dtype=float))

    def mean(self):
        return np.asarray(2 / 3)

    def variance(self):
        return np.asarray(1 / 18)

    def mode(self):
        return np.asarray(1.0)


def test_a_family_that_supplies_only_quantiles_gets_scores_entropy_and_draws():
    d = Triangle()
    left, right = 0.6**5 / 5, integrate.quad(lambda x: (1 - x * x) ** 2, 0.6, 1)[0]
    assert_allclose(d.crps(0.6), left + right, rtol=1e-6)
    assert_allclose(d.mean_difference(), 4 / 15, rtol=1e-8)
    assert_allclose(d.entropy(), 0.5 - np.log(2), rtol=1e-6)
    assert abs(d.sample(np.random.default_rng(0), 10_000).mean() - 2 / 3) < 0.012


EDGES = {
    **{name: case.ours for name, case in CASES.items()},
    "gamma two": Gamma(2.0, 3.0),
    "inverse gamma heavy": InverseGamma(0.001, 3.0),
    "cauchy": StudentT(1.0, 0.0, 1.0),
    "negative binomial": NegativeBinomial(2.0, 0.3),
    "lomax": Lomax(0.8, 2.0),
    "no trials": Binomial(0, 0.3),
    "never": Binomial(5, 0.0),
    "always": Binomial(5, 1.0),
    "certain": NegativeBinomial(2.0, 1.0),
    "no events": Poisson(0.0),
    "impossible": Bernoulli(0.0),
    "tiny scale": Normal(0.0, 1e-300),
    "huge scale": Laplace(0.0, 1e300),
    "tiny t": StudentT(3.0, 0.0, 1e-300),
    "beta arcsine": Beta(0.5, 0.5),
    "predictive": Predictive(Normal(0.0, 1.0), 0.6, 0.8),
}


@pytest.mark.parametrize("name", EDGES)
def test_nothing_is_possible_beyond_the_support_and_at_infinity(name):
    d = EDGES[name]
    low, high = d.support()
    for x in (-np.inf, np.nextafter(low, -np.inf)):
        assert (d.log_prob(x), d.cdf(x), d.survival(x)) == (-np.inf, 0.0, 1.0)
    for x in (np.inf, np.nextafter(high, np.inf)):
        assert (d.log_prob(x), d.cdf(x), d.survival(x)) == (-np.inf, 1.0, 0.0)
    assert (d.cdf(high), d.survival(high)) == (1.0, 0.0)
    assert not np.isnan(d.log_prob([low, high])).any()


@pytest.mark.parametrize("name", EDGES)
def test_levels_outside_of_zero_and_one_have_no_quantile(name):
    d = EDGES[name]
    bad = np.array([-0.1, 1.1, np.nan, -np.inf, np.inf])
    assert np.isnan(d.quantile(bad)).all()
    assert np.isnan(d.upper_quantile(bad)).all()


@pytest.mark.parametrize("name", EDGES)
def test_an_infinite_outcome_scores_infinitely_badly_if_there_is_a_score(name):
    d = EDGES[name]
    score = d.crps(0.0)
    expected = np.nan if np.isnan(score) else np.inf
    assert_allclose(d.crps([np.inf, -np.inf]), [expected, expected])


@pytest.mark.parametrize("df", [1e4, 1e6, 1e9, 1e12, 1e15, 1e100])
def test_student_t_with_many_degrees_of_freedom_is_normal_to_first_order(df):
    t, n = StudentT(df, 2.0, 0.5), Normal(2.0, 0.5)
    slack = 30.0 / df
    assert_allclose(t.entropy() - n.entropy(), 1.0 / df, rtol=1e-3, atol=1e-14)
    x = np.array([0.0, 1.3, 2.0, 2.7, 4.5])
    assert_allclose(t.log_prob(x), n.log_prob(x), rtol=1e-13, atol=10 * slack)
    assert_allclose(t.cdf(x), n.cdf(x), rtol=1e-12 + 10 * slack)
    assert_allclose(t.quantile(LEVELS), n.quantile(LEVELS), rtol=1e-12, atol=10 * slack)
    assert_allclose(t.crps(x), n.crps(x), rtol=1e-13, atol=slack)
    assert_allclose(t.variance(), n.variance(), rtol=1e-14 + slack)
    assert_allclose(t.mean_difference(), n.mean_difference(), rtol=1e-13 + slack)


@pytest.mark.parametrize("df", [90.0, 99.999, 100.0, 100.001, 130.0])
def test_student_t_formulas_for_few_and_many_degrees_of_freedom_agree(df):
    t, theirs = StudentT(df, 0.0, 1.0), stats.t(df)
    assert_allclose(t.entropy(), theirs.entropy(), rtol=1e-12)
    assert_allclose(t.log_prob(1.7), theirs.logpdf(1.7), rtol=1e-12)


def test_entropy_of_a_gamma_with_a_large_shape_is_that_of_a_normal():
    shape = np.array([1e6, 1e9, 1e12, 1e15])
    d = Gamma(shape, 2.0)
    expected = Normal(0.0, np.sqrt(shape) / 2.0).entropy() - 1.0 / (3.0 * shape)
    assert_allclose(d.entropy(), expected, rtol=1e-13)
    near = np.array([49.9, 50.0, 50.1])
    assert_allclose(Gamma(near, 1.0).entropy(), stats.gamma(near).entropy(), rtol=1e-12)


@pytest.mark.parametrize("size", [1e-300, 1e300])
@pytest.mark.parametrize(
    "family",
    [
        lambda s: Normal(0.0, s),
        lambda s: Laplace(0.0, s),
        lambda s: StudentT(5.0, 0.0, s),
        lambda s: Uniform(0.0, s),
        lambda s: Gamma(3.0, 1.0 / s),
        lambda s: Exponential(1.0 / s),
    ],
)
def test_extreme_units_keep_their_standard_deviation_and_score(family, size):
    extreme, plain = family(size), family(1.0)
    assert_allclose(extreme.std() / size, plain.std(), rtol=1e-12)
    assert extreme.variance() in (0.0, np.inf)
    assert_allclose(extreme.interval(0.9) / size, plain.interval(0.9), rtol=1e-9)
    assert_allclose(extreme.crps(0.3 * size) / size, plain.crps(0.3), rtol=1e-9)
    shift = extreme.log_prob(0.3 * size) - plain.log_prob(0.3)
    assert_allclose(shift, -np.log(size), rtol=1e-12)


def test_far_tail_of_student_t_is_a_power_even_where_squares_overflow():
    t = StudentT(3.0, 0.0, 1.0)
    rise = t.log_prob(1e200) - t.log_prob(1e90)
    assert_allclose(rise, -4.0 * np.log(1e110), rtol=1e-12)
    assert Normal(0.0, 1e-200).log_prob(1.0) == -np.inf
    assert t.quantile(1e-310) < 0 < t.upper_quantile(1e-310)


def test_batches_of_length_zero_give_answers_of_length_zero():
    empty = np.empty(0)
    batches = [
        Normal(empty, 1.0),
        StudentT(3.0, empty, 1.0),
        Gamma(empty, 1.0),
        Beta(empty, 2.0),
        Poisson(empty),
        Binomial(3, empty),
        Mixture([0.5, 0.5], (Normal(empty, 1.0), Normal(0.0, 2.0))),
        Empirical(np.empty((4, 0))),
    ]
    for d in batches:
        for name in ("mean", "variance", "std", "mode", "entropy", "mean_difference"):
            assert getattr(d, name)().shape == (0,), (d, name)
        for name in ("log_prob", "cdf", "survival", "quantile", "crps"):
            assert getattr(d, name)(0.5).shape == (0,), (d, name)
        assert d.interval(0.9).shape == (0, 2)
        assert d.sample(np.random.default_rng(0), 3).shape == (3, 0)


@every
def test_whole_numbers_and_booleans_are_outcomes_like_any_other(name):
    d = CASES[name].ours
    assert_allclose(d.log_prob(True), d.log_prob(1.0))
    assert_allclose(d.cdf(np.array([0, 1], dtype=np.int8)), d.cdf([0.0, 1.0]))
    assert_allclose(d.crps(np.array([False, True])), d.crps([0.0, 1.0]))


def test_uniform_wider_than_the_floats_is_refused():
    with pytest.raises(ValueError, match="high - low must be a finite number"):
        Uniform(-1.7e308, 1.7e308)


def test_density_without_a_peak_has_no_mode_and_ties_of_counts_give_the_smallest():
    assert np.isnan(Uniform(0.0, 1.0).mode())
    assert np.isnan(Beta([1.0, 0.5], [1.0, 0.5]).mode()).all()
    assert Poisson(3.0).mode() == 2.0
    assert Binomial(3, 0.5).mode() == 1.0
    assert Bernoulli(0.5).mode() == 0.0
    assert NegativeBinomial(3.0, 0.5).mode() == 1.0
    assert Empirical([3.0, 1.0]).mode() == 1.0


def test_many_numbers_are_shown_by_their_shape():
    assert repr(Normal(0.0, 2.0)) == "Normal(loc=0., scale=2.)"
    assert repr(Normal(np.zeros(200), 2.0)) == "Normal(loc=<200 numbers>, scale=2.)"


def test_a_seed_in_place_of_a_generator_is_refused_with_what_to_write():
    with pytest.raises(TypeError, match="default_rng"):
        Normal(0.0, 1.0).sample(5)

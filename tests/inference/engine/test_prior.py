"""Empirical and objective priors against grids, closed forms and two-level quadrature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from credo.distributions import Uniform
from credo.families import (
    BernoulliStatistics,
    BetaBernoulli,
    CategoricalStatistics,
    ExponentialStatistics,
    GammaPoisson,
    NormalStatistics,
    PoissonStatistics,
)
from credo.inference import (
    BatchedDensity,
    ImproperPosterior,
    ObjectivePrior,
    Parameters,
    ProposalProblem,
    SequentialMonteCarlo,
    empirical_prior,
    run,
)
from credo.numerics.array import Array
from credo.numerics.special.bijection import Interval, positive

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SCALES = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
HEADS = np.array([12.0, 15.0, 9.0, 17.0, 13.0, 11.0, 16.0, 14.0, 8.0, 18.0])


def test_prior_of_coins_is_the_maximum_of_a_grid_of_evidences() -> None:
    coins = BernoulliStatistics(HEADS, 20.0 - HEADS)
    found = empirical_prior(
        BetaBernoulli, Parameters({"a": positive(), "b": positive()}), coins
    )

    def log_evidence(a: float, b: float) -> float:
        return float((special.betaln(a + HEADS, b + 20 - HEADS) - special.betaln(a, b)).sum())

    a, b = float(found.belief.a), float(found.belief.b)
    assert found.log_evidence == pytest.approx(log_evidence(a, b), abs=1e-9)
    grid = [log_evidence(a * s, b * r) for s in np.geomspace(0.5, 2, 41) for r in (0.9, 1, 1.1)]
    assert max(grid) <= found.log_evidence + 1e-9
    for change in ((1.02, 1.0), (1.0, 1.02), (0.98, 1.0), (1.0, 0.98)):
        assert log_evidence(a * change[0], b * change[1]) < found.log_evidence
    assert not found.is_limit


def test_prior_of_rates_is_the_negative_binomial_fit() -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(5.0, 1 / 2.0, size=300)).astype(float)
    each = PoissonStatistics(np.ones(300), counts, special.gammaln(counts + 1))
    found = empirical_prior(
        GammaPoisson, Parameters({"shape": positive(), "rate": positive()}), each
    )
    shape, rate = float(found.belief.shape), float(found.belief.rate)
    # At the maximum the mean of the fitted distribution is that of the counts.
    assert shape / rate == pytest.approx(counts.mean(), rel=1e-4)
    law = stats.nbinom(shape, rate / (1 + rate))
    assert found.log_evidence == pytest.approx(law.logpmf(counts).sum(), abs=1e-7)
    assert 3.0 < shape < 8.0


def test_coins_that_are_all_alike_lead_to_ever_more_certainty() -> None:
    coins = BernoulliStatistics(np.full(5, 10.0), np.full(5, 10.0))
    found = empirical_prior(
        BetaBernoulli, Parameters({"a": positive(), "b": positive()}), coins
    )
    assert found.is_limit


def test_prior_of_jeffreys_is_a_half_and_the_same_in_other_units() -> None:
    flips = BernoulliStatistics.of([[1], [1], [0], [1]])
    belief = ObjectivePrior("bernoulli").update(flips)
    assert (float(belief.a[0]), float(belief.b[0])) == (3.5, 1.5)
    assert ObjectivePrior("bernoulli").is_proper
    # The root of the Fisher information n / (p (1 - p)) is Beta(1/2, 1/2).
    p = np.array([0.1, 0.3, 0.8])
    information = np.sqrt(1 / (p * (1 - p)))
    assert_allclose(
        information / information[0],
        stats.beta(0.5, 0.5).pdf(p) / stats.beta(0.5, 0.5).pdf(0.1),
    )
    states = CategoricalStatistics.of([[0], [2], [2]], n_states=3)
    assert_allclose(
        ObjectivePrior("categorical").update(states).concentration, [[1.5, 0.5, 2.5]]
    )
    uniform = ObjectivePrior("bernoulli", "uniform").update(flips)
    assert (float(uniform.a[0]), float(uniform.b[0])) == (4.0, 2.0)


def test_improper_priors_give_the_posteriors_of_the_textbook() -> None:
    counts = PoissonStatistics.of([[3], [5], [0]])
    belief = ObjectivePrior("poisson").update(counts)
    assert (float(belief.shape[0]), float(belief.rate[0])) == (8.5, 3.0)
    waits = ExponentialStatistics.of([[0.5], [1.5]])
    belief = ObjectivePrior("exponential").update(waits)
    assert (float(belief.shape[0]), float(belief.rate[0])) == (2.0, 2.0)
    x = np.array([1.0, 2.0, 4.0, 7.0])
    belief = ObjectivePrior("normal").update(NormalStatistics.of(x[:, None]))
    mean = belief.marginal_mean()
    # The t interval of every first course: n - 1 degrees, s / sqrt(n).
    assert_allclose(mean.df, 3.0)
    assert_allclose(mean.loc, x.mean())
    assert_allclose(mean.scale, x.std(ddof=1) / 2)
    low, high = stats.t(3, x.mean(), x.std(ddof=1) / 2).interval(0.9)
    assert_allclose(mean.quantile([0.05, 0.95]), [low, high])
    for family in ("poisson", "exponential", "normal"):
        assert not ObjectivePrior(family).is_proper


def test_a_flat_prior_of_mean_and_variance_integrates_as_it_should() -> None:
    x = np.array([0.0, 1.0, 3.0, 4.0, 4.5])
    belief = ObjectivePrior("normal", "uniform").update(NormalStatistics.of(x[:, None]))

    def joint(v: float, m: float) -> float:
        return float(np.prod(stats.norm(m, np.sqrt(v)).pdf(x)))

    variance = np.array([1.0, 4.0])
    ratio = [integrate.quad(lambda m, v=v: joint(v, m), -20, 25)[0] for v in variance]
    law = belief.marginal_variance()
    assert_allclose(ratio[1] / ratio[0], np.exp(np.diff(np.ravel(law.log_prob(variance))))[0])


@pytest.mark.parametrize(
    ("family", "rule", "statistics"),
    [
        ("bernoulli", "haldane", BernoulliStatistics.of([[1], [1]])),
        ("exponential", "jeffreys", ExponentialStatistics.of(np.empty((0, 1)))),
        ("poisson", "jeffreys", PoissonStatistics.of(np.empty((0, 1)))),
        ("normal", "jeffreys", NormalStatistics.of([[3.0]])),
        ("normal", "uniform", NormalStatistics.of([[3.0], [4.0], [5.0]])),
    ],
)
def test_too_few_data_under_an_improper_prior_are_refused(
    family: str, rule: str, statistics: object
) -> None:
    with pytest.raises(ImproperPosterior, match="would be"):
        ObjectivePrior(family, rule).update(statistics)


def test_a_rule_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="jeffreys of bernoulli"):
        ObjectivePrior("gamma")


def _two_level_normal() -> ProposalProblem:
    """Return eight schools: their effects are integrated, mean and spread are left."""

    def log_density(values: dict[str, Array]) -> Array:
        mean, spread = values["mean"][:, None], values["spread"][:, None]
        return np.asarray(
            stats.norm(mean, np.sqrt(SCALES**2 + spread**2)).logpdf(EFFECTS).sum(axis=1)
        )

    support = Parameters({"mean": Interval(-60.0, 80.0), "spread": Interval(0.0, 60.0)})
    proposal = {"mean": Uniform(-60.0, 80.0), "spread": Uniform(0.0, 60.0)}
    return ProposalProblem(BatchedDensity(support, log_density), proposal)


def test_two_levels_of_normals_have_the_moments_of_quadrature() -> None:
    problem = _two_level_normal()
    found = run(SequentialMonteCarlo(1500), problem, np.random.default_rng(0))
    mean, spread = np.meshgrid(np.linspace(-60, 80, 701), np.linspace(1e-3, 60, 601))
    log_joint = np.zeros_like(mean)
    for y, s in zip(EFFECTS, SCALES, strict=True):
        log_joint += stats.norm(mean, np.sqrt(s**2 + spread**2)).logpdf(y)
    weight = np.exp(log_joint) / np.exp(log_joint).sum()
    draws = found.posterior
    assert draws.mean("mean") == pytest.approx((weight * mean).sum(), abs=0.6)
    assert draws.mean("spread") == pytest.approx((weight * spread).sum(), abs=0.6)
    assert 5.0 < (weight * spread).sum() < 9.0
    # Densities of one over the box, which has the area 140 times 60.
    evidence = 8400 * np.exp(log_joint).mean()
    assert found.log_evidence == pytest.approx(np.log(evidence), abs=5 * found.error)


def test_two_levels_of_coins_shrink_towards_each_other() -> None:
    """Mean and strength of a beta prior of ten coins, against a grid."""
    heads, n = HEADS, 20.0

    def log_density(values: dict[str, Array]) -> Array:
        mean, size = values["mean"][:, None], np.exp(values["log_size"][:, None])
        a, b = mean * size, (1 - mean) * size
        return np.asarray(
            (special.betaln(a + heads, b + n - heads) - special.betaln(a, b)).sum(axis=1)
        )

    support = Parameters({"mean": Interval(0.0, 1.0), "log_size": Interval(0.0, 8.0)})
    proposal = {"mean": Uniform(0.0, 1.0), "log_size": Uniform(0.0, 8.0)}
    problem = ProposalProblem(BatchedDensity(support, log_density), proposal)
    draws = run(SequentialMonteCarlo(1500), problem, np.random.default_rng(0)).posterior
    grid = np.meshgrid((np.arange(300) + 0.5) / 300, 8 * (np.arange(300) + 0.5) / 300)
    logs = log_density({"mean": grid[0].ravel(), "log_size": grid[1].ravel()})
    weight = special.softmax(logs)
    assert draws.mean("mean") == pytest.approx(float(weight @ grid[0].ravel()), abs=0.01)
    assert draws.mean("log_size") == pytest.approx(float(weight @ grid[1].ravel()), abs=0.2)
    size, center = np.exp(draws.pooled("log_size")), draws.pooled("mean")
    shrunk = [float(((center * size + k) / (size + n)).mean()) for k in (8.0, 18.0)]
    assert 0.4 < shrunk[0] < 0.6 < shrunk[1] < 0.9

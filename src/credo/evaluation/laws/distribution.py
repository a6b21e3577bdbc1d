"""Laws of probability distributions: what they say about themselves must agree.

Draws, points and integrals of the distribution under test are found once for all laws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator

from credo.evaluation.laws.broken import NotApplicable, expect, expect_close, run
from credo.numerics.array import Array

__all__ = [
    "LEVELS",
    "N_DRAWS",
    "Subject",
    "check_distribution",
]


N_DRAWS = 20_000
LEVELS = np.array([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])
TAIL = 1e-12


@dataclass(frozen=True)
class Subject:
    """A distribution under test, and draws from it."""

    it: Any
    rng: Generator
    other: Any | None

    @cached_property
    def draws(self) -> Any:
        """Draws along the first axis."""
        return self.it.sample(self.rng, N_DRAWS)

    @property
    def is_numeric(self) -> bool:
        """Whether outcomes are numbers, or vectors of them."""
        return bool(np.issubdtype(self.draws.dtype, np.number))

    def require_steps_of_one(self) -> None:
        """Leave the law out if outcomes are discrete, but not whole numbers."""
        if self.it.is_discrete and not np.array_equal(self.draws, np.floor(self.draws)):
            raise NotApplicable

    @cached_property
    def points(self) -> Array:
        """Outcomes at several levels, shape (n_levels, *batch)."""
        self.require("quantile")
        return np.asarray(self.it.quantile(self.spread(LEVELS)))

    def spread(self, values: Array) -> Array:
        """Return values along a new first axis, ready to broadcast over the batch."""
        return values.reshape(-1, *(1,) * len(self.it.batch_shape))

    def require(self, *names: str) -> None:
        """Leave the law out unless the distribution has these methods."""
        try:
            ready = all(hasattr(self.it, name) for name in names)
            if ready and "quantile" in names:
                self.it.quantile(0.5)
        except (TypeError, NotImplementedError, AttributeError):
            ready = False
        if not ready or not self.is_numeric:
            raise NotApplicable

    def integral(self, f: Callable[[Array], Array], cuts: Array | None = None) -> Array:
        """Return the sum or integral of ``f`` over (nearly) all outcomes, for the batch."""
        self.require_steps_of_one()
        low, high = self.it.quantile(TAIL), self.it.upper_quantile(TAIL)
        if self.it.is_discrete:
            n = int(np.max(high - low)) + 1
            x = low + self.spread(np.arange(n, dtype=np.float64))
            return np.asarray(np.where(x <= high, f(x), 0.0).sum(axis=0))
        return self._panels(f, low, high, cuts)

    def _panels(
        self, f: Callable[[Array], Array], low: Array, high: Array, cuts: Array | None
    ) -> Array:
        """Return the integral by Gauss-Legendre on panels that follow the quantiles."""
        levels = np.concatenate([np.logspace(-11.5, -1, 64), np.linspace(0.11, 0.5, 40)])
        edges = [
            low[None],
            self.it.quantile(self.spread(levels)),
            self.it.upper_quantile(self.spread(levels[::-1])),
            high[None],
        ]
        if cuts is not None:
            edges.append(np.broadcast_to(cuts, low.shape)[None])
        edge = np.sort(np.clip(np.concatenate(edges), low, high), axis=0)
        unit, unit_weights = np.polynomial.legendre.leggauss(12)
        node, weight = (v.reshape(-1, *(1,) * edge.ndim) for v in (unit, unit_weights))
        half = 0.5 * np.diff(edge, axis=0)
        x = edge[:-1] + half * (1.0 + node)
        return np.asarray((half * weight * f(x)).sum(axis=(0, 1)))


# The chance that a right distribution strays this many standard errors is below 1e-7.
ERRORS = 5.5


def check_distribution(
    distribution: Any, rng: Generator, other: Any | None = None
) -> list[str]:
    """Check the laws of a distribution; return the names of the laws that were run.

    Parameters
    ----------
    distribution
        One distribution or a batch of them. Laws about ``cdf`` and ``quantile`` run if it
        has them; laws about sums over discrete outcomes if these are whole numbers.
    rng
        Source of the draws that densities and moments are compared with.
    other
        A different member of the same family, to check ``kl`` between the two.

    Raises
    ------
    LawBroken
        With the law, what was expected and what was found.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> names = check_distribution(Normal([0.0, 1.0], 2.0), np.random.default_rng(0))
    >>> "integrates_to_one" in names
    True
    """
    return run(LAWS, Subject(distribution, rng, other))


def integrates_to_one(case: Subject) -> None:
    """Probabilities sum, densities integrate, to one."""
    case.require("quantile", "cdf")
    total = case.integral(case.it.prob)
    # Densities with a pole at an end converge slowly there.
    expect_close("the density integrates to one", total, 1.0, rtol=1e-5)


def density_is_the_slope_of_cdf(case: Subject) -> None:
    """Check that the distribution function rises as the density says."""
    case.require("quantile", "cdf")
    case.require_steps_of_one()
    x = case.points
    if case.it.is_discrete:
        rise = case.it.cdf(x) - case.it.cdf(x - 1.0)
        expect_close("a jump of cdf is a probability", rise, case.it.prob(x), atol=1e-10)
        return
    step = 1e-5 * (case.it.quantile(0.9) - case.it.quantile(0.1))
    slope = (case.it.cdf(x + step) - case.it.cdf(x - step)) / (2 * step)
    expect_close("the slope of cdf is the density", slope, case.it.prob(x), rtol=1e-4)


def cdf_of_quantile_is_the_level(case: Subject) -> None:
    """``cdf(quantile(p)) = p``; for discrete outcomes the smallest that reaches it."""
    case.require("quantile", "cdf")
    level, reached = case.spread(LEVELS), case.it.cdf(case.points)
    law = "cdf(quantile(p)) = p"
    if not case.it.is_discrete:
        expect_close(law, reached, level, rtol=1e-7)
        return
    expect(law, bool(np.all(reached >= level - 1e-12)), "cdf(quantile(p)) >= p", reached)
    before = case.it.cdf(case.points - 1.0)
    expect(law, bool(np.all(before < level)), "cdf(quantile(p) - 1) < p", before)


def survival_completes_cdf(case: Subject) -> None:
    """``cdf(x) + survival(x) = 1``."""
    case.require("quantile", "cdf", "survival")
    total = case.it.cdf(case.points) + case.it.survival(case.points)
    expect_close("cdf(x) + survival(x) = 1", total, 1.0)


def nothing_lies_beyond_the_support(case: Subject) -> None:
    """Infinities and what is just outside the support are impossible; all lies between."""
    case.require("quantile", "cdf", "survival", "support")
    low, high = case.it.support()
    everywhere = np.full(case.it.batch_shape, np.inf)
    law = "nothing lies beyond the support"
    for x in (-everywhere, np.nextafter(low, -np.inf)):
        _expect_impossible(law, case, x, 0.0)
    for x in (everywhere, np.nextafter(high, np.inf)):
        _expect_impossible(law, case, x, 1.0)
    expect_close("cdf reaches one at the upper end", case.it.cdf(high), 1.0)
    expect_close("survival ends at the upper end", case.it.survival(high), 0.0)
    if not case.it.is_discrete:
        expect_close("cdf starts from zero at the lower end", case.it.cdf(low), 0.0)
    ends = np.stack([case.it.log_prob(low), case.it.log_prob(high)])
    law = "log_prob is known at the ends of the support"
    expect(law, not np.isnan(ends).any(), "no NaN", ends)


def _expect_impossible(law: str, case: Subject, x: Array, below: float) -> None:
    expect_close(law, case.it.log_prob(x), -np.inf)
    expect_close(law, case.it.cdf(x), below, atol=0.0)
    expect_close(law, case.it.survival(x), 1.0 - below, atol=0.0)


def interval_covers(case: Subject) -> None:
    """Check that an interval holds its coverage, with as much below it as above."""
    case.require("quantile", "cdf", "interval")
    for coverage in (0.5, 0.9):
        ends = case.it.interval(coverage)
        low, high = ends[..., 0], ends[..., 1]
        law = f"interval({coverage}) covers {coverage}"
        if case.it.is_discrete:
            inside = case.it.cdf(high) - case.it.cdf(low - 1.0)
            expect(law, bool(np.all(inside >= coverage - 1e-9)), f">= {coverage}", inside)
        else:
            expect_close(law, case.it.cdf(high) - case.it.cdf(low), coverage, rtol=1e-6)
            expect_close("intervals are central", case.it.cdf(low), 0.5 - 0.5 * coverage)


def moments_are_those_of_the_density(case: Subject) -> None:
    """Mean and variance are integrals over the density."""
    case.require("quantile", "cdf")
    mean, variance = case.it.mean(), case.it.variance()
    if not np.isfinite(variance).all():
        raise NotApplicable
    spread = np.sqrt(variance)
    # What lies beyond the last quantile adds up in heavy tails.
    found = case.integral(lambda x: x * case.it.prob(x))
    expect_close("mean() is the first moment", found, mean, rtol=1e-4, atol=1e-4 * spread)
    found = case.integral(lambda x: (x - mean) ** 2 * case.it.prob(x))
    expect_close("variance() is the second moment", found, variance, rtol=1e-2)


def std_is_the_root_of_variance(case: Subject) -> None:
    """``std() = sqrt(variance())``."""
    if not case.is_numeric:
        raise NotApplicable
    expect_close("std() = sqrt(variance())", case.it.std(), np.sqrt(case.it.variance()))


def draws_have_the_moments(case: Subject) -> None:
    """Check the average of draws and of their squares, within standard errors."""
    if not case.is_numeric:
        raise NotApplicable
    mean, spread = case.it.mean(), case.it.std()
    if not np.isfinite(spread).all():
        raise NotApplicable
    found, error = case.draws.mean(axis=0), spread / np.sqrt(N_DRAWS)
    law = "draws average to mean()"
    expect_close(law, found, mean, rtol=1e-9, atol=ERRORS * error + 1e-12)
    squares = (case.draws - mean) ** 2
    error = squares.std(axis=0) / np.sqrt(N_DRAWS)
    law = "squared deviations of draws average to variance()"
    expect_close(law, squares.mean(axis=0), spread**2, rtol=1e-9, atol=ERRORS * error + 1e-12)


def draws_follow_cdf(case: Subject) -> None:
    """As many draws lie below a quantile as it says."""
    case.require("quantile", "cdf")
    for x in case.points:
        chance = case.it.cdf(x)
        error = np.sqrt(chance * (1.0 - chance) / N_DRAWS)
        share = (case.draws <= x).mean(axis=0)
        expect_close("draws follow cdf", share, chance, rtol=1e-9, atol=ERRORS * error + 1e-12)


def entropy_is_the_mean_of_minus_log_prob(case: Subject) -> None:
    """``entropy() = E[-log_prob]``, within the standard error of draws."""
    surprise = -case.it.log_prob(case.draws)
    law = "draws have positive density"
    expect(law, bool(np.isfinite(surprise).all()), "finite log_prob", surprise.max())
    error = surprise.std(axis=0) / np.sqrt(N_DRAWS)
    law = "entropy is the mean of -log_prob"
    found = case.it.entropy()
    expect_close(law, found, surprise.mean(axis=0), rtol=1e-9, atol=ERRORS * error + 1e-9)


def mode_is_the_most_probable(case: Subject) -> None:
    """No draw is more probable than the mode; NaN says that there is none."""
    mode = case.it.mode()
    if case.is_numeric and np.isnan(mode).any():
        raise NotApplicable
    best = case.it.log_prob(mode)
    found = case.it.log_prob(case.draws).max(axis=0)
    expect("no outcome beats mode()", bool(np.all(best >= found - 1e-9)), f"<= {best}", found)


def prob_is_the_exponential_of_log_prob(case: Subject) -> None:
    """``prob = exp(log_prob)``."""
    x = case.draws[:5]
    expect_close("prob = exp(log_prob)", case.it.prob(x), np.exp(case.it.log_prob(x)))


def kl_is_an_expected_log_ratio(case: Subject) -> None:
    """``kl(other) = E[log_prob - other.log_prob]``: zero for itself, never negative."""
    try:
        itself = case.it.kl(case.it)
    except TypeError as refusal:
        raise NotApplicable from refusal
    expect_close("kl of a distribution from itself is zero", itself, 0.0)
    if case.other is None:
        return
    found = case.it.kl(case.other)
    expect("kl is not negative", bool(np.all(found >= 0)), ">= 0", found)
    ratio = case.it.log_prob(case.draws) - case.other.log_prob(case.draws)
    error = ratio.std(axis=0) / np.sqrt(N_DRAWS)
    law = "kl is the expected log ratio of densities"
    expect_close(law, found, ratio.mean(axis=0), rtol=1e-9, atol=ERRORS * error + 1e-9)


def crps_is_the_integrated_squared_error_of_cdf(case: Subject) -> None:
    """``crps(y)`` integrates ``(cdf(x) - [x >= y])^2`` over x."""
    case.require("quantile", "cdf", "crps")
    for y in case.points[[0, 3, 6]]:
        score = case.it.crps(y)
        expect("crps is not negative", bool(np.all(score >= 0)), ">= 0", score)

        def error(x: Array, y: Array = y) -> Array:
            return np.asarray((case.it.cdf(x) - (x >= y)) ** 2)

        law = "crps is the integrated squared error of cdf"
        expect_close(law, score, case.integral(error, cuts=y), rtol=1e-5, atol=1e-9)


def batch_entries_are_themselves(case: Subject) -> None:
    """``d[i]`` is the i-th distribution of the batch."""
    if not case.it.batch_shape:
        raise NotApplicable
    expect(
        "len counts the batch", len(case.it) == case.it.batch_shape[0], "equal", len(case.it)
    )
    x = case.draws[0]
    for i in range(len(case.it)):
        law = f"entry {i} of the batch answers like the batch"
        expect_close(law, case.it[i].log_prob(x[i]), case.it.log_prob(x)[i])
        expect_close(law, case.it[i].entropy(), case.it.entropy()[i])


LAWS: tuple[Callable[[Subject], None], ...] = (
    integrates_to_one,
    density_is_the_slope_of_cdf,
    cdf_of_quantile_is_the_level,
    survival_completes_cdf,
    nothing_lies_beyond_the_support,
    interval_covers,
    moments_are_those_of_the_density,
    std_is_the_root_of_variance,
    draws_have_the_moments,
    draws_follow_cdf,
    entropy_is_the_mean_of_minus_log_prob,
    mode_is_the_most_probable,
    prob_is_the_exponential_of_log_prob,
    kl_is_an_expected_log_ratio,
    crps_is_the_integrated_squared_error_of_cdf,
    batch_entries_are_themselves,
)

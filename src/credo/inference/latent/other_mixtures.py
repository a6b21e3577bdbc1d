"""Mixtures beyond conjugate families in fixed classes: Student-t, factors, endless classes.

A row of a Student-t component is normal with a covariance that is divided by a hidden number
``u ~ Gamma(df / 2, df / 2)``, so that rows far out count less; with ``q`` for the squared
distance of a row, ``E u = (df + d) / (df + q)`` [peel2000]_.

Rows of a component may be made of few hidden numbers and noise, each component with loadings
of its own: a mixture of factor analyzers [ghahramani1997]_, whose steps are those of factor
analysis with rows that count by their shares.

A Dirichlet process that is cut after K components has weights that are broken off a stick; its
concentration ``a`` has a gamma prior, and a gamma belief of shape ``s + K - 1`` and rate
``r - sum of E log(1 - v_k)`` [blei2006]_.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from scipy import special

from credo.distributions.class_conditional import ClassConditional, mahalanobis_squares
from credo.distributions.gamma import Gamma
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.multivariate_student_t import MultivariateStudentT
from credo.families.categorical import CategoricalStatistics
from credo.families.component import Components, ComponentStatistics
from credo.families.multivariate_normal import MultivariateNormalStatistics
from credo.families.stick_breaking import StickBreakingCategorical
from credo.inference.engine.problem import Expectation
from credo.inference.latent.factor_analysis import FactorModel, FactorProblem, FactorStatistics
from credo.inference.latent.latent_class import IncompleteRows, Knowledge, LatentClassProblem
from credo.numerics.array import Array
from credo.numerics.linear.linear_algebra import cholesky
from credo.numerics.special.log_domain import log_sum_exp

__all__ = [
    "FactorMixtureProblem",
    "ProcessProblem",
    "StudentTMixtureProblem",
    "process_concentration",
]

LEAST_DF, MOST_DF = 1.0, 200.0
"""Degrees of freedom between which those of a component are found."""

USUAL_NOISE = 0.1
"""Share of the variance of a component that is noise before factors are seen."""


@dataclass(frozen=True, eq=False)
class StudentTStatistics(ComponentStatistics):
    """Statistics of rows that count by ``u``, and what degrees of freedom are found from.

    Attributes
    ----------
    tail
        Mean over the rows of each component of ``E log u - E u``, shape (K,).
    """

    tail: Array


@dataclass(frozen=True, eq=False)
class StudentTMixtureProblem:
    """Complete rows from several Student-t distributions, for expectation maximization.

    Attributes
    ----------
    data
        The rows, without gaps.
    prior
        Belief about weights, and about centers and scale matrices as if rows were normal.
    share
        Weight of each row in each component to start from, shape (n, K).
    df
        Degrees of freedom of all components; None to find those of each.
    """

    data: IncompleteRows
    prior: Components
    share: Array | None = None
    df: float | None = None

    evidence_method = "none"
    is_monotone = True

    @property
    def size(self) -> float:
        """Total weight of the rows."""
        return float(self.data.weight.sum())

    def start(self) -> ClassConditional:
        """Return the components of the start, with few degrees of freedom."""
        share = self.share
        if share is None:
            share = LatentClassProblem(self.data, self.prior).responsibility(
                LatentClassProblem(self.data, self.prior).start()
            )
        rows = MultivariateNormalStatistics.by_share(self.data.x, share)
        k = self.data.n_classes
        return self._learned(share.sum(axis=0), rows, np.full(k, self.df or 4.0))

    def expect(self, belief: ClassConditional) -> Expectation:
        """Return expected statistics of rows that count by their ``u``."""
        density = cast(MultivariateStudentT, belief.density)
        x, d = self.data.x, self.data.x.shape[1]
        square = mahalanobis_squares(x, density.loc, cholesky(density.form.dense()).lower)
        logs = belief.log_weight + density.log_prob_at(square)
        log_row = log_sum_exp(logs, axis=1)
        share = np.exp(logs - log_row[:, None]) * self.data.weight[:, None]
        u = (density.df + d) / (density.df + square)
        log_u = special.digamma(0.5 * (density.df + d)) - np.log(0.5 * (density.df + square))
        rows = MultivariateNormalStatistics.by_share(x, share * u)
        count = share.sum(axis=0)
        tail = (share * (log_u - u)).sum(axis=0) / np.maximum(count, 1e-300)
        statistics = StudentTStatistics(CategoricalStatistics(count), rows, tail)
        return Expectation(statistics, float(self.data.weight @ log_row))

    def update(self, statistics: StudentTStatistics) -> ClassConditional:
        """Return the most probable components."""
        df = np.full(len(statistics.tail), self.df or 0.0)
        if self.df is None:
            df = np.array([_best_df(tail) for tail in statistics.tail])
        rows = cast(MultivariateNormalStatistics, statistics.rows)
        return self._learned(statistics.classes.counts, rows, df)

    def penalty(self, belief: ClassConditional) -> float:
        """Return minus the log density of weights, centers and scale matrices."""
        return -self.prior.log_density_at(belief)

    def responsibility(self, belief: ClassConditional) -> Array:
        """Return the probability of each component for each row, shape (n, K)."""
        return np.exp(belief.log_posterior(self.data.x))

    def _learned(
        self, count: Array, rows: MultivariateNormalStatistics, df: Array
    ) -> ClassConditional:
        vectors: Any = self.prior.rows
        classes: Any = self.prior.classes
        d = rows.mean.shape[1]
        after = vectors.update(rows)
        # Rows count by u in the center and the scatter, and as wholes in the number of them.
        divisor = vectors.df + count + d + 2.0
        matrix = after.scale_matrix / divisor[:, None, None]
        weights = classes.update(CategoricalStatistics(count)).mode()
        with np.errstate(divide="ignore"):
            log_weight = np.log(weights.probability)
        return ClassConditional(log_weight, MultivariateStudentT(df, after.location, matrix))


def _best_df(tail: float) -> float:
    """Return the degrees of freedom of largest expected log density, given the mean tail.

    The slope ``log(df / 2) + 1 - digamma(df / 2) + tail`` falls in df.
    """
    low, high = np.log(LEAST_DF), np.log(MOST_DF)
    for _ in range(60):
        middle = 0.5 * (low + high)
        half = 0.5 * np.exp(middle)
        is_rising = np.log(half) + 1.0 - special.digamma(half) + tail > 0
        low, high = (middle, high) if is_rising else (low, middle)
    return float(np.exp(0.5 * (low + high)))


LEAST_SHARE = 1e-12
"""Weight of every row in every component, so that one without rows keeps parameters."""


@dataclass(frozen=True, eq=False)
class FactorShares:
    """Statistics of rows in the components of a mixture of factor analyzers.

    Attributes
    ----------
    classes
        Weight of each component.
    parts
        For each component the problem of its rows, which count by their shares, and its
        statistics.
    """

    classes: CategoricalStatistics
    parts: tuple[tuple[FactorProblem, FactorStatistics], ...]


@dataclass(frozen=True, eq=False)
class FactorMixtureProblem:
    """Rows from several normals, each made of few hidden numbers and noise; gaps anywhere.

    Attributes
    ----------
    data
        The rows.
    n_hidden
        Hidden numbers of each component, fewer than columns.
    is_isotropic
        Whether the noise of a component is the same in all columns.
    share
        Weight of each row in each component to start from, shape (n, K).
    """

    data: IncompleteRows
    n_hidden: int
    is_isotropic: bool = False
    share: Array | None = None

    evidence_method = "none"
    is_monotone = True

    @property
    def size(self) -> float:
        """Total weight of the rows."""
        return float(self.data.weight.sum())

    def start(self) -> ClassConditional:
        """Return probabilistic PCA, or its likes, of the rows of each component."""
        share = self.share
        if share is None:
            share = np.full((len(self.data.x), self.data.n_classes), 1.0 / self.data.n_classes)
        return _factor_mixture(share.sum(axis=0), [one.start() for one in self._parts(share)])

    def expect(self, belief: ClassConditional) -> Expectation:
        """Return expected statistics of rows and hidden numbers, and the log likelihood."""
        models = self.models(belief)
        logs = belief.log_weight + np.stack([one.log_prob(self.data.x) for one in models], 1)
        log_row = log_sum_exp(logs, axis=1)
        share = np.exp(logs - log_row[:, None]) * self.data.weight[:, None]
        parts = tuple(
            (problem, problem.expect(model).statistics)
            for problem, model in zip(self._parts(share), models, strict=True)
        )
        statistics = FactorShares(CategoricalStatistics(share.sum(axis=0)), parts)
        return Expectation(statistics, float(self.data.weight @ log_row))

    def update(self, statistics: FactorShares) -> ClassConditional:
        """Return the most probable components."""
        found = [problem.update(own) for problem, own in statistics.parts]
        return _factor_mixture(statistics.classes.counts, found)

    def penalty(self, belief: ClassConditional) -> float:
        """Return minus the log density of all noise, up to a constant."""
        prior = self._parts(np.ones((len(self.data.x), 1)))[0]
        return float(sum(prior.penalty(one) for one in self.models(belief)))

    def responsibility(self, belief: ClassConditional) -> Array:
        """Return the probability of each component for each row, shape (n, K)."""
        return np.exp(belief.log_posterior(self.data.x))

    @staticmethod
    def models(belief: ClassConditional) -> list[FactorModel]:
        """Return the factors of each component."""
        density: Any = belief.density
        form = density.form
        return [
            FactorModel(*one) for one in zip(density.loc, form.factor, form.noise, strict=True)
        ]

    @cached_property
    def _usual_noise(self) -> Array:
        pooled = self.data.pooled()
        shrink = self.data.n_classes ** (-2.0 / len(pooled.mean))
        return np.asarray(USUAL_NOISE * shrink * pooled.usual_variance())

    def _parts(self, share: Array) -> list[FactorProblem]:
        """Return the problem of each component, whose rows count by their shares."""
        rest = self.n_hidden, self.is_isotropic, self._usual_noise
        return [
            FactorProblem(self.data.x, np.maximum(own, LEAST_SHARE), *rest) for own in share.T
        ]


def _factor_mixture(count: Array, models: Sequence[FactorModel]) -> ClassConditional:
    with np.errstate(divide="ignore"):
        log_weight = np.log(count / count.sum())
    density = MultivariateNormal.from_low_rank(
        np.stack([one.center for one in models]),
        np.stack([one.loading for one in models]),
        np.stack([one.noise for one in models]),
    )
    return ClassConditional(log_weight, density)


@dataclass(frozen=True, eq=False)
class ProcessProblem(LatentClassProblem):
    """Rows in the components of a Dirichlet process that is cut, its concentration unknown.

    Attributes
    ----------
    gamma
        Shape and rate of the gamma prior about the concentration.
    """

    gamma: tuple[float, float] = (1.0, 1.0)

    def update(self, statistics: ComponentStatistics) -> Knowledge:
        """Return the belief about sticks and rows, the best for the belief about ``a``."""
        about: Any = self.prior.rows
        rows = about.update(statistics.rows)
        concentration = self._best_concentration(statistics.classes.counts)
        prior = StickBreakingCategorical.of_process(concentration, self.data.n_classes)
        return Components(prior.update(statistics.classes), rows)

    def _best_concentration(self, counts: Array) -> float:
        """Return the concentration that the belief about the sticks it makes expects.

        A fixed point of a function that rises less than its argument, found by secants.
        """
        beyond = np.cumsum(counts[::-1])[::-1][1:]
        own, (shape, rate) = 1.0 + counts[:-1], self.gamma

        def expected(a: float) -> float:
            left = special.digamma(a + beyond) - special.digamma(a + beyond + own)
            return float((shape + len(own)) / (rate - left.sum()))

        a = shape / rate
        for _ in range(200):
            one = expected(a)
            two = expected(one)
            bend = two - 2.0 * one + a
            ahead = a - (one - a) ** 2 / bend if bend != 0 else two
            before, a = a, ahead if ahead > 0 else two
            if abs(a - before) <= 1e-13 * before:
                break
        return a

    def penalty(self, belief: Knowledge) -> float:
        """Return the divergence of the belief about sticks, ``a`` and rows from the prior."""
        assert isinstance(belief, Components)
        classes = cast(StickBreakingCategorical, belief.classes)
        about = self._concentration(classes)
        left = float(_log_rest(classes).sum())
        mean = float(about.mean())
        mean_log = float(special.digamma(about.shape) - np.log(about.rate))
        n = classes.n_states - 1
        expected = n * mean_log + (mean - 1.0) * left
        own = float(classes.parameters().sticks.entropy().sum())
        prior = Gamma(*self.gamma)
        rows: Any = belief.rows
        about_rows = float(np.sum(rows.kl(self.prior.rows)))
        return about_rows - own - expected + float(about.kl(prior))

    def _concentration(self, classes: StickBreakingCategorical) -> Gamma:
        return process_concentration(classes, self.gamma)

    @cached_property
    def _others(self) -> LatentClassProblem | None:
        rest = ~self._is_plain
        if not rest.any():
            return None
        # Only its expectation is asked for, which does not depend on the prior about sticks.
        return LatentClassProblem(self.data[rest], self.prior)


def process_concentration(
    classes: StickBreakingCategorical, gamma: tuple[float, float]
) -> Gamma:
    """Return the belief about the concentration, given that about the sticks."""
    shape, rate = gamma
    return Gamma(shape + classes.n_states - 1.0, rate - float(_log_rest(classes).sum()))


def _log_rest(classes: StickBreakingCategorical) -> Array:
    """Return the expected log of what each share leaves, shape (K - 1,)."""
    total = special.digamma(classes.first + classes.rest)
    return np.asarray(special.digamma(classes.rest) - total)

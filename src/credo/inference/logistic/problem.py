"""Logistic and softmax regression at a given precision, and what is believed of its weights.

Weights are normal around zero with one precision; intercepts are flat. The posterior is
approximated by a Gaussian at its mode (Laplace), by one that engines above find, or by draws;
predictions for new rows average over it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.inference.density.laplace import LaplaceApproximation, approach
from credo.inference.engine.draws import Draws
from credo.inference.engine.engine import Inference, run
from credo.inference.logistic.softmax import (
    ExpectedSoftmax,
    SoftmaxRows,
    class_pairs,
    coordinate_covariance,
    integrated_log_probability,
)
from credo.numerics.array import Array
from credo.numerics.form import LATER, SMALLEST_SPREAD, Form, directions
from credo.numerics.parallel.threads import threads_for
from credo.numerics.special.log_domain import log_normalize, log_sum_exp, softmax
from credo.numerics.special.logistic_integral import moderation

__all__ = ["LogisticBelief", "LogisticProblem", "mode_of"]


LOG_TWO_PI = float(np.log(2 * np.pi))
ROWS_PER_PARAMETER = 10
MIN_SUBSAMPLE = 5000
WORTHWHILE = 5
FINE_TOLERANCE, ROUGH_TOLERANCE = 1e-9, 0.02
NO_ROWS = 0.01
"""Prior precision of intercepts that are not flat, as where a class has no rows."""


@dataclass(frozen=True, eq=False)
class LogisticProblem:
    """Labeled rows and the prior precision of the weights.

    Parameters of shape (J, m + 1) are handled flat; the last of each row is an intercept.

    Attributes
    ----------
    rows
        The likelihood.
    precision
        Inverse prior variance of every weight.
    guess
        Where to start; equal weights of zero if None.
    is_proper
        Whether intercepts are normal with a standard deviation of ten, and not flat.
    """

    rows: SoftmaxRows
    precision: float
    guess: Array | None = None
    is_proper: bool = False

    @property
    def n_parameters(self) -> int:
        """Number of weights and intercepts."""
        return int(np.prod(self.rows.shape))

    @property
    def start(self) -> Array:
        """The guess, or weights of zero and intercepts that give the class frequencies."""
        if self.guess is not None:
            return self.guess
        parameters = np.zeros(self.rows.shape)
        if self.rows.has_intercept:
            counts = np.bincount(self.rows.code, self.rows.weight, len(self.rows.coding))
            share = np.log(np.maximum(counts, 1e-3 * counts.sum() / len(counts)))
            parameters[:, -1] = np.linalg.lstsq(
                self.rows.coding - self.rows.coding.mean(axis=0), share - share.mean()
            )[0]
        return parameters.ravel()

    @cached_property
    def prior_precision(self) -> Array:
        """Prior precision of each parameter; zero for a flat intercept."""
        each = np.full(self.rows.shape, self.precision)
        # An intercept that no row has is kept at zero by a prior of its own.
        each[:, -1] = self._intercept_precision if self.rows.has_intercept else 1.0
        return each.ravel()

    @property
    def _intercept_precision(self) -> float:
        """Zero, unless a class has no rows, whose intercept would have no end."""
        if self.is_proper:
            return NO_ROWS
        counts = np.bincount(self.rows.code, self.rows.weight, len(self.rows.coding))
        return 0.0 if counts.all() else NO_ROWS

    @property
    def is_weight(self) -> NDArray[np.bool_]:
        """Which parameters are weights, and not intercepts."""
        n_codes, m = self.rows.shape
        return np.tile(np.arange(m) < m - 1, n_codes)

    def mirrored_values(self, middle: Array, steps: Array) -> Array:
        """Return minus the log posterior on both sides of the middle (d,), shape (2, q).

        Parameters
        ----------
        steps
            To one side, shape (q, d).
        """
        shape = self.rows.shape
        likelihood = self.rows.mirrored_values(middle.reshape(shape), steps.reshape(-1, *shape))
        return likelihood + self.penalty(np.stack([middle + steps, middle - steps]))

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return minus the log posterior, normalized in the prior, and its gradient."""
        value, gradient = self.rows.value_and_gradient(parameters.reshape(self.rows.shape))
        prior = self.prior_precision
        return (
            value + float(self.penalty(parameters)),
            gradient.ravel() + prior * parameters,
        )

    def derivatives(self, parameters: Array) -> tuple[float, Array, Array]:
        """Return the same, and the curvature."""
        value, gradient, curvature = self.rows.derivatives(parameters.reshape(self.rows.shape))
        prior = self.prior_precision
        curvature[np.diag_indices_from(curvature)] += prior
        return (
            value + float(self.penalty(parameters)),
            gradient.ravel() + prior * parameters,
            curvature,
        )

    def expected_derivatives(
        self, parameters: Array, found: ExpectedSoftmax
    ) -> tuple[Array, Array]:
        """Return the means of gradient (d,) and curvature (d, d) over normal scores.

        Parameters
        ----------
        parameters
            Their mean.
        """
        gradient, curvature = self.rows.expected_derivatives(found)
        prior = self.prior_precision
        curvature[np.diag_indices_from(curvature)] += prior
        return gradient.ravel() + prior * parameters, curvature

    def penalty(self, parameters: Array) -> Array:
        """Return minus the log prior density of (..., d), flat intercepts left out."""
        prior = self.prior_precision
        log_density = np.log(prior[prior > 0]) - LOG_TWO_PI
        return np.asarray(0.5 * (parameters**2 @ prior - log_density.sum()))

    def subsample(self) -> LogisticProblem | None:
        """Return a random part of the rows that stands for all, or None if too few are left."""
        n = len(self.rows.code)
        n_kept = max(ROWS_PER_PARAMETER * self.n_parameters, MIN_SUBSAMPLE)
        if n < WORTHWHILE * n_kept:
            return None
        kept = np.random.default_rng(0).choice(n, n_kept, replace=False)
        part = self.rows.take(kept)
        counts = np.bincount(part.code, part.weight > 0, len(part.coding))
        if counts.min() < self.rows.shape[1]:
            return None
        grown = replace(part, weight=part.weight * (self.rows.weight.sum() / part.weight.sum()))
        return LogisticProblem(grown, self.precision, self.guess)


def mode_of(problem: LogisticProblem, guide: Array | None = None) -> Inference:
    """Return the Laplace approximation at a given precision.

    Many rows: the mode of some of them is close to the mode of all. Many classes: with that
    curvature as a guide, gradients alone lead closer, and the full curvature, which costs
    much more than a gradient, is needed only there.

    Parameters
    ----------
    guide
        Curvature close to that at the mode, if it is known.
    """
    part = problem.subsample()
    if part is None:
        return run(LaplaceApproximation(tolerance=FINE_TOLERANCE), problem)
    # Products of blocks are small, and threads for them fight those of the loop over rows.
    with threads_for(0):
        return _mode_of_many(problem, part, guide)


def _mode_of_many(
    problem: LogisticProblem, part: LogisticProblem, guide: Array | None
) -> Inference:
    start = problem.start
    if guide is None:
        rough = run(LaplaceApproximation(tolerance=0.1), part).state
        start, guide = rough.parameters, rough.curvature
    close = approach(problem, start, guide, tolerance=2 * ROUGH_TOLERANCE).x
    return run(LaplaceApproximation(tolerance=ROUGH_TOLERANCE), replace(problem, guess=close))


BLOCK_ROWS = 1 << 13
DRAWN_SCORES = 1 << 20
"""Scores of draws that are held at once."""


@dataclass(frozen=True, eq=False)
class LogisticBelief:
    """Weights and intercepts of K classes: a Gaussian, draws, or a point.

    A row of a design is seen as ``b = ((x - center) * scale, 1)``; the K class scores are
    ``coding @ T @ b`` with ``T`` of shape (J, m + 1). If there are more columns than rows to
    learn from, ``T`` is about the directions ``axes`` that the rows span; in all others the
    weights are as they were before the data.

    Attributes
    ----------
    mean
        Mean of ``T`` under the Gaussian or of the draws, or the point.
    gaussian
        Belief about ``T``, flattened; None for draws and for a point.
    coding
        Scores of the classes from J numbers, shape (K, J).
    center, scale
        How a design is seen, shape (n_columns,).
    axes
        Orthonormal directions, shape (n_columns, m), or None for the columns themselves.
    precision
        Prior precision of the weights of the seen columns.
    has_intercept
        Whether ``b`` ends with one, or with zero.
    draws
        "parameters" (chains, draws, J, m + 1), of ``T``; "precision" (chains, draws) of their
        prior; and what the engine says of each draw. None for a Gaussian or a point.
    """

    mean: Annotated[Array, Form("j m")]
    gaussian: MultivariateNormal | None
    coding: Annotated[Array, Form("k j")]
    center: Annotated[Array, Form("c")]
    scale: Annotated[Array, Form("c", 0.0, 1 / SMALLEST_SPREAD)]
    axes: Annotated[Array | None, directions("c a")]
    precision: Annotated[float, Form(low=0.0)]
    has_intercept: bool
    draws: Draws | None = field(default=None, metadata=LATER)

    def weights(self) -> tuple[Array, Array]:
        """Return weights (J, n_columns) and intercepts (J,) in the units of the design."""
        return self._in_design_units(self.mean)

    def scores(self, design: Array) -> Array:
        """Return the most probable scores of the classes, shape (n, K)."""
        weights, _ = self.weights()
        coordinates = (design - self.center) @ weights.T + self.mean[:, -1]
        return np.asarray(coordinates @ self.coding.T)

    def log_probability(self, design: Array, by_quadrature: bool = True) -> Array:
        """Return log class probabilities, the weights integrated out, shape (n, K).

        Two classes: the exact mean of the logistic function of a normal score. More: the mean
        of the softmax function over nodes in the space of the scores of a row. If not
        ``by_quadrature``, scores are moderated [mackay1992]_, those of more than two classes
        alike, by the variance of the difference of two scores, averaged over pairs in
        proportion to the product of their probabilities. Draws are averaged over as they are.
        """
        if self.draws is not None:
            return self._log_mean_over_draws(design, self.draws)
        scores = self.scores(design)
        if self.gaussian is None:
            return log_normalize(scores)
        blocks = [slice(i, i + BLOCK_ROWS) for i in range(0, len(design), BLOCK_ROWS)]
        with threads_for(len(design) * self._covariance.size):
            parts = [self._integrated(scores[b], design[b], by_quadrature) for b in blocks]
        return np.concatenate([scores[:0], *parts])

    def sample(self, rng: Generator, n: int) -> tuple[Array, Array]:
        """Return ``n`` draws of weights (n, J, n_columns) and intercepts (n, J)."""
        if self.draws is not None:
            chosen = rng.integers(self.draws.n_chains * self.draws.n_draws, size=n)
            precision = self.draws.pooled("precision")[chosen]
            return self.in_design_units(self.draws.pooled("parameters")[chosen], precision, rng)
        if self.gaussian is None:
            weights, intercepts = self.weights()
            return np.repeat(weights[None], n, axis=0), np.repeat(intercepts[None], n, axis=0)
        draws = self.gaussian.sample(rng, n).reshape(n, *self.mean.shape)
        return self.in_design_units(draws, np.full(n, self.precision), rng)

    def weight_variance(self, contrasts: Array) -> Array:
        """Return the variance of combinations of the weights, in the units of the design.

        Parameters
        ----------
        contrasts
            What the J weights of a column are multiplied by, shape (n_contrasts, J).
        """
        if self.draws is not None:
            chosen = self.draws.pooled("parameters"), self.draws.pooled("precision")
            weights, _ = self.in_design_units(*chosen, np.random.default_rng(0))
            return np.asarray(np.einsum("kj,njc->nkc", contrasts, weights).var(axis=0))
        if self.gaussian is None:
            return np.zeros((len(contrasts), len(self.center)))
        blocks = self._covariance[:, :-1, :, :-1]
        own = np.array(
            [np.einsum("j,jalb,l->ab", c, blocks, c, optimize=True) for c in contrasts]
        )
        if self.axes is None:
            variance = np.diagonal(own, axis1=1, axis2=2)
        else:
            spanned = ((self.axes @ own) * self.axes).sum(axis=-1)
            free = (1.0 - (self.axes**2).sum(axis=1)) / self.precision
            variance = spanned + (contrasts**2).sum(axis=1, keepdims=True) * free
        return np.asarray(variance * self.scale**2)

    def n_effective_parameters(self) -> float:
        """Return how many parameters the data determine."""
        if self.draws is not None:
            variance = self.draws.pooled("parameters").var(axis=0)
        elif self.gaussian is None:
            return float(np.count_nonzero(self.mean))
        else:
            variance = self.gaussian.form.diagonal().reshape(self.mean.shape)
        determined = np.maximum(1.0 - self.precision * variance[:, :-1], 0.0)
        return float(determined.sum() + len(variance) * self.has_intercept)

    @cached_property
    def _covariance(self) -> Array:
        """Covariance of ``T``, shape (J, m + 1, J, m + 1)."""
        assert self.gaussian is not None
        return self.gaussian.form.dense().reshape(*self.mean.shape, *self.mean.shape)

    def in_design_units(
        self, parameters: Array, precision: Array, rng: Generator
    ) -> tuple[Array, Array]:
        """Return weights (n, J, n_columns) and intercepts (n, J) of draws of ``T``.

        Parameters
        ----------
        parameters, precision
            Draws (n, J, m + 1) of ``T``, and of the precision (n,) of the prior, under which
            weights stay in directions that no row spans.
        """
        free = None
        if self.axes is not None:
            shape = (*parameters.shape[:2], len(self.center))
            free = rng.standard_normal(shape) / np.sqrt(precision)[:, None, None]
        return self._in_design_units(parameters, free)

    def _in_design_units(
        self, parameters: Array, free: Array | None = None
    ) -> tuple[Array, Array]:
        seen = parameters[..., :-1]
        if self.axes is not None:
            seen = seen @ self.axes.T
            if free is not None:
                seen = seen + free - (free @ self.axes) @ self.axes.T
        weights = seen * self.scale
        return weights, parameters[..., -1] * self.has_intercept - weights @ self.center

    def _log_mean_over_draws(self, design: Array, draws: Draws) -> Array:
        """Return the log of the mean of the class probabilities under all draws, (n, K)."""
        parameters, precision = draws.pooled("parameters"), draws.pooled("precision")
        by_class = np.einsum("kj,njm->nkm", self.coding, parameters)
        # One number for each draw stands for the directions that no row spans.
        free = np.random.default_rng(0).standard_normal((len(parameters), self.mean.shape[0]))
        free = (free @ self.coding.T) / np.sqrt(precision)[:, None]
        size = max(1, DRAWN_SCORES // by_class[..., 0].size)
        found = np.empty((len(design), len(self.coding)))
        for start in range(0, len(design), size):
            part, rest = self._seen(design[start : start + size])
            scores = np.tensordot(part, by_class, axes=(1, 2))
            if self.axes is not None:
                scores += np.sqrt(rest)[:, None, None] * free
            found[start : start + size] = log_sum_exp(log_normalize(scores), axis=1)
        return np.asarray(found - np.log(len(parameters)))

    def _integrated(self, scores: Array, design: Array, by_quadrature: bool) -> Array:
        covariance = self._coordinate_covariance(design)
        if by_quadrature:
            # Scores of the coding are orthonormal: its transpose gives the coordinates back.
            return integrated_log_probability(scores @ self.coding, covariance, self.coding)
        first, second = class_pairs(len(self.coding))
        between = self.coding[first] - self.coding[second]
        variance = np.einsum("qj,njl,ql->nq", between, covariance, between, optimize=True)
        share = softmax(scores[:, first] + scores[:, second])
        typical = (share * variance).sum(axis=1, keepdims=True)
        return log_normalize(scores * moderation(typical))

    def _coordinate_covariance(self, design: Array) -> Array:
        """Return the covariance of the J numbers of each row, shape (n, J, J)."""
        part, rest = self._seen(design)
        found = coordinate_covariance(part, self._covariance)
        index = np.arange(found.shape[1])
        found[:, index, index] = np.maximum(found[:, index, index], 0.0)
        found[:, index, index] += (rest / self.precision)[:, None]
        return found

    def _seen(self, design: Array) -> tuple[Array, Array]:
        """Return rows as ``T`` sees them (n, m + 1), and the squared length of the rest."""
        seen = (design - self.center) * self.scale
        rest = np.zeros(len(seen))
        if self.axes is not None:
            spanned = seen @ self.axes
            rest = np.maximum((seen**2).sum(axis=1) - (spanned**2).sum(axis=1), 0.0)
            seen = spanned
        return np.column_stack([seen, np.full(len(seen), float(self.has_intercept))]), rest

"""What is believed of the weights of a logistic regression, and what follows for new rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.random import Generator

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.inference.logistic.softmax_rows import coordinate_covariance
from credo.numerics.array import Array
from credo.numerics.form import SMALLEST_SPREAD, Form, directions
from credo.numerics.linear.linear_algebra import cholesky
from credo.numerics.parallel.threads import threads_for
from credo.numerics.special.log_domain import log_normalize, softmax
from credo.numerics.special.logistic_integral import log_logistic_normal_mean, moderation
from credo.numerics.special.softmax_normal import class_pairs, log_expected_softmax

__all__ = ["LogisticBelief"]

BLOCK_ROWS = 1 << 13


@dataclass(frozen=True, eq=False)
class LogisticBelief:
    """Weights and intercepts of K classes, a Gaussian or a point.

    A row of a design is seen as ``b = ((x - center) * scale, 1)``; the K class scores are
    ``coding @ T @ b`` with ``T`` of shape (J, m + 1). If there are more columns than rows to
    learn from, ``T`` is about the directions ``axes`` that the rows span; in all others the
    weights are as they were before the data.

    Attributes
    ----------
    mean
        Mean of ``T`` under the Gaussian, or the point.
    gaussian
        Belief about ``T``, flattened; None for a point.
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
    """

    mean: Annotated[Array, Form("j m")]
    gaussian: MultivariateNormal | None
    coding: Annotated[Array, Form("k j")]
    center: Annotated[Array, Form("c")]
    scale: Annotated[Array, Form("c", 0.0, 1 / SMALLEST_SPREAD)]
    axes: Annotated[Array | None, directions("c a")]
    precision: Annotated[float, Form(low=0.0)]
    has_intercept: bool

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
        proportion to the product of their probabilities.
        """
        scores = self.scores(design)
        if self.gaussian is None:
            return log_normalize(scores)
        blocks = [slice(i, i + BLOCK_ROWS) for i in range(0, len(design), BLOCK_ROWS)]
        with threads_for(len(design) * self._covariance.size):
            parts = [self._integrated(scores[b], design[b], by_quadrature) for b in blocks]
        return np.concatenate([scores[:0], *parts])

    def sample(self, rng: Generator, n: int) -> tuple[Array, Array]:
        """Return ``n`` draws of weights (n, J, n_columns) and intercepts (n, J)."""
        if self.gaussian is None:
            weights, intercepts = self.weights()
            return np.repeat(weights[None], n, axis=0), np.repeat(intercepts[None], n, axis=0)
        draws = self.gaussian.sample(rng, n).reshape(n, *self.mean.shape)
        parts = [self._in_design_units(draw, rng) for draw in draws]
        return np.array([part[0] for part in parts]), np.array([part[1] for part in parts])

    def weight_variance(self, contrasts: Array) -> Array:
        """Return the variance of combinations of the weights, in the units of the design.

        Parameters
        ----------
        contrasts
            What the J weights of a column are multiplied by, shape (n_contrasts, J).
        """
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
        if self.gaussian is None:
            return float(np.count_nonzero(self.mean))
        variance = self.gaussian.form.diagonal().reshape(self.mean.shape)
        determined = (1.0 - self.precision * variance[:, :-1]).sum()
        return float(determined + len(variance) * self.has_intercept)

    @cached_property
    def _covariance(self) -> Array:
        """Covariance of ``T``, shape (J, m + 1, J, m + 1)."""
        assert self.gaussian is not None
        return self.gaussian.form.dense().reshape(*self.mean.shape, *self.mean.shape)

    def _in_design_units(
        self, parameters: Array, rng: Generator | None = None
    ) -> tuple[Array, Array]:
        seen = parameters[:, :-1]
        if self.axes is not None:
            spanned = seen @ self.axes.T
            if rng is not None:
                free = rng.standard_normal(spanned.shape) / np.sqrt(self.precision)
                spanned = spanned + free - (free @ self.axes) @ self.axes.T
            seen = spanned
        weights = seen * self.scale
        return weights, parameters[:, -1] * self.has_intercept - weights @ self.center

    def _integrated(self, scores: Array, design: Array, by_quadrature: bool) -> Array:
        covariance = self._coordinate_covariance(design)
        if len(self.coding) == 2 and by_quadrature:
            difference, spread = scores[:, 1] - scores[:, 0], np.sqrt(covariance[:, 0, 0])
            both = np.stack([-difference, difference], axis=1)
            return log_logistic_normal_mean(both, spread[:, None])
        if by_quadrature:
            # Scores of the coding are orthonormal: its transpose gives the coordinates back.
            root = cholesky(covariance).lower
            return log_expected_softmax(scores @ self.coding, root, self.coding)
        first, second = class_pairs(len(self.coding))
        between = self.coding[first] - self.coding[second]
        variance = np.einsum("qj,njl,ql->nq", between, covariance, between, optimize=True)
        share = softmax(scores[:, first] + scores[:, second])
        typical = (share * variance).sum(axis=1, keepdims=True)
        return log_normalize(scores * moderation(typical))

    def _coordinate_covariance(self, design: Array) -> Array:
        """Return the covariance of the J numbers of each row, shape (n, J, J)."""
        seen = (design - self.center) * self.scale
        rest = np.zeros(len(seen))
        if self.axes is not None:
            spanned = seen @ self.axes
            rest = np.maximum((seen**2).sum(axis=1) - (spanned**2).sum(axis=1), 0.0)
            seen = spanned
        part = np.column_stack([seen, np.full(len(seen), float(self.has_intercept))])
        found = coordinate_covariance(part, self._covariance)
        index = np.arange(found.shape[1])
        found[:, index, index] = np.maximum(found[:, index, index], 0.0)
        found[:, index, index] += (rest / self.precision)[:, None]
        return found

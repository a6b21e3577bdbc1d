"""What is believed of the weights of a logistic regression, and what follows for new rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.numerics.array import Array
from credo.numerics.log_domain import softmax
from credo.numerics.logistic_integral import logistic_normal_mean, moderation

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
        Most probable ``T``.
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
    """

    mean: Array
    gaussian: MultivariateNormal | None
    coding: Array
    center: Array
    scale: Array
    axes: Array | None
    precision: float

    def weights(self) -> tuple[Array, Array]:
        """Return weights (J, n_columns) and intercepts (J,) in the units of the design."""
        return self._in_design_units(self.mean)

    def scores(self, design: Array) -> Array:
        """Return the most probable scores of the classes, shape (n, K)."""
        weights, _ = self.weights()
        coordinates = (design - self.center) @ weights.T + self.mean[:, -1]
        return np.asarray(coordinates @ self.coding.T)

    def probability(self, design: Array, by_quadrature: bool = True) -> Array:
        """Return class probabilities, the weights integrated out, shape (n, K).

        Two classes: the exact mean of the logistic function of a normal score, or, if not
        ``by_quadrature``, the moderated score of [mackay1992]_. More classes: the scores of a
        row are moderated alike, by the variance of the difference of two scores, averaged
        over pairs in proportion to the product of their probabilities. So the most probable
        class stays, and no probability is more extreme than that of the mode.
        """
        scores = self.scores(design)
        if self.gaussian is None:
            return softmax(scores)
        blocks = [slice(i, i + BLOCK_ROWS) for i in range(0, len(design), BLOCK_ROWS)]
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
        own = np.einsum("qj,jalb,ql->qab", contrasts, blocks, contrasts, optimize=True)
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
        return float((1.0 - self.precision * variance[:, :-1]).sum() + len(variance))

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
        return weights, parameters[:, -1] - weights @ self.center

    def _integrated(self, scores: Array, design: Array, by_quadrature: bool) -> Array:
        first, second = np.triu_indices(len(self.coding), 1)
        variance = self._score_variance(design, self.coding[first] - self.coding[second])
        if len(first) == 1:
            difference = scores[:, 1] - scores[:, 0]
            if by_quadrature:
                up = logistic_normal_mean(difference, np.sqrt(variance[:, 0]))
                down = logistic_normal_mean(-difference, np.sqrt(variance[:, 0]))
                return np.stack([down, up], axis=1)
        share = softmax(scores[:, first] + scores[:, second])
        typical = (share * variance).sum(axis=1, keepdims=True)
        return softmax(scores * moderation(typical))

    def _score_variance(self, design: Array, contrasts: Array) -> Array:
        """Return the variance of combinations of the J scores, shape (n, n_contrasts)."""
        seen = (design - self.center) * self.scale
        rest = np.zeros(len(seen))
        if self.axes is not None:
            spanned = seen @ self.axes
            rest = np.maximum((seen**2).sum(axis=1) - (spanned**2).sum(axis=1), 0.0)
            seen = spanned
        part = np.hstack([seen, np.ones((len(seen), 1))])
        variance = np.empty((len(part), len(contrasts)))
        for i, contrast in enumerate(contrasts):
            matrix = np.einsum("j,jalb,l->ab", contrast, self._covariance, contrast)
            variance[:, i] = ((part @ matrix) * part).sum(axis=1)
            variance[:, i] += contrast @ contrast * rest / self.precision
        return np.maximum(variance, 0.0)

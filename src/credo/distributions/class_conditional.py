"""The joint distribution of a class and of a row whose density depends on the class.

``p(class, x) = p(class) p(x | class)``, which is all that a generative classifier knows: it
answers what class a row is of, how usual the row is, and what new rows would look like, also
where some entries of a row are missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.distributions.categorical import random_index
from credo.distributions.covariance import DenseCovariance
from credo.distributions.elliptical import Elliptical
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.multivariate_student_t import MultivariateStudentT
from credo.distributions.normal import Normal
from credo.distributions.student_t import StudentT
from credo.numerics.array import Array
from credo.numerics.class_score import add_student_t
from credo.numerics.linear_algebra import cholesky, symmetrize
from credo.numerics.log_domain import log_normalize, log_sum_exp
from credo.numerics.mahalanobis import mahalanobis_squares
from credo.numerics.missing import gap_regression, missing_patterns

__all__ = ["ClassConditional", "ClassDensity"]

ClassDensity = MultivariateNormal | MultivariateStudentT | Normal | StudentT

BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, eq=False)
class ClassConditional:
    """Weight of each class and density of its rows.

    Attributes
    ----------
    log_weight
        Log probability of each class, shape (K,); it need not be normalized.
    density
        Density of a row in each class: a vector distribution of batch shape (K,), or one of
        independent numbers of batch shape (K, n_features).

    Examples
    --------
    >>> density = MultivariateNormal([[0.0, 0.0], [2.0, 2.0]], np.eye(2))
    >>> joint = ClassConditional(np.log([0.5, 0.5]), density)
    >>> np.exp(joint.log_posterior(np.array([[0.5, 0.5], [0.5, np.nan]]))).round(3)
    array([[0.881, 0.119],
           [0.731, 0.269]])
    """

    log_weight: Array
    density: ClassDensity

    def log_joint(self, x: Array) -> Array:
        """Return log weight plus log density of each row (n, d) in each class, shape (n, K).

        A NaN is a missing value and is integrated out.
        """
        density, k = self.density, len(self.log_weight)
        if not isinstance(density, Elliptical):
            return self.log_weight + _independent_log_prob(density, x, k)
        answer = np.empty((len(x), k))
        for columns, rows in missing_patterns(x):
            if len(columns) == x.shape[1]:
                chosen = x if len(rows) == len(x) else x[rows]
                answer[rows] = self.log_weight + _joint_log_prob(density, chosen, k)
            elif len(columns):
                part, chosen = density.marginal(columns.tolist()), x[np.ix_(rows, columns)]
                answer[rows] = self.log_weight + _joint_log_prob(part, chosen, k)
            else:
                answer[rows] = self.log_weight
        return answer

    def log_posterior(self, x: Array) -> Array:
        """Return the log probability of each class for each row, shape (n, K)."""
        log_joint = self.log_joint(x)
        # A sum of logarithms of this size would lose the differences between classes.
        with np.errstate(invalid="ignore"):
            return log_normalize(log_joint - log_joint.max(axis=1, keepdims=True))

    def log_density(self, x: Array) -> Array:
        """Return the log density of each row, whatever its class, shape (n,)."""
        return log_sum_exp(self.log_joint(x), axis=1)

    def sample(self, rng: Generator, n: int) -> tuple[Array, NDArray[np.intp]]:
        """Return ``n`` rows (n, d) and their classes (n,)."""
        classes = random_index(rng, np.exp(log_normalize(self.log_weight)), (n,))
        draws = self.density.sample(rng, n)
        return np.asarray(draws[np.arange(n), classes]), classes

    def completed(self, x: Array, label: NDArray[np.intp], scores: Array) -> Array:
        """Return each row with its gaps drawn given what is present, shape (n, n_draws, d).

        Parameters
        ----------
        x
            Rows (n, d) with NaN for what is missing.
        label
            The class under which each draw of each row is made, shape (n, n_draws).
        scores
            Standard normal numbers, shape (n_draws, d). A row with ``m`` gaps takes the first
            ``m`` of each draw: what is drawn for a row depends on that row alone.

        Examples
        --------
        >>> density = MultivariateNormal([[0.0, 0.0]], [[1.0, 0.6], [0.6, 1.0]])
        >>> joint = ClassConditional(np.zeros(1), density)
        >>> x, scores = np.array([[2.0, np.nan]]), np.array([[-1.0, 0.0], [1.0, 0.0]])
        >>> joint.completed(x, np.zeros((1, 2), dtype=int), scores).round(3)
        array([[[2. , 0.4],
                [2. , 2. ]]])
        """
        answer = np.repeat(x[:, None], len(scores), axis=1)
        center = np.broadcast_to(self.density.loc, (len(self.log_weight), x.shape[1]))
        for present, rows in missing_patterns(x):
            missing = np.setdiff1d(np.arange(x.shape[1]), present)
            # Without gaps nothing is left to draw.
            for c in np.unique(label[rows]) if len(missing) else ():
                slope, root = self._gap(c, present, missing)
                row, draw = np.nonzero(label[rows] == c)
                shift = x[np.ix_(rows, present)] - center[c, present]
                mean = center[c, missing] + shift @ slope
                drawn = mean[row] + scores[draw, : len(missing)] @ root.T
                answer[rows[row][:, None], draw[:, None], missing] = drawn
        return answer

    def _gap(
        self, c: int, present: NDArray[np.intp], missing: NDArray[np.intp]
    ) -> tuple[Array, Array]:
        """Return the slopes of what is missing on what is present, and a root of what is left.

        Both for one class; independent features have no slopes.
        """
        k, d = len(self.log_weight), len(present) + len(missing)
        if isinstance(self.density, Normal | StudentT):
            scale = np.broadcast_to(self.density.scale, (k, d))[c, missing]
            return np.zeros((len(present), len(missing))), np.diag(scale)
        matrix = np.broadcast_to(self.density.form.dense(), (k, d, d))[c]
        slope, left = gap_regression(matrix, present, missing)
        return slope, cholesky(symmetrize(left)).lower

    def linear_discriminant(self) -> tuple[Array, Array]:
        """Return weights and intercepts of the classes, for normals of one covariance.

        Two classes: ``S^-1 (m_2 - m_1)`` and ``(m_1' S^-1 m_1 - m_2' S^-1 m_2) / 2`` plus the
        log ratio of their weights, shapes (1, d) and (1,). More: the same of each class
        alone, shapes (K, d) and (K,); their softmax is the posterior.
        """
        if not isinstance(self.density, Elliptical):
            raise TypeError(
                "linear_discriminant needs normal vectors that share one covariance; found "
                f"{type(self.density).__name__}. Use a tied covariance."
            )
        center, matrix = self.density.loc, self.density.form.dense()
        coef = cholesky(matrix.reshape(matrix.shape[-2:])).solve(center.T).T
        intercept = self.log_weight - 0.5 * (coef * center).sum(axis=1)
        if len(intercept) > 2:
            return coef, intercept
        return coef[1:] - coef[:1], intercept[1:] - intercept[:1]


def _joint_log_prob(
    density: MultivariateNormal | MultivariateStudentT, x: Array, k: int
) -> Array:
    """Return the log density of rows (n, d) in each of ``k`` classes, shape (n, k)."""
    centers = np.broadcast_to(density.loc, (k, x.shape[1]))
    form = density.form
    factor = form.factor if isinstance(form, DenseCovariance) else cholesky(form.dense())
    lower = factor.lower
    if lower.ndim == 3 and len(lower) == 1:
        lower = lower[0]
    return density.log_prob_at(mahalanobis_squares(x, centers, lower))


def _independent_log_prob(density: Normal | StudentT, x: Array, k: int) -> Array:
    """Return the log density of rows of independent numbers, shape (n, k); NaN adds nothing."""
    shape = (k, x.shape[1])
    answer = np.zeros((len(x), k))
    if isinstance(density, StudentT):
        steepness = 1.0 / (density.scale * np.sqrt(density.df))
        power, peak = 0.5 * (density.df + 1.0), density.log_prob(density.loc)
        location, steepness, power, peak = (
            np.broadcast_to(part, shape) for part in (density.loc, steepness, power, peak)
        )
        add_student_t(answer, x, (location, steepness, power, peak))
        return answer
    step = max(64, BLOCK_BYTES // (8 * k * x.shape[1]))
    for start in range(0, len(x), step):
        terms = density.log_prob(x[start : start + step, None, :])
        answer[start : start + step] = np.where(np.isnan(terms), 0.0, terms).sum(axis=-1)
    return answer

"""The joint distribution of a class and of a row whose density depends on the class.

``p(class, x) = p(class) p(x | class)``, which is all that a generative classifier knows: it
answers what class a row is of, how usual the row is, and what new rows would look like, also
where some entries of a row are missing.

Densities of vectors come from squared Mahalanobis distances of rows from the centers of all
classes; those of independent columns are summed; any other distribution is asked for its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from credo.distributions.categorical import random_index
from credo.distributions.distribution import Distribution
from credo.distributions.elliptical import DenseCovariance, Elliptical
from credo.distributions.independent_columns import IndependentColumns
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.multivariate_student_t import MultivariateStudentT
from credo.distributions.normal import LOG_ROOT_TWO_PI
from credo.distributions.student_t import StudentT
from credo.numerics.array import Array, as_float, has_missing
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import NotPositiveDefinite, cholesky, symmetrize
from credo.numerics.missing import GapBlock, gap_blocks, missing_patterns, present_precision
from credo.numerics.special.class_score import add_student_t
from credo.numerics.special.log_domain import log_normalize, log_sum_exp

__all__ = ["ClassConditional", "mahalanobis_squares"]

BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, eq=False)
class ClassConditional:
    """Weight of each class and density of its rows.

    Attributes
    ----------
    log_weight
        Log probability of each class, shape (..., K); it need not be normalized.
    density
        Density of a row in each class: a distribution of vectors, batch shape (..., K), or of
        independent numbers, (..., K, n_features). Leading axes are for `log_prob` alone.

    Examples
    --------
    >>> density = MultivariateNormal([[0.0, 0.0], [2.0, 2.0]], np.eye(2))
    >>> joint = ClassConditional(np.log([0.5, 0.5]), density)
    >>> np.exp(joint.log_posterior(np.array([[0.5, 0.5], [0.5, np.nan]]))).round(3)
    array([[0.881, 0.119],
           [0.731, 0.269]])
    """

    log_weight: Annotated[Array, Form("k", -np.inf)]
    density: Distribution

    def log_prob(self, x: ArrayLike) -> Array:
        """Return log weight plus log density in each class, shape (..., K); NaN gives NaN.

        Leading axes of rows (..., d), weights and densities broadcast; `log_joint` is for many
        rows, and for gaps.
        """
        terms = self.density.log_prob(as_float(x)[..., None, :])
        if not self.density.event_shape:
            terms = terms.sum(axis=-1)
        return np.asarray(self.log_weight + terms)

    def log_joint(self, x: Array) -> Array:
        """Return log weight plus log density of each row (n, d) in each class, shape (n, K).

        A NaN is a missing value and is integrated out.
        """
        density, k = self.density, len(self.log_weight)
        if isinstance(density, IndependentColumns):
            return self.log_weight + _parts_log_prob(density, x, k)
        if not isinstance(density, MultivariateNormal | MultivariateStudentT):
            return self.log_weight + _own_log_prob(density, x, k)
        if isinstance(density, MultivariateNormal) and has_missing(x):
            own = [self.log_own(x, np.full(len(x), c)) for c in range(k)]
            return np.stack(own, axis=1)
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

    def log_own(self, x: Array, label: NDArray[np.intp]) -> Array:
        """Return log weight plus log density of each row in one class of its own, shape (n,).

        Parameters
        ----------
        x
            Rows (n, d); a NaN is a missing value and is integrated out.
        label
            The class of each row, shape (n,).
        """
        answer, is_normal = np.empty(len(x)), isinstance(self.density, MultivariateNormal)
        has_gap = np.asarray(np.isnan(x).any(axis=1) & is_normal)
        whole = np.flatnonzero(~has_gap)
        answer[whole] = self.log_joint(x[whole])[np.arange(len(whole)), label[whole]]
        for c in np.unique(label[has_gap]):
            rows = np.flatnonzero(has_gap & (label == c))
            for block in gap_blocks(x[rows]):
                part = rows[block.rows]
                log_prob = _present_log_prob(*self._normal(c), x[part], block)
                answer[part] = self.log_weight[c] + log_prob
        return answer

    def _normal(self, c: int) -> tuple[Array, Array]:
        """Return center and covariance-like matrix of one class."""
        density: Any = self.density
        k, d = len(self.log_weight), density.loc.shape[-1]
        center = np.broadcast_to(density.loc, (k, d))[c]
        if isinstance(density, Elliptical):
            return center, np.broadcast_to(density.form.dense(), (k, d, d))[c]
        return center, np.diag(np.broadcast_to(density.scale, (k, d))[c] ** 2)

    def log_posterior(self, x: Array) -> Array:
        """Return the log probability of each class for each row, shape (n, K)."""
        log_joint = self.log_joint(x)
        # A sum of logarithms of this size would lose the differences between classes.
        with np.errstate(invalid="ignore"):
            return log_normalize(log_joint - log_joint.max(axis=1, keepdims=True))

    def log_marginal(self, x: Array) -> Array:
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
            Standard normal numbers, shape (n_draws, d) for all rows or (n, n_draws, d) for
            each. A row with ``m`` gaps takes the first ``m`` of each draw, and what is drawn
            for it depends on that row alone; so there may be fewer than ``d``.

        Examples
        --------
        >>> density = MultivariateNormal([[0.0, 0.0]], [[1.0, 0.6], [0.6, 1.0]])
        >>> joint = ClassConditional(np.zeros(1), density)
        >>> x, scores = np.array([[2.0, np.nan]]), np.array([[-1.0, 0.0], [1.0, 0.0]])
        >>> joint.completed(x, np.zeros((1, 2), dtype=int), scores).round(3)
        array([[[2. , 0.4],
                [2. , 2. ]]])
        """
        answer = np.repeat(x[:, None], scores.shape[-2], axis=1)
        n_scores = scores.shape[-1]
        for c in np.unique(label):
            rows = np.flatnonzero((label == c).any(axis=1))
            for block in gap_blocks(x[rows]):
                part = rows[block.rows]
                mean, root = _gap_normal(*self._normal(c), x[part], block)
                own = scores if scores.ndim == 2 else scores[part]
                drawn = mean[:, None] + own @ root.swapaxes(1, 2)[block.code, :n_scores]
                is_open = (label[part] == c)[..., None] & np.isnan(x[part])[:, None]
                answer[part] = np.where(is_open, drawn, answer[part])
        return answer

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


def _present_log_prob(center: Array, covariance: Array, x: Array, block: GapBlock) -> Array:
    """Return the log density of what rows of a block have, shape (n,)."""
    precision, log_det = present_precision(covariance, block.is_missing)
    shift = np.where(np.isnan(x), 0.0, x - center)
    distance = (block.product(shift, precision) * shift).sum(axis=1)
    constant = -0.5 * log_det - (~block.is_missing).sum(axis=1) * LOG_ROOT_TWO_PI
    return np.asarray(constant[block.code] - 0.5 * distance)


def _gap_normal(
    center: Array, covariance: Array, x: Array, block: GapBlock
) -> tuple[Array, Array]:
    """Return rows of a block with gaps at their means (n, d), and a root of what is left.

    Roots are by pattern; the row of a missing column has as many numbers as there are gaps,
    and then zeros.
    """
    precision, _ = present_precision(covariance, block.is_missing)
    shift = np.where(np.isnan(x), 0.0, x - center)
    mean = center + block.product(shift, precision) @ covariance
    is_left = block.is_missing[:, :, None] & block.is_missing[:, None, :]
    left = covariance - covariance @ precision @ covariance
    left = symmetrize(np.where(is_left, left, np.eye(len(center))))
    pattern = np.arange(len(left))[:, None]
    order = np.argsort(~block.is_missing, axis=1, kind="stable")
    root = np.empty_like(left)
    root[pattern, order] = _roots(left[pattern[..., None], order[..., None], order[:, None]])
    return mean, root


def _roots(matrices: Array) -> Array:
    """Return the lower factors of matrices (n, d, d), each as if it were alone."""
    try:
        return cholesky(matrices, largest_jitter=0.0).lower
    except NotPositiveDefinite:
        return np.stack([cholesky(matrix).lower for matrix in matrices])


def _parts_log_prob(density: IndependentColumns, x: Array, k: int) -> Array:
    """Return the log density of rows of independent parts, shape (n, k); gaps are silent."""
    silent = np.zeros(k)
    pairs = zip(density.parts, density.columns, strict=True)
    logs = [ClassConditional(silent, part).log_joint(x[:, list(own)]) for part, own in pairs]
    return np.asarray(sum(logs))


def _own_log_prob(density: Distribution, x: Array, k: int) -> Array:
    """Return the log density of rows under any distribution, shape (n, k).

    A missing number adds nothing; of vectors whose marginals are not known, all are needed.
    """
    if not density.event_shape:
        return _independent_log_prob(density, x, k)
    if has_missing(x):
        raise ValueError(
            f"rows must be complete for a density of {type(density).__name__}, whose missing "
            "values cannot be integrated out; found NaN. Fill them, or use a density of "
            "independent columns."
        )
    return np.broadcast_to(density.log_prob(x[:, None]), (len(x), k))


def _independent_log_prob(density: Distribution, x: Array, k: int) -> Array:
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


def mahalanobis_squares(x: Array, centers: Array, lower: Array) -> Array:
    """Return ``|L_k^-1 (x_i - c_k)|^2``, shape (n, K); not finite where squares overflow.

    Parameters
    ----------
    x
        Rows, shape (n, d).
    centers
        Shape (K, d).
    lower
        Cholesky factors of the covariances, shape (K, d, d), or one for all, (d, d).

    Examples
    --------
    >>> centers, lower = np.array([[0.0], [4.0]]), np.array([[[1.0]], [[2.0]]])
    >>> mahalanobis_squares(np.array([[2.0]]), centers, lower)
    array([[4., 1.]])
    """
    k, d = centers.shape
    # Rows are centered first: whitened coordinates of far-off rows would lose digits.
    origin = centers.mean(axis=0)
    # Of an upper triangle: rows of a lower one change places, and pivots of columns in other
    # units underflow.
    roots = np.linalg.inv(lower.swapaxes(-1, -2)).reshape(-1, d, d)
    offset = ((centers - origin)[:, None, :] @ roots)[:, 0, :]
    across = roots.transpose(1, 0, 2).reshape(d, -1)
    answer = np.empty((len(x), k))
    step = max(64, BLOCK_BYTES // (8 * max(k * d, 1)))
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            whitened = ((x[rows] - origin) @ across).reshape(-1, len(roots), d)
            shift = np.subtract(whitened, offset, out=whitened if len(roots) == k else None)
            np.einsum("ikj,ikj->ik", shift, shift, out=answer[rows])
    return answer

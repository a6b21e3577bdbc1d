"""Rows in classes with some labels or values missing, for expectation maximization.

The hidden part of a row is its class, if that is not known, and its missing values. Given a
belief its distribution is a mixture of normals: the responsibility of each class, and the
regression of what is missing on what is present. With ``e`` for the normal at the expected
mean and precision of a class, in the way of [ghahramani1994]_:

* log normalizer: ``log sum_k exp(E log p(k) + log e_k(present) + constants_k)``;
* expected row: the missing part at ``m_m + S_mp S_pp^-1 (x_p - m_p)``;
* expected scatter: that of expected rows, plus ``S_mm - S_mp S_pp^-1 S_pm`` for each row.

Where features are independent a missing value is simply absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from credo.distributions.class_conditional import ClassConditional
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.families.categorical import CategoricalStatistics
from credo.families.class_conditional import ClassConditionalBelief
from credo.families.class_statistics import ClassConditionalStatistics
from credo.families.multivariate_normal import MultivariateNormalStatistics
from credo.families.normal import NormalStatistics
from credo.inference.latent.expectation_maximization import Expectation
from credo.numerics.array import Array
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import symmetrize
from credo.numerics.missing import GapBlock, gap_blocks, present_precision

__all__ = ["IncompleteRows", "LatentClassProblem"]

Codes = NDArray[np.intp]
Knowledge = ClassConditionalBelief | ClassConditional


@dataclass(frozen=True, eq=False)
class IncompleteRows:
    """Rows with gaps, their classes where known, and their weights; ``a + b`` has both's rows.

    Attributes
    ----------
    x
        Shape (n, d); NaN is missing.
    label
        Class from 0 to ``n_classes - 1``, or -1 where it is not known, shape (n,).
    weight
        Shape (n,).
    n_classes
        Number of classes.
    """

    x: Annotated[Array, Form("n d", has_gaps=True)]
    label: Annotated[Codes, Form("n", -1)]
    weight: Annotated[Array, Form("n", 0.0)]
    n_classes: Annotated[int, Form(low=1)]

    def __add__(self, other: IncompleteRows) -> IncompleteRows:
        return IncompleteRows(
            np.concatenate([self.x, other.x]),
            np.concatenate([self.label, other.label]),
            np.concatenate([self.weight, other.weight]),
            self.n_classes,
        )

    def __getitem__(self, rows: NDArray[np.bool_]) -> IncompleteRows:
        return IncompleteRows(self.x[rows], self.label[rows], self.weight[rows], self.n_classes)

    def pooled(self) -> NormalStatistics:
        """Return weight, mean and scatter of each feature over all rows that have it."""
        return NormalStatistics.of(self.x, self.weight)


@dataclass(frozen=True, eq=False)
class LatentClassProblem:
    """A Gaussian class-conditional model of incomplete rows.

    Attributes
    ----------
    data
        The rows.
    covariance
        "full", "tied", "diagonal" or "spherical".
    prior
        What is believed before the data; None for maximum likelihood, which has no bound.
    floor, probability
        For maximum likelihood, the share of the pooled variance added to each variance, and
        known class probabilities.
    """

    data: IncompleteRows
    covariance: str
    prior: ClassConditionalBelief | None
    floor: float = 0.0
    probability: Array | None = None

    @property
    def size(self) -> float:
        """Total weight of the rows."""
        return float(self.data.weight.sum())

    @property
    def evidence_method(self) -> str:
        """Return "bound" for beliefs, "none" for maximum likelihood."""
        return "none" if self.prior is None else "bound"

    def start(self) -> Knowledge:
        """Return what the labeled rows say if features were independent."""
        data, k = self.data, self.data.n_classes
        known = data[data.label >= 0]
        apart = ClassConditionalStatistics.of(known.x, known.label, k, known.weight, False)
        if not self._is_joint:
            return self.update(apart)
        count, rows = apart.classes.counts, apart.rows
        pooled = data.pooled()
        usual = np.where(pooled.variance() > 0, pooled.variance(), 1.0)
        some = np.asarray(rows.weight) > 0
        variance = np.where(np.asarray(rows.scatter) > 0, rows.scatter, usual * rows.weight)
        variance = np.where(some, variance / np.where(some, rows.weight, 1.0), usual)
        scatter = (count[:, None] * variance)[..., None] * np.eye(data.x.shape[1])
        mean = np.where(some, rows.mean, pooled.mean)
        return self.update(
            ClassConditionalStatistics(
                apart.classes, MultivariateNormalStatistics(count, mean, scatter)
            )
        )

    def expect(self, belief: Knowledge) -> Expectation:
        """Return expected statistics of complete rows, and the log normalizer."""
        joint, constants = _expected(belief)
        row, label = self._pairs
        x = self.data.x[row]
        log_pair = joint.log_own(x, label) + _present_sum(x, constants[label])
        start = np.flatnonzero(np.diff(row, prepend=-1))
        log_row = np.logaddexp.reduceat(log_pair, start)
        # A known class has all the weight of its row, whatever the belief says.
        share = np.where(self.data.label[row] >= 0, 1.0, np.exp(log_pair - log_row[row]))
        statistics = self._statistics(joint, share * self.data.weight[row])
        return Expectation(statistics, float(self.data.weight @ log_row))

    def update(self, statistics: ClassConditionalStatistics) -> Knowledge:
        """Return the posterior, or the parameters of largest likelihood."""
        if self.prior is None:
            return statistics.maximum_likelihood(self.covariance, self.floor, self.probability)
        return self.prior.update(statistics)

    def penalty(self, belief: Knowledge) -> float:
        """Return the divergence of a belief from the prior; zero for parameters."""
        if self.prior is None or isinstance(belief, ClassConditional):
            return 0.0
        return belief.kl(self.prior)

    @property
    def _is_joint(self) -> bool:
        return self.covariance in ("full", "tied")

    @cached_property
    def _pairs(self) -> tuple[Codes, Codes]:
        """Rows and classes that may go together: one class if known, else all."""
        k = self.data.n_classes
        is_known = self.data.label >= 0
        row = np.repeat(np.arange(len(is_known)), np.where(is_known, 1, k))
        label = np.where(is_known[row], self.data.label[row], 0)
        label[~is_known[row]] = np.tile(np.arange(k), int((~is_known).sum()))
        return row, label

    @property
    def _pair_row(self) -> Codes:
        return self._pairs[0]

    @property
    def _pair_class(self) -> Codes:
        return self._pairs[1]

    def _statistics(self, joint: ClassConditional, weight: Array) -> ClassConditionalStatistics:
        k, label = self.data.n_classes, self._pair_class
        rows = self.data.x[self._pair_row]
        if not isinstance(joint.density, MultivariateNormal):
            return ClassConditionalStatistics.of(rows, label, k, weight, is_joint=False)
        extra = self._fill(rows, joint.density, weight)
        filled = MultivariateNormalStatistics.by_group(rows, label, k, weight)
        return ClassConditionalStatistics(
            CategoricalStatistics(np.bincount(label, weight, k).astype(np.float64)),
            MultivariateNormalStatistics(filled.weight, filled.mean, filled.scatter + extra),
        )

    def _fill(self, rows: Array, normal: MultivariateNormal, weight: Array) -> Array:
        """Write expected values into the gaps; return the scatter that is left about them."""
        k, d = self.data.n_classes, rows.shape[1]
        covariance = np.broadcast_to(normal.form.dense(), (k, d, d))
        center = np.broadcast_to(normal.loc, (k, d))
        extra = np.zeros((k, d, d))
        for c in range(k):
            own = np.flatnonzero(self._pair_class == c)
            for block in gap_blocks(rows[own]):
                pairs = own[block.rows]
                precision, _ = present_precision(covariance[c], block.is_missing)
                is_open = np.isnan(rows[pairs])
                shift = np.where(is_open, 0.0, rows[pairs] - center[c])
                expected = center[c] + block.product(shift, precision) @ covariance[c]
                rows[pairs] = np.where(is_open, expected, rows[pairs])
                extra[c] += _scatter_left(covariance[c], precision, weight[pairs], block)
        return extra


def _scatter_left(covariance: Array, precision: Array, weight: Array, block: GapBlock) -> Array:
    """Return the weighted sum over rows of the covariance of their gaps, shape (d, d)."""
    total = np.bincount(block.code, weight, len(precision))
    left = covariance - covariance @ precision @ covariance
    is_left = block.is_missing[:, :, None] & block.is_missing[:, None, :]
    return symmetrize((np.where(is_left, left, 0.0) * total[:, None, None]).sum(axis=0))


def _present_sum(x: Array, constants: Array) -> Array:
    """Return the constants of each row (n, d) summed over the features that it has."""
    return np.asarray(np.where(np.isnan(x), 0.0, constants).sum(axis=1))


def _expected(belief: Knowledge) -> tuple[ClassConditional, Array]:
    if isinstance(belief, ClassConditional):
        return belief, np.zeros((len(belief.log_weight), 1))
    return belief.expected()

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

import numpy as np
from numpy.typing import NDArray

from credo.distributions.class_conditional import ClassConditional
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.families.categorical import CategoricalStatistics
from credo.families.class_conditional import ClassConditionalBelief
from credo.families.class_statistics import ClassConditionalStatistics
from credo.families.multivariate_normal import MultivariateNormalStatistics
from credo.families.normal import NormalStatistics
from credo.inference.expectation_maximization import Expectation
from credo.numerics.array import Array
from credo.numerics.log_domain import log_sum_exp
from credo.numerics.missing import gap_regression, missing_patterns

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

    x: Array
    label: Codes
    weight: Array
    n_classes: int

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
        log_joint = joint.log_joint(self.data.x) + self._present_sum(constants)
        own = np.take_along_axis(log_joint, np.maximum(self.data.label, 0)[:, None], axis=1)
        is_known = self.data.label >= 0
        log_row = np.where(is_known, own[:, 0], log_sum_exp(log_joint, axis=1))
        # A known class has all the weight of its row, whatever the belief says.
        log_share = np.where(is_known[:, None], 0.0, log_joint - log_row[:, None])
        share = np.exp(log_share[self._pair_row, self._pair_class])
        statistics = self._statistics(joint, share * self.data.weight[self._pair_row])
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

    @cached_property
    def _gaps(self) -> list[tuple[Codes, Codes, dict[int, Codes]]]:
        """Present and missing columns of each pattern, and its pairs by class."""
        d, k = self.data.x.shape[1], self.data.n_classes
        first = np.searchsorted(self._pair_row, np.arange(len(self.data.x) + 1))
        answer = []
        for present, rows in missing_patterns(self.data.x):
            missing = np.setdiff1d(np.arange(d), present)
            if not len(missing):
                continue
            pairs = np.concatenate([np.arange(first[i], first[i + 1]) for i in rows])
            order = pairs[np.argsort(self._pair_class[pairs], kind="stable")]
            ends = np.cumsum(np.bincount(self._pair_class[pairs], minlength=k))
            parts = np.split(order, ends[:-1])
            answer.append((present, missing, {c: p for c, p in enumerate(parts) if len(p)}))
        return answer

    def _present_sum(self, constants: Array) -> Array:
        """Return the constants of each class summed over the features a row has, (n, K)."""
        if not constants.any():
            return np.zeros(())
        return np.asarray((~np.isnan(self.data.x)).astype(np.float64) @ constants.T)

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
        for present, missing, members in self._gaps:
            apart = np.ix_(missing, missing)
            for c, pairs in members.items():
                slope, left = gap_regression(covariance[c], present, missing)
                shift = rows[pairs[:, None], present] - center[c, present]
                rows[pairs[:, None], missing] = center[c, missing] + shift @ slope
                extra[c][apart] += weight[pairs].sum() * left
        return 0.5 * (extra + extra.swapaxes(-1, -2))


def _expected(belief: Knowledge) -> tuple[ClassConditional, Array]:
    if isinstance(belief, ClassConditional):
        return belief, np.zeros((1, 1))
    return belief.expected()

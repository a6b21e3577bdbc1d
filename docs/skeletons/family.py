"""Errors of an instrument with known mean zero: a skeleton for a new conjugate family.

The conjugate prior is the gamma, one independent copy per feature: ``x ~ N(0, 1 / r)``,
``r ~ Gamma(shape, rate)``; shape counts half the imagined errors, rate half their squares
[murphy2007]_.

Copy it to ``src/credo/families/<name>.py``, export both classes by lines in the stub of the
room, where the laws find their examples, and add a test that compares the evidence with
numerical integration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.gamma import Gamma
from credo.distributions.normal import Normal
from credo.distributions.parameter import positive, require
from credo.distributions.student_t import StudentT
from credo.families.belief import Belief
from credo.families.rows import as_label, as_rows, as_weight, weight_by_entry
from credo.families.statistics import Sums
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.linear.grouped import group_totals

__all__ = ["ErrorStatistics", "GammaError"]


@dataclass(frozen=True, eq=False)
class ErrorStatistics(Sums):
    """Weight and sum of squared errors, feature by feature.

    Attributes
    ----------
    weight
        Summed weight of the errors, shape (..., n_features).
    squares
        Weighted sum of their squares; the mean is known, so nothing is left to center.
    """

    weight: Array
    squares: Array

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving, with the rows that they summarize."""
        rows = np.random.default_rng(0).normal(size=(8, 2))
        return (Example(cls.of(rows), rows=rows),)

    @classmethod
    def of(cls, x: ArrayLike, weight: ArrayLike = 1.0) -> ErrorStatistics:
        """Summarize rows of errors; a NaN is missing and carries no weight."""
        rows = as_rows(x)
        values, weights = weight_by_entry(rows, as_weight(weight, len(rows)))
        return cls(weights.sum(axis=0), (weights * values**2).sum(axis=0))

    @classmethod
    def by_group(
        cls, x: ArrayLike, label: ArrayLike, k: int, weight: ArrayLike = 1.0
    ) -> ErrorStatistics:
        """Summarize each of ``k`` groups in one pass; arrays get a leading group axis."""
        rows = as_rows(x)
        n = len(rows)
        squares = rows.reshape(n, -1) ** 2
        sums = group_totals(squares, as_label(label, n, k), k, as_weight(weight, n))
        return cls(*(part.reshape(k, *rows.shape[1:]) for part in sums))

    def maximum_likelihood(self) -> Normal:
        """Return the observation distribution at the observed mean square."""
        squares = require(
            "squares",
            self.squares,
            lambda s: s > 0,
            "positive for maximum likelihood",
            "Use the mean of a belief, which is defined without data.",
        )
        return Normal(0.0, np.sqrt(squares / self.weight))


@dataclass(frozen=True, eq=False)
class GammaError(Belief):
    """Belief about the precision of errors; prior and posterior alike.

    Attributes
    ----------
    shape
        Half the imagined number of errors.
    rate
        Half the sum of their squares.

    Examples
    --------
    >>> belief = GammaError(1.0, 1.0).update(ErrorStatistics.of([[2.0], [-2.0]]))
    >>> belief.shape, belief.rate, belief.predictive().df
    (array([2.]), array([5.]), array([4.]))
    """

    shape: Array
    rate: Array
    learns_from: ClassVar[type[ErrorStatistics]] = ErrorStatistics

    def __init__(self, shape: ArrayLike, rate: ArrayLike) -> None:
        self._fill(shape=positive("shape", shape), rate=positive("rate", rate))

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return priors for the laws, and for saving, with statistics and rows."""
        data = ErrorStatistics.examples()[0].arguments
        return (Example(cls(1.5, 0.8), statistics=ErrorStatistics, **data),)

    def update(self, statistics: ErrorStatistics) -> GammaError:
        """Return the posterior; updating by parts equals updating by their sum."""
        return GammaError(
            self.shape + 0.5 * statistics.weight, self.rate + 0.5 * statistics.squares
        )

    def parameters(self) -> Gamma:
        """Return the belief as a distribution of the precision."""
        return Gamma(self.shape, self.rate)

    def mean(self) -> Normal:
        """Return the observation distribution at the mean precision."""
        return Normal(0.0, np.sqrt(self.rate / self.shape))

    def mode(self) -> Normal:
        """Return the observation distribution at the most probable precision."""
        excess = require(
            "shape - 1",
            self.shape - 1.0,
            lambda v: v > 0,
            "positive for the most probable precision to be positive",
            "Use mean(), or a prior with a shape above 1.",
        )
        return Normal(0.0, np.sqrt(self.rate / excess))

    def sample(self, rng: np.random.Generator, n: int | None = None) -> Normal:
        """Return the observation distribution at ``n`` drawn precisions."""
        return Normal(0.0, 1.0 / np.sqrt(self.parameters().sample(rng, n)))

    def predictive(self) -> StudentT:
        """Return the distribution of the next error."""
        return StudentT(2.0 * self.shape, 0.0, np.sqrt(self.rate / self.shape))

    def log_evidence(self, statistics: ErrorStatistics) -> Array:
        """Return the log density of the summarized data under this belief."""
        gain = self._log_normalizer() - self.update(statistics)._log_normalizer()
        return np.asarray(gain - 0.5 * statistics.weight * np.log(2 * np.pi))

    def expected_log_density(self, x: ArrayLike) -> Array:
        """Return the mean over this belief of ``log p(x | precision)``; NaN gives NaN."""
        log_precision = special.digamma(self.shape) - np.log(self.rate)
        squares = as_float(x) ** 2 * self.shape / self.rate
        return np.asarray(0.5 * (log_precision - np.log(2 * np.pi) - squares))

    def kl(self, other: GammaError) -> Array:
        """Return the divergence of ``other`` from this belief, in nats."""
        return self.parameters().kl(other.parameters())

    def _log_normalizer(self) -> Array:
        return np.asarray(self.shape * np.log(self.rate) - special.gammaln(self.shape))

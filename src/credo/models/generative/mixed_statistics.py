"""Additive statistics of rows whose columns are of several kinds, by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from credo.distributions.normal import Normal
from credo.families.bernoulli import BernoulliStatistics
from credo.families.categorical import CategoricalStatistics
from credo.families.normal import NormalStatistics
from credo.models.generative.category_count import CategoryCount
from credo.models.generative.column_kind import TypedRows
from credo.models.generative.mixed_predictive import MixedPredictive, log_arrangements, shares
from credo.numerics.array import Array
from credo.numerics.form import Form

__all__ = ["MixedStatistics", "maximum_likelihood"]

FLOOR = 1e-9
"""Least variance of a column in a class, as a share of its variance in all rows."""


@dataclass(frozen=True, eq=False)
class MixedStatistics:
    """All that naive Bayes keeps of its data; ``a + b`` is the pooled sample.

    Attributes
    ----------
    class_weight
        Summed weight of the rows of each class, shape (K,).
    numbers, binary, categories, words
        Statistics of Gaussian, Bernoulli and categorical columns and of counts, by class.
    log_arrangements
        Weighted sum of the log number of orders in which the words of a row can stand, (K,).
    """

    class_weight: Annotated[Array, Form("k", 0.0)]
    numbers: NormalStatistics
    binary: BernoulliStatistics
    categories: tuple[CategoryCount, ...]
    words: CategoricalStatistics
    log_arrangements: Annotated[Array, Form("k")]

    @classmethod
    def by_group(
        cls, rows: TypedRows, label: NDArray[np.intp], k: int, weight: Array
    ) -> MixedStatistics:
        """Summarize each of ``k`` groups in one pass over the rows."""
        words, arranged = _word_counts(rows, label, k, weight)
        return cls(
            np.bincount(label, weight, k).astype(np.float64),
            NormalStatistics.by_group(rows.numbers, label, k, weight),
            BernoulliStatistics.by_group(rows.binary, label, k, weight),
            tuple(CategoryCount.by_group(c, label, k, weight) for c in rows.categories),
            words,
            arranged,
        )

    def __add__(self, other: MixedStatistics) -> MixedStatistics:
        return MixedStatistics(
            self.class_weight + other.class_weight,
            self.numbers + other.numbers,
            self.binary + other.binary,
            tuple(a + b for a, b in zip(self.categories, other.categories, strict=True)),
            self.words + other.words,
            self.log_arrangements + other.log_arrangements,
        )

    def __getitem__(self, groups: Any) -> MixedStatistics:
        """Return the statistics of some groups."""
        return MixedStatistics(
            self.class_weight[groups],
            self.numbers[groups],
            self.binary[groups],
            tuple(part[groups] for part in self.categories),
            self.words[groups],
            self.log_arrangements[groups],
        )


def _word_counts(
    rows: TypedRows, label: NDArray[np.intp], k: int, weight: Array
) -> tuple[CategoricalStatistics, Array]:
    """Return word counts and log arrangements by group; rows with a gap have no weight."""
    if rows.counts.shape[1] == 0:
        return CategoricalStatistics(np.zeros((k, 0))), np.zeros(k)
    kept = np.where(rows.is_counted, weight, 0.0)
    member = sparse.csr_array((kept, (label, np.arange(len(rows)))), shape=(k, len(rows)))
    arranged = np.bincount(label, kept * log_arrangements(rows.counts), k)
    words = CategoricalStatistics((member @ rows.counts).toarray())
    return words, arranged.astype(np.float64)


def maximum_likelihood(statistics: MixedStatistics) -> MixedPredictive:
    """Return the distribution at the observed frequencies, means and variances.

    Where nothing was seen of a class, shares are even and numbers as in all rows; a variance
    is at least `FLOOR` of the pooled one.
    """
    binary, numbers, pooled = statistics.binary, statistics.numbers, statistics.numbers.pooled()
    usual = pooled.usual_variance()
    variance = np.where(numbers.weight > 0, numbers.variance(), usual)
    floored = np.maximum(variance, np.where(pooled.is_constant(), 1.0, FLOOR) * usual)
    return MixedPredictive(
        shares(statistics.class_weight),
        Normal(np.where(numbers.weight > 0, numbers.mean, pooled.mean), np.sqrt(floored)),
        shares(np.stack([binary.successes, binary.failures], axis=-1))[..., 0],
        tuple(shares(part.statistics.counts) for part in statistics.categories),
        shares(statistics.words.counts) if statistics.words.counts.shape[-1] else None,
    )

"""Statistics of rows in classes: how heavy each class is, and what its rows look like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions.class_conditional import ClassConditional
from credo.distributions.normal import Normal
from credo.families.categorical import CategoricalStatistics
from credo.families.multivariate_normal import MultivariateNormalStatistics
from credo.families.normal import NormalStatistics
from credo.families.rows import as_weight
from credo.numerics.array import Array

__all__ = ["ClassConditionalStatistics"]

Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ClassConditionalStatistics:
    """Weight of each class and statistics of its rows; ``a + b`` pools, ``a - b`` forgets.

    Attributes
    ----------
    classes
        Weight of each class, shape (K,).
    rows
        Statistics of the rows of each class, batch shape (K,).
    """

    classes: CategoricalStatistics
    rows: MultivariateNormalStatistics | NormalStatistics

    @classmethod
    def by_group(
        cls,
        x: ArrayLike,
        label: Codes,
        shape: tuple[int, int],
        weight: ArrayLike = 1.0,
        is_joint: bool = True,
    ) -> tuple[ClassConditionalStatistics, ...]:
        """Summarize every class of every group of rows in one pass.

        Parameters
        ----------
        label
            ``group * n_classes + class`` of each row.
        shape
            Number of groups and of classes.
        is_joint
            Whether to keep the products of features, which a full covariance needs.
        """
        n_groups, k = shape
        kind = MultivariateNormalStatistics if is_joint else NormalStatistics
        rows = kind.by_group(x, label, n_groups * k, weight)
        weights = as_weight(weight, len(label))
        counts = np.bincount(label, weights, n_groups * k).reshape(n_groups, k)
        return tuple(
            cls(CategoricalStatistics(counts[g]), rows[g * k : (g + 1) * k])
            for g in range(n_groups)
        )

    @classmethod
    def of(
        cls,
        x: ArrayLike,
        label: Codes,
        k: int,
        weight: ArrayLike = 1.0,
        is_joint: bool = True,
    ) -> ClassConditionalStatistics:
        """Summarize each of ``k`` classes in one pass.

        Examples
        --------
        >>> both = ClassConditionalStatistics.of([[1.0], [5.0], [3.0]], np.array([0, 1, 0]), 2)
        >>> both.classes.counts, both.rows.mean.ravel()
        (array([2., 1.]), array([2., 5.]))
        """
        return cls.by_group(x, label, (1, k), weight, is_joint)[0]

    def __add__(self, other: ClassConditionalStatistics) -> ClassConditionalStatistics:
        rows: Any = self.rows
        return ClassConditionalStatistics(self.classes + other.classes, rows + other.rows)

    def __sub__(self, other: ClassConditionalStatistics) -> ClassConditionalStatistics:
        rows: Any = self.rows
        return ClassConditionalStatistics(self.classes - other.classes, rows - other.rows)

    def pooled(self) -> NormalStatistics:
        """Return weight, mean and scatter of each feature, all classes together."""
        pooled = self.rows.pooled()
        if isinstance(pooled, NormalStatistics):
            return pooled
        return NormalStatistics(
            np.broadcast_to(pooled.weight, pooled.mean.shape),
            pooled.mean,
            np.diagonal(pooled.scatter),
        )

    def maximum_likelihood(
        self, covariance: str, floor: float = 0.0, probability: Array | None = None
    ) -> ClassConditional:
        """Return class frequencies and the normal of each class at observed moments.

        Parameters
        ----------
        covariance
            "full", "tied", "diagonal" or "spherical".
        floor
            Share of the pooled variance of each feature that is added to its variance.
        probability
            Known probabilities of the classes; their frequencies if None.
        """
        share = self.classes.counts / max(float(self.classes.weight), 1e-300)
        with np.errstate(divide="ignore"):
            log_share = np.log(share if probability is None else probability)
        lifted = self.lifted(floor).rows
        if isinstance(lifted, MultivariateNormalStatistics):
            is_tied = covariance == "tied"
            density = (
                lifted.tied_maximum_likelihood() if is_tied else lifted.maximum_likelihood()
            )
            return ClassConditional(log_share, density)
        if covariance == "diagonal":
            return ClassConditional(log_share, lifted.maximum_likelihood())
        return ClassConditional(log_share, _spherical(lifted))

    def lifted(self, floor: float) -> ClassConditionalStatistics:
        """Return statistics whose variances are larger by a share of the pooled ones."""
        if floor == 0:
            return self
        extra = floor * self.pooled().usual_variance()
        rows = self.rows
        if isinstance(rows, NormalStatistics):
            scatter = rows.scatter + rows.weight * extra
            return ClassConditionalStatistics(
                self.classes, NormalStatistics(rows.weight, rows.mean, scatter)
            )
        scatter = rows.scatter + rows.weight[:, None, None] * np.diag(extra)
        return ClassConditionalStatistics(
            self.classes, MultivariateNormalStatistics(rows.weight, rows.mean, scatter)
        )


def _spherical(rows: NormalStatistics) -> Normal:
    """Return the normals whose features share the variance that is the mean of theirs."""
    pooled = NormalStatistics(
        rows.weight.sum(axis=-1, keepdims=True),
        rows.mean,
        rows.scatter.sum(axis=-1, keepdims=True),
    )
    return pooled.maximum_likelihood()

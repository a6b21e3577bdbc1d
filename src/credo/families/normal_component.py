"""Components that are normal: priors by the kind of covariance, and what fills their gaps."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from credo.distributions.class_conditional import ClassConditional
from credo.families.belief import Belief
from credo.families.component import ComponentStatistics
from credo.families.multivariate_normal import (
    MultivariateNormalStatistics,
    NormalInverseWishart,
    TiedNormalInverseWishart,
)
from credo.families.normal import (
    NormalInverseGamma,
    NormalStatistics,
    SphericalNormalInverseGamma,
)
from credo.families.product import Product
from credo.numerics.array import Array, has_missing

__all__ = [
    "COVARIANCES",
    "NormalBelief",
    "expected_normal",
    "has_hidden_values",
    "is_normal_vector",
    "lifted",
    "pooled_features",
    "row_parts",
    "weak_belief",
]

NormalBelief = (
    NormalInverseWishart
    | TiedNormalInverseWishart
    | NormalInverseGamma
    | SphericalNormalInverseGamma
)

COVARIANCES: Mapping[str, Any] = MappingProxyType(
    {
        "full": NormalInverseWishart,
        "tied": TiedNormalInverseWishart,
        "diagonal": NormalInverseGamma,
        "spherical": SphericalNormalInverseGamma,
    }
)
"""Belief about class-wise normals, by the kind of their covariance."""


def weak_belief(covariance: str, pooled: NormalStatistics, n_classes: int) -> NormalBelief:
    """Return a prior about the normals of the classes, in the units of the data.

    Each class mean is near the pooled one, and each class variance near the pooled one, with
    about the weight of one observation or less.
    """
    belief: NormalBelief
    if covariance in ("diagonal", "spherical"):
        belief = COVARIANCES[covariance].weak(pooled)
        return belief
    weight, scatter = pooled.weight.max(initial=0.0), np.diag(pooled.variance())
    alike = MultivariateNormalStatistics(np.asarray(weight), pooled.mean, weight * scatter)
    if covariance == "tied":
        d = len(pooled.mean)
        alike = MultivariateNormalStatistics(
            np.full(n_classes, weight),
            np.broadcast_to(alike.mean, (n_classes, d)),
            np.broadcast_to(alike.scatter, (n_classes, d, d)),
        )
    belief = COVARIANCES[covariance].weak(alike)
    return belief


def pooled_features(statistics: ComponentStatistics) -> NormalStatistics:
    """Return weight, mean and scatter of each feature, all classes together."""
    rows: Any = statistics.rows
    pooled = rows.pooled()
    if isinstance(pooled, NormalStatistics):
        return pooled
    return NormalStatistics(
        np.broadcast_to(pooled.weight, pooled.mean.shape),
        pooled.mean,
        np.diagonal(pooled.scatter),
    )


def lifted(statistics: ComponentStatistics, floor: float) -> ComponentStatistics:
    """Return statistics whose variances are larger by a share of the pooled ones."""
    if floor == 0:
        return statistics
    extra = floor * pooled_features(statistics).usual_variance()
    rows: Any = statistics.rows
    if isinstance(rows, NormalStatistics):
        scatter = rows.scatter + rows.weight * extra
    else:
        scatter = rows.scatter + rows.weight[:, None, None] * np.diag(extra)
    return ComponentStatistics(statistics.classes, type(rows)(rows.weight, rows.mean, scatter))


def is_normal_vector(rows: Belief) -> bool:
    """Return whether features depend on each other, so that gaps are filled."""
    return isinstance(rows, NormalInverseWishart | TiedNormalInverseWishart)


def row_parts(rows: Belief, n_columns: int) -> tuple[tuple[Belief, list[int]], ...]:
    """Return the parts of rows that are independent, each with its columns."""
    if not isinstance(rows, Product):
        return ((rows, list(range(n_columns))),)
    return tuple(zip(rows.parts, map(list, rows.columns), strict=True))


def has_hidden_values(rows: Belief, x: Array) -> bool:
    """Return whether rows (n, d) have gaps in normal vectors, where they are hidden values."""
    return any(
        is_normal_vector(part) and has_missing(x[:, columns])
        for part, columns in row_parts(rows, x.shape[1])
    )


def expected_normal(rows: Belief) -> ClassConditional:
    """Return what has the expected log density of what is there of a row, for each class.

    ``E log p(x | class) = log_joint(x)``: normals at the expected mean and precision, whose
    weights hold the constants.
    """
    vectors: Any = rows
    each = vectors.groups() if isinstance(rows, TiedNormalInverseWishart) else vectors
    normal = each.expected_precision()
    offset = each.expected_log_density(each.location) - normal.log_prob(each.location)
    return ClassConditional(offset, normal)

"""Components that are normal: priors by the kind of covariance, and what fills their gaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
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
    "mixture_belief",
    "pooled_features",
    "row_parts",
    "share_terms",
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


def mixture_belief(
    covariance: str, pooled: NormalStatistics, n_components: int, is_point: bool = True
) -> NormalBelief:
    """Return a weak prior about the components of a mixture, in the units of the data.

    As for classes, but components divide the volume of the data: variances are about
    ``pooled / K^(2 / d)``. For the most probable parameters a mean is worth a hundredth of a
    row [fraley2007]_. For a belief, in which a prior that is too wide speaks against every
    component, means vary as rows do, and matrices have ``2 d + 2`` degrees of freedom: with the
    fewest, ``d + 2``, a few rows of many columns are a component of their own.
    """
    belief: Any = weak_belief(covariance, pooled, n_components)
    d = len(pooled.mean)
    shrink = float(n_components) ** (-2.0 / max(d, 1))
    scale = {"rate": shrink, "scale_matrix": shrink}
    if not is_point:
        scale["strength"] = shrink / 0.01
        # The expected covariance, scale_matrix / (df - d - 1), stays as it is.
        scale["df"] = (2.0 * d + 2.0) / (d + 2.0)
        scale["scale_matrix"] = shrink * (d + 1.0)
    values = {
        part.name: np.asarray(getattr(belief, part.name) * scale.get(part.name, 1.0))
        for part in fields(belief)
    }
    found: NormalBelief = belief._rebuild(batch_shape=belief.batch_shape, **values)
    return found


def share_terms(rows: Belief, knowledge: Any) -> tuple[Array, Array, Array]:
    """Return offsets (K,), centers (K, d) and roots of the log joint density of normal rows.

    ``log p(k, x) = offset_k - |root_k^-1 (x - center_k)|^2 / 2``, or its expectation under a
    belief; roots are lower factors (K, d, d), or standard deviations (K, d) where columns are
    independent.
    """
    is_vector = is_normal_vector(rows)
    if isinstance(knowledge, ClassConditional):
        density: Any = knowledge.density
        peak = np.asarray(density.log_prob(density.loc))
        offset = knowledge.log_weight + (peak if density.event_shape else peak.sum(axis=-1))
        k, d = len(offset), density.loc.shape[-1]
        center = np.broadcast_to(density.loc, (k, d))
        if is_vector:
            lower = density.form.factor.lower
            return offset, center, np.broadcast_to(lower, (k, d, d))
        if density.event_shape:
            square = np.diagonal(density.form.dense(), axis1=-2, axis2=-1)
            return offset, center, np.broadcast_to(np.sqrt(square), (k, d))
        return offset, center, np.broadcast_to(density.scale, (k, d))
    belief: Any = knowledge.rows
    log_class = knowledge.classes.expected_log_density(np.arange(knowledge.n_classes))
    if is_vector:
        joint = expected_normal(belief)
        offset, center, lower = share_terms(rows, joint)
        return log_class + offset, center, lower
    center = belief.location
    about = belief.row_total(belief.expected_log_density(center))
    variance = belief.rate / belief.shape
    if belief.is_joint:
        variance = variance[..., None]
    return log_class + about, center, np.broadcast_to(np.sqrt(variance), center.shape)


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

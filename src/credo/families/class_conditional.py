"""Normal rows in classes: class frequencies and class-wise normals, learned side by side.

The class of a row has unknown (or known) probabilities, and given its class the row is normal
with a covariance of one of four kinds; what is believed about the two is independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from credo.distributions.categorical import Categorical
from credo.distributions.class_conditional import ClassConditional
from credo.distributions.normal import Normal
from credo.families.categorical import DirichletCategorical
from credo.families.class_statistics import ClassConditionalStatistics
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
from credo.numerics.array import Array

__all__ = ["COVARIANCES", "ClassConditionalBelief", "NormalBelief", "weak_belief"]

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


@dataclass(frozen=True, eq=False)
class ClassConditionalBelief:
    """Belief about class probabilities and about the normal of each class.

    Attributes
    ----------
    classes
        Belief about the probabilities of the classes, or their known probabilities.
    rows
        Belief about means and covariances.

    Examples
    --------
    >>> prior = ClassConditionalBelief(
    ...     DirichletCategorical([1.0, 1.0]), NormalInverseGamma([0.0], 1.0, 1.0, 1.0)
    ... )
    >>> x, label = [[1.0], [5.0], [3.0]], np.array([0, 1, 0])
    >>> seen = ClassConditionalStatistics.of(x, label, 2, is_joint=False)
    >>> prior.update(seen).rows.location.ravel().round(4)
    array([1.3333, 2.5   ])
    """

    classes: DirichletCategorical | Categorical
    rows: NormalBelief

    def update(self, statistics: ClassConditionalStatistics) -> ClassConditionalBelief:
        """Return the posterior; updating by parts equals updating by their sum."""
        rows: Any = self.rows
        classes = self.classes
        if isinstance(classes, DirichletCategorical):
            classes = classes.update(statistics.classes)
        return ClassConditionalBelief(classes, rows.update(statistics.rows))

    def log_evidence(self, statistics: ClassConditionalStatistics) -> float:
        """Return the log density of all rows and classes, in the order they came."""
        rows: Any = self.rows
        about_rows = float(np.sum(rows.log_evidence(statistics.rows)))
        if isinstance(self.classes, DirichletCategorical):
            return about_rows + float(self.classes.log_evidence(statistics.classes))
        seen = statistics.classes.counts > 0
        logs = np.log(self.classes.probability[seen])
        return about_rows + float(statistics.classes.counts[seen] @ logs)

    def predictive(self) -> ClassConditional:
        """Return the distribution of the next class and row, parameters integrated out."""
        classes = self.classes
        if isinstance(classes, DirichletCategorical):
            classes = classes.predictive()
        return _joint(classes, self.rows.predictive())

    def sample(self, rng: np.random.Generator, n: int) -> dict[str, Array]:
        """Return ``n`` draws of "class_probability", "mean" and "covariance" of each class."""
        classes, (k, d) = self.classes, self.rows.location.shape
        normal = self.rows.sample(rng, n)
        covariance = (
            normal.scale[..., None] ** 2 * np.eye(d)
            if isinstance(normal, Normal)
            else normal.covariance()
        )
        if isinstance(classes, DirichletCategorical):
            classes = classes.sample(rng, n)
        return {
            "class_probability": np.broadcast_to(classes.probability, (n, k)),
            "mean": normal.loc,
            "covariance": np.broadcast_to(covariance, (n, k, d, d)),
        }

    def mode(self) -> ClassConditional:
        """Return the joint distribution at the most probable parameters."""
        classes = self.classes
        if isinstance(classes, DirichletCategorical):
            classes = classes.mode()
        return _joint(classes, self.rows.mode())

    def expected(self) -> tuple[ClassConditional, Array]:
        """Return what has the expected log density of a class and row, but for constants.

        ``E log p(class, x) = joint.log_joint(x) + constants``, summed over the features that
        are present; shape (K, n_features), or (K, 1) if they are in the weights already.
        """
        rows = self.rows
        log_weight = _expected_log_probability(self.classes)
        if isinstance(rows, NormalInverseWishart | TiedNormalInverseWishart):
            each = rows.groups() if isinstance(rows, TiedNormalInverseWishart) else rows
            normal = each.expected_precision()
            offset = each.expected_log_density(each.location) - normal.log_prob(each.location)
            return ClassConditional(log_weight + offset, normal), np.zeros((len(offset), 1))
        if isinstance(rows, SphericalNormalInverseGamma):
            rows = NormalInverseGamma(
                rows.location, rows.strength, rows.shape[..., None], rows.rate[..., None]
            )
        plain = Normal(rows.location, np.sqrt(rows.rate / rows.shape))
        constants = rows.expected_log_density(rows.location) - plain.log_prob(rows.location)
        return ClassConditional(log_weight, plain), constants

    def kl(self, other: ClassConditionalBelief) -> float:
        """Return the divergence of ``other`` from this belief, in nats."""
        rows: Any = self.rows
        about_rows = float(np.sum(rows.kl(other.rows)))
        if isinstance(self.classes, Categorical) or isinstance(other.classes, Categorical):
            return about_rows
        return about_rows + float(self.classes.kl(other.classes))


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


def _joint(classes: Categorical, density: Any) -> ClassConditional:
    with np.errstate(divide="ignore"):
        return ClassConditional(np.log(classes.probability), density)


def _expected_log_probability(classes: DirichletCategorical | Categorical) -> Array:
    if isinstance(classes, DirichletCategorical):
        return classes.expected_log_density(np.arange(classes.concentration.shape[-1]))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(classes.probability))

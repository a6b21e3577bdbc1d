"""Mixtures of normals by gradient: free numbers for weights, means and covariances.

Weights are a softmax, covariances products of triangles, so that every vector of free numbers
is a mixture. By Fisher's identity the gradient of the log density of rows is that of the
expected complete log density; so one E step gives both, and with ``n_k``, ``m_k``, ``C_k`` for
weight, mean and scatter about the center ``c_k`` of a component,

    ``d/dc = n S^-1 (m - c)``,  ``d/dS = (S^-1 C S^-1 - n S^-1) / 2``.

A prior adds its own counts to these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credo.distributions.class_conditional import ClassConditional
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.normal import Normal
from credo.families.multivariate_normal import TiedNormalInverseWishart
from credo.families.normal import NormalStatistics, SphericalNormalInverseGamma
from credo.inference.engine.engine import Account, Inference, Move
from credo.inference.latent.latent_class import LatentClassProblem
from credo.numerics.array import Array
from credo.numerics.optimize.constraint import FreeCovariance, FreeSimplex
from credo.numerics.optimize.difference import separate
from credo.numerics.optimize.minimum import Termination
from credo.numerics.optimize.quasi_newton import lbfgs

__all__ = ["FreeMixture", "descended"]


@dataclass(frozen=True, eq=False)
class FreeMixture:
    """Minus the log density of rows and parameters, as a function of free numbers.

    Attributes
    ----------
    problem
        Normal rows in hidden classes, to be explained by the most probable or likeliest
        parameters.
    """

    problem: LatentClassProblem

    @cached_property
    def unit(self) -> Array:
        """Spread of each column, in which free numbers are of about one size."""
        return np.sqrt(self.problem.data.pooled().usual_variance())

    @cached_property
    def origin(self) -> Array:
        """Mean of each column."""
        return np.asarray(self.problem.data.pooled().mean)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.problem.data.n_classes, self.problem.data.x.shape[1]

    @cached_property
    def _kind(self) -> str:
        rows = self.problem.prior.rows
        if isinstance(rows, TiedNormalInverseWishart):
            return "tied"
        if isinstance(rows, SphericalNormalInverseGamma):
            return "spherical"
        return "full" if rows.is_joint else "diagonal"

    def free(self, joint: ClassConditional) -> Array:
        """Return the free numbers of a mixture."""
        k, d = self._shape
        density: Any = joint.density
        center = (np.broadcast_to(density.loc, (k, d)) - self.origin) / self.unit
        spread = self._covariance(density) / (self.unit[:, None] * self.unit)
        variance = np.diagonal(spread, axis1=-2, axis2=-1)
        weight = FreeSimplex.free(np.maximum(np.exp(joint.log_weight), 1e-12))
        if self._kind == "full":
            last = np.concatenate([FreeCovariance.free(one) for one in spread])
        elif self._kind == "tied":
            last = FreeCovariance.free(spread[0])
        elif self._kind == "diagonal":
            last = 0.5 * np.log(variance).ravel()
        else:
            last = 0.5 * np.log(variance[:, 0])
        return np.concatenate([weight, center.ravel(), last])

    def joint(self, free: Array) -> ClassConditional:
        """Return the mixture of free numbers."""
        k, d = self._shape
        log_weight = np.log(FreeSimplex.constrain(free[:k]))
        center = self.origin + self.unit * free[k : k + k * d].reshape(k, d)
        last = free[k + k * d :]
        unit = self.unit[:, None] * self.unit
        density: Any
        if self._kind == "full":
            spread = np.stack([FreeCovariance.constrain(one) for one in last.reshape(k, -1)])
            density = MultivariateNormal(center, spread * unit)
        elif self._kind == "tied":
            density = MultivariateNormal(center, (FreeCovariance.constrain(last) * unit)[None])
        elif self._kind == "diagonal":
            density = Normal(center, np.exp(last).reshape(k, d) * self.unit)
        else:
            variance = np.exp(2.0 * last)[:, None] * self.unit[0] ** 2
            density = MultivariateNormal(center, variance[..., None] * np.eye(d))
        return ClassConditional(log_weight, density)

    def value_and_gradient(self, free: Array) -> tuple[float, Array]:
        """Return minus the log density, and its gradient, at free numbers."""
        k, d = self._shape
        joint = self.joint(free)
        expectation = self.problem.expect(joint)
        value = self.problem.penalty(joint) - expectation.log_normalizer
        counts = expectation.statistics.classes.counts + self._pseudo_counts
        weight = np.exp(joint.log_weight)
        by_weight = counts - counts.sum() * weight
        slope, curve = self._slopes(joint, expectation.statistics.rows)
        unit = self.unit[:, None] * self.unit
        last = free[k + k * d :]
        if self._kind == "full":
            pairs = zip(last.reshape(k, -1), curve * unit, strict=True)
            by_spread = np.concatenate([FreeCovariance.pull_back(*pair) for pair in pairs])
        elif self._kind == "tied":
            by_spread = FreeCovariance.pull_back(last, curve.sum(axis=0) * unit)
        else:
            # The derivative by the log of a standard deviation is twice that by the log of v.
            by_variance = np.diagonal(curve, axis1=-2, axis2=-1)
            variance = np.diagonal(self._covariance(joint.density), axis1=-2, axis2=-1)
            by_log = 2.0 * by_variance * variance
            by_spread = by_log.ravel() if self._kind == "diagonal" else by_log.sum(axis=1)
        gradient = np.concatenate([by_weight, (slope * self.unit).ravel(), by_spread])
        return float(value), -gradient

    def _slopes(self, joint: ClassConditional, rows: Any) -> tuple[Array, Array]:
        """Return derivatives of the log density by means (K, d) and covariances (K, d, d)."""
        k, d = self._shape
        density: Any = joint.density
        center = np.broadcast_to(density.loc, (k, d))
        precision = np.linalg.inv(self._covariance(density))
        if isinstance(rows, NormalStatistics):
            count, scatter = rows.weight, rows.scatter[..., None] * np.eye(d)
        else:
            count, scatter = np.broadcast_to(rows.weight[:, None], (k, d)), rows.scatter
        away = rows.mean - center
        pull = count * away
        scatter = scatter + np.sqrt(count[..., None] * count[:, None]) * (
            away[..., None] * away[:, None]
        )
        if self.problem.has_prior:
            extra, more, draw = self._pseudo_rows(center)
            count, scatter, pull = count + extra, scatter + more, pull + draw
        slope = (precision @ pull[..., None])[..., 0]
        curve = 0.5 * (precision @ scatter @ precision)
        # Counts differ by column only where the covariance is diagonal.
        return slope, curve - 0.5 * np.sqrt(count[..., None] * count[:, None]) * precision

    def _pseudo_rows(self, center: Array) -> tuple[Array, Array, Array]:
        """Return counts (K, d), scatter (K, d, d) and pull (K, d) that the prior adds."""
        k, d = self._shape
        rows: Any = self.problem.prior.rows
        away = rows.location - center
        if self._kind in ("full", "tied"):
            strength = np.broadcast_to(rows.strength, (k,))[:, None]
            more = strength[..., None] * away[..., None] * away[:, None]
            if self._kind == "full":
                more = more + rows.scale_matrix
                extra = np.broadcast_to((rows.df + d + 2.0)[:, None], (k, d))
            else:
                # Shared out evenly, since the derivatives of all components are summed.
                more = more + rows.scale_matrix / k
                extra = np.full((k, d), (float(rows.df) + d + 1.0 + k) / k)
            return extra, more, strength * away
        if self._kind == "diagonal":
            extra, rate = 2.0 * rows.shape + 3.0, rows.rate
        else:
            extra = np.broadcast_to((2.0 * rows.shape + 2.0 + d)[:, None] / d, (k, d))
            rate = np.broadcast_to(rows.rate[:, None] / d, (k, d))
        square = 2.0 * rate + rows.strength * away**2
        return extra, square[..., None] * np.eye(d), rows.strength * away

    @property
    def _pseudo_counts(self) -> Array:
        classes: Any = self.problem.prior.classes
        if not self.problem.has_prior:
            return np.zeros(self._shape[0])
        return np.asarray(classes.concentration - 1.0)

    def _covariance(self, density: Any) -> Array:
        k, d = self._shape
        if density.event_shape:
            return np.broadcast_to(density.form.dense(), (k, d, d))
        variance = np.broadcast_to(density.scale, (k, d)) ** 2
        return np.asarray(variance[..., None] * np.eye(d))


def descended(
    problem: LatentClassProblem,
    start: ClassConditional,
    note: Callable[[ClassConditional], None] = lambda joint: None,
    max_steps: int = 2000,
) -> Inference:
    """Return the mixture at a minimum of minus the log density, by quasi-Newton steps.

    Parameters
    ----------
    start
        Where to begin.
    note
        Called with every mixture that is looked at.
    """
    mixture = FreeMixture(problem)

    def looked_at(free: Array) -> tuple[float, Array]:
        note(mixture.joint(free))
        return mixture.value_and_gradient(free)

    value, gradient = separate(looked_at)
    rule = Termination(max_steps=max_steps)
    found = lbfgs(value, gradient, mixture.free(start), termination=rule)
    trace = tuple(Move(-info.value, float("nan")) for info in found.trace)
    account = Account("quasi-Newton descent", False, float("nan"), "unknown")
    return Inference(mixture.joint(found.x), status=found.status, trace=trace, account=account)

"""A Gaussian factor of a few real variables in canonical form, and the algebra of such."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.normal import LOG_ROOT_TWO_PI
from credo.graphs.gaussian.canonical import Canonical
from credo.graphs.node.linear_gaussian import GaussianNode
from credo.graphs.variable import UnknownVariable, nearest
from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import cholesky

__all__ = ["GaussianFactor", "node_form", "places"]


@dataclass(frozen=True, eq=False)
class GaussianFactor:
    """A function of real variables, ``exp(log_scale + shift'x - x' precision x / 2)``.

    The precision may be singular, as that of a conditional density is: then the factor has no
    moments, but it can be multiplied until it has.

    Attributes
    ----------
    names
        Variables in the order of the axes; matched by name in products.
    precision, shift, log_scale
        ``K`` (d, d), ``h`` (d,) and ``g`` of the canonical form.

    Examples
    --------
    >>> prior = GaussianFactor(("x",), [[1.0]], [0.0])
    >>> reading = GaussianFactor(("x", "y"), [[4.0, -2.0], [-2.0, 1.0]], [0.0, 0.0])
    >>> posterior = (prior * reading).restrict({"y": 2.0}).normal()
    >>> posterior.mean(), posterior.covariance()
    (array([0.8]), array([[0.2]]))
    """

    names: tuple[str, ...]
    precision: Array
    shift: Array
    log_scale: float

    def __init__(
        self,
        names: Sequence[str],
        precision: ArrayLike,
        shift: ArrayLike,
        log_scale: float = 0.0,
    ) -> None:
        matrix, vector = as_float(precision), as_float(shift)
        d = len(names)
        if matrix.shape != (d, d) or vector.shape != (d,) or len(set(names)) < d:
            raise ValueError(
                f"precision and shift must have shapes {(d, d)} and {(d,)} for distinct names "
                f"{list(names)}; found {matrix.shape} and {vector.shape}. Order axes as names."
            )
        for field, value in (("names", tuple(names)), ("precision", matrix), ("shift", vector)):
            object.__setattr__(self, field, value)
        object.__setattr__(self, "log_scale", float(log_scale))

    @classmethod
    def of(cls, node: GaussianNode) -> GaussianFactor:
        """Return the conditional density of a node without discrete parents."""
        if node.discrete_parents:
            raise ValueError(
                f"{node.child.name} must have no discrete parents for one Gaussian factor; "
                f"found {[v.name for v in node.discrete_parents]}. "
                "Use ConditionalGaussianFactor."
            )
        return cls._from(node.real_names, node_form(node))

    @classmethod
    def from_normal(cls, names: Sequence[str], normal: MultivariateNormal) -> GaussianFactor:
        """Return the density of a joint normal as a factor."""
        precision = cholesky(normal.covariance(), largest_jitter=0.0).inverse()
        log_top = float(normal.log_prob(normal.mean()))
        pull = precision @ normal.mean()
        return cls(names, precision, pull, log_top - 0.5 * float(pull @ normal.mean()))

    def __mul__(self, other: GaussianFactor) -> GaussianFactor:
        names = self.names + tuple(n for n in other.names if n not in self.names)
        left, right = (
            part._form().placed(places(part.names, names), len(names)) for part in (self, other)
        )
        return self._from(names, left.times(right))

    def integrate_out(self, *names: str) -> GaussianFactor:
        """Return the factor of the other variables, integrated over these.

        Raises
        ------
        NotPositiveDefinite
            If the integral does not exist.
        """
        dropped = places(names, self.names)
        rest = tuple(name for name in self.names if name not in names)
        return self._from(rest, self._form().integrated(dropped))

    def restrict(self, given: Mapping[str, float]) -> GaussianFactor:
        """Return the factor of the other variables where these have their given values."""
        known = places(tuple(given), self.names)
        rest = tuple(name for name in self.names if name not in given)
        values = np.array(list(given.values()), dtype=np.float64)
        return self._from(rest, self._form().restricted(known, values))

    def log_value(self, values: Mapping[str, ArrayLike]) -> Array:
        """Return the log of the factor at columns of values, one per variable."""
        x = np.stack([as_float(values[name]) for name in self.names], axis=-1)
        return np.asarray(
            self.log_scale + x @ self.shift - 0.5 * np.sum((x @ self.precision) * x, axis=-1)
        )

    def log_mass(self) -> float:
        """Return the log of the integral over all variables."""
        return float(self._form().moments()[0])

    def normal(self) -> MultivariateNormal:
        """Return the joint normal that the factor is proportional to."""
        _, mean, covariance = self._form().moments()
        return MultivariateNormal(mean, covariance)

    def _form(self) -> Canonical:
        return Canonical(self.precision, self.shift, np.asarray(self.log_scale))

    @classmethod
    def _from(cls, names: Sequence[str], form: Canonical) -> GaussianFactor:
        return cls(names, form.precision, form.shift, float(form.log_scale))


def node_form(node: GaussianNode) -> Canonical:
    """Return the conditional density over (child, real parents), one form per setting.

    With ``r = (1, -coefficients) / scale`` it is ``K = r r'``, ``h = r intercept / scale``.
    """
    slope = (
        np.concatenate([np.ones((*node.intercept.shape, 1)), -node.coefficients], axis=-1)
        / node.scale[..., None]
    )
    standard = node.intercept / node.scale
    return Canonical(
        slope[..., :, None] * slope[..., None, :],
        slope * standard[..., None],
        -0.5 * standard**2 - np.log(node.scale) - LOG_ROOT_TWO_PI,
    )


def places(names: Sequence[str], among: Sequence[str]) -> list[int]:
    """Return the positions of some names among all, or say which is unknown."""
    for name in names:
        if name not in among:
            raise UnknownVariable(
                f"variable must be one of {list(among)}; found {name!r}.{nearest(name, among)}"
            )
    return [list(among).index(name) for name in names]

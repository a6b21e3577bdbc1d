"""A table of Gaussian factors: one canonical form for each setting of discrete variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from credo.graphs.factor import Factor
from credo.graphs.gaussian.canonical import Canonical
from credo.graphs.gaussian.gaussian_factor import node_form, places
from credo.graphs.node.linear_gaussian import GaussianNode
from credo.graphs.variable import Variable
from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import cholesky, symmetrize
from credo.numerics.special.log_domain import log_sum_exp

__all__ = ["ConditionalGaussianFactor"]


@dataclass(frozen=True, eq=False)
class ConditionalGaussianFactor:
    """A function of discrete ``s`` and real ``x``, ``exp(g_s + h_s'x - x' K_s x / 2)``.

    Real variables are integrated out before discrete ones are summed; the other order would
    leave mixtures, which `collapsed` replaces by one Gaussian of the same moments.

    Attributes
    ----------
    variables
        Discrete variables, in the order of the leading axes.
    names
        Real variables, in the order of the last axes.
    precision, shift, log_scale
        ``K`` (*sizes, d, d), ``h`` (*sizes, d) and ``g`` (*sizes); ``g`` is minus infinity
        where a setting is impossible.

    Examples
    --------
    >>> kind = Variable("kind", ("small", "large"))
    >>> prior = ConditionalGaussianFactor.of_table(Factor((kind,), [0.5, 0.5]))
    >>> node = GaussianNode(Variable("size"), (kind,), [1.0, 3.0], np.zeros((2, 0)), [1.0, 1.0])
    >>> joint = prior * ConditionalGaussianFactor.of(node)
    >>> joint.restrict(values={"size": 3.0}).table().normalized().table().round(4)
    array([0.1192, 0.8808])
    >>> joint.integrate_out("size").table().table()
    array([0.5, 0.5])
    """

    variables: tuple[Variable, ...]
    names: tuple[str, ...]
    precision: Array
    shift: Array
    log_scale: Array

    def __post_init__(self) -> None:
        sizes, d = tuple(v.n_states for v in self.variables), len(self.names)
        for field, shape in (("precision", (d, d)), ("shift", (d,)), ("log_scale", ())):
            array = as_float(getattr(self, field))
            if array.shape != sizes + shape:
                raise ValueError(
                    f"{field} must have shape {sizes + shape} for discrete "
                    f"{[v.name for v in self.variables]} and real {list(self.names)}; found "
                    f"{array.shape}. Order axes as the variables."
                )
            object.__setattr__(self, field, array)

    @classmethod
    def of(cls, node: GaussianNode) -> ConditionalGaussianFactor:
        """Return the conditional density of a linear-Gaussian node."""
        return cls(node.discrete_parents, node.real_names, *node_form(node))

    @classmethod
    def of_table(cls, factor: Factor) -> ConditionalGaussianFactor:
        """Return a table as a factor without real variables."""
        log_table = factor.log_table()
        shape = log_table.shape
        return cls(
            factor.variables, (), np.zeros((*shape, 0, 0)), np.zeros((*shape, 0)), log_table
        )

    def __mul__(self, other: ConditionalGaussianFactor) -> ConditionalGaussianFactor:
        names = self.names + tuple(n for n in other.names if n not in self.names)
        variables = self.variables + tuple(
            v for v in other.variables if v not in self.variables
        )
        left, right = (
            part._spread(variables).placed(places(part.names, names), len(names))
            for part in (self, other)
        )
        return ConditionalGaussianFactor(variables, names, *left.times(right))

    def integrate_out(self, *names: str) -> ConditionalGaussianFactor:
        """Return the factor of the other variables, integrated over these real ones."""
        rest = tuple(name for name in self.names if name not in names)
        form = self._form().integrated(places(names, self.names))
        return ConditionalGaussianFactor(self.variables, rest, *form)

    def restrict(
        self,
        states: Mapping[str, Any] | None = None,
        values: Mapping[str, float] | None = None,
    ) -> ConditionalGaussianFactor:
        """Return the factor of the other variables where these have states and values."""
        known = {
            name: self._variable(name).index(state) for name, state in (states or {}).items()
        }
        cell = tuple(known.get(v.name, slice(None)) for v in self.variables)
        form = Canonical(self.precision[cell], self.shift[cell], self.log_scale[cell])
        numbers = np.array(list((values or {}).values()), dtype=np.float64)
        form = form.restricted(places(tuple(values or ()), self.names), numbers)
        left = tuple(v for v in self.variables if v.name not in known)
        rest = tuple(name for name in self.names if name not in (values or {}))
        return ConditionalGaussianFactor(left, rest, *form)

    def table(self) -> Factor:
        """Return the table over the discrete variables; no real variable may be left."""
        if self.names:
            raise ValueError(
                f"real variables must be integrated out first; found {list(self.names)}. "
                "Call integrate_out, or collapsed for the nearest Gaussian."
            )
        return Factor.from_logs(self.variables, self.log_scale)

    def moments(self) -> tuple[Array, Array, Array]:
        """Return log mass (*sizes), mean (*sizes, d) and covariance (*sizes, d, d)."""
        return self._form().moments()

    def collapsed(self, *names: str) -> ConditionalGaussianFactor:
        """Return the factor without these discrete variables, of the same mean and covariance.

        The mass of every setting left is exact; the shape is that of one Gaussian where there
        was a mixture. A setting without mass stays without, and has a standard normal.

        Raises
        ------
        NotPositiveDefinite
            If some mean or covariance does not exist, as that of a conditional density alone.
        """
        axes = tuple(places(names, [v.name for v in self.variables]))
        log_mass, mean, covariance = self.moments()
        total = log_sum_exp(log_mass, axis=axes, keepdims=True)
        weight = np.exp(log_mass - np.where(np.isneginf(total), 0.0, total))[..., None]
        center = np.sum(weight * mean, axis=axes, keepdims=True)
        off = mean - center
        spread = covariance + off[..., :, None] * off[..., None, :]
        pooled = np.sum(weight[..., None] * spread, axis=axes)
        left = tuple(v for v in self.variables if v.name not in names)
        mass, middle = np.squeeze(total, axes), np.squeeze(center, axes)
        return _from_moments(left, self.names, mass, middle, symmetrize(pooled))

    def _form(self) -> Canonical:
        return Canonical(self.precision, self.shift, self.log_scale)

    def _variable(self, name: str) -> Variable:
        return self.variables[places([name], [v.name for v in self.variables])[0]]

    def _spread(self, variables: Sequence[Variable]) -> Canonical:
        """Return the form with an axis for each of ``variables``."""
        order = [self.variables.index(v) for v in variables if v in self.variables]
        sizes = [v.n_states for v in variables]
        shape = [v.n_states if v in self.variables else 1 for v in variables]
        parts = []
        for array, n_last in zip(self._form(), (2, 1, 0), strict=True):
            n = len(self.variables)
            ordered = array.transpose((*order, *range(n, n + n_last)))
            last = array.shape[n:]
            parts.append(np.broadcast_to(ordered.reshape((*shape, *last)), (*sizes, *last)))
        return Canonical(*parts)


def _from_moments(
    variables: tuple[Variable, ...],
    names: tuple[str, ...],
    log_mass: Array,
    mean: ArrayLike,
    covariance: Array,
) -> ConditionalGaussianFactor:
    middle, is_empty = as_float(mean), np.isneginf(log_mass)[..., None, None]
    matrix = np.where(is_empty, np.eye(len(names)), covariance)
    precision = symmetrize(cholesky(matrix, largest_jitter=0.0).inverse())
    unit = Canonical(
        precision, np.einsum("...ij,...j->...i", precision, middle), np.zeros_like(log_mass)
    )
    log_scale = log_mass - unit.moments()[0]
    return ConditionalGaussianFactor(variables, names, precision, unit.shift, log_scale)

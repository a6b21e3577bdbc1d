"""A non-negative table over a few discrete variables, and the algebra of such tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from credo.graphs.variable import UnknownVariable, Variable, nearest
from credo.numerics.array import Array, as_float

__all__ = ["Factor"]


@dataclass(frozen=True, eq=False)
class Factor:
    """A function of discrete variables, ``exp(log_scale) * values``, one axis per variable.

    The largest entry of ``values`` is one, so that products of thousands of factors keep their
    digits; the rest of the size is in ``log_scale``. Axes are matched by name, never by place.

    Attributes
    ----------
    variables
        In the order of the axes.
    values
        Entries between 0 and 1, the largest one; all zero if the factor is zero everywhere.
    log_scale
        Log of what ``values`` was divided by.

    Examples
    --------
    >>> a, b = Variable("a", (True, False)), Variable("b", (True, False))
    >>> f = Factor((a, b), [[0.3, 0.9], [0.4, 0.1]])
    >>> f.sum_out("a").table().tolist()
    [0.7, 1.0]
    """

    variables: tuple[Variable, ...]
    values: Array
    log_scale: float

    def __init__(
        self, variables: Sequence[Variable], values: ArrayLike, log_scale: float = 0.0
    ) -> None:
        table = as_float(values)
        shape = tuple(variable.n_states for variable in variables)
        if table.shape != shape or len({v.name for v in variables}) < len(shape):
            raise ValueError(
                f"values must have one axis per distinct variable, shape {shape} for "
                f"{[v.name for v in variables]}; found {table.shape}. Order axes as variables."
            )
        if not np.all(np.isfinite(table)) or (table.size and table.min() < 0):
            raise ValueError(
                f"values of a factor over {[v.name for v in variables]} must be finite and not "
                "negative; found some that are not. Pass probabilities or positive weights."
            )
        top = float(table.max(initial=0.0))
        object.__setattr__(self, "variables", tuple(variables))
        object.__setattr__(self, "values", table / top if top > 0 else table)
        object.__setattr__(self, "log_scale", log_scale + (np.log(top) if top > 0 else 0.0))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in the order of the axes."""
        return tuple(variable.name for variable in self.variables)

    def variable(self, name: str) -> Variable:
        """Return the variable of this name."""
        return self.variables[self._axis(name)]

    def table(self) -> Array:
        """Return the entries themselves, ``exp(log_scale) * values``."""
        return np.asarray(np.exp(self.log_scale) * self.values)

    def log_table(self) -> Array:
        """Return the logs of the entries, minus infinity where they are zero."""
        with np.errstate(divide="ignore"):
            return self.log_scale + np.log(self.values)

    def __mul__(self, other: Factor) -> Factor:
        variables = self.variables + tuple(
            v for v in other.variables if v not in self.variables
        )
        left, right = self.spread(variables), other.spread(variables)
        return Factor(variables, left * right, self.log_scale + other.log_scale)

    def spread(self, variables: Sequence[Variable]) -> Array:
        """Return ``values`` with the axes of ``variables``, of length one where absent."""
        order = [self._axis(v.name) for v in variables if v in self.variables]
        shape = [v.n_states if v in self.variables else 1 for v in variables]
        return self.values.transpose(order).reshape(shape)

    def sum_out(self, *names: str) -> Factor:
        """Return the factor of the other variables, summed over these."""
        return self._without(names, self.values.sum(axis=self._axes(names)))

    def max_out(self, *names: str) -> Factor:
        """Return the factor of the other variables, maximized over these."""
        return self._without(names, self.values.max(axis=self._axes(names)))

    def restrict(self, given: Mapping[str, Any]) -> Factor:
        """Return the factor of the other variables where these have their given states."""
        known = {name: self.variable(name).index(given[name]) for name in given}
        cell = tuple(known.get(v.name, slice(None)) for v in self.variables)
        return self._without(tuple(known), self.values[cell])

    def normalized(self) -> Factor:
        """Return the factor divided by its sum."""
        return Factor(self.variables, self.values / self.values.sum())

    def series(self) -> pd.Series[float]:
        """Return the entries labelled by states, one level of the index per variable."""
        index: pd.Index[Any] = pd.MultiIndex.from_product(
            [v.axis for v in self.variables], names=list(self.names)
        )
        if len(self.variables) == 1:
            index = self.variables[0].axis
        return pd.Series(self.table().ravel(), index=index, dtype=float)

    def _without(self, names: tuple[str, ...], values: Array) -> Factor:
        rest = tuple(v for v in self.variables if v.name not in names)
        return Factor(rest, values, self.log_scale)

    def _axes(self, names: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(self._axis(name) for name in names)

    def _axis(self, name: str) -> int:
        if name not in self.names:
            raise UnknownVariable(
                f"variable must be one of {list(self.names)}; found {name!r}."
                f"{nearest(name, self.names)}"
            )
        return self.names.index(name)

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
from credo.numerics.quotation import quote
from credo.numerics.special.log_domain import log_sum_exp

__all__ = ["Factor"]

TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Factor:
    """A function of discrete variables, ``exp(log_scale) * values``, one axis per variable.

    The largest entry of ``values`` is one and the rest of the size is in ``log_scale``, so that
    products of thousands of factors do not underflow as a whole. Where single entries would,
    next to the largest one, the factor keeps the logs of its entries and goes on with these.
    Axes are matched by name, never by place.

    Attributes
    ----------
    variables
        In the order of the axes.
    values
        Entries between 0 and 1, the largest one; all zero if the factor is zero everywhere.
    log_scale
        Log of what ``values`` was divided by.
    log_values
        Logs of ``values``, if some of these are too small for a number; None otherwise.

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
    log_values: Array | None

    def __init__(
        self, variables: Sequence[Variable], values: ArrayLike, log_scale: float = 0.0
    ) -> None:
        _check_variables(variables)
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
        if _least(table) < TINY * top:
            self._set(variables, *_from_logs(_log(table), log_scale))
        elif top > 0:
            self._set(variables, table / top, log_scale + np.log(top), None)
        else:
            self._set(variables, table, log_scale, None)

    @classmethod
    def from_logs(
        cls, variables: Sequence[Variable], log_values: ArrayLike, log_scale: float = 0.0
    ) -> Factor:
        """Return the factor whose entries have these logs; minus infinity stands for zero."""
        values, scale, logs = _from_logs(as_float(log_values), log_scale)
        made = cls(variables, values, scale)
        object.__setattr__(made, "log_values", logs)
        return made

    def _set(
        self,
        variables: Sequence[Variable],
        values: Array,
        log_scale: float,
        log_values: Array | None,
    ) -> None:
        object.__setattr__(self, "variables", tuple(variables))
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "log_scale", log_scale)
        object.__setattr__(self, "log_values", log_values)

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
        return self.log_scale + self._logs()

    def __mul__(self, other: Factor) -> Factor:
        variables = self.variables + tuple(
            v for v in other.variables if v not in self.variables
        )
        log_scale = self.log_scale + other.log_scale
        if self._least() * other._least() < TINY:
            left, right = (part._spread(part._logs(), variables) for part in (self, other))
            return Factor.from_logs(variables, left + right, log_scale)
        return Factor(variables, self.spread(variables) * other.spread(variables), log_scale)

    def spread(self, variables: Sequence[Variable]) -> Array:
        """Return ``values`` with the axes of ``variables``, of length one where absent."""
        return self._spread(self.values, variables)

    def sum_out(self, *names: str) -> Factor:
        """Return the factor of the other variables, summed over these."""
        axes = self._axes(names)
        if self.log_values is not None:
            return self._without_logs(names, log_sum_exp(self.log_values, axis=axes))
        return self._without(names, self.values.sum(axis=axes))

    def max_out(self, *names: str) -> Factor:
        """Return the factor of the other variables, maximized over these."""
        axes = self._axes(names)
        if self.log_values is not None:
            return self._without_logs(names, self.log_values.max(axis=axes))
        return self._without(names, self.values.max(axis=axes))

    def restrict(self, given: Mapping[str, Any]) -> Factor:
        """Return the factor of the other variables where these have their given states."""
        known = {name: self.variable(name).index(given[name]) for name in given}
        cell = tuple(known.get(v.name, slice(None)) for v in self.variables)
        if self.log_values is not None:
            return self._without_logs(tuple(known), self.log_values[cell])
        return self._without(tuple(known), self.values[cell])

    def normalized(self) -> Factor:
        """Return the factor divided by its sum."""
        total = self.values.sum()
        if self.log_values is not None:
            return Factor.from_logs(self.variables, self.log_values - np.log(total))
        return Factor(self.variables, self.values / total)

    def series(self) -> pd.Series[float]:
        """Return the entries labelled by states, one level of the index per variable."""
        index: pd.Index[Any] = pd.MultiIndex.from_product(
            [v.axis for v in self.variables], names=list(self.names)
        )
        if len(self.variables) == 1:
            index = self.variables[0].axis
        return pd.Series(self.table().ravel(), index=index, dtype=float)

    def _logs(self) -> Array:
        return _log(self.values) if self.log_values is None else self.log_values

    def _least(self) -> float:
        """Return the smallest positive entry, zero if that has no number."""
        return _least(self.values) if self.log_values is None else 0.0

    def _spread(self, entries: Array, variables: Sequence[Variable]) -> Array:
        order = [self._axis(v.name) for v in variables if v in self.variables]
        shape = [v.n_states if v in self.variables else 1 for v in variables]
        return entries.transpose(order).reshape(shape)

    def _without_logs(self, names: tuple[str, ...], log_values: Array) -> Factor:
        rest = tuple(v for v in self.variables if v.name not in names)
        return Factor.from_logs(rest, log_values, self.log_scale)

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


def _check_variables(variables: Sequence[Any]) -> None:
    wrong = [variable for variable in variables if not isinstance(variable, Variable)]
    if wrong:
        raise ValueError(
            f"variables of a factor must be Variables; found {quote(wrong[0])}. Write them as "
            "Variable(name, states)."
        )


def _log(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def _least(values: Array) -> float:
    return float(values.min(where=values > 0, initial=np.inf))


def _from_logs(log_values: Array, log_scale: float) -> tuple[Array, float, Array | None]:
    """Return entries of maximum one, their log scale, and their logs if some have no number."""
    top = float(log_values.max(initial=-np.inf))
    if top == -np.inf:
        return np.zeros(log_values.shape), log_scale, None
    logs = log_values - top
    values = np.exp(logs)
    is_lost = (values < TINY) & (logs > -np.inf)
    return values, log_scale + top, logs if is_lost.any() else None

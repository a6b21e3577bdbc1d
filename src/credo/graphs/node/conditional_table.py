"""A table of the probabilities of one variable for every setting of its parents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from credo.distributions.categorical import random_index
from credo.distributions.dirichlet import Dirichlet
from credo.graphs.factor import Factor
from credo.graphs.node.conditional import Values
from credo.graphs.node.table_spec import (
    entries_of_frame,
    probability_of_entries,
    require_discrete,
    setting_text,
)
from credo.graphs.variable import Variable
from credo.numerics.array import Array, as_float
from credo.numerics.warning import warn_user

__all__ = ["ConditionalTable", "RoundedTableWarning"]

EXACT = 1e-12
SILENT = 1e-6
LARGEST_ROUNDING = 1e-2
NO_COUNT = 1e-300


class RoundedTableWarning(UserWarning):
    """Probabilities that missed one by rounding and were divided by their sum."""


@dataclass(frozen=True, eq=False)
class ConditionalTable:
    """``P(child | parents)`` as a table, with the Dirichlet counts it was learned from if any.

    Probabilities that miss one by rounding are divided by their sum: silently below 1e-6, with
    a ``RoundedTableWarning`` up to 1e-2. What is further off is an error.

    Parameters
    ----------
    child
        The variable this is the distribution of.
    parents
        The variables it depends on.
    probability
        One axis per parent, in order, then one for the states of the child.
    counts
        Dirichlet counts of the same shape, or None if the table is known and not learned.

    Examples
    --------
    >>> rain, wet = Variable("rain", (False, True)), Variable("wet", (False, True))
    >>> cpt = ConditionalTable(wet, [rain], [[0.9, 0.1], [0.2, 0.8]])
    >>> cpt.n_parameters
    2
    >>> np.exp(cpt.log_prob({"rain": np.array([1, 0]), "wet": np.array([1, 1])})).round(3)
    array([0.8, 0.1])
    """

    child: Variable
    parents: tuple[Variable, ...]
    probability: Array
    counts: Array | None

    kind = "table"

    def __init__(
        self,
        child: Variable,
        parents: Sequence[Variable],
        probability: ArrayLike,
        counts: ArrayLike | None = None,
    ) -> None:
        scope = (*parents, child)
        object.__setattr__(self, "child", child)
        object.__setattr__(self, "parents", tuple(parents))
        table = _checked(scope, probability, "probability")
        object.__setattr__(self, "probability", _normalized(scope, table))
        kept = None if counts is None else _checked_counts(scope, counts)
        object.__setattr__(self, "counts", kept)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        rain, wet = Variable("rain", ("no", "yes")), Variable("wet", (0, 1, 2))
        learned = cls.from_counts(wet, [rain], [[3.0, 1.0, 0.0], [1.0, 0.0, 7.0]], 0.5)
        return (
            cls(rain, [], [0.8, 0.2]),
            cls(wet, [rain], [[0.9, 0.1, 0.0], [0.2, 0.5, 0.3]]),
            learned,
        )

    @classmethod
    def from_dict(
        cls, child: Variable, parents: Sequence[Variable], entries: Mapping[Any, Any]
    ) -> Self:
        """Return the table written as a dictionary.

        Parameters
        ----------
        entries
            Without parents ``{state: p}``. Otherwise one entry per setting of the parents: its
            key is the state of the only parent or a tuple of states in the order of
            ``parents``, its value is ``{state: p}`` or a list in the order of the states.
            States left out of a ``{state: p}`` are impossible.

        Examples
        --------
        >>> rain, wet = Variable("rain", ("no", "yes")), Variable("wet", ("no", "yes"))
        >>> rows = {"yes": {"yes": 0.8, "no": 0.2}, "no": [0.9, 0.1]}
        >>> ConditionalTable.from_dict(wet, [rain], rows).probability.tolist()
        [[0.9, 0.1], [0.2, 0.8]]
        """
        return cls(child, parents, probability_of_entries(child, parents, entries))

    @classmethod
    def from_frame(cls, child: Variable, parents: Sequence[Variable], frame: Any) -> Self:
        """Return the table written as a pandas or polars DataFrame or a pandas Series.

        Parameters
        ----------
        frame
            A DataFrame with one row per setting, a column per parent (or level of the index)
            and a column per state of the child; or one row per cell, with a column per parent,
            one for the child and one named ``p``. A Series has a level of its index per parent
            and one for the child, in this order or named.
        """
        return cls.from_dict(child, parents, entries_of_frame(child, parents, frame))

    @classmethod
    def from_counts(
        cls,
        child: Variable,
        parents: Sequence[Variable],
        counts: ArrayLike,
        prior_counts: ArrayLike = 1.0,
    ) -> Self:
        """Return the posterior mean of the table after counting, keeping the Dirichlet counts.

        Parameters
        ----------
        counts
            How often each cell was seen (may be fractional), axes parents then child.
        prior_counts
            Dirichlet counts before the data, a number for every cell or an array.

        Examples
        --------
        >>> coin = Variable("coin", ("heads", "tails"))
        >>> learned = ConditionalTable.from_counts(coin, [], [7, 1], prior_counts=1.0)
        >>> learned.probability.tolist(), learned.counts.tolist()
        ([0.8, 0.2], [8.0, 2.0])
        """
        scope = (*parents, child)
        total = _checked(scope, counts, "counts") + as_float(prior_counts)
        total = _checked_counts(scope, total)
        return cls(child, parents, _mean(total), total)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, one less than states for every setting."""
        return math.prod(v.n_states for v in self.parents) * (self.child.n_states - 1)

    @property
    def mean(self) -> Array:
        """Posterior mean of the table; the table itself if it was not learned."""
        if self.counts is None:
            return self.probability
        return _mean(self.counts)

    def sample_table(self, rng: Generator) -> ConditionalTable:
        """Return a table drawn from the Dirichlet posterior; itself if it was not learned."""
        if self.counts is None:
            return self
        drawn = _belief(self.counts).sample(rng)
        return ConditionalTable(self.child, self.parents, drawn)

    def table(self) -> Factor:
        """Return the whole table, axes parents then child."""
        return Factor((*self.parents, self.child), self.probability)

    def factors(self) -> tuple[Factor, ...]:
        """Return the table as the only factor."""
        return (self.table(),)

    def frame(self) -> pd.DataFrame:
        """Return the table with a row per setting of the parents and a column per state."""
        rows = self.probability.reshape(-1, self.child.n_states)
        columns = pd.Index(list(self.child.labels), name=self.child.name)
        if not self.parents:
            return pd.DataFrame(rows, columns=columns)
        names = [parent.name for parent in self.parents]
        index: pd.Index[Any] = pd.MultiIndex.from_product(
            [parent.labels for parent in self.parents], names=names
        )
        if len(names) == 1:
            index = pd.Index(list(self.parents[0].labels), name=names[0])
        return pd.DataFrame(rows, index=index, columns=columns)

    def log_prob(self, values: Values) -> Array:
        """Return the log probability of the child's positions given its parents' positions."""
        cell = tuple(np.asarray(values[v.name]) for v in (*self.parents, self.child))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probability[cell]))

    def sample(self, values: Values, n: int, rng: Generator) -> NDArray[np.intp]:
        """Return ``n`` random positions of the child given those of its parents."""
        if not self.parents:
            return random_index(rng, self.probability, (n,))
        setting = tuple(np.asarray(values[v.name]) for v in self.parents)
        return random_index(rng, self.probability[setting], (n,))


def _checked(scope: tuple[Variable, ...], values: ArrayLike, what: str) -> Array:
    require_discrete(scope[-1], scope[:-1])
    table = as_float(values)
    shape = tuple(v.n_states for v in scope)
    child = scope[-1].name
    if table.shape != shape:
        axes = ", ".join(f"{v.name} ({v.n_states})" for v in scope)
        raise ValueError(
            f"{what} of {child} must have shape {shape}, axes {axes}; found {table.shape}. "
            "Give one axis per parent in order, then one for the states of the node."
        )
    if not np.all(np.isfinite(table)) or (table.size and table.min() < 0):
        wrong = np.argwhere(~(np.isfinite(table) & (table >= 0)))[0]
        raise ValueError(
            f"{what} of {child} must be finite and not negative; found "
            f"{table[tuple(wrong)]} at {setting_text(scope, wrong)}. Check that cell."
        )
    return table


def _checked_counts(scope: tuple[Variable, ...], counts: ArrayLike) -> Array:
    table = _checked(scope, counts, "counts")
    weight = table.sum(axis=-1)
    if weight.size and weight.min() <= 0:
        where = np.unravel_index(int(weight.argmin()), weight.shape)
        raise ValueError(
            f"counts of {scope[-1].name} must be positive for every setting of its parents; "
            f"found none for {setting_text(scope[:-1], where)}. Pass prior_counts above zero."
        )
    return table


def _belief(counts: Array) -> Dirichlet:
    """Return the belief about each row; a state without counts is as good as impossible."""
    return Dirichlet(np.maximum(counts, NO_COUNT))


def _mean(counts: Array) -> Array:
    return np.where(counts > 0, _belief(counts).mean(), 0.0)


def _normalized(scope: tuple[Variable, ...], table: Array) -> Array:
    total = table.sum(axis=-1, keepdims=True)
    miss = np.abs(total - 1.0)
    worst = float(miss.max(initial=0.0))
    if worst <= EXACT:
        return table
    if worst > SILENT:
        _report(scope, total, miss, worst)
    return np.asarray(table / total)


def _report(scope: tuple[Variable, ...], total: Array, miss: Array, worst: float) -> None:
    """Warn about rounding, or raise if the sum is too far from one."""
    where = np.unravel_index(int(miss.argmax()), miss.shape)[:-1]
    node, found = scope[-1].name, float(total[where][0])
    given = f" given {setting_text(scope[:-1], where)}" if where else ""
    others = int((miss > SILENT).sum()) - 1
    more = f" (and {others} more settings)" if others else ""
    fact = f"probabilities of {node} must sum to one; found {found:.6g}{given}{more}."
    if worst > LARGEST_ROUNDING:
        raise ValueError(f"{fact} Correct the table; only rounding up to 0.01 is repaired.")
    advice = "Taken as rounding and divided by the sum; give more digits to be exact."
    warn_user(f"{fact} {advice}", RoundedTableWarning)

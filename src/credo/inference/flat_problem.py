"""A factor problem in the form that loops run on, shared by the approximate engines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.factor_problem import FactorProblem
from credo.numerics.array import Array
from credo.numerics.flat_tables import FlatTables, Walk, flat_tables, walk
from credo.numerics.table_messages import empty_messages, sweep
from credo.numerics.table_states import possible_states

__all__ = ["FlatProblem", "NoPossibleState"]

_N_SWEEPS = 20


class NoPossibleState(ValueError):
    """Tables that contradict each other: every joint state has density zero."""

    def __init__(self) -> None:
        super().__init__(
            "some joint state must have positive density; found that the tables contradict "
            "each other, or what is given. Remove findings until they agree."
        )

    def __reduce__(self) -> tuple[type[NoPossibleState], tuple[()]]:
        return type(self), ()


@dataclass(frozen=True, eq=False)
class FlatProblem:
    """The tables of a problem as flat arrays.

    Attributes
    ----------
    net
        The tables without their scales.
    order
        A walk over variables and tables.
    log_scale
        Sum of the log scales.
    """

    net: FlatTables
    order: Walk
    log_scale: float

    @classmethod
    def of(cls, problem: FactorProblem) -> FlatProblem:
        """Return the flat form of a problem.

        Raises
        ------
        NoPossibleState
            If a table is zero everywhere.
        """
        tables = problem.tables
        if any(not table.values.max(initial=0.0) > 0 for table in tables):
            raise NoPossibleState
        net = flat_tables(
            problem.n_states, [t.scope for t in tables], [t.values for t in tables]
        )
        return cls(net, walk(net), float(sum(t.log_scale for t in tables)))

    def per_variable(self, entries: Array) -> tuple[Array, ...]:
        """Return an array that has one entry per state of every variable, cut by variable."""
        return tuple(np.split(entries, self.net.state_start[1:-1]))

    def starts(self, n: int, rng: Generator) -> NDArray[np.intp]:
        """Return random joint states of positive density, shape (n, n_variables).

        Raises
        ------
        NoPossibleState
            If there is none.
        """
        states = possible_states(self.net, self.order, self.messages(), n, rng)
        if states is None:
            raise NoPossibleState
        return states

    def messages(self, n_sweeps: int = _N_SWEEPS, damping: float = 0.3) -> Array:
        """Return log messages after some sweeps, settled or not, to guide draws by."""
        message, change = empty_messages(self.net), np.inf
        for _ in range(n_sweeps):
            message, change = sweep(self.net, self.order, message, damping=damping)
            if np.isnan(change):
                raise NoPossibleState
            if change < 1e-6:
                break
        return message

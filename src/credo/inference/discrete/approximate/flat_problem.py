"""A factor problem in the form that loops run on, shared by the approximate engines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.factor_problem import FactorProblem, Table, table_of
from credo.inference.discrete.loops.flat_tables import FlatTables, Walk, flat_tables, walk
from credo.inference.discrete.loops.messages import empty_messages, sweep
from credo.inference.discrete.loops.states import possible_states
from credo.numerics.array import Array

__all__ = ["FlatProblem", "NoPossibleState"]

_N_SWEEPS = 20
_TINY = np.finfo(np.float64).tiny


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

        A table whose variables are all in another one is multiplied into that, so that two
        ways between the same variables are no loop.

        Raises
        ------
        NoPossibleState
            If a table is zero everywhere, or the product of those about the same variables.
        """
        known = _FLAT.get(problem)
        if known is None:
            known = _FLAT[problem] = _flat(problem)
        return known

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


_FLAT: WeakKeyDictionary[FactorProblem, FlatProblem] = WeakKeyDictionary()
"""Flat forms of problems that are in use, so that states of engines need not hold them."""


def _flat(problem: FactorProblem) -> FlatProblem:
    tables = _absorbed(problem.n_states, problem.tables)
    if any(not table.values.max(initial=0.0) > 0 for table in tables):
        raise NoPossibleState
    net = flat_tables(problem.n_states, [t.scope for t in tables], [t.values for t in tables])
    return FlatProblem(net, walk(net), float(sum(t.log_scale for t in tables)))


def _absorbed(n_states: Sequence[int], tables: Sequence[Table]) -> list[Table]:
    """Return the tables, those inside the scope of another multiplied into it.

    Variables with a single state do not count. A table of one variable makes no loop and stays
    as it is.
    """
    scopes = [frozenset(i for i in t.scope if n_states[i] > 1) for t in tables]
    kept: dict[int, Table] = {}
    about: defaultdict[int, list[int]] = defaultdict(list)
    for k in sorted(range(len(tables)), key=lambda k: -len(scopes[k])):
        near = min((about[i] for i in scopes[k]), key=len) if len(scopes[k]) > 1 else []
        host = next((h for h in near if scopes[k] <= scopes[h]), None)
        product = None if host is None else _product(kept[host], tables[k])
        if host is None or product is None:
            kept[k] = tables[k]
            for i in scopes[k]:
                about[i].append(k)
        else:
            kept[host] = product
    return [kept[k] for k in sorted(kept)]


def _product(host: Table, inside: Table) -> Table | None:
    """Return the product on the scope of the host; None if entries would underflow."""
    order = sorted(
        (i for i in inside.scope if i in host.scope), key=lambda i: host.scope.index(i)
    )
    sizes = dict(zip(inside.scope, inside.values.shape, strict=True))
    axes = [inside.scope.index(i) for i in order]
    # What the host lacks has one state, and so does what is left of those axes.
    axes += [at for at, i in enumerate(inside.scope) if i not in host.scope]
    shape = [sizes.get(i, 1) for i in host.scope]
    spread = inside.values.transpose(axes).reshape(shape)
    values = host.values * spread
    if np.any((values < _TINY) & (host.values > 0) & (spread > 0)):
        return None
    made = table_of(host.scope, values)
    return replace(made, log_scale=made.log_scale + host.log_scale + inside.log_scale)

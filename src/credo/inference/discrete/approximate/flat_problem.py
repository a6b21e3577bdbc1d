"""A factor problem in the form that loops run on, shared by the approximate engines.

Loops are compiled; numba loads on the first call, never at import.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from types import ModuleType
from weakref import WeakKeyDictionary

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from credo.inference.discrete.factor_problem import FactorProblem, Table, table_of
from credo.inference.discrete.loops.flat_tables import (
    FlatTables,
    Walk,
    flat_tables,
    log_densities,
    walk,
)
from credo.inference.discrete.loops.messages import empty_messages, sweep
from credo.inference.discrete.loops.states import gibbs_sweeps, mode_sweep, possible_states
from credo.numerics.array import Array

__all__ = ["FlatProblem", "NoPossibleState", "is_connected"]

_N_SWEEPS = 20
_MOST_STATES = 1 << 14
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
    """The tables of a problem as flat arrays: a `SweepProblem` of joint states.

    Moments are the probabilities of all states of all variables, end to end.

    Attributes
    ----------
    net
        The tables without their scales.
    order
        A walk over variables and tables.
    log_scale
        Sum of the log scales.
    is_random_scan
        Whether each draw of a sweep picks its variable at random; else they take turns.
    """

    net: FlatTables
    order: Walk
    log_scale: float
    is_random_scan: bool = False

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

    @property
    def n_moments(self) -> int:
        """States of all variables."""
        return int(self.net.state_start[-1])

    @cached_property
    def is_connected(self) -> bool | None:
        """Whether changing one variable at a time can reach every possible joint state."""
        return is_connected(self.net)

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

    def log_density(self, states: NDArray[np.intp]) -> Array:
        """Return the log density of joint states, shape (n, n_variables)."""
        return log_densities(self.net, states) + self.log_scale

    def draw_sweeps(
        self, states: NDArray[np.intp], n_sweeps: int, rng: Generator
    ) -> tuple[NDArray[np.intp], Array]:
        """Return chains after some sweeps, and the mean probability of each state in each."""
        return gibbs_sweeps(self.net, states, n_sweeps, self.is_random_scan, rng)

    def draw_variance(self, moments: Array) -> Array:
        """Return the variance of one draw of each state, present or not."""
        return moments * (1.0 - moments)

    def mode_sweep(self, states: NDArray[np.intp]) -> tuple[NDArray[np.intp], int]:
        """Return states with each variable in turn at its likeliest, and how many moved."""
        return mode_sweep(self.net, states)

    def mean_sweep(self, moments: Array, damping: float = 0.0) -> tuple[Array, float]:
        """Return distributions after each has been made the best in turn, and their change.

        Examples
        --------
        >>> one = FactorProblem((2,), (table_of((0,), np.array([1.0, 3.0])),))
        >>> FlatProblem.of(one).mean_sweep(np.array([0.5, 0.5]))
        (array([0.25, 0.75]), 0.25)
        """
        after = moments.copy()
        return after, float(_loops().ascend(self.net, after, damping))

    def bound(self, moments: Array) -> float:
        """Return the lower bound of the log partition: expected log entries plus entropy."""
        return float(_loops().bound(self.net, moments)) + self.log_scale

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


def is_connected(net: FlatTables) -> bool | None:
    """Return whether changing one variable at a time can reach every possible joint state.

    If not, a Gibbs chain sees only the part it starts in.

    Returns
    -------
    is_connected
        True without impossible cells. Otherwise found by listing all joint states, and None
        where those are too many.

    Examples
    --------
    >>> from credo.inference.discrete.loops.flat_tables import flat_tables
    >>> is_connected(flat_tables([2, 2], [(0, 1)], [np.eye(2)]))
    False
    """
    if not net.has_zeros:
        return True
    if float(np.log2(net.n_states.astype(float)).sum()) > np.log2(_MOST_STATES):
        return None
    shape = tuple(net.n_states.tolist())
    states = np.indices(shape).reshape(len(shape), -1).T
    possible = states[np.isfinite(log_densities(net, states))]
    return _n_parts(possible, shape) <= 1


def _n_parts(possible: NDArray[np.intp], shape: tuple[int, ...]) -> int:
    """Return the number of connected parts; neighbors agree in all variables but one."""
    links = [_links(possible, shape, i) for i in range(len(shape))]
    start, stop = (np.concatenate(ends) for ends in zip(*links, strict=True))
    n = len(possible)
    graph = sparse.coo_array((np.ones(len(start)), (start, stop)), shape=(n, n))
    return int(csgraph.connected_components(graph, directed=False)[0])


def _links(
    possible: NDArray[np.intp], shape: tuple[int, ...], i: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return chains of joint states that differ in variable ``i`` only."""
    rest = possible.copy()
    rest[:, i] = 0
    key = np.ravel_multi_index(tuple(rest.T), shape)
    order = np.argsort(key, kind="stable")
    is_same = key[order[1:]] == key[order[:-1]]
    return order[:-1][is_same], order[1:][is_same]


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.inference.discrete.loops._loops_mean_field")

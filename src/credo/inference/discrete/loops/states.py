"""Joint states of a product of tables: starts of positive density, draws and local modes.

numba loads on the first call, never at import.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.loops.flat_tables import FlatTables, Walk
from credo.numerics.array import Array
from credo.numerics.parallel.threads import in_parts

__all__ = [
    "conditional_probability",
    "gibbs_sweeps",
    "guided_draws",
    "mode_sweep",
    "possible_states",
]

Index = NDArray[np.intp]

_N_TRIES = 20
_RETURNS_PER_VARIABLE = 20
_MOST_LIFTED = 0.05
# Fixed, so that the draws do not depend on the number of cores.
_N_STREAMS = 8


def conditional_probability(net: FlatTables, variable: int, states: Index) -> Array:
    """Return the distribution of one variable given all others of one joint state.

    NaN where every state is impossible.

    Examples
    --------
    >>> from credo.inference.discrete.loops.flat_tables import flat_tables
    >>> net = flat_tables([2, 2], [(0, 1)], [np.array([[0.2, 0.3], [0.2, 0.9]])])
    >>> conditional_probability(net, 0, np.array([0, 1]))
    array([0.25, 0.75])
    """
    log_weight = np.empty(int(net.n_states.max()))
    _loops().conditional(net, variable, np.asarray(states, dtype=np.intp), log_weight)
    found = log_weight[: net.n_states[variable]]
    if np.isneginf(found).all():
        return np.full(len(found), np.nan)
    weight = np.exp(found - found.max())
    return np.asarray(weight / weight.sum())


def gibbs_sweeps(
    net: FlatTables, states: Index, n_sweeps: int, is_random: bool, rng: Generator
) -> tuple[Index, Array]:
    """Return all chains after some sweeps, and the mean of the states they went through.

    Parameters
    ----------
    states
        Joint states of positive density, shape (n_chains, n_variables).
    is_random
        Whether each update picks its variable at random; otherwise they take turns.

    Returns
    -------
    states, mean
        The mean has one probability per chain and per state of every variable.
    """
    after = np.array(states, dtype=np.intp, order="C")
    sums = np.zeros((len(after), int(net.state_start[-1])))
    streams = rng.spawn(len(after))
    loop = _loops().gibbs

    def work(start: int, stop: int) -> None:
        for c in range(start, stop):
            loop(net, after[c], n_sweeps, is_random, streams[c], sums[c])

    in_parts(work, len(after), 20 * after.size * n_sweeps)
    return after, sums / n_sweeps


def mode_sweep(net: FlatTables, states: Index) -> tuple[Index, int]:
    """Return joint states with each variable in turn at its likeliest, and how many moved."""
    after = np.array(states, dtype=np.intp, order="C")
    n_moved = sum(int(_loops().modes(net, row)) for row in after)
    return after, n_moved


def guided_draws(
    net: FlatTables, order: Walk, log_message: Array, n: int, rng: Generator
) -> tuple[Index, Array]:
    """Return draws guided by messages, and the log probability of each; -inf for a dead end.

    On a forest with settled messages they are exact draws. Elsewhere messages may be too sure,
    and no state that may be possible is drawn with a probability near zero: weights of rare
    draws would hide what is missed.
    """
    floor = 0.0 if order.is_forest else _floor(net)
    incoming = _incoming_messages(net, log_message)
    states = np.zeros((n, len(net.n_states)), dtype=np.intp)
    log_prob = np.empty(n)
    edges = np.linspace(0, n, _N_STREAMS + 1).astype(int)
    streams = rng.spawn(_N_STREAMS)
    loop = _loops().propose_all

    def work(start: int, stop: int) -> None:
        for part in range(start, stop):
            rows = slice(edges[part], edges[part + 1])
            log_prob[rows] = loop(
                net, order.variables, incoming, floor, streams[part], states[rows]
            )

    in_parts(work, _N_STREAMS, 100 * states.size)
    # A dead end leaves open variables; its weight is zero whatever they are.
    return np.maximum(states, 0), log_prob


def possible_states(
    net: FlatTables, order: Walk, log_message: Array, n: int, rng: Generator
) -> Index | None:
    """Return random joint states of positive density, shape (n, n_variables).

    Without impossible cells any state will do. Otherwise they are drawn variable by variable,
    guided by messages, going back where nothing is possible.

    Returns
    -------
    states
        None if the search has shown that there is none.

    Raises
    ------
    RuntimeError
        If the search gave up.
    """
    if not net.has_zeros:
        uniform = rng.random((n, len(net.n_states)))
        return np.asarray(uniform * net.n_states, dtype=np.intp)
    incoming = _incoming_messages(net, log_message)
    states = np.zeros((n, len(net.n_states)), dtype=np.intp)
    max_returns = _RETURNS_PER_VARIABLE * len(net.n_states)
    for row in states:
        found = 0
        for n_tries in range(_N_TRIES):
            # Spread starts first; then those that the messages find likeliest.
            floor = _floor(net) if n_tries < _N_TRIES // 2 else 0.0
            found, _ = _loops().propose(
                net, order.variables, incoming, max_returns, floor, rng, row
            )
            if found:
                break
        if found < 0:
            return None
        if not found:
            raise RuntimeError(
                "a joint state of positive probability must be found to start from; found none "
                f"in {_N_TRIES} tries of {max_returns} returns each. Give fewer findings, or "
                "smooth the zeros of the tables."
            )
    return states


def _floor(net: FlatTables) -> float:
    """Return the least share of a draw for a possible state; all variables share one miss."""
    return min(_MOST_LIFTED, 0.5 / len(net.n_states))


def _incoming_messages(net: FlatTables, log_message: Array) -> Array:
    """Return the messages from variables to tables that go with those from tables."""
    loops = _loops()
    return np.asarray(loops.heard(net, loops.sort_mail(net, log_message)))


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.inference.discrete.loops._loops_messages")

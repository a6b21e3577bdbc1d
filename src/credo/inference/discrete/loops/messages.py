"""Messages between tables and variables: sweeps, beliefs, the Bethe log partition, modes.

numba loads on the first call, never at import.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from credo.inference.discrete.loops.flat_tables import FlatTables, Walk
from credo.numerics.array import Array

__all__ = ["beliefs", "bethe_log_partition", "decoded_states", "empty_messages", "sweep"]


def empty_messages(net: FlatTables) -> Array:
    """Return log messages that say nothing, one entry per state of every edge."""
    return np.zeros(int(net.message_start[-1]))


def sweep(
    net: FlatTables, order: Walk, log_message: Array, is_max: bool = False, damping: float = 0.0
) -> tuple[Array, float]:
    """Return the log messages after visiting all tables backward and forward.

    Also returns the largest change of an entry; NaN says that no joint state is possible.

    Examples
    --------
    >>> from credo.inference.discrete.loops.flat_tables import flat_tables, walk
    >>> net = flat_tables([2, 2], [(0,), (0, 1)], [np.array([1, 3.0]), np.eye(2)])
    >>> messages, _ = sweep(net, walk(net), empty_messages(net))
    >>> beliefs(net, messages)
    array([0.25, 0.75, 0.25, 0.75])
    """
    after = log_message.copy()
    change = _loops().sweep(net, order.tables, after, is_max, damping)
    return after, float(change)


def beliefs(net: FlatTables, log_message: Array) -> Array:
    """Return the product of the messages to each variable, normalized, end to end."""
    mail = _loops().sort_mail(net, log_message)
    total = np.where(mail.n_zero > 0, -np.inf, mail.total)
    starts = net.state_start[:-1]
    weight = np.exp(total - np.repeat(np.maximum.reduceat(total, starts), net.n_states))
    return np.asarray(weight / np.repeat(np.add.reduceat(weight, starts), net.n_states))


def bethe_log_partition(net: FlatTables, log_message: Array) -> float:
    """Return the Bethe approximation of the log of the sum of the product of all tables.

    Exact where the tables form a forest and the messages have settled.
    """
    return float(_loops().bethe(net, log_message))


def decoded_states(net: FlatTables, order: Walk, log_message: Array) -> NDArray[np.intp]:
    """Return a joint state read off max-product messages, one table after the other."""
    return np.asarray(_loops().decode(net, order.tables, log_message), dtype=np.intp)


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.inference.discrete.loops._loops_messages")

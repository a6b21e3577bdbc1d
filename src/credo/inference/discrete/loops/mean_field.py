"""Mean field on a product of tables: a sweep of coordinate ascent, and the bound.

numba loads on the first call, never at import.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType

from credo.inference.discrete.loops.flat_tables import FlatTables
from credo.numerics.array import Array

__all__ = ["mean_field_bound", "mean_field_sweep"]


def mean_field_sweep(net: FlatTables, probability: Array) -> tuple[Array, float]:
    """Return the distributions after each has been made the best in turn, and their change.

    Parameters
    ----------
    probability
        One entry per state of every variable, end to end.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.inference.discrete.loops.flat_tables import flat_tables
    >>> net = flat_tables([2], [(0,)], [np.array([1.0, 3.0])])
    >>> mean_field_sweep(net, np.array([0.5, 0.5]))
    (array([0.25, 0.75]), 0.25)
    """
    after = probability.copy()
    return after, float(_loops().ascend(net, after))


def mean_field_bound(net: FlatTables, probability: Array) -> float:
    """Return the lower bound of the log partition: expected log entries plus entropy."""
    return float(_loops().bound(net, probability))


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.inference.discrete.loops._loops_mean_field")

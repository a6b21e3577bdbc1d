"""Products of tables whose entries differ from row to row of the findings, in logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array

__all__ = ["RowTable", "gathered", "spread"]

Codes = Mapping[str, NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class RowTable:
    """The log of a table over some discrete variables, for each row of the findings.

    Logs, because a finding far away may leave every state a probability below the smallest
    float, and another table may rule out the states that are nearest.

    Attributes
    ----------
    scope
        Names of the variables, one per axis after the first.
    log_values
        Shape (n_rows or 1, *sizes), minus infinity where the table is zero.
    """

    scope: tuple[str, ...]
    log_values: Array


def gathered(
    values: Array, scope: Sequence[str], codes: Codes, n_trailing: int = 0
) -> tuple[Array, tuple[str, ...]]:
    """Return ``values`` at the given states, rows first, and the names of the axes left.

    Parameters
    ----------
    values
        One axis per name of ``scope``, then ``n_trailing`` others that stay as they are.
    codes
        Position of the state of some variables in each row, each of shape (n_rows,).

    Examples
    --------
    >>> table = np.array([[0.1, 0.9], [0.4, 0.6]])
    >>> part, left = gathered(table, ("a", "b"), {"b": np.array([1, 0, 1])})
    >>> part.tolist(), left
    ([[0.9, 0.6], [0.1, 0.4], [0.9, 0.6]], ('a',))
    """
    known = [i for i, name in enumerate(scope) if name in codes]
    left = [i for i, name in enumerate(scope) if name not in codes]
    trailing = range(len(scope), len(scope) + n_trailing)
    ordered = values.transpose(*known, *left, *trailing)
    rest = tuple(scope[i] for i in left)
    if not known:
        return ordered[None], rest
    return np.asarray(ordered[tuple(codes[scope[i]] for i in known)]), rest


def spread(values: Array, scope: Sequence[str], wanted: Sequence[str]) -> Array:
    """Return ``values`` with the axes of ``wanted`` after the first, of length one if absent.

    Axes of ``values`` beyond those of ``scope`` stay at the end.
    """
    order = [1 + scope.index(name) for name in wanted if name in scope]
    trailing = range(1 + len(scope), values.ndim)
    ordered = values.transpose(0, *order, *trailing)
    sizes = iter(ordered.shape[1 : 1 + len(scope)])
    shape = [next(sizes) if name in scope else 1 for name in wanted]
    return ordered.reshape(ordered.shape[0], *shape, *ordered.shape[1 + len(scope) :])

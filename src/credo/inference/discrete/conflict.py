"""The smallest part of some findings that cannot be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from credo.inference.discrete.exact_inference import TableInference
from credo.inference.engine.findings import Findings
from credo.numerics.array import Array

__all__ = ["conflict", "smallest_conflict"]


Name = TypeVar("Name")


def conflict(exact: TableInference, findings: Findings[int]) -> tuple[int, ...]:
    """Return variables whose findings are impossible, though not without any one of them.

    One row is asked about. Every round of the search is one batch of rows, in which findings
    that are left out are missing.
    """
    names = [*findings.codes, *findings.likelihood]
    found = smallest_conflict(
        names, lambda order, sizes: exact.total(_prefixes(findings, order, sizes))
    )
    return tuple(sorted(found))


def smallest_conflict(
    names: Sequence[Name], log_totals: Callable[[Sequence[Name], Sequence[int]], Array]
) -> list[Name]:
    """Return a part of some findings that is impossible, though not without any one of it.

    The first prefix of the findings that is impossible ends in a member of a conflict; moved
    to the front, the next such prefix ends in another.

    Parameters
    ----------
    names
        What is known; all of it together is impossible.
    log_totals
        Returns the log totals of prefixes of an order, given their lengths.

    Raises
    ------
    ValueError
        If all of it together is possible.

    Examples
    --------
    >>> def totals(order, sizes):
    ...     return np.array([-np.inf if {"a", "c"} <= set(order[:n]) else 0.0 for n in sizes])
    >>> smallest_conflict(["a", "b", "c", "d"], totals)
    ['a', 'c']
    """
    left, found = list(names), list[Name]()
    while True:
        order = [*found, *(name for name in left if name not in found)]
        n_known = range(len(found), len(order) + 1)
        impossible = np.flatnonzero(np.isneginf(log_totals(order, n_known)))
        if not impossible.size:
            raise ValueError(
                f"findings must be impossible together to have a conflict; found {list(names)} "
                "possible. Ask about other findings."
            )
        first = int(impossible[0])
        if first == 0:
            return found
        found = [order[n_known[first] - 1], *found]
        left = order[: n_known[first]]


def _prefixes(
    findings: Findings[int], order: Sequence[int], n_known: Sequence[int]
) -> Findings[int]:
    """Return one row per number of findings, taken from the front of ``order``."""
    place = {variable: at for at, variable in enumerate(order)}
    sizes = np.array(n_known)
    codes, likelihood = {}, {}
    for i, column in findings.codes.items():
        if i in place:
            codes[i] = np.where(place[i] < sizes, column[0], -1)
    for i, table in findings.likelihood.items():
        if i in place:
            likelihood[i] = np.where(place[i] < sizes, table, 1.0)
    return Findings(len(sizes), codes, likelihood)

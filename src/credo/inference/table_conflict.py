"""The smallest part of some findings that cannot be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from credo.inference.table_findings import TableFindings
from credo.inference.table_inference import TableInference

__all__ = ["conflict"]


def conflict(exact: TableInference, findings: TableFindings) -> tuple[int, ...]:
    """Return variables whose findings are impossible, though not without any one of them.

    One row is asked about. The first prefix of the findings that is impossible ends in a member
    of a conflict; moved to the front, the next such prefix ends in another. Every round is one
    batch of rows, in which findings that are left out are missing.
    """
    names = [*findings.codes, *findings.weights]
    found: list[int] = []
    while True:
        order = [*found, *(i for i in names if i not in found)]
        n_known = range(len(found), len(order) + 1)
        totals = exact.total(_prefixes(findings, order, n_known))
        first = int(np.flatnonzero(np.isneginf(totals))[0])
        if first == 0:
            return tuple(sorted(found))
        last = order[n_known[first] - 1]
        found = [last, *found]
        names = order[: n_known[first]]


def _prefixes(
    findings: TableFindings, order: Sequence[int], n_known: Sequence[int]
) -> TableFindings:
    """Return one row per number of findings, taken from the front of ``order``."""
    place = {variable: at for at, variable in enumerate(order)}
    sizes = np.array(n_known)
    codes, weights = {}, {}
    for i, column in findings.codes.items():
        if i in place:
            codes[i] = np.where(place[i] < sizes, column[0], -1)
    for i, weight in findings.weights.items():
        if i in place:
            weights[i] = np.where(place[i] < sizes, weight, 1.0)
    return TableFindings(len(sizes), codes, weights)

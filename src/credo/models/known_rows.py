"""Rows of findings that know the same variables, as an engine of real variables takes them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.models.findings import Findings
from credo.numerics.array import Array

__all__ = ["KnownRows", "known_rows"]

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Rows that know the same variables.

    Attributes
    ----------
    rows
        Which rows.
    place
        Row of the engine's answer that belongs to each; one serves all if nothing is known.
    known
        What is known in these rows.
    told
        What of it the engine must be told: all but nodes that are cut off and lead nowhere.
    """

    rows: Rows
    place: Rows
    known: Findings
    told: Findings

    @property
    def hints(self) -> tuple[dict[str, Array], ...]:
        """Likelihoods, (n_rows, n_states) each, if there are any."""
        weights = self.told.weights
        return ({name: weight.T for name, weight in weights.items()},) if weights else ()

    def has(self, name: str) -> bool:
        """Return whether the variable is given."""
        return name in self.known.codes or name in self.known.values


def known_rows(findings: Findings, inside: Collection[str]) -> Iterator[KnownRows]:
    """Yield rows that know the same variables; an engine knows those ``inside`` only."""
    for rows, known in findings.patterns():
        told = known.without([name for name in known.names if name not in inside])
        place = np.arange(len(rows)) if told.names else np.zeros(len(rows), dtype=np.intp)
        yield KnownRows(rows, place, known, told)

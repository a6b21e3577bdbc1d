"""The problem of every engine for spins, and what such engines answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.inference.spins.grid_sweep import SpinGrid
from credo.inference.spins.sweep import SpinGraph, Spins
from credo.numerics.array import Array

__all__ = ["IsingProblem", "SpinAssignment", "SpinMeans", "small_problem"]


@dataclass(frozen=True, eq=False)
class IsingProblem:
    """The density ``exp(constant + sum over edges of w x_i x_j + sum of field_i x_i)``.

    Spins x_i are -1 or 1, every edge counts once, and the density is not normalized.

    Attributes
    ----------
    graph
        Edges, couplings and fields.
    grid
        The same spins in rows and columns, where that is what they are and the fast loops
        for grids serve them.
    log_constant
        What is added to the log density, such as the part of a likelihood that both values
        of a spin share.
    """

    graph: SpinGraph
    grid: SpinGrid | None = None
    log_constant: float = 0.0

    def __repr__(self) -> str:
        return f"IsingProblem({self.n_spins} spins, {len(self.graph.edges)} edges)"

    @property
    def n_spins(self) -> int:
        """Number of spins."""
        return len(self.graph.field)

    def clamped(self, places: Sequence[int], spins: Sequence[int]) -> IsingProblem:
        """Return the problem of the other spins once some have known values."""
        graph, known = self.graph, np.zeros(self.n_spins)
        known[list(places)] = spins
        tail, head = graph.edges.T
        field = graph.field.copy()
        np.add.at(field, tail, graph.coupling * known[head])
        np.add.at(field, head, graph.coupling * known[tail])
        inside = (known[tail] == 0) & (known[head] == 0)
        hidden = np.flatnonzero(known == 0)
        edges = np.searchsorted(hidden, graph.edges[inside])
        left = SpinGraph(edges, graph.coupling[inside], field[hidden])
        return IsingProblem(left, None, float(self.log_density(known)))

    def log_density(self, x: NDArray[np.number]) -> Array:
        """Return the log density of spins, shape (..., n_spins), not normalized."""
        return np.asarray(self.log_constant + self.graph.log_density(x))


def small_problem() -> IsingProblem:
    """Return a square of spins with a field, for examples that laws run on."""
    edges = np.array([[0, 1], [1, 3], [3, 2], [2, 0]])
    return IsingProblem(SpinGraph(edges, np.full(4, 0.2), np.array([0.5, -0.3, 0.1, 0.8])))


@dataclass(frozen=True, eq=False)
class SpinMeans:
    """Mean of every spin, from which ``P(x_i = 1) = (1 + mean_i) / 2``.

    Attributes
    ----------
    mean
        Between -1 and 1, shape (n_spins,).
    standard_error
        Monte Carlo error of each mean, or None.
    """

    mean: Array
    standard_error: Array | None = None

    def __repr__(self) -> str:
        return f"SpinMeans({len(self.mean)} spins)"


@dataclass(frozen=True, eq=False)
class SpinAssignment:
    """One value of every spin, and its log density (not normalized)."""

    spins: Spins
    log_density: float

    def __repr__(self) -> str:
        return f"SpinAssignment({len(self.spins)} spins, log density {self.log_density:.6g})"

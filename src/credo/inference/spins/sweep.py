"""Spins on any graph: neighbors in one compressed list, and sweeps over them.

The log density is ``sum over edges of w_ij x_i x_j + sum_i field_i x_i`` with x_i = -1 or 1 and
every edge counted once. numba loads on the first call, never at import.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.numerics.parallel.threads import in_parts
from credo.numerics.special.log_domain import sigmoid

__all__ = ["SpinGraph", "Spins", "random_seed", "random_spins"]

Spins = NDArray[np.int8]
Index = NDArray[np.intp]

# A loop types integers below this bound as signed, whatever their value.
_SEEDS = 1 << 62


@dataclass(frozen=True, eq=False)
class SpinGraph:
    """Couplings between spins, and the fields that act on them.

    Attributes
    ----------
    edges
        Pairs of nodes, each pair once, shape (n_edges, 2).
    coupling
        Weight of each edge, shape (n_edges,).
    field
        Half the log odds of each spin without neighbors, shape (n,).

    Examples
    --------
    >>> pair = SpinGraph(np.array([[0, 1]]), np.array([0.5]), np.array([0.1, 0.2]))
    >>> round(float(pair.log_density(np.array([1, -1], dtype=np.int8))), 12)
    -0.6
    """

    edges: Index
    coupling: Array
    field: Array

    def log_density(self, x: NDArray[np.number]) -> Array:
        """Return the log density of spins, shape (..., n), not normalized."""
        spins = x.astype(np.float64)
        joined = spins[..., self.edges[:, 0]] * spins[..., self.edges[:, 1]]
        return np.asarray(joined @ self.coupling + spins @ self.field)

    def draw(self, spin: Spins, seed: int, sweep: int, total: Array | None = None) -> None:
        """Draw every spin given the others, color by color, in place.

        ``total``, if given, grows by the mean of each spin given its neighbors at that time.
        """
        sums = np.empty(0) if total is None else total
        for start, stop in pairwise(self._color_ends):
            nodes = self._by_color[start:stop]

            def part(a: int, b: int, nodes: Index = nodes) -> None:
                settings = (seed, sweep, total is not None)
                _loops().gibbs(spin, nodes[a:b], *self._neighbors, self.field, sums, *settings)

            in_parts(part, len(nodes), 4 * len(nodes))

    def mean_field(self, mean: Array, damping: float = 0.0) -> float:
        """Update every mean given the others, in place; return the largest change."""
        return float(_loops().mean_field(mean, *self._neighbors, self.field, damping))

    def bound(self, mean: Array) -> float:
        """Return the mean log density of independent spins plus their entropy."""
        return float(_loops().bound(mean, *self._neighbors, self.field))

    def modes(self, spin: Spins) -> int:
        """Set every spin to its mode given the others, in place; return how many changed."""
        return int(_loops().modes(spin, *self._neighbors, self.field))

    def annealed(self, start: Array, levels: Array, seeds: Sequence[int]) -> Array:
        """Return the log weight of one path for each seed, from independent spins to these.

        Parameters
        ----------
        start
            Fields of the independent spins, shape (n,).
        levels
            Share of couplings and own fields along the path, ascending from 0 to 1.

        Notes
        -----
        Without own fields the path is symmetric: it also starts from the opposite spins.
        """
        is_symmetric = not np.any(self.field)
        log_weight = np.empty(len(seeds))

        def part(a: int, b: int) -> None:
            for k in range(a, b):
                rng = np.random.default_rng(seeds[k])
                up = rng.random(len(start)) < sigmoid(2.0 * start)
                spin = np.where(up, 1, -1).astype(np.int8)
                settings = (start, self.field, levels, seeds[k], is_symmetric)
                log_weight[k] = _annealing().anneal(spin, self._neighbors, *settings)

        in_parts(part, len(seeds), len(seeds) * len(levels) * len(start))
        return log_weight

    @cached_property
    def colors(self) -> Index:
        """Color of each node; neighbors differ, so one color can be drawn at once."""
        first, neighbor, _ = self._neighbors
        most = int(np.diff(first).max(initial=0))
        return np.asarray(_loops().color(first, neighbor, most))

    @cached_property
    def _by_color(self) -> Index:
        return np.argsort(self.colors, kind="stable")

    @cached_property
    def _color_ends(self) -> list[int]:
        counts: list[int] = np.cumsum(np.bincount(self.colors)).tolist()
        return [0, *counts]

    @cached_property
    def _neighbors(self) -> tuple[Index, Index, Array]:
        """Where each node's neighbors begin, all neighbors, and their couplings."""
        tail = np.concatenate([self.edges[:, 0], self.edges[:, 1]])
        head = np.concatenate([self.edges[:, 1], self.edges[:, 0]])
        order = np.lexsort((head, tail))
        counts = np.bincount(tail, minlength=len(self.field))
        first = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        return first, head[order], np.tile(self.coupling, 2)[order]


def random_seed(rng: np.random.Generator) -> int:
    """Return a seed for the sequences of the loops."""
    return int(rng.integers(_SEEDS))


def random_spins(n: int, rng: np.random.Generator) -> Spins:
    """Return independent fair spins."""
    return (2 * rng.integers(0, 2, n, dtype=np.int8) - 1).astype(np.int8)


@cache
def _annealing() -> ModuleType:
    return importlib.import_module("credo.inference.spins._loops_annealing")


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.inference.spins._loops_sweep")

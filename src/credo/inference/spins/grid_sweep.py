"""Spins on a grid of rows and columns with one coupling: the fast way to draw them.

Spins of the two colors of the checkerboard are packed apart, and several sweeps run on a band
of rows while it is in the cache: first on bands that shrink by a row with each half step, then
on the gaps between them, which grow. Every half step still sees what it must see. numba loads
on the first call, never at import.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.inference.spins.sweep import Spins
from credo.numerics.array import Array
from credo.numerics.parallel.threads import in_parts

__all__ = ["SpinGrid"]

Entries = NDArray[Any]

# Products of exponentials of fields and couplings must neither overflow nor vanish.
_LARGEST_EXPONENT = 600.0
_BAND, _HALF_STEPS = 64, 16


@dataclass(frozen=True, eq=False)
class SpinGrid:
    """A grid whose neighbors in rows and columns are coupled equally.

    Random numbers have 32 bits, so that probabilities are met to 2^-32.

    Attributes
    ----------
    field
        Half the log odds of each spin without neighbors, shape (n_rows, n_columns).
    coupling
        Weight of every edge.
    is_periodic
        Whether the last row and column are neighbors of the first.

    Examples
    --------
    >>> grid = SpinGrid(np.full((4, 6), 50.0), coupling=0.5, is_periodic=False)
    >>> spin = grid.pack(-np.ones((4, 6), dtype=np.int8))
    >>> grid.draw(spin, seed=1, first_sweep=0, n_sweeps=1)
    >>> int(grid.unpack(spin).sum())
    24
    """

    field: Array
    coupling: float
    is_periodic: bool

    @property
    def is_served(self) -> bool:
        """Whether two colors suffice and no exponential leaves the range of numbers."""
        n_rows, n_columns = self.field.shape
        even = not self.is_periodic or (n_rows % 2 == n_columns % 2 == 0)
        wide = not self.is_periodic or min(n_rows, n_columns) > 2
        exponent = 2.0 * float(np.abs(self.field).max(initial=0.0)) + 8.0 * abs(self.coupling)
        return even and wide and exponent < _LARGEST_EXPONENT

    def pack(self, spin: Spins) -> Spins:
        """Return spins by color with a margin of zeros or, if periodic, of their neighbors."""
        packed = np.zeros((2, len(spin) + 1, self._width + 2), dtype=np.int8)
        for part, place in _colors(packed[:, :-1, 1:-1], spin):
            part[...] = place
        if self.is_periodic:
            packed[:, :, 0], packed[:, :, -1] = packed[:, :, -2], packed[:, :, 1]
        return packed

    def unpack(self, packed: Spins) -> Spins:
        """Return spins by row and column."""
        spin = np.empty(self.field.shape, dtype=np.int8)
        for part, place in _colors(packed[:, :-1, 1:-1], spin):
            place[...] = part
        return spin

    def draw(
        self,
        packed: Spins,
        seed: int,
        first_sweep: int,
        n_sweeps: int,
        total: Array | None = None,
    ) -> None:
        """Take sweeps in place, each drawing all spins given the other color, twice.

        Parameters
        ----------
        seed, first_sweep
            Together choose the random numbers: sweeps 0 to 9 and then 10 to 19 are the same
            as sweeps 0 to 19.
        total
            Grows by the mean of each spin given its neighbors when it was drawn, shape
            (2, n_rows, width); see `mean_total`.
        """
        end = 2 * (first_sweep + n_sweeps)
        for step in range(2 * first_sweep, end, _HALF_STEPS):
            self._block(packed, total, seed, step, min(_HALF_STEPS, end - step))

    def empty_total(self) -> Array:
        """Return zeros to be grown by `draw`."""
        return np.zeros((2, len(self.field), self._width))

    def mean_total(self, total: Array) -> Array:
        """Return sums grown by `draw` by row and column."""
        mean = np.empty(self.field.shape)
        for part, place in _colors(total, mean):
            place[...] = part
        return mean

    def _block(
        self, packed: Spins, total: Array | None, seed: int, first_step: int, n_steps: int
    ) -> None:
        """Take a few half steps, on shrinking bands of rows and then on the gaps."""
        n_rows, n_columns = self.field.shape
        shape = (n_rows, n_columns, self.is_periodic, total is not None)
        sums = np.empty((2, 1, 1)) if total is None else total
        edges = list(range(0, n_rows - _BAND + 1, _BAND)) or [0]
        ends = [*edges[1:], n_rows]

        def run(start: int, stop: int, growth: int) -> None:
            rows = (start, stop, growth, n_steps)
            _loops().half_steps(
                packed, self._odds, self._factor, sums, shape, seed, first_step, rows
            )

        def bands(a: int, b: int) -> None:
            for k in range(a, b):
                run(edges[k], ends[k], -1)

        def gaps(a: int, b: int) -> None:
            for k in range(a, b):
                run(ends[k], ends[k], 1)

        if len(edges) == 1:
            run(0, n_rows, 0)
            return
        in_parts(bands, len(edges), n_rows * n_columns * n_steps)
        in_parts(gaps, len(edges), n_rows * n_columns * n_steps)

    @property
    def _width(self) -> int:
        return (int(self.field.shape[1]) + 1) // 2

    @cached_property
    def _factor(self) -> Array:
        return np.exp(-2.0 * self.coupling * np.arange(-4.0, 5.0))

    @cached_property
    def _odds(self) -> Array:
        odds = np.ones((2, len(self.field), self._width))
        for part, place in _colors(odds, self.field):
            part[...] = np.exp(-2.0 * place)
        return odds


def _colors(packed: Entries, grid: Entries) -> Iterator[tuple[Entries, Entries]]:
    """Yield views of the same spins, packed by color and by row and column."""
    for color, parity in np.ndindex(2, 2):
        place = grid[parity::2, (color + parity) % 2 :: 2]
        yield packed[color, parity::2, : place.shape[1]], place


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.inference.spins._loops_grid_sweep")

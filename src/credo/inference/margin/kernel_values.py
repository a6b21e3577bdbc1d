"""Values of a kernel at rows that are known: row by row for a cache, or summed with weights.

Gaussian and linear kernels are matrix products at heart, which is used; every other kernel is
evaluated as it is. numba loads on the first call, never at import.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from credo.features.kernels.inner_product import Linear
from credo.features.kernels.kernel import HeldKernel, Kernel, ScaledKernel
from credo.features.kernels.stationary import SquaredExponential
from credo.numerics.array import Array, as_float
from credo.numerics.parallel.threads import in_parts, threads_for

__all__ = ["KernelValues", "LinearValues", "RowCache", "kernel_values"]

Places = NDArray[np.intp]

ROWS_AT_ONCE, KNOWN_AT_ONCE = 64, 256
"""Values that stay close to a core until they are summed."""

NUMBERS = 4
"""Values of a loop that take as long as one of others that threads are weighed by."""


class KernelValues(Protocol):
    """A kernel with one of its arguments at known rows, n of them."""

    @property
    def diagonal(self) -> Array:
        """The kernel of each known row with itself, shape (n,)."""

    def rows(self, places: Places, out: NDArray[Any]) -> None:
        """Write rows of the matrix, float32 or float64, into ``out``; what is beyond is 0.

        A number that is the same in a whole row, or in a whole column, may be left out: sums
        with multipliers that add up to zero do not change by more than a constant.
        """

    def sums(self, X: Array, weight: Array) -> Array:
        """Return ``k(X, rows) @ weight``, shape (len(X),) or (len(X), k)."""

    def own_sums(self, weight: Array) -> Array:
        """Return ``k(rows, rows) @ weight`` with the diagonal of `diagonal`, shape (n,)."""


@dataclass(frozen=True, eq=False)
class GaussianValues:
    """``variance * exp(-|x - z|^2 / 2)`` of rows in units of the length scales.

    The exponent ``x.z - |x|^2 / 2 - |z|^2 / 2`` is one product of widened rows.
    """

    known: Array
    scale: Array
    center: Array
    variance: float

    @classmethod
    def of(cls, x: Array, scale: Array, variance: float) -> GaussianValues:
        """Return the values at known rows, which are centered so that products stay small."""
        inner = x / scale
        center = inner.mean(axis=0) if len(x) else np.zeros(x.shape[1])
        return cls(inner - center, scale, center, variance)

    @property
    def diagonal(self) -> Array:
        return np.full(len(self.known), self.variance)

    @cached_property
    def _right(self) -> Array:
        return np.column_stack(
            [self.known, np.ones(len(self.known)), -0.5 * np.square(self.known).sum(axis=1)]
        )

    @cached_property
    def _narrow(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        right = self._right
        left = np.column_stack([right[:, :-2], right[:, -1], right[:, -2]])
        padded = np.zeros((padded_size(len(right)), right.shape[1]), dtype=np.float32)
        padded[: len(right)] = right
        return left.astype(np.float32), padded

    def rows(self, places: Places, out: NDArray[Any]) -> None:
        if out.dtype == np.float64:
            n = len(self.known)
            left = np.column_stack(
                [self._right[places, :-2], self._right[places, -1], self._right[places, -2]]
            )
            out[:, n:] = 0.0
            for k, row in enumerate(left @ self._right.T):
                loops().exponential_sums(row)
                np.multiply(row, self.variance, out=out[k, :n])
        else:
            left32, right32 = self._narrow
            chosen, loop = left32[places], loops().exponential_rows

            def fill(start: int, stop: int) -> None:
                part = out[start:stop]
                np.matmul(chosen[start:stop], right32.T, out=part)
                loop(part.reshape(-1), self.variance)

            in_parts(fill, len(places), out.size // NUMBERS)
        out[np.arange(len(places)), places] = self.variance

    def sums(self, X: Array, weight: Array) -> Array:
        inner = X / self.scale - self.center
        found = np.empty((len(X), *weight.shape[1:]))
        # Far outside, a square may overflow: the kernel is zero there.
        with np.errstate(over="ignore"):
            half = -0.5 * np.square(inner).sum(axis=1)
        half = np.maximum(half, -1e300)
        left = np.column_stack([inner, half, np.ones(len(inner))])
        right, loop = self._right, loops().exponential_sums

        def work(start: int, stop: int) -> None:
            for first in range(
                start * ROWS_AT_ONCE, min(stop * ROWS_AT_ONCE, len(X)), ROWS_AT_ONCE
            ):
                some = left[first : first + ROWS_AT_ONCE]
                total = np.zeros((len(some), *weight.shape[1:]))
                for begin in range(0, len(self.known), KNOWN_AT_ONCE):
                    end = begin + KNOWN_AT_ONCE
                    part = some @ right[begin:end].T
                    loop(part.reshape(-1))
                    total += part @ weight[begin:end]
                found[first : first + ROWS_AT_ONCE] = total

        with threads_for(0):
            in_parts(work, -(-len(X) // ROWS_AT_ONCE), len(X) * len(self.known) // NUMBERS)
        return self.variance * found

    def own_sums(self, weight: Array) -> Array:
        is_used = weight != 0.0
        used = GaussianValues(
            self.known[is_used], np.ones(1), np.zeros(self.known.shape[1]), self.variance
        )
        found = np.empty(len(weight))
        found[is_used] = used._mirrored_sums(weight[is_used])
        found[~is_used] = used.sums(self.known[~is_used], weight[is_used])
        return found

    def _mirrored_sums(self, weight: Array) -> Array:
        """Return sums over the known rows at themselves, each value being used twice."""
        n, right, loop = len(self.known), self._right, loops().exponential_sums
        left = np.column_stack([right[:, :-2], right[:, -1], right[:, -2]])
        parts: dict[int, Array] = {}

        def work(start: int, stop: int) -> None:
            total = np.zeros(n)
            for a in range(start * KNOWN_AT_ONCE, min(stop * KNOWN_AT_ONCE, n), KNOWN_AT_ONCE):
                rows = slice(a, a + KNOWN_AT_ONCE)
                for b in range(a, n, KNOWN_AT_ONCE):
                    others = slice(b, b + KNOWN_AT_ONCE)
                    part = left[rows] @ right[others].T
                    loop(part.reshape(-1))
                    total[rows] += part @ weight[others]
                    if b > a:
                        total[others] += weight[rows] @ part
            parts[start] = total

        with threads_for(0):
            in_parts(work, -(-n // KNOWN_AT_ONCE), n * n // (2 * NUMBERS))
        # In one order, whichever thread was first.
        return np.asarray(self.variance * sum(parts[start] for start in sorted(parts)))


@dataclass(frozen=True, eq=False)
class LinearValues:
    """``x.z`` of rows times a factor for each column, the root of its variance."""

    known: Array
    factor: Array

    @property
    def diagonal(self) -> Array:
        """The squared length of each known row about their mean."""
        return np.asarray(np.square(self.centered).sum(axis=1))

    @cached_property
    def centered(self) -> Array:
        """The known rows about their mean, which changes sums by a constant only."""
        return np.ascontiguousarray(self.known - self.known.mean(axis=0))

    def rows(self, places: Places, out: NDArray[Any]) -> None:
        """Write products of rows about their mean."""
        n = len(self.known)
        out[:, n:] = 0.0
        out[:, :n] = self.centered[places] @ self.centered.T

    def sums(self, X: Array, weight: Array) -> Array:
        """Return products with the weighted sum of the known rows."""
        return np.asarray((X * self.factor) @ (self.known.T @ weight))

    def own_sums(self, weight: Array) -> Array:
        """Return products of the known rows with their weighted sum."""
        return np.asarray(self.known @ (self.known.T @ weight))


@dataclass(frozen=True, eq=False)
class AnyValues:
    """Values of a kernel as it is."""

    kernel: Kernel
    known: Array

    @cached_property
    def diagonal(self) -> Array:
        return self.kernel.evaluated_diagonal(self.known)[0]

    def rows(self, places: Places, out: NDArray[Any]) -> None:
        n = len(self.known)
        out[:, n:] = 0.0
        out[:, :n] = self.kernel.evaluated(self.known[places], self.known)[0]
        # White noise is of a row with itself, which only the diagonal knows.
        out[np.arange(len(places)), places] = self.diagonal[places]

    def sums(self, X: Array, weight: Array) -> Array:
        parts = [self.kernel.evaluated(rows, self.known)[0] @ weight for rows in _blocks(X)]
        return np.concatenate(parts) if parts else np.empty((0, *weight.shape[1:]))

    def own_sums(self, weight: Array) -> Array:
        used = np.flatnonzero(weight)
        found, start = np.empty(len(weight)), 0
        for rows in _blocks(self.known):
            matrix = self.kernel.evaluated(rows, self.known[used])[0]
            own = np.flatnonzero((used >= start) & (used < start + len(rows)))
            matrix[used[own] - start, own] = self.diagonal[used[own]]
            found[start : start + len(rows)] = matrix @ weight[used]
            start += len(rows)
        return found


def kernel_values(kernel: Kernel, x: Array) -> KernelValues:
    """Return the values of a kernel at known rows, in the quickest form that there is.

    Examples
    --------
    >>> values = kernel_values(2.0 * Linear(), np.array([[1.0], [3.0]]))
    >>> values.sums(np.array([[1.0]]), np.array([1.0, -1.0]))
    array([-4.])
    """
    inner, variance = kernel, 1.0
    while isinstance(inner, HeldKernel | ScaledKernel):
        if isinstance(inner, ScaledKernel):
            variance *= inner.variance
        inner = inner.kernel
    if type(inner) is SquaredExponential:
        return GaussianValues.of(x, as_float(inner.length_scale), variance)
    if type(inner) is Linear:
        factor = np.sqrt(variance * as_float(inner.variance))
        return LinearValues(x * factor, factor)
    return AnyValues(kernel, x)


class RowCache:
    """Rows of the matrix of a kernel, of which those least lately used make room for others.

    Attributes
    ----------
    rows
        Memory for rows, shape (n_slots, padded_size(n)).
    slot
        Place of each row in ``rows``, or -1.
    tick
        When each place was used last.
    """

    def __init__(self, values: KernelValues, n: int, dtype: Any, n_bytes: float) -> None:
        width = padded_size(n)
        n_slots = int(np.clip(n_bytes // (width * np.dtype(dtype).itemsize), 2, max(n, 2)))
        self.rows = np.empty((n_slots, width), dtype=dtype)
        self.slot = np.full(n, -1, dtype=np.int32)
        self.tick = np.zeros(n_slots, dtype=np.int64)
        self._owner = np.full(n_slots, -1, dtype=np.intp)
        self._n_used = 0
        self._values = values

    @property
    def n_slots(self) -> int:
        """Rows that fit."""
        return len(self.rows)

    @property
    def holds_all(self) -> bool:
        """Whether every row has a place of its own."""
        return self.n_slots >= len(self.slot)

    def add(self, places: Places) -> None:
        """Evaluate rows that are not here, at most `n_slots`, and keep them."""
        m = len(places)
        if self._n_used + m <= self.n_slots:
            chosen: Any = slice(self._n_used, self._n_used + m)
            self._values.rows(places, self.rows[chosen])
            self._n_used += m
            kept = np.arange(chosen.start, chosen.stop)
        else:
            self._n_used = self.n_slots
            kept = np.argpartition(self.tick, m - 1)[:m]
            fresh = np.empty((m, self.rows.shape[1]), dtype=self.rows.dtype)
            self._values.rows(places, fresh)
            self.rows[kept] = fresh
            before = self._owner[kept]
            self.slot[before[before >= 0]] = -1
        self.slot[places] = kept
        self._owner[kept] = places
        self.tick[kept] = self.tick.max() + 1


def padded_size(n: int) -> int:
    """Return the next whole number of blocks."""
    block = 64
    return -(-n // block) * block


def _blocks(x: Array) -> list[Array]:
    return [x[start : start + 1024] for start in range(0, len(x), 1024)]


@cache
def loops() -> ModuleType:
    """Return the compiled loops, which take a moment to load."""
    return importlib.import_module("credo.inference.margin._loops_support")

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
from credo.numerics.array import Array, as_float, work_array
from credo.numerics.parallel.threads import in_parts, threads_for

__all__ = ["GaussianValues", "KernelValues", "LinearValues", "RowCache", "kernel_values"]

Places = NDArray[np.intp]

ROWS_AT_ONCE, MOST_COLUMNS = 64, 2048
"""Shape of values that stay close to a core until they are summed, at most."""

QUICK_PRODUCT = 1e6
"""Multiplications up to which a product of matrices begins at once, with no copies first."""

BLOCK = 64
"""Entries that are compared at once; only the best block is searched one by one."""

FEW, MANY = 64, 32
"""Rows of a matrix that are evaluated together, of a Gaussian kernel and of others."""

FEW_FOR_SUMS = 256
"""Rows of which all values are found as quickly as half of them in parts."""

ROWS_FOR_MEDIAN = 500
"""Rows that tell where the middle of many is."""

UNIT, EXPONENTIAL_ERROR = 2.0**-24, 4e-7
"""Rounding of a number to float32, and of an exponential and its factor, relative to them."""

FAR_FOR_PRODUCTS = 1e9
"""Squared length scales from the center at which an exponent has six digits left."""

BALANCED = 1e-10
"""Sum of weights, as a share of the sum of their sizes, that is rounding alone."""

FAR = 1e100
"""Length scales from the center beyond which all rows are alike: the kernel is zero there."""

NUMBERS = 4
"""Values of a loop that take as long as one of others that threads are weighed by."""


class KernelValues(Protocol):
    """A kernel with one of its arguments at known rows, n of them."""

    @property
    def at_once(self) -> int:
        """How many rows of the matrix are well evaluated together."""

    @property
    def diagonal(self) -> Array:
        """The kernel of each known row with itself, shape (n,)."""

    def rows(self, places: Places, out: NDArray[Any], slots: Places) -> None:
        """Write rows of the matrix, float32 or float64, to some rows of ``out``.

        What is beyond the known rows stays finite.
        A number that is the same in a whole row, or in a whole column, may be left out: sums
        with multipliers that add up to zero do not change by more than a constant.
        """

    def sums(self, X: Array, weight: Array) -> Array:
        """Return ``k(X, rows) @ weight``, shape (len(X),) or (len(X), k)."""

    def own_sums(self, weight: Array) -> Array:
        """Return ``k(rows, rows) @ weight`` with the diagonal of `diagonal`, shape (n,)."""

    def part(self, places: Places) -> KernelValues:
        """Return the values at some of the known rows."""

    def moves(self, others: Places, places: Places, weight: Array, dtype: Any) -> NDArray[Any]:
        """Return ``k(rows[others], rows[places]) @ weight``, to the digits of ``dtype``.

        Where both are the same row, its noise may be left out.
        """


@dataclass(frozen=True, eq=False)
class GaussianValues:
    """``variance * exp(-|x - z|^2 / 2)`` of rows in units of the length scales.

    The exponent ``x.z - |x|^2 / 2 - |z|^2 / 2`` is one product of widened rows.

    Attributes
    ----------
    known, scale, center, variance
        Known rows in units of the scale, about the center; the kernel at distance 0.
    given_narrow
        The widened rows in float32, and their transpose padded to whole blocks, if known.
    """

    known: Array
    scale: Array
    center: Array
    variance: float
    given_narrow: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None
    at_once = FEW

    @classmethod
    def of(cls, x: Array, scale: Array, variance: float) -> GaussianValues:
        """Return the values at known rows, which are centered so that products stay small.

        About the median, of some rows if there are many: a few far outside do not move it.
        """
        inner = x / scale
        some = inner[:: 1 + len(x) // ROWS_FOR_MEDIAN]
        middle = len(some) // 2
        center = np.partition(some, middle, axis=0)[middle] if len(x) else np.zeros(x.shape[1])
        return cls(np.clip(inner - center, -FAR, FAR), scale, center, variance)

    @cached_property
    def exponent_error(self) -> float:
        """Most by which rounding to float32 may change an exponent.

        A product of m pairs of rounded numbers is wrong by at most ``(m + 2) u`` times the sum
        of their sizes, here of ``|x_i z_i|``, ``|x|^2 / 2`` and ``|z|^2 / 2``.
        """
        longest = float(np.square(self.known).sum(axis=1).max(initial=0.0))
        return float((self.known.shape[1] + 4) * UNIT * 2.0 * longest)

    @property
    def diagonal(self) -> Array:
        """The variance, once for each known row."""
        return np.full(len(self.known), self.variance)

    @cached_property
    def _left(self) -> Array:
        """The widened rows."""
        found = np.ones((len(self.known), self.known.shape[1] + 2))
        found[:, :-2] = self.known
        np.einsum("ij,ij->i", self.known, -0.5 * self.known, out=found[:, -2])
        return found

    @cached_property
    def _right(self) -> Array:
        """The rows that they are multiplied with, as columns."""
        return np.ascontiguousarray(self._left.T[self._turned])

    @property
    def narrow_rows(self) -> NDArray[np.float32]:
        """The rows widened by minus half their squared length, and one, in float32."""
        return self._narrow[0]

    @cached_property
    def _narrow(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        if self.given_narrow is not None:
            return self.given_narrow
        right = self._right
        padded = np.zeros((len(right), padded_size(right.shape[1])), dtype=np.float32)
        padded[:, : right.shape[1]] = right
        return self._left.astype(np.float32), padded

    def rows(self, places: Places, out: NDArray[Any], slots: Places) -> None:
        """Write rows of the matrix."""
        if out.dtype == np.float64:
            n = len(self.known)
            for slot, row in zip(slots, self._left[places] @ self._right, strict=True):
                loops().exponential_sums(row)
                np.multiply(row, self.variance, out=out[slot, :n])
        else:
            self._write_narrow(places, out, slots)
        out[slots, places] = self.variance

    def _write_narrow(self, places: Places, out: NDArray[Any], slots: Places) -> None:
        """Write rows of the matrix in float32, on all cores if they are many."""
        left, right = self._narrow
        chosen, width, loop = left[places], self._n_columns(FEW), loops().exponential_rows

        def work(start: int, stop: int) -> None:
            close = _close_memory(FEW * width)
            for first in range(start * FEW, min(stop * FEW, len(chosen)), FEW):
                some, own = chosen[first : first + FEW], slots[first : first + FEW]
                for begin in range(0, right.shape[1], width):
                    columns = right[:, begin : begin + width]
                    exponent = _shaped(close, len(some), columns.shape[1])
                    np.matmul(some, columns, out=exponent)
                    loop(exponent, out, own, begin, self.variance)

        n_parts, size = -(-len(chosen) // FEW), len(chosen) * right.shape[1]
        in_parts(work, n_parts, size // NUMBERS)

    def _n_columns(self, n_rows: int) -> int:
        """Return how many columns a product with some rows has that begins at once."""
        n_columns = int(QUICK_PRODUCT / (n_rows * (self.known.shape[1] + 2)))
        return min(max(n_columns, 2 * BLOCK), MOST_COLUMNS) // BLOCK * BLOCK

    @cached_property
    def _turned(self) -> Places:
        """Columns of widened rows in the order of those that they are multiplied with."""
        d = self.known.shape[1]
        return np.array([*range(d), d + 1, d])

    def part(self, places: Places) -> GaussianValues:
        """Return the values at some rows, and their float32 form if it is known already."""
        if "_narrow" not in self.__dict__ and self.given_narrow is None:
            return GaussianValues(self.known[places], self.scale, self.center, self.variance)
        left, right = self._narrow
        padded = np.zeros((len(right), padded_size(len(places))), dtype=np.float32)
        np.take(right, places, axis=1, out=padded[:, : len(places)])
        return GaussianValues(
            self.known[places], self.scale, self.center, self.variance, (left[places], padded)
        )

    def moves(self, others: Places, places: Places, weight: Array, dtype: Any) -> NDArray[Any]:
        """Return sums, in float32 of values that never leave the core."""
        if dtype == np.float64:
            return self.sums_at(others, places, weight)
        left32, right32 = self._narrow
        left, narrow = left32[places], (self.variance * weight).astype(np.float32)
        right = right32 if len(others) == len(self.known) else right32[:, others]
        found = np.zeros(right.shape[1], dtype=np.float32)
        step = max(min(len(left), ROWS_AT_ONCE), 1)
        width, loop = self._n_columns(step), loops().exponential_moves

        def work(start: int, stop: int) -> None:
            close, part = _close_memory(step * width), np.empty(width, dtype=np.float32)
            for begin in range(start * width, min(stop * width, right.shape[1]), width):
                columns = right[:, begin : begin + width]
                total = found[begin : begin + width]
                sums = part[: columns.shape[1]] if len(left) > step else total
                for first in range(0, len(left), step):
                    some = left[first : first + step]
                    exponent = _shaped(close, len(some), columns.shape[1])
                    np.matmul(some, columns, out=exponent)
                    loop(exponent, narrow[first : first + step], sums)
                    if sums is not total:
                        total += sums

        in_parts(work, -(-right.shape[1] // width), right.shape[1] * len(left) // NUMBERS)
        return found[: len(others)]

    def sums(self, X: Array, weight: Array) -> Array:
        """Return sums in float64."""
        inner = np.clip(X / self.scale - self.center, -FAR, FAR)
        found = np.empty((len(X), *weight.shape[1:]))
        half = -0.5 * np.square(inner).sum(axis=1)
        left = np.column_stack([inner, half, np.ones(len(inner))])
        right, loop, width = self._right, loops().exponential_sums, self._n_columns(FEW)

        def work(start: int, stop: int) -> None:
            for first in range(
                start * ROWS_AT_ONCE, min(stop * ROWS_AT_ONCE, len(X)), ROWS_AT_ONCE
            ):
                some = left[first : first + ROWS_AT_ONCE]
                total = np.zeros((len(some), *weight.shape[1:]))
                for begin in range(0, len(self.known), width):
                    part = some @ right[:, begin : begin + width]
                    loop(part.reshape(-1))
                    total += part @ weight[begin : begin + width]
                found[first : first + ROWS_AT_ONCE] = total

        with threads_for(0):
            in_parts(work, -(-len(X) // ROWS_AT_ONCE), len(X) * len(self.known) // NUMBERS)
        return self.variance * found

    def own_sums(self, weight: Array) -> Array:
        """Return sums in float64, each value between rows with a weight being used twice.

        Of few rows, all values are found at once.
        """
        if len(weight) <= FEW_FOR_SUMS:
            matrix = self._left @ self._right
            loops().exponential_sums(matrix.reshape(-1))
            return np.asarray(matrix @ (self.variance * weight))
        used, rest = np.flatnonzero(weight), np.flatnonzero(weight == 0.0)
        found = np.zeros(len(weight))
        found[used] = self.mirrored_sums(used, weight[used])
        found[rest] = self.sums_at(rest, used, weight[used])
        return found

    def sums_at(self, others: Places, places: Places, weight: Array) -> Array:
        """Return sums as `moves`, in float64."""
        return self._bare(places).sums(self.known[others], weight)

    def mirrored_sums(self, places: Places, weight: Array) -> Array:
        """Return sums of some rows at themselves in float64, each value being used twice."""
        return self._bare(places)._mirrored_sums(weight)

    def moves_error(self, weight: Array) -> float:
        """Return the most by which rounding may change any of `moves` in float32.

        A sum of blocks of values is wrong by at most ``m u`` times the sum of their sizes, for
        m terms that follow each other. No value is above the variance.
        """
        n_terms = ROWS_AT_ONCE + len(weight) // ROWS_AT_ONCE + 4
        each = np.expm1(min(self.exponent_error, 1.0)) + EXPONENTIAL_ERROR + n_terms * UNIT
        return float(self.variance * each * np.abs(weight).sum())

    def _bare(self, places: Places) -> GaussianValues:
        """Return the values at some rows, which others are compared with in the same units."""
        return GaussianValues(
            self.known[places], np.ones(1), np.zeros(self.known.shape[1]), self.variance
        )

    def _mirrored_sums(self, weight: Array) -> Array:
        """Return sums over the known rows at themselves, each value being used twice."""
        n, left, right = len(self.known), self._left, self._right
        loop, parts = loops().exponential_sums, dict[int, Array]()
        side = int((QUICK_PRODUCT / len(right)) ** 0.5)
        side = int(np.clip(side, 2 * BLOCK, 6 * BLOCK)) // BLOCK * BLOCK

        def work(start: int, stop: int) -> None:
            total, close = np.zeros(n), work_array((side * side,))
            for a in range(start * side, min(stop * side, n), side):
                rows = slice(a, a + side)
                for b in range(a, n, side):
                    others = slice(b, b + side)
                    columns = right[:, others]
                    part = _shaped(close, len(left[rows]), columns.shape[1])
                    np.matmul(left[rows], columns, out=part)
                    loop(part.reshape(-1))
                    total[rows] += part @ weight[others]
                    if b > a:
                        total[others] += weight[rows] @ part
            parts[start] = total

        with threads_for(0):
            in_parts(work, -(-n // side), n * n // (2 * NUMBERS))
        # In one order, whichever thread was first.
        return np.asarray(self.variance * sum(parts[start] for start in sorted(parts)))


@dataclass(frozen=True, eq=False)
class LinearValues:
    """``x.z`` of rows times a factor for each column, the root of its variance."""

    known: Array
    factor: Array
    at_once = MANY

    @property
    def diagonal(self) -> Array:
        """The squared length of each known row about their mean."""
        return np.asarray(np.square(self.centered).sum(axis=1))

    @cached_property
    def centered(self) -> Array:
        """The known rows about their mean, which changes sums by a constant only."""
        return np.ascontiguousarray(self.known - self._mean)

    @property
    def _mean(self) -> Array:
        return np.asarray(self.known.sum(axis=0) / max(len(self.known), 1))

    def rows(self, places: Places, out: NDArray[Any], slots: Places) -> None:
        """Write products of rows about their mean."""
        out[slots, : len(self.known)] = self.centered[places] @ self.centered.T

    def part(self, places: Places) -> LinearValues:
        """Return the products of some rows."""
        return LinearValues(self.known[places], self.factor)

    def moves(self, others: Places, places: Places, weight: Array, dtype: Any) -> NDArray[Any]:
        """Return products with the weighted sum of some rows."""
        return np.asarray(self.centered[others] @ (self.centered[places].T @ weight))

    def sums(self, X: Array, weight: Array) -> Array:
        """Return products with the weighted sum of the known rows."""
        return np.asarray((X * self.factor) @ self.direction(weight))

    def own_sums(self, weight: Array) -> Array:
        """Return products of the known rows with their weighted sum."""
        return np.asarray(self.known @ self.direction(weight))

    def direction(self, weight: Array) -> Array:
        """Return the sum of rows by weights, to all digits where these add up to zero.

        About their mean, for far from the origin the rows themselves would cancel.
        """
        total = weight.sum(axis=0)
        total = np.where(np.abs(total) > BALANCED * np.abs(weight).sum(axis=0), total, 0.0)
        rest = np.multiply.outer(self._mean, total)
        return np.asarray(self.centered.T @ weight + rest)


@dataclass(frozen=True, eq=False)
class AnyValues:
    """Values of a kernel as it is."""

    kernel: Kernel
    known: Array
    at_once = MANY

    @cached_property
    def diagonal(self) -> Array:
        return self.kernel.evaluated_diagonal(self.known)[0]

    def rows(self, places: Places, out: NDArray[Any], slots: Places) -> None:
        out[slots, : len(self.known)] = self.kernel.evaluated(self.known[places], self.known)[0]
        # White noise is of a row with itself, which only the diagonal knows.
        out[slots, places] = self.diagonal[places]

    def part(self, places: Places) -> AnyValues:
        return AnyValues(self.kernel, self.known[places])

    def moves(self, others: Places, places: Places, weight: Array, dtype: Any) -> NDArray[Any]:
        return self.part(places).sums(self.known[others], weight)

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
        found = GaussianValues.of(x, as_float(inner.length_scale), variance)
        # Products of rows far from the center lose digits that differences between them keep.
        is_far = np.square(found.known).sum(axis=1) > FAR_FOR_PRODUCTS
        return AnyValues(kernel, x) if np.count_nonzero(is_far) > 1 else found
    if type(inner) is Linear:
        factor = np.sqrt(variance * as_float(inner.variance))
        return LinearValues(x * factor, factor)
    return AnyValues(kernel, x)


class RowCache:
    """Rows of the matrix of a kernel, of which those least lately used make room for others.

    Attributes
    ----------
    rows
        Memory for rows in blocks, shape (n_slots, width / block, block).
    width
        Length of a row with its padding.
    diagonal, at_once
        Those of the kernel.
    slot
        Place of each row in ``rows``, or -1.
    present
        Whether each row has a place, as a number, in blocks; padding counts as here.
    tick
        When each place was used last.
    """

    def __init__(self, values: KernelValues, dtype: Any, n_bytes: float) -> None:
        self.diagonal, self.at_once = values.diagonal, values.at_once
        n = len(self.diagonal)
        self.width = padded_size(n)
        n_slots = int(np.clip(n_bytes // (self.width * np.dtype(dtype).itemsize), 2, max(n, 2)))
        n_words = self.width * np.dtype(dtype).itemsize // 8
        self._flat = work_array((n_slots, n_words)).view(dtype)
        self._flat[:, n:] = 0.0
        self.rows = self._flat.reshape(n_slots, -1, BLOCK)
        self.slot = np.full(n, -1, dtype=np.int32)
        self._is_here = np.ones(self.width, dtype=dtype)
        self._is_here[:n] = 0.0
        self.present = self._is_here.reshape(-1, BLOCK)
        self.tick = np.zeros(n_slots, dtype=np.int64)
        self._owner = np.full(n_slots, -1, dtype=np.intp)
        self._n_used = 0
        self._values = values
        self._next = np.empty(0, dtype=np.intp)

    @property
    def n_slots(self) -> int:
        """Rows that fit."""
        return len(self.rows)

    def add(self, places: Places) -> None:
        """Evaluate rows that are not here, at most `n_slots`, and keep them."""
        m = len(places)
        if self._n_used + m <= self.n_slots:
            kept = np.arange(self._n_used, self._n_used + m)
            self._n_used += m
        else:
            kept = self._oldest(m)
            before = self._owner[kept]
            self.slot[before[before >= 0]] = -1
            self._is_here[before[before >= 0]] = 0.0
        self._values.rows(places, self._flat, kept)
        self.slot[places] = kept
        self._is_here[places] = 1.0
        self._owner[kept] = places
        self.tick[kept] = self.tick.max() + 1

    def _oldest(self, m: int) -> Places:
        """Return places to write over: those least lately used when last looked at."""
        self._n_used = self.n_slots
        if len(self._next) < m:
            n_looked = min(max(m, self.n_slots // 8), self.n_slots)
            self._next = np.argpartition(self.tick, n_looked - 1)[:n_looked]
        kept, self._next = self._next[:m], self._next[m:]
        return kept


def padded_size(n: int) -> int:
    """Return the next whole number of blocks."""
    return -(-n // BLOCK) * BLOCK


def _close_memory(size: int) -> NDArray[np.float32]:
    """Return memory in float32 that was used before, so that it is close to a core."""
    return work_array((-(-size // 2),)).view(np.float32)


def _shaped(memory: NDArray[Any], n_rows: int, n_columns: int) -> NDArray[Any]:
    """Return the first part of flat memory as a matrix."""
    return memory[: n_rows * n_columns].reshape(n_rows, n_columns)


def _blocks(x: Array) -> list[Array]:
    return [x[start : start + 1024] for start in range(0, len(x), 1024)]


@cache
def loops() -> ModuleType:
    """Return the compiled loops, which take a moment to load."""
    return importlib.import_module("credo.inference.margin._loops_support")

"""The softmax likelihood: its derivatives over rows, and its means over normal class scores.

With the parameters ``T`` of shape (J, m + 1), the last column an intercept, and a coding ``C``
of shape (K, J), a row ``b = ((x - center) * scale, 1)`` has class scores ``s = C T b`` and
class probabilities ``p = softmax(s)``. Then, with weights ``v`` and one-hot classes ``y``,

    value     = sum v (log sum exp s - s_y)
    gradient  = sum v C^T (p - y) b^T
    curvature = sum v C^T (diag p - p p^T) C (x) b b^T

Since probabilities sum to one, ``diag p - p p^T`` is the sum over pairs of classes of ``p_k p_l
(e_k - e_l)(e_k - e_l)^T``: nothing is subtracted from anything nearly equal, and the curvature
of all pairs is one matrix product. Rows are centered block by block while they are in cache, so
that offsets of the inputs cost no digits and no copy of them is made.

With the products ``b_i b_j``, ``i <= j``, of each row kept in one matrix, weighted Gram
matrices of the rows under many weights are one matrix product, and so are the quadratic forms
of all rows in many matrices: half as much work as with the rows themselves, since symmetry is
used.

Means over normal scores are, for learning, in closed form. The probability of class k is, with
the logistic function ``f``,

    p_k = 1 / (2 - K + sum over j of 1 / f(s_k - s_j))

exactly; its mean is close to the same with the means of ``f`` [daunizeau2017]_, and that of
``-log p_k`` to ``log(2 - K + sum over j of exp E log 1 / f(s_k - s_j))``: within 0.06 and six
percent where differences of scores have a standard deviation of about one, twice that at twice
the spread, and much less where one class leads. Two classes: both are exact. The logistic
function is a mixture of normal distribution functions within 3e-6 [monahan1992]_, and so are
its means.

For predictions, to about a percent: a fixed set of nodes, of even directions and radii at the
quantiles of the chi distribution, each beside its mirror image, so that all odd moments are
zero; they are scaled to the right covariance.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from threading import Lock
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from credo.numerics.array import Array, as_float
from credo.numerics.linear.linear_algebra import cholesky, solve_lower
from credo.numerics.parallel.threads import in_parts, threads_for
from credo.numerics.special.logistic_integral import log_logistic_normal_mean, moderation

__all__ = [
    "ColumnProducts",
    "ExpectedSoftmax",
    "ModeratedSoftmax",
    "SoftmaxRows",
    "class_coding",
    "class_pairs",
    "coordinate_covariance",
    "expected_softmax",
    "integrated_log_probability",
    "log_expected_softmax",
    "standard_nodes",
]

BLOCK_BYTES = 1 << 20
PRODUCT_BYTES = 1 << 22
SCORE_BYTES = 1 << 19
PACKED_PAIRS = 2
FEW_CLASSES = 32
MOST_PAIRS = 500
WORTH_A_LOOP = 1 << 22
VALUES_AT_ONCE, COLUMNS_AT_ONCE = 32, 8
FARTHEST = 300.0
_ALL_CORES = Lock()


@dataclass(frozen=True, eq=False)
class SoftmaxRows:
    """Labeled rows, and how they are seen.

    Attributes
    ----------
    x
        Inputs, shape (n, m).
    code
        Class of each row, 0 to K - 1.
    weight
        Weight of each row, shape (n,).
    center, scale
        What is subtracted from each input, and what the rest is multiplied by, shape (m,).
    coding
        Scores of the K classes from J numbers, shape (K, J).
    has_intercept
        Whether the last column of a row is one, or zero.
    """

    x: Array
    code: NDArray[np.intp]
    weight: Array
    center: Array
    scale: Array
    coding: Array
    has_intercept: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (J, m + 1) of the parameters."""
        return self.coding.shape[1], self.x.shape[1] + 1

    def take(self, rows: NDArray[np.intp]) -> SoftmaxRows:
        """Return some of the rows."""
        return replace(self, x=self.x[rows], code=self.code[rows], weight=self.weight[rows])

    @property
    def seen(self) -> Array:
        """All rows ``b`` as they are seen, shape (n, m + 1)."""
        return np.concatenate([part * self._scale for _, part in self._blocks()])

    def coordinates(self, parameters: Array) -> Array:
        """Return ``T b`` of each row, shape (n, J)."""
        seen = parameters * self._scale
        return np.concatenate([part @ seen.T for _, part in self._blocks()])

    def errors(self, parameters: Array) -> int:
        """Return how many rows that carry weight have another class as their best."""
        scores = self.coordinates(parameters.reshape(self.shape)) @ self.coding.T
        return int(np.count_nonzero((scores.argmax(axis=1) != self.code) & (self.weight > 0)))

    def mirrored_values(self, middle: Array, steps: Array) -> Array:
        """Return minus the log likelihood on both sides of the middle, shape (2, q).

        Parameters
        ----------
        middle, steps
            Parameters (J, m + 1), and steps from there to one side (q, J, m + 1).
        """
        value = np.empty((2, len(steps)))
        scores = self.coordinates(middle) @ self.coding.T

        def fill(start: int, stop: int) -> None:
            for chunk in range(start, stop):
                own = slice(chunk * VALUES_AT_ONCE, (chunk + 1) * VALUES_AT_ONCE)
                value[:, own] = self._mirrored_part(scores, steps[own])

        n_chunks = -(-len(steps) // VALUES_AT_ONCE)
        with threads_for(0):
            in_parts(fill, n_chunks, steps.size * len(self.x))
        return value

    def _mirrored_part(self, scores: Array, steps: Array) -> Array:
        """Return the values of a few steps, given the scores (n, K) of the middle."""
        by_class = np.tensordot(self.coding, steps * self._scale, axes=(1, 1))
        value = np.zeros((2, len(steps)))
        size = max(16, SCORE_BYTES // (8 * by_class.shape[0] * by_class.shape[1]))
        for rows, part in self._blocks(size):
            # Classes first, so that what is taken over them runs along whole blocks.
            ahead = part @ by_class.transpose(0, 2, 1)
            chosen = ahead[self.code[rows], np.arange(len(part))]
            middle = scores[rows].T[:, :, None]
            own = scores[rows][np.arange(len(part)), self.code[rows], None]
            up, down = _mirrored_log_sums(middle, ahead)
            value[0] += self.weight[rows] @ (up - own - chosen)
            value[1] += self.weight[rows] @ (down - own + chosen)
        return value

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return minus the log likelihood, and its gradient of shape (J, m + 1)."""
        seen = parameters * self._scale
        if self.x.size * len(self.coding) >= WORTH_A_LOOP:
            return self._value_and_gradient_by_row(seen)
        value, gradient = 0.0, np.zeros(self.shape)
        for rows, part in self._blocks():
            loss, residual, _ = self._loss_and_residual(rows, part @ seen.T)
            value += loss
            gradient += residual.T @ part
        return value, gradient * self._scale

    def _value_and_gradient_by_row(self, seen: Array) -> tuple[float, Array]:
        """Return the same from a fused loop, which reads every row once."""
        loops = importlib.import_module("credo.inference.logistic._loops_softmax_rows")
        against_first = self.coding[1:] - self.coding[0]
        slope = against_first @ seen
        # It takes all cores, and not every machine has a library that could share them.
        with _ALL_CORES:
            loss, slopes, ends = loops.loss_and_gradient(
                self.x,
                self.code,
                self.weight,
                self.center,
                np.array(slope[:, :-1]),
                slope[:, -1] * self.has_intercept,
            )
        by_class = np.column_stack([slopes.sum(axis=0), self.has_intercept * ends.sum(axis=0)])
        return float(loss.sum()), (against_first.T @ by_class) * self._scale

    def derivatives(self, parameters: Array) -> tuple[float, Array, Array]:
        """Return value, gradient, and curvature of shape (J (m + 1), J (m + 1))."""
        if self.products is not None:
            return self._derivatives_by_products(parameters)
        seen = parameters * self._scale
        first, second = class_pairs(len(self.coding))
        value, gradient = 0.0, np.zeros(self.shape)
        grams = _PairGrams(len(first), self.shape[1])
        for rows, part in self._blocks(grams.n_rows):
            loss, residual, probability = self._loss_and_residual(rows, part @ seen.T)
            value += loss
            gradient += residual.T @ part
            bend = probability[:, first] * probability[:, second] * self.weight[rows, None]
            grams.add(part, bend)
        return value, gradient * self._scale, self._curvature(grams.total())

    def _derivatives_by_products(self, parameters: Array) -> tuple[float, Array, Array]:
        """Return the same from the products of columns."""
        first, second = class_pairs(len(self.coding))
        coordinates = self.coordinates(parameters)
        value, residual, share = self._loss_and_residual(slice(None), coordinates)
        bend = share[:, first] * share[:, second] * self.weight[:, None]
        return value, self._gradient(residual), self._curvature_by_products(bend)

    @cached_property
    def products(self) -> ColumnProducts | None:
        """Products of the columns as they are seen; None if too many, or of little use."""
        n, m = len(self.x), self.shape[1]
        n_pairs = len(class_pairs(len(self.coding))[0])
        is_many = n_pairs > 1 and PACKED_PAIRS * n_pairs >= m
        if not (is_many and n_pairs < MOST_PAIRS and ColumnProducts.fit_memory(n, m)):
            return None
        return ColumnProducts.of(self.seen)

    def variances(self, covariance: Array) -> Array:
        """Return the variance of the difference of two scores, pair by pair, (n, n_pairs).

        Parameters
        ----------
        covariance
            Of the parameters, shape (J, m + 1, J, m + 1).
        """
        if self.products is not None:
            squares, (row, column) = code_squares(len(self.coding))
            # Blocks off the diagonal stand for two.
            twice = np.where(row == column, 1.0, 2.0)
            blocks = covariance[row, :, column].reshape(len(row), -1)
            m = self.shape[1]
            forms = self.products.forms(((squares * twice) @ blocks).reshape(-1, m, m))
            return np.maximum(forms, 0.0, out=forms)
        scaled = covariance * np.multiply.outer(self._scale, self._scale)[None, :, None, :]
        first, second = class_pairs(len(self.coding))
        between = self.coding[first] - self.coding[second]
        parts = []
        for _, part in self._blocks():
            own = coordinate_covariance(part, scaled)
            if len(self.coding) <= FEW_CLASSES:
                squares = (between[:, :, None] * between[:, None]).reshape(len(first), -1)
                parts.append(own.reshape(len(part), -1) @ squares.T)
                continue
            # Of many classes all squares at once would not fit into memory.
            scores = self.coding @ own @ self.coding.T
            each = np.diagonal(scores, axis1=1, axis2=2)
            parts.append(each[:, first] + each[:, second] - 2.0 * scores[:, first, second])
        return np.maximum(np.concatenate(parts), 0.0)

    def expected(self, coordinates: Array, variance: Array) -> ExpectedSoftmax:
        """Return means over normal scores of given means (n, J) and `variances`."""
        return expected_softmax(coordinates @ self.coding.T, variance, self.code)

    def moderated(self, coordinates: Array, variance: Array) -> ModeratedSoftmax:
        """Return rough means over normal scores, for means (n, J) and one variance a row (n,).

        All pairs of scores then differ with the same variance.
        """
        share = moderation(self.pair_variances(variance)[:, :1])
        found = self._loss_and_residual(slice(None), share * coordinates)
        return ModeratedSoftmax(self, found[1], found[2], self.weight * share[:, 0])

    def pair_variances(self, variance: Array) -> Array:
        """Return `variances` if the J numbers of a row are independent, and alike (n,)."""
        first, second = class_pairs(len(self.coding))
        between = self.coding[first] - self.coding[second]
        return np.asarray(np.multiply.outer(variance, (between**2).sum(axis=1)))

    def forms(self, matrix: Array) -> Array:
        """Return ``b^T A b`` of each row for a matrix (m + 1, m + 1)."""
        scaled = matrix * np.outer(self._scale, self._scale)
        each = [np.einsum("ij,ij->i", part @ scaled, part) for _, part in self._blocks()]
        return np.concatenate(each)

    @cached_property
    def lengths(self) -> Array:
        """Squared length of each row as it is seen, without the intercept."""
        return self.forms(np.diag(np.append(np.ones(self.x.shape[1]), 0.0)))

    def gram(self, weight: Array) -> Array:
        """Return ``sum over rows of w b b^T`` for weights (n,)."""
        grams = _PairGrams(1, self.shape[1])
        for rows, part in self._blocks(grams.n_rows):
            grams.add(part, weight[rows, None])
        return np.asarray(grams.total()[0] * np.outer(self._scale, self._scale))

    def expected_residual(self, found: ExpectedSoftmax) -> Array:
        """Return the mean derivative of the value by ``T b`` of each row, shape (n, J)."""
        residual = found.probability @ self.coding - self.coding[self.code]
        return np.asarray(residual * self.weight[:, None])

    def expected_derivatives(self, found: ExpectedSoftmax) -> tuple[Array, Array]:
        """Return the means of gradient (J, m + 1) and curvature over normal scores."""
        residual = self.expected_residual(found)
        bend = found.bend * self.weight[:, None]
        if self.products is not None:
            return self._gradient(residual), self._curvature_by_products(bend)
        gradient = np.zeros(self.shape)
        grams = _PairGrams(bend.shape[1], self.shape[1])
        for rows, part in self._blocks(grams.n_rows):
            gradient += residual[rows].T @ part
            grams.add(part, bend[rows])
        return gradient * self._scale, self._curvature(grams.total())

    def _gradient(self, residual: Array) -> Array:
        """Return the gradient (J, m + 1) from derivatives by ``T b`` of each row."""
        parts = [residual[rows].T @ part for rows, part in self._blocks()]
        return np.asarray(np.sum(parts, axis=0) * self._scale)

    def _curvature_by_products(self, bend: Array) -> Array:
        """Return the curvature from second derivatives (n, n_pairs) between classes."""
        n_codes, m = self.shape
        squares, (row, column) = code_squares(len(self.coding))
        assert self.products is not None
        blocks = self.products.grams(bend @ squares)
        curvature = np.empty((n_codes, m, n_codes, m))
        for block, j, k in zip(blocks, row, column, strict=True):
            curvature[j, :, k] = curvature[k, :, j] = block
        return curvature.reshape(n_codes * m, n_codes * m)

    def _curvature(self, grams: Array) -> Array:
        """Return the curvature from the Gram matrices of all pairs of classes."""
        n_codes, m = self.shape
        first, second = class_pairs(len(self.coding))
        pairs = grams * np.outer(self._scale, self._scale)
        # Between classes the curvature is minus that of the pair; each class balances its row.
        by_class = np.zeros((len(self.coding), len(self.coding), m, m))
        by_class[first, second] = by_class[second, first] = -pairs
        index = np.arange(len(self.coding))
        by_class[index, index] = -by_class.sum(axis=1)
        half = np.tensordot(self.coding, by_class, axes=(0, 0))
        curvature = np.tensordot(self.coding, half, axes=(0, 1)).transpose(1, 2, 0, 3)
        return np.asarray(curvature.reshape(n_codes * m, n_codes * m))

    @cached_property
    def _scale(self) -> Array:
        return np.append(self.scale, 1.0)

    def _loss_and_residual(self, rows: slice, coordinates: Array) -> tuple[float, Array, Array]:
        """Return loss, residuals in code coordinates (n, J), and probabilities (n, K)."""
        if len(self.coding) == 2:
            return self._loss_and_residual_of_two(rows, coordinates)
        code, weight = self.code[rows], self.weight[rows]
        scores = coordinates @ self.coding.T
        scores -= scores.max(axis=1, keepdims=True)
        chosen = scores[np.arange(len(code)), code]
        probability = np.exp(scores, out=scores)
        total = probability.sum(axis=1)
        loss = float(weight @ (np.log(total) - chosen))
        probability /= total[:, None]
        residual = probability @ self.coding
        residual -= self.coding[code]
        residual *= weight[:, None]
        return loss, residual, probability

    def _loss_and_residual_of_two(
        self, rows: slice, coordinates: Array
    ) -> tuple[float, Array, Array]:
        """Return the same for two classes, where one number says it all."""
        step = self.coding[1] - self.coding[0]
        is_second, weight = self.code[rows] == 1, self.weight[rows]
        score = coordinates @ step
        small = np.exp(-np.abs(score))
        probability = np.empty((len(score), 2))
        probability[:, 1] = np.where(score >= 0, 1.0, small) / (1.0 + small)
        probability[:, 0] = np.where(score >= 0, small, 1.0) / (1.0 + small)
        wrong = np.where(is_second, -score, score)
        loss = float(weight @ (np.log1p(small) + np.maximum(wrong, 0.0)))
        residual = weight * np.where(is_second, -probability[:, 0], probability[:, 1])
        return loss, np.outer(residual, step), probability

    def _blocks(self, n_rows: int | None = None) -> Iterator[tuple[slice, Array]]:
        """Yield rows, and what is seen of them but for the scale; a block fits the cache."""
        n, m = self.x.shape
        block = n_rows or max(128, BLOCK_BYTES // (8 * (m + 1)))
        whole = self._few_rows
        buffer = np.empty((min(block, n), m + 1)) if whole is None else whole
        for start in range(0, n, block):
            rows = slice(start, min(start + block, n))
            if whole is not None:
                yield rows, whole[rows]
                continue
            part = buffer[: rows.stop - start]
            self._see(rows, part)
            yield rows, part

    @cached_property
    def _few_rows(self) -> Array | None:
        """What is seen of all rows but for the scale, if they fit the cache together."""
        n, m = self.x.shape
        if 8 * n * (m + 1) > BLOCK_BYTES:
            return None
        found = np.empty((n, m + 1))
        self._see(slice(None), found)
        found.flags.writeable = False
        return found

    def _see(self, rows: slice, out: Array) -> None:
        np.subtract(self.x[rows], self.center, out=out[:, :-1])
        out[:, -1] = self.has_intercept


@dataclass(frozen=True, eq=False)
class ModeratedSoftmax:
    """Means of the softmax function over normal scores, as that of moderated ones.

    Attributes
    ----------
    residual
        Derivative of the value by ``T b`` of each row, shape (n, J).
    probability
        Of the classes, shape (n, K).
    weight
        Of each row, times what its scores are multiplied by, shape (n,).
    """

    rows: SoftmaxRows
    residual: Array
    probability: Array
    weight: Array

    def gradient(self) -> Array:
        """Return the gradient of the value, shape (J, m + 1)."""
        return self.rows._gradient(self.residual)

    def shared_curvature(self) -> Array:
        """Return the mean over codes of the curvature of one, shape (m + 1, m + 1)."""
        coding, share = self.rows.coding, self.probability
        bend = share @ (coding**2).sum(axis=1) - ((share @ coding) ** 2).sum(axis=1)
        return self.rows.gram(self.weight * np.maximum(bend, 0.0) / coding.shape[1])

    def bend_along(self, move: Array) -> float:
        """Return the second derivative of the value along a move of ``T b`` (n, J)."""
        change = move @ self.rows.coding.T
        mean = (self.probability * change).sum(axis=1, keepdims=True)
        return float(self.weight @ (self.probability * (change - mean) ** 2).sum(axis=1))


class _PairGrams:
    """Sums of ``bend * b b^T`` for each pair of classes.

    Few columns for the number of pairs: products of columns are formed once and weighted for
    all pairs in one matrix product. Many columns, or one pair: one symmetric product per pair.
    """

    def __init__(self, n_pairs: int, m: int) -> None:
        self._is_packed = n_pairs > 1 and PACKED_PAIRS * n_pairs >= m
        packed, full = (m * (m + 1) // 2, n_pairs), (n_pairs, m, m)
        self._sums = np.zeros(packed if self._is_packed else full)
        products, columns = PRODUCT_BYTES // COLUMNS_AT_ONCE, BLOCK_BYTES
        self.n_rows = max(64, (products if self._is_packed else columns) // (8 * m))
        self._corner = np.triu_indices(m)
        self._shape = full

    def add(self, part: Array, bend: Array) -> None:
        """Add rows of shape (n, m) with weights of shape (n, n_pairs)."""
        if self._is_packed:
            self._add_products(np.ascontiguousarray(part.T), bend)
            return
        for total, weight in zip(self._sums, bend.T, strict=True):
            scaled = part * np.sqrt(weight)[:, None]
            total += scaled.T @ scaled

    def _add_products(self, columns: Array, bend: Array) -> None:
        """Add the weighted products of all pairs of columns, given as (m, n)."""
        m, n = columns.shape
        starts = np.concatenate([[0], np.cumsum(np.arange(m, 0, -1))])

        def add(start: int, stop: int) -> None:
            for group in range(start, stop):
                first = group * COLUMNS_AT_ONCE
                last = min(first + COLUMNS_AT_ONCE, m)
                begin, end = starts[first], starts[last]
                products = np.empty((end - begin, n))
                for i in range(first, last):
                    own = products[starts[i] - begin : starts[i + 1] - begin]
                    np.multiply(columns[i:], columns[i], out=own)
                self._sums[begin:end] += products @ bend

        with threads_for(0):
            in_parts(add, -(-m // COLUMNS_AT_ONCE), self._sums.size * n)

    def total(self) -> Array:
        """Return the sums, shape (n_pairs, m, m)."""
        if not self._is_packed:
            return self._sums
        full = np.empty(self._shape)
        row, column = self._corner
        full[:, row, column] = full[:, column, row] = self._sums.T
        return full


MOST_BYTES = 1 << 26
"""Bytes of products of columns up to which they are kept."""


@dataclass(frozen=True, eq=False)
class ColumnProducts:
    """Products of columns.

    Attributes
    ----------
    values
        A row for each pair of columns in the order of an upper triangle, shape (p, n).
    n_columns
        Number of columns ``m``, with ``p = m (m + 1) / 2``.
    """

    values: Array
    n_columns: int

    @classmethod
    def fit_memory(cls, n: int, m: int) -> bool:
        """Return whether the products of m columns of n rows are small enough to be kept."""
        return 8 * n * (m * (m + 1) // 2) <= MOST_BYTES

    @classmethod
    def of(cls, rows: Array) -> Self:
        """Return the products of columns of shape (n, m).

        Examples
        --------
        >>> ColumnProducts.of(np.array([[2.0, 3.0]])).values.ravel().tolist()
        [4.0, 6.0, 9.0]
        """
        n, m = rows.shape
        columns = np.ascontiguousarray(rows.T)
        values = np.empty((m * (m + 1) // 2, n))
        end = 0
        for i in range(m):
            begin, end = end, end + m - i
            np.multiply(columns[i:], columns[i], out=values[begin:end])
        return cls(values, m)

    def grams(self, weight: Array) -> Array:
        """Return ``sum over rows of w b b^T`` for weights (n, q), shape (q, m, m).

        Examples
        --------
        >>> products = ColumnProducts.of(np.array([[1.0, 2.0], [0.0, 1.0]]))
        >>> products.grams(np.array([[1.0], [3.0]]))[0].tolist()
        [[1.0, 2.0], [2.0, 7.0]]
        """
        sums = np.empty((weight.shape[1], len(self.values)))

        def fill(start: int, stop: int) -> None:
            sums[:, start:stop] = weight.T @ self.values[start:stop].T

        with threads_for(0):
            in_parts(fill, len(self.values), self.values.size * weight.shape[1])
        return sums[:, _place(self.n_columns)]

    def forms(self, matrices: Array) -> Array:
        """Return ``b^T A b`` of each row for matrices (q, m, m), shape (n, q).

        Examples
        --------
        >>> products = ColumnProducts.of(np.array([[1.0, 2.0]]))
        >>> products.forms(np.array([[[1.0, 5.0], [0.0, 1.0]]])).tolist()
        [[15.0]]
        """
        row, column = np.triu_indices(self.n_columns)
        packed = matrices[:, row, column]
        packed += np.where(row == column, 0.0, matrices[:, column, row])
        found = np.empty((self.values.shape[1], len(matrices)))

        def fill(start: int, stop: int) -> None:
            found[start:stop] = self.values[:, start:stop].T @ packed.T

        with threads_for(0):
            in_parts(fill, len(found), self.values.size * len(matrices))
        return found


@lru_cache(maxsize=16)
def _place(m: int) -> NDArray[np.intp]:
    """Return where the product of two columns is, shape (m, m)."""
    place = np.empty((m, m), dtype=np.intp)
    row, column = np.triu_indices(m)
    place[row, column] = place[column, row] = np.arange(len(row))
    place.setflags(write=False)
    return place


def coordinate_covariance(rows: Array, covariance: Array) -> Array:
    """Return the covariance of ``T b`` of each row ``b``, shape (n, J, J).

    Parameters
    ----------
    rows
        Shape (n, m).
    covariance
        Of the parameters ``T``, shape (J, m, J, m).
    """
    n_codes, m = covariance.shape[:2]
    first, second = np.triu_indices(n_codes)
    blocks = covariance[first, :, second].transpose(1, 0, 2).reshape(m, -1)
    found = np.empty((len(rows), n_codes, n_codes))
    size = max(16, PRODUCT_BYTES // (8 * blocks.shape[1]))

    def fill(start: int, stop: int) -> None:
        for begin in range(start, stop, size):
            part = rows[begin : min(begin + size, stop)]
            half = (part @ blocks).reshape(len(part), -1, m)
            both = (half @ part[:, :, None])[:, :, 0]
            found[begin : begin + len(part), first, second] = both
            found[begin : begin + len(part), second, first] = both

    with threads_for(0):
        in_parts(fill, len(rows), rows.size * len(first))
    return found


def class_coding(n_classes: int) -> Array:
    """Return how K class scores are made of K - 1 numbers, shape (K, K - 1).

    Scores matter up to a common shift. Two classes have scores 0 and t. More have scores that
    sum to zero, in orthonormal coordinates, so that equal priors for all classes stay equal.

    Examples
    --------
    >>> class_coding(2)
    array([[0.],
           [1.]])
    >>> coding = class_coding(4)
    >>> np.allclose(coding.T @ coding, np.eye(3)), np.allclose(coding.sum(axis=0), 0.0)
    (True, True)
    """
    if n_classes == 2:
        return np.array([[0.0], [1.0]])
    # Helmert contrasts: class k + 1 against the mean of the classes before it.
    raw = np.triu(np.ones((n_classes, n_classes - 1)))
    raw[np.arange(1, n_classes), np.arange(n_classes - 1)] = -np.arange(1.0, n_classes)
    return np.asarray(raw / np.linalg.norm(raw, axis=0))


# The mixture of five normal distribution functions closest to the logistic function.
_MIXTURE = (
    (0.06403652285, 0.92573057251),
    (0.3375820735, 1.30207689887),
    (0.40887544456, 1.81621919782),
    (0.17219341862, 2.52648882098),
    (0.01731254047, 3.52179092253),
)
_MILLS = (1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530)
_MEANS_AT_ONCE = 1 << 14
_BLOCK_NUMBERS = 1 << 17
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class ExpectedSoftmax:
    """What the mean over scores gives for each row.

    Attributes
    ----------
    loss
        Mean of minus the log probability of the class of the row, shape (n,).
    probability
        Mean class probabilities, shape (n, K).
    bend
        Mean products of the probabilities of two classes, pair by pair, shape (n, n_pairs):
        the second derivative of the loss between them.
    """

    loss: Array
    probability: Array
    bend: Array


@lru_cache(maxsize=64)
def class_pairs(n_classes: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and the second class of each pair.

    Examples
    --------
    >>> class_pairs(3)
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    first, second = np.triu_indices(n_classes, 1)
    first.setflags(write=False)
    second.setflags(write=False)
    return first, second


@lru_cache(maxsize=64)
def code_squares(n_classes: int) -> tuple[Array, tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return how squared differences of two scores are made of products of two codes.

    Shape (n_pairs, n_products), and the first and the second code of each product.
    """
    first, second = class_pairs(n_classes)
    coding = class_coding(n_classes)
    row, column = np.triu_indices(coding.shape[1])
    between = coding[first] - coding[second]
    squares = between[:, row] * between[:, column]
    for part in (squares, row, column):
        part.setflags(write=False)
    return squares, (row, column)


def expected_softmax(scores: Array, variance: Array, code: NDArray[np.intp]) -> ExpectedSoftmax:
    """Return means over normal scores, row by row.

    Parameters
    ----------
    scores
        Means of the scores of the classes, shape (n, K).
    variance
        Variances of the differences of two scores, pair by pair, shape (n, n_pairs).
    code
        Class of each row.

    Examples
    --------
    >>> found = expected_softmax(np.array([[0.0, 1.0]]), np.array([[4.0]]), np.array([1]))
    >>> found.probability.round(4), found.loss.round(4)
    (array([[0.3523, 0.6477]]), array([0.6425]))
    """
    n, n_classes = scores.shape
    n_pairs = variance.shape[1]
    found = ExpectedSoftmax(np.empty(n), np.empty((n, n_classes)), np.empty((n, n_pairs)))
    size = max(1, _MEANS_AT_ONCE // max(n_pairs, 1))

    def fill(start: int, stop: int) -> None:
        for begin in range(start, stop, size):
            rows = slice(begin, min(begin + size, stop))
            part = _expected_block(scores[rows], variance[rows], code[rows])
            found.loss[rows], found.probability[rows], found.bend[rows] = part

    in_parts(fill, n, len(_MIXTURE) * variance.size)
    return found


def _expected_block(
    scores: Array, variance: Array, code: NDArray[np.intp]
) -> tuple[Array, Array, Array]:
    """Return loss, probability and bend of rows so few that all about them fits the cache."""
    n_classes = scores.shape[1]
    first, second = class_pairs(n_classes)
    ahead = scores[:, first] - scores[:, second]
    wins, slope, trail = _logistic_means(ahead, variance)
    loses = np.maximum(1.0 - wins, _TINY)
    wins = np.maximum(wins, _TINY)
    is_first, is_second = np.eye(n_classes)[first], np.eye(n_classes)[second]
    inverse = 2.0 - n_classes + (1.0 / wins) @ is_first + (1.0 / loses) @ is_second
    probability = 1.0 / inverse
    probability /= probability.sum(axis=1, keepdims=True)
    # Of each pair: how probable it is that one of the two is the class.
    both = np.maximum(probability[:, first] / wins, probability[:, second] / loses)
    bend = np.minimum(both, 1.0) ** 2 * slope
    return _own_loss(trail, ahead, code, n_classes), probability, bend


def _logistic_means(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
    """Return the means of the logistic function, its slope, and minus its logarithm."""
    value, slope, loss = np.zeros((3, *mean.shape))
    for share, width in _MIXTURE:
        spread = np.sqrt(variance + width**2)
        place = mean / spread
        density = place * place
        density *= -0.5
        np.exp(density, out=density)
        density *= share / np.sqrt(2.0 * np.pi)
        tail = _mills_ratio(np.abs(place))
        tail *= density
        # The normal distribution function is the tail on the left, one less that on the right.
        tail -= 0.5 * share
        value += np.copysign(tail, place, out=tail)
        slope += np.divide(density, spread, out=tail)
        loss += np.multiply(density, spread, out=tail)
    value += 0.5
    loss -= mean * (1.0 - value)
    return value, slope, loss


def _mills_ratio(x: Array) -> Array:
    """Return the upper tail of a normal over its density, from zero on [abramowitz1964]_.

    The tail is right within 8e-8.
    """
    t = x * 0.2316419
    t += 1.0
    np.reciprocal(t, out=t)
    ratio = t * _MILLS[0]
    for coefficient in _MILLS[1:]:
        ratio += coefficient
        ratio *= t
    return ratio


def _own_loss(trail: Array, ahead: Array, code: NDArray[np.intp], n_classes: int) -> Array:
    """Return the mean loss of each row from those of its class against each other one.

    Parameters
    ----------
    trail, ahead
        Mean loss of the first class of a pair against the second, and by how much its mean
        score is ahead, shape (n, n_pairs).
    """
    pair, is_second = _own_pairs(n_classes)
    own, row = pair[code], np.arange(len(code))[:, None]
    each = trail[row, own] + is_second[code] * ahead[row, own]
    each = np.maximum(each, 0.0)
    most = each.max(axis=1, keepdims=True)
    total = (2.0 - n_classes) * np.exp(-most[:, 0]) + np.exp(each - most).sum(axis=1)
    return np.asarray(np.log(total) + most[:, 0])


@lru_cache(maxsize=64)
def _own_pairs(n_classes: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the pairs of each class with the others, and whether it is their second."""
    index = np.arange(len(class_pairs(n_classes)[0]))
    pair = np.zeros((n_classes, n_classes), dtype=np.intp)
    pair[class_pairs(n_classes)] = pair.T[class_pairs(n_classes)] = index
    is_other = ~np.eye(n_classes, dtype=bool)
    is_second = np.tril(is_other)[is_other].reshape(n_classes, -1)
    return pair[is_other].reshape(n_classes, -1), is_second


def _mirrored_log_sums(middle: Array, ahead: Array) -> tuple[Array, Array]:
    """Return ``log sum exp(s + t)`` and ``log sum exp(s - t)`` over the first axis.

    One exponential serves both, unless it is too large. What is ahead is overwritten.
    """
    if np.abs(ahead).max(initial=0.0) > FARTHEST:
        sums = [special.logsumexp(middle + step, axis=0) for step in (ahead, -ahead)]
        return sums[0], sums[1]
    top = middle.max(axis=0)
    share, ratio = np.exp(middle - top), np.exp(ahead, out=ahead)
    up = np.einsum("knq,kn->nq", ratio, share[:, :, 0])
    down = np.einsum("knq,kn->nq", np.reciprocal(ratio, out=ratio), share[:, :, 0])
    return top + np.log(up), top + np.log(down)


def log_expected_softmax(mean: Array, root: Array, coding: Array) -> Array:
    """Return the logs of the mean probabilities alone, however small they are, shape (n, K)."""
    found = np.empty((len(mean), len(coding)))
    for rows, scores, weight in _scores(mean, root, coding):
        scores -= scores.max(axis=1, keepdims=True)
        share = np.exp(scores)
        total = share.sum(axis=1, keepdims=True)
        probability = (share @ (weight / total).swapaxes(1, 2))[:, :, 0]
        is_tiny = probability.min(axis=1) < _TINY
        part = np.log(np.maximum(probability, _TINY))
        if is_tiny.any():
            logs = scores[is_tiny] - np.log(total[is_tiny])
            part[is_tiny] = special.logsumexp(logs, axis=2, b=weight)
        found[rows] = part
    return np.asarray(found - special.logsumexp(found, axis=1, keepdims=True))


def integrated_log_probability(mean: Array, covariance: Array, coding: Array) -> Array:
    """Return log class probabilities, averaged over normal coordinates, shape (n, K).

    Two classes: the exact mean of the logistic function. More: that of the softmax function
    over nodes.

    Parameters
    ----------
    mean, covariance
        Of the J numbers that the scores of a row are made of, shapes (n, J) and (n, J, J).
    """
    if len(coding) == 2:
        both = np.column_stack([-mean, mean])
        return log_logistic_normal_mean(both, np.sqrt(covariance[:, 0]))
    if len(coding) == 3:
        return log_expected_softmax(mean, _plane_root(covariance), coding)
    root = cholesky(covariance, largest_jitter=1e-6).lower
    return log_expected_softmax(mean, root, coding)


def _plane_root(covariance: Array) -> Array:
    """Return a root of covariances (n, 2, 2) whose columns are their principal axes.

    An order of the classes turns the coordinates, and leaves these axes where they are.
    """
    one, both, two = covariance[:, 0, 0], covariance[:, 0, 1], covariance[:, 1, 1]
    middle, gap = 0.5 * (one + two), np.hypot(0.5 * (one - two), both)
    turn = 0.5 * np.arctan2(2.0 * both, one - two)
    long, short = np.sqrt(middle + gap), np.sqrt(np.maximum(middle - gap, 0.0))
    axes = np.array(
        [
            [long * np.cos(turn), -short * np.sin(turn)],
            [long * np.sin(turn), short * np.cos(turn)],
        ]
    )
    return np.ascontiguousarray(axes.transpose(2, 0, 1))


def _scores(
    mean: Array, root: Array, coding: Array
) -> Iterator[tuple[NDArray[np.intp], Array, Array]]:
    """Yield rows, their scores at every node (n, K, n_nodes), and the weights of the nodes."""
    center, spread = mean @ coding.T, coding @ root
    sizes = _sizes(spread)
    kinds, kind_of = np.unique(sizes, axis=0, return_inverse=True)
    for k, kind in enumerate(kinds.tolist()):
        nodes, weight = _plane_nodes(*kind) if len(coding) == 3 else _nodes(len(coding), *kind)
        chosen = np.flatnonzero(kind_of.reshape(-1) == k)
        n_rows = max(1, _BLOCK_NUMBERS // (len(coding) * len(weight)))
        for start in range(0, len(chosen), n_rows):
            rows = chosen[start : start + n_rows]
            scores = spread[rows] @ nodes
            scores += center[rows, :, None]
            yield rows, scores, weight


def _sizes(spread: Array) -> NDArray[np.intp]:
    """Return how many nodes rows need whose scores are spread like this, (n, 2) or (n, 1)."""
    if spread.shape[1] == 3:
        step = SCORE_STEP / np.maximum(np.ptp(spread, axis=1), SCORE_STEP / WIDEST_STEP)
        found = np.searchsorted(GRID_SIZES, RADIUS / step)
        return np.asarray(np.minimum(found, len(GRID_SIZES) - 1))
    variance = np.square(spread).sum(axis=2).max(axis=1, keepdims=True)
    return np.asarray(np.searchsorted(SPREADS, np.sqrt(variance)))


RADIUS = 4.2
"""Standard deviations that nodes in the plane reach."""

WIDEST_STEP, SCORE_STEP = 0.84, 2.4
"""Steps between them at the most: in standard deviations, and in differences of scores.

The trapezoidal rule is off by about ``exp(-2 pi^2 / step^2)`` for a normal density, and by
``exp(-2 pi^2 / step)`` for a logistic function, which has its poles at ``pi i``.
"""

GRID_SIZES = np.array([5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32])
"""Steps from the center that there may be along an axis."""

SPREADS = np.array([1.5, 6.0])
"""Standard deviations of scores beyond each of which there are twice as many nodes."""


MOMENT_SIZE, MOMENT_RADIUS = 6, 7.0
"""Which of the sizes of a grid is fine enough for moments, and how far it must reach."""

MOMENT_LEVEL, MOMENT_WIDTH = 3, 1.2
"""Level of the nodes in more dimensions, and how much wider than a standard normal they are."""


@lru_cache(maxsize=32)
def standard_nodes(n: int) -> tuple[Array, Array]:
    """Return nodes (n, n_nodes) and weights for moments of a standard normal times something.

    First and second moments of the normal itself are exact, and nodes lie so far out that the
    product may be half as wide again.

    Examples
    --------
    >>> nodes, weight = standard_nodes(3)
    >>> np.allclose((nodes * weight) @ nodes.T, np.eye(3)), np.allclose(nodes @ weight, 0.0)
    (True, True)
    """
    if n == 1:
        size = GRID_SIZES[-1]
        nodes = np.arange(-size, size + 1)[None] * (MOMENT_RADIUS / size)
        return nodes, special.softmax(-0.5 * nodes[0] ** 2)
    if n == 2:
        return _plane_nodes(MOMENT_SIZE, MOMENT_SIZE, MOMENT_RADIUS)
    nodes, _ = _nodes(n + 1, MOMENT_LEVEL)
    weight = special.softmax(-0.5 * (MOMENT_WIDTH**2 - 1.0) * np.square(nodes).sum(axis=0))
    return solve_lower(np.linalg.cholesky((nodes * weight) @ nodes.T), nodes), weight


@lru_cache(maxsize=128)
def _plane_nodes(one: int, two: int, radius: float = RADIUS) -> tuple[Array, Array]:
    """Return nodes (2, n_nodes) and weights for a standard normal in the plane: a grid.

    Parameters
    ----------
    one, two
        Places in `GRID_SIZES`, one for each axis.
    """
    axes = [np.arange(-n, n + 1) * (radius / n) for n in GRID_SIZES[[one, two]]]
    nodes = np.array(np.meshgrid(*axes)).reshape(2, -1)
    nodes = nodes[:, np.square(nodes).sum(axis=0) <= radius**2 + 1e-9]
    weight = special.softmax(-0.5 * np.square(nodes).sum(axis=0))
    return nodes / np.sqrt(np.square(nodes) @ weight)[:, None], weight


@lru_cache(maxsize=32)
def _nodes(n_classes: int, level: int) -> tuple[Array, Array]:
    """Return nodes (n, n_nodes) and weights for a standard normal in n dimensions.

    There is one dimension less than classes. Each level has twice as many nodes as the one
    before.
    """
    n = n_classes - 1
    n_half = 2 * max(32, 2 * n) << level
    points = _even_points(n_half, n + 1)
    direction = special.ndtri(points[:, 1:])
    direction /= np.sqrt((direction**2).sum(axis=1, keepdims=True))
    radius = np.sqrt(2.0 * special.gammaincinv(0.5 * n, points[:, 0]))
    half = (direction * radius[:, None]).T
    half = solve_lower(np.linalg.cholesky(half @ half.T / n_half), half)
    nodes = as_float(np.concatenate([half, -half], axis=1))
    return nodes, np.full(2 * n_half, 0.5 / n_half)


def _even_points(n_points: int, n: int) -> Array:
    """Return points that fill the unit cube evenly, from powers of a generalized golden ratio.

    The first coordinate is stratified, the others are multiples of irrational numbers.
    """
    ratio = 2.0
    for _ in range(64):
        ratio = (1.0 + ratio) ** (1.0 / n)
    step = ratio ** -np.arange(1.0, n)
    index = np.arange(n_points)[:, None]
    return np.hstack([(index + 0.5) / n_points, (0.5 + (index + 1) * step) % 1.0])

"""Value, gradient and curvature of the softmax likelihood, in one blocked pass over the rows.

With the parameters ``T`` of shape (J, m + 1), the last column an intercept, and a coding ``C``
of shape (K, J), a row ``b = ((x - center) * scale, 1)`` has class scores ``s = C T b`` and
class probabilities ``p = softmax(s)``. Then, with weights ``v`` and one-hot classes ``y``,

    value     = sum v (log sum exp s - s_y)
    gradient  = sum v C^T (p - y) b^T
    curvature = sum v C^T (diag p - p p^T) C (x) b b^T

Since probabilities sum to one, ``diag p - p p^T`` is the sum over pairs of classes of
``p_k p_l (e_k - e_l)(e_k - e_l)^T``: nothing is subtracted from anything nearly equal, and the
curvature of all pairs is one matrix product.

Rows are centered block by block while they are in cache, so that offsets of the inputs cost
no digits and no copy of them is made.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.numerics.parallel.cores import in_parts
from credo.numerics.parallel.threads import threads_for
from credo.numerics.special.softmax_normal import ExpectedSoftmax, class_pairs, expected_softmax

__all__ = ["SoftmaxRows", "class_coding", "coordinate_covariance"]

BLOCK_BYTES = 1 << 20
PRODUCT_BYTES = 1 << 22
PACKED_PAIRS = 2
FEW_CLASSES = 32
WORTH_A_LOOP = 1 << 22
VALUES_AT_ONCE, COLUMNS_AT_ONCE = 32, 8
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

    def coordinates(self, parameters: Array) -> Array:
        """Return ``T b`` of each row, shape (n, J)."""
        seen = parameters * self._scale
        return np.concatenate([part @ seen.T for _, part in self._blocks()])

    def errors(self, parameters: Array) -> int:
        """Return how many rows that carry weight have another class as their best."""
        scores = self.coordinates(parameters.reshape(self.shape)) @ self.coding.T
        return int(np.count_nonzero((scores.argmax(axis=1) != self.code) & (self.weight > 0)))

    def values(self, parameters: Array) -> Array:
        """Return minus the log likelihood of several parameters (q, J, m + 1), shape (q,)."""
        seen = parameters * self._scale
        value = np.empty(len(seen))
        of_chunk = self._values_of_two if len(self.coding) == 2 else self._values_of_many

        def fill(start: int, stop: int) -> None:
            for chunk in range(start, stop):
                own = slice(chunk * VALUES_AT_ONCE, (chunk + 1) * VALUES_AT_ONCE)
                value[own] = of_chunk(seen[own])

        n_chunks = -(-len(seen) // VALUES_AT_ONCE)
        with threads_for(0):
            in_parts(fill, n_chunks, seen.size * len(self.x))
        return value

    def _values_of_many(self, seen: Array) -> Array:
        """Return the values of parameters (q, J, m + 1) that are scaled already."""
        q, n_codes, m = seen.shape
        value = np.zeros(q)
        size = max(16, PRODUCT_BYTES // (8 * q * len(self.coding)))
        for rows, part in self._blocks(size):
            scores = (part @ seen.reshape(-1, m).T).reshape(-1, q, n_codes) @ self.coding.T
            chosen = scores[np.arange(len(part)), :, self.code[rows]]
            highest = scores.max(axis=2)
            scores -= highest[:, :, None]
            total = np.log(np.exp(scores, out=scores).sum(axis=2))
            value += self.weight[rows] @ (total + highest - chosen)
        return value

    def _values_of_two(self, parameters: Array) -> Array:
        """Return the same for two classes, where the lead of one is a single number."""
        seen = np.tensordot(self.coding[1] - self.coding[0], parameters, (0, 1))
        value = np.zeros(len(seen))
        size = max(16, PRODUCT_BYTES // (8 * len(seen)))
        for rows, part in self._blocks(size):
            wrong = part @ seen.T
            wrong[self.code[rows] == 1] *= -1.0
            loss = np.maximum(wrong, 0.0)
            np.abs(wrong, out=wrong)
            np.negative(wrong, out=wrong)
            loss += np.log1p(np.exp(wrong, out=wrong), out=wrong)
            value += self.weight[rows] @ loss
        return value

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return minus the log likelihood, and its gradient of shape (J, m + 1)."""
        seen = parameters * self._scale
        if self.x.size * len(self.coding) >= WORTH_A_LOOP:
            return self._value_and_gradient_by_row(seen)
        value, gradient = 0.0, np.zeros(self.shape)
        for rows, part in self._blocks():
            loss, residual, _ = self._judged(rows, part @ seen.T)
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
        seen = parameters * self._scale
        first, second = class_pairs(len(self.coding))
        value, gradient = 0.0, np.zeros(self.shape)
        grams = _PairGrams(len(first), self.shape[1])
        for rows, part in self._blocks(grams.n_rows):
            loss, residual, probability = self._judged(rows, part @ seen.T)
            value += loss
            gradient += residual.T @ part
            bend = probability[:, first] * probability[:, second] * self.weight[rows, None]
            grams.add(part, bend)
        return value, gradient * self._scale, self._curvature(grams.total())

    def variances(self, covariance: Array) -> Array:
        """Return the variance of the difference of two scores, pair by pair, (n, n_pairs).

        Parameters
        ----------
        covariance
            Of the parameters, shape (J, m + 1, J, m + 1).
        """
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

    def expected_residual(self, found: ExpectedSoftmax) -> Array:
        """Return the mean derivative of the value by ``T b`` of each row, shape (n, J)."""
        residual = found.probability @ self.coding - self.coding[self.code]
        return np.asarray(residual * self.weight[:, None])

    def expected_derivatives(self, found: ExpectedSoftmax) -> tuple[Array, Array]:
        """Return the means of gradient (J, m + 1) and curvature over normal scores."""
        residual = self.expected_residual(found)
        bend = found.bend * self.weight[:, None]
        gradient = np.zeros(self.shape)
        grams = _PairGrams(bend.shape[1], self.shape[1])
        for rows, part in self._blocks(grams.n_rows):
            gradient += residual[rows].T @ part
            grams.add(part, bend[rows])
        return gradient * self._scale, self._curvature(grams.total())

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

    @property
    def _scale(self) -> Array:
        return np.append(self.scale, 1.0)

    def _judged(self, rows: slice, coordinates: Array) -> tuple[float, Array, Array]:
        """Return loss, residuals in code coordinates (n, J), and probabilities (n, K)."""
        if len(self.coding) == 2:
            return self._judged_two(rows, coordinates)
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

    def _judged_two(self, rows: slice, coordinates: Array) -> tuple[float, Array, Array]:
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
        buffer = np.empty((min(block, n), m + 1))
        for start in range(0, n, block):
            rows = slice(start, min(start + block, n))
            part = buffer[: rows.stop - start]
            np.subtract(self.x[rows], self.center, out=part[:, :m])
            part[:, m] = self.has_intercept
            yield rows, part


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

"""Rows shared among normals: both steps of a mixture in one pass over blocks of rows.

The share of row x in component k is ``exp(l_k)`` over its sum, ``l_k = a_k - |y_k|^2 / 2``
with ``y_k = L_k^-1 (x - c_k)``; what comes out is the log of that sum, and the weight, mean and
scatter of each component, of rows that count by their shares. No shares are kept.

Two forms give the same numbers. With features ``f = (1, x, x x')`` both steps are one product
each, ``l = T f`` and ``sum of share * f``; this cancels by ``eps |L_k^-1 (c_k - o)|^2`` for the
origin ``o``, the mean of all rows. Where components are tight and far from it, ``y_k`` is found
for each component, and moments are taken about ``c_k``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

import numpy as np

from credo.numerics.array import Array
from credo.numerics.parallel.threads import in_parts, threads_for

__all__ = ["NormalShares", "normal_shares"]

CHUNK = 1 << 12
"""Rows that a thread takes at a time."""

BLOCK_ENTRIES = 1 << 18
"""Features of a block of rows, few enough to stay in cache between the two products."""

WORTH_A_LOOP = 1 << 17
"""Exponentials above which it is worth while to load a compiled loop for them."""

FARTHEST = 200.0
"""Minus twice the log of a share that is as good as none: products with smaller ones would be
subnormal, which takes processors a hundred times as long."""

FAR = 1e6
"""Squared distance of a component from the origin, in its own units, that features resolve."""

NO_WEIGHT = -1e100
"""Log weight of a component without weight, where infinity would turn a product to NaN."""


@dataclass(frozen=True, eq=False)
class NormalShares:
    """What a pass over the rows finds.

    Attributes
    ----------
    log_total
        Weighted sum over rows of the log of the sum over components.
    weight
        Summed shares of each component, shape (K,).
    mean
        Shape (K, d); the center that was given of a component without weight.
    scatter
        Shape (K, d, d), or (K, d) of independent columns.
    """

    log_total: float
    weight: Array
    mean: Array
    scatter: Array


def normal_shares(
    x: Array, weight: Array | None, offset: Array, centers: Array, lower: Array
) -> NormalShares:
    """Return what rows (n, d) say of components in which they have shares.

    Parameters
    ----------
    x
        Complete rows, shape (n, d).
    weight
        Of each row, shape (n,); None if all are one.
    offset
        What is added to minus half the squared distance, ``a_k``, shape (K,).
    centers
        Shape (K, d).
    lower
        Lower factors of the covariances, shape (K, d, d); or standard deviations of
        independent columns, (K, d).

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [5.0]])
    >>> found = normal_shares(x, None, np.zeros(2), np.array([[0.0], [5.0]]), np.ones((2, 1)))
    >>> found.weight.round(3), found.mean.ravel().round(3)
    (array([1.999, 1.001]), array([0.5  , 4.998]))
    """
    total = float(len(x)) if weight is None else float(weight.sum())
    origin = (x.sum(axis=0) if weight is None else weight @ x) / total
    if lower.ndim == 3:
        root: Array = np.asarray(np.linalg.inv(lower), dtype=np.float64)
        distance = (root @ (centers - origin)[..., None])[..., 0]
    else:
        root = np.asarray(1.0 / lower, dtype=np.float64)
        distance = root * (centers - origin)
    is_far = not (distance**2).sum(axis=1).max(initial=0.0) <= FAR
    form = (
        _Centered(offset, centers, root) if is_far else _Features(origin, offset, centers, root)
    )
    is_worth_a_loop = x.shape[0] * len(offset) >= WORTH_A_LOOP
    form.profile = _compiled_profile() if is_worth_a_loop else _profile
    work = form.looped if is_worth_a_loop else form.summed

    n_chunks = -(-len(x) // CHUNK)
    parts: list[Any] = [None] * n_chunks

    def summed(first: int, last: int) -> None:
        for i in range(first, last):
            chunk = slice(i * CHUNK, (i + 1) * CHUNK)
            parts[i] = work(x[chunk], None if weight is None else weight[chunk])

    with threads_for(0):
        in_parts(summed, n_chunks, len(x) * len(offset))
    log_total, moments = reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]), parts)
    return NormalShares(log_total, *form.moments(moments, lower))


def _profile(squares: Array) -> Array:
    squares *= -0.5
    return np.exp(squares, out=squares)


@cache
def _compiled_profile() -> Callable[[Array], Array]:
    loop = importlib.import_module("credo.numerics.special._loops_exponential").gaussian_profile

    def profile(squares: Array) -> Array:
        loop(squares.reshape(-1))
        return squares

    return profile


@cache
def _compiled_sums() -> Callable[..., float]:
    module = importlib.import_module("credo.numerics.special._loops_normal_shares")
    loop: Callable[..., float] = module.feature_sums
    return loop


class _Form:
    """How log densities and moments of blocks of rows are found."""

    step: int
    profile: Callable[[Array], Array]

    def summed(self, x: Array, weight: Array | None) -> tuple[float, Array]:
        """Return the weighted sum of logs, and the sums from which moments are found."""
        log_total, found = 0.0, None
        # Memory that is new to a thread costs as much as the work in it.
        room = self.room(min(self.step, len(x)))
        for start in range(0, len(x), self.step):
            rows = slice(start, start + self.step)
            if start + self.step > len(x):
                room = self.room(len(x) - start)
            values, squares = self.squares(x[rows], *room)
            least = squares.min(axis=0)
            squares -= least
            is_none = squares > FARTHEST
            np.minimum(squares, FARTHEST, out=squares)
            share = self.profile(squares)
            share[is_none] = 0.0
            total = share.sum(axis=0)
            top = np.log(total)
            top -= 0.5 * least
            if weight is None:
                log_total += float(top.sum())
                share /= total
            else:
                log_total += float(weight[rows] @ top)
                share *= weight[rows] / total
            part = self.sums(values, share)
            found = part if found is None else found + part
        assert found is not None
        return log_total, found

    def looped(self, x: Array, weight: Array | None) -> tuple[float, Array]:
        """Return the same by compiled loops, as far as there are any."""
        return self.summed(x, weight)

    def room(self, n: int) -> tuple[Array, Array]:
        """Return room for what a block of rows is turned into."""
        raise NotImplementedError

    def squares(self, x: Array, values: Array, squares: Array) -> tuple[Array, Array]:
        """Fill in what sums are made of, and minus twice the logs, (K, n); return both."""
        raise NotImplementedError

    def sums(self, values: Array, share: Array) -> Array:
        """Return the sums over rows, by their shares (K, n)."""
        raise NotImplementedError


class _Features(_Form):
    """Logs and sums as products with the features 1, x and products of columns."""

    def __init__(self, origin: Array, offset: Array, centers: Array, root: Array) -> None:
        d = centers.shape[1]
        self.origin, self.centers, self.is_full = origin, centers, root.ndim == 3
        near = centers - origin
        if self.is_full:
            self.left, self.right = np.triu_indices(d)
            precision = root.swapaxes(1, 2) @ root
            linear = (precision @ near[..., None])[..., 0]
            square = precision[:, self.left, self.right]
            square = np.where(self.left == self.right, -0.5, -1.0) * square
        else:
            self.left = self.right = np.arange(d)
            linear = root**2 * near
            square = -0.5 * root**2
        # Products of columns in other units would differ by many powers of ten.
        self.unit = np.sqrt(1.0 / np.maximum(-2.0 * square[:, self.left == self.right], 1e-300))
        self.unit = self.unit.max(axis=0)
        scale = np.concatenate([[1.0], self.unit, self.unit[self.left] * self.unit[self.right]])
        # Products are padded with zeros, and zero times infinity is no number.
        constant = np.maximum(offset, NO_WEIGHT) - 0.5 * (linear * near).sum(axis=1)
        self.terms = -2.0 * np.column_stack([constant, linear, square]) * scale
        self.n_features = 1 + d + len(self.left)
        self.step = max(256, BLOCK_ENTRIES // self.n_features)

    def room(self, n: int) -> tuple[Array, Array]:
        features = np.empty((self.n_features, n))
        features[0] = 1.0
        return features, np.empty((len(self.terms), n))

    def looped(self, x: Array, weight: Array | None) -> tuple[float, Array]:
        """Return the same by one compiled loop."""
        sums = np.zeros((len(self.terms), self.n_features))
        own = np.empty(0) if weight is None else np.ascontiguousarray(weight)
        rows = np.ascontiguousarray(x)
        loop = _compiled_sums()
        return float(loop(rows, own, self.origin, self.unit, self.terms, FARTHEST, sums)), sums

    def squares(self, x: Array, values: Array, squares: Array) -> tuple[Array, Array]:
        features, d = values, x.shape[1]
        columns = features[1 : d + 1]
        np.subtract(x.T, self.origin[:, None], out=columns)
        columns /= self.unit[:, None]
        if self.is_full:
            first = d + 1
            for j in range(d):
                np.multiply(columns[j], columns[j:], out=features[first : first + d - j])
                first += d - j
        else:
            np.multiply(columns, columns, out=features[d + 1 :])
        return features, np.matmul(self.terms, features, out=squares)

    def sums(self, values: Array, share: Array) -> Array:
        return np.asarray(share @ values.T)

    def moments(self, sums: Array, lower: Array) -> tuple[Array, Array, Array]:
        """Return weight, mean and scatter of each component."""
        d = len(self.origin)
        weight = sums[:, 0]
        near = sums[:, 1 : d + 1] / np.where(weight > 0, weight, 1.0)[:, None]
        product = weight[:, None] * near[:, self.left] * near[:, self.right]
        square = (sums[:, d + 1 :] - product) * self.unit[self.left] * self.unit[self.right]
        mean = np.where(weight[:, None] > 0, self.origin + near * self.unit, self.centers)
        if not self.is_full:
            return weight, mean, np.maximum(square, 0.0)
        scatter = np.empty((len(weight), d, d))
        scatter[:, self.left, self.right] = square
        scatter[:, self.right, self.left] = square
        return weight, mean, scatter


class _Centered(_Form):
    """Logs and sums of what rows are in the units of each component, about its center."""

    def __init__(self, offset: Array, centers: Array, root: Array) -> None:
        k, d = centers.shape
        self.offset, self.centers, self.root = offset, centers, root
        self.step = max(64, BLOCK_ENTRIES // (k * d))

    def room(self, n: int) -> tuple[Array, Array]:
        k, d = self.centers.shape
        return np.empty((k, d, n)), np.empty((k, n))

    def squares(self, x: Array, values: Array, squares: Array) -> tuple[Array, Array]:
        away = np.subtract(x.T[None], self.centers[:, :, None], out=values)
        away = self.root @ away if self.root.ndim == 3 else self.root[..., None] * away
        np.einsum("kdn,kdn->kn", away, away, out=squares)
        squares -= 2.0 * self.offset[:, None]
        return away, squares

    def sums(self, values: Array, share: Array) -> Array:
        weighted = values * share[:, None]
        first = np.concatenate([share.sum(axis=1)[:, None], weighted.sum(axis=2)], axis=1)
        if self.root.ndim == 3:
            second = (weighted @ values.swapaxes(1, 2)).reshape(len(share), -1)
        else:
            second = (weighted * values).sum(axis=2)
        return np.concatenate([first, second], axis=1)

    def moments(self, sums: Array, lower: Array) -> tuple[Array, Array, Array]:
        """Return weight, mean and scatter of each component."""
        k, d = self.centers.shape
        weight = sums[:, 0]
        shift = sums[:, 1 : d + 1] / np.where(weight > 0, weight, 1.0)[:, None]
        if self.root.ndim == 2:
            square = sums[:, d + 1 :] - weight[:, None] * shift**2
            return weight, self.centers + lower * shift, np.maximum(square, 0.0) * lower**2
        second = sums[:, d + 1 :].reshape(k, d, d)
        second = second - weight[:, None, None] * shift[:, :, None] * shift[:, None]
        mean = self.centers + (lower @ shift[..., None])[..., 0]
        scatter = lower @ second @ lower.swapaxes(1, 2)
        return weight, mean, 0.5 * (scatter + scatter.swapaxes(1, 2))

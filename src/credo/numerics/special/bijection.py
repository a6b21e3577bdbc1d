"""Bijections between free numbers and constrained values, with log-Jacobians.

Samplers and optimizers move free numbers; a scale, a vector of probabilities, ordered cut
points or a covariance matrix is a smooth one-to-one function of them. The log density of the
free numbers is that of the value plus ``log_jacobian``: the log of the absolute determinant of
the derivative of the value by the free numbers. Of a vector of probabilities all entries but
the last count, of a covariance matrix its lower triangle.

Every function works along the last axis of ``free``, with any axes before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from credo.numerics.array import Array
from credo.numerics.special.log_domain import softmax

__all__ = [
    "Bijection",
    "Covariance",
    "Interval",
    "Ordered",
    "Simplex",
    "positive",
    "real",
    "support_table",
]

Shape = tuple[int, ...]


class Bijection(Protocol):
    """A one-to-one function of free numbers."""

    @property
    def shape(self) -> Shape:
        """Shape of a value."""
        ...

    @property
    def n_free(self) -> int:
        """How many free numbers a value has."""
        ...

    def constrain(self, free: Array) -> Array:
        """Return the value, shape (..., *shape), of free numbers, shape (..., n_free)."""
        ...

    def free(self, value: Array) -> Array:
        """Return the free numbers of a value inside the support."""
        ...

    def log_jacobian(self, free: Array) -> Array:
        """Return the log of the volume of values per volume of free numbers, shape (...)."""
        ...

    def jacobian_slope(self, free: Array) -> Array:
        """Return the gradient of ``log_jacobian``, shape (..., n_free)."""
        ...

    def pull_back(self, free: Array, gradient: Array) -> Array:
        """Return the gradient by the free numbers from that by the value, (..., *shape)."""
        ...


@dataclass(frozen=True)
class Interval:
    """Numbers between two ends, each of which may be infinite.

    Without ends the value is the free number itself; with one end its distance from there is
    the exponential of the free number; with two the value is a logistic function.

    Examples
    --------
    >>> Interval(low=-1.0, high=1.0).constrain(np.array([0.0]))
    array(0.)
    """

    low: float = -np.inf
    high: float = np.inf
    shape: Shape = ()

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(
                f"low must be below high; found {self.low:g} and {self.high:g}. Swap them."
            )

    @property
    def n_free(self) -> int:
        """One for each number."""
        return int(np.prod(self.shape, dtype=np.intp))

    def constrain(self, free: Array) -> Array:
        """Return the numbers of free ones."""
        if self._has_both:
            share = special.expit(free)
            # From the nearer end, where numbers are finer.
            near = np.where(
                free < 0,
                self.low + self._width * share,
                self.high - self._width * special.expit(-free),
            )
            found = np.clip(near, self.low, self.high)
        elif np.isfinite(self.low):
            found = self.low + np.exp(free)
        elif np.isfinite(self.high):
            found = self.high - np.exp(-free)
        else:
            found = free
        return found.reshape((*free.shape[:-1], *self.shape))

    def free(self, value: Array) -> Array:
        """Return the free numbers of numbers between the ends."""
        x = _flat(value, self.shape)
        if self._has_both:
            return np.asarray(np.log(x - self.low) - np.log(self.high - x))
        if np.isfinite(self.low):
            return np.asarray(np.log(x - self.low))
        if np.isfinite(self.high):
            return np.asarray(-np.log(self.high - x))
        return x

    def log_jacobian(self, free: Array) -> Array:
        """Return the sum of the logs of all slopes."""
        return np.asarray(self._log_slope(free).sum(axis=-1))

    def jacobian_slope(self, free: Array) -> Array:
        """Return the gradient of ``log_jacobian``."""
        if self._has_both:
            return np.asarray(-np.tanh(0.5 * free))
        sign = float(np.isfinite(self.low)) - float(np.isfinite(self.high))
        return np.full(free.shape, sign)

    def pull_back(self, free: Array, gradient: Array) -> Array:
        """Return the gradient by the free numbers."""
        return np.asarray(_flat(gradient, self.shape) * np.exp(self._log_slope(free)))

    @property
    def _has_both(self) -> bool:
        return bool(np.isfinite(self.low) and np.isfinite(self.high))

    @property
    def _width(self) -> float:
        return self.high - self.low

    def _log_slope(self, free: Array) -> Array:
        if self._has_both:
            both = special.log_expit(free) + special.log_expit(-free)
            return np.asarray(np.log(self._width) + both)
        return np.asarray(self.jacobian_slope(free) * free)


def real(*shape: int) -> Interval:
    """Return the bijection of numbers that are free themselves."""
    return Interval(shape=shape)


def positive(*shape: int) -> Interval:
    """Return the bijection of positive numbers, exponentials of free ones.

    Examples
    --------
    >>> scale = positive()
    >>> float(scale.constrain(np.array([0.0]))), float(scale.log_jacobian(np.array([0.5])))
    (1.0, 0.5)
    """
    return Interval(low=0.0, shape=shape)


@dataclass(frozen=True)
class Simplex:
    """Probabilities that sum to one: the softmax of an isometric log-ratio.

    The free numbers are coordinates in an orthonormal basis of the vectors of sum zero, so
    that no class is singled out and the even distribution has free numbers zero.

    Examples
    --------
    >>> Simplex(4).constrain(np.zeros(3))
    array([0.25, 0.25, 0.25, 0.25])
    """

    n_classes: int

    @property
    def shape(self) -> Shape:
        """One axis of classes."""
        return (self.n_classes,)

    @property
    def n_free(self) -> int:
        """One less than there are classes."""
        return self.n_classes - 1

    def constrain(self, free: Array) -> Array:
        """Return the probabilities of free numbers."""
        return softmax(free @ self._basis)

    def free(self, value: Array) -> Array:
        """Return the free numbers of positive probabilities."""
        return np.asarray(np.log(value) @ self._basis.T)

    def log_jacobian(self, free: Array) -> Array:
        """Return the log of the product of all probabilities, and half the log of K."""
        scores = free @ self._basis
        logs = scores - special.logsumexp(scores, axis=-1, keepdims=True)
        return np.asarray(logs.sum(axis=-1) + 0.5 * np.log(self.n_classes))

    def jacobian_slope(self, free: Array) -> Array:
        """Return the gradient of ``log_jacobian``."""
        return np.asarray(-self.n_classes * (self.constrain(free) @ self._basis.T))

    def pull_back(self, free: Array, gradient: Array) -> Array:
        """Return the gradient by the free numbers."""
        p = self.constrain(free)
        centred = gradient - (p * gradient).sum(axis=-1, keepdims=True)
        return np.asarray((p * centred) @ self._basis.T)

    @property
    def _basis(self) -> Array:
        """Helmert's rows: each contrasts one class with the mean of those before it."""
        k = np.arange(1, self.n_classes)[:, None]
        place = np.arange(self.n_classes)
        rows = np.where(place < k, 1.0, np.where(place == k, -k, 0.0))
        return np.asarray(rows / np.sqrt(k * (k + 1.0)))


@dataclass(frozen=True)
class Ordered:
    """Rising numbers: the first is free, each gap the exponential of a free number.

    Examples
    --------
    >>> Ordered(3).constrain(np.array([1.0, 0.0, np.log(2.0)]))
    array([1., 2., 4.])
    """

    size: int

    @property
    def shape(self) -> Shape:
        """One axis."""
        return (self.size,)

    @property
    def n_free(self) -> int:
        """One for each number."""
        return self.size

    def constrain(self, free: Array) -> Array:
        """Return the rising numbers of free ones."""
        return np.asarray(np.cumsum(self._steps(free), axis=-1))

    def free(self, value: Array) -> Array:
        """Return the free numbers of rising ones."""
        gaps = np.log(np.diff(value, axis=-1))
        return np.concatenate([value[..., :1], gaps], axis=-1)

    def log_jacobian(self, free: Array) -> Array:
        """Return the sum of the logs of all gaps."""
        return np.asarray(free[..., 1:].sum(axis=-1))

    def jacobian_slope(self, free: Array) -> Array:
        """Return the gradient of ``log_jacobian``."""
        slope = np.ones(free.shape)
        slope[..., 0] = 0.0
        return slope

    def pull_back(self, free: Array, gradient: Array) -> Array:
        """Return the gradient by the free numbers: a gap moves all numbers after it."""
        after = np.cumsum(gradient[..., ::-1], axis=-1)[..., ::-1]
        scale = self._steps(free)
        scale[..., 0] = 1.0
        return np.asarray(after * scale)

    def _steps(self, free: Array) -> Array:
        return np.concatenate([free[..., :1], np.exp(free[..., 1:])], axis=-1)


@dataclass(frozen=True)
class Covariance:
    """Positive definite matrices ``L L'`` with L lower triangular and logs on its diagonal.

    The free numbers are the lower triangle of L row by row.

    Examples
    --------
    >>> Covariance(2).constrain(np.array([0.0, 1.0, 0.0]))
    array([[1., 1.],
           [1., 2.]])
    """

    size: int

    @property
    def shape(self) -> Shape:
        """Two equal axes."""
        return (self.size, self.size)

    @property
    def n_free(self) -> int:
        """One for each entry of the lower triangle."""
        return self.size * (self.size + 1) // 2

    def constrain(self, free: Array) -> Array:
        """Return the covariance matrix of free numbers."""
        lower = self._triangle(free)
        return np.asarray(lower @ np.swapaxes(lower, -1, -2))

    def free(self, value: Array) -> Array:
        """Return the free numbers of a positive definite matrix."""
        lower = np.linalg.cholesky(value)
        on = np.arange(self.size)
        lower[..., on, on] = np.log(lower[..., on, on])
        return np.asarray(lower[..., *np.tril_indices(self.size)])

    def log_jacobian(self, free: Array) -> Array:
        """Return ``d log 2`` and the logs on the diagonal, the first d + 1 times, falling."""
        logs = free[..., self._diagonal]
        return np.asarray(self.size * np.log(2.0) + logs @ self._powers)

    def jacobian_slope(self, free: Array) -> Array:
        """Return the gradient of ``log_jacobian``."""
        slope = np.zeros(free.shape)
        slope[..., self._diagonal] = self._powers
        return slope

    def pull_back(self, free: Array, gradient: Array) -> Array:
        """Return the gradient by the free numbers.

        The gradient by the matrix counts every entry, those above the diagonal too.
        """
        lower = self._triangle(free)
        slope = (gradient + np.swapaxes(gradient, -1, -2)) @ lower
        on = np.arange(self.size)
        slope[..., on, on] *= lower[..., on, on]
        return np.asarray(slope[..., *np.tril_indices(self.size)])

    @property
    def _diagonal(self) -> NDArray[np.intp]:
        return np.cumsum(np.arange(1, self.size + 1, dtype=np.intp)) - 1

    @property
    def _powers(self) -> Array:
        return np.arange(self.size + 1.0, 1.0, -1.0)

    def _triangle(self, free: Array) -> Array:
        lower = np.zeros((*free.shape[:-1], self.size, self.size))
        lower[..., *np.tril_indices(self.size)] = free
        on = np.arange(self.size)
        lower[..., on, on] = np.exp(lower[..., on, on])
        return lower


def support_table(supports: Iterable[Bijection]) -> Array | None:
    """Return what compiled loops must know of supports, a row for each; None if they cannot.

    Kind, place of the first free number, place of the first value, size, low and high end.

    Examples
    --------
    >>> support_table([real(2), positive()])
    array([[  0.,   0.,   0.,   2., -inf,  inf],
           [  1.,   2.,   2.,   1.,   0.,  inf]])
    """
    rows, free, value = [], 0, 0
    for support in supports:
        if isinstance(support, Interval):
            kind = int(np.isfinite(support.low)) + 2 * int(np.isfinite(support.high))
            part = (kind, support.n_free, support.low, support.high)
        elif isinstance(support, Simplex):
            part = (4, support.n_classes, 0.0, 0.0)
        elif isinstance(support, Ordered | Covariance):
            part = (5 if isinstance(support, Ordered) else 6, support.size, 0.0, 0.0)
        else:
            return None
        rows.append((part[0], free, value, *part[1:]))
        free += support.n_free
        value += int(np.prod(support.shape, dtype=np.intp))
    return np.array(rows, dtype=np.float64).reshape(-1, 6)


def _flat(value: Array, shape: Shape) -> Array:
    """Return values with the axes of one value made one."""
    axes = value.shape[: value.ndim - len(shape)]
    return value.reshape((*axes, -1))

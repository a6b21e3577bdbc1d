"""Kernels of time as state space models: what a function is now is all its future needs.

A kernel of one column has this form if it is a sum of terms ``g(t) g(s) k(t - s)`` with a known
function g and a product k of Matern kernels, of order 1/2, 3/2 or 5/2. A Matern process of
rate ``a = sqrt(2 order) / length_scale`` is the first entry of a state with
``dz_j = a (z_(j+1) - z_j) dt`` and white noise at the end of the chain [hartikainen2010]_. The
periodic kernel is the sum of its harmonics ``q_j cos(2 pi j (t - s) / period)``, with
coefficients of modified Bessel functions, cut where the rest is below `TAIL` [solin2014]_.
States of products are Kronecker products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from math import comb
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import special

from credo.features.kernels.equality import Constant, White
from credo.features.kernels.inner_product import Linear, Polynomial
from credo.features.kernels.kernel import (
    HeldKernel,
    Kernel,
    ProductKernel,
    ScaledKernel,
    SelectedKernel,
    SumKernel,
)
from credo.features.kernels.stationary import (
    ExponentialKernel,
    Matern32,
    Matern52,
    Periodic,
    StationaryKernel,
)
from credo.numerics.array import Array, as_float

__all__ = [
    "MOST_HARMONICS",
    "TAIL",
    "NoStateSpace",
    "Slope",
    "StateSpace",
    "Term",
    "Terms",
    "harmonics_left_out",
    "terms_of",
]

TAIL = 1e-10
"""Share of the variance of a periodic kernel in the harmonics that are left out."""

MOST_HARMONICS = 32
"""Harmonics of a periodic kernel at the most, enough for length scales from 0.22 on."""

NOISE_LEVELS = (2.0, 4.0, 16.0 / 3.0)
"""Spectral density of the noise that drives a Matern process of rate and variance one."""

IntArray = np.ndarray[Any, np.dtype[np.int64]]


class NoStateSpace(ValueError):
    """A kernel that has no exact state space form of finite size."""


class Term(NamedTuple):
    """One term ``g(t) g(s) k(t - s)`` of a kernel.

    Attributes
    ----------
    factors
        Matern kernels whose product is k, each as (order - 1/2, rate); none for k = 1.
    level
        ``g`` at the times, shape (n,), or () where it is the same at all of them.
    is_white
        Whether k is one for a row with itself and zero between rows.
    """

    factors: tuple[tuple[int, float], ...]
    level: Array
    is_white: bool = False


class Slope(NamedTuple):
    """Derivatives by what a term is made of.

    Attributes
    ----------
    by_log_rate
        By the log of the rate of each factor.
    by_level
        By ``g`` at the times, shape (n,).
    """

    by_log_rate: Array
    by_level: Array


class Terms(NamedTuple):
    """The terms of a kernel at some times.

    Attributes
    ----------
    terms
        In the order of the kernel's parts.
    pull
        From a slope for each term to the gradient by the kernel's log parameters, shape (p,).
    """

    terms: tuple[Term, ...]
    pull: Callable[[Sequence[Slope]], Array]


def terms_of(kernel: Kernel, times: Array, origin: float = 0.0) -> Terms:
    """Return the terms of a kernel at times, shape (n,).

    Parameters
    ----------
    origin
        A time from which harmonics are counted; the same for all times that are compared.

    Raises
    ------
    NoStateSpace
        If some part of the kernel has no such form.

    Examples
    --------
    >>> from credo.features import Linear, Matern32
    >>> found = terms_of(2.0 * Matern32(3.0**0.5) + Linear(), np.array([1.0, 5.0]))
    >>> [(term.factors, term.level.round(4).tolist()) for term in found.terms]
    [(((1, 1.0),), 1.4142), ((), [1.0, 5.0])]
    """
    made = _MADE.get(type(kernel))
    if made is not None:
        return made(kernel, times, origin)
    raise NoStateSpace(
        "kernels of a series must have a state space form: ExponentialKernel, Matern32, "
        "Matern52, Periodic, Constant, Linear, Polynomial, White, their sums, multiples and "
        f"products; found {type(kernel).__name__}. Take Matern52 instead, which is about as "
        "smooth, or method='exact'."
    )


def harmonics_left_out(kernel: Kernel) -> float:
    """Return the largest share of the variance of a periodic part that is left out.

    Examples
    --------
    >>> from credo.features import Periodic
    >>> harmonics_left_out(Periodic(1.0)) < TAIL, harmonics_left_out(Periodic(0.02)) > 0.3
    (True, True)
    """
    parts = [leaf for leaf in kernel.leaves if isinstance(leaf, Periodic)]
    return max((1.0 - float(_harmonics(part)[0].sum()) for part in parts), default=0.0)


def _held(kernel: HeldKernel, times: Array, origin: float) -> Terms:
    terms, pull = terms_of(kernel.kernel, times, origin)
    is_free = np.array(kernel.is_free)
    return Terms(terms, lambda slopes: pull(slopes)[is_free])


def _selected(kernel: SelectedKernel, times: Array, origin: float) -> Terms:
    return terms_of(kernel.kernel, times, origin)


def _scaled(kernel: ScaledKernel, times: Array, origin: float) -> Terms:
    terms, pull = terms_of(kernel.kernel, times, origin)
    root = np.sqrt(kernel.variance)
    scaled = tuple(term._replace(level=root * term.level) for term in terms)

    def pull_scaled(slopes: Sequence[Slope]) -> Array:
        pairs = list(zip(scaled, slopes, strict=True))
        own = 0.5 * sum(float(np.sum(t.level * s.by_level)) for t, s in pairs)
        return np.append(own, pull([s._replace(by_level=root * s.by_level) for s in slopes]))

    return Terms(scaled, pull_scaled)


def _sum(kernel: SumKernel, times: Array, origin: float) -> Terms:
    parts = [terms_of(part, times, origin) for part in kernel.parts]

    def pull(slopes: Sequence[Slope]) -> Array:
        found, start = [], 0
        for terms, pull_part in parts:
            found.append(pull_part(slopes[start : start + len(terms)]))
            start += len(terms)
        return np.concatenate(found)

    return Terms(tuple(term for terms, _ in parts for term in terms), pull)


def _product(kernel: ProductKernel, times: Array, origin: float) -> Terms:
    return reduce(_multiplied, [terms_of(part, times, origin) for part in kernel.parts])


def _multiplied(one: Terms, two: Terms) -> Terms:
    pairs = list(product(range(len(one.terms)), range(len(two.terms))))
    terms = tuple(_pair(one.terms[i], two.terms[j]) for i, j in pairs)

    def pull(slopes: Sequence[Slope]) -> Array:
        left, right = [_zero(t) for t in one.terms], [_zero(t) for t in two.terms]
        for (i, j), (by_rate, by_level) in zip(pairs, slopes, strict=True):
            n = len(one.terms[i].factors)
            left[i] = _plus(left[i], by_rate[:n], by_level * two.terms[j].level)
            right[j] = _plus(right[j], by_rate[n:], by_level * one.terms[i].level)
        return np.concatenate([one.pull(left), two.pull(right)])

    return Terms(terms, pull)


def _pair(one: Term, two: Term) -> Term:
    return Term(one.factors + two.factors, one.level * two.level, one.is_white or two.is_white)


def _zero(term: Term) -> Slope:
    return Slope(np.zeros(len(term.factors)), np.zeros(1))


def _plus(slope: Slope, by_rate: Array, by_level: Array) -> Slope:
    return Slope(slope.by_log_rate + by_rate, slope.by_level + by_level)


def _matern(kernel: StationaryKernel, times: Array, origin: float) -> Terms:
    step = {ExponentialKernel: 0, Matern32: 1, Matern52: 2}[type(kernel)]
    length_scale = float(np.ravel(kernel.length_scale)[0])
    rate = np.sqrt(2.0 * step + 1.0) / length_scale
    term = Term(((step, float(rate)),), np.asarray(1.0))
    return Terms((term,), lambda slopes: -slopes[0].by_log_rate)


def _constant(kernel: Constant, times: Array, origin: float) -> Terms:
    return _by_variance(Term((), np.asarray(np.sqrt(kernel.variance))))


def _white(kernel: White, times: Array, origin: float) -> Terms:
    return _by_variance(Term((), np.asarray(np.sqrt(kernel.variance)), is_white=True))


def _linear(kernel: Linear, times: Array, origin: float) -> Terms:
    root = np.sqrt(float(np.ravel(kernel.variance)[0]))
    return _by_variance(Term((), root * times))


def _by_variance(term: Term) -> Terms:
    return Terms(
        (term,), lambda slopes: np.array([0.5 * np.sum(term.level * slopes[0].by_level)])
    )


def _polynomial(kernel: Polynomial, times: Array, origin: float) -> Terms:
    degree, powers = kernel.degree, np.arange(kernel.degree + 1)
    roots = np.sqrt([comb(degree, j) * kernel.constant ** (degree - j) for j in powers])
    terms = tuple(
        Term((), root * times**power) for root, power in zip(roots, powers, strict=True)
    )

    def pull(slopes: Sequence[Slope]) -> Array:
        shares = [
            0.5 * (degree - j) * np.sum(term.level * slope.by_level)
            for j, (term, slope) in enumerate(zip(terms, slopes, strict=True))
        ]
        return np.array([sum(shares)])

    return Terms(terms, pull)


def _periodic(kernel: Periodic, times: Array, origin: float) -> Terms:
    period = float(np.ravel(kernel.period)[0])
    shares, by_log_length = _harmonics(kernel)
    turn = 2.0 * np.pi / period * (times - origin)
    roots = np.sqrt(shares)
    levels = [np.asarray(roots[0])]
    first = np.exp(1j * turn)
    wave = np.ones_like(first)
    for root in roots[1:]:
        wave *= first
        levels += [root * wave.real, root * wave.imag]

    def pull(slopes: Sequence[Slope]) -> Array:
        by_length = by_log_length[0] / roots[0] * np.sum(slopes[0].by_level)
        by_period = 0.0
        for j in range(1, len(roots)):
            cosine, sine = levels[2 * j - 1 : 2 * j + 1]
            by_cosine, by_sine = (s.by_level for s in slopes[2 * j - 1 : 2 * j + 1])
            along = float(np.sum(by_cosine * cosine) + np.sum(by_sine * sine))
            by_length += by_log_length[j] / shares[j] * along
            by_period += j * float(np.sum(turn * (by_cosine * sine - by_sine * cosine)))
        return np.array([0.5 * by_length, by_period])

    return Terms(tuple(Term((), level) for level in levels), pull)


def _harmonics(kernel: Periodic) -> tuple[Array, Array]:
    """Return variances of a level and the harmonics, and their slopes by log length scale.

    ``exp(z cos(u) - z) = sum_j q_j cos(j u)`` with ``z = 1 / length_scale^2``, ``q_0`` the
    scaled modified Bessel function of z, and twice those of higher orders behind it.
    """
    z = kernel.length_scale**-2.0
    scaled = special.ive(np.arange(MOST_HARMONICS + 2), z)
    shares = np.append(scaled[0], 2.0 * scaled[1:-1])
    rest = 1.0 - np.cumsum(shares)
    n = min(int(np.sum(rest > TAIL)) + 1, len(shares))
    below = np.append(scaled[1], scaled[:-2])
    by_z = np.where(np.arange(len(shares)) > 0, 2.0, 1.0) * (
        0.5 * (below + scaled[1:]) - scaled[:-1]
    )
    return shares[:n], (-2.0 * z * by_z)[:n]


_MADE: dict[type[Kernel], Callable[[Any, Array, float], Terms]] = {
    HeldKernel: _held,
    SelectedKernel: _selected,
    ScaledKernel: _scaled,
    SumKernel: _sum,
    ProductKernel: _product,
    ExponentialKernel: _matern,
    Matern32: _matern,
    Matern52: _matern,
    Constant: _constant,
    White: _white,
    Linear: _linear,
    Polynomial: _polynomial,
    Periodic: _periodic,
}


@dataclass(frozen=True, eq=False)
class StateSpace:
    """The state of a sum of terms: one block for each term that is not white.

    Transition matrices are zero below the diagonal and beyond the band of a block.

    Attributes
    ----------
    blocks
        For each block its factors, as (order - 1/2, rate).
    """

    blocks: tuple[tuple[tuple[int, float], ...], ...]

    @classmethod
    def of(cls, terms: Sequence[Term]) -> Self:
        """Return the state of the terms."""
        blocks = tuple(term.factors for term in terms if not term.is_white)
        if not blocks:
            raise NoStateSpace(
                "a kernel of a series must have a part that is not White; found White alone. "
                "Add a kernel of time, such as Matern52."
            )
        return cls(blocks)

    @cached_property
    def kinds(self) -> list[tuple[tuple[int, float], ...]]:
        """The factors that differ, of which several blocks may be made."""
        return list(dict.fromkeys(self.blocks))

    @cached_property
    def sizes(self) -> IntArray:
        """Entries of the state in each block."""
        return np.array([_size(block) for block in self.blocks], dtype=np.int64)

    @property
    def n_states(self) -> int:
        """Entries of the state."""
        return int(self.sizes.sum())

    @property
    def width(self) -> int:
        """Diagonals of transition matrices that may differ from zero, two at least."""
        return int(self.sizes.max(initial=2))

    @cached_property
    def heads(self) -> IntArray:
        """Where the value of each block is in the state: its first entry."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)

    @cached_property
    def kind_of(self) -> IntArray:
        """Number of the kind of each entry of the state."""
        numbers = [self.kinds.index(block) for block in self.blocks]
        return np.repeat(numbers, self.sizes).astype(np.int64)

    @cached_property
    def place(self) -> IntArray:
        """Place of each entry of the state in its block."""
        return np.concatenate([np.arange(size) for size in self.sizes]).astype(np.int64)

    @cached_property
    def steps(self) -> IntArray:
        """Order - 1/2 of every factor of every kind, -1 where there is none, (kinds, f)."""
        most = max(1, *(len(kind) for kind in self.kinds))
        rows = [[s for s, _ in kind] + [-1] * (most - len(kind)) for kind in self.kinds]
        return np.array(rows, dtype=np.int64)

    @cached_property
    def rates(self) -> Array:
        """Rate of every factor of every kind, shape (kinds, f)."""
        most = self.steps.shape[1]
        rows = [[r for _, r in kind] + [0.0] * (most - len(kind)) for kind in self.kinds]
        return np.array(rows)

    @cached_property
    def start(self) -> Array:
        """Covariance of the state before the first row, block by block, (width, states)."""
        found = np.zeros((self.width, self.n_states))
        for head, block in zip(self.heads, self.blocks, strict=True):
            matrix = _kron([_stationary(step) for step, _ in block])
            for o in range(len(matrix)):
                found[o, head : head + len(matrix) - o] = np.diagonal(matrix, o)
        return found

    def by_log_rates(self, by_generator: Array, by_noise: Array) -> list[Array]:
        """Return, for each block, the derivative by the log of the rate of each factor.

        Parameters
        ----------
        by_generator
            By entry (j, j + o) of the generator of all transitions, shape (width, states).
        by_noise
            By entries of the density of the noise, likewise.
        """
        found = []
        for head, block in zip(self.heads, self.blocks, strict=True):
            along = slice(head, head + _size(block))
            sums = by_generator[:, along], by_noise[:, along]
            own = [rate * _by_rate(block, f, *sums) for f, (_, rate) in enumerate(block)]
            found.append(np.array(own))
        return found


def _by_rate(
    block: tuple[tuple[int, float], ...], f: int, by_generator: Array, by_noise: Array
) -> float:
    """Return the derivative by the rate of factor ``f`` of a block."""
    steps = [step for step, _ in block]
    generator = _kron([_generator(s) if g == f else np.eye(s + 1) for g, s in enumerate(steps)])
    noise = _kron([_driven(s) if g == f else _stationary(s) for g, s in enumerate(steps)])
    total = float(np.diagonal(noise) @ by_noise[0])
    for o in range(len(generator)):
        total += float(np.diagonal(generator, o) @ by_generator[o, : len(generator) - o])
    for o in range(1, len(noise)):
        total += 2.0 * float(np.diagonal(noise, o) @ by_noise[o, : len(noise) - o])
    return total


def _size(block: tuple[tuple[int, float], ...]) -> int:
    return int(np.prod([step + 1 for step, _ in block], dtype=np.int64))


def _kron(matrices: list[Array]) -> Array:
    found: Array = np.ones((1, 1))
    for matrix in matrices:
        found = as_float(np.kron(found, matrix))
    return found


def _generator(step: int) -> Array:
    return np.eye(step + 1, k=1) - np.eye(step + 1)


def _driven(step: int) -> Array:
    found = np.zeros((step + 1, step + 1))
    found[-1, -1] = NOISE_LEVELS[step]
    return found


def _stationary(step: int) -> Array:
    """Return the covariance ``q_ij`` of a chain of rate one in its steady state.

    With ``a = step - i`` and ``b = step - j``, ``level (a + b)! / (a! b! 2^(a + b + 1))``.
    """
    back = step - np.arange(step + 1)
    both = back[:, None] + back
    found = NOISE_LEVELS[step] * special.comb(both, back) / 2.0 ** (both + 1)
    return as_float(found)

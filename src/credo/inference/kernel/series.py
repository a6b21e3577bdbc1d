"""Gaussian processes of one column in time that grows with the rows: series.

A kernel with a state space form makes the covariance S of the outcomes one that a Kalman
filter factors row by row: errors ``e_i`` of predicting each row from those before it are
independent with variances ``d_i``, so that ``log|S| = sum log d_i`` and
``y'S^-1 y = sum e_i^2 / d_i``. What is computed is what `ExactProcess` computes, but in n
steps of small matrices; derivatives come from one pass back over the rows, and predictions
from the smoother of Bryson and Frazier [bierman1973]_.

A kernel of one column has this form if it is a sum of terms ``g(t) g(s) k(t - s)`` with a known
function g and a product k of Matern kernels, of order 1/2, 3/2 or 5/2: what a function is now
is then all its future needs. A Matern process of rate ``a = sqrt(2 order) / length_scale`` is
the first entry of a state with ``dz_j = a (z_(j+1) - z_j) dt`` and white noise at the end of
the chain [hartikainen2010]_. The periodic kernel is the sum of its harmonics
``q_j cos(2 pi j (t - s) / period)``, with coefficients of modified Bessel functions, cut where
the rest is below `TAIL` [solin2014]_. States of products are Kronecker products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import product
from math import comb
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.random import Generator
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
from credo.inference.kernel.exact import mean_factor, process_loops
from credo.inference.kernel.process import (
    JOINT_MATRICES,
    LARGEST_JITTER,
    NoisyEvidence,
    ProcessData,
    centered_moments,
)
from credo.numerics.array import Array, as_float
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import (
    LOG_TWO_PI,
    SMALLEST_JITTER,
    NotPositiveDefinite,
    solve_lower,
    symmetrize,
)
from credo.numerics.parallel.threads import threads_for
from credo.numerics.warning import warn_user

__all__ = [
    "MOST_HARMONICS",
    "TAIL",
    "NoStateSpace",
    "SeriesBelief",
    "SeriesProcess",
    "Slope",
    "StateSpace",
    "Term",
    "Terms",
    "Wave",
    "harmonics_left_out",
    "riccati_limit",
    "state_dimension",
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


class Wave(NamedTuple):
    """A function ``amplitude cos(frequency t)`` of time from an origin, or its sine."""

    amplitude: float
    frequency: float = 0.0
    is_sine: bool = False


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
    wave
        What ``g`` is, if it is a wave or the same at all times.
    """

    factors: tuple[tuple[int, float], ...]
    level: Array
    is_white: bool = False
    wave: Wave | None = None


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
    is_free = np.array(kernel.is_free, dtype=bool)
    return Terms(terms, lambda slopes: pull(slopes)[is_free])


def _selected(kernel: SelectedKernel, times: Array, origin: float) -> Terms:
    return terms_of(kernel.kernel, times, origin)


def _scaled(kernel: ScaledKernel, times: Array, origin: float) -> Terms:
    terms, pull = terms_of(kernel.kernel, times, origin)
    root = np.sqrt(kernel.variance)
    scaled = tuple(
        term._replace(level=root * term.level, wave=_product_wave(Wave(root), term.wave))
        for term in terms
    )

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
    return Term(
        one.factors + two.factors,
        one.level * two.level,
        one.is_white or two.is_white,
        _product_wave(one.wave, two.wave),
    )


def _product_wave(one: Wave | None, two: Wave | None) -> Wave | None:
    """Return the product of two waves of which one is the same at all times, else None."""
    if one is None or two is None or (one.frequency and two.frequency):
        return None
    wave = one if one.frequency else two
    return wave._replace(amplitude=one.amplitude * two.amplitude)


def _zero(term: Term) -> Slope:
    return Slope(np.zeros(len(term.factors)), np.zeros(1))


def _plus(slope: Slope, by_rate: Array, by_level: Array) -> Slope:
    return Slope(slope.by_log_rate + by_rate, slope.by_level + by_level)


def _matern(kernel: StationaryKernel, times: Array, origin: float) -> Terms:
    step = {ExponentialKernel: 0, Matern32: 1, Matern52: 2}[type(kernel)]
    length_scale = float(np.ravel(kernel.length_scale)[0])
    rate = np.sqrt(2.0 * step + 1.0) / length_scale
    term = Term(((step, float(rate)),), np.asarray(1.0), wave=Wave(1.0))
    return Terms((term,), lambda slopes: -slopes[0].by_log_rate)


def _constant(kernel: Constant, times: Array, origin: float) -> Terms:
    root = float(np.sqrt(kernel.variance))
    return _by_variance(Term((), np.asarray(root), wave=Wave(root)))


def _white(kernel: White, times: Array, origin: float) -> Terms:
    root = float(np.sqrt(kernel.variance))
    return _by_variance(Term((), np.asarray(root), is_white=True, wave=Wave(root)))


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

    waves = [Wave(float(roots[0]))] + [
        Wave(float(root), 2.0 * np.pi * j / period, is_sine)
        for j, root in enumerate(roots[1:], start=1)
        for is_sine in (False, True)
    ]
    terms = tuple(Term((), level, wave=wave) for level, wave in zip(levels, waves, strict=True))
    return Terms(terms, pull)


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


MANY_ROWS = 4096
"""From how many rows on the log evidence is computed with settled covariances."""

ROWS_TO_SETTLE = 512
"""Rows after which it is asked whether covariances have settled."""

MOST_DOUBLED = 60
"""Rounds at the most in which the steps toward a settled covariance are doubled."""

SETTLED = 1e-11
"""Largest difference from the limit of a covariance that has settled, as a correlation."""

MOST_MARKED = 1_000_000
"""Numbers in the states that the pass back computes anew at a time."""

ROWS_IN_CACHE = 8192
"""Rows of which levels are computed at a time."""

KEPT_NUMBERS = 400
"""Numbers that are kept of a row: a mean and a covariance of some twenty states."""

MOST_LEFT_OUT = 1e-6
"""Share of the variance of a periodic kernel whose absence is reported."""

MOST_CROSS = 4_000_000
"""Covariances of rows and new rows that are held at a time."""

MOST_DRAWN = 8_000_000
"""Random numbers of functions that are drawn at a time."""


def state_dimension(kernel: Kernel) -> int | None:
    """Return how many numbers the state of a kernel has; None if it has no such form.

    Examples
    --------
    >>> from credo.features import Matern32, Matern52, SquaredExponential
    >>> state_dimension(Matern32() + Matern52()), state_dimension(SquaredExponential())
    (5, None)
    """
    try:
        return StateSpace.of(terms_of(kernel, np.zeros(1)).terms).n_states
    except NoStateSpace:
        return None


@dataclass(frozen=True)
class SeriesProcess:
    """Gaussian process regression on one column, in time and memory that grow with the rows.

    For kernels that have a state space form: sums, multiples and products of
    `ExponentialKernel`, `Matern32`, `Matern52`, `Periodic`, `Constant`, `Linear`, `Polynomial`
    and `White`. Rows may stand in any order, repeat, and leave gaps of any length. With s
    numbers in the state a row takes some s^2 operations.

    The result is that of `ExactProcess` up to rounding, except that of `Periodic` the harmonics
    are left out that have less than 1e-10 of its variance together.

    Examples
    --------
    >>> from credo.features import Matern52
    >>> data = ProcessData(np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]]), np.empty((2, 0)))
    >>> round(SeriesProcess().log_evidence(data, Matern52(1.0), np.full(2, 0.1)), 6)
    -3.623999
    """

    def evidence(self, data: ProcessData, kernel: Kernel, noise: Array) -> NoisyEvidence:
        """Return the log evidence and its gradient, summed over outputs."""
        series = _Series.of(data, kernel, noise)
        found = series.filtered()
        by_rate, by_level, by_noise = series.graded(found)
        return NoisyEvidence(
            found.log_evidence,
            series.pulled(by_rate, by_level, by_noise),
            series.in_rows(by_noise),
        )

    def log_evidence(self, data: ProcessData, kernel: Kernel, noise: Array) -> float:
        """Return the log evidence alone, for a fifth of the cost, and much less of many rows.

        Where times are even and the noise is the same, covariances of the state settle: then
        a row takes a sum over the transition alone. What a kernel has besides Matern parts,
        as seasons that never change, is taken as functions with unknown coefficients.
        """
        # Factors of few columns are slower by threads that wait for each other.
        with threads_for(0):
            found = None
            if len(data.x) >= MANY_ROWS:
                found = _LongSeries.of(data, kernel, noise).log_evidence()
            if found is None:
                found = _Series.of(data, kernel, noise).filtered().log_evidence
        return found

    def bytes_needed(self, n_rows: int) -> float:
        """Return the memory that learning from so many rows takes besides them, at the most."""
        return 8.0 * KEPT_NUMBERS * n_rows

    def belief(self, data: ProcessData, kernel: Kernel, noise: Array) -> SeriesBelief:
        """Return the posterior of the function."""
        left_out = harmonics_left_out(kernel)
        if left_out > MOST_LEFT_OUT:
            warn_user(
                "Periodic kernels of a series must have length scales from 0.22 on; found one "
                f"of whose variance {left_out:.2g} is in harmonics that are left out. Use "
                "method='exact', or a longer length scale.",
                UserWarning,
            )
        found = _Series.of(data, kernel, noise).filtered()
        coefficients = found.coefficients.copy()
        coefficients[:1] += data.origin
        return SeriesBelief(
            kernel,
            data,
            noise + found.jitter,
            coefficients,
            found.mean_root,
            found.jitter,
        )


@dataclass(frozen=True, eq=False)
class SeriesBelief:
    """The posterior of a function of one column, by passes over all rows when it is asked.

    Attributes
    ----------
    kernel, data, noise
        What it was computed from.
    coefficients
        Mean coefficients of the mean functions, shape (q, k).
    mean_root
        ``R``, lower triangular, with ``R R' = H' S^-1 H``, shape (q, q).
    jitter
        What had to be added to the noise.
    """

    kernel: Kernel
    data: ProcessData
    noise: Annotated[Array, Form("n", 0.0)]
    coefficients: Annotated[Array, Form("q k")]
    mean_root: Annotated[Array, Form("q q")]
    jitter: float = 0.0

    @property
    def log_evidence(self) -> float:
        """Log probability of the outcomes, by one more pass."""
        return SeriesProcess().log_evidence(self.data, self.kernel, self.noise)

    @property
    def jitter_shift(self) -> Array:
        """By how much jitter moves the function at the rows, root mean square, shape (k,)."""
        if not self.jitter:
            return np.zeros(self.data.y.shape[1])
        rest = self.data.y - self.mean(self.data.x, self.data.columns)
        own = rest * (self.jitter / self.noise)[:, None]
        return np.asarray(np.sqrt(np.mean(np.square(own), axis=0)))

    def moments(self, X: Array, columns: Array) -> tuple[Array, Array]:
        """Return mean (m, k) and variance (m,) of the function at rows, without noise."""
        found = self._smoothed(X, (self.kernel,), self.data.sides)
        mean, variance = self._with_mean(found.means[:, 0], found.variances[:, 0], columns)
        return mean, np.maximum(variance + _white_variance(self.kernel, X), 0.0)

    def mean(self, X: Array, columns: Array) -> Array:
        """Return the mean of the function at rows, by the pass that `moments` takes, (m, k)."""
        return self.moments(X, columns)[0]

    def components(self, X: Array, is_centered: bool) -> list[tuple[Array, Array]]:
        """Return mean (m, k) and variance (m,) of the part of each addend of the kernel.

        Parameters
        ----------
        is_centered
            Whether to take from each part its average over the rows.
        """
        parts = self.kernel.addends
        sides = self.data.sides
        n_series = sides.shape[1]
        # The covariance with an average is one more series for each part.
        averages = [_average(part, self.data.x, X)[:, None] for part in parts if is_centered]
        found = self._smoothed(X, parts, np.hstack([sides, *averages]))
        none = np.zeros((len(X), len(self.mean_root)))
        pairs = []
        for j, part in enumerate(parts):
            own = found.means[:, j]
            moments = self._with_mean(own[:, :n_series], found.variances[:, j], none)
            mean, variance = moments[0], moments[1] + _white_variance(part, X)
            if is_centered:
                open_mean = self._open_mean(own[:, self.data.y.shape[1] : n_series])
                shared = _average(part, X, X) - own[:, n_series + j]
                shared = shared + open_mean @ open_mean.mean(axis=0)
                mean, variance = centered_moments(mean, variance, shared)
            pairs.append((mean, np.maximum(variance, 0.0)))
        return pairs

    def mean_function(self, columns: Array) -> tuple[Array, Array]:
        """Return mean (m, k) and variance (m,) of the mean functions at rows."""
        open_mean = self._open_mean(columns)
        return columns @ self.coefficients, np.einsum("ij,ij->i", open_mean, open_mean)

    def joint_bytes(self, m: int) -> float:
        """Return the memory that `joint` of so many rows takes."""
        return 8.0 * (JOINT_MATRICES * float(m) ** 2 + 2.0 * MOST_CROSS)

    def joint(self, X: Array, columns: Array) -> tuple[Array, Array]:
        """Return mean (m, k) and covariance (m, m) of the function at rows, without noise."""
        mean, _ = self.moments(X, columns)
        covariance = self.kernel.evaluated(X)[0]
        size = max(1, MOST_CROSS // max(1, len(self.noise)))
        for first in range(0, len(X), size):
            part = slice(first, first + size)
            cross = self.kernel.evaluated(self.data.x, X[part])[0]
            covariance[:, part] -= self._smoothed(X, (self.kernel,), cross).means[:, 0]
        beside = self._smoothed(X, (self.kernel,), self.data.columns).means[:, 0]
        open_mean = self._open_mean(columns - beside)
        return mean, symmetrize(covariance + open_mean @ open_mean.T)

    def sample(self, rng: Generator, X: Array, columns: Array, n: int) -> Array:
        """Return values of ``n`` functions drawn from the posterior, shape (n, m, k).

        A function of the prior, corrected by what the rows say of how it differs from their
        outcomes: time grows with the rows [durbin2002]_.
        """
        series = _Drawn.of(self.data.x, self.noise, X, self.kernel)
        k, parts = self.data.y.shape[1], []
        size = max(1, MOST_DRAWN // (len(series.form.gaps) * series.form.space.n_states * k))
        for first in range(0, n, size):
            n_draws = min(size, n - first)
            seen, asked = series.sample(rng, n_draws * k)
            left = np.tile(self.data.y - self.data.origin, n_draws) - seen
            found = self._smoothed(X, (self.kernel,), np.hstack([left, self.data.columns]))
            known, beside = np.hsplit(found.means[:, 0], [n_draws * k])
            taken = self._regressed(found.weights[:, n_draws * k :].T @ left)
            values = asked + known + (columns - beside) @ taken
            values += np.tile(self._level(columns), n_draws)
            parts.append(values.reshape(len(X), n_draws, k).transpose(1, 0, 2))
        return np.concatenate(parts)

    def _regressed(self, inner: Array) -> Array:
        """Return coefficients of the mean functions for ``H' S^-1`` times some series."""
        if not len(self.mean_root):
            return inner
        half = solve_lower(self.mean_root, inner)
        return np.asarray(solve_lower(self.mean_root, half, transposed=True))

    def leave_one_out(self) -> tuple[Array, Array]:
        """Return mean (n, k) and variance (n,) of each outcome given all others.

        ``y_i - a_i / P_ii`` and ``1 / P_ii``, noise included, as for `ExactBelief`.
        """
        none = np.empty((0, 1))
        found = self._smoothed(none, (self.kernel,), self.data.sides)
        k = self.data.y.shape[1]
        weights = found.weights[:, :k] - found.weights[:, k:] @ self._above_origin
        pinned = self._open_mean(found.weights[:, k:])
        precision = found.precision - np.einsum("ij,ij->i", pinned, pinned)
        return self.data.y - weights / precision[:, None], 1.0 / precision

    def extended(self, x: Array, y: Array, columns: Array, noise: Array) -> SeriesBelief:
        """Return the posterior with more rows, at the same settings."""
        data = self.data.joined(x, y, columns)
        return SeriesProcess().belief(data, self.kernel, np.concatenate([self.noise, noise]))

    @property
    def _above_origin(self) -> Array:
        """Coefficients of the mean functions for outcomes around their origin, (q, k)."""
        found = self.coefficients.copy()
        found[:1] -= self.data.origin
        return found

    def _level(self, columns: Array) -> Array:
        """Return what the origin of the outcomes adds at rows with these columns, (m, k)."""
        first = columns[:, :1] if columns.shape[1] else np.zeros((len(columns), 1))
        return np.asarray(first * self.data.origin)

    def _smoothed(self, X: Array, parts: tuple[Kernel, ...], sides: Array) -> _Smoothed:
        return _smoothed(self.data.x, self.noise, sides, X, parts)

    def _with_mean(self, means: Array, variance: Array, columns: Array) -> tuple[Array, Array]:
        """Return moments with the mean functions, of which ``columns`` are at the rows."""
        k = self.data.y.shape[1]
        beside = columns - means[:, k:]
        open_mean = self._open_mean(beside)
        spread = np.einsum("ij,ij->i", open_mean, open_mean)
        mean = means[:, :k] + beside @ self._above_origin + self._level(columns)
        return mean, variance + spread

    def _open_mean(self, columns: Array) -> Array:
        """Return what is not known of combinations of mean functions, whitened, (m, q)."""
        if not columns.shape[1]:
            return columns
        return np.asarray(solve_lower(self.mean_root, columns.T).T)


class _Filtered(NamedTuple):
    """What one pass over the rows finds, and where a pass back can begin anew.

    Coefficients are those for outcomes around their origin.
    """

    log_evidence: float
    coefficients: Array
    mean_root: Array
    jitter: float
    every: int
    marks: Array
    mean_marks: Array


@dataclass(frozen=True, eq=False)
class _Series:
    """Rows in the order of time, and the state space form of a kernel at them."""

    data: ProcessData
    order: Any
    kernel: Kernel
    times: Array
    form: _Form
    noise: Array

    @classmethod
    def of(cls, data: ProcessData, kernel: Kernel, noise: Array) -> Self:
        """Return the rows in the order of time."""
        times = _times(data.x)
        order = _order(times)
        later = times if order is None else times[order]
        form = _form((kernel,), later, _origin(times))
        own = noise if order is None else noise[order]
        return cls(data, order, kernel, later, form, own + form.white)

    def filtered(self) -> _Filtered:
        """Return the evidence, with as little jitter as there must be."""
        jitter, fraction = 0.0, 0.0
        while True:
            found, failed = self._pass(jitter)
            if found is not None:
                return found
            fraction = 10.0 * fraction if fraction else SMALLEST_JITTER
            if fraction > LARGEST_JITTER * (1 + 1e-9):
                raise NotPositiveDefinite(self._about(failed))
            with np.errstate(over="ignore"):
                level = float(np.mean(self.noise + np.square(self.form.levels).sum(axis=1)))
            jitter = fraction * (level or 1.0)

    def _pass(self, jitter: float) -> tuple[_Filtered | None, int]:
        n, k = self.data.y.shape
        sides, size = self.sides(), self.form.space.n_states
        every = min(n, max(8, MOST_MARKED // size**2))
        marks = np.empty(((n - 1) // every + 1, size, size))
        mean_marks = np.empty((len(marks), sides.shape[1], size))
        state = _State.before(self.form.space, sides.shape[1])
        chains, noise = _chains(self.form.space), self.noise + jitter
        whole = _Triangle.of(0, sides.shape[1] - k, k)
        log_det = 0.0
        for part, first in enumerate(range(0, n, every)):
            rows = slice(first, first + every)
            errors = np.array(sides[rows], order="C")
            added, failed = process_loops().filtered(
                chains, self.form.gaps[rows], self.form.levels[rows], noise[rows], errors,
                state.P, state.means, marks[part], mean_marks[part],
            )  # fmt: skip
            if failed >= 0:
                return None, first + failed
            log_det += added
            whole = whole.joined(np.hstack([errors[:, k:], errors[:, :k]]))
        root, coefficients = whole.regressed()
        value = whole.log_evidence(log_det, n)
        return _Filtered(value, coefficients, root, jitter, every, marks, mean_marks), -1

    def graded(self, found: _Filtered) -> tuple[list[Array], Array, Array]:
        """Return derivatives by log rates of blocks, by levels and by the noise of rows.

        Those of the log evidence are those of series that the mean functions have been taken
        from, and of the mean functions themselves as further series, whitened.
        """
        n, k = self.data.y.shape
        q = self.data.columns.shape[1]
        taken = np.eye(k + q)
        taken[k:, :k] = -found.coefficients
        taken[k:, k:] = np.sqrt(k) * solve_lower(found.mean_root, np.eye(q)).T if q else 0.0
        sides = self.sides() @ taken
        mean_marks = np.ascontiguousarray(np.einsum("tcs,cd->tds", found.mean_marks, taken))
        shape = (self.form.space.width, self.form.space.n_states)
        by_generator, by_spread = np.zeros(shape), np.zeros(shape)
        by_level, by_noise = np.empty_like(self.form.levels), np.empty(n)
        process_loops().graded(
            *self._model, self.noise + found.jitter, sides, float(k), found.every, found.marks,
            mean_marks, by_generator, by_spread, by_level, by_noise,
        )  # fmt: skip
        return self.form.space.by_log_rates(by_generator, by_spread), by_level, by_noise

    def pulled(self, by_rate: list[Array], by_level: Array, by_noise: Array) -> Array:
        """Return the gradient by the kernel's log parameters, a sum over stretches of rows."""
        origin, total = self.times[0], np.zeros(len(self.kernel.parameters))
        for rows in _stretches(len(self.times)):
            terms, pull = terms_of(self.kernel, self.times[rows], origin)
            slopes, block = [], 0
            for term in terms:
                if term.is_white:
                    by_white = 2.0 * term.level * by_noise[rows]
                    slopes.append(Slope(np.zeros(len(term.factors)), by_white))
                else:
                    # Rates are those of all rows: the first stretch brings their share.
                    own = by_rate[block] if rows.start == 0 else 0.0 * by_rate[block]
                    slopes.append(Slope(own, by_level[rows, block]))
                    block += 1
            total += pull(slopes)
        return total

    def in_rows(self, of_times: Array) -> Array:
        """Return numbers in the order of the rows, from those in the order of time."""
        if self.order is None:
            return of_times
        found: Array = np.empty_like(of_times)
        found[self.order] = of_times
        return found

    def sides(self) -> Array:
        """Return centered outcomes and mean functions in the order of time, (n, k + q)."""
        both = self.data.sides
        return both if self.order is None else both[self.order]

    @cached_property
    def _model(self) -> tuple[Any, Array, Array, Array]:
        return _chains(self.form.space), self.form.space.start, self.form.gaps, self.form.levels

    def _about(self, failed: int) -> str:
        time = _times(self.data.x)[failed if self.order is None else self.order[failed]]
        return (
            "the covariance of the outcomes must be positive definite; found that the outcome "
            f"at {time:g} is known from those before it, and has no noise. If times repeat, "
            "leave out the copies or let noise be learned."
        )


class _State(NamedTuple):
    """Covariance of the state behind a row, and its means for each series."""

    P: Array
    means: Array

    @classmethod
    def before(cls, space: StateSpace, n_series: int) -> Self:
        """Return the state before the first row."""
        return cls(_dense(space.start, is_symmetric=True), np.zeros((n_series, space.n_states)))


def _dense(band: Array, is_symmetric: bool = False) -> Array:
    """Return the matrix whose entry (j, j + o) is ``band[o, j]``."""
    n = band.shape[1]
    found = np.zeros((n, n))
    for o in range(min(len(band), n)):
        found += np.diag(band[o, : n - o], o)
        if is_symmetric and o:
            found += np.diag(band[o, : n - o], -o)
    return found


@dataclass(frozen=True, eq=False)
class _Triangle:
    """The triangular factor of whitened series: functions, mean functions, outcomes.

    It is that of all rows so far, so that sums of squares are never formed, which would
    cancel where functions explain most of the outcomes.

    Attributes
    ----------
    n_functions, n_means
        Columns that are functions with coefficients of the standard normal distribution, and
        those with flat ones.
    """

    n_functions: int
    n_means: int
    factor: Array

    @classmethod
    def of(cls, n_functions: int, n_means: int, n_outputs: int) -> Self:
        """Return what is known before the first row: the prior of coefficients."""
        return cls(n_functions, n_means, np.eye(n_functions, n_functions + n_means + n_outputs))

    def joined(self, rows: Array) -> Self:
        """Return the factor with more rows, whose columns are in its order."""
        factor = np.linalg.qr(np.vstack([self.factor, rows]), mode="r")
        return replace(self, factor=as_float(factor))

    def regressed(self) -> tuple[Array, Array]:
        """Return the root of the information on the mean, and mean coefficients (q, k)."""
        p, q = self.n_functions, self.n_means
        own, other = self.factor[p : p + q, p : p + q], self.factor[p : p + q, p + q :]
        if not q:
            return np.empty((0, 0)), other
        root = mean_factor(own.T @ own)
        half = solve_lower(root, own.T @ other)
        return root, np.asarray(solve_lower(root, half, transposed=True))

    def log_evidence(self, log_det: float, n: int) -> float:
        """Return the log evidence of n rows, with ``log|S|`` without the functions."""
        p, q = self.n_functions, self.n_means
        k = self.factor.shape[1] - p - q
        left = self.factor[p + q :, p + q :]
        known = np.abs(np.diagonal(self.factor)[: p + q])
        scale = log_det + 2.0 * float(np.log(known).sum()) + (n - q) * LOG_TWO_PI
        return float(-0.5 * (np.vdot(left, left) + k * scale))


@dataclass(frozen=True, eq=False)
class _Waves:
    """Terms of which all that a row sees is a wave: a frame turns with them.

    ``T(t)`` turns each entry of the block of a cosine, and its twin in the block of the sine,
    by the angle ``frequency t``. What a row sees of ``T(t) z`` is the same at all times.

    Attributes
    ----------
    head
        What a row sees of the turned state, shape (states,).
    ones, twins, frequencies
        Entries that turn, their twins, and how fast, shape (pairs,).
    """

    head: Array
    ones: IntArray
    twins: IntArray
    frequencies: Array

    @classmethod
    def of(cls, terms: Sequence[Term], space: StateSpace) -> Self | None:
        """Return the waves of the terms of a state, or None if some level is not a wave."""
        head = np.zeros(space.n_states)
        sines, pairs = {}, []
        for term, start in zip(terms, space.heads, strict=True):
            if term.wave is not None and term.wave.is_sine:
                sines[term.factors, term.wave.frequency] = int(start)
        for term, start, size in zip(terms, space.heads, space.sizes, strict=True):
            if term.wave is None:
                return None
            if not term.wave.is_sine:
                head[start] = term.wave.amplitude
            if term.wave.frequency and not term.wave.is_sine:
                twin = sines[term.factors, term.wave.frequency]
                own = [(start + j, twin + j, term.wave.frequency) for j in range(size)]
                pairs += own
        if len({twin for _, twin, _ in pairs}) < len(pairs):
            return None
        ones, twins, frequencies = np.array(pairs).reshape(-1, 3).T
        return cls(head, ones.astype(np.int64), twins.astype(np.int64), frequencies)

    def turn(self, time: float) -> Array:
        """Return ``T`` at a time from the origin."""
        found = np.eye(len(self.head))
        cosine, sine = np.cos(self.frequencies * time), np.sin(self.frequencies * time)
        found[self.ones, self.ones] = found[self.twins, self.twins] = cosine
        found[self.ones, self.twins], found[self.twins, self.ones] = sine, -sine
        return found


@dataclass(frozen=True, eq=False)
class _Limit:
    """Where a filter over even times with equal noise settles, in a frame that turns.

    Attributes
    ----------
    behind
        Covariance of the turned state behind a row.
    turn, head, gain, scale
        As in the loop over rows.
    """

    behind: Array
    turn: Array
    head: Array
    gain: Array
    scale: float

    @classmethod
    def of(cls, move: Array, spread: Array, head: Array, noise: float) -> Self:
        """Return the limit for ``z <- move z`` with noise ``spread``, seen as ``head'z``."""
        P = riccati_limit(move, spread, head, noise)
        seen = P @ head
        variance = float(head @ seen) + noise
        return cls(
            P - np.outer(seen, seen / variance),
            np.ascontiguousarray(move.T),
            head,
            seen / variance,
            variance**-0.5,
        )

    def is_reached(self, behind: Array) -> bool:
        """Say whether a turned covariance behind a row is the limit but for rounding."""
        scale = np.sqrt(np.maximum(np.diagonal(self.behind), 0.0))
        return bool(np.all(np.abs(behind - self.behind) <= SETTLED * np.outer(scale, scale)))


def riccati_limit(move: Array, spread: Array, head: Array, noise: float) -> Array:
    """Return P with ``P = A (P - P h h'P / (h'P h + r)) A' + Q``, by doubling the steps.

    After j rounds it is the covariance of a state that was known 2^j steps ago
    [anderson1979]_.

    Parameters
    ----------
    move, spread
        ``A`` and ``Q``, shape (states, states).
    head
        ``h``, shape (states,).
    noise
        ``r``, positive.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> riccati_limit(one, one, np.ones(1), 1.0).round(6)
    array([[1.618034]])
    """
    A, G, P = move.T, np.outer(head, head / noise), spread
    unit = np.eye(len(head))
    for _ in range(MOST_DOUBLED):
        onward, seen = np.hsplit(np.linalg.solve(unit + G @ P, np.hstack([A, G])), 2)
        added = symmetrize(A.T @ P @ onward)
        A, G, P = A @ onward, symmetrize(G + A @ seen @ A.T), P + added
        if np.abs(added).max() <= 1e-17 * np.abs(P).max():
            break
    return P


@dataclass(frozen=True, eq=False)
class _LongSeries:
    """Many rows in the order of time, of which the log evidence alone is asked.

    Terms without a Matern factor are functions with unknown coefficients; the others make
    the state.

    Attributes
    ----------
    step
        Time between rows where it is even, up to the rounding of times.
    breaks
        Rows before which the step or the noise changes.
    """

    data: ProcessData
    order: Any
    kernel: Kernel
    times: Array
    gaps: Array
    noise: Array
    step: float
    breaks: IntArray

    @classmethod
    def of(cls, data: ProcessData, kernel: Kernel, noise: Array) -> Self:
        """Return the rows in the order of time."""
        times = _times(data.x)
        order = _order(times)
        if order is not None:
            times, noise = times[order], noise[order]
        gaps = _gaps(times)
        middle = np.partition(gaps, len(gaps) // 2)[len(gaps) // 2]
        is_even = np.abs(gaps - middle) <= 4.0 * _rounding(times)
        step = float(gaps[is_even].mean())
        is_break = ~is_even
        is_break[1:] |= noise[1:] != noise[:-1]
        gaps = np.where(is_even, step, gaps)
        gaps[0] = 0.0
        return cls(data, order, kernel, times, gaps, noise, step, np.flatnonzero(is_break))

    def log_evidence(self) -> float | None:
        """Return the log evidence, or None where some row would need jitter."""
        n, k = self.data.y.shape
        whole = _Triangle.of(sum(self._is_function), self.data.columns.shape[1], k)
        state = _State.before(self._space, whole.factor.shape[1])
        log_det, first, size = 0.0, 0, ROWS_TO_SETTLE
        while first < n:
            limit = self._limit_reached(first, state)
            if limit is None:
                rows = slice(first, min(first + size, n))
                size = min(2 * size, ROWS_IN_CACHE)
                added, errors = self._filtered(rows, state)
            else:
                rows, size = self._even_rows(first), ROWS_TO_SETTLE
                added, errors = self._settled(rows, limit, state)
            if not np.isfinite(added):
                return None
            log_det += added
            whole = whole.joined(errors)
            first = rows.stop
        whole.regressed()
        return whole.log_evidence(log_det, n)

    def _filtered(self, rows: slice, state: _State) -> tuple[float, Array]:
        """Return ``log|S|`` of rows and their whitened errors; NaN if there are none."""
        levels, white, functions = self._terms_at(rows)
        errors = np.hstack([functions, self._sides(rows)])
        added, failed = process_loops().filtered(
            _chains(self._space), self.gaps[rows], levels, self.noise[rows] + white, errors,
            state.P, state.means, np.empty_like(state.P), np.empty_like(state.means),
        )  # fmt: skip
        return (added if failed < 0 else np.nan), errors

    def _settled(self, rows: slice, limit: _Limit, state: _State) -> tuple[float, Array]:
        """Return the same of rows at which covariances are those of the limit."""
        errors = self._sides(rows)
        if any(self._is_function):
            errors = np.hstack([self._terms_at(rows)[2], errors])
        turned = np.ascontiguousarray(state.means @ self._turn_at(rows.start - 1).T)
        process_loops().settled(limit.turn, limit.head, limit.gain, limit.scale, turned, errors)
        after = self._turn_at(rows.stop - 1)
        state.means[...] = turned @ after
        state.P[...] = after.T @ limit.behind @ after
        return -2.0 * len(errors) * float(np.log(limit.scale)), errors

    def _limit_reached(self, first: int, state: _State) -> _Limit | None:
        """Return the limit if rows from ``first`` on have one, and the state is at it."""
        rows = self._even_rows(first)
        if self._waves is None or rows.stop - rows.start < ROWS_TO_SETTLE:
            return None
        limit, turn = self._limit(float(self.noise[first])), self._turn_at(first - 1)
        is_reached = limit is not None and limit.is_reached(turn @ state.P @ turn.T)
        return limit if is_reached else None

    def _even_rows(self, first: int) -> slice:
        """Return rows from ``first`` on that follow those before evenly, with equal noise."""
        if first == 0:
            return slice(0, 0)
        at = int(np.searchsorted(self.breaks, first))
        last = int(self.breaks[at]) if at < len(self.breaks) else len(self.times)
        last = min(last, first + ROWS_IN_CACHE)
        line = self.times[first - 1] + self.step * np.arange(1, last - first + 1)
        is_off = np.abs(self.times[first:last] - line) > 8.0 * _rounding(self.times)
        return slice(first, first + int(np.argmax(is_off)) if is_off.any() else last)

    def _sides(self, rows: slice) -> Array:
        """Return mean functions, then centered outcomes, shape (m, q + k)."""
        at = rows if self.order is None else self.order[rows]
        return np.hstack([self.data.columns[at], self.data.centered[at]])

    @cached_property
    def _terms(self) -> tuple[Term, ...]:
        return terms_of(self.kernel, self.times[:1], self.times[0]).terms

    @cached_property
    def _is_function(self) -> list[bool]:
        """Whether each term that is not white is a function and no block of the state."""
        found = [not term.factors for term in self._terms if not term.is_white]
        return [False, *found[1:]] if all(found) else found

    @cached_property
    def _moving(self) -> list[Term]:
        """The terms that make the state."""
        terms = [term for term in self._terms if not term.is_white]
        return [
            term for term, is_one in zip(terms, self._is_function, strict=True) if not is_one
        ]

    @cached_property
    def _space(self) -> StateSpace:
        return StateSpace.of(self._moving)

    @cached_property
    def _white(self) -> float | None:
        """Variance of what is white, if it is the same at all times."""
        waves = [term.wave for term in self._terms if term.is_white]
        levels = [wave.amplitude for wave in waves if wave is not None and not wave.frequency]
        return float(np.sum(np.square(levels))) if len(levels) == len(waves) else None

    @cached_property
    def _waves(self) -> _Waves | None:
        """Waves of the state if its covariance can settle."""
        has_limit = self.step > 0.0 and self._white is not None
        if not has_limit or not all(term.factors for term in self._moving):
            return None
        return _Waves.of(self._moving, self._space)

    def _terms_at(self, rows: slice) -> tuple[Array, Array, Array]:
        """Return levels of blocks, variances of what is white, and functions, at rows."""
        m = rows.stop - rows.start
        levels: list[Array] = []
        functions: list[Array] = []
        white = np.zeros(m)
        is_function = iter(self._is_function)
        for term in terms_of(self.kernel, self.times[rows], self.times[0]).terms:
            if term.is_white:
                white += np.square(term.level)
            else:
                own = functions if next(is_function) else levels
                own.append(np.broadcast_to(term.level, m))
        none = np.empty((m, 0))
        return (
            np.stack(levels, axis=1),
            white,
            np.stack(functions, axis=1) if functions else none,
        )

    def _turn_at(self, row: int) -> Array:
        time = float(self.times[row] - self.times[0])
        return np.eye(self._space.n_states) if self._waves is None else self._waves.turn(time)

    @cached_property
    def _limits(self) -> dict[float, _Limit | None]:
        return {}

    def _limit(self, noise: float) -> _Limit | None:
        """Return where the filter settles with this noise of rows, if it does."""
        if noise not in self._limits:
            self._limits[noise] = self._limit_of(noise + (self._white or 0.0))
        return self._limits[noise]

    def _limit_of(self, noise: float) -> _Limit | None:
        if self._waves is None or noise <= 0.0:
            return None
        move, spread = np.empty((2, self._space.width, self._space.n_states))
        process_loops().transition(self.step, _chains(self._space), move, spread)
        turned = self._waves.turn(self.step) @ _dense(move)
        noises = _dense(spread, is_symmetric=True)
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                return _Limit.of(turned, noises, self._waves.head, noise)
            except np.linalg.LinAlgError:
                return None


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Rows with outcomes and rows that are asked for in the order of time, to draw from.

    Attributes
    ----------
    form
        Of the kernel at all rows.
    noise
        Variance of the noise of each row with an outcome, what is white included, (n,).
    white
        Variance of what is white at rows that are asked for, shape (m,).
    place
        Where each row stands in the order of time: those with outcomes, then the others.
    """

    form: _Form
    noise: Array
    white: Array
    place: Any

    @classmethod
    def of(cls, x: Array, noise: Array, X: Array, kernel: Kernel) -> Self:
        """Return the rows in the order of time."""
        times = np.concatenate([_times(x), _times(X)])
        order = np.argsort(times, kind="stable")
        form = _form((kernel,), times[order], _origin(_times(x)))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        own, white = np.split(form.white[place], [len(x)])
        return cls(form, noise + own, white, place)

    def sample(self, rng: Generator, n: int) -> tuple[Array, Array]:
        """Return n random outcomes (n_rows, n), and functions at the other rows (m, n)."""
        space, values = self.form.space, np.empty((len(self.form.gaps), n))
        normals = rng.standard_normal((len(values), n, space.n_states))
        process_loops().drawn(
            _chains(space), space.start, self.form.gaps, self.form.levels, normals, values
        )
        seen, asked = np.split(values[self.place], [len(self.noise)])
        for part, variance in ((seen, self.noise), (asked, self.white)):
            part += np.sqrt(variance)[:, None] * rng.standard_normal(part.shape)
        return seen, asked


class _Smoothed(NamedTuple):
    """What rows of data say of series, at rows that are asked for and at themselves."""

    means: Array
    variances: Array
    weights: Array
    precision: Array


def _smoothed(
    x: Array, noise: Array, sides: Array, X: Array, parts: tuple[Kernel, ...]
) -> _Smoothed:
    """Return posterior moments of parts of a function at rows ``X``."""
    n, m = len(x), len(X)
    times = np.concatenate([_times(x), _times(X)])
    order = np.argsort(times, kind="stable")
    origin = _origin(_times(x))
    form = _form(parts, times[order], origin)
    own = np.concatenate([noise, np.zeros(m)])[order] + form.white
    n_series = sides.shape[1]
    seen = np.vstack([sides, np.zeros((m, n_series))])[order]
    asked = np.concatenate([np.full(n, -1), np.arange(m)])[order]
    means, variances = np.empty((m, len(parts), n_series)), np.empty((m, len(parts)))
    weights, precision = np.empty((n + m, n_series)), np.empty(n + m)
    process_loops().smoothed(
        _chains(form.space), form.space.start, form.gaps, form.levels, own, seen,
        asked, form.part_of, means, variances, weights, precision,
    )  # fmt: skip
    is_data = asked < 0
    back = order[is_data]
    in_rows, of_rows = np.empty((n, n_series)), np.empty(n)
    in_rows[back], of_rows[back] = weights[is_data], precision[is_data]
    return _Smoothed(means, variances, in_rows, of_rows)


def _times(x: Array) -> Array:
    if x.shape[1] != 1:
        raise ValueError(
            f"a series must have one column of inputs, the time; found {x.shape[1]}. Choose "
            "the column, or use method='exact'."
        )
    return x[:, 0]


def _order(times: Array) -> Any:
    """Return the order of time, or None if rows are in it."""
    if np.all(times[1:] >= times[:-1]):
        return None
    return np.argsort(times, kind="stable")


def _origin(times: Array) -> float:
    return float(times.min()) if len(times) else 0.0


def _rounding(times: Array) -> float:
    """Return the distance between numbers of the size of the largest of sorted times."""
    return float(np.spacing(max(abs(times[0]), abs(times[-1]))))


def _gaps(times: Array) -> Array:
    return np.diff(times, prepend=times[:1])


class _Form(NamedTuple):
    """A sum of kernels at times: its state, and what of it each row sees.

    Attributes
    ----------
    levels
        What multiplies each block at each row, shape (n, blocks).
    white
        Variance of what is white, shape (n,).
    part_of
        Number of the kernel that each block is of.
    """

    space: StateSpace
    gaps: Array
    levels: Array
    white: Array
    part_of: Any


def _form(parts: tuple[Kernel, ...], times: Array, origin: float) -> _Form:
    """Return the form of the sum of kernels at times that do not decrease."""
    first = [terms_of(part, times[:1], origin).terms for part in parts]
    space = StateSpace.of([term for terms in first for term in terms])
    n_blocks = [sum(not term.is_white for term in terms) for terms in first]
    levels, white = np.empty((len(times), len(space.blocks))), np.zeros(len(times))
    for rows in _stretches(len(times)):
        block = 0
        for term in (t for part in parts for t in terms_of(part, times[rows], origin).terms):
            if term.is_white:
                white[rows] += np.square(term.level)
            else:
                levels[rows, block] = term.level
                block += 1
    part_of = np.repeat(np.arange(len(parts)), n_blocks)
    return _Form(space, _gaps(times), levels, white, part_of)


def _stretches(n: int) -> list[slice]:
    """Return rows in stretches whose levels stay in the cache of the processor."""
    return [slice(first, first + ROWS_IN_CACHE) for first in range(0, n, ROWS_IN_CACHE)]


def _chains(space: StateSpace) -> tuple[Any, ...]:
    return space.steps, space.rates, space.kind_of, space.place, space.heads


def _average(kernel: Kernel, x: Array, X: Array) -> Array:
    """Return the covariance of rows ``x`` with the average over rows ``X``, shape (n,)."""
    if x is X:
        return np.asarray(kernel.evaluated(X)[0].mean(axis=1))
    size = max(1, MOST_CROSS // max(1, len(X)))
    chunks = [kernel.evaluated(x[i : i + size], X)[0] for i in range(0, len(x), size)]
    return np.concatenate([chunk.mean(axis=1) for chunk in chunks])


def _white_variance(kernel: Kernel, X: Array) -> Array:
    """Return the variance at rows of what is white in a kernel."""
    white = [t.level for t in terms_of(kernel, _times(X)).terms if t.is_white]
    return np.broadcast_to(sum((np.square(w) for w in white), start=np.zeros(1)), len(X))

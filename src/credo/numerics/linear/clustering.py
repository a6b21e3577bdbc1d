"""K-means: a few centers for many rows, and the center nearest to each row.

Lloyd's alternation gives each row to its nearest center and moves each center to the mean of
its rows; neither raises the sum of squared distances [lloyd1982]_. Small tables compare all
rows with all centers by matrix products in float64. Large ones do so in float32, keep an upper
bound on the distance of each row from its center and a lower one from all others, and look
again only at rows whose bounds cross [hamerly2010]_; what float32 leaves open is settled in
float64, so that both ways give the same labels.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import ModuleType
from typing import Annotated, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.numerics.array import Array, as_float, rounded, squared_distances, work_array
from credo.numerics.form import Form
from credo.numerics.parallel.threads import in_parts, threads_for

__all__ = [
    "STARTS",
    "ClusterRows",
    "ClusterTrace",
    "Clustering",
    "by_weight",
    "farthest_first",
    "kmeans",
    "lloyd",
    "n_distinct",
    "nearest",
]

Labels = NDArray[np.intp]

_BLOCK = 1 << 17
"""Distances found at a time: few enough to stay in cache until they are compared."""

MANY = 1 << 22
"""Products of a row and a center, entry by entry, from which compiled loops are quicker."""

ROWS_AT_ONCE = 1 << 13
"""Rows that a thread takes at a time: the same on every machine."""

SORTED_ROWS = 50_000
"""Up to so many rows seeds do not depend on their order, nor on copies in place of weights."""

SLACK = 1.0 + 1e-9
"""Bounds give way by a little more than centers move, for the sake of rounding."""


def nearest(X: Array, centers: Array) -> Labels:
    """Return the index of the center nearest to each row; a tie goes to the lowest index."""
    labels = np.empty(len(X), dtype=np.intp)
    rows = max(1, _BLOCK // len(centers))
    squares = _differences if _are_close(centers) else squared_distances
    for start in range(0, len(X), rows):
        block = squares(X[start : start + rows], centers)
        labels[start : start + rows] = block.argmin(axis=1)
    return labels


def _are_close(centers: Array) -> bool:
    """Whether some centers are so near to each other that products cannot tell them apart."""
    gap = squared_distances(centers, centers)
    return bool(gap[~np.eye(len(centers), dtype=bool)].min(initial=np.inf) < 1e-6 * gap.max())


def _differences(x: Array, centers: Array) -> Array:
    """Return squared distances without products, which cancel."""
    found = np.zeros((len(x), len(centers)))
    for column, place in zip(x.T, centers.T, strict=True):
        away = column[:, None] - place
        away *= away
        found += away
    return found


@dataclass(frozen=True, eq=False)
class ClusterTrace:
    """What each step of Lloyd's alternation did.

    Attributes
    ----------
    centers
        Centers after each step, shape (t, k, d).
    objective
        Sum of squared distances after each step, never rising, shape (t,).
    n_moved
        How many rows changed their center, shape (t,).
    """

    centers: Annotated[Array, Form("t k d")]
    objective: Annotated[Array, Form("t", 0.0)]
    n_moved: Annotated[Array, Form("t", 0.0)]

    def labels(self, X: Array, step: int) -> Labels:
        """Return the center of each row after a step: the nearest at the centers before it."""
        return nearest(X, self.centers[max(step - 1, 0)])


@dataclass(frozen=True, eq=False)
class Clustering:
    """Centers, shape (k, d), and the nearest one of each row, shape (n,).

    Attributes
    ----------
    scatter
        Sum of squared distances from the rows to their centers, by weight.
    trace
        What each step did.
    n_repairs
        How often a center that had lost all its rows began anew.
    is_settled
        Whether the last step changed no label, or too little to go on.
    """

    centers: Array
    labels: Labels
    scatter: float
    trace: ClusterTrace
    n_repairs: int = 0
    is_settled: bool = True


def kmeans(X: Array, k: int, rng: Generator, max_steps: int = 100) -> Clustering:
    """Return a local minimum of the scatter around ``k`` centers.

    Lloyd's alternation from k-means++ seeds [arthur2007]_, until the labels are stable. Fewer
    than ``k`` distinct rows give as many centers as there are distinct rows. A center that
    loses all its rows restarts at the row farthest from its own center.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0], [10.0], [12.0]])
    >>> np.sort(kmeans(X, 2, np.random.default_rng(0)).centers, axis=0)
    array([[ 1.], [11.]])
    """
    rows = ClusterRows(X, np.ones(len(X)))
    chosen = [int(rng.integers(len(X)))]
    gaps = rows.gaps(chosen[0])
    while len(chosen) < k and gaps.max() > 0:
        totals = gaps.cumsum()
        chosen.append(int(np.searchsorted(totals, rng.random() * totals[-1], side="right")))
        gaps = np.minimum(gaps, rows.gaps(chosen[-1]))
    return lloyd(rows, X[chosen], max_steps)


@dataclass(frozen=True, eq=False)
class ClusterRows:
    """Rows (n, d) that are to be clustered, and their positive weights (n,)."""

    x: Array
    weight: Array

    @cached_property
    def origin(self) -> Array:
        """Mean of the rows, from which they are measured."""
        return np.asarray(self.weight @ self.x / self.weight.sum())

    @cached_property
    def single(self) -> tuple[NDArray[np.float32], Array, float]:
        """Rows in float32, from the origin, their squares, and the factor that scales them."""
        with np.errstate(over="ignore"):
            most = max(
                float((self.x.max(axis=0) - self.origin).max()),
                float((self.origin - self.x.min(axis=0)).max()),
            )
        scale = 1.0 / most if most > 0.0 else 1.0
        size = self.x.size
        flat = work_array(((size + 1) // 2,)).view(np.float32)[:size]
        out, norm = flat.reshape(self.x.shape), np.empty(len(self.x))

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            _loops().single(self.x[part], self.origin, scale, out[part], norm[part])

        in_parts(work, len(self.x), self.x.size)
        return out, norm, scale

    @cached_property
    def order(self) -> Labels | None:
        """Rows in an order of their own, None if there are too many."""
        if len(self.x) > SORTED_ROWS:
            return None
        spread = np.sqrt(self.weight @ np.square(self.x - self.origin) / self.weight.sum())
        turn = np.sqrt(np.arange(2.0, self.x.shape[1] + 2.0)) % 1.0 + 0.5
        return np.argsort(
            ((self.x - self.origin) / np.where(spread > 0, spread, 1.0) * turn).sum(axis=1),
            kind="stable",
        )

    def is_large(self, k: int) -> bool:
        """Whether compiled loops are worth loading for ``k`` centers."""
        return self.x.size * k >= MANY

    def drawn(self, share: Array, u: Array) -> Labels:
        """Return rows drawn with probability proportional to their share, by uniform ``u``."""
        order = self.order
        totals = np.cumsum(share if order is None else share[order])
        place = np.searchsorted(totals, u * totals[-1], side="right")
        # Rounding must not draw a row without any share.
        place = np.minimum(place, np.searchsorted(totals, totals[-1]))
        return np.asarray(place if order is None else order[place], dtype=np.intp)

    def gaps(self, row: int) -> Array:
        """Return the squared distance of every row from one of them."""
        found = np.zeros(len(self.x))
        for column in self.x.T:
            away = column - column[row]
            away *= away
            found += away
        return found


def n_distinct(x: Array, most: int) -> int:
    """Return how many rows differ, counting no further than ``most``.

    Examples
    --------
    >>> n_distinct(np.array([[1.0], [2.0], [1.0]]), 5), n_distinct(np.eye(9), 2)
    (2, 2)
    """
    size = min(2 * most, len(x))
    while True:
        found = len(np.unique(x[:size], axis=0))
        if found >= most or size == len(x):
            return min(found, most)
        size = min(4 * size, len(x))


def by_weight(labels: Labels, weight: Array, places: Array) -> tuple[Labels, Array]:
    """Return clusters in falling order of weight, ties by their places, and all weights.

    Parameters
    ----------
    labels, weight
        Of each row, shape (n,).
    places
        Numbers that tell clusters of equal weight apart, shape (k, d).

    Examples
    --------
    >>> by_weight(np.array([0, 1, 1]), np.ones(3), np.array([[5.0], [7.0]]))
    (array([1, 0]), array([1., 2.]))
    """
    mass = as_float(np.bincount(labels, weight, len(places)))
    keys = rounded(places, 30, axis=0)
    return np.lexsort((*keys.T[::-1], -rounded(mass, 30))), mass


# -- Where to begin ----------------------------------------------------------------------------


def _by_square(rows: ClusterRows, k: int, rng: Generator, n_tries: int) -> Labels:
    """Return rows drawn one by one with probability proportional to the squared distance.

    Of ``n_tries`` rows drawn at a time the one that leaves the least sum is taken. There are
    fewer than ``k`` if fewer rows differ.
    """
    chosen = [int(rows.drawn(rows.weight, rng.random(1))[0])]
    if rows.is_large(k * n_tries):
        return _large_seeds(rows, k, rng, n_tries, chosen[0])
    gap = rows.gaps(chosen[0])
    while len(chosen) < k and gap.max() > 0.0:
        tries = rows.drawn(rows.weight * gap, rng.random(n_tries))
        left = [np.minimum(gap, rows.gaps(int(one))) for one in tries]
        best = int(np.argmin([rows.weight @ one for one in left]))
        chosen.append(int(tries[best]))
        gap = left[best]
    return np.array(chosen, dtype=np.intp)


def _large_seeds(rows: ClusterRows, k: int, rng: Generator, n_tries: int, first: int) -> Labels:
    """Return the same for many rows, by products in float32."""
    chosen = [first]
    with threads_for(0):
        _, gap = _best_seed(rows, np.full(len(rows.x), np.inf), np.array(chosen))
        while len(chosen) < k and gap.max() > 0.0:
            tries = rows.drawn(rows.weight * gap, rng.random(n_tries))
            best, gap = _best_seed(rows, gap, tries)
            chosen.append(int(tries[best]))
    return np.array(_exact_rest(rows, k, rng, chosen), dtype=np.intp)


def _best_seed(rows: ClusterRows, gap: Array, tries: Labels) -> tuple[int, Array]:
    """Return which of some rows leaves the least sum of gaps, and the gaps that it leaves."""
    (x, norm, _), n = rows.single, len(rows.x)
    n_blocks = -(-n // ROWS_AT_ONCE)
    left, totals = work_array((len(tries), n)), np.zeros((n_blocks, len(tries)))

    def work(start: int, stop: int) -> None:
        for block in range(start, stop):
            part = slice(block * ROWS_AT_ONCE, min((block + 1) * ROWS_AT_ONCE, n))
            _loops().seed_gaps(
                x[tries] @ x[part].T,
                norm[part],
                norm[tries],
                rows.weight[part],
                gap[part],
                left[:, part],
                totals[block],
            )

    in_parts(work, n_blocks, n * len(tries))
    best = int(np.argmin(totals.sum(axis=0)))
    return best, left[best].copy()


def _exact_rest(rows: ClusterRows, k: int, rng: Generator, chosen: list[int]) -> list[int]:
    """Return more seeds, if need be, where rows differ by less than float32 tells."""
    if len(chosen) == k:
        return chosen
    gap = np.min([rows.gaps(one) for one in chosen], axis=0)
    while len(chosen) < k and gap.max() > 0.0:
        chosen.append(int(rows.drawn(rows.weight * gap, rng.random(1))[0]))
        gap = np.minimum(gap, rows.gaps(chosen[-1]))
    return chosen


def farthest_first(gaps: Callable[[int], Array], first: int, k: int) -> Labels:
    """Return ``k`` places, each the farthest from all before it, the first of equals.

    The largest distance to the nearest of them is at most twice the least that any ``k``
    places have [hochbaum1985]_, in any metric.

    Parameters
    ----------
    gaps
        Distances, or what rises with them, of all places from one, shape (n,).
    first
        Where to begin.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 4.0, 9.0])
    >>> farthest_first(lambda i: abs(x - x[i]), 0, 3).tolist()
    [0, 3, 2]
    """
    chosen, gap = [first], np.array(gaps(first))
    while len(chosen) < k:
        chosen.append(int(gap.argmax()))
        np.minimum(gap, gaps(chosen[-1]), out=gap)
    return np.array(chosen, dtype=np.intp)


def _plus_plus(rows: ClusterRows, k: int, rng: Generator) -> Array:
    n_tries = 2 + int(np.log(k))
    return np.asarray(rows.x[_by_square(rows, k, rng, n_tries)])


def _random_rows(rows: ClusterRows, k: int, rng: Generator) -> Array:
    chosen: list[int] = []
    share = rows.weight.copy()
    while len(chosen) < k and share.any():
        chosen.append(int(rows.drawn(share, rng.random(1))[0]))
        share[(rows.x == rows.x[chosen[-1]]).all(axis=1)] = 0.0
    return np.asarray(rows.x[chosen])


def _random_labels(rows: ClusterRows, k: int, rng: Generator) -> Array:
    labels = rng.integers(k, size=len(rows.x))
    # Each label has a row, as many as there are.
    labels[rng.permutation(len(rows.x))[:k]] = np.arange(k)[: len(rows.x)]
    mass = np.bincount(labels, rows.weight, k)
    sums = [np.bincount(labels, rows.weight * column, k) for column in rows.x.T]
    return np.asarray(np.transpose(sums) / mass[:, None])


def _random_box(rows: ClusterRows, k: int, rng: Generator) -> Array:
    low, high = rows.x.min(axis=0), rows.x.max(axis=0)
    return np.asarray(low + (high - low) * rng.random((k, rows.x.shape[1])))


def _farthest_rows(rows: ClusterRows, k: int, rng: Generator) -> Array:
    first = int(rows.drawn(rows.weight, rng.random(1))[0])
    return np.asarray(rows.x[farthest_first(rows.gaps, first, k)])


STARTS: dict[str, Callable[[ClusterRows, int, Generator], Array]] = {
    "k-means++": _plus_plus,
    "random-rows": _random_rows,
    "random-labels": _random_labels,
    "random-box": _random_box,
    "farthest-first": _farthest_rows,
}
"""Ways to choose the first centers, by name."""


# -- Lloyd's alternation -----------------------------------------------------------------------


def lloyd(
    rows: ClusterRows, start: Array, max_steps: int = 300, tolerance: float = 0.0
) -> Clustering:
    """Alternate labels and means from the given centers, until labels are stable.

    Parameters
    ----------
    start
        First centers, shape (k, d).
    max_steps
        Steps after which it ends in any case.
    tolerance
        Share of the objective that a step must gain to go on.

    Notes
    -----
    A center without rows moves to the row that is farthest from its own center, which is then
    its only one: the objective falls.
    """
    centers = np.array(start, dtype=np.float64)
    kind = _BoundedLabels if rows.is_large(len(centers)) else _PlainLabels
    labels: Any = kind(rows, len(centers))
    away = [
        float(rows.weight @ np.square(c - o))
        for c, o in zip(rows.x.T, rows.origin, strict=True)
    ]
    whole = float(np.sum(away))
    steps: list[tuple[Array, float, int]] = []
    n_repairs, is_settled, before = 0, False, np.inf
    with threads_for(0):
        for _ in range(max_steps):
            n_moved = labels.assign(centers)
            if not n_moved:
                is_settled = True
                break
            centers, mass, n_empty = labels.means()
            n_repairs += n_empty
            between = float(mass @ np.square(centers - rows.origin).sum(axis=1))
            objective = min(max(whole - between, 0.0), before)
            steps.append((centers, objective, n_moved))
            if before - objective < tolerance * objective:
                is_settled = True
                break
            before = objective
        is_stable = not labels.assign(centers)
        centers, scatter = labels.exact(centers, is_stable)
    trace = ClusterTrace(
        np.array([step[0] for step in steps]).reshape(-1, *centers.shape),
        np.array([step[1] for step in steps]),
        np.array([step[2] for step in steps], dtype=np.float64),
    )
    found = labels.label.astype(np.intp)
    return Clustering(centers, found, scatter, trace, n_repairs, is_settled or is_stable)


@dataclass(eq=False)
class _Labels:
    """The center of each row, while they change."""

    rows: ClusterRows
    k: int

    def __post_init__(self) -> None:
        self.label = np.full(len(self.rows.x), -1, dtype=np.int32)
        self.sums, self.mass = self._zeros()

    def _zeros(self) -> tuple[Array, Array]:
        return np.zeros((self.k, self.rows.x.shape[1])), np.zeros(self.k)

    def means(self) -> tuple[Array, Array, int]:
        """Return means and weights, and how many centers without rows were repaired."""
        rows, n_empty = self.rows, 0
        least = 1e-9 * rows.weight.min(initial=np.inf)
        for k in np.flatnonzero(self.mass <= least):
            n_empty += 1
            row = self._farthest()
            before = self.label[row]
            amount = rows.weight[row] * (rows.x[row] - rows.origin)
            self.sums[before] -= amount
            self.mass[before] -= rows.weight[row]
            self.sums[k], self.mass[k] = amount, rows.weight[row]
            self.label[row] = k
            self._forget(row)
        return self.sums / self.mass[:, None] + rows.origin, self.mass.copy(), n_empty

    def _farthest(self) -> int:
        safe = np.where(self.mass > 0.0, self.mass, 1.0)
        centers = self.sums / safe[:, None] + self.rows.origin
        return int(np.square(self.rows.x - centers[self.label]).sum(axis=1).argmax())

    def _forget(self, row: int) -> None:
        """Drop what was known of a row whose center was taken away."""

    def exact(self, centers: Array, are_means: bool) -> tuple[Array, float]:
        """Return centers without the rounding of many steps, and the scatter around them."""
        rows = self.rows
        away = rows.x - centers[self.label]
        if are_means:
            mass = np.bincount(self.label, rows.weight, self.k)
            sums = [np.bincount(self.label, rows.weight * c, self.k) for c in away.T]
            shift = np.transpose(sums) / mass[:, None]
            centers = centers + shift
            away -= shift[self.label]
        return centers, float(rows.weight @ np.square(away).sum(axis=1))


class _PlainLabels(_Labels):
    """By products of all rows and all centers."""

    def assign(self, centers: Array) -> int:
        """Give each row its nearest center; return how many changed."""
        found = nearest(self.rows.x, centers)
        n_moved = int(np.count_nonzero(found != self.label))
        self.label = found.astype(np.int32)
        weight, away = self.rows.weight, self.rows.x - self.rows.origin
        self.mass = as_float(np.bincount(found, weight, self.k))
        self.sums = np.transpose([np.bincount(found, weight * c, self.k) for c in away.T])
        return n_moved


class _BoundedLabels(_Labels):
    """By bounds, and products in float32 where they cross."""

    def __post_init__(self) -> None:
        super().__post_init__()
        n = len(self.rows.x)
        self.upper, self.lower = np.full(n, np.inf), np.zeros(n)
        self.centers: Array | None = None

    def assign(self, centers: Array) -> int:
        """Give each row its nearest center; return how many changed."""
        x, scale = self.rows.single[0], self.rows.single[2]
        before = centers if self.centers is None else self.centers
        drift = np.sqrt(np.square(centers - before).sum(axis=1)) * SLACK
        most = np.argsort(drift)[::-1]
        reach = (int(most[0]), drift[most[0]], drift[most[1]] if self.k > 1 else 0.0)
        moved = (centers - self.rows.origin) * scale
        gap = squared_distances(centers, centers)
        np.fill_diagonal(gap, np.inf)
        look = _Look(
            centers,
            moved.astype(np.float32),
            (0.5 * np.square(moved).sum(axis=1)).astype(np.float32),
            float(np.sqrt(np.square(moved).sum(axis=1).max())),
            0.5 * np.sqrt(gap.min(axis=1)) / SLACK,
            drift,
            reach,
        )
        n_blocks = -(-len(x) // ROWS_AT_ONCE)
        found: list[Any] = [None] * n_blocks

        def work(start: int, stop: int) -> None:
            for block in range(start, stop):
                low = block * ROWS_AT_ONCE
                found[block] = self._block(look, low, min(low + ROWS_AT_ONCE, len(x)))

        in_parts(work, n_blocks, x.size * self.k)
        for change, mass, _ in found:
            self.sums += change
            self.mass += mass
        self.centers = centers
        return sum(part[2] for part in found)

    def _block(self, look: _Look, low: int, high: int) -> tuple[Array, Array, int]:
        """Look again at those rows of a block whose bounds cross."""
        (x, norm, scale), rows = self.rows.single, self.rows
        change, mass = self._zeros()
        if self.centers is None:
            open_rows = np.arange(low, high)
        else:
            open_rows = np.empty(high - low, dtype=np.intp)
            n_open = _loops().screen(
                rows.x,
                look.centers,
                (low, high),
                self.label,
                self.upper,
                self.lower,
                look.drift,
                look.reach,
                look.half_gap,
                open_rows,
            )
            open_rows = open_rows[:n_open]
        rounding = (x.shape[1] + 8) * float(np.finfo(np.float32).eps)
        units, n_moved = (scale, look.norm, rounding), 0
        size = min(max(256, _BLOCK // self.k), high - low)
        buffer = np.empty(self.k * size, dtype=np.float32)
        gathered = np.empty((size, x.shape[1]), dtype=np.float32)
        best, second = np.empty((2, size), dtype=np.float32)
        label = np.empty(size, dtype=np.int32)
        for start in range(0, len(open_rows), size):
            chosen = open_rows[start : start + size]
            m = len(chosen)
            product = buffer[: self.k * m].reshape(self.k, m)
            np.take(x, chosen, axis=0, out=gathered[:m], mode="clip")
            np.matmul(look.single, gathered[:m].T, out=product)
            _loops().two_least(product, look.half_norm, best[:m], second[:m], label[:m])
            n_moved += _loops().settle(
                rows.x,
                rows.weight,
                look.centers,
                rows.origin,
                chosen,
                norm,
                units,
                best[:m],
                second[:m],
                label[:m],
                self.label,
                self.upper,
                self.lower,
                change,
                mass,
            )
        return change, mass, n_moved

    def _forget(self, row: int) -> None:
        self.upper[row] = np.inf

    def exact(self, centers: Array, are_means: bool) -> tuple[Array, float]:
        """Return centers without the rounding of many steps, and the scatter around them."""
        rows = self.rows
        sums, mass = self._zeros()
        scatter = _loops().add_up(rows.x, rows.weight, centers, self.label, sums, mass)
        if are_means:
            shift = sums / mass[:, None]
            # About the means themselves the scatter is less by what they moved.
            scatter -= float(mass @ np.square(shift).sum(axis=1))
            centers = centers + shift
        return centers, float(scatter)


@dataclass(frozen=True, eq=False)
class _Look:
    """Centers as one pass over the rows needs them.

    Attributes
    ----------
    single, half_norm, norm
        From the origin and scaled, in float32; half their squares; the largest norm.
    half_gap
        Half the distance from each to the next.
    drift, reach
        How far each has moved; which most, how far, and how far the next.
    """

    centers: Array
    single: NDArray[np.float32]
    half_norm: NDArray[np.float32]
    norm: float
    half_gap: Array
    drift: Array
    reach: tuple[int, float, float] = field(default=(0, 0.0, 0.0))


@cache
def _loops() -> ModuleType:
    return importlib.import_module("credo.numerics.linear._loops_clustering")

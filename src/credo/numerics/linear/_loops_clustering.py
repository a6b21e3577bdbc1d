"""Loops of k-means: the two nearest centers of many rows, and bounds that save the search.

Rows are measured from an origin near them. Products come in float32, centers and sums are
float64; whatever float32 cannot tell apart is looked at again in float64.
"""

import math

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["add_up", "screen", "seed_gaps", "settle", "single", "two_least"]

Single = NDArray[np.float32]
Index = NDArray[np.intp]
Label = NDArray[np.int32]

LANES = {"contract", "nsz", "nnan"}


@compiled()
def single(x: Array, origin: Array, scale: float, out: Single, norm: Array) -> None:
    """Set rows in float32, from the origin and in units of the scale, and their squares."""
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            step = (x[i, j] - origin[j]) * scale
            out[i, j] = step
            total += step * step
        norm[i] = total


@compiled(fastmath=LANES)
def two_least(
    product: Single, half: Single, best: Single, second: Single, label: Label
) -> None:
    """Set the least and second least of ``half_k - product_kj`` over k, and where it is.

    Two centers are taken at a time, since moving the answers costs as much as comparing.
    """
    n, m = product.shape
    for j in range(m):
        best[j] = np.inf
        second[j] = np.inf
        label[j] = 0
    for k in range(0, n, 2):
        # The last of an odd number stands beside itself, never to be second.
        other = min(k + 1, n - 1)
        h, g, row, line = half[k], half[other], product[k], product[other]
        rest = np.float32(np.inf) if other == k else np.float32(0.0)
        for j in range(m):
            s, r = h - row[j], g - line[j] + rest
            b, t = best[j], second[j]
            low = s if s <= r else r
            high = r if s <= r else s
            own = np.int32(k) if s <= r else np.int32(other)
            worse = low if low > b else b
            worse = worse if worse < high else high
            second[j] = worse if worse < t else t
            label[j] = own if low < b else label[j]
            best[j] = low if low < b else b


@compiled()
def screen(
    x: Array,
    centers: Array,
    part: tuple[int, int],
    label: Label,
    upper: Array,
    lower: Array,
    drift: Array,
    reach: tuple[int, float, float],
    half_gap: Array,
    found: Index,
) -> int:
    """Move the bounds by how far centers went; return how many rows must be looked at again.

    A row stays where it is if its distance from its center is less than the lower bound on
    any other, or than half the gap from its center to the next [hamerly2010]_.
    """
    first, most, next_most = reach
    n = 0
    for i in range(part[0], part[1]):
        own = label[i]
        lower[i] -= next_most if own == first else most
        bound = max(lower[i], half_gap[own])
        upper[i] += drift[own]
        if upper[i] < bound:
            continue
        total = 0.0
        for j in range(x.shape[1]):
            step = x[i, j] - centers[own, j]
            total += step * step
        upper[i] = math.sqrt(total)
        if upper[i] < bound:
            continue
        found[n] = i
        n += 1
    return n


@compiled_part()
def _nearest_two(x: Array, centers: Array, i: int) -> tuple[int, float, float]:
    """Return the nearest center of a row, the first of equals, and two squared distances."""
    best, second, own = math.inf, math.inf, 0
    for k in range(centers.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            step = x[i, j] - centers[k, j]
            total += step * step
        if total < best:
            best, second, own = total, best, k
        elif total < second:
            second = total
    return own, best, second


@compiled()
def settle(
    x: Array,
    weight: Array,
    centers: Array,
    origin: Array,
    rows: Index,
    norm: Array,
    units: tuple[float, float, float],
    best: Single,
    second: Single,
    found: Label,
    label: Label,
    upper: Array,
    lower: Array,
    change: Array,
    mass: Array,
) -> int:
    """Set labels and bounds of rows from float32 scores; return how many labels changed.

    Parameters
    ----------
    norm
        Squares of all rows, in units of the scale.
    units
        Scale, the largest norm of a center in units of it, and relative rounding.
    change, mass
        Sums of rows, less the origin, and of weights that come to each center or leave it.
    """
    scale, reach, rounding = units
    n = 0
    for place in range(rows.shape[0]):
        i = rows[place]
        doubt = rounding * (math.sqrt(norm[i]) + reach) * reach
        if second[place] - best[place] > 2.0 * doubt:
            own = found[place]
            near = max(norm[i] + 2.0 * best[place] + 2.0 * doubt, 0.0)
            far = max(norm[i] + 2.0 * second[place] - 2.0 * doubt, 0.0)
            upper[i], lower[i] = math.sqrt(near) / scale, math.sqrt(far) / scale
        else:
            own, near, far = _nearest_two(x, centers, i)
            upper[i], lower[i] = math.sqrt(near), math.sqrt(far)
        before = label[i]
        if own == before:
            continue
        n += 1
        label[i] = own
        mass[own] += weight[i]
        if before >= 0:
            mass[before] -= weight[i]
        for j in range(x.shape[1]):
            amount = weight[i] * (x[i, j] - origin[j])
            change[own, j] += amount
            if before >= 0:
                change[before, j] -= amount
    return n


@compiled()
def add_up(
    x: Array, weight: Array, centers: Array, label: Label, total: Array, mass: Array
) -> float:
    """Add rows, less their center, and weights by label; return the sum of squares."""
    scatter = 0.0
    for i in range(x.shape[0]):
        k, square = label[i], 0.0
        mass[k] += weight[i]
        for j in range(x.shape[1]):
            step = x[i, j] - centers[k, j]
            total[k, j] += weight[i] * step
            square += step * step
        scatter += weight[i] * square
    return scatter


@compiled(fastmath=LANES | {"reassoc"})
def seed_gaps(
    product: Single,
    norm: Array,
    own_norm: Array,
    weight: Array,
    gap: Array,
    out: Array,
    total: Array,
) -> None:
    """Set the gaps that each candidate would leave, ``out`` (T, m), and add up their weight.

    Parameters
    ----------
    product
        Inner products of candidates and rows, shape (T, m).
    norm, own_norm
        Squares of rows and of candidates.
    gap
        Squared distance of each row from the seeds so far.
    """
    for t in range(product.shape[0]):
        own, whole = own_norm[t], 0.0
        for j in range(product.shape[1]):
            s = norm[j] + own - 2.0 * product[t, j]
            # What float32 cannot tell from nothing is nothing: copies of a seed are no seeds.
            s = s if s > 4e-6 * (norm[j] + own) else 0.0
            s = s if s < gap[j] else gap[j]
            out[t, j] = s
            whole += weight[j] * s
        total[t] += whole

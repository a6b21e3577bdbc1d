"""The plane of largest margin between rows of two signs, with a normal of length one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from credo.numerics.array import Array, as_float
from credo.numerics.optimize.quadratic_program import QuadraticProgram

__all__ = ["MarginPlane", "maximum_margin_plane"]

_APART = 1e-13
_MOST_AXES = 2
_MOST_TURNS = 50


@dataclass(frozen=True, eq=False)
class MarginPlane:
    """The plane ``normal . x + offset = 0``, and how far the nearest rows are from it.

    Attributes
    ----------
    normal
        Of length one, shape (d,).
    offset
        Signed distance of the origin.
    margin
        Least of ``sign (normal . x + offset)``; if negative, the rows overlap by as much.
    multipliers
        One per row, 0 or more and of sum one, half of it for each sign; positive only for rows
        at the margin. ``margin * normal`` is ``sum_i multiplier_i sign_i x_i``.
    """

    normal: Array
    offset: float
    margin: float
    multipliers: Array


def maximum_margin_plane(X: ArrayLike, sign: ArrayLike) -> MarginPlane:
    """Return the plane that maximizes m where ``sign_i (w . x_i + c) >= m`` and ``|w| = 1``.

    The canonical form, least ``|v|`` where ``sign_i (v . x_i + c) >= 1``, has the same plane
    with ``m = 1 / |v|``. This one also has an answer where no plane parts the rows.

    Parameters
    ----------
    X
        Rows, shape (n, d).
    sign
        1 or -1 for each row, both present, shape (n,).

    Notes
    -----
    Another length of w makes the multiplier of its length one half, which leaves a quadratic
    program: least ``|w|^2 / 2 - m`` where ``sign_i (w . x_i + c) >= m``. If the rows overlap,
    its solution is zero, and no convex program is left. Linear programs, in which ``w . w_last
    = 1`` stands for the length, then lower the overlap by turns until it rests, from several
    starts: what is found is an overlap that no small turn lowers.

    Examples
    --------
    >>> plane = maximum_margin_plane([[0, 0], [1, 0], [3, 0], [3, 2]], [-1, -1, 1, 1])
    >>> plane.normal.round(6) + 0.0, round(plane.offset, 6), round(plane.margin, 6)
    (array([1., 0.]), -2.0, 1.0)
    >>> round(maximum_margin_plane([[0.0], [2.0], [1.5], [4.0]], [-1, -1, 1, 1]).margin, 6)
    -0.25
    """
    rows, signs = _checked(X, sign)
    center = rows.mean(axis=0)
    moved = rows - center
    scale = float(np.abs(moved).max()) or 1.0
    moved = moved / scale
    turn = np.eye(moved.shape[1])
    if moved.shape[1] > len(moved):
        turn, triangle = np.linalg.qr(moved.T)
        moved = triangle.T
    plane = _apart(moved, signs)
    if plane.margin <= _APART:
        plane = max((_turned(moved, signs, w) for w in _starts(moved, signs)), key=_margin)
    normal = turn @ plane.normal
    offset = float(scale * plane.offset - normal @ center)
    return MarginPlane(normal, offset, scale * plane.margin, plane.multipliers)


def _checked(X: ArrayLike, sign: ArrayLike) -> tuple[Array, Array]:
    rows, signs = as_float(X), as_float(sign)
    if rows.ndim != 2 or signs.shape != rows.shape[:1]:
        raise ValueError(
            "X must have shape (n, d) and sign (n,); found "
            f"{rows.shape} and {signs.shape}. Pass one sign per row."
        )
    if not np.isfinite(rows).all():
        raise ValueError(
            f"X must be finite; found {rows[~np.isfinite(rows)][0]}. Fill gaps, or leave out "
            "those rows."
        )
    if set(np.unique(signs)) != {-1.0, 1.0}:
        raise ValueError(
            "sign must hold 1 and -1, both of them, and nothing else; found "
            f"{np.unique(signs)[:5].tolist()}. Code the two classes so."
        )
    return rows, signs


def _margin(plane: MarginPlane) -> float:
    return plane.margin


def _apart(rows: Array, signs: Array) -> MarginPlane:
    """Return the best plane of rows that one parts; of others, one of no meaning."""
    d = rows.shape[1]
    curvature = np.diag(np.repeat([1.0, 0.0], [d, 2]))
    slope = np.append(np.zeros(d + 1), -1.0)
    found = QuadraticProgram(curvature, slope, inequalities=_sides(rows, signs)).minimum()
    return _plane(rows, signs, found.x[:d], found.multipliers.inequality)


def _turned(rows: Array, signs: Array, normal: Array) -> MarginPlane:
    """Return the plane to which linear programs turn a first one until it rests."""
    d = rows.shape[1]
    slope = np.append(np.zeros(d + 1), -1.0)
    plane = _plane(rows, signs, normal, np.zeros(len(rows)))
    for _ in range(_MOST_TURNS):
        length = np.append(plane.normal, [0.0, 0.0])[None], [1.0]
        program = QuadraticProgram(np.zeros((d + 2, d + 2)), slope, length, _sides(rows, signs))
        found = program.minimum()
        before = plane
        plane = _plane(rows, signs, found.x[:d], found.multipliers.inequality)
        if plane.margin <= before.margin + _APART:
            break
    return plane


def _sides(rows: Array, signs: Array) -> tuple[Array, Array]:
    """Return ``m - sign_i (w . x_i + c) <= 0`` as rows in (w, c, m)."""
    signed = signs[:, None] * np.column_stack([rows, np.ones(len(rows))])
    return np.column_stack([-signed, np.ones(len(rows))]), np.zeros(len(rows))


def _plane(rows: Array, signs: Array, w: Array, multipliers: Array) -> MarginPlane:
    """Return the plane across ``w`` halfway between the nearest rows of each sign."""
    normal = w / (np.linalg.norm(w) or 1.0)
    scores = rows @ normal
    high, low = scores[signs > 0].min(), scores[signs < 0].max()
    return MarginPlane(
        normal, float(-0.5 * (high + low)), float(0.5 * (high - low)), multipliers
    )


def _starts(rows: Array, signs: Array) -> list[Array]:
    """Return the way from mean to mean, plain and by the spread, and the thinnest axes."""
    apart = rows[signs > 0].mean(axis=0) - rows[signs < 0].mean(axis=0)
    within = rows - np.where(signs[:, None] > 0, 0.5, -0.5) * apart
    _, sizes, axes = np.linalg.svd(within, full_matrices=False)
    floor = 1e-6 * float(sizes.max()) or 1.0
    spread = axes.T @ ((axes @ apart) / np.maximum(sizes, floor) ** 2)
    thin = axes[::-1][:_MOST_AXES]
    starts = [apart, spread, *thin, *-thin]
    return [start / np.linalg.norm(start) for start in starts if start.any()]

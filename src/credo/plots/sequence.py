"""Pictures of hidden states: ribbons along a series, trellises, transitions, durations."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.numerics.array import Array
from credo.plots.drawing import COLORS
from credo.plots.style import GRAY, INK, axes_of, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["duration_histogram", "state_ribbon", "transition_graph", "trellis"]

LEAST_SHARE = 0.005
"""Probability of a transition from which it is drawn."""

FAINT = 0.12


def state_ribbon(
    proba: ArrayLike, values: ArrayLike | None = None, time: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw the probability of each state along a series, and the series itself above it.

    Parameters
    ----------
    proba
        Probability of each state for each row, shape (n, K), as
        `HiddenMarkov.predict_proba` gives.
    values
        The series, shape (n,).
    time
        When rows were seen; their numbers by default.
    """
    share = _shares(proba)
    n, k = share.shape
    at = np.arange(n) if time is None else np.asarray(time)
    ax = axes_of(ax)
    ax.stackplot(
        at,
        share.T,
        colors=[_color(state) for state in range(k)],
        labels=[f"state {state}" for state in range(k)],
        alpha=0.45 if values is not None else 0.9,
        step="mid",
        linewidth=0,
    )
    ax.set_ylim(0.0, 1.0)
    ax.set_xlim(at[0], at[-1])
    ax.set_ylabel("probability of the state")
    if values is not None:
        series: Any = ax.twinx()
        series.plot(at, np.asarray(values, dtype=np.float64), color=INK, linewidth=1.2)
        series.set_ylabel("value")
        series.spines["top"].set_visible(False)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=min(k, 5), frameon=False)
    return tidy(ax)


def trellis(proba: ArrayLike, path: ArrayLike | None = None, ax: Axes | None = None) -> Axes:
    """Draw states over steps: the darker a place the more probable, and a path through them.

    Parameters
    ----------
    proba
        Probability of each state for each row, shape (n, K); few rows are best.
    path
        A state for each row, as `HiddenMarkov.decode` gives.
    """
    share = _shares(proba)
    n, k = share.shape
    ax = axes_of(ax)
    for state in range(k):
        for row in range(n - 1):
            for other in range(k):
                ax.plot([row, row + 1], [state, other], color=GRAY, alpha=FAINT, linewidth=0.8)
    places = [(row, state) for row in range(n) for state in range(k)]
    ax.scatter(
        [row for row, _ in places],
        [state for _, state in places],
        s=40.0 + 160.0 * share.ravel(),
        c=[(*_rgb(state), 0.1 + 0.9 * float(share[row, state])) for row, state in places],
        edgecolors=INK,
        linewidths=0.6,
        zorder=3,
    )
    if path is not None:
        states = _states(path, n, k)
        ax.plot(np.arange(n), states, color=INK, linewidth=2.0, zorder=2)
    ax.set_yticks(range(k), [f"state {s}" for s in range(k)])
    ax.set_ylim(k - 0.5, -0.5)
    ax.set_xlabel("row")
    return tidy(ax)


def transition_graph(transition: ArrayLike, names: Any = None, ax: Axes | None = None) -> Axes:
    """Draw states on a circle and their transitions as arrows, the wider the more probable.

    Parameters
    ----------
    transition
        Probabilities of the next state, shape (K, K).
    names
        What states are called; their numbers by default.
    """
    table = np.asarray(transition, dtype=np.float64)
    k = len(table)
    if table.shape != (k, k) or k < 1:
        raise ValueError(
            f"transition must be a square table; found the shape {table.shape}. Pass "
            "model.transition_."
        )
    labels = [str(state) for state in range(k)] if names is None else [str(n) for n in names]
    ax = axes_of(ax)
    angle = 0.5 * np.pi - 2.0 * np.pi * np.arange(k) / k
    place = np.column_stack([np.cos(angle), np.sin(angle)]) if k > 1 else np.zeros((1, 2))
    for i in range(k):
        for j in range(k):
            if i != j and table[i, j] >= LEAST_SHARE:
                _arrow(ax, place[i], place[j], table[i, j], _color(i))
        side = int(np.sign(np.round(place[i, 0], 6)))
        across, up = (float(value) for value in place[i])
        away = 0.0 if side else 0.27 * (up or 1.0)
        ax.text(
            across + 0.27 * side,
            up + away,
            f"stays {table[i, i]:.2f}",
            ha=("center", "left", "right")[side],
            va="center",
            fontsize=9,
        )
        ax.scatter([across], [up], s=900, color=_color(i), zorder=3)
        ax.text(
            across,
            up,
            labels[i],
            color="white",
            ha="center",
            va="center",
            zorder=4,
            weight="bold",
        )
    ax.set_xlim(-2.0, 2.0)
    ax.set_ylim(-1.6, 1.6)
    ax.set_aspect("equal")
    ax.axis("off")
    return ax


def _arrow(ax: Axes, start: Array, end: Array, share: float, color: str) -> None:
    ax.annotate(
        "",
        xy=tuple(end),
        xytext=tuple(start),
        arrowprops={
            "arrowstyle": "-|>",
            "color": color,
            "linewidth": 0.8 + 5.0 * share,
            "shrinkA": 18,
            "shrinkB": 18,
            "connectionstyle": "arc3,rad=0.18",
        },
    )
    along, across = end - start, np.array([end[1] - start[1], start[0] - end[0]])
    x, y = start + 0.5 * along + 0.2 * across
    ax.text(float(x), float(y), f"{share:.2f}", ha="center", fontsize=9)


def duration_histogram(
    path: ArrayLike,
    transition: ArrayLike,
    lengths: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how long states lasted along paths, beside what the transitions say.

    Stays that begin or end with their sequence are cut, and left out. Lines are geometric, as
    stays of a Markov chain are.

    Parameters
    ----------
    path
        A state for each row, shape (n,).
    transition
        Probabilities of the next state, shape (K, K).
    lengths
        Rows of each sequence; None for a single one.
    """
    table = np.asarray(transition, dtype=np.float64)
    states = _states(path, np.size(path), len(table))
    ends = np.cumsum([0, *(np.ravel(lengths) if lengths is not None else [len(states)])])
    ax = axes_of(ax)
    stays: list[tuple[int, int]] = []
    for low, high in pairwise(ends.tolist()):
        own = states[low:high]
        edge = np.flatnonzero(np.diff(own)) + 1
        stays += [(int(own[a]), int(b - a)) for a, b in pairwise(edge.tolist())]
    most = max((length for _, length in stays), default=1)
    length = np.arange(1, most + 1)
    for state in range(len(table)):
        own_stays = [size for s, size in stays if s == state]
        count = np.bincount(own_stays, minlength=most + 1)[1:]
        share = count / max(len(own_stays), 1)
        width = 0.8 / len(table)
        ax.bar(
            length + (state - 0.5 * (len(table) - 1)) * width,
            share,
            width=width,
            color=_color(state),
            alpha=0.6,
            label=f"state {state}, {len(own_stays)} stays",
        )
        stay = table[state, state]
        ax.plot(length, (1.0 - stay) * stay ** (length - 1), color=_color(state), linewidth=1.5)
    ax.set_xlabel("rows in a row")
    ax.set_ylabel("share of stays")
    ax.legend(frameon=False)
    return tidy(ax)


def _color(state: int) -> str:
    return COLORS[state % len(COLORS)]


def _rgb(state: int) -> tuple[float, float, float]:
    code = _color(state).lstrip("#")
    red, green, blue = (int(code[i : i + 2], 16) / 255.0 for i in (0, 2, 4))
    return red, green, blue


def _shares(proba: ArrayLike) -> Array:
    share = np.asarray(proba, dtype=np.float64)
    if share.ndim != 2 or not len(share) or not np.allclose(share.sum(axis=1), 1.0, atol=1e-6):
        raise ValueError(
            "proba must hold a probability of each state for each row, which sum to one; found "
            f"the shape {share.shape}. Pass model.predict_proba(X)."
        )
    return share


def _states(path: ArrayLike, n: int, k: int) -> NDArray[np.intp]:
    states = np.asarray(path, dtype=np.intp)
    if states.shape != (n,) or not n or states.min() < 0 or states.max() >= k:
        raise ValueError(
            f"path must be a state from 0 to {k - 1} for each row; found the shape "
            f"{states.shape}. Pass model.decode(X)."
        )
    return states

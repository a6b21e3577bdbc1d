"""Weights of a linear model with their intervals."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.plots.style import BLUE, GRAY, INK, axes_of, shortened, tidy

__all__ = ["weights"]

SPREAD = 50.0

Order = Literal["certainty", "size"]


def weights(
    table: pd.DataFrame, ax: Axes | None = None, n_terms: int = 15, order: Order = "certainty"
) -> Axes:
    """Draw the weights that matter most, each with its interval.

    Intervals that hold zero are gray: their sign is not known. Where weights differ by more
    than a page can show, the axis is logarithmic away from zero, and says so.

    Parameters
    ----------
    table
        One row for each term, with "mean", "sd", "low" and "high", as
        `LinearRegression.coefficients` gives.
    n_terms
        How many terms to show at most, the first in their order.
    order
        "certainty" puts the largest ``|mean| / sd`` first, which is fair where terms have
        units of their own; "size" the largest ``|mean|``, for terms in the same unit.
    """
    ax = axes_of(ax)
    missing = [name for name in ("mean", "sd", "low", "high") if name not in table]
    if missing or table.empty:
        raise ValueError(
            f"table must have rows, and columns mean, sd, low and high; found {len(table)} "
            f"rows with {list(table.columns)}. Pass model.coefficients()."
        )
    if order not in get_args(Order):
        raise ValueError(f'order must be "certainty" or "size"; found {order!r}.')
    shown = table.iloc[_places(table, order)[:n_terms]]
    mean, low, high = (
        shown[name].to_numpy(dtype=np.float64) for name in ("mean", "low", "high")
    )
    y = np.arange(len(shown))
    colors = np.where((low < 0) & (high > 0), GRAY, BLUE).tolist()
    ax.axvline(0.0, color=INK, lw=1.0)
    ax.hlines(y, low, high, colors=colors, lw=2.2)
    ax.scatter(mean, y, c=colors, s=26, zorder=3)
    ax.set_yticks(y, [shortened(str(name)) for name in shown.index], parse_math=False)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    tidy(ax, _scaled(ax, np.maximum(np.abs(low), np.abs(high))))
    ax.grid(axis="x", color=GRAY, alpha=0.25, lw=0.6)
    if len(shown) < len(table):
        ax.set_title(f"{len(shown)} of {len(table)} weights", fontsize="medium", loc="left")
    return ax


def _places(table: pd.DataFrame, order: Order) -> NDArray[np.intp]:
    mean, sd = table["mean"].to_numpy(np.float64), table["sd"].to_numpy(np.float64)
    if order == "size":
        return np.argsort(-np.abs(mean), kind="stable")
    with np.errstate(divide="ignore", invalid="ignore"):
        certainty = np.where(mean == 0, 0.0, np.abs(mean) / sd)
    return np.argsort(-certainty, kind="stable")


def _scaled(ax: Axes, reach: Array) -> str:
    """Compress the axis if the ends differ too much, and return its label."""
    seen = reach[reach > 0]
    if not len(seen) or seen.max() <= SPREAD * np.median(seen):
        return "weight"
    linear = max(float(seen.min()), 1e-6 * float(seen.max()))
    ax.set_xscale("symlog", linthresh=linear)
    ax.xaxis.set_major_locator(FixedLocator(_decades(linear, float(seen.max()))))
    ax.margins(x=0.08)
    return "weight (logarithmic away from zero)"


def _decades(linear: float, largest: float) -> list[float]:
    """Return zero and powers of ten on both sides, few enough to be read."""
    top = int(np.floor(np.log10(largest)))
    n_decades = top - np.log10(linear)
    step = max(1, int(np.ceil(n_decades / 2)))
    powers = [10.0 ** (top - k * step) for k in range(2) if k * step < n_decades - 0.5 * step]
    return [-power for power in powers] + [0.0] + powers[::-1]

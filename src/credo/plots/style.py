"""The few colors and habits that all figures share.

The colors are those of Okabe and Ito, which people with any common color vision tell apart.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "BLUE",
    "GRAY",
    "INK",
    "ORANGE",
    "axes_of",
    "legend_above",
    "percent",
    "shortened",
    "tidy",
]

BLUE = "#0072B2"
ORANGE = "#D55E00"
GRAY = "#8A8F98"
INK = "#2B2F36"

ROUNDING = 1e-12
"""A share that is closer to one than this is one."""


def axes_of(ax: Axes | None) -> Axes:
    """Return the axes to draw on: those given, or the current ones of pyplot if None."""
    if ax is not None:
        return ax
    # Only here: a program that passes axes of its own never loads pyplot.
    current: Axes = import_module("matplotlib.pyplot").gca()
    return current


def tidy(ax: Axes, x: str = "", y: str = "") -> Axes:
    """Name the axes and remove the lines that carry nothing."""
    if x:
        ax.set_xlabel(x)
    if y:
        ax.set_ylabel(y)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    return ax


def legend_above(ax: Axes, n_columns: int = 3) -> None:
    """Put the legend over the axes, where it hides no data."""
    ax.legend(
        frameon=False,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=n_columns,
        fontsize="small",
        borderaxespad=0.2,
        columnspacing=1.4,
        handlelength=1.5,
    )


def percent(share: float) -> str:
    """Return a probability in percent, with as many digits as it needs.

    Examples
    --------
    >>> percent(0.9), percent(0.995), percent(0.0466), percent(0.0004), percent(0.9998)
    ('90 %', '99.5 %', '4.7 %', '< 0.1 %', '> 99.9 %')
    """
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.9995 <= share < 1 - ROUNDING:
        return "> 99.9 %"
    return f"{100 * share:.{3 if share > 0.1 else 2}g} %"


def shortened(name: str, length: int = 28) -> str:
    """Return a name that fits beside an axis, its middle left out if it is long.

    Examples
    --------
    >>> shortened("coarse_aggregate_density_kg_per_m3", 20)
    'coarse_aggre…_per_m3'
    """
    if len(name) <= length:
        return name
    tail = (length - 1) * 2 // 5
    return f"{name[: length - 1 - tail]}…{name[len(name) - tail :]}"

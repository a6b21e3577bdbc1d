"""A node that is a real number: its name, a small density, and mean and standard deviation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from credo.distributions.empirical import Empirical
from credo.distributions.univariate import Univariate
from credo.plots.card import (
    PAD,
    ROW,
    ROW_SIZE,
    TITLE,
    Box,
    draw_frame,
    text_width,
    title_width,
    write,
)
from credo.plots.style import BLUE, GRAY, ORANGE

__all__ = ["CurveCard", "ValueCard", "mean_and_sd"]

CURVE_HEIGHT = 0.42
CURVE_WIDTH = 1.15
N_POINTS = 121
TAIL = 2e-3
N_BINS = 30


@dataclass(frozen=True, eq=False)
class CurveCard:
    """A real variable and its density.

    Attributes
    ----------
    name
        Of the variable.
    distribution
        What is believed of it.
    mark
        A word in the corner; empty if there is nothing to mark.
    """

    name: str
    distribution: Univariate
    mark: str = ""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        return _size(self.name, self.mark, self._caption)

    @property
    def _caption(self) -> str:
        return mean_and_sd(float(self.distribution.mean()), float(self.distribution.std()))

    def draw(self, ax: Axes, box: Box) -> None:
        """Draw frame, density, and mean ± standard deviation."""
        draw_frame(ax, box, self.name, self.mark)
        left, width, base = _plot_area(box)
        x, height = self._curve()
        across = left + width * (x - x[0]) / (x[-1] - x[0])
        up = base - 0.92 * CURVE_HEIGHT * height / height.max()
        color = ORANGE if self.mark else BLUE
        ax.fill_between(across, up, base, color=color, alpha=0.2, lw=0, zorder=3.5)
        ax.plot(across, up, color=color, lw=1.1, zorder=3.6)
        ax.plot([left, left + width], [base, base], color=GRAY, lw=0.6, zorder=3.6)
        write(
            ax, box[0] + box[2] / 2, base + ROW / 2 + 0.01, self._caption, ha="center", zorder=4
        )

    def _curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        low, high = (float(q) for q in self.distribution.quantile(np.array([TAIL, 1 - TAIL])))
        if isinstance(self.distribution, Empirical):
            return _frequencies(self.distribution, low, high)
        x = np.linspace(low, high, N_POINTS)
        log_height = np.asarray(self.distribution.log_prob(x), dtype=float)
        is_finite = np.isfinite(log_height)
        if not (high > low and is_finite.any()):
            return _spike()
        # Relative to the top, for a density itself may be too large for a number.
        top = log_height[is_finite].max()
        return x, np.exp(np.where(is_finite, log_height - top, -np.inf))


@dataclass(frozen=True)
class ValueCard:
    """A real variable whose value is given."""

    name: str
    value: float
    mark: str = "given"

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        return _size(self.name, self.mark, f"{self.value:.6g}")

    def draw(self, ax: Axes, box: Box) -> None:
        """Draw frame, a line at the value, and the value."""
        draw_frame(ax, box, self.name, self.mark)
        left, width, base = _plot_area(box)
        middle = left + width / 2
        ax.plot([left, left + width], [base, base], color=GRAY, lw=0.6, zorder=3.6)
        ax.plot(
            [middle, middle],
            [base, base - 0.9 * CURVE_HEIGHT],
            color=ORANGE,
            lw=2.2,
            zorder=3.6,
        )
        write(ax, middle, base + ROW / 2 + 0.01, f"{self.value:.6g}", ha="center", zorder=4)


def mean_and_sd(mean: float, sd: float) -> str:
    """Return a mean and a standard deviation, with the digits that the latter leaves sure.

    Examples
    --------
    >>> mean_and_sd(835.512, 412.3), mean_and_sd(1.7, 0.1), mean_and_sd(3e-7, 2.1e-8)
    ('836 ± 412', '1.70 ± 0.10', '3e-07 ± 2.1e-08')
    """
    if not (1e-5 < sd < 1e7 and abs(mean) < 1e7):
        return f"{mean:.4g} ± {sd:.2g}"
    n_decimals = max(0, 1 - math.floor(math.log10(sd)))
    return f"{mean:.{n_decimals}f} ± {sd:.{n_decimals}f}"


def _spike() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a line, for a density narrower than numbers near its mean are apart."""
    height = np.zeros(N_POINTS)
    height[N_POINTS // 2] = 1.0
    return np.linspace(-1.0, 1.0, N_POINTS), height


def _frequencies(
    drawn: Empirical, low: float, high: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the outline of a histogram of draws."""
    if high <= low:
        low, high = low - 0.5, high + 0.5
    count, edges = np.histogram(drawn.draws, N_BINS, (low, high), weights=drawn.weights)
    return np.repeat(edges, 2)[1:-1], np.repeat(count, 2).astype(float)


def _size(name: str, mark: str, caption: str) -> tuple[float, float]:
    inside = max(CURVE_WIDTH, text_width(caption, ROW_SIZE)) + 2 * PAD
    height = TITLE + 0.6 * PAD + CURVE_HEIGHT + ROW + 0.3 * PAD
    return max(inside, title_width(name, mark)), height


def _plot_area(box: Box) -> tuple[float, float, float]:
    """Return left end, width and base line of the density."""
    left, top, width, _ = box
    return left + PAD, width - 2 * PAD, top + TITLE + 0.6 * PAD + CURVE_HEIGHT

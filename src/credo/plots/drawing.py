"""Pictures as values: the numbers that they show, and how these are drawn.

Whoever has a model or a table makes the numbers; they can then be drawn by a process that has
neither. Nothing here loads more than NumPy, and matplotlib comes with the axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from credo.numerics.array import Array
from credo.plots.style import BLUE, GRAY, INK, ORANGE, legend_above, percent, shortened, tidy
from credo.plots.wording import probability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "COLORS",
    "Confusions",
    "CoverageLine",
    "Curve",
    "DensityCurves",
    "DensityMap",
    "Dependence",
    "DependenceLine",
    "Drawing",
    "ExpectedLosses",
    "LogScores",
    "Predictions",
    "RankHistogram",
    "RankedCurve",
    "Relevances",
    "Reliability",
    "Residuals",
    "RocCurves",
    "Shares",
    "Surface",
    "Weights",
    "curve_legend",
    "dressed",
    "percent_axes",
]

# Okabe and Ito's other colors, in an order in which neighbors differ most.
COLORS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

# Of regions that hold ever fewer of the rows, from the outermost.
SHADES = ("#EEF1F4", "#DCE2E8", "#C6CFD8")

N_SHOWN = 1000
# More letters do not fit side by side below the axes.
MAX_LETTERS = 32
SPREAD = 50.0
# Share of the height that the histogram may fill, below the curve.
HISTOGRAM_HEIGHT = 0.18
# Beyond so many classes intervals, and then numbers, no longer fit into cells.
MOST_INTERVALS, MOST_NUMBERS = 6, 15
# Thresholds closer than this have labels at different heights.
NEAR = 0.12


class Drawing(Protocol):
    """Something that can be drawn."""

    def draw(self, ax: Axes) -> Axes:
        """Draw on the axes, and return them."""
        ...


@dataclass(frozen=True, eq=False)
class Shares:
    """A bar for each share, the largest in blue, in the given order.

    Attributes
    ----------
    labels
        What each is called; a second line may say more.
    shares
        Between 0 and 1.
    title
        What the shares are.
    """

    labels: tuple[str, ...]
    shares: Array
    title: str

    def draw(self, ax: Axes) -> Axes:
        """Draw the bars, each with its share beside it."""
        y = np.arange(len(self.shares))
        colors = [BLUE if share == self.shares.max() else GRAY for share in self.shares]
        ax.barh(y, self.shares, height=0.6, color=colors, alpha=0.75)
        for row, share in enumerate(self.shares):
            ax.text(share + 0.015, row, probability(share), va="center", color=INK)
        ax.set_yticks(y, self.labels, linespacing=1.4, parse_math=False)
        ax.invert_yaxis()
        ax.set_xlim(0, 1.14)
        ax.set_xticks(np.linspace(0, 1, 5))
        return tidy(ax, self.title)


@dataclass(frozen=True, eq=False)
class LogScores:
    """Log scores of models on test rows and in cross-validation, with standard errors."""

    names: tuple[str, ...]
    test: Array
    test_error: Array
    cv: Array
    cv_error: Array

    def draw(self, ax: Axes) -> Axes:
        """Draw two dots with bars for each model, the first at the top."""
        place = np.arange(len(self.names))[::-1]
        for shift, color, label, value, error in (
            (0.12, BLUE, "test rows", self.test, self.test_error),
            (-0.12, ORANGE, "cross-validation", self.cv, self.cv_error),
        ):
            ax.errorbar(value, place + shift, xerr=error, fmt="o", color=color, label=label)
        ax.set_yticks(place, self.names)
        ax.grid(axis="x", alpha=0.3)
        ax.legend(frameon=False)
        return tidy(ax, "mean log score per row")


class DependenceLine(NamedTuple):
    """What is predicted along a column, and the doubt about it if it is known."""

    label: str
    y: Array
    band: Array | None = None


@dataclass(frozen=True, eq=False)
class Dependence:
    """Predictions along the values of one column, all others held (partial dependence).

    Attributes
    ----------
    title
        The column.
    x
        Its values, or the places of its levels.
    ticks
        Names of the places, if these are levels or few numbers.
    lines
        One for each thing predicted.
    limits
        Ends of the vertical axis; None to fit them.
    has_legend
        Whether the lines are named above the axes.
    """

    title: str
    x: Array
    ticks: tuple[str, ...]
    lines: tuple[DependenceLine, ...]
    limits: tuple[float, float] | None
    has_legend: bool = False

    def draw(self, ax: Axes) -> Axes:
        """Draw lines with their bands, or dots where there are levels."""
        style = "o" if self.ticks else "-"
        for color, (label, y, band) in zip(COLORS, self.lines, strict=False):
            if band is not None and self.ticks:
                ax.vlines(self.x, *band.T, color=color, lw=2.2, alpha=0.5)
            elif band is not None:
                ax.fill_between(self.x, *band.T, color=color, alpha=0.25, lw=0)
            ax.plot(self.x, y, style, color=color, lw=1.8, label=shortened(label, 14))
        if self.ticks:
            names = [shortened(tick, 12) for tick in self.ticks]
            is_tight = len("".join(names)) > MAX_LETTERS
            ax.set_xticks(self.x, names, rotation=90 if is_tight else 0)
            ax.margins(x=0.25)
        if self.limits is not None:
            ax.set_ylim(*self.limits)
        ax.tick_params(colors=INK)
        if self.has_legend:
            legend_above(ax)
        return tidy(ax, shortened(self.title, 40))


@dataclass(frozen=True, eq=False)
class Curve:
    """Predictions along one input, with the doubt about the mean and the spread of outcomes.

    Attributes
    ----------
    name
        The input.
    x, mean
        Its values, and the prediction at each.
    band, outcomes
        Intervals of the mean and of the next outcome, shape (n_points, 2).
    rows
        Inputs and outcomes that were learned from, shape (n_rows, 2).
    coverage
        Probability of the intervals.
    """

    name: str
    x: Array
    mean: Array
    band: Array
    outcomes: Array
    rows: Array
    coverage: float

    def draw(self, ax: Axes) -> Axes:
        """Draw the mean, both bands, and the rows."""
        level = percent(self.coverage)
        label = f"{level} of outcomes"
        ax.fill_between(self.x, *self.outcomes.T, color=GRAY, alpha=0.2, lw=0, label=label)
        label = f"{level} for the mean"
        ax.fill_between(self.x, *self.band.T, color=BLUE, alpha=0.3, lw=0, label=label)
        ax.plot(self.x, self.mean, color=BLUE, lw=1.8, label="mean")
        shown = self.rows[(self.rows[:, 0] >= self.x[0]) & (self.rows[:, 0] <= self.x[-1])]
        strength = _strength(len(shown))
        ax.plot(*shown.T, "o", color=INK, ms=2.6, mew=0, alpha=strength, label="training rows")
        legend_above(ax, n_columns=2)
        return tidy(ax, shortened(self.name, 40), "prediction")


@dataclass(frozen=True, eq=False)
class Surface:
    """Heights over two inputs, as filled contours with their values.

    Attributes
    ----------
    names
        The two inputs.
    x, y
        Values of each.
    height
        Shape (len(y), len(x)).
    rows
        Inputs that were learned from, shape (n_rows, 2).
    """

    names: tuple[str, str]
    x: Array
    y: Array
    height: Array
    rows: Array

    def draw(self, ax: Axes) -> Axes:
        """Draw contours, and dots where rows were."""
        ax.contourf(self.x, self.y, self.height, levels=9, cmap="Blues", alpha=0.6)
        if np.ptp(self.height) > 0:
            lines = ax.contour(
                self.x, self.y, self.height, levels=9, colors=INK, linewidths=0.6
            )
            ax.clabel(lines, fontsize=8, inline=True)
        strength = 0.7 * _strength(len(self.rows))
        ax.plot(*self.rows.T, "o", color=ORANGE, ms=2.6, mew=0, alpha=strength)
        ax.set_xlim(self.x[0], self.x[-1])
        ax.set_ylim(self.y[0], self.y[-1])
        return tidy(ax, *(shortened(name, 40) for name in self.names))


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictive means with intervals beside what came true, a value for each row.

    Attributes
    ----------
    y, mean
        Outcomes and predictive means.
    low, high
        Ends of the central intervals of probability ``coverage``.
    is_inside
        Whether each outcome lies in its interval.
    """

    y: Array
    mean: Array
    low: Array
    high: Array
    is_inside: NDArray[np.bool_]
    coverage: float

    def draw(self, ax: Axes) -> Axes:
        """Draw the means with intervals against the outcomes, and the diagonal."""
        ends = [float(np.min([self.y, self.mean])), float(np.max([self.y, self.mean]))]
        ax.plot(ends, ends, "--", color=INK, lw=1.0, label="as predicted")
        rows = np.linspace(0, len(self.y) - 1, min(len(self.y), N_SHOWN)).astype(np.intp)
        strength = _strength(len(rows))
        hit, inside = self.is_inside, f"inside {percent(self.coverage)} interval"
        for name, is_named, color in ((inside, hit, BLUE), ("outside", ~hit, ORANGE)):
            some = rows[is_named[rows]]
            x, low, high = self.y[some], self.low[some], self.high[some]
            ax.vlines(x, low, high, color=color, lw=1.1, alpha=0.5 * strength)
            label = f"{name}: {is_named.sum():,}"
            (dots,) = ax.plot(x, self.mean[some], "o", color=color, ms=3.5, mew=0, label=label)
            dots.set_alpha(min(1.0, strength + 0.15))
        # The interval of one odd row may be so wide that it would flatten all others.
        margin = float(np.median(self.high - self.low))
        ax.set_ylim(ends[0] - margin, ends[1] + margin)
        legend_above(ax, n_columns=2)
        is_part = len(rows) < len(self.y)
        note = f" ({len(rows):,} of {len(self.y):,} rows shown)" if is_part else ""
        return tidy(ax, f"outcome{note}", "prediction")


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals in predictive standard deviations, and the predictive mean of each row."""

    mean: Array
    units: Array
    coverage: float

    def draw(self, ax: Axes) -> Axes:
        """Draw the residuals over the band that holds ``coverage`` of normal ones."""
        reach = NormalDist().inv_cdf(0.5 + 0.5 * self.coverage)
        label = f"{percent(self.coverage)} of normal residuals"
        ax.axhspan(-reach, reach, color=GRAY, alpha=0.15, lw=0, label=label)
        ax.axhline(0.0, color=INK, lw=1.0)
        strength = min(1.0, _strength(len(self.mean)) + 0.15)
        ax.plot(self.mean, self.units, "o", color=BLUE, ms=3.5, mew=0, alpha=strength)
        limit = 1.12 * max(3.0, float(np.abs(self.units).max(initial=0.0)))
        ax.set_ylim(-limit, limit)
        legend_above(ax)
        return tidy(ax, "prediction", "residual / predictive sd")


def _strength(n_rows: int) -> float:
    """Return an opacity that keeps many points apart and few points visible."""
    return float(np.clip(12.0 / np.sqrt(max(n_rows, 1)), 0.2, 0.85))


@dataclass(frozen=True, eq=False)
class CoverageLine:
    """Share of outcomes inside intervals of each level, with the interval of that share."""

    levels: Array
    observed: Array
    low: Array
    high: Array
    n_rows: int

    def draw(self, ax: Axes) -> Axes:
        """Draw observed against claimed coverage, with its band and the diagonal."""
        ax.plot([0, 1], [0, 1], "--", color=GRAY, lw=1.2, label="calibrated")
        ax.fill_between(self.levels, self.low, self.high, color=BLUE, alpha=0.18, lw=0)
        label = f"observed, {self.n_rows:,} rows"
        ax.plot(self.levels, self.observed, "o-", color=BLUE, lw=1.5, ms=4, label=label)
        ax.text(0.97, 0.05, "too sure", ha="right", color=GRAY, style="italic")
        ax.text(0.03, 0.92, "too cautious", ha="left", color=GRAY, style="italic")
        percent_axes(ax, (0.0, 1.0))
        legend_above(ax)
        return tidy(ax, "coverage claimed", "coverage observed")


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights with their intervals, first to last from top to bottom; ``n_all`` exist."""

    names: tuple[str, ...]
    mean: Array
    low: Array
    high: Array
    n_all: int

    def draw(self, ax: Axes) -> Axes:
        """Draw a line for each interval, gray where it holds zero."""
        y = np.arange(len(self.names))
        colors = np.where((self.low < 0) & (self.high > 0), GRAY, BLUE).tolist()
        ax.axvline(0.0, color=INK, lw=1.0)
        ax.hlines(y, self.low, self.high, colors=colors, lw=2.2)
        ax.scatter(self.mean, y, c=colors, s=26, zorder=3)
        ax.set_yticks(y, [shortened(name) for name in self.names], parse_math=False)
        ax.set_ylim(len(y) - 0.4, -0.6)
        tidy(ax, _scaled(ax, np.maximum(np.abs(self.low), np.abs(self.high))))
        ax.grid(axis="x", color=GRAY, alpha=0.25, lw=0.6)
        if len(y) < self.n_all:
            ax.set_title(f"{len(y)} of {self.n_all} weights", fontsize="medium", loc="left")
        return ax


@dataclass(frozen=True, eq=False)
class Relevances:
    """Length scales per standard deviation of each column, with their intervals."""

    names: tuple[str, ...]
    value: Array
    low: Array
    high: Array

    def draw(self, ax: Axes) -> Axes:
        """Draw a line for each interval, on a log scale."""
        y = np.arange(len(self.names))
        ax.hlines(y, self.low, self.high, color=BLUE, lw=2.2)
        ax.scatter(self.value, y, c=BLUE, s=26, zorder=3)
        ax.axvline(1.0, color=GRAY, lw=1.0, ls="--")
        ax.set_xscale("log")
        ax.margins(x=0.08)
        ticks = _log_ticks(*ax.get_xlim())
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.set_xticks([], minor=True)
        ax.set_yticks(y, [shortened(name) for name in self.names], parse_math=False)
        ax.set_ylim(len(y) - 0.4, -0.6)
        ax.grid(axis="x", color=GRAY, alpha=0.25, lw=0.6)
        return tidy(ax, "length scales per standard deviation of the column")


def _log_ticks(low: float, high: float) -> list[float]:
    """Return round numbers on a log scale, few enough to be read.

    Examples
    --------
    >>> _log_ticks(0.3, 2.0), _log_ticks(1e-4, 1e3)
    ([0.5, 1.0, 2.0], [0.0001, 0.01, 1.0, 100.0])
    """
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    step = max(1, (last - first) // 3)
    factors = (1.0, 2.0, 5.0) if last - first <= 3 else (1.0,)
    found = [float(f"{f}e{k}") for k in range(first, last + 1, step) for f in factors]
    return [tick for tick in found if low <= tick <= high]


def _scaled(ax: Axes, reach: Array) -> str:
    """Compress the axis if the ends differ too much, and return its label."""
    seen = reach[reach > 0]
    if not len(seen) or seen.max() <= SPREAD * np.median(seen):
        return "weight"
    linear = max(float(seen.min()), 1e-6 * float(seen.max()))
    ax.set_xscale("symlog", linthresh=linear)
    ax.set_xticks(_decades(linear, float(seen.max())))
    ax.margins(x=0.08)
    return "weight (logarithmic away from zero)"


def _decades(linear: float, largest: float) -> list[float]:
    """Return zero and powers of ten on both sides, few enough to be read."""
    top = int(np.floor(np.log10(largest)))
    n_decades = top - np.log10(linear)
    step = max(1, int(np.ceil(n_decades / 2)))
    powers = [10.0 ** (top - k * step) for k in range(2) if k * step < n_decades - 0.5 * step]
    return [-power for power in powers] + [0.0] + powers[::-1]


@dataclass(frozen=True, eq=False)
class Reliability:
    """How often what was given a probability came true, in groups of rows.

    Attributes
    ----------
    predicted, observed, low, high
        Mean probability of each group, the share that came true, and its interval.
    histogram
        How often each probability was said, in equal steps from 0 to 1.
    label
        What the probabilities are of, and their calibration error.
    """

    predicted: Array
    observed: Array
    low: Array
    high: Array
    histogram: Array
    label: str

    def draw(self, ax: Axes) -> Axes:
        """Draw observed against predicted shares with interval bars, over the histogram."""
        tallest = max(float(self.histogram.max()), 1e-300)
        edges = np.linspace(0.0, 1.0, len(self.histogram) + 1)
        heights = HISTOGRAM_HEIGHT * self.histogram / tallest
        name = "how often said"
        ax.stairs(heights, edges, fill=True, color=GRAY, alpha=0.35, lw=0, label=name)
        ax.plot([0, 1], [0, 1], "--", color=GRAY, lw=1.2, label="calibrated")
        ax.plot(self.predicted, self.observed, color=BLUE, lw=1.0, alpha=0.4)
        ax.errorbar(
            self.predicted,
            self.observed,
            yerr=np.abs([self.observed - self.low, self.high - self.observed]),
            fmt="o",
            color=BLUE,
            ms=4.5,
            elinewidth=1.1,
            capsize=2.5,
            label=self.label,
        )
        percent_axes(ax, (-0.02, 1.02))
        legend_above(ax, 3)
        return tidy(ax, "probability said", "share that came true")


@dataclass(frozen=True, eq=False)
class RankHistogram:
    """How often the truth had each rank among draws of an engine.

    Attributes
    ----------
    counts
        Simulations in each bin of ranks.
    low, high
        Counts between which most bins lie if the engine is right.
    coverage
        Share of bins that do.
    n_draws
        The largest rank.
    title
        What was ranked, and what its ranks say of the engine.
    is_right
        Whether they may be uniform.
    """

    counts: NDArray[np.intp]
    low: float
    high: float
    coverage: float
    n_draws: int
    title: str
    is_right: bool

    def draw(self, ax: Axes) -> Axes:
        """Draw the bins and the band; those outside of it are orange if there is a fault."""
        self.draw_bins(ax)
        legend_above(ax)
        ax.set_title(ax.get_title(), color=ax.title.get_color(), fontsize="medium", pad=22)
        return ax

    def draw_bins(self, ax: Axes) -> Axes:
        """Draw the bins and the band without a legend."""
        edges = np.linspace(-0.5, self.n_draws + 0.5, len(self.counts) + 1)
        is_odd = (self.counts < self.low) | (self.counts > self.high)
        colors = np.where(is_odd & (not self.is_right), ORANGE, BLUE).tolist()
        label = f"{percent(self.coverage)} of bins, if the engine is right"
        ax.axhspan(self.low, self.high, color=GRAY, alpha=0.3, lw=0, label=label)
        ax.axhline(self.counts.mean(), color=INK, lw=1.0)
        ax.bar(
            edges[:-1],
            self.counts,
            width=edges[1] - edges[0],
            align="edge",
            color=colors,
            alpha=0.6,
            edgecolor="white",
            lw=0.8,
        )
        tallest = max(float(self.counts.max()), self.high)
        ax.set(xlim=(edges[0], edges[-1]), ylim=(0.0, 1.08 * tallest))
        ax.set_title(self.title, color=INK if self.is_right else ORANGE, fontsize="medium")
        return tidy(ax, f"rank of the truth among {self.n_draws} draws", "simulations")


class RankedCurve(NamedTuple):
    """A curve of one class against all others, with its score and the score's interval."""

    name: str
    x: Array
    y: Array
    score: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class RocCurves:
    """True against false positives, a curve for each class that is drawn."""

    curves: tuple[RankedCurve, ...]

    def draw(self, ax: Axes) -> Axes:
        """Draw the curves, and the diagonal that is chance."""
        ax.plot([0, 1], [0, 1], "--", color=GRAY, lw=1.2, label="a coin")
        for curve, color, label in dressed(self.curves):
            height = 1.9 if color == GRAY else 2.0
            ax.plot(curve.x, curve.y, color=color, lw=1.6, label=label, zorder=height)
        percent_axes(ax, (-0.01, 1.01))
        curve_legend(ax, "area, with interval", "lower right")
        x, y = "false positives among negative rows", "true positives among positive rows"
        return tidy(ax, x, y)


def dressed(curves: Sequence[RankedCurve]) -> list[tuple[RankedCurve, str, str]]:
    """Return curves with color and name, and last the best of too many, which share gray."""
    rising = np.argsort([curve.score[0] for curve in curves], kind="stable")
    named, others = np.sort(rising[: len(COLORS)]), rising[len(COLORS) :]
    shown = [
        (curves[i], color, _scored(curves[i])) for i, color in zip(named, COLORS, strict=False)
    ]
    for rank, i in enumerate(others):
        words = f"{len(others)} others: {curves[i].score[0]:.3f} or more"
        shown.append((curves[i], GRAY, "" if rank else words))
    return shown


def _scored(curve: RankedCurve) -> str:
    value, low, high = curve.score
    return f"{shortened(curve.name, 20)}: {value:.3f} ({low:.3f} to {high:.3f})"


def curve_legend(ax: Axes, title: str, place: Literal["lower left", "lower right"]) -> None:
    """Put the legend into the corner that good curves leave empty."""
    size = "small" if len(ax.lines) < 6 else "x-small"
    ax.legend(
        title=title,
        loc=place,
        fontsize=size,
        title_fontsize=size,
        frameon=False,
        handlelength=1.4,
        labelspacing=0.35,
        alignment="left",
    )


def percent_axes(ax: Axes, limits: tuple[float, float]) -> None:
    """Let both axes be the same shares, written in percent."""
    ax.set(xlim=limits, ylim=limits, aspect="equal")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:.0%}")


@dataclass(frozen=True, eq=False)
class Confusions:
    """Counts of true (down) and predicted (across) classes.

    Attributes
    ----------
    labels
        The classes.
    table
        Counts, shape (n_classes, n_classes).
    shares
        Share of the true class and the ends of its interval, shape (n_classes, n_classes, 3).
    """

    labels: tuple[str, ...]
    table: NDArray[Any]
    shares: Array

    def draw(self, ax: Axes) -> Axes:
        """Draw the cells, darker for a larger share, with their numbers where they fit."""
        k = len(self.labels)
        shades = import_module("matplotlib.colors").LinearSegmentedColormap.from_list(
            "credo_blue", ["#FFFFFF", BLUE]
        )
        image = ax.imshow(np.nan_to_num(self.shares[..., 0]), cmap=shades, vmin=0.0, vmax=1.0)
        image.set_zorder(0)
        names = [shortened(label, 14) for label in self.labels]
        turn = 90 if k > MOST_INTERVALS else 0
        ax.set_xticks(range(k), names, rotation=turn, parse_math=False)
        ax.set_yticks(range(k), names, parse_math=False)
        ax.set_xlabel("predicted")
        ax.set_ylabel("true")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        edges = np.arange(k + 1) - 0.5
        ax.hlines(edges, -0.5, k - 0.5, color=GRAY, lw=0.6, clip_on=False)
        ax.vlines(edges, -0.5, k - 0.5, color=GRAY, lw=0.6, clip_on=False)
        ax.set(xlim=(-0.5, k - 0.5), ylim=(k - 0.5, -0.5))
        if k <= MOST_NUMBERS:
            self._write(ax)
        return ax

    def _write(self, ax: Axes) -> None:
        k = len(self.labels)
        sizes = {2: "medium", 4: "small", 10: "x-small", MOST_NUMBERS: "xx-small"}
        size = next(size for most, size in sizes.items() if k <= most)
        for i, j in np.ndindex(k, k):
            words = _cell(float(self.table[i, j]), self.shares[i, j], k)
            color = "white" if self.shares[i, j, 0] > 0.55 else INK
            ax.text(j, i, words, ha="center", va="center", color=color, fontsize=size)


def _cell(count: float, share: Array, k: int) -> str:
    """Return a count, and its share and interval where they fit."""
    words = f"{count:,.0f}" if count == round(count) else f"{count:,.1f}"
    if k > MOST_INTERVALS:
        return words
    if np.isnan(share[0]):
        return f"{words}\nno rows"
    value, low, high = 100.0 * share
    return f"{words}\n{value:.0f} %\n({low:.0f} to {high:.0f})"


@dataclass(frozen=True, eq=False)
class ExpectedLosses:
    """Expected loss of each action by the probability of the second of two classes.

    Attributes
    ----------
    p, risk
        Probabilities, and the loss of each action at each, shape (n_points, n_actions).
    thresholds
        Probabilities at which the best action changes.
    actions, label
        What the actions and the second class are called.
    """

    p: Array
    risk: Array
    thresholds: Array
    actions: tuple[str, ...]
    label: str

    def draw(self, ax: Axes) -> Axes:
        """Draw a line for each action, the best rule below them, and its thresholds."""
        for k, action in enumerate(self.actions):
            color = COLORS[k % (len(COLORS) - 1)]
            ax.plot(self.p, self.risk[:, k], color=color, lw=1.6, label=shortened(action))
        best = self.risk.min(axis=1)
        ax.plot(self.p, best, color=INK, lw=4.5, alpha=0.25, label="best action")
        last = -1.0
        for threshold in self.thresholds:
            ax.axvline(threshold, color=GRAY, lw=1.0, ls=":")
            # Labels of thresholds close together would run into each other; one goes lower.
            height = 0.97 if threshold - last > NEAR else 0.90
            side: Any = "left" if threshold < 0.85 else "right"
            label = f" {percent(float(threshold))} "
            at = {"transform": ax.get_xaxis_transform(), "ha": side, "va": "top"}
            ax.text(threshold, height, label, color=INK, fontsize="small", **at)
            last = threshold
        ax.set(xlim=(0, 1), ylim=(min(0.0, float(self.risk.min())), _top(self.risk)))
        ax.xaxis.set_major_formatter("{x:.0%}")
        legend_above(ax, n_columns=4)
        return tidy(ax, f"probability of {shortened(self.label)}", "expected loss")


def _top(risk: Array) -> float:
    """Return a height that shows the best rule well and one dear action in part."""
    best = float(risk.min(axis=1).max())
    largest = float(risk.max())
    return min(largest, 3.0 * best) if best > 0 else largest


@dataclass(frozen=True, eq=False)
class DensityCurves:
    """The density of one column, in parts.

    Attributes
    ----------
    rows
        Values that are there.
    x, parts
        Places, and the weighted density of each component there, shape (n_points, K).
    draws
        Densities that are believed possible, shape (n_draws, n_points).
    label
        What the column is called.
    """

    rows: Array
    x: Array
    parts: Array
    draws: Array
    label: str

    def draw(self, ax: Axes) -> Axes:
        """Draw the histogram, the density, its parts below it, and draws as thin lines."""
        n_bins = int(np.clip(2.0 * np.sqrt(len(self.rows)), 8, 60))
        ax.hist(self.rows, bins=n_bins, density=True, color=GRAY, alpha=0.3, label="rows")
        for k, part in enumerate(self.parts.T if self.parts.shape[1] > 1 else ()):
            color = COLORS[k % len(COLORS)]
            ax.fill_between(self.x, part, color=color, alpha=0.25, lw=0)
            ax.plot(self.x, part, color=color, lw=1.2, label=f"component {k}")
        for one in self.draws:
            ax.plot(self.x, one, color=INK, lw=0.5, alpha=0.35)
        ax.plot(self.x, self.parts.sum(axis=1), color=INK, lw=1.8, label="density")
        ax.set_ylim(bottom=0.0)
        legend_above(ax, 4)
        return tidy(ax, shortened(self.label), "density")


@dataclass(frozen=True, eq=False)
class DensityMap:
    """The density of two columns, with rows and the ellipses of components.

    Attributes
    ----------
    rows, share
        Rows (n, 2), and the probability of each component for each, (n, K).
    x, y, height
        Places along both sides, and the density at each, shape (n_y, n_x).
    levels
        Heights between which regions are shaded, rising.
    ellipses, draws
        Number of a component and points of its ellipse; the same of draws of a belief.
    labels
        What the columns are called.
    """

    rows: Array
    share: Array
    x: Array
    y: Array
    height: Array
    levels: Array
    ellipses: tuple[tuple[int, Array], ...]
    draws: tuple[tuple[int, Array], ...]
    labels: tuple[str, ...]

    def draw(self, ax: Axes) -> Axes:
        """Draw shaded regions, rows in the colors of their components, and ellipses."""
        edges = np.unique(np.append(self.levels, 1.01 * max(self.height.max(), 1e-300)))
        ax.contourf(self.x, self.y, self.height, levels=edges, colors=SHADES, zorder=0)
        hues = import_module("matplotlib.colors").to_rgba_array(COLORS)[:, :3]
        color = self.share @ hues[np.arange(self.share.shape[1]) % len(hues)]
        shown = slice(None, None, max(1, len(self.rows) // (4 * N_SHOWN)))
        size = float(np.clip(4000.0 / len(self.rows), 4.0, 18.0))
        hue = np.clip(color[shown], 0.0, 1.0)
        x, y = self.rows[shown].T
        ax.scatter(x, y, s=size, c=hue, lw=0, zorder=2)
        for k, points in self.draws:
            ax.plot(*points.T, color=COLORS[k % len(COLORS)], lw=0.5, alpha=0.4, zorder=3)
        for k, points in self.ellipses:
            ax.plot(*points.T, color=COLORS[k % len(COLORS)], lw=1.8, zorder=4)
        ax.set(xlim=(self.x[0], self.x[-1]), ylim=(self.y[0], self.y[-1]))
        first, second = (shortened(name) for name in self.labels)
        return tidy(ax, first, second)

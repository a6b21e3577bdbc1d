"""Networks as boxes and arrows, with what is believed of each variable in its box.

A variable with states shows a label, a bar and a percentage for each; a real one a small
density with its mean and standard deviation. Boxes are measured in inches.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol
from unicodedata import east_asian_width

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.textpath import text_to_path
from numpy.typing import ArrayLike, NDArray

from credo.distributions.empirical import Empirical
from credo.distributions.univariate import Univariate
from credo.graphs.structure.adjacency import Edge
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.variable import Variable
from credo.inference.engine.findings import Findings
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.factor_graph import FactorGraph
from credo.models.network.markov_random_field import MarkovRandomField
from credo.models.network.value.findings import as_mapping, read_findings, with_settings
from credo.numerics.array import Array
from credo.plots.layout.layered import layered_layout
from credo.plots.layout.layout import Layout
from credo.plots.layout.stress import stress_layout
from credo.plots.style import BLUE, GRAY, INK, ORANGE, percent, shortened

__all__ = [
    "PAD",
    "ROW",
    "ROW_SIZE",
    "TITLE",
    "BarCard",
    "Box",
    "Card",
    "CurveCard",
    "FactorCard",
    "NameCard",
    "StateBar",
    "ValueCard",
    "draw_frame",
    "draw_layout",
    "mean_and_sd",
    "network_figure",
    "state_bars",
    "text_width",
    "title_width",
    "write",
]

MARGIN = 0.15
HEADING_SIZE, HEADING_ROW = 9.5, 0.2
LINE = "#5C6573"
FAINT = "#B4BAC4"
HEAD_LENGTH, HEAD_WIDTH = 0.095, 0.075
PLAIN_FACE, MARKED_FACE = "#F2F5F9", "#FBE6D9"

Box = tuple[float, float, float, float]
"""Left, top, width and height; y grows downward."""

PAD = 0.07
TITLE = 0.23
ROW = 0.15
FACTOR = 0.19
TITLE_SIZE = 8.0
ROW_SIZE = 7.0
MARK_SIZE = 6.0
NAME_LENGTH = 30
POINTS_PER_INCH = 72.0

# Fonts of other viewers may be somewhat wider than the one measured here.
SPARE = 1.04


class Card(Protocol):
    """What stands for a node: it knows its size and draws itself into a box of that size."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        ...

    def draw(self, ax: Axes, box: Box) -> None:
        """Draw on axes whose unit is an inch."""
        ...


@dataclass(frozen=True)
class NameCard:
    """A node of which only the name is shown.

    Attributes
    ----------
    name
        Of the variable.
    mark
        A word in the corner, such as "given"; empty if there is nothing to mark.
    """

    name: str
    mark: str = ""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        return title_width(self.name, self.mark), TITLE

    def draw(self, ax: Axes, box: Box) -> None:
        """Draw the name in its box."""
        draw_frame(ax, box, self.name, self.mark)


@dataclass(frozen=True)
class FactorCard:
    """A factor of a factor graph: its name on a dark ground."""

    name: str

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        return text_width(shortened(self.name, NAME_LENGTH), ROW_SIZE) + 2 * PAD, FACTOR

    def draw(self, ax: Axes, box: Box) -> None:
        """Draw the name in its box."""
        left, top, width, height = box
        ground = _rounded(left, top, width, height)
        ground.set(facecolor=INK, edgecolor="none", zorder=3)
        ax.add_artist(ground)
        shown = shortened(self.name, NAME_LENGTH)
        style = {"color": "white", "ha": "center", "zorder": 4}
        write(ax, left + width / 2, top + height / 2, shown, **style)


@lru_cache(maxsize=20_000)
def text_width(text: str, points: float, weight: str = "normal") -> float:
    """Return how wide a text is in inches.

    Examples
    --------
    >>> 0.2 < text_width("smoke", 7.0) < 0.5
    True
    """
    # Letters as wide as high are in no font that comes with matplotlib.
    is_wide = [east_asian_width(letter) in ("W", "F") for letter in text]
    narrow = "".join(x for x, wide in zip(text, is_wide, strict=True) if not wide)
    font = FontProperties(family="DejaVu Sans", size=points, weight=weight)
    width = text_to_path.get_text_width_height_descent(narrow, font, ismath=False)[0]
    return float(SPARE * (width + points * sum(is_wide)) / POINTS_PER_INCH)


def title_width(name: str, mark: str) -> float:
    """Return the width that a name and its mark need."""
    own = text_width(shortened(name, NAME_LENGTH), TITLE_SIZE, "bold") + 2 * PAD
    return own + (text_width(mark, MARK_SIZE, "bold") + 3 * PAD if mark else 0.0)


def write(ax: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """Write a text, its middle at height ``y``; signs of formulas have no meaning."""
    settings: dict[str, Any] = {"fontsize": ROW_SIZE, "color": INK, "va": "center_baseline"}
    ax.text(x, y, text, parse_math=False, **{**settings, **style})


def draw_frame(ax: Axes, box: Box, name: str, mark: str) -> None:
    """Draw the outline and the title; marked nodes are orange and say why."""
    left, top, width, height = box
    color, face = (ORANGE, MARKED_FACE) if mark else (GRAY, PLAIN_FACE)
    body = _rounded(left, top, width, height)
    body.set(facecolor="white", edgecolor="none", zorder=3)
    title = _rounded(left, top, width, height)
    title.set(facecolor=face, edgecolor="none", zorder=3.1)
    outline = _rounded(left, top, width, height)
    outline.set(facecolor="none", edgecolor=color, linewidth=1.6 if mark else 0.8, zorder=3.4)
    for patch in (body, title, outline):
        ax.add_artist(patch)
    if height > TITLE:
        # The title band is the rounded box, covered by white below the title.
        cover = _rounded(left, top + TITLE, width, height - TITLE)
        cover.set(facecolor="white", edgecolor="none", zorder=3.2)
        ax.add_artist(cover)
    _write_title(ax, box, name, mark)


def _write_title(ax: Axes, box: Box, name: str, mark: str) -> None:
    left, top, width, _ = box
    middle = top + TITLE / 2
    shown = shortened(name, NAME_LENGTH)
    if not mark:
        style = {"fontsize": TITLE_SIZE, "fontweight": "bold", "zorder": 4, "ha": "center"}
        write(ax, left + width / 2, middle, shown, **style)
        return
    style = {"fontsize": TITLE_SIZE, "fontweight": "bold", "zorder": 4, "ha": "left"}
    write(ax, left + PAD, middle, shown, **style)
    badge_width = text_width(mark, MARK_SIZE, "bold") + 1.2 * PAD
    badge_left = left + width - PAD - badge_width
    badge = _rounded(badge_left, middle - 0.065, badge_width, 0.13)
    badge.set(facecolor=ORANGE, edgecolor="none", zorder=3.5)
    ax.add_artist(badge)
    style = {"fontsize": MARK_SIZE, "fontweight": "bold", "color": "white", "zorder": 4}
    write(ax, badge_left + badge_width / 2, middle, mark, ha="center", **style)


def _rounded(left: float, top: float, width: float, height: float) -> FancyBboxPatch:
    return FancyBboxPatch(
        (left, top), width, height, boxstyle="round,pad=0,rounding_size=0.045"
    )


def draw_layout(
    layout: Layout,
    cards: Mapping[str, Card],
    is_directed: bool = True,
    cut: Collection[Edge] = (),
    title: str = "",
) -> Figure:
    """Return a figure, as large as its layout in inches, with each card in its box.

    Parameters
    ----------
    layout
        Made for the sizes of the cards.
    is_directed
        Whether edges have arrowheads.
    cut
        Edges without effect, drawn faint and dashed.
    title
        A line above the drawing.
    """
    lines = _title_lines(title, layout.width)
    top = HEADING_ROW * len(lines) + MARGIN * bool(lines)
    size = (layout.width + 2 * MARGIN, layout.height + 2 * MARGIN + top)
    figure = Figure(figsize=size, facecolor="white")
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set(xlim=(-MARGIN, size[0] - MARGIN), ylim=(size[1] - top - MARGIN, -MARGIN - top))
    ax.axis("off")
    for i, line in enumerate(lines):
        write(ax, 0.0, HEADING_ROW * (i + 0.5) - top, line, ha="left", fontsize=HEADING_SIZE)
    for edge, curve in layout.curves.items():
        _draw_edge(ax, curve, is_directed, edge in cut)
    for name, card in cards.items():
        card.draw(ax, layout.box(name))
    return figure


def _title_lines(title: str, width: float) -> list[str]:
    """Return a title in lines that are not wider than the drawing."""
    whole = text_width(title, HEADING_SIZE)
    if whole <= width:
        return [title] if title else []
    return textwrap.wrap(title, max(12, int(0.9 * len(title) * width / whole)))


def _draw_edge(ax: Axes, curve: Array, is_directed: bool, is_cut: bool) -> None:
    color = FAINT if is_cut else LINE
    line = curve.copy()
    if is_directed:
        end, back = curve[-1], _direction(curve)
        aside = np.array([-back[1], back[0]])
        base = end - HEAD_LENGTH * back
        corners = [end, base + HEAD_WIDTH / 2 * aside, base - HEAD_WIDTH / 2 * aside]
        ax.add_artist(Polygon(corners, facecolor=color, lw=0, zorder=2.1))
        # The line ends inside its head, so that the tip stays sharp.
        line[-2:] -= 0.6 * HEAD_LENGTH * back
    codes = [Path.MOVETO, *[Path.CURVE4] * (len(line) - 1)]
    style = {"linestyle": (0, (3, 2))} if is_cut else {}
    ax.add_artist(
        PathPatch(
            Path(line, codes), facecolor="none", edgecolor=color, lw=0.9, zorder=2, **style
        )
    )


def _direction(curve: Array) -> Array:
    """Return the unit vector along which a curve arrives."""
    for before in curve[-2::-1]:
        way = curve[-1] - before
        length = float(np.hypot(*way))
        if length > 1e-9:
            return np.asarray(way / length)
    return np.array([0.0, 1.0])


MOST_STATES = 6
Net = BayesianNetwork | MarkovRandomField


def network_figure(
    net: Net,
    given: Mapping[str, Any] | None = None,
    do: Mapping[str, Any] | None = None,
    max_states: int = MOST_STATES,
    with_beliefs: bool = True,
    title: str = "",
) -> Figure:
    """Return a figure of a network: in each node its states with bars and percentages.

    Findings are orange and say "given"; findings that are likelihoods or several states say
    "vague"; variables that are set say "set", and the arrows into them are dashed. Real
    variables have a small density with mean ± standard deviation. The figure is as large as its
    layout needs, in inches; save it as SVG or PNG with ``figure.savefig``.

    Parameters
    ----------
    net
        A Bayesian network, a Markov random field or a factor graph.
    given, do
        Findings and interventions, as for ``net.query``.
    max_states
        Lines per node; of more states the most probable are shown, the rest in one line.
    with_beliefs
        Whether probabilities are shown; names only if False, or if only the structure is known.
    title
        A line above the drawing.

    Examples
    --------
    >>> tables = {"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.1, 0.9]]}
    >>> figure = network_figure(BayesianNetwork("rain -> wet", tables), given={"wet": True})
    >>> figure.savefig("rain.svg")  # doctest: +SKIP
    """
    known = read_findings(net.variables, as_mapping(given))
    fixed = read_findings(net.variables, as_mapping(do))
    marks = _marks(known, fixed)
    cards: dict[str, Card]
    is_known = not isinstance(net, BayesianNetwork) or bool(net.conditionals)
    if max_states and with_beliefs and is_known:
        settled, beliefs = with_settings(known, fixed), net.marginals(given, do)
        cards = _cards(net, settled, beliefs, marks, max_states)
    else:
        cards = {name: NameCard(name, marks.get(name, "")) for name in net.variables}
    size = {name: card.size for name, card in cards.items()}
    if isinstance(net, FactorGraph):
        cards |= {name: FactorCard(name) for name in net.named_factors}
        size = {name: card.size for name, card in cards.items()}
        joined = net.bipartite
        neighbors = {name: joined.neighbors(name) for name in cards}
        layout = stress_layout(neighbors, size, gap=0.2)
        return draw_layout(layout, cards, is_directed=False, title=title)
    if not isinstance(net.graph, DirectedGraph):
        neighbors = {name: net.graph.neighbors(name) for name in net.variables}
        return draw_layout(
            stress_layout(neighbors, size), cards, is_directed=False, title=title
        )
    parents = {name: net.graph.parents(name) for name in net.variables}
    cut = {(parent, name) for name in fixed.names for parent in parents[name]}
    return draw_layout(layered_layout(parents, size), cards, cut=cut, title=title)


def _marks(known: Findings[str], fixed: Findings[str]) -> dict[str, str]:
    """Return the word in the corner of each node that is not free."""
    vague = dict.fromkeys(known.likelihood, "vague")
    return dict.fromkeys(known.names, "given") | vague | dict.fromkeys(fixed.names, "set")


def _cards(
    net: Net,
    settled: Findings[str],
    beliefs: Mapping[str, Any],
    marks: Mapping[str, str],
    max_states: int,
) -> dict[str, Card]:
    cards: dict[str, Card] = {}
    for name, variable in net.variables.items():
        mark = marks.get(name, "")
        if name in settled.values:
            cards[name] = ValueCard(name, float(settled.values[name][0]), mark)
        elif name in settled.codes:
            share = np.eye(variable.n_states)[settled.codes[name][0]]
            cards[name] = BarCard(name, state_bars(variable.labels, share, max_states), mark)
        else:
            cards[name] = _free_card(variable, beliefs[name], mark, max_states)
    return cards


def _free_card(variable: Variable, belief: Any, mark: str, max_states: int) -> Card:
    if isinstance(belief, Univariate):
        return CurveCard(variable.name, belief, mark)
    bars = state_bars(list(belief.index), belief.to_numpy(), max_states)
    return BarCard(variable.name, bars, mark)


BAR = 0.55
THICK = 0.09
PERCENT = 0.49
LABEL_LENGTH = 16
TRACK, REST = "#E7EBF1", "#B9BFC9"


@dataclass(frozen=True)
class StateBar:
    """A line of a card: a label, its probability, and whether it stands for several states."""

    label: str
    share: float
    is_rest: bool = False


@dataclass(frozen=True)
class BarCard:
    """A node with states.

    Attributes
    ----------
    name
        Of the variable.
    bars
        A line for each state that is shown.
    mark
        A word in the corner, such as "given"; empty if there is nothing to mark.
    """

    name: str
    bars: tuple[StateBar, ...]
    mark: str = ""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        row = 2 * PAD + self._label_width + 0.06 + BAR + PERCENT
        height = TITLE + ROW * len(self.bars) + 0.6 * PAD
        return max(row, title_width(self.name, self.mark)), height

    @property
    def _label_width(self) -> float:
        return max(text_width(bar.label, ROW_SIZE) for bar in self.bars)

    def draw(self, ax: Axes, box: Box) -> None:
        """Draw frame, labels, bars and percentages."""
        draw_frame(ax, box, self.name, self.mark)
        left, top, width, _ = box
        right = left + width - PAD
        bar_left = left + PAD + self._label_width + 0.06
        middles = [top + TITLE + ROW * (i + 0.5) + 0.3 * PAD for i in range(len(self.bars))]
        for bar, middle in zip(self.bars, middles, strict=True):
            style = {"color": GRAY} if bar.is_rest else {}
            write(ax, bar_left - 0.06, middle, bar.label, ha="right", zorder=4, **style)
            write(ax, right, middle, percent(bar.share), ha="right", zorder=4, **style)
        self._draw_bars(ax, bar_left, right - PERCENT, middles)

    def _draw_bars(self, ax: Axes, left: float, right: float, middles: Sequence[float]) -> None:
        ends = [left + (right - left) * min(max(bar.share, 0.0), 1.0) for bar in self.bars]
        tracks = [_strip(left, right, middle) for middle in middles]
        strips = [_strip(left, end, middle) for end, middle in zip(ends, middles, strict=True)]
        plain = ORANGE if self.mark else BLUE
        colors = [REST if bar.is_rest else plain for bar in self.bars]
        # One artist for all bars of a card: large networks have thousands.
        bars = PolyCollection(
            [*tracks, *strips], facecolors=[TRACK] * len(tracks) + colors, lw=0, zorder=3.5
        )
        ax.add_collection(bars, autolim=False)


def _strip(left: float, right: float, middle: float) -> list[tuple[float, float]]:
    top, bottom = middle - THICK / 2, middle + THICK / 2
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def state_bars(labels: Sequence[object], shares: ArrayLike, most: int) -> tuple[StateBar, ...]:
    """Return a line for each state, or for the most probable ones and the rest in one.

    Parameters
    ----------
    labels, shares
        States in their order, and their probabilities.
    most
        Number of lines at most.

    Examples
    --------
    >>> [(bar.label, bar.share) for bar in state_bars("abcd", [0.1, 0.25, 0.5, 0.15], 3)]
    [('b', 0.25), ('c', 0.5), ('2 more', 0.25)]
    """
    texts = [shortened(str(label), LABEL_LENGTH) for label in labels]
    share = np.asarray(shares, dtype=float)
    if len(texts) <= most:
        return tuple(StateBar(t, float(p)) for t, p in zip(texts, share, strict=True))
    shown = np.sort(np.argsort(-share, kind="stable")[: most - 1])
    rest = StateBar(
        f"{len(texts) - len(shown)} more", float(np.delete(share, shown).sum()), is_rest=True
    )
    return (*(StateBar(texts[i], float(share[i])) for i in shown), rest)


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

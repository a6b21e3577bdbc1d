"""Networks as boxes and arrows, with what is believed of each variable in its box."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Polygon
from matplotlib.path import Path

from credo.distributions.univariate import Univariate
from credo.graphs.structure.adjacency import Edge
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.variable import Variable
from credo.inference.discrete.findings import Findings
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.factor_graph import FactorGraph
from credo.models.network.markov_random_field import MarkovRandomField
from credo.models.network.value.findings import as_mapping, read_findings, with_settings
from credo.numerics.array import Array
from credo.plots.bar_card import BarCard, state_bars
from credo.plots.card import Card, FactorCard, NameCard, text_width, write
from credo.plots.curve_card import CurveCard, ValueCard
from credo.plots.layout.layered import layered_layout
from credo.plots.layout.layout import Layout
from credo.plots.layout.stress import stress_layout

__all__ = [
    "draw_layout",
    "network_figure",
]


MARGIN = 0.15
TITLE_SIZE, TITLE_ROW = 9.5, 0.2
LINE = "#5C6573"
FAINT = "#B4BAC4"
HEAD_LENGTH, HEAD_WIDTH = 0.095, 0.075


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
    top = TITLE_ROW * len(lines) + MARGIN * bool(lines)
    size = (layout.width + 2 * MARGIN, layout.height + 2 * MARGIN + top)
    figure = Figure(figsize=size, facecolor="white")
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set(xlim=(-MARGIN, size[0] - MARGIN), ylim=(size[1] - top - MARGIN, -MARGIN - top))
    ax.axis("off")
    for i, line in enumerate(lines):
        write(ax, 0.0, TITLE_ROW * (i + 0.5) - top, line, ha="left", fontsize=TITLE_SIZE)
    for edge, curve in layout.curves.items():
        _draw_edge(ax, curve, is_directed, edge in cut)
    for name, card in cards.items():
        card.draw(ax, layout.box(name))
    return figure


def _title_lines(title: str, width: float) -> list[str]:
    """Return a title in lines that are not wider than the drawing."""
    whole = text_width(title, TITLE_SIZE)
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

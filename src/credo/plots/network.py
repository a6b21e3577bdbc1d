"""Networks as boxes and arrows, with what is believed of each variable in its box."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from credo.distributions.univariate import Univariate
from credo.graphs.directed import DirectedGraph
from credo.graphs.layered import layered_layout
from credo.graphs.stress import stress_layout
from credo.graphs.variable import Variable
from credo.models.bayesian_network import BayesianNetwork
from credo.models.factor_graph import FactorGraph
from credo.models.markov_random_field import MarkovRandomField
from credo.plots.bar_card import BarCard, state_bars
from credo.plots.card import Card, FactorCard, NameCard
from credo.plots.curve_card import CurveCard, ValueCard
from credo.plots.network_drawing import draw_layout

__all__ = ["network_figure"]

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
    marks = _marks(given or {}, do or {})
    cards = _cards(net, given or {}, do or {}, marks, max_states if with_beliefs else 0)
    size = {name: card.size for name, card in cards.items()}
    if isinstance(net, FactorGraph):
        cards |= {name: FactorCard(name) for name in net.named_factors}
        size = {name: card.size for name, card in cards.items()}
        neighbors = {name: net.bipartite.neighbors(name) for name in cards}
        layout = stress_layout(neighbors, size, gap=0.2)
        return draw_layout(layout, cards, is_directed=False, title=title)
    if not isinstance(net.graph, DirectedGraph):
        neighbors = {name: net.graph.neighbors(name) for name in net.variables}
        return draw_layout(
            stress_layout(neighbors, size), cards, is_directed=False, title=title
        )
    parents = {name: net.graph.parents(name) for name in net.variables}
    cut = {(parent, name) for name in do or {} for parent in parents[name]}
    return draw_layout(layered_layout(parents, size), cards, cut=cut, title=title)


def _marks(given: Mapping[str, Any], do: Mapping[str, Any]) -> dict[str, str]:
    """Return the word in the corner of each node that is not free."""
    marks = {name: "given" if _is_plain(value) else "vague" for name, value in given.items()}
    return marks | dict.fromkeys(do, "set")


def _is_plain(value: Any) -> bool:
    """Whether a finding is one state or number, rather than likelihoods or several states."""
    return not isinstance(value, Mapping | set | frozenset | list | np.ndarray)


def _cards(
    net: Net,
    given: Mapping[str, Any],
    do: Mapping[str, Any],
    marks: Mapping[str, str],
    max_states: int,
) -> dict[str, Card]:
    if not max_states or (isinstance(net, BayesianNetwork) and not net.conditionals):
        return {name: NameCard(name, marks.get(name, "")) for name in net.variables}
    fixed = {name: value for name, value in {**given, **do}.items() if marks[name] != "vague"}
    free = [name for name in net.variables if name not in fixed]
    beliefs = _beliefs(net, free, given, do)
    cards: dict[str, Card] = {}
    for name, variable in net.variables.items():
        if name in fixed:
            cards[name] = _fixed_card(variable, fixed[name], marks[name], max_states)
        else:
            cards[name] = _free_card(variable, beliefs[name], marks.get(name, ""), max_states)
    return cards


def _beliefs(
    net: Net, names: Collection[str], given: Mapping[str, Any], do: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the posterior of each variable."""
    found: dict[str, Any] = dict(net.marginals(given, do or None))
    for name in names:
        if name not in found:
            found[name] = net.query(name, given, do or None)
    return found


def _fixed_card(variable: Variable, value: Any, mark: str, max_states: int) -> Card:
    if not variable.is_discrete:
        return ValueCard(variable.name, float(value), mark)
    share = np.zeros(variable.n_states)
    share[variable.index(value)] = 1.0
    return BarCard(variable.name, state_bars(variable.labels, share, max_states), mark)


def _free_card(variable: Variable, belief: Any, mark: str, max_states: int) -> Card:
    if isinstance(belief, Univariate):
        return CurveCard(variable.name, belief, mark)
    bars = state_bars(list(belief.index), belief.to_numpy(), max_states)
    return BarCard(variable.name, bars, mark)

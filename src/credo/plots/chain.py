"""Draws of Markov chains as pictures: traces, ranks, pairs, autocorrelations, energies.

All take a `Posterior` of `credo.posterior`. A quantity is named as in its summary, ``"tau"`` or
``"eta[0]"``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from credo.inference.density.posterior import Posterior
from credo.inference.engine.draws import autocorrelation
from credo.numerics.array import Array
from credo.plots.drawing import COLORS
from credo.plots.style import GRAY, INK, ORANGE, axes_of, legend_above, tidy

__all__ = [
    "autocorrelation_plot",
    "chain_rank_plot",
    "energy_plot",
    "pair_plot",
    "trace_plot",
]

N_BINS = 20
MOST_LAGS = 50


def trace_plot(posterior: Posterior, name: str, ax: Axes | None = None) -> Axes:
    """Draw the values of each chain one after the other; divergent ones are marked below.

    Chains that agree lie over each other and look alike from end to end.

    Examples
    --------
    >>> import credo
    >>> from credo.inference import Parameter
    >>> from matplotlib.figure import Figure
    >>> found = credo.posterior(
    ...     lambda x: -0.5 * x**2, {"x": Parameter()}, inference="nuts", random_state=0
    ... )
    >>> ax = trace_plot(found, "x", Figure().subplots())
    >>> len(ax.lines), ax.get_ylabel()
    (4, 'x')
    """
    ax = axes_of(ax)
    series = _series(posterior, name)
    for chain, values in enumerate(series):
        color = COLORS[chain % len(COLORS)]
        ax.plot(values, color=color, linewidth=0.5, alpha=0.8, label=f"chain {chain + 1}")
    if "is_divergent" in posterior.facts and posterior.facts["is_divergent"].any():
        at = np.nonzero(posterior.facts["is_divergent"])[1]
        low = float(series.min())
        ax.plot(at, np.full(len(at), low), "|", color=INK, label="diverged")
    legend_above(ax, 5)
    return tidy(ax, "draw", name)


def chain_rank_plot(posterior: Posterior, name: str, ax: Axes | None = None) -> Axes:
    """Draw how the ranks of each chain among all draws are spread: evenly if chains agree."""
    ax = axes_of(ax)
    series = _series(posterior, name)
    ranks = series.ravel().argsort(kind="stable").argsort().reshape(series.shape)
    ends = np.linspace(0, series.size, N_BINS + 1)
    for chain, row in enumerate(ranks):
        counts = np.histogram(row, bins=ends)[0]
        color = COLORS[chain % len(COLORS)]
        ax.stairs(
            counts, ends, baseline=None, color=color, linewidth=1.2, label=f"chain {chain + 1}"
        )
    ax.axhline(series.shape[1] / N_BINS, color=GRAY, linewidth=0.8, linestyle="--")
    ax.set_ylim(bottom=0.0)
    legend_above(ax, 5)
    return tidy(ax, f"rank of {name} among all draws", "draws")


def pair_plot(posterior: Posterior, first: str, second: str, ax: Axes | None = None) -> Axes:
    """Draw two quantities against each other, divergent draws over the others.

    Where divergences gather, the density bends more sharply than steps can follow.
    """
    ax = axes_of(ax)
    x, y = (_series(posterior, name).ravel() for name in (first, second))
    ax.plot(x, y, ".", color=GRAY, markersize=2.5, alpha=0.5, label="draws")
    if "is_divergent" in posterior.facts and posterior.facts["is_divergent"].any():
        at = posterior.facts["is_divergent"].ravel() > 0
        ax.plot(x[at], y[at], ".", color=ORANGE, markersize=6, label="diverged")
        legend_above(ax)
    return tidy(ax, first, second)


def autocorrelation_plot(posterior: Posterior, name: str, ax: Axes | None = None) -> Axes:
    """Draw how alike draws are that lie some draws apart; soon none if a chain moves well."""
    ax = axes_of(ax)
    found = autocorrelation(_series(posterior, name))[: MOST_LAGS + 1]
    lags = np.arange(len(found))
    ax.vlines(lags, 0.0, found, color=COLORS[0], linewidth=2.0)
    ax.axhline(0.0, color=INK, linewidth=0.8)
    ax.set_ylim(min(-0.1, 1.1 * float(found.min())), 1.05)
    return tidy(ax, "draws apart", f"autocorrelation of {name}")


def energy_plot(posterior: Posterior, ax: Axes | None = None) -> Axes:
    """Draw the energies of draws, and their changes from one draw to the next.

    If changes are much narrower than the energies, tails are reached slowly.

    Raises
    ------
    ValueError
        If the posterior was not drawn along trajectories.
    """
    if "energy" not in posterior.facts:
        raise ValueError(
            f"energies must be those of trajectories; found draws by {posterior.method}. Draw "
            'with inference="nuts" or "hmc".'
        )
    ax = axes_of(ax)
    energy = posterior.facts["energy"]
    level, change = energy.ravel() - energy.mean(), np.diff(energy, axis=1).ravel()
    ends = np.linspace(min(level.min(), change.min()), max(level.max(), change.max()), 41)
    for values, color, label in (
        (level, COLORS[0], "energy, less its mean"),
        (change, COLORS[1], "change from draw to draw"),
    ):
        counts = np.histogram(values, bins=ends, density=True)[0]
        ax.stairs(counts, ends, color=color, fill=True, alpha=0.4, label=label)
    legend_above(ax, 2)
    ax.set_yticks([])
    return tidy(ax, "energy", "density")


def _series(posterior: Posterior, name: str) -> Array:
    """Return the draws of one number, shape (n_chains, n_draws)."""
    base, _, rest = name.partition("[")
    draws = posterior.draws[base]
    place = tuple(int(part) for part in rest.rstrip("]").split(",")) if rest else ()
    if len(place) != draws.ndim - 2:
        raise ValueError(
            f"name must be that of a single number; found {name!r} for a quantity of shape "
            f"{draws.shape[2:]}. Write its place, such as {base}[0]."
        )
    at: Any = (..., *place)
    return np.asarray(draws[at])

"""Draws as pictures: traces, ranks, pairs, autocorrelations, energies, weights, paths, checks.

Pictures of chains take a `Posterior` of `credo.posterior`. A quantity is named as in its
summary, ``"tau"`` or ``"eta[0]"``. Those of weights, of paths of Metropolis and of predictive
checks take what their engines and checks return.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from credo.inference.density.importance import ImportancePosterior
from credo.inference.density.posterior import Posterior, PredictiveCheck
from credo.inference.engine.draws import autocorrelation
from credo.inference.engine.engine import Inference
from credo.inference.engine.problem import Parameters
from credo.numerics.array import Array
from credo.numerics.special.log_domain import log_sum_exp
from credo.plots.drawing import COLORS
from credo.plots.style import GRAY, INK, ORANGE, axes_of, legend_above, tidy

__all__ = [
    "autocorrelation_plot",
    "chain_rank_plot",
    "energy_plot",
    "importance_weight_plot",
    "metropolis_path_plot",
    "pair_plot",
    "predictive_check_plot",
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


def importance_weight_plot(posterior: ImportancePosterior, ax: Axes | None = None) -> Axes:
    """Draw the weights of draws from the largest to the smallest, and the smoothed ones.

    Weights are in units of an even one. A few that stand far above the others carry all
    averages; k-hat says how heavy their tail is, and the title whether to trust them.

    Examples
    --------
    >>> from credo.inference import ImportanceSampling, run
    >>> from matplotlib.figure import Figure
    >>> example = ImportanceSampling.examples()[0]
    >>> found = run(example.it, example.arguments["problem"], np.random.default_rng(0))
    >>> ax = importance_weight_plot(found.posterior, Figure().subplots())
    >>> ax.get_ylabel()
    'weight over an even one'
    """
    ax = axes_of(ax)
    log_weight = posterior.raw_log_weight
    n = len(log_weight)
    raw = np.exp(log_weight - log_sum_exp(log_weight)) * n
    used = np.asarray(posterior.draws.weight) * n
    rank = np.arange(1, n + 1)
    for weight, color, label in (
        (raw, GRAY, "as drawn"),
        (used, COLORS[0], "as used"),
    ):
        ax.plot(rank, np.sort(weight)[::-1], color=color, linewidth=1.5, label=label)
    ax.axhline(1.0, color=INK, linewidth=0.8, linestyle="--")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(bottom=max(0.7 * float(min(raw.min(), used.min())), 1e-6 * float(used.max())))
    legend_above(ax, 2)
    words = "can be trusted" if posterior.is_trusted else "do not trust averages"
    worth = (
        f"k-hat {posterior.k_hat:.2f}, worth {posterior.effective_draws:.0f} of {n}: {words}"
    )
    return tidy(ax, f"draw, by its weight ({worth})", "weight over an even one")


def metropolis_path_plot(
    inference: Inference,
    parameters: Parameters,
    first: str,
    second: str,
    n_moves: int = 200,
    ax: Axes | None = None,
) -> Axes:
    """Draw the first moves of the first chain in two quantities, with those it refused.

    Parameters
    ----------
    inference
        What an engine with ``keeps_proposals=True`` found.
    parameters
        Names, shapes and supports of the problem.
    first, second
        Quantities, such as ``"x[0]"``.

    Raises
    ------
    ValueError
        If the proposals were not kept.
    """
    state = inference.state
    if not getattr(state, "proposals", np.empty((0, 0)))[:1].size:
        raise ValueError(
            "proposals must have been kept to be drawn; found none. Draw with "
            "Metropolis(keeps_proposals=True)."
        )
    ax = axes_of(ax)
    is_taken = state.is_accepted[0, :n_moves]
    at, to = (
        np.stack([_of(parameters.constrain(x[0, :n_moves]), name) for name in (first, second)])
        for x in (state.draws, state.proposals)
    )
    refused = np.flatnonzero(~is_taken & np.isfinite(to).all(axis=0))
    lines = np.stack([at[:, refused], to[:, refused]])
    ax.plot(lines[:, 0], lines[:, 1], color=ORANGE, linewidth=0.5, alpha=0.6)
    ax.plot(to[0, refused], to[1, refused], "x", color=ORANGE, markersize=4, label="refused")
    ax.plot(at[0], at[1], color=COLORS[0], linewidth=0.9)
    ax.plot(at[0], at[1], ".", color=COLORS[0], markersize=4, label="taken")
    ax.plot(at[0, :1], at[1, :1], "o", color=INK, markersize=6, label="start")
    legend_above(ax, 3)
    return tidy(ax, f"{first}, {is_taken.mean():.0%} of moves taken", second)


def predictive_check_plot(check: PredictiveCheck, name: str, ax: Axes | None = None) -> Axes:
    """Draw a statistic of simulated data sets, and where that of the data stands among them."""
    if name not in check.simulated:
        raise ValueError(
            f"name must be a statistic of the check, one of {list(check.simulated)}; found "
            f"{name!r}. Name one of them."
        )
    ax = axes_of(ax)
    simulated, seen = check.simulated[name], check.observed[name]
    ends = np.histogram_bin_edges(simulated, bins=30)
    counts = np.histogram(simulated, bins=ends)[0]
    label = f"simulated from the {check.source}"
    ax.stairs(counts, ends, color=COLORS[0], fill=True, alpha=0.4, label=label)
    ax.axvline(seen, color=ORANGE, linewidth=1.8, label="observed")
    legend_above(ax, 2)
    return tidy(ax, f"{name} ({check.share_above(name):.0%} above)", "data sets")


def _of(values: dict[str, Array], name: str) -> Array:
    """Return one number of values by name that have an axis of draws first."""
    base, place = _place(name)
    at: Any = (slice(None), *place)
    return np.asarray(values[base][at])


def _place(name: str) -> tuple[str, tuple[int, ...]]:
    """Return the name of a quantity and the place of the number in it."""
    base, _, rest = name.partition("[")
    return base, tuple(int(part) for part in rest.rstrip("]").split(",")) if rest else ()


def _series(posterior: Posterior, name: str) -> Array:
    """Return the draws of one number, shape (n_chains, n_draws)."""
    base, place = _place(name)
    draws = posterior.draws[base]
    if len(place) != draws.ndim - 2:
        raise ValueError(
            f"name must be that of a single number; found {name!r} for a quantity of shape "
            f"{draws.shape[2:]}. Write its place, such as {base}[0]."
        )
    at: Any = (..., *place)
    return np.asarray(draws[at])

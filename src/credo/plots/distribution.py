"""Distributions as curves, stems or histograms."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from credo.distributions.categorical import Categorical
from credo.distributions.distribution import Distribution
from credo.distributions.empirical import Empirical
from credo.distributions.predictive import Predictive
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array
from credo.plots.style import BLUE, GRAY, axes_of, legend_above, shortened, tidy

__all__ = ["density", "prior_posterior"]

N_POINTS = 400
TAIL = 5e-4


def density(
    distribution: Distribution,
    ax: Axes | None = None,
    label: str | None = None,
    color: str = BLUE,
    between: tuple[float, float] | None = None,
) -> Axes:
    """Draw one distribution: a curve if continuous, stems if discrete, a histogram of draws.

    Parameters
    ----------
    distribution
        One distribution of a number or a label; pick one of a batch with ``d[i]``, and a
        coordinate of a vector with its marginal.
    label
        Name in the legend, which the caller draws.
    between
        Smallest and largest outcome to show; all but one in a thousand if None.
    """
    ax = axes_of(ax)
    one = _one(distribution)
    if isinstance(one, Categorical):
        _stems(np.arange(float(len(one.labels))), one.probability, ax, label, color)
        names = [shortened(str(name), 16) for name in one.labels]
        ax.set_xticks(np.arange(len(names)), names, parse_math=False)
        return tidy(ax, y="probability")
    low, high = between or _range(one, TAIL)
    if isinstance(one, Empirical):
        _histogram(one, (low, high), ax, label, color)
        return tidy(ax, y="density")
    if one.is_discrete:
        outcomes = np.arange(np.ceil(low), np.floor(high) + 1)
        _stems(outcomes, one.prob(outcomes), ax, label, color)
        return tidy(ax, y="probability")
    x = _points(one, low, high)
    height = one.prob(x)
    ax.fill_between(x, height, color=color, alpha=0.18, lw=0)
    ax.plot(x, height, color=color, lw=1.8, label=label)
    ax.set_ylim(0, _ceiling(height, ax))
    return tidy(ax, y="density")


def prior_posterior(
    prior: Distribution,
    posterior: Distribution,
    ax: Axes | None = None,
    name: str = "parameter",
) -> Axes:
    """Draw what was believed before the data and after them, on one axis.

    Parameters
    ----------
    name
        What the distributions are about, for the axis.
    """
    ax = axes_of(ax)
    between = _shared_range(_one(prior), _one(posterior))
    density(prior, ax, "prior", GRAY, between)
    density(posterior, ax, "posterior", BLUE, between)
    legend_above(ax)
    return tidy(ax, name)


def _one(distribution: Distribution) -> Univariate | Categorical:
    one = distribution.marginal if isinstance(distribution, Predictive) else distribution
    if not isinstance(one, Univariate | Categorical) or one.batch_shape != ():
        raise ValueError(
            "density draws one distribution of a number or a label; found "
            f"{type(distribution).__name__} with batch shape {distribution.batch_shape} and "
            f"event shape {distribution.event_shape}. Pick one of a batch with d[i], a "
            "coordinate of a vector with its marginal."
        )
    return one


def _range(one: Univariate, tail: float) -> tuple[float, float]:
    """Return tail quantiles, but no more of heavy tails than leaves the body visible."""
    low, quarter, upper, high = one.quantile(np.array([tail, 0.25, 0.75, 1.0 - tail]))
    reach = 8.0 * (upper - quarter) or np.inf
    return float(max(low, quarter - reach)), float(min(high, upper + reach))


def _shared_range(prior: Distribution, posterior: Distribution) -> tuple[float, float] | None:
    """Return a range that shows the posterior whole, and as much of the prior as fits."""
    if not (isinstance(prior, Univariate) and isinstance(posterior, Univariate)):
        return None
    low, high = _range(posterior, TAIL)
    reach = 4.0 * (high - low)
    before = _range(prior, 10 * TAIL)
    return min(low, max(before[0], low - reach)), max(high, min(before[1], high + reach))


def _points(one: Univariate, low: float, high: float) -> Array:
    """Return outcomes, evenly spaced and at quantiles, so that no narrow peak is missed."""
    levels = np.linspace(TAIL, 1 - TAIL, N_POINTS)
    inside = one.quantile(levels)
    inside = inside[(inside >= low) & (inside <= high)]
    return np.union1d(np.linspace(low, high, N_POINTS), inside)


def _ceiling(height: Array, ax: Axes) -> float:
    """Return the top of the axis; a density that grows without limit at an end is cut."""
    finite = np.where(np.isfinite(height), height, 0.0)
    peak, middle = float(finite.max()), 8.0 * float(np.median(finite))
    is_at_end = int(np.argmax(finite)) in (0, 1, len(finite) - 2, len(finite) - 1)
    shown = min(peak, middle) if is_at_end and middle > 0 else peak
    before = ax.get_ylim()[1] if len(ax.lines) > 1 else 0.0
    return max(1.05 * shown, before)


def _stems(outcomes: Array, height: Array, ax: Axes, label: str | None, color: str) -> None:
    # Stems of several distributions stand side by side, not upon each other.
    shift = 0.12 * len(ax.containers)
    stems = ax.stem(outcomes + shift, height, basefmt=" ", label=label)
    stems.stemlines.set_color(color)
    stems.stemlines.set_linewidth(2.0)
    stems.markerline.set_color(color)
    stems.markerline.set_markersize(5.0)
    ax.set_ylim(0, max(1.08 * float(height.max()), ax.get_ylim()[1]))


def _histogram(
    one: Empirical, between: tuple[float, float], ax: Axes, label: str | None, color: str
) -> None:
    n_bins = int(np.clip(np.sqrt(len(one.draws)), 8, 60))
    ax.hist(
        one.draws,
        bins=n_bins,
        range=between,
        weights=one.weights,
        density=True,
        color=color,
        alpha=0.4,
        label=label,
    )

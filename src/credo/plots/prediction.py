"""Predictions beside what came true."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from credo.distributions.normal import Normal
from credo.distributions.univariate import Univariate
from credo.numerics.array import as_float
from credo.plots.style import BLUE, GRAY, INK, ORANGE, axes_of, legend_above, percent, tidy
from credo.validation.scores import is_covered

__all__ = ["predictions_against_truth", "residuals"]

N_SHOWN = 1000


def predictions_against_truth(
    predictive: Univariate, y: ArrayLike, ax: Axes | None = None, coverage: float = 0.9
) -> Axes:
    """Draw each predictive mean with its interval against the outcome.

    On the diagonal the mean was right; an interval that does not reach it has missed. Of
    more than a thousand rows every so many-th is shown; the legend counts them all. All means
    and outcomes are in the picture, but not the ends of intervals much wider than others.

    Parameters
    ----------
    predictive, y
        One distribution and one outcome per row.
    coverage
        Probability of the central intervals.
    """
    ax = axes_of(ax)
    outcomes = as_float(y)
    hit = is_covered(outcomes, predictive, coverage)
    mean, (low, high) = predictive.mean(), predictive.interval(coverage).T
    ends = [float(np.min([outcomes, mean])), float(np.max([outcomes, mean]))]
    ax.plot(ends, ends, "--", color=INK, lw=1.0, label="as predicted")
    rows = np.linspace(0, len(outcomes) - 1, min(len(outcomes), N_SHOWN)).astype(np.intp)
    strength = _strength(rows)
    named = {f"inside {percent(coverage)} interval": (hit, BLUE), "outside": (~hit, ORANGE)}
    for name, (is_named, color) in named.items():
        x, some = outcomes[rows[is_named[rows]]], rows[is_named[rows]]
        ax.vlines(x, low[some], high[some], color=color, lw=1.1, alpha=0.5 * strength)
        label = f"{name}: {is_named.sum():,}"
        (dots,) = ax.plot(x, mean[some], "o", color=color, ms=3.5, mew=0, label=label)
        dots.set_alpha(min(1.0, strength + 0.15))
    # The interval of one odd row may be so wide that it would flatten all others.
    margin = float(np.median(high - low))
    ax.set_ylim(ends[0] - margin, ends[1] + margin)
    legend_above(ax, n_columns=2)
    note = (
        f" ({len(rows):,} of {len(outcomes):,} rows shown)" if len(rows) < len(outcomes) else ""
    )
    return tidy(ax, f"outcome{note}", "prediction")


def residuals(
    predictive: Univariate, y: ArrayLike, ax: Axes | None = None, coverage: float = 0.9
) -> Axes:
    """Draw outcomes minus predictive means, in predictive standard deviations.

    A good model leaves a band without shape, as wide everywhere, most of it shaded.

    Parameters
    ----------
    predictive, y
        One distribution and one outcome per row.
    coverage
        Share of normal residuals that would lie in the shaded band.
    """
    ax = axes_of(ax)
    outcomes, mean = as_float(y), predictive.mean()
    units = (outcomes - mean) / predictive.std()
    reach = float(Normal(0.0, 1.0).quantile(0.5 + 0.5 * coverage))
    label = f"{percent(coverage)} of normal residuals"
    ax.axhspan(-reach, reach, color=GRAY, alpha=0.15, lw=0, label=label)
    ax.axhline(0.0, color=INK, lw=1.0)
    ax.plot(mean, units, "o", color=BLUE, ms=3.5, mew=0, alpha=min(1.0, _strength(mean) + 0.15))
    limit = 1.12 * max(3.0, float(np.abs(units).max(initial=0.0)))
    ax.set_ylim(-limit, limit)
    legend_above(ax)
    return tidy(ax, "prediction", "residual / predictive sd")


def _strength(rows: NDArray[Any]) -> float:
    """Return an opacity that keeps many points apart and few points visible."""
    return float(np.clip(12.0 / np.sqrt(max(len(rows), 1)), 0.2, 0.85))

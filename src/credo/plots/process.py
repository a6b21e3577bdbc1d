"""Gaussian processes: functions of the prior, a forecast, and the parts of a sum."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.random import Generator
from numpy.typing import ArrayLike

from credo.distributions.normal import Normal
from credo.features.kernels.kernel import Kernel
from credo.inference.kernel.process import GaussianProcess
from credo.numerics.array import as_float
from credo.plots.band import predictive_band
from credo.plots.style import BLUE, GRAY, INK, ORANGE, axes_of, legend_above, percent, tidy

__all__ = ["component_figure", "forecast_plot", "prior_functions"]

WIDTH, HEIGHT, ABOVE = 7.5, 1.9, 0.4
N_POINTS = 300

LEAST_STD = 1e-100
"""Standard deviation below which a part is known for sure: a constant less its average."""


def prior_functions(
    kernel: Kernel,
    X: ArrayLike,
    rng: Generator,
    ax: Axes | None = None,
    n: int = 5,
    coverage: float = 0.9,
) -> Axes:
    """Draw functions of the Gaussian process that a kernel is the covariance of.

    The band holds the value at each input with the given probability.

    Parameters
    ----------
    X
        The inputs from the least to the greatest of which is drawn, one column.
    """
    ax = axes_of(ax)
    x = np.linspace(np.min(X), np.max(X), N_POINTS)
    process = GaussianProcess(kernel)
    values = process.sample(rng, x[:, None], n)
    half = float(Normal(0.0, 1.0).quantile(0.5 + 0.5 * coverage))
    high = half * np.sqrt(kernel.diagonal(x[:, None]))
    ax.fill_between(x, -high, high, color=GRAY, alpha=0.18, lw=0, label=percent(coverage))
    for one in values:
        ax.plot(x, one, color=BLUE, lw=1.1, alpha=0.8)
    ax.margins(x=0)
    return tidy(ax, "x", "f(x)")


def forecast_plot(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    ahead: ArrayLike,
    y_ahead: ArrayLike | None = None,
    ax: Axes | None = None,
    coverage: float = 0.9,
) -> Axes:
    """Draw the last outcomes that were seen, and the band of those to come.

    Parameters
    ----------
    model
        A fitted model of one input, such as the time.
    X, y
        Inputs and outcomes that were seen.
    ahead
        Inputs to predict at.
    y_ahead
        What came there, if it is known; it is drawn in orange, and the title counts how much
        of it is in the band.
    coverage
        Probability of the band of outcomes, and of the function within it.
    """
    ax = axes_of(ax)
    later = as_float(ahead).reshape(-1, 1)
    predictive = model.predict_dist(later)
    predictive_band(predictive, later, None, ax, coverage)
    ax.plot(np.ravel(X), np.ravel(y), ".", color=INK, ms=4, mew=0, label="seen", zorder=1.5)
    if y_ahead is not None:
        came = as_float(y_ahead)
        low, high = predictive.interval(coverage).T
        inside = float(np.mean((low <= came) & (came <= high)))
        ax.plot(later[:, 0], came, ".", color=ORANGE, ms=4.5, mew=0, label="came")
        title = f"{percent(inside)} of what came is in the band"
        ax.set_title(title, loc="right", fontsize="small")
    legend_above(ax, 5)
    return tidy(ax, "x", "y")


def component_figure(
    model: Any, X: ArrayLike, coverage: float = 0.9, titles: dict[str, str] | None = None
) -> Figure:
    """Draw each part of a sum of kernels in a panel of its own, over one input.

    Each part is drawn less its average over ``X``, since levels of parts are hardly known: what
    one has less another may have more.

    Parameters
    ----------
    model
        A fitted `GaussianProcessRegressor` of one input.
    X
        Inputs at which the parts are drawn.
    coverage
        Probability of the bands.
    titles
        What to call the parts, by the names that ``model.components`` gives them; parts that
        are not named here are left out. All of them, with their kernels, if None.
    """
    inputs = np.sort(as_float(X).ravel())
    parts = model.components(inputs[:, None], centered=True)
    parts = {name: part for name, part in parts.items() if np.any(part.std() > LEAST_STD)}
    names = titles if titles is not None else _titles(model.kernel_, list(parts))
    size = (WIDTH, HEIGHT * len(names) + ABOVE)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(names), 1, sharex=True, squeeze=False).ravel()
    for ax, (name, title) in zip(axes, names.items(), strict=True):
        part = parts[name]
        low, high = part.interval(coverage).T
        ax.fill_between(inputs, low, high, color=BLUE, alpha=0.25, lw=0)
        ax.plot(inputs, part.mean(), color=BLUE, lw=1.3)
        ax.set_title(title, loc="left", fontsize="small", color=INK)
        ax.margins(x=0)
        tidy(ax)
    tidy(axes[-1], "x")
    return figure


def _titles(kernel: Kernel, names: list[str]) -> dict[str, str]:
    """Return a title for each part: its kernel, or that it is the mean."""
    rounded = re.compile(r"\d+\.\d{4,}")
    kernels = {
        f"part{k}": rounded.sub(lambda found: f"{float(found[0]):.4g}", repr(part))
        for k, part in enumerate(kernel.addends, start=1)
    }
    return {name: kernels.get(name, "mean function") for name in names}

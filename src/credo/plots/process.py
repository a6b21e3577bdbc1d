"""Functions of one input: what a model believes of them, and Gaussian processes.

A band shows the function, and another the outcomes around it, of any model. Of a Gaussian
process there are functions of the prior, a forecast, and the parts of a sum.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.random import Generator
from numpy.typing import ArrayLike

from credo.distributions.normal import Normal
from credo.distributions.predictive import Predictive
from credo.features.kernels.kernel import Kernel
from credo.inference.kernel.process import GaussianProcess
from credo.numerics.array import Array, as_float
from credo.plots.style import BLUE, GRAY, INK, ORANGE, axes_of, legend_above, percent, tidy
from credo.validation.predictive import predict_dist

__all__ = ["component_figure", "forecast_plot", "predictive_band", "prior_functions"]

N_POINTS, MARGIN = 300, 0.08
WIDTH, HEIGHT, ABOVE = 7.5, 1.9, 0.4

LEAST_STD = 1e-100
"""Standard deviation below which a part is known for sure: a constant less its average."""


def predictive_band(
    model: Any,
    X: ArrayLike,
    y: ArrayLike | None,
    ax: Axes | None = None,
    coverage: float = 0.9,
    n_functions: int = 0,
    rng: Generator | None = None,
) -> Axes:
    """Draw mean, band of the function and band of outcomes against one input.

    The inner band holds the function with the given probability; more data make it narrow.
    The outer band holds the next outcome, noise included; it stays.

    Parameters
    ----------
    model
        A fitted model of one input, drawn a little beyond the range of ``X``; or its
        `Predictive` at the rows of ``X``, drawn there.
    X, y
        Inputs, shape (n,) or (n, 1), and outcomes to show as points; ``y`` may be None.
    coverage
        Probability of both bands.
    n_functions, rng
        How many functions to draw from the posterior, and what draws them.
    """
    ax = axes_of(ax)
    inputs = _one_column(X)
    if isinstance(model, Predictive):
        order = np.argsort(inputs, kind="stable")
        x, predictive = inputs[order], model[order]
    else:
        x = _grid(inputs)
        predictive = predict_dist(model, x[:, None])
    mean, outcomes = predictive.mean(), predictive.interval(coverage)
    function = _function_interval(predictive, mean, outcomes)
    share = percent(coverage)
    ax.fill_between(x, *outcomes.T, color=BLUE, alpha=0.14, lw=0, label=f"outcome, {share}")
    ax.fill_between(x, *function.T, color=BLUE, alpha=0.34, lw=0, label=f"function, {share}")
    if n_functions:
        _draw_functions(model, x, n_functions, rng, ax)
    ax.plot(x, mean, color=BLUE, lw=1.8, label="mean")
    if y is not None:
        ax.plot(inputs, as_float(y), "o", color=INK, ms=3.5, alpha=0.75, mew=0, label="data")
    ax.margins(x=0)
    legend_above(ax)
    return tidy(ax, "x", "y")


def _one_column(X: ArrayLike) -> Array:
    inputs = as_float(X)
    columns = inputs.reshape(len(inputs), -1)
    if columns.shape[1] != 1 or not len(inputs):
        raise ValueError(
            f"predictive_band needs rows with one input; found shape {inputs.shape}. For more "
            "inputs draw predictions_against_truth, or vary one column with the others held."
        )
    return columns[:, 0]


def _grid(inputs: Array) -> Array:
    low, high = inputs.min(), inputs.max()
    margin = MARGIN * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, N_POINTS)


def _function_interval(predictive: Predictive, mean: Array, outcomes: Array) -> Array:
    """Return the outcome's interval, shrunk to the share of its spread that is not noise."""
    total = np.hypot(predictive.epistemic_std, predictive.aleatoric_std)
    share = predictive.epistemic_std / np.where(total > 0, total, 1.0)
    return np.asarray(mean[:, None] + (outcomes - mean[:, None]) * share[:, None])


def _draw_functions(model: Any, x: Array, n: int, rng: Generator | None, ax: Axes) -> None:
    if not hasattr(model, "sample_functions"):
        raise TypeError(
            "n_functions needs a model that can draw functions; found "
            f"{type(model).__name__}. Pass a fitted LinearRegression, or n_functions=0."
        )
    functions = model.sample_functions(x[:, None], n, random_state=rng)
    lines = ax.plot(x, functions.T, color=BLUE, lw=0.7, alpha=0.55)
    lines[0].set_label("functions drawn")


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

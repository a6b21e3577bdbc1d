"""What a model of one input believes: the function, and the outcomes around it."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.random import Generator
from numpy.typing import ArrayLike

from credo.distributions.predictive import Predictive
from credo.numerics.array import Array, as_float
from credo.plots.style import BLUE, INK, axes_of, legend_above, percent, tidy
from credo.validation.predictive import predict_dist

__all__ = ["predictive_band"]

N_POINTS = 300
MARGIN = 0.08


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

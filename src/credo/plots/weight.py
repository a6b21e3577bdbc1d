"""Weights of a linear model with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.plots.drawing import Weights
from credo.plots.style import axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["weights"]

Order = Literal["certainty", "size"]


def weights(
    table: pd.DataFrame, ax: Axes | None = None, n_terms: int = 15, order: Order = "certainty"
) -> Axes:
    """Draw the weights that matter most, each with its interval.

    Intervals that hold zero are gray: their sign is not known. Where weights differ by more
    than a page can show, the axis is logarithmic away from zero, and says so.

    Parameters
    ----------
    table
        One row for each term, with "mean", "sd", "low" and "high", as
        `LinearRegression.coefficients` gives.
    n_terms
        How many terms to show at most, the first in their order.
    order
        "certainty" puts the largest ``|mean| / sd`` first, which is fair where terms have
        units of their own; "size" the largest ``|mean|``, for terms in the same unit.
    """
    missing = [name for name in ("mean", "sd", "low", "high") if name not in table]
    if missing or table.empty:
        raise ValueError(
            f"table must have rows, and columns mean, sd, low and high; found {len(table)} "
            f"rows with {list(table.columns)}. Pass model.coefficients()."
        )
    if order not in get_args(Order):
        raise ValueError(f'order must be "certainty" or "size"; found {order!r}.')
    shown = table.iloc[_places(table, order)[:n_terms]]
    mean, low, high = (
        shown[name].to_numpy(dtype=np.float64) for name in ("mean", "low", "high")
    )
    names = tuple(str(name) for name in shown.index)
    return Weights(names, mean, low, high, len(table)).draw(axes_of(ax))


def _places(table: pd.DataFrame, order: Order) -> NDArray[np.intp]:
    mean, sd = table["mean"].to_numpy(np.float64), table["sd"].to_numpy(np.float64)
    if order == "size":
        return np.argsort(-np.abs(mean), kind="stable")
    with np.errstate(divide="ignore", invalid="ignore"):
        certainty = np.where(mean == 0, 0.0, np.abs(mean) / sd)
    return np.argsort(-certainty, kind="stable")

"""Models side by side: how well the data support each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from credo.inference.model_evidence import model_posterior
from credo.numerics.array import as_float
from credo.plots.style import BLUE, GRAY, INK, ORANGE, legend_above, shortened, tidy
from credo.plots.wording import probability as written

__all__ = ["evidence_against_complexity", "model_comparison"]


def evidence_against_complexity(
    labels: Sequence[object],
    log_evidences: ArrayLike,
    ax: Axes,
    prior: ArrayLike | None = None,
) -> Axes:
    """Draw log evidence from the simplest to the richest model, with their probabilities.

    Parameters
    ----------
    labels
        What each model is called, simplest first, such as its polynomial degree.
    log_evidences
        Log evidence of each; the line.
    prior
        Prior probability of each, equal if None; probabilities are the bars, on an axis of
        their own at the right.
    """
    evidences = as_float(log_evidences)
    if len(labels) != len(evidences):
        raise ValueError(
            f"labels must name every model; found {len(labels)} labels for {len(evidences)} "
            "log evidences. Pass one label for each."
        )
    probability = model_posterior(evidences, prior)
    x = np.arange(len(evidences))
    bars = ax.twinx()
    bars.bar(x, probability, width=0.62, color=BLUE, alpha=0.25)
    bars.set_ylim(0, 1)
    bars.set_ylabel("posterior probability", color=BLUE)
    bars.tick_params(axis="y", colors=BLUE)
    bars.spines[["top", "left"]].set_visible(False)
    ax.plot(x, evidences, "o-", color=INK, lw=1.5, ms=4.5)
    best = int(np.argmax(evidences))
    ax.plot(x[best], evidences[best], "o", color=ORANGE, ms=7.5, label="highest evidence")
    ax.set_xticks(x, [shortened(str(label), 16) for label in labels], parse_math=False)
    # The line lies above the bars, which belong to the axes that are drawn last by default.
    ax.set_zorder(bars.get_zorder() + 1)
    ax.patch.set_visible(False)
    ax.margins(y=0.12)
    legend_above(ax)
    return tidy(ax, "model", "log evidence")


def model_comparison(table: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the posterior probability of each model as a bar, in the order of the table.

    Parameters
    ----------
    table
        One row for each model, by name, with "log_evidence" and "probability", as
        `ModelAverage.table` gives; a "log_score" (and "log_score_error") is written under
        the name of its model as well.
    """
    missing = [name for name in ("log_evidence", "probability") if name not in table]
    if missing or table.empty:
        raise ValueError(
            f"table must have rows, and columns log_evidence and probability; found "
            f"{len(table)} rows with {list(table.columns)}. Pass ModelAverage.table()."
        )
    y = np.arange(len(table))
    probability = table["probability"].to_numpy(dtype=np.float64)
    colors = [BLUE if p == probability.max() else GRAY for p in probability]
    ax.barh(y, probability, height=0.6, color=colors, alpha=0.75)
    for row, share in enumerate(probability):
        ax.text(share + 0.015, row, written(share), va="center", color=INK)
    ax.set_yticks(y, [_words(table.iloc[row]) for row in y], linespacing=1.4, parse_math=False)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.14)
    ax.set_xticks(np.linspace(0, 1, 5))
    return tidy(ax, "posterior probability")


def _words(row: pd.Series[float]) -> str:
    """Return the name of a model, and its numbers on a line below."""
    words = f"{shortened(str(row.name))}\nlog evidence {row['log_evidence']:.1f}"
    if "log_score" in row:
        words += f"\nlog score {row['log_score']:.3f}"
    if "log_score_error" in row:
        words += f" ± {row['log_score_error']:.3f}"
    return words

"""Models side by side: how well the data support each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from credo.evaluation.comparison.comparison import Comparison
from credo.evaluation.comparison.verdict import Verdict
from credo.inference.engine.model_evidence import model_posterior
from credo.numerics.array import as_float
from credo.plots.drawing import Shares
from credo.plots.style import BLUE, GRAY, INK, ORANGE, axes_of, legend_above, shortened, tidy

__all__ = ["comparison", "evidence_against_complexity", "model_comparison"]

SCORES = {
    "log_score": "log score per row",
    "accuracy": "accuracy",
    "rmse": "negative RMSE in standard deviations",
    "mae": "negative mean absolute error in standard deviations",
}
VERDICTS = {
    "better": "worse",
    "practically equal": "practically equal",
    "not distinguishable": "not distinguishable",
}


def evidence_against_complexity(
    labels: Sequence[object],
    log_evidences: ArrayLike,
    ax: Axes | None = None,
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
    ax = axes_of(ax)
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


def model_comparison(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
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
    labels = tuple(_words(table.iloc[row]) for row in range(len(table)))
    shares = table["probability"].to_numpy(dtype=np.float64)
    return Shares(labels, shares, "posterior probability").draw(axes_of(ax))


def comparison(result: Comparison, ax: Axes | None = None, by: str | None = None) -> Axes:
    """Draw how far each model is behind the leading one, with the verdict on the difference.

    A bar that reaches zero is a difference that the rows at hand do not show. Differences
    within the shaded band do not matter in practice.

    Parameters
    ----------
    result
        What `credo.compare` gives.
    by
        "log_score", "accuracy", "rmse" or "mae"; the first of them that has verdicts if None.
    """
    ax = axes_of(ax)
    verdicts = _against_the_leader(result, by)
    leader, score = verdicts[0].first, verdicts[0].by
    y = np.arange(1, len(verdicts) + 1)
    farthest = max(verdict.high for verdict in verdicts)
    for place, verdict in zip(y, verdicts, strict=True):
        color = {"better": GRAY, "practically equal": BLUE}.get(verdict.kind, ORANGE)
        is_near = verdict.difference < 0.25 * farthest
        ax.plot([-verdict.low, -verdict.high], [place, place], color=color, lw=2.5, alpha=0.7)
        ax.plot(-verdict.difference, place, "o", color=color, ms=6.5)
        ax.annotate(
            VERDICTS[verdict.kind],
            (-verdict.difference, place),
            xytext=(-4 if is_near else 0, 7),
            textcoords="offset points",
            # Left of the line at zero, which would cross it.
            ha="right" if is_near else "center",
            fontsize="small",
            color=color,
        )
    ax.plot(0.0, 0, "D", color=INK, ms=6.5)
    ax.axvline(0.0, color=INK, lw=0.8)
    if result.rope > 0:
        ax.axvspan(-result.rope, result.rope, color=BLUE, alpha=0.08, lw=0)
    names = [leader, *(verdict.second for verdict in verdicts)]
    ax.set_yticks(np.append(0, y), [_scored(result, name) for name in names], linespacing=1.4)
    ax.set_ylim(len(verdicts) + 0.6, -0.6)
    is_error = score == "accuracy" and result.kind == "regressor"
    title = "negative squared error" if is_error else SCORES[score]
    return tidy(ax, f"{title}, less that of {shortened(leader)}")


def _against_the_leader(result: Comparison, by: str | None) -> list[Verdict]:
    """Return the verdicts on the leading model and each other, the closest first."""
    scores = [by] if by else [s for s in result.by if s != "evidence"]
    for score in scores:
        verdicts = [v for v in result.verdicts if v.by == score and score in SCORES]
        followers = {v.second for v in verdicts}
        led = [v for v in verdicts if v.first not in followers]
        if led:
            return sorted(led, key=lambda v: v.difference)
    raise ValueError(
        f"result must hold verdicts by one of {list(SCORES)}; found none by "
        f"{scores}. Compare by one of them, with at least two models that have it."
    )


def _scored(result: Comparison, name: str) -> str:
    """Return the name of a model, and its held-out numbers on a line below."""
    row = result.table.loc[name]
    words = []
    if np.isfinite(row["log_score"]):
        words.append(f"log score {row['log_score']:.3f}")
    if "error_rate" in row:
        words.append(f"error {100 * row['error_rate']:.1f} %")
    if "rmse" in row:
        words.append(f"RMSE {row['rmse']:.3g}")
    return f"{shortened(name)}\n{', '.join(words)}"


def _words(row: pd.Series[float]) -> str:
    """Return the name of a model, and its numbers on a line below."""
    words = f"{shortened(str(row.name))}\nlog evidence {row['log_evidence']:.1f}"
    if np.isfinite(row.get("log_score", np.nan)):
        words += f"\nlog score {row['log_score']:.3f}"
        if "log_score_error" in row:
            words += f" ± {row['log_score_error']:.3f}"
    return words

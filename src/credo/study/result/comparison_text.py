"""A comparison of models in words: the cells of its table, and verdicts by each score."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from credo.evaluation.comparison.comparison import Comparison
from credo.evaluation.comparison.comparison import score_title as title_of
from credo.evaluation.comparison.verdict import Verdict
from credo.study.result.wording import number, plus_minus, spread

__all__ = ["comparison_rows", "said_by", "score_title", "shown_scores"]

ALL_PAIRS = 3
"""Up to so many models every pair is named; of more the leader's, and those that decide."""


def comparison_rows(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Return headings and cells of the table of models."""
    is_classes = comparison.kind == "classifier"
    middle = ["error", "MCC"] if is_classes else ["RMSE"]
    headings = ["model", "log score", *middle, "log evidence", "probability", "weight"]
    rows = []
    for name, row in comparison.table.iterrows():
        numbers = (
            [
                spread(row["error_rate"], row["error_rate_low"], row["error_rate_high"], True),
                f"{row['mcc']:.2f}",
            ]
            if is_classes
            else [f"{number(row['rmse'])} ± {number(row['rmse_error'], 2)}"]
        )
        evidence = row["log_evidence"]
        rows.append(
            [
                str(name),
                plus_minus(row["log_score"], row["log_score_error"], 3),
                *numbers,
                f"{evidence:,.1f}" if np.isfinite(evidence) else "-",
                _share(row["probability"]),
                _share(row["stacking_weight"]),
            ]
        )
    return headings, rows


def shown_scores(comparison: Comparison) -> list[str]:
    """Return the scores in the order they are shown: what all models have before evidence."""
    return sorted(comparison.by, key=lambda score: score == "evidence")


def score_title(comparison: Comparison, score: str) -> str:
    """Return a score in words; for numbers accuracy is the squared error."""
    return title_of(score, comparison.kind)


def said_by(comparison: Comparison, score: str) -> tuple[str, list[str]]:
    """Return which model is best by a score, if any is, and the verdicts worth telling."""
    verdicts = [verdict for verdict in comparison.verdicts if verdict.by == score]
    if not verdicts:
        return "nothing can be said.", []
    return comparison.standing(score), [f"{v}." for v in _worth_telling(comparison, verdicts)]


def _worth_telling(comparison: Comparison, verdicts: list[Verdict]) -> Iterator[Verdict]:
    if len(comparison.names) <= ALL_PAIRS:
        yield from verdicts
        return
    firsts = [verdict.first for verdict in verdicts]
    leader = max(comparison.names, key=firsts.count)
    deciding = comparison.deciding(verdicts[0].by)
    yield from (v for v in verdicts if leader in (v.first, v.second) or v in deciding)


def _share(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"

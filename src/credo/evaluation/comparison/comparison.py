"""The outcome of a comparison of models: a table, verdicts in words, and what to beware of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.evaluation.comparison.verdict import Verdict
from credo.numerics.array import Array
from credo.numerics.markup import html_page, html_table
from credo.numerics.quotation import quote

__all__ = ["Comparison", "score_title"]

TITLES = {
    "log_score": "log score",
    "accuracy": "accuracy",
    "evidence": "evidence",
    "rmse": "RMSE",
    "mae": "mean absolute error",
}

MOST_PAIRS = 4
"""So many pairs that leave the best open are named, and the number of those beyond."""


def score_title(score: str, kind: str) -> str:
    """Return a score of classifiers or regressors in words.

    Examples
    --------
    >>> score_title("accuracy", "regressor")
    'squared error'
    """
    is_error = score == "accuracy" and kind == "regressor"
    return "squared error" if is_error else TITLES[score]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Models on the same rows and folds, and what may be said of each pair.

    Attributes
    ----------
    table
        One row for each model, by name: mean held-out "log_score" with "log_score_error", and
        "n_impossible", the rows whose outcome it gave probability zero (its mean is then minus
        infinity, which is no score to compare by);
        "error_rate" with "error_rate_low" and "error_rate_high", and "mcc" (for regressors
        "rmse" with "rmse_error", "mae" with "mae_error"); "log_evidence", "evidence_method" and
        "probability", the posterior among models of comparable evidence; "stacking_weight";
        "fit_seconds".
    verdicts
        One for each pair and each of ``by``.
    by
        The scores that models were compared by, the first being the main one.
    log_scores
        Log score of each held-out row under each model, shape (n_models, n_rows).
    fold
        Fold of each row; -1 where it was never held out.
    errors
        Why a model could not be fitted, by name.
    notes
        What a reader must know besides.
    kind
        "classifier" or "regressor".
    level
        How sure a verdict must be.
    rope
        Difference that does not matter.
    """

    table: pd.DataFrame
    verdicts: tuple[Verdict, ...]
    by: tuple[str, ...]
    log_scores: Array
    fold: NDArray[np.intp]
    errors: Mapping[str, str]
    notes: tuple[str, ...]
    kind: str
    level: float
    rope: float

    @property
    def names(self) -> list[str]:
        """Names of the models that could be fitted."""
        return [str(name) for name in self.table.index]

    @property
    def probability(self) -> pd.Series[float]:
        """Posterior probability of the models of comparable evidence; NaN for the others."""
        return self.table["probability"]

    @property
    def stacking_weights(self) -> pd.Series[float]:
        """Weights of the mixture of models that predicts held-out rows best."""
        return self.table["stacking_weight"]

    def verdict(self, first: str, second: str, by: str | None = None) -> Verdict:
        """Return what may be said of two models, in any order.

        Parameters
        ----------
        by
            One of the scores compared by; the first that has verdicts if None.
        """
        score = self._score(by)
        for verdict in self.verdicts:
            if verdict.by == score and {verdict.first, verdict.second} == {first, second}:
                return verdict
        raise KeyError(
            f"first and second must be two models with a verdict by {score}; found "
            f"{quote(first)} and {quote(second)}. The models are {quote(self.names)}."
        )

    def best(self, by: str | None = None) -> str | None:
        """Return the model that is better than every other it can be compared with, or None.

        None means that no such claim is justified; see `contenders`.
        """
        verdicts = self._of(self._score(by))
        compared = {name for v in verdicts for name in (v.first, v.second)}
        for name in self.names:
            wins = [v for v in verdicts if v.first == name and v.kind == "better"]
            if name in compared and len(wins) == len(compared) - 1:
                return name
        return None

    def contenders(self, by: str | None = None) -> list[str]:
        """Return the models that no other is better than, as far as the rows show."""
        verdicts = self._of(self._score(by))
        compared = {name for v in verdicts for name in (v.first, v.second)}
        beaten = {v.second for v in verdicts if v.kind == "better"}
        return [name for name in self.names if name in compared - beaten]

    def deciding(self, by: str | None = None) -> list[Verdict]:
        """Return the verdicts that decide which models are unbeaten.

        All between two of them, none of which is better; and for each model that is beaten its
        clearest defeat.
        """
        score = self._score(by)
        verdicts, unbeaten = self._of(score), self.contenders(score)
        beaten = [v for v in verdicts if v.kind == "better"]
        defeats: dict[str, Verdict] = {}
        for verdict in sorted(beaten, key=lambda v: -v.probability):
            defeats.setdefault(verdict.second, verdict)
        return [
            v
            for v in verdicts
            if {v.first, v.second} <= set(unbeaten) or defeats.get(v.second) is v
        ]

    def standing(self, by: str | None = None) -> str:
        """Return which model is best, or which are unbeaten and why none of them is best."""
        score = self._score(by)
        best, unbeaten = self.best(score), self.contenders(score)
        compared = {name for v in self._of(score) for name in (v.first, v.second)}
        among = "" if len(compared) == len(self.names) else f" of the {len(compared)} compared"
        if best:
            return f"{best} is best{among}."
        open_pairs = [
            f"{v.first} and {v.second} are {v.kind}"
            for v in self.deciding(score)
            if v.kind != "better"
        ]
        shown = "; ".join(open_pairs[:MOST_PAIRS])
        more = len(open_pairs) - MOST_PAIRS
        rest = f"; and so on for {more} more pair{'s' * (more > 1)}" if more > 0 else ""
        return f"No single best{among}; unbeaten: {', '.join(unbeaten)} ({shown}{rest})."

    def verdict_table(self) -> pd.DataFrame:
        """Return all verdicts as a table, one row for each pair and score."""
        return pd.DataFrame([vars(verdict) for verdict in self.verdicts])

    def _repr_html_(self) -> str:
        """Return the comparison as notebooks show it: table, who leads, verdicts and notes."""
        rows = [_row(self.table.loc[name], self.by) for name in self.table.index]
        headings = ["model", *(rows[0] if rows else ())]
        cells = [[name, *row.values()] for name, row in zip(self.names, rows, strict=True)]
        said = "".join(_folded(*self._said(score)) for score in self.by)
        lines = [f"{name} failed: {error}" for name, error in self.errors.items()]
        lines += [f"Note: {note}" for note in self.notes]
        return html_page(self._head(), html_table(headings, cells), said, lines=lines)

    def __str__(self) -> str:
        """Return the comparison as text: table, verdicts, notes."""
        parts = [self._head(), "", self._numbers(), ""]
        for score in self.by:
            head, *lines = self._said(score)
            parts += (
                [head, *(f"  {line}" for line in lines), ""]
                if lines[1:]
                else [
                    f"{head} {lines[0]}",
                    "",
                ]
            )
        parts += [f"{name} failed: {error}" for name, error in self.errors.items()]
        parts += [f"Note: {note}" for note in self.notes]
        return "\n".join(parts).rstrip()

    def _head(self) -> str:
        """Return what was compared, and on which rows."""
        is_judged = self.fold >= 0
        n_folds = len(np.unique(self.fold[is_judged]))
        part = "" if is_judged.all() else f"{is_judged.sum():,} of them held out, "
        return (
            f"{len(self.table)} {self.kind}s on {len(self.fold):,} rows, {part}each predicted "
            f"by models fitted without its fold ({n_folds} fold{'s' * (n_folds > 1)})"
        )

    def _said(self, score: str) -> list[str]:
        """Return what may be said by a score: a heading, the verdicts, and who leads."""
        verdicts = [f"{verdict}." for verdict in self._of(score)]
        end = self.standing(score) if verdicts else "nothing can be said."
        return [f"By {score_title(score, self.kind)}:", *verdicts, end]

    def _of(self, score: str) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.by == score]

    def _score(self, by: str | None) -> str:
        if by is not None and by not in self.by:
            raise ValueError(f"by must be one of {list(self.by)}; found {by!r}. Compare by it.")
        judged = [score for score in self.by if self._of(score) and score != "evidence"]
        return by or (judged or list(self.by))[0]

    def _numbers(self) -> str:
        """Return the table with each number beside its uncertainty."""
        rows = [_row(self.table.loc[name], self.by) for name in self.table.index]
        frame = pd.DataFrame(rows, index=self.table.index)
        frame.index.name = None
        return frame.to_string()


def _folded(head: str, *lines: str) -> str:
    """Return what is said by a score as HTML: the last line, and the others on demand."""
    end = f"{escape(head)} {escape(lines[-1])}"
    if len(lines) < 2:
        return f"<p>{end}</p>"
    items = "".join(f"<li>{escape(line)}</li>" for line in lines[:-1])
    return f"<details><summary>{end}</summary><ul>{items}</ul></details>"


def _row(row: pd.Series[float], by: tuple[str, ...]) -> dict[str, str]:
    """Return the numbers of one model in words."""
    shown = {"log score": "-"}
    if np.isfinite(row["log_score"]):
        shown["log score"] = f"{row['log_score']:.3f} ± {row['log_score_error']:.3f}"
    if "error_rate" in row:
        low, high = 100 * row["error_rate_low"], 100 * row["error_rate_high"]
        shown["error rate"] = f"{100 * row['error_rate']:.1f} % ({low:.1f} to {high:.1f})"
        shown["MCC"] = f"{row['mcc']:.2f}"
    if "rmse" in row:
        shown["RMSE"] = f"{row['rmse']:.4g} ± {row['rmse_error']:.2g}"
    if "mae" in by:
        shown["MAE"] = f"{row['mae']:.4g} ± {row['mae_error']:.2g}"
    if np.isfinite(row["log_evidence"]):
        shown["log evidence"] = f"{row['log_evidence']:.1f} ({row['evidence_method']})"
    else:
        shown["log evidence"] = "-"
    shown["probability"] = _share(row["probability"])
    shown["weight"] = _share(row["stacking_weight"])
    shown["fit"] = f"{row['fit_seconds']:.3f} s"
    return shown


def _share(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}"

"""Results on a terminal: one table, then sentences; what is machine-readable stays plain."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from credo.app.class_finding import class_findings
from credo.app.class_slate import STACK
from credo.app.classification_result import ClassificationResult
from credo.app.console import (
    print_finding,
    print_notes,
    print_sentence,
    print_table,
    progress_bar,
    stderr,
    stdout,
)
from credo.app.data_summary import DataSummary
from credo.app.decision_finding import DECISION_HEADINGS, decision_cells
from credo.app.finding import findings
from credo.app.result import RegressionResult
from credo.app.slate import AVERAGE
from credo.app.wording import class_score_cells, count, percent, score_cells
from credo.data.table_classification import ClassScore
from credo.data.table_regression import CandidateScore

__all__ = [
    "Result",
    "print_class_scores",
    "print_notes",
    "print_result",
    "print_scores",
    "print_table",
    "progress_bar",
    "stderr",
    "stdout",
]

Result = RegressionResult | ClassificationResult

_HEADINGS = (
    "log\nevidence",
    "proba-\nbility",
    "cv\nweight",
    "cv\nlog score",
    "test\nlog score",
    "test\nRMSE",
)
_CLASS_HEADINGS = ("\nweight", "cv\nlog score", "test\nlog score", "test\nerror", "test\nMCC")


def print_result(console: Console, result: Result) -> None:
    """Print what was found: the data in a line, the table of candidates, the sentences."""
    console.print(Text(_data_line(result.data)))
    for note in (*result.data.notes, *result.slate_notes):
        print_sentence(console, "·", note, "dim")
    console.print()
    if isinstance(result, RegressionResult):
        print_scores(console, result.scores, result.settings.coverage, result.winner.name)
        said = findings(result)
    else:
        print_class_scores(console, result.scores, result.winner.name)
        _print_decisions(console, result)
        said = class_findings(result)
    console.print()
    for finding in said:
        print_finding(console, finding)


def print_scores(
    console: Console, scores: Iterable[CandidateScore], coverage: float, winner: str
) -> None:
    """Print the candidates, the most probable one in bold, and their average last."""
    rows = [score_cells(score) for score in scores]
    headings = (*_HEADINGS, f"{percent(coverage)}\ncover")
    print_table(console, ("\nmodel", *headings), rows, (winner, AVERAGE), AVERAGE)
    explained = (
        "Evidence and cv are of training rows, the others of test rows; ± standard error.",
        "Probability is by evidence and weighs the average; cv weight is by cv log score.",
    )
    console.print(Text("\n".join(explained), "dim"))


def print_class_scores(console: Console, scores: Iterable[ClassScore], winner: str) -> None:
    """Print the classifiers, the best one in bold, and their stack last."""
    rows = [class_score_cells(score, STACK, digits=2) for score in scores]
    print_table(console, ("\nmodel", *_CLASS_HEADINGS), rows, (winner, STACK), STACK)
    explained = (
        "cv is of training rows in folds, the others of test rows; ± standard error, and 95 %",
        "intervals in brackets. The stack predicts; its weights are those with the best cv log",
        "score. MCC is Matthews' correlation: 1 is perfect, 0 is chance.",
    )
    console.print(Text("\n".join(explained), "dim"))


def _print_decisions(console: Console, result: ClassificationResult) -> None:
    if result.decisions is not None:
        console.print()
        cells = decision_cells(result.decisions)
        print_table(console, DECISION_HEADINGS, cells, ("decisions",))


def _data_line(data: DataSummary) -> str:
    n_used = len(data.schema.used)
    return (
        f"{data.name}: {count(data.n_rows, 'row')}, {count(n_used, 'column')} used to predict "
        f"{data.target!r}; {data.n_train:,} rows to learn from, {data.n_test:,} held out as a "
        "test."
    )

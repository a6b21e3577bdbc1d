"""The scores of candidates as one table on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from credo.app.console.console import print_table
from credo.study.candidates.candidate import STACK
from credo.study.candidates.slate import AVERAGE
from credo.study.result.table_model import CandidateScore, ClassScore
from credo.study.result.wording import class_score_cells, percent, score_cells

__all__ = ["print_class_scores", "print_scores"]

_HEADINGS = (
    "log\nevidence",
    "proba-\nbility",
    "cv\nweight",
    "cv\nlog score",
    "test\nlog score",
    "test\nRMSE",
)
_CLASS_HEADINGS = ("\nweight", "cv\nlog score", "test\nlog score", "test\nerror", "test\nMCC")


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
        "intervals in brackets. The stack predicts, with the weights of the best cv log score;",
        "its own is of weights found without the fold scored, so that one model may do better.",
        "MCC is Matthews' correlation: 1 is perfect, 0 is chance.",
    )
    console.print(Text("\n".join(explained), "dim"))

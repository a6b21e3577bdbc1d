"""Results on a terminal: one table, then sentences; what is machine-readable stays plain."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from credo.app.console.console import (
    print_notes,
    print_remark,
    print_sentence,
    print_table,
    progress_bar,
    stderr,
    stdout,
)
from credo.app.terminal.score_terminal import print_class_scores, print_scores
from credo.study.remark.class_remark import DECISION_HEADINGS, decision_cells
from credo.study.result.data_summary import DataSummary
from credo.study.result.regression_result import JudgedRegression
from credo.study.result.result import Judged
from credo.study.result.wording import count

__all__ = [
    "print_class_scores",
    "print_notes",
    "print_result",
    "print_scores",
    "print_table",
    "progress_bar",
    "stderr",
    "stdout",
]


def print_result(console: Console, result: Judged[Any]) -> None:
    """Print what was found: the data in a line, the table of candidates, the sentences."""
    console.print(Text(_data_line(result.data)))
    for note in (*result.data.notes, *result.slate_notes):
        print_sentence(console, "·", note, "dim")
    console.print()
    if isinstance(result, JudgedRegression):
        print_scores(console, result.scores, result.settings.coverage, result.winner.name)
    else:
        print_class_scores(console, result.scores, result.winner.name)
        _print_decisions(console, result)
    console.print()
    for remark in result.remarks:
        print_remark(console, remark)


def _print_decisions(console: Console, result: Any) -> None:
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

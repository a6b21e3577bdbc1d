"""A comparison on a terminal: one table, then what may be said of the leading model."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.text import Text

from credo.app.terminal.terminal import print_notes, print_table
from credo.study.compare_job import TableComparison
from credo.study.result.comparison_text import (
    comparison_rows,
    said_by,
    score_title,
    shown_scores,
)
from credo.study.result.wording import count

__all__ = ["print_comparison"]


def print_comparison(console: Console, found: TableComparison) -> None:
    """Print the table of models, and verdicts by each score."""
    comparison = found.comparison
    console.print(Text(_head(found)))
    print_notes(console, found.notes)
    console.print()
    headings, rows = comparison_rows(comparison)
    print_table(console, headings, rows)
    note = "Every row was predicted by models that had not seen its fold; ± standard error."
    console.print(Text(note, "dim"))
    for score in shown_scores(comparison):
        verdict, sentences = said_by(comparison, score)
        console.print()
        console.print(Text(f"By {score_title(comparison, score)}: {verdict}", "bold"))
        print_notes(console, sentences)
    console.print()
    failed = [f"{name} could not be fitted: {why}" for name, why in comparison.errors.items()]
    print_notes(console, [*failed, *comparison.notes])


def _head(found: TableComparison) -> str:
    comparison = found.comparison
    n_folds = len(np.unique(comparison.fold))
    return (
        f"{found.table}: {count(len(comparison.fold), 'row')}, "
        f"{count(found.n_columns, 'column')} used to predict {found.target!r}; "
        f"{count(len(comparison.names), 'model')} in {n_folds} folds."
    )

"""Tables without a target on a terminal: clusters, axes, odd rows, and what stands in gaps."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from credo.app.console.console import print_notes, print_remark, print_sentence, print_table
from credo.study.latent.anomaly_job import TableAnomalies
from credo.study.latent.cluster_job import (
    NUMBER_HEADINGS,
    SURE,
    TableClusters,
    number_cells,
)
from credo.study.latent.density import JointTable, NumberChoice
from credo.study.latent.impute_job import (
    COMPLETION_HEADINGS,
    TableCompletion,
    completion_cells,
)
from credo.study.latent.reduce_job import TableReduction
from credo.study.result.wording import percent

__all__ = ["print_anomalies", "print_clusters", "print_completion", "print_reduction"]

MOST_ROWS = 20
"""Odd rows that are shown, the oddest first."""

SHOWN = 1e-3
"""Numbers of clusters with at least this probability are shown."""


def print_clusters(console: Console, found: TableClusters) -> None:
    """Print how many clusters there are, each of them, and what to believe."""
    _print_head(console, found.joint)
    _print_numbers(console, found.density.choice)
    console.print()
    headings = ("cluster", "rows", "share", f"sure ({SURE:g})")
    rows = [
        (str(p.place), f"{p.n_rows:,}", percent(p.share), percent(p.sure))
        for p in found.profiles
    ]
    print_table(console, headings, rows)
    for profile in found.profiles:
        print_sentence(console, f"{profile.place}", profile.sentence, "")
    console.print()
    for remark in found.remarks:
        print_remark(console, remark)


def _print_head(console: Console, joint: JointTable) -> None:
    console.print(Text(f"{joint.head}."))
    print_notes(console, joint.notes)
    console.print()


def _print_numbers(console: Console, choice: NumberChoice) -> None:
    """Print what is known of numbers of clusters, those near the one taken."""
    rows = [
        number_cells(choice, score)
        for score in choice.scores
        if score.number == 1
        or score.probability > SHOWN
        or abs(score.number - choice.best) <= 1
    ]
    print_table(console, NUMBER_HEADINGS, rows, (str(choice.best),))


def print_completion(console: Console, found: TableCompletion) -> None:
    """Print which gaps were drawn, how the check went, and what to believe."""
    _print_head(console, found.joint)
    checks = {check.column.name: check for check in found.checks}
    rows = [
        (part.column.name, *completion_cells(part, checks.get(part.column.name)))
        for part in found.filled
    ]
    print_table(console, ("column", *COMPLETION_HEADINGS), rows)
    console.print()
    for remark in found.remarks:
        print_remark(console, remark)


def print_anomalies(console: Console, found: TableAnomalies) -> None:
    """Print the odd rows, why each of them is odd, and what to believe."""
    _print_head(console, found.joint)
    for row in found.rows[:MOST_ROWS]:
        mark, style = ("!", "yellow") if row.is_clear else ("·", "")
        print_sentence(console, mark, row.sentence, style)
    if len(found.rows) > MOST_ROWS:
        left = len(found.rows) - MOST_ROWS
        print_sentence(console, "·", f"and {left:,} more, less odd; `out` writes all.", "dim")
    console.print()
    for remark in found.remarks:
        print_remark(console, remark)


def print_reduction(console: Console, found: TableReduction) -> None:
    """Print the axes, what each of them means, and what to believe."""
    _print_head(console, found.joint)
    total = 0.0
    rows = []
    for axis in found.axes:
        total += axis.share
        rows.append((str(axis.place), percent(axis.share), percent(total)))
    print_table(console, ("axis", "share", "together"), rows)
    for axis in found.axes:
        print_sentence(console, f"{axis.place}", axis.sentence, "")
    console.print()
    for remark in found.remarks:
        print_remark(console, remark)

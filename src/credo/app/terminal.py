"""Results on a terminal: one table, then sentences; what is machine-readable stays plain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from credo.app.data_summary import DataSummary
from credo.app.finding import findings
from credo.app.progress import Progress as Told
from credo.app.result import RegressionResult
from credo.app.sentence import Finding
from credo.app.slate import AVERAGE
from credo.app.wording import count, percent, score_cells
from credo.data.table_regression import CandidateScore

__all__ = [
    "print_notes",
    "print_result",
    "print_scores",
    "progress_bar",
    "stderr",
    "stdout",
]

_HEADINGS = (
    "log\nevidence",
    "proba-\nbility",
    "cv\nweight",
    "cv\nlog score",
    "test\nlog score",
    "test\nRMSE",
)
_MARKS = {"answer": ("»", "bold"), "fact": ("·", ""), "good": ("✓", "green")}
_CAUTION = ("!", "yellow")


@contextmanager
def progress_bar(console: Console) -> Iterator[Told]:
    """Yield what a job tells its progress to; the bar vanishes when the job is done."""
    columns = (BarColumn(24), TextColumn("{task.description}"), TimeElapsedColumn())
    is_hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=is_hidden) as progress:
        task = progress.add_task("starting", total=1.0)

        def tell(share: float, step: str) -> None:
            progress.update(task, completed=share, description=step)

        yield tell


def print_result(console: Console, result: RegressionResult) -> None:
    """Print what was found: the data in a line, the table of candidates, the sentences."""
    console.print(Text(_data_line(result.data)))
    for note in (*result.data.notes, *result.slate_notes):
        _print_sentence(console, "·", note, "dim")
    console.print()
    print_scores(console, result.scores, result.settings.coverage, result.winner.name)
    console.print()
    for finding in findings(result):
        _print_finding(console, finding)


def print_scores(
    console: Console, scores: Iterable[CandidateScore], coverage: float, winner: str
) -> None:
    """Print the candidates, the most probable one in bold, and their average last."""
    table = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=0,
        header_style="dim",
    )
    table.add_column("\nmodel", no_wrap=True)
    for heading in (*_HEADINGS, f"{percent(coverage)}\ncover"):
        table.add_column(heading, justify="right", no_wrap=True)
    for score in scores:
        if score.name == AVERAGE:
            table.add_section()
        style = "bold" if score.name in (winner, AVERAGE) else ""
        # Blanks around the sign would make the table wider than most terminals.
        cells = [cell.replace(" ± ", "±") for cell in score_cells(score)]
        table.add_row(*cells, style=style)
    console.print(table)
    explained = (
        "Evidence and cv are of training rows, the others of test rows; ± standard error.",
        "Probability is by evidence and weighs the average; cv weight is by cv log score.",
    )
    console.print(Text("\n".join(explained), "dim"))


def stdout() -> Console:
    """Return the console for results; wide enough for the table where nobody is looking."""
    console = Console()
    return console if console.is_terminal else Console(width=100)


def stderr() -> Console:
    """Return the console for progress and notes."""
    return Console(stderr=True)


def print_notes(console: Console, notes: Iterable[str]) -> None:
    """Print sentences, each under its mark."""
    for note in notes:
        _print_sentence(console, "·", note, "")


def _data_line(data: DataSummary) -> str:
    n_used = len(data.schema.used)
    return (
        f"{data.name}: {count(data.n_rows, 'row')}, {count(n_used, 'column')} used to predict "
        f"{data.target!r}; {data.n_train:,} rows to learn from, {data.n_test:,} held out as a "
        "test."
    )


def _print_finding(console: Console, finding: Finding) -> None:
    mark, style = _MARKS.get(finding.tone, _CAUTION)
    _print_sentence(console, mark, finding.text, style)


def _print_sentence(console: Console, mark: str, sentence: str, style: str) -> None:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_row(Text(mark, style), Text(sentence, style))
    console.print(grid)

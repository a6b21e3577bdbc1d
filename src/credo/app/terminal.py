"""Results on a terminal: one table, then sentences; what is machine-readable stays plain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from credo.app.class_finding import class_findings
from credo.app.class_slate import STACK
from credo.app.classification_result import ClassificationResult
from credo.app.data_summary import DataSummary
from credo.app.decision_finding import DECISION_HEADINGS, decision_cells
from credo.app.finding import findings
from credo.app.progress import Progress as Told
from credo.app.result import RegressionResult
from credo.app.sentence import Finding
from credo.app.slate import AVERAGE
from credo.app.spoken_progress import spoken_progress
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
_MARKS = {"answer": ("»", "bold"), "fact": ("·", ""), "good": ("✓", "green")}
_CAUTION = ("!", "yellow")


@contextmanager
def progress_bar(console: Console) -> Iterator[Told]:
    """Yield what a job tells its progress to; the bar vanishes when the job is done.

    Where nobody looks at a terminal, a job that takes long says now and then where it is.
    """
    if not console.is_terminal:
        with spoken_progress(lambda line: console.print(Text(line), soft_wrap=True)) as tell:
            yield tell
        return
    columns = (BarColumn(24), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=1.0)

        def tell(share: float, step: str) -> None:
            progress.update(task, completed=share, description=step)

        yield tell


def print_result(console: Console, result: Result) -> None:
    """Print what was found: the data in a line, the table of candidates, the sentences."""
    console.print(Text(_data_line(result.data)))
    for note in (*result.data.notes, *result.slate_notes):
        _print_sentence(console, "·", note, "dim")
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
        _print_finding(console, finding)


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


def print_table(
    console: Console,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    strong: Collection[str] = (),
    last: str = "",
) -> None:
    """Print a table; names in ``strong`` are bold, and a line is drawn above ``last``."""
    table = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=0,
        header_style="dim",
    )
    table.add_column(headings[0], no_wrap=True)
    for heading in headings[1:]:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        if row[0] == last:
            table.add_section()
        # Blanks around the signs would make the table wider than most terminals.
        cells = [cell.replace(" ± ", "±").replace(" to ", "..") for cell in row]
        table.add_row(*cells, style="bold" if row[0] in strong else "")
    console.print(table)


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

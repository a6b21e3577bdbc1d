"""What every command writes to a terminal with: consoles, progress, tables and sentences.

Away from a terminal, progress is a line of text now and then.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Event, Thread

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from credo.app.console.flag import with_flags
from credo.study.progress import Progress
from credo.study.result.table_model import Remark

__all__ = [
    "noted_warnings",
    "print_notes",
    "print_places",
    "print_remark",
    "print_sentence",
    "print_table",
    "progress_bar",
    "spoken_progress",
    "stderr",
    "stdout",
]


QUIET_SECONDS = 10.0
"""A job that is done by then says nothing."""

REPEAT_SECONDS = 30.0
"""How long a job may stay silent later."""


@contextmanager
def spoken_progress(
    say: Callable[[str], object],
    quiet: float = QUIET_SECONDS,
    repeat: float = REPEAT_SECONDS,
) -> Iterator[Progress]:
    """Yield what a job calls with its progress; lines are said once it takes long.

    Parameters
    ----------
    say
        Takes each line.
    quiet, repeat
        Seconds until the first line, and between later ones.

    Examples
    --------
    >>> with spoken_progress(print) as advance:
    ...     advance(0.5, "fitting")
    """
    start, step, is_done = time.monotonic(), ["starting"], Event()

    def speak() -> None:
        wait = quiet
        while not is_done.wait(wait):
            say(f"still {step[0]} after {time.monotonic() - start:.0f} s ...")
            wait = repeat

    def advance(share: float, what: str) -> None:
        step[0] = what

    speaker = Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield advance
    finally:
        is_done.set()
        speaker.join()


_MARKS = {"answer": ("»", "bold"), "fact": ("·", ""), "good": ("✓", "green")}
_CAUTION = ("!", "yellow")


@contextmanager
def progress_bar(console: Console) -> Iterator[Progress]:
    """Yield what a job calls with its progress; the bar vanishes when the job is done.

    Away from a terminal, a job that takes long says now and then where it is.
    """
    if not console.is_terminal:
        with spoken_progress(lambda line: console.print(Text(line), soft_wrap=True)) as advance:
            yield advance
        return
    rich = import_module("rich.progress")
    columns = (
        rich.BarColumn(24),
        rich.TextColumn("{task.description}"),
        rich.TimeElapsedColumn(),
    )
    with rich.Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=1.0)

        def advance(share: float, step: str) -> None:
            progress.update(task, completed=share, description=step)

        yield advance


def stdout() -> Console:
    """Return the console for results; away from a terminal wide enough for the table."""
    console = Console()
    return console if console.is_terminal else Console(width=100)


def stderr() -> Console:
    """Return the console for progress and notes."""
    return Console(stderr=True)


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


def print_notes(console: Console, notes: Iterable[str]) -> None:
    """Print sentences, each under its mark."""
    for note in notes:
        print_sentence(console, "·", note, "")


@contextmanager
def noted_warnings(console: Console) -> Iterator[None]:
    """Print each different warning as a note."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    print_notes(console, dict.fromkeys(str(warning.message) for warning in caught))


def print_remark(console: Console, remark: Remark) -> None:
    """Print a sentence under the mark of its tone."""
    mark, style = _MARKS.get(remark.tone, _CAUTION)
    print_sentence(console, mark, remark.text, style)


def print_sentence(console: Console, mark: str, sentence: str, style: str) -> None:
    """Print a sentence beside its mark, with arguments as options of the command line."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_row(Text(mark, style), Text(with_flags(sentence), style))
    console.print(grid)


def print_places(console: Console, places: Mapping[str, Path]) -> None:
    """Print where each thing was written."""
    if places:
        console.print()
    for what, path in places.items():
        console.print(Text(f"{what}: {path}", "bold"), soft_wrap=True)

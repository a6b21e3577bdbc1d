"""Answers of a network on a terminal: a bar and a percentage for each state."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from credo.app.question.query_answer import Answer, RealAnswer, StateAnswer
from credo.plots.style import percent, shortened

__all__ = ["bar", "print_answer"]

BAR_CELLS = 30
LABEL_LENGTH = 32
EIGHTHS = " ▏▎▍▌▋▊▉█"


def print_answer(console: Console, answer: Answer) -> None:
    """Print the distribution of each variable asked for, then how it was found."""
    width = max((_label_width(part) for part in answer.parts), default=0)
    for part in answer.parts:
        console.print(Text(part.name, "bold"))
        if isinstance(part, StateAnswer):
            _print_bars(console, part, width)
        else:
            console.print(Text(f"  mean {part.mean:.6g}, sd {part.sd:.4g}"))
    if answer.parts:
        console.print()
    for line in answer.lines():
        console.print(Text(line, "dim"), soft_wrap=True)


def _label_width(part: StateAnswer | RealAnswer) -> int:
    if isinstance(part, RealAnswer):
        return 0
    return max(len(shortened(label, LABEL_LENGTH)) for label in part.labels)


def _print_bars(console: Console, part: StateAnswer, width: int) -> None:
    top = max(part.shares)
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(min_width=width + 2, no_wrap=True)
    grid.add_column(width=BAR_CELLS, no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    for label, share in zip(part.labels, part.shares, strict=True):
        style = "bold" if share == top else ""
        name = Text(f"  {shortened(label, LABEL_LENGTH)}", style)
        grid.add_row(name, Text(bar(share), "blue"), Text(percent(share), style))
    console.print(grid)


def bar(share: float, n_cells: int = BAR_CELLS) -> str:
    """Return a bar of block characters, to an eighth of a cell.

    Examples
    --------
    >>> bar(0.5, 4), bar(0.03, 4), bar(0.0, 4)
    ('██', '▏', '')
    """
    eighths = round(8 * n_cells * min(max(share, 0.0), 1.0))
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()

"""A comparison of models as one HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from matplotlib.axes import Axes

import credo
from credo.evaluation.comparison.comparison import Comparison
from credo.plots.model_support import comparison as draw_comparison
from credo.study.compare_job import TableComparison
from credo.study.report.content import Card, Page, Picture, Section, Sentences, Table, figure
from credo.study.report.page import page_html
from credo.study.report.picture import list_size
from credo.study.result.comparison_text import (
    comparison_rows,
    said_by,
    score_title,
    shown_scores,
)

__all__ = ["comparison_page"]


@dataclass(frozen=True, eq=False)
class _SideBySide:
    comparison: Comparison

    def draw(self, ax: Axes) -> Axes:
        return draw_comparison(self.comparison, ax)


def comparison_page(found: TableComparison) -> str:
    """Return a comparison as the text of a self-contained HTML file."""
    comparison = found.comparison
    first = shown_scores(comparison)[0]
    head, _ = said_by(comparison, first)
    lead = f"By {score_title(comparison, first)}: {head}"
    content = Page(
        title=f"{found.target}: credo comparison",
        kicker=f"credo comparison on {found.table}",
        headline=f"Models of {found.target!r} compared",
        tiles=(),
        sections=(Section("What may be said", lead, tuple(_cards(found))),),
        footer=f"credo {credo.__version__}",
    )
    return page_html(content)


def _cards(found: TableComparison) -> Iterator[Card]:
    comparison = found.comparison
    size = list_size(comparison.names)
    yield figure(
        "Models side by side",
        "Further right is better; bars are intervals.",
        Picture("comparison", size, _SideBySide(comparison)),
        is_wide=True,
    )
    headings, rows = comparison_rows(comparison)
    cells = tuple(tuple(row) for row in rows)
    yield Card(
        "All numbers",
        "Every row was predicted by models that had not seen its fold; ± is one standard "
        "error.",
        (Table(tuple(headings), cells, tuple(comparison.contenders())),),
        is_wide=True,
    )
    yield from (_verdicts(comparison, score) for score in shown_scores(comparison))
    notes = tuple(("fact", note) for note in (*found.notes, *comparison.notes))
    if notes:
        yield Card("What to know besides", "", (Sentences(notes),), is_wide=True)


def _verdicts(comparison: Comparison, score: str) -> Card:
    """Return every pair by one score."""
    said = tuple(
        ("good" if verdict.kind == "better" else "fact", f"{verdict}.")
        for verdict in comparison.verdicts
        if verdict.by == score
    )
    head, _ = said_by(comparison, score)
    title = f"By {score_title(comparison, score)}"
    return Card(title, head[:1].upper() + head[1:], (Sentences(said),))

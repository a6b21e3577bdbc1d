"""A comparison of models as one HTML page."""

from __future__ import annotations

from html import escape

import credo
from credo.app.report.page import card, figure, list_of, page, section, table
from credo.app.report.picture import list_size
from credo.app.report.svg import svg_picture
from credo.app.terminal.compare_terminal import (
    comparison_rows,
    said_by,
    score_title,
    shown_scores,
)
from credo.plots.model_support import comparison as draw_comparison
from credo.study.compare_job import TableComparison

__all__ = ["comparison_page"]


def comparison_page(found: TableComparison) -> str:
    """Return a comparison as the text of a self-contained HTML file."""
    comparison = found.comparison
    headings, rows = comparison_rows(comparison)
    leaders = comparison.contenders()
    numbers = card(
        "All numbers",
        "Every row was predicted by models that had not seen its fold; ± is one standard "
        "error.",
        table(headings, rows, leaders),
        is_wide=True,
    )
    drawn = svg_picture(
        "comparison", list_size(comparison.names), lambda ax: draw_comparison(comparison, ax)
    )
    chart = figure(
        "Models side by side",
        "Further right is better; bars are intervals.",
        drawn,
        is_wide=True,
    )
    verdicts = "".join(_verdicts(found, score) for score in shown_scores(comparison))
    notes = [("fact", note) for note in (*found.notes, *comparison.notes)]
    said = card("What to know besides", "", list_of(notes), is_wide=True) if notes else ""
    first = shown_scores(comparison)[0]
    head, _ = said_by(comparison, first)
    lead = f"By {score_title(comparison, first)}: {head}"
    title = f"Models of {found.target!r} compared"
    header = (
        f'<header><p class="kicker">{escape(f"credo comparison on {found.table}")}</p>'
        f"<h1>{escape(title)}</h1></header>\n"
    )
    body = f'<div class="grid">{chart}{numbers}{verdicts}{said}</div>'
    foot = f"<footer>credo {credo.__version__}</footer>\n"
    return page(
        f"{found.target}: credo comparison",
        [header, section("What may be said", lead, body), foot],
    )


def _verdicts(found: TableComparison, score: str) -> str:
    """Return every pair by one score."""
    told = [
        ("good" if verdict.kind == "better" else "fact", f"{verdict}.")
        for verdict in found.comparison.verdicts
        if verdict.by == score
    ]
    head, _ = said_by(found.comparison, score)
    title = f"By {score_title(found.comparison, score)}"
    return card(title, head[:1].upper() + head[1:], list_of(told))

"""The report on a fit: what was found, how far to trust it, and how it can be made again."""

from __future__ import annotations

from collections import Counter
from typing import Any

import credo
from credo import study
from credo.study.report.content import Card, Page, Section, Sentences, Table
from credo.study.result.data_summary import DataSummary
from credo.study.result.regression_result import JudgedRegression
from credo.study.result.result import Judged
from credo.study.result.wording import count

__all__ = ["report_content", "report_page"]


def report_page(result: Judged[Any]) -> str:
    """Return the report as the text of a self-contained HTML file."""
    return study.page_html(report_content(result))


def report_content(result: Judged[Any]) -> Page:
    """Return what the report says, with its pictures not drawn yet."""
    # Loaded by kind: the pictures of classes need much that a fit of numbers does not.
    if isinstance(result, JudgedRegression):
        blocks = study.number_blocks(result)
    else:
        assert isinstance(result, study.JudgedClassification)
        blocks = study.class_blocks(result)
    data = result.data
    return Page(
        title=f"{data.target}: credo report",
        kicker=f"credo report on {data.name}",
        headline=blocks.headline,
        tiles=blocks.tiles,
        sections=(_belief(blocks.said), *blocks.sections, _data(data, result.slate_notes)),
        footer=_footer(result),
    )


def _belief(remarks: Sentences) -> Section:
    """Return the sentences on a result, cautions first; the answer is in the headline."""
    order = ("caution", "good", "fact")
    said = tuple((t, text) for tone in order for t, text in remarks.said if t == tone)
    lead = "Cautions are marked; scores on test rows are of rows that no candidate had seen."
    card = Card("", "", (Sentences(said),), is_wide=True)
    return Section("What to believe, and what not to", lead, (card,))


def _data(data: DataSummary, slate_notes: tuple[str, ...]) -> Section:
    """Return what the table holds, and what was done to it."""
    columns = data.schema.columns
    kinds = Counter(column.kind for column in columns)
    rows = tuple(
        (
            column.name,
            column.kind,
            f"{data.n_missing.get(column.name, 0):,}",
            "used" if column.is_used else "left out",
        )
        for column in columns
    )
    headings = ("column", "kind", "missing", "")
    cards = [Card("Columns", "", (Table(headings, rows, is_words=True),))]
    notes = tuple(("fact", note) for note in (*data.notes, *slate_notes))
    if notes:
        cards.append(Card("What was done to the table", "", (Sentences(notes),)))
    lead = (
        f"{count(data.n_rows, 'row')} with a target, and besides it "
        f"{count(len(columns), 'column')}, by kind: "
        f"{', '.join(f'{kind} {n}' for kind, n in kinds.items())}."
    )
    return Section("The data", lead, tuple(cards))


def _footer(result: Judged[Any]) -> str:
    settings = result.settings
    return (
        f"credo {credo.__version__}; test share {settings.test_share:g}, seed "
        f"{settings.seed}, {count(result.n_folds, 'fold')}; data fingerprint "
        f"{result.data.fingerprint}."
    )

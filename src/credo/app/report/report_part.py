"""Parts of a report that do not depend on what is predicted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from html import escape

import credo
from credo.app.report.page import card, list_of, section, table
from credo.study.result.data_summary import DataSummary
from credo.study.result.result import FitSettings, Remark
from credo.study.result.wording import count

__all__ = ["belief_section", "data_section", "footer", "header"]


def header(data: DataSummary, headline: str, tiles: Iterable[str]) -> str:
    """Return the top of the page: what the report is on, the answer, and large numbers."""
    kicker = f"credo report on {data.name}"
    return (
        f'<header><p class="kicker">{escape(kicker)}</p><h1>{escape(headline)}</h1>'
        f'<div class="tiles">{"".join(tiles)}</div></header>\n'
    )


def belief_section(findings: Iterable[Remark]) -> str:
    """Return the sentences on a result, cautions first; the answer is in the header."""
    found = list(findings)
    order = ("caution", "good", "fact")
    said = [(f.tone, f.text) for tone in order for f in found if f.tone == tone]
    lead = "Cautions are marked; scores on test rows are of rows that no candidate had seen."
    body = f'<div class="card">{list_of(said)}</div>'
    return section("What to believe, and what not to", lead, body)


def data_section(data: DataSummary, slate_notes: tuple[str, ...]) -> str:
    """Return what the table holds, and what was done to it."""
    kinds = Counter(column.kind for column in data.schema.columns)
    told = ", ".join(f"{kind} {n}" for kind, n in kinds.items())
    rows = [
        (
            column.name,
            column.kind,
            f"{data.n_missing.get(column.name, 0):,}",
            "used" if column.is_used else "left out",
        )
        for column in data.schema.columns
    ]
    notes = [("fact", note) for note in (*data.notes, *slate_notes)]
    listed = card("Columns", "", table(["column", "kind", "missing", ""], rows, is_words=True))
    said = card("What was done to the table", "", list_of(notes)) if notes else ""
    lead = (
        f"{count(data.n_rows, 'row')} with a target, and besides it "
        f"{count(len(data.schema.columns), 'column')}, by kind: {told}."
    )
    return section("The data", lead, f'<div class="grid">{listed}{said}</div>')


def footer(settings: FitSettings, n_folds: int, fingerprint: str) -> str:
    """Return how the report can be made again, and how many folds there were."""
    return (
        f"<footer>credo {credo.__version__}; test share {settings.test_share:g}, seed "
        f"{settings.seed}, {count(n_folds, 'fold')}; data fingerprint "
        f"{escape(fingerprint)}.</footer>\n"
    )

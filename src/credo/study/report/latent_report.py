"""The reports on odd rows, and on what stands in gaps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import credo
from credo.plots.drawing import Predictions, Shares
from credo.plots.latent import Axis, GroupMap, Pulls, ScoreHistogram
from credo.plots.style import shortened
from credo.study.latent.anomaly_job import TableAnomalies
from credo.study.latent.density import JointTable
from credo.study.latent.impute_job import (
    COMPLETION_HEADINGS,
    TableCompletion,
    completion_cells,
)
from credo.study.latent.reduce_job import TableReduction
from credo.study.report.cluster_report import data_section, number_axis, remark_section
from credo.study.report.content import Card, Page, Picture, Section, Table, Tile, figure
from credo.study.report.page import page_html
from credo.study.report.picture import SMALL, SQUARE, list_size
from credo.study.result.wording import decimals, percent

__all__ = ["anomaly_page", "completion_page", "reduction_page"]

MOST_ROWS = 50
"""Odd rows in the table of a page, the oddest first."""

MOST_AXES, MOST_PULLS = 6, 10
"""Axes, and columns of each, that are drawn."""

FEWEST_DRAWN = 5
"""Hidden cells of a column from which they are drawn."""


def anomaly_page(found: TableAnomalies) -> str:
    """Return the report on odd rows as the text of a self-contained HTML file."""
    n_clear = sum(row.is_clear for row in found.rows)
    tiles = (
        Tile(f"{n_clear:,}", "rows clearly odd"),
        Tile(f"{len(found.rows) - n_clear:,}", f"more listed at a rate of {found.rate:g}"),
        Tile(f"{len(found.joint):,}", "rows scored by densities that had not seen them"),
    )
    rows = Section(
        "The odd rows",
        "The oddest first. What was to be expected of a cell is said given its row's rest.",
        tuple(_odd_cards(found)),
    )
    return _page(
        found.joint,
        "anomalies",
        found.remarks[0].text,
        tiles,
        (
            remark_section(found.remarks),
            rows,
            data_section(found.joint),
        ),
    )


def completion_page(found: TableCompletion) -> str:
    """Return the report on gaps as the text of a self-contained HTML file."""
    checks = {check.column.name: check for check in found.checks}
    cells = tuple(
        (part.column.name, *completion_cells(part, checks.get(part.column.name)))
        for part in found.filled
    )
    text = (
        "Hidden are known cells that the check took away: hit says how many numbers lie in "
        f"their interval of {percent(found.coverage)}, and how many words were the likeliest. "
        "Errors are mean absolute ones, or shares of wrong words, beside those of one value "
        "for all."
    )
    table = Table(("column", *COMPLETION_HEADINGS), cells)
    cards = [Card("Columns with gaps", text, (table,), is_wide=True)]
    pictures = tuple(_check_pictures(found))
    if pictures:
        cards.append(
            Card(
                "Hidden cells and their intervals",
                "A line for each hidden number; those that hold it are blue.",
                pictures,
                is_wide=True,
                is_small=True,
            )
        )
    return _page(
        found.joint,
        "completion",
        found.remarks[0].text,
        (),
        (
            remark_section(found.remarks),
            Section("What was drawn, and how well", "", tuple(cards)),
            data_section(found.joint),
        ),
    )


def reduction_page(found: TableReduction) -> str:
    """Return the report on axes as the text of a self-contained HTML file."""
    together = np.cumsum([axis.share for axis in found.axes])
    cells = tuple(
        (str(axis.place), percent(axis.share), percent(float(total)), axis.sentence)
        for axis, total in zip(found.axes, together, strict=True)
    )
    text = "In brackets stands the correlation of a column with the axis."
    table = Table(("axis", "share", "together", "what it means"), cells, (), True)
    labels = tuple(f"axis {axis.place}" for axis in found.axes)
    shares = Shares(labels, np.array([axis.share for axis in found.axes]), "share of spread")
    cards = [
        Card("Each axis in words", text, (table,), is_wide=True),
        figure(
            "What each axis carries",
            "Share of the spread of all columns.",
            Picture("shares", list_size(labels), shares),
        ),
    ]
    if len(found.axes) > 1:
        rows, none = found.place[:, :2], np.full(len(found.place), -1, dtype=np.intp)
        drawing = GroupMap(Axis("axis 1"), Axis("axis 2"), rows, none, ())
        where = "Each dot is a row; near ones are alike in what the two axes carry."
        cards.append(figure("Map of the rows", where, Picture("map", SQUARE, drawing)))
    cards.append(
        Card(
            "Which columns follow each axis",
            "Correlation of columns with the axis, the largest first.",
            tuple(_pull_pictures(found)),
            is_wide=True,
            is_small=True,
        )
    )
    return _page(
        found.joint,
        "axes",
        found.remarks[0].text,
        (),
        (
            remark_section(found.remarks),
            Section("The axes", "Straight lines along which rows differ most.", tuple(cards)),
            data_section(found.joint),
        ),
    )


def _pull_pictures(found: TableReduction) -> Iterator[Picture]:
    for axis in found.axes[:MOST_AXES]:
        order = np.argsort(-np.abs(axis.pull), kind="stable")[:MOST_PULLS]
        names = tuple(shortened(axis.names[j], 18) for j in order)
        drawing = Pulls(f"axis {axis.place}", names, axis.pull[order])
        size = (3.3, 0.7 + 0.24 * len(names))
        yield Picture(f"pull{axis.place}", size, drawing)


def _page(
    joint: JointTable,
    what: str,
    headline: str,
    tiles: tuple[Tile, ...],
    sections: tuple[Section, ...],
) -> str:
    content = Page(
        title=f"{joint.table.name}: credo {what}",
        kicker=f"credo {what} of {joint.table.name}",
        headline=headline,
        tiles=tiles,
        sections=sections,
        footer=f"credo {credo.__version__}; data fingerprint {joint.table.fingerprint()}.",
    )
    return page_html(content)


def _odd_cards(found: TableAnomalies) -> Iterator[Card]:
    cells = tuple(
        (
            row.name,
            decimals(row.score, 1),
            "clearly" if row.is_clear else "by the rate",
            "; ".join(cell.words for cell in row.cells) or "no cell by itself",
        )
        for row in found.rows[:MOST_ROWS]
    )
    headings = ("row", "score", "odd", "why")
    text = (
        "The score is how many standard deviations less probable a row is than rows with its "
        "gaps usually are."
    )
    yield Card("Why they are odd", text, (Table(headings, cells, (), True),), is_wide=True)
    yield figure(
        "How odd rows are",
        "Rows beyond the dashed line are listed.",
        Picture("scores", (5.2, 3.4), ScoreHistogram(found.score, found.threshold)),
    )
    picture = _map(found)
    if picture is not None:
        text = "At the two columns of numbers that make most rows odd."
        yield figure("Where they lie", text, picture)


def _map(found: TableAnomalies) -> Picture | None:
    joint = found.joint
    weight = dict.fromkeys((column.name for column in joint.rules.numbers), 0.0)
    for row in found.rows:
        for cell in row.cells:
            if cell.column.name in weight:
                weight[cell.column.name] += cell.surprise
    columns = sorted(joint.rules.numbers, key=lambda column: -weight[column.name])[:2]
    if len(columns) < 2:
        return None
    names = [column.name for column in columns]
    rows = joint.rows[names].to_numpy(dtype=np.float64)
    cells = joint.rules.cells(joint.rows)[names].to_numpy(dtype=np.float64)
    label = np.full(len(joint), -1, dtype=np.intp)
    for row in found.rows:
        label[row.place] = 1 - row.is_clear
    across = number_axis(columns[0], cells[:, 0], is_scaled=True)
    up = number_axis(columns[1], cells[:, 1], is_scaled=True)
    drawing = GroupMap(across, up, rows, label, ("clearly odd", "odd by the rate"))
    return Picture("map", (5.2, 4.0), drawing)


def _check_pictures(found: TableCompletion) -> Iterator[Picture]:
    for place, check in enumerate(found.checks):
        if check.n >= FEWEST_DRAWN and check.values is not None:
            truth, value, low, high = check.values
            inside = (low <= truth) & (truth <= high)
            drawing = Predictions(truth, value, low, high, inside, found.coverage)
            yield Picture(f"check{place}", (SMALL[0], 2.8), drawing)

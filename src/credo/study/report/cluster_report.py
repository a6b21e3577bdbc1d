"""The report on clusters: how many, what each of them is like, and how sure rows are of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

import credo
from credo.data.table.joint_rows import JointColumn
from credo.numerics.array import Array
from credo.plots.drawing import Drawing, Shares
from credo.plots.latent import Axis, GroupMap, GroupRanges, GroupShares
from credo.study.latent.cluster_job import (
    NUMBER_HEADINGS,
    SURE,
    ColumnProfile,
    TableClusters,
    cell_word,
    number_cells,
)
from credo.study.latent.density import SHAPES, JointTable
from credo.study.report.content import Card, Page, Picture, Section, Sentences, Table, figure
from credo.study.report.page import page_html
from credo.study.report.picture import list_size
from credo.study.result.table_model import Remark
from credo.study.result.wording import number, percent

__all__ = ["cluster_page", "data_section", "number_axis", "remark_section"]

MOST_LEVELS = 6
"""Levels of a category that have a part of their own in a picture."""

MOST_PICTURES = 12
"""Columns that are drawn, those that tell most first."""

OUTLINE = 2.1459660262893474
"""Radius of an ellipse that holds nine tenths of a normal cloud in two dimensions."""

N_TICKS = 5


def cluster_page(found: TableClusters) -> str:
    """Return the report on clusters as the text of a self-contained HTML file."""
    joint = found.joint
    content = Page(
        title=f"{joint.table.name}: credo clusters",
        kicker=f"credo clusters of {joint.table.name}",
        headline=found.remarks[0].text,
        tiles=(),
        sections=(
            remark_section(found.remarks),
            _number_section(found),
            _cluster_section(found),
            data_section(joint),
        ),
        footer=f"credo {credo.__version__}; data fingerprint {joint.table.fingerprint()}.",
    )
    return page_html(content)


def remark_section(remarks: Sequence[Remark]) -> Section:
    """Return the sentences on a result, cautions first; the answer is in the headline."""
    order = ("caution", "good", "fact")
    said = tuple((t, r.text) for t in order for r in remarks if r.tone == t)
    card = Card("", "", (Sentences(said),), is_wide=True)
    return Section("What to believe, and what not to", "Cautions are marked.", (card,))


def data_section(joint: JointTable) -> Section:
    """Return what the table holds, and what was done to it."""
    used = {column.name: column for column in joint.rules.columns}
    scales = {"plain": "as it is", "log": "logarithm", "arcsinh": "arcsinh", "words": "levels"}
    rows = tuple(
        (
            column.name,
            column.kind,
            f"{joint.table.column(column.name).n_missing:,}",
            scales[used[column.name].scale] if column.name in used else "left out",
        )
        for column in joint.schema.columns
    )
    cards = [
        Card("Columns", "", (Table(("column", "kind", "missing", "taken"), rows, (), True),))
    ]
    if joint.notes:
        notes = tuple(("fact", note) for note in joint.notes)
        cards.append(Card("What was done to the table", "", (Sentences(notes),)))
    return Section("The data", f"{joint.head}.", tuple(cards))


def _number_section(found: TableClusters) -> Section:
    choice = found.density.choice
    shown = [s for s in choice.scores if s.probability > 1e-4 or s.number <= choice.best + 1]
    labels = tuple(str(score.number) for score in shown)
    shares = Shares(labels, np.array([score.probability for score in shown]), "probability")
    rows = tuple(number_cells(choice, score) for score in shown)
    lead = (
        f"Numbers of clusters side by side, by {choice.n_rows:,} rows. Each cluster is "
        f"{SHAPES[choice.shape]}."
    )
    return Section(
        "How many",
        lead,
        (
            figure(
                "Probability of each number",
                f"Equal before the rows were seen; by {choice.method}.",
                Picture("numbers", list_size(labels), shares),
            ),
            Card(
                "All ways to tell",
                "The bound of the log evidence below its best (0 is best); BIC above its best "
                "(0 is best); mean log density of rows that were left out, above that of the "
                "number taken ± one standard error.",
                (Table(NUMBER_HEADINGS, rows, (str(choice.best),)),),
            ),
        ),
    )


def _cluster_section(found: TableClusters) -> Section:
    rows = tuple(
        (f"{p.place}", f"{p.n_rows:,}", percent(p.share), percent(p.sure), p.sentence)
        for p in found.profiles
    )
    headings = ("cluster", "rows", "share", f"sure ({SURE:g})", "what it is like")
    cards = [
        Card(
            "Each cluster in words",
            "Beside the middle of a number stand its tenth and ninetieth percentile.",
            (Table(headings, rows, (), True),),
            is_wide=True,
        )
    ]
    picture = _map(found)
    if picture is not None:
        text = (
            "The two columns of numbers that tell the clusters apart best; an outline holds "
            "nine tenths of its cloud."
        )
        cards.append(figure("Map of the rows", text, picture, is_wide=True))
    cards.append(
        Card(
            "Column by column",
            "Numbers: from the tenth to the ninetieth percentile, a dot in the middle. "
            "Categories: the share of each level. Columns that tell most come first.",
            tuple(_column_pictures(found)),
            is_wide=True,
            is_small=True,
        )
    )
    return Section("The clusters", "What rows of one cluster have in common.", tuple(cards))


def _ranked(found: TableClusters) -> list[JointColumn]:
    """Return the columns, those that tell most of the clusters first."""
    divergence = dict.fromkeys(found.joint.rules.names, 0.0)
    for profile in found.profiles:
        for part in profile.columns:
            divergence[part.column.name] += profile.share * part.divergence
    return sorted(found.joint.rules.columns, key=lambda column: -divergence[column.name])


def _column_pictures(found: TableClusters) -> Iterator[Picture]:
    groups = tuple(str(profile.place) for profile in found.profiles)
    size = (3.3, 0.8 + 0.3 * (len(groups) + 1))
    for place, column in enumerate(_ranked(found)[:MOST_PICTURES]):
        parts = [_part(profile.columns, column) for profile in found.profiles]
        known = [part for part in parts if part is not None]
        if len(known) != len(parts):
            continue
        values = np.array([part.own for part in known] + [known[0].whole])
        drawing: Drawing
        if column.holds_numbers:
            axis = number_axis(column, values[:, [0, 2]], is_scaled=False)
            low, middle, high = values.T
            drawing = GroupRanges(column.name, low, middle, high, groups, axis)
        else:
            drawing = _level_shares(column, values, groups)
        yield Picture(f"column{place}", size, drawing)


def _part(columns: Sequence[ColumnProfile], column: JointColumn) -> ColumnProfile | None:
    return next((part for part in columns if part.column is column), None)


def _level_shares(column: JointColumn, shares: Array, groups: tuple[str, ...]) -> GroupShares:
    order = np.argsort(-shares[-1], kind="stable")
    kept, rest = order[:MOST_LEVELS], order[MOST_LEVELS:]
    levels = [column.levels[i] for i in kept]
    values = shares[:, kept]
    if len(rest):
        levels.append(f"{len(rest)} others")
        values = np.column_stack([values, shares[:, rest].sum(axis=1)])
    return GroupShares(column.name, tuple(levels), values, groups)


def number_axis(column: JointColumn, values: Array, is_scaled: bool) -> Axis:
    """Return the axis of a column, with words where it is not one of plain numbers.

    Parameters
    ----------
    values
        Numbers of the table that the axis must hold.
    is_scaled
        Whether the axis is on the scale of the density.
    """
    if not column.is_date and not (is_scaled and column.scale != "plain"):
        if not is_scaled:
            return Axis(column.name)
        ends = np.nanquantile(values, [0.01, 0.99])
        ticks = _round_numbers(*ends)
        return Axis(column.name, tuple(column.scaled(ticks)), tuple(map(number, ticks)))
    low, high = np.nanquantile(values, [0.01, 0.99])
    if is_scaled and not column.is_date:
        first, last = column.scaled([low, high]).tolist()
        z = np.linspace(first, last, N_TICKS)
        ticks = np.unique([float(f"{v:.1g}") for v in column.restored(z)])
        places = column.scaled(ticks)
    else:
        ticks = np.linspace(low, high, 3)
        places = column.scaled(ticks) if is_scaled else ticks
    words = tuple(cell_word(column, float(tick)) for tick in ticks)
    return Axis(column.name, tuple(float(place) for place in places), words)


def _round_numbers(low: float, high: float) -> Array:
    """Return round numbers between two others."""
    step = float(10.0 ** np.floor(np.log10(max((high - low) / N_TICKS, 1e-300))))
    step *= next(f for f in (1, 2, 5, 10) if (high - low) / (f * step) <= N_TICKS + 1)
    first, last = float(np.ceil(low / step)), float(np.floor(high / step))
    return np.asarray(step * np.arange(first, last + 1.0))


def _map(found: TableClusters) -> Picture | None:
    """Return the rows at the two columns of numbers that tell most, if there are two."""
    columns = [column for column in _ranked(found) if column.is_number][:2]
    if len(columns) < 2:
        return None
    joint = found.joint
    names = [column.name for column in columns]
    cells = joint.rules.cells(joint.learned_rows)[names].to_numpy(dtype=np.float64)
    rows = joint.learned_rows[names].to_numpy(dtype=np.float64)
    across = number_axis(columns[0], cells[:, 0], is_scaled=True)
    up = number_axis(columns[1], cells[:, 1], is_scaled=True)
    labels = tuple(f"cluster {p.place}" for p in found.profiles)
    outlines = tuple(_outline(rows, found.probability[:, k]) for k in range(found.n_clusters))
    drawing = GroupMap(across, up, rows, found.label - 1, labels, outlines)
    return Picture("map", (6.4, 4.6), drawing)


def _outline(rows: Array, weight: Array) -> Array:
    """Return the ellipse that holds nine tenths of rows (n, 2) with these weights."""
    known = ~np.isnan(rows).any(axis=1)
    x, w = rows[known], weight[known]
    total = max(float(w.sum()), 1e-12)
    center = w @ x / total
    away = x - center
    covariance = (away * w[:, None]).T @ away / total
    values, vectors = np.linalg.eigh(covariance)
    turn = np.linspace(0, 2 * np.pi, 73)
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return np.asarray(center + OUTLINE * circle * np.sqrt(np.maximum(values, 0.0)) @ vectors.T)

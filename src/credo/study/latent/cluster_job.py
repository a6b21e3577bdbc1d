"""Clusters of the rows of a table: how many, how sure, and what each of them is like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.data.table.column_name import quoted
from credo.data.table.joint_rows import JointColumn
from credo.numerics.array import Array
from credo.study.latent.density import (
    PLAUSIBLE,
    Density,
    JointTable,
    NumberChoice,
    NumberScore,
    joint_table,
    learned_density,
)
from credo.study.progress import Progress, silent
from credo.study.result.table_model import Remark
from credo.study.result.wording import count, decimals, listed, number, percent, plus_minus

__all__ = [
    "NUMBER_HEADINGS",
    "ClusterProfile",
    "ColumnProfile",
    "TableClusters",
    "cell_word",
    "cluster_table",
    "far_remarks",
    "number_cells",
]

SURE = 0.9
"""A row is surely of a cluster if that has at least this probability."""

N_TRAITS = 4
"""Columns that tell most of a cluster, as many as a sentence names."""

LEAST_TRAIT = 0.08
"""Nats per row that a column must tell of a cluster to be named."""

MANY_UNSURE = 0.2
"""Share of rows without a sure cluster that is worth a caution."""

NUMBER_HEADINGS = ("clusters", "probability", "bound", "BIC", "left-out rows")

QUANTILES = (0.1, 0.5, 0.9)


class ColumnProfile(NamedTuple):
    """What a column is like in a cluster, and in all rows.

    Attributes
    ----------
    column
        The column.
    divergence
        Nats per row that it tells of the cluster.
    own, whole
        Tenth, middle and ninetieth percentile of numbers; or the share of each level.
    """

    column: JointColumn
    divergence: float
    own: Array
    whole: Array

    @property
    def words(self) -> str:
        """What is special of it, in a few words."""
        column = self.column
        if not column.holds_numbers:
            place = int(np.argmax(self.own * np.log((self.own + 1e-9) / (self.whole + 1e-9))))
            share = percent(float(self.own[place]))
            whole = percent(float(self.whole[place]))
            return f"{column.name} {column.levels[place]!r} ({share}; all rows {whole})"
        low, middle, high = (cell_word(column, float(value)) for value in self.own)
        whole = cell_word(column, float(self.whole[1]))
        side = "high" if self.own[1] > self.whole[1] else "low"
        if self.own[1] == self.whole[1]:
            side = "usual"
        return f"{side} {column.name} ({middle}, {low} to {high}; all rows {whole})"


@dataclass(frozen=True, eq=False)
class ClusterProfile:
    """A cluster in numbers and words.

    Attributes
    ----------
    place
        Its number, counted from 1.
    n_rows, share
        Rows that are most probably of it, and its share of all.
    sure
        Share of these rows whose probability is at least `SURE`.
    columns
        What each column is like in it, those that tell most first.
    """

    place: int
    n_rows: int
    share: float
    sure: float
    columns: tuple[ColumnProfile, ...]

    @property
    def sentence(self) -> str:
        """What is special of the cluster."""
        named = [part for part in self.columns if part.divergence >= LEAST_TRAIT][:N_TRAITS]
        if not named:
            return "like all rows in every column by itself."
        return f"{'; '.join(part.words for part in named)}."


@dataclass(frozen=True, eq=False)
class TableClusters:
    """The clusters of a table.

    Attributes
    ----------
    joint, density
        The table as rows of a density, and the mixture that was learned.
    probability
        Of each cluster for each row, shape (n, K).
    profiles
        What each cluster is like.
    remarks
        The answer, facts, and cautions on what not to believe.
    """

    joint: JointTable
    density: Density
    probability: Array
    profiles: tuple[ClusterProfile, ...]
    remarks: tuple[Remark, ...]

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return len(self.profiles)

    @property
    def label(self) -> NDArray[np.intp]:
        """The most probable cluster of each row, counted from 1."""
        return np.asarray(self.probability.argmax(axis=1) + 1)

    @property
    def frame(self) -> pd.DataFrame:
        """Cluster and probabilities of each row, after the columns that number the rows."""
        columns: dict[str, Any] = {
            "cluster": self.label,
            "probability": self.probability.max(axis=1),
        }
        for k, share in enumerate(self.probability.T, start=1):
            columns[f"probability of cluster {k}"] = share
        return self.joint.frame(columns)


def cluster_table(
    source: Any,
    n_clusters: int | None = None,
    seed: int = 0,
    ignore: Sequence[str] = (),
    progress: Progress = silent,
) -> TableClusters:
    """Return the clusters of the rows of a table.

    Parameters
    ----------
    source
        A `Table`, a path or a data frame; gaps, text and dates are taken as they are.
    n_clusters
        How many; as many as the evidence favors if None.
    seed
        Of starts, and of the rows looked at where there are many.
    ignore
        Columns that are not used.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.concatenate([rng.normal(0, 1, 60), rng.normal(9, 1, 40)])
    >>> found = cluster_table(pd.DataFrame({"x": x, "y": x + rng.normal(0, 1, 100)}))
    >>> found.n_clusters, np.bincount(found.label)[1:]
    (2, array([60, 40]))
    """
    progress(0.0, "typing the columns")
    joint = joint_table(source, ignore)
    density = learned_density(joint, n_clusters, seed, progress)
    progress(0.9, "assigning the rows")
    share = density.model.predict_proba(joint.learned_rows)
    profiles = tuple(_profiles(joint, share))
    remarks = tuple(_remarks(joint, density, share))
    progress(1.0, "done")
    return TableClusters(joint, density, share, profiles, remarks)


def cell_word(column: JointColumn, value: float) -> str:
    """Return a number of a column as people read it; a day as a date."""
    if column.is_date:
        days = int(np.floor(value + column.start))
        return str(np.datetime64(days, "D"))
    return number(value)


def number_cells(choice: NumberChoice, score: NumberScore) -> tuple[str, ...]:
    """Return a row of the table of numbers of clusters, under `NUMBER_HEADINGS`."""
    return (
        str(score.number),
        percent(score.probability),
        decimals(score.bound - choice.highest_bound, 1),
        decimals(score.bic - choice.lowest_bic.bic, 1),
        plus_minus(score.held_out, score.held_out_error, 3),
    )


def _profiles(joint: JointTable, share: Array) -> Iterator[ClusterProfile]:
    """Yield the profile of each cluster."""
    label = share.argmax(axis=1)
    cells = joint.rules.cells(joint.rows)
    for k in range(share.shape[1]):
        own = label == k
        sure = float((share[own, k] >= SURE).mean()) if own.any() else 0.0
        parts = [
            _column_profile(column, joint.rows, cells, share[:, k])
            for column in joint.rules.columns
        ]
        known = [part for part in parts if part is not None]
        columns = sorted(known, key=lambda part: -part.divergence)
        mean = float(share[:, k].mean())
        yield ClusterProfile(k + 1, int(own.sum()), mean, sure, tuple(columns))


def _column_profile(
    column: JointColumn, rows: pd.DataFrame, cells: pd.DataFrame, weight: Array
) -> ColumnProfile | None:
    """Return what a column is like with these weights of rows; None if all of them lack it."""
    known = rows[column.name].notna().to_numpy()
    own = weight[known]
    if own.sum() < 1e-9:
        return None
    if not column.is_number:
        places = pd.Categorical(rows[column.name][known], categories=column.levels).codes
        n = len(column.levels)
        shares = np.bincount(places, own, n) / own.sum()
        whole = np.bincount(places, minlength=n) / len(places)
        used = shares > 0
        divergence = float((shares[used] * np.log(shares[used] / whole[used])).sum())
        if column.values is None:
            return ColumnProfile(column, divergence, shares, whole)
    values = cells[column.name].to_numpy(dtype=np.float64)[known]
    quantiles = _quantiles(values, own), _quantiles(values, np.ones(len(values)))
    if column.is_number:
        divergence = _divergence(rows[column.name].to_numpy(dtype=np.float64)[known], own)
    return ColumnProfile(column, divergence, *quantiles)


def _divergence(z: Array, weight: Array) -> float:
    """Return the divergence of all rows from those of a cluster, both as normals.

    By their middles and quartiles, which a few odd rows leave as they are.
    """
    low, middle, high = _quantiles(z, weight, (0.25, 0.5, 0.75))
    all_low, all_middle, all_high = _quantiles(z, np.ones(len(z)), (0.25, 0.5, 0.75))
    whole = max((all_high - all_low) / 1.349, 1e-9)
    ratio = max((high - low) / 1.349 / whole, 0.05)
    shift = (middle - all_middle) / whole
    return float(0.5 * (ratio**2 + shift**2 - 1.0) - np.log(ratio))


def _quantiles(x: Array, weight: Array, shares: Sequence[float] = QUANTILES) -> Array:
    return np.asarray(np.quantile(x, shares, weights=weight, method="inverted_cdf"))


def _remarks(joint: JointTable, density: Density, share: Array) -> Iterator[Remark]:
    """Yield the answer, facts, good news and cautions."""
    choice = density.choice
    best = choice.best
    yield Remark("answer", _answer(density, len(joint)))
    others = [
        f"{score.number} has {percent(score.probability)}"
        for score in choice.scores
        if score.number != best and score.probability >= PLAUSIBLE
    ]
    if others:
        yield Remark("caution", f"Other numbers are probable too: {listed(others)}.")
    yield from _held_out_remarks(choice)
    by_bic = choice.lowest_bic.number
    if by_bic != best and not choice.is_given:
        yield Remark("fact", f"By BIC the best number of clusters is {by_bic}.")
    if best > 1:
        unsure = float((share.max(axis=1) < SURE).mean())
        text = (
            f"{percent(1 - unsure)} of the rows have a cluster of probability {SURE:g} or more"
        )
        end = "; the others lie between clusters." if unsure else "."
        yield Remark("caution" if unsure > MANY_UNSURE else "good", text + end)
        yield Remark(
            "fact",
            "A cluster is one cloud of rows. A group of another shape takes several, so that "
            "clusters that touch may be parts of one group.",
        )
    yield from far_remarks(joint)
    if density.n_learned < len(joint):
        yield Remark("fact", _sample_sentence(density, len(joint)))


def _answer(density: Density, n_rows: int) -> str:
    choice, best = density.choice, density.choice.best
    by = choice.method
    share = percent(choice.of(best).probability)
    if choice.is_given:
        return f"{count(best, 'cluster')}, as asked for; its probability is {share} by {by}."
    likeliest = choice.likeliest
    if likeliest.number == best > 1:
        return f"{count(best, 'cluster')}, with probability {share} by {by}."
    if likeliest.number == best:
        rows = count(n_rows, "row")
        return f"No clusters: one cloud for all {rows} has probability {share} by {by}."
    other = f"{likeliest.number} are more probable than {best}"
    shares = f"{percent(likeliest.probability)} against {share} by {by}"
    if best == 1:
        end = "but predict left-out rows no better"
        return f"One cluster is as good: {other} ({shares}), {end}."
    return (
        f"At least {count(best, 'cluster')}, with probability {percent(choice.at_least)}: "
        f"{other} ({shares}), but predict left-out rows no better."
    )


def _held_out_remarks(choice: NumberChoice) -> Iterator[Remark]:
    """Yield what rows that were left out say of the number, beside one and its neighbors."""
    best, one = choice.best, choice.of(1)
    if best > 1 and not np.isnan(one.held_out):
        said = f"{plus_minus(-one.held_out, one.held_out_error, 3)} nats a row"
        if one.is_worse:
            text = "Rows that were left out are more probable than under one cluster, by"
            yield Remark("good", f"{text} {said}.")
        else:
            yield Remark(
                "caution",
                "One cluster is as good: rows that were left out are no more probable with "
                f"{best} clusters (by {said}).",
            )
    alike = [
        str(score.number)
        for score in choice.scores
        if score.number not in (1, best) and not (np.isnan(score.held_out) or score.is_worse)
    ]
    if alike:
        text = f"Rows that were left out do not tell {best} from {' or '.join(alike)} clusters"
        yield Remark("fact", f"{text}, or favor the latter.")


def far_remarks(joint: JointTable) -> Iterator[Remark]:
    """Yield a caution on cells that lie far from all others, if there are any."""
    counts = joint.is_far.sum(axis=0)
    names = [column.name for column, n in zip(joint.rules.columns, counts, strict=True) if n]
    if names:
        n = int(counts.sum())
        what = "1 cell lies" if n == 1 else f"{n:,} cells lie"
        yield Remark(
            "caution",
            f"{what} far from all others ({quoted(names)}): the clouds were learned without "
            f"{'it' if n == 1 else 'them'}, so that a few cells make no cluster.",
        )


def _sample_sentence(density: Density, n_rows: int) -> str:
    return (
        f"The number was chosen by {density.choice.n_rows:,} of the {n_rows:,} rows, and the "
        f"clusters were learned from {density.n_learned:,}; every row was assigned."
    )

"""Few axes behind the columns of a table: how many, what each means, and what is lost."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.data.error import TableError
from credo.inference.engine.engine import ConvergenceWarning
from credo.inference.latent.expectation_maximization import ExpectationMaximization
from credo.models.latent.factor_analysis import ProbabilisticPCA
from credo.numerics.array import Array
from credo.numerics.special.log_domain import log_normalize
from credo.study.latent.cluster_job import far_remarks
from credo.study.latent.density import CLEAR, MOST_LEARNED, JointTable, joint_table
from credo.study.progress import Progress, silent
from credo.study.result.table_model import Remark
from credo.study.result.wording import count, decimals, listed, percent

__all__ = ["AxisMeaning", "TableReduction", "reduce_table"]

ENGINE = ExpectationMaximization(tolerance=1e-6, max_steps=500)
"""For rows with gaps."""

N_WORDS = 4
"""Columns that a sentence on an axis names."""

LEAST_PULL = 0.35
"""Correlation of a column with an axis from which it is named."""

MOST_AXES = 8
"""Axes up to which numbers are compared."""

MOST_TESTED, FEWEST_TESTED = 500, 5
"""Rows by which they are compared."""

LEAST_ROWS = 3

LITTLE = 0.5
"""Share of the spread below which few axes say little of the rows."""


class AxisMeaning(NamedTuple):
    """An axis in numbers and words.

    Attributes
    ----------
    place
        Its number, counted from 1.
    share
        Share of the spread of all columns that it carries.
    pull
        Correlation of each column with it, shape (d,).
    names
        What the columns are.
    """

    place: int
    share: float
    pull: Array
    names: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Which columns rise and fall along it."""
        order = np.argsort(-np.abs(self.pull), kind="stable")[:N_WORDS]
        kept = [j for j in order if abs(self.pull[j]) >= LEAST_PULL] or [int(order[0])]
        words = {j: f"{self.names[j]} ({decimals(float(self.pull[j]), 2)})" for j in kept}
        up = [words[j] for j in kept if self.pull[j] > 0]
        down = [words[j] for j in kept if self.pull[j] <= 0]
        parts = [f"{side} {listed(own)}" for side, own in (("more", up), ("less", down)) if own]
        return f"{', '.join(parts)}."


@dataclass(frozen=True, eq=False)
class TableReduction:
    """The axes of a table.

    Attributes
    ----------
    joint, names
        The table as rows of a density, and the columns that the axes are of: numbers on their
        scales, and levels of categories.
    model
        The plane and the noise about it.
    evidence
        Probability of 0, 1, 2, ... axes, of equal ones before.
    place, doubt
        Coordinates of each row, and their standard deviations, shape (n, C).
    axes
        What each axis means.
    error
        Root mean squared error of the columns of each row on the plane, in standard deviations
        of the columns, shape (n,).
    left_out_error
        That of rows that the plane was not learned from, and of their means alone.
    remarks
        The answer, facts, and cautions on what not to believe.
    """

    joint: JointTable
    names: tuple[str, ...]
    model: ProbabilisticPCA
    evidence: Array
    place: Array
    doubt: Array
    axes: tuple[AxisMeaning, ...]
    error: Array
    left_out_error: tuple[float, float]
    remarks: tuple[Remark, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """Coordinates, their doubt, and error of each row, after columns that number them."""
        columns: dict[str, Any] = {}
        for k, values in enumerate(self.place.T, start=1):
            columns[f"axis {k}"] = values
        for k, values in enumerate(self.doubt.T, start=1):
            columns[f"sd of axis {k}"] = values
        columns["error"] = self.error
        return self.joint.frame(columns)


def reduce_table(
    source: Any,
    n_axes: int | None = None,
    seed: int = 0,
    ignore: Sequence[str] = (),
    progress: Progress = silent,
) -> TableReduction:
    """Return few axes that carry the columns of a table.

    Parameters
    ----------
    source
        A `Table`, a path or a data frame; gaps, text and dates are taken as they are.
    n_axes
        How many; the fewest that tell cells of rows left out as well as any, if None.
    seed
        Of the rows that the plane is checked on.
    ignore
        Columns that are not used.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(100, 1)) @ [[1.0, 2.0, -1.0]] + 0.1 * rng.normal(size=(100, 3))
    >>> reduce_table(pd.DataFrame(rows, columns=["x", "y", "z"])).axes[0].share > 0.95
    True
    """
    progress(0.0, "typing the columns")
    joint = replace(joint_table(source, ignore), has_words=False)
    rows, names = _columns(joint)
    most = min(rows.shape[1], len(rows)) - 1
    if rows.shape[1] < 2 or len(rows) < LEAST_ROWS:
        raise TableError(
            f"{joint.table.name} must have at least 2 columns that vary, of which one may "
            f"follow another, and 3 rows; found {rows.shape[1]} and {len(rows)}; add columns."
        )
    if n_axes is not None and n_axes > most:
        raise TableError(
            f"`axes` must be at most {most}, one fewer than columns and rows; found {n_axes}; "
            "ask for fewer."
        )
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.flatnonzero(~np.isnan(rows).all(axis=1)))
    progress(0.2, "looking for axes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        left_out = _LeftOut.of(rows, order, min(most, n_axes or MOST_AXES))
        best = n_axes or left_out.fewest
        progress(0.7, "learning from all rows")
        model = ProbabilisticPCA(best, ENGINE).fit(rows[order[:MOST_LEARNED]])
    hidden = model.hidden(rows)
    place = np.asarray(hidden.mean())
    doubt = np.sqrt(np.diagonal(hidden.covariance(), axis1=-2, axis2=-1))
    turn = _signs(model.loading_)
    place = place * turn
    evidence = np.exp(log_normalize(np.asarray(model.dimensions_, dtype=np.float64)))
    axes = tuple(_axes(rows, model.loading_ * turn, names))
    error = _row_error(rows, model)
    found = TableReduction(
        joint,
        names,
        model,
        evidence,
        place,
        np.broadcast_to(doubt, place.shape),
        axes,
        error,
        left_out.roots(best),
        (),
    )
    progress(1.0, "done")
    return replace(found, remarks=tuple(_remarks(found, n_axes is not None)))


def _columns(joint: JointTable) -> tuple[Array, tuple[str, ...]]:
    """Return standardized columns (n, d) with gaps, and what they are called.

    The levels of a category weigh together as much as a number does.
    """
    parts, names = [], []
    rows = joint.learned_rows
    for column in joint.rules.columns:
        values = rows[column.name]
        if column.is_number:
            parts.append(_standard(values.to_numpy(dtype=np.float64))[:, None])
            names.append(column.name)
            continue
        if column.values is not None and len(column.values) > 1:
            parts.append(_standard(column.numbers(values.to_numpy()))[:, None])
            names.append(column.name)
            continue
        own, kept = _levels(values, column.levels)
        if kept:
            parts.append(own / np.sqrt(len(kept)))
            names += [f"{column.name} {word!r}" for word in kept]
    return np.concatenate(parts, axis=1), tuple(names)


def _levels(values: pd.Series[Any], levels: Sequence[str]) -> tuple[Array, list[str]]:
    """Return a standardized 0/1 column of each level but the rarest, which the others tell."""
    known = values.notna().to_numpy()
    counts = [int((values == word).sum()) for word in levels]
    used = [levels[i] for i in np.argsort(counts, kind="stable")[::-1] if counts[i]]
    own = [_standard(np.where(known, values == word, np.nan)) for word in used[:-1]]
    return np.stack(own, axis=1) if own else np.empty((len(values), 0)), used[:-1]


def _standard(values: Array) -> Array:
    spread = float(np.nanstd(values))
    return np.asarray((values - np.nanmean(values)) / (spread if spread > 0 else 1.0))


def _signs(loading: Array) -> Array:
    """Return by what each axis is turned, so that the column it carries most rises along it."""
    if not loading.shape[1]:
        return np.ones(0)
    top = np.abs(loading).argmax(axis=0)
    sign = np.sign(loading[top, np.arange(loading.shape[1])])
    return np.where(sign == 0, 1.0, sign)


def _axes(rows: Array, loading: Array, names: tuple[str, ...]) -> Iterator[AxisMeaning]:
    """Yield what each axis means, by the correlation of columns with the hidden number."""
    spread = np.nanstd(rows, axis=0)
    total = float(np.square(spread).sum())
    for k, own in enumerate(loading.T, start=1):
        share = float(np.square(own).sum()) / total
        yield AxisMeaning(k, share, own / spread, names)


def _row_error(rows: Array, model: ProbabilisticPCA) -> Array:
    """Return the root mean squared distance of each row from the plane, in what it has."""
    gap = np.square(rows - model.denoise(rows))
    known = ~np.isnan(gap)
    total = np.where(known, gap, 0.0).sum(axis=1)
    return np.asarray(np.sqrt(total / np.maximum(known.sum(axis=1), 1)))


class _LeftOut(NamedTuple):
    """Squared errors of cells of rows that were left out, in standard deviations.

    Attributes
    ----------
    errors
        Given the other cells of the row, by 1, 2, ... axes, shape (k, n_cells).
    usual
        By the mean of the column, shape (n_cells,).
    """

    errors: Array
    usual: Array

    @classmethod
    def of(cls, rows: Array, order: NDArray[np.intp], most: int) -> _LeftOut:
        """Return the errors of planes with up to so many axes; empty of too few rows."""
        n_test = min(len(order) // 5, MOST_TESTED)
        train = rows[order[n_test : n_test + MOST_LEARNED]]
        if n_test < FEWEST_TESTED or np.isnan(train).all(axis=0).any():
            return cls(np.empty((most, 0)), np.empty(0))
        test, mean = rows[order[:n_test]], np.nanmean(train, axis=0)
        known = ~np.isnan(test)
        errors = [
            _cell_errors(ProbabilisticPCA(k, ENGINE).fit(train), test)
            for k in range(1, most + 1)
        ]
        usual = np.square(test - mean)[known]
        return cls(np.array([one[known] for one in errors]), usual)

    @property
    def fewest(self) -> int:
        """The fewest axes whose errors are not clearly above the least."""
        if not self.errors.shape[1]:
            return 1
        least = self.errors[int(self.errors.mean(axis=1).argmin())]
        for k, own in enumerate(self.errors, start=1):
            above = own - least
            if above.mean() <= CLEAR * above.std() / np.sqrt(len(above)):
                return k
        return len(self.errors)

    def roots(self, n_axes: int) -> tuple[float, float]:
        """Return root mean squared errors by so many axes, and by means; NaN if unknown."""
        if not len(self.usual):
            return float("nan"), float("nan")
        own = self.errors[min(n_axes, len(self.errors)) - 1]
        return float(np.sqrt(own.mean())), float(np.sqrt(self.usual.mean()))


def _cell_errors(model: ProbabilisticPCA, test: Array) -> Array:
    """Return the squared error of each cell given the others of its row, (n, d)."""
    answer = np.empty(test.shape)
    for j in range(test.shape[1]):
        hidden = test.copy()
        hidden[:, j] = np.nan
        answer[:, j] = np.square(model.impute(hidden)[:, j] - test[:, j])
    return answer


def _remarks(found: TableReduction, is_given: bool) -> Iterator[Remark]:
    """Yield the answer, how sure the number is, what is lost, and cautions."""
    n, share = len(found.axes), sum(axis.share for axis in found.axes)
    d = len(found.names)
    what = "1 axis" if n == 1 else f"{n} axes"
    verb = "carries" if n == 1 else "carry"
    yield Remark(
        "answer",
        f"{what}{', as asked for,' * is_given} {verb} {percent(share)} of the spread of "
        f"{count(d, 'column')}.",
    )
    likeliest = int(found.evidence.argmax())
    favored = f"{likeliest} ({percent(float(found.evidence[likeliest]))})"
    if likeliest == n:
        yield Remark("good", f"The evidence favors as many: {favored}.")
    elif likeliest > n:
        yield Remark(
            "fact",
            f"The evidence, with noise that is alike in all columns, favors {favored}: further "
            "axes tell cells of rows that were left out no better.",
        )
    else:
        yield Remark("caution", f"The evidence favors {favored}: more may be noise.")
    if share < LITTLE:
        yield Remark(
            "caution",
            f"{percent(1 - share)} of the spread is lost: a picture of these axes shows little "
            "of the rows.",
        )
    error, usual = found.left_out_error
    if np.isfinite(error):
        gain = 1.0 - (error / usual) ** 2
        text = (
            "A cell of a row that was left out is told by its others with an error of "
            f"{decimals(error, 2)} standard deviations, {decimals(usual, 2)} without them"
        )
        yield Remark("good" if gain > 0.05 else "caution", f"{text}.")
    yield Remark(
        "fact",
        "Axes are straight: what bends is carried by several, and an axis may be turned into "
        "others that say the same. A large share is not a cause.",
    )
    yield from far_remarks(found.joint)

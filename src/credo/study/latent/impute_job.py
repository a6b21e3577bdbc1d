"""What may stand in the gaps of a table: several draws, intervals, and whether these hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.data.error import TableError
from credo.data.table.joint_rows import JointColumn, without_cells
from credo.numerics.array import Array
from credo.study.latent.cluster_job import cell_word, far_remarks
from credo.study.latent.density import Density, JointTable, joint_table, learned_density
from credo.study.progress import Progress, silent
from credo.study.result.chance import CONFIDENCE
from credo.study.result.table_model import Remark
from credo.study.result.wording import count, number, percent
from credo.validation.proportion import share_interval

__all__ = [
    "COMPLETION_HEADINGS",
    "ColumnCheck",
    "FilledColumn",
    "TableCompletion",
    "completion_cells",
    "drawn_cells",
    "impute_table",
]

COMPLETION_HEADINGS = ("gaps", "hidden", "hit", "error", "of one value")
"""Hits are hidden numbers in their interval, and words that were the likeliest; errors are mean
absolute ones, or shares of wrong words, of what was drawn and of one value for all."""

MOST_HIDDEN, HIDDEN_SHARE, FEW_HIDDEN = 1000, 0.1, 60
"""Known cells that are hidden for the check, and of how large a share of the rows: of a third
where that is not more than a few."""

FEWEST_CHECKED = 10
"""Hidden cells of a column from which it has a check of its own."""

DRAWN_NUMBERS = 4_000_000
"""Numbers in all draws of all gaps together, as long as there are `N_DRAWS[0]` of each."""

N_DRAWS = (30, 400)
"""Fewest and most draws of each gap, from which intervals are made."""

ROWS_AT_ONCE = 20_000

MOST_DIGITS = 1e15
"""Whole numbers below are written without a point."""


class FilledColumn(NamedTuple):
    """What was drawn for the gaps of a column.

    Attributes
    ----------
    column
        The column.
    rows
        Rows in which it is missing, shape (m,).
    draws
        Numbers of the table, or words, shape (n_draws, m).
    value
        The middle of numbers, the likeliest word, shape (m,).
    low, high
        Ends of the interval of numbers; of words, the probability of the likeliest twice.
    """

    column: JointColumn
    rows: NDArray[np.intp]
    draws: NDArray[Any]
    value: NDArray[Any]
    low: Array
    high: Array


class ColumnCheck(NamedTuple):
    """How well cells of a column were found that had been hidden.

    Attributes
    ----------
    column
        The column.
    n
        Cells that were hidden.
    hits
        How many of them were in their interval, or the likeliest word.
    promised
        The share that should be: the probability of the intervals, or the mean probability of
        the likeliest words.
    error, usual_error
        Mean absolute error, and that of the column's median; share of words that are wrong, and
        that of always the most frequent.
    values
        The hidden numbers, the middle of their draws, and the ends of their intervals; None of
        words.
    """

    column: JointColumn
    n: int
    hits: int
    promised: float
    error: float
    usual_error: float
    values: tuple[Array, Array, Array, Array] | None = None


@dataclass(frozen=True, eq=False)
class TableCompletion:
    """A table whose gaps were drawn.

    Attributes
    ----------
    joint, density
        The table as rows of a density, and the mixture that was learned.
    filled
        One for each column with gaps.
    checks
        One for each column of which cells were hidden.
    coverage
        Probability of the intervals.
    n_kept
        Draws that go into files.
    remarks
        The answer, facts, and cautions on what not to believe.
    """

    joint: JointTable
    density: Density
    filled: tuple[FilledColumn, ...]
    checks: tuple[ColumnCheck, ...]
    coverage: float
    n_kept: int
    remarks: tuple[Remark, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """The table with its gaps at their middle or likeliest value, and their intervals."""
        table = _as_objects(self.joint)
        for part in self.filled:
            name = part.column.name
            table[name] = _with(table[name], part.rows, _written(part.column, part.value))
        for part in self.filled:
            name, n = part.column.name, len(self.joint)
            if not part.column.holds_numbers:
                table[f"probability of {name}"] = _at(part.rows, part.low, n)
                continue
            for side, end in (("low", part.low), ("high", part.high)):
                values = pd.Series([None] * n, dtype=object)
                table[f"{side} {name}"] = _with(values, part.rows, _written(part.column, end))
        return table

    @property
    def draws(self) -> pd.DataFrame:
        """The table completed several times, one below the other, numbered by ``draw``."""
        parts = []
        for place in range(self.n_kept):
            table = _as_objects(self.joint)
            for part in self.filled:
                name, values = part.column.name, part.draws[place]
                table[name] = _with(table[name], part.rows, _written(part.column, values))
            table.insert(0, "draw", place + 1)
            parts.append(table)
        return pd.concat(parts, ignore_index=True)


def impute_table(
    source: Any,
    n_draws: int = 5,
    coverage: float = 0.9,
    seed: int = 0,
    ignore: Sequence[str] = (),
    progress: Progress = silent,
) -> TableCompletion:
    """Return what may stand in the gaps of a table.

    Parameters
    ----------
    source
        A `Table`, a path or a data frame.
    n_draws
        Completed tables to keep.
    coverage
        Probability of the intervals.
    seed
        Of draws, and of the cells that are hidden for the check.
    ignore
        Columns that are not used.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=80)
    >>> frame = pd.DataFrame({"x": x, "y": 2 * x + 1})
    >>> frame.loc[3, "y"] = np.nan
    >>> found = impute_table(frame)
    >>> bool(abs(found.frame["y"][3] - (2 * x[3] + 1)) < 0.2)
    True
    """
    progress(0.0, "typing the columns")
    joint = joint_table(source, ignore)
    if not joint.is_missing.any():
        raise TableError(
            f"{joint.table.name} must have a gap in a column that is used; found none, so that "
            "there is nothing to fill; leave the table as it is."
        )
    rng = np.random.default_rng(seed)
    is_hidden = _hidden(joint, rng)
    shown = joint.without(is_hidden)
    density = learned_density(shown, None, seed, lambda s, what: progress(0.6 * s, what))
    progress(0.6, "asking cells that were hidden")
    checks = tuple(_checks(shown, joint, density, is_hidden, coverage, rng))
    if is_hidden.any():
        progress(0.7, "learning from all cells")
        density = density.again(joint, seed)
    progress(0.8, "drawing what is missing")
    filled = tuple(_filled(joint, density, joint.is_missing, coverage, rng, n_draws))
    remarks = tuple(_remarks(joint, filled, checks, coverage))
    progress(1.0, "done")
    return TableCompletion(joint, density, filled, checks, coverage, n_draws, remarks)


def drawn_cells(
    joint: JointTable,
    density: Density,
    rows: pd.DataFrame,
    is_asked: NDArray[np.bool_],
    n_draws: int,
    rng: np.random.Generator,
) -> dict[int, NDArray[Any]]:
    """Return draws of missing cells of rows, by column, each of shape (n_draws, m).

    Parameters
    ----------
    rows
        Rows of the density, of which the cells asked for are missing.
    is_asked
        Which cells, shape (n, d).
    """
    model, found = density.model, {}
    places = np.flatnonzero(is_asked.any(axis=1))
    parts: dict[int, list[NDArray[Any]]] = {j: [] for j in range(is_asked.shape[1])}
    for start in range(0, len(places), ROWS_AT_ONCE):
        own = places[start : start + ROWS_AT_ONCE]
        block = rows.iloc[own]
        drawn = [model.sample_missing(block, 1, rng)[0] for _ in range(n_draws)]
        for j in range(is_asked.shape[1]):
            asked = is_asked[own, j]
            if asked.any():
                parts[j].append(np.stack([one[asked, j] for one in drawn]))
    for j, column in enumerate(joint.rules.columns):
        if parts[j]:
            codes = np.concatenate(parts[j], axis=1)
            known = joint.rows[column.name].dropna().to_numpy()
            found[j] = _cells(column, codes, model.columns_.states[j], known)
    return found


def _cells(
    column: JointColumn, codes: Array, states: tuple[str, ...], known: NDArray[Any]
) -> NDArray[Any]:
    """Return numbers of the table, or words, from what a mixture drew."""
    if not column.is_number:
        words = np.array(states, dtype=object)[codes.astype(np.intp)]
        return (
            words
            if column.values is None
            else column.numbers(words.ravel()).reshape(words.shape)
        )
    values = column.restored(np.clip(codes, known.min(), known.max()))
    seen = column.restored(known)
    if np.abs(seen - np.round(seen)).max() <= 1e-6 * max(1.0, float(np.abs(seen).max())):
        return np.asarray(np.round(values))
    return values


def completion_cells(part: FilledColumn, check: ColumnCheck | None) -> tuple[str, ...]:
    """Return a row of the table of columns with gaps, under `COMPLETION_HEADINGS`."""
    gaps = f"{len(part.rows):,}"
    if check is None:
        return (gaps, "-", "-", "-", "-")
    is_number = check.column.holds_numbers
    errors = [
        number(value) if is_number else percent(value)
        for value in (check.error, check.usual_error)
    ]
    return (gaps, f"{check.n:,}", f"{percent(check.hits / check.n)}", *errors)


def _hidden(joint: JointTable, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which known cells are hidden: at most one in a row, in columns that have gaps."""
    known = ~joint.is_missing & ~joint.is_far & joint.is_missing.any(axis=0)
    # A row must keep something to be known by, and a column enough to learn from.
    known &= ((~joint.is_missing).sum(axis=1) > 1)[:, None]
    is_hidden = np.zeros(known.shape, dtype=bool)
    columns = np.flatnonzero(known.any(axis=0))
    if not len(columns):
        return is_hidden
    few = min(FEW_HIDDEN, len(joint) / 3)
    most = int(min(MOST_HIDDEN, max(HIDDEN_SHARE * len(joint), few)))
    rows = rng.permutation(len(joint))[:most]
    for place, row in enumerate(rows):
        j = columns[place % len(columns)]
        is_hidden[row, j] = known[row, j]
    left = known & ~is_hidden
    return np.asarray(is_hidden & (left.sum(axis=0) >= 2))


def _n_drawn(n_cells: int, n_kept: int) -> int:
    fewest, most = N_DRAWS
    return max(n_kept, int(np.clip(DRAWN_NUMBERS // max(n_cells, 1), fewest, most)))


def _filled(
    joint: JointTable,
    density: Density,
    is_asked: NDArray[np.bool_],
    coverage: float,
    rng: np.random.Generator,
    n_kept: int = 1,
) -> Iterator[FilledColumn]:
    """Yield what was drawn for the cells asked for, by column."""
    n_draws = _n_drawn(int(is_asked.sum()), n_kept)
    rows = without_cells(joint.learned_rows, is_asked)
    tails = [0.5 - 0.5 * coverage, 0.5, 0.5 + 0.5 * coverage]
    for j, draws in drawn_cells(joint, density, rows, is_asked, n_draws, rng).items():
        column, places = joint.rules.columns[j], np.flatnonzero(is_asked[:, j])
        if column.holds_numbers:
            low, middle, high = np.quantile(draws.astype(np.float64), tails, axis=0)
            if column.values is not None or _is_whole(draws):
                middle = np.quantile(draws.astype(np.float64), 0.5, 0, method="inverted_cdf")
            yield FilledColumn(column, places, draws, middle, low, high)
            continue
        share = np.stack([(draws == level).mean(axis=0) for level in column.levels])
        word = np.array(column.levels, dtype=object)[share.argmax(axis=0)]
        yield FilledColumn(column, places, draws, word, share.max(axis=0), share.max(axis=0))


def _is_whole(draws: NDArray[Any]) -> bool:
    return bool((np.mod(draws.astype(np.float64), 1) == 0).all())


def _checks(
    shown: JointTable,
    joint: JointTable,
    density: Density,
    is_hidden: NDArray[np.bool_],
    coverage: float,
    rng: np.random.Generator,
) -> Iterator[ColumnCheck]:
    """Yield how well hidden cells were found, by column."""
    if not is_hidden.any():
        return
    true = joint.rules.cells(joint.rows)
    for part in _filled(shown, density, is_hidden, coverage, rng):
        column, truth = part.column, true[part.column.name].to_numpy()[part.rows]
        known = true[column.name].dropna()
        if column.holds_numbers:
            y = truth.astype(np.float64)
            slack = 1e-9 * (np.abs(y) + 1e-300)
            hits = (part.low - slack <= y) & (y <= part.high + slack)
            middle = part.value.astype(np.float64)
            error = float(np.abs(middle - y).mean())
            usual = float(np.abs(float(known.median()) - y).mean())
            values = (y, middle, part.low, part.high)
            n_hits = int(hits.sum())
            yield ColumnCheck(column, len(y), n_hits, coverage, error, usual, values)
            continue
        hits = part.value == truth
        usual = float((truth != known.mode().iloc[0]).mean())
        promised, error = float(part.low.mean()), float(1 - hits.mean())
        yield ColumnCheck(column, len(truth), int(hits.sum()), promised, error, usual)


def _remarks(
    joint: JointTable,
    filled: Sequence[FilledColumn],
    checks: Sequence[ColumnCheck],
    coverage: float,
) -> Iterator[Remark]:
    """Yield the answer, how the check went, and what the draws rest on."""
    n_gaps = sum(len(part.rows) for part in filled)
    n_columns = len(filled)
    yield Remark(
        "answer",
        f"{count(n_gaps, 'gap')} in {count(n_columns, 'column')} "
        f"{'was' if n_gaps == 1 else 'were'} drawn, given what else the rows have.",
    )
    numbers = [check for check in checks if check.column.holds_numbers]
    n, hits = sum(c.n for c in numbers), sum(c.hits for c in numbers)
    if n:
        yield _coverage_remark(n, hits, coverage)
    words = [check for check in checks if not check.column.holds_numbers]
    n, hits = sum(c.n for c in words), sum(c.hits for c in words)
    if n:
        promised = sum(c.n * c.promised for c in words) / n
        low, high = share_interval(hits, n, CONFIDENCE)
        text = (
            f"Of {count(n, 'category')} that had been hidden the likeliest was right in "
            f"{percent(hits / n)}; {percent(promised)} were promised."
        ).replace("categorys", "categories")
        yield Remark("good" if low <= promised <= high else "caution", text)
    useless = [
        c.column.name
        for c in checks
        if c.n >= FEWEST_CHECKED and c.error > 0.95 * c.usual_error
    ]
    if useless:
        yield Remark(
            "caution",
            f"Other columns tell little of {', '.join(map(repr, useless))}: hidden cells were "
            "told no better than by the column alone, and intervals are as wide as it is.",
        )
    yield Remark(
        "fact",
        "Draws are right if gaps depend on nothing but what the rows have. Cells that are "
        "missing because of what they would say are drawn wrong, and no check can show it.",
    )
    yield Remark(
        "fact",
        "One completed table hides the doubt. Do what you do with each of the draws, and look "
        "at how the answers differ.",
    )
    yield from far_remarks(joint)


def _coverage_remark(n: int, hits: int, coverage: float) -> Remark:
    low, high = share_interval(hits, n, CONFIDENCE)
    text = (
        f"Of {count(n, 'number')} that had been hidden {percent(hits / n)} lie in their "
        f"interval of {percent(coverage)}"
    )
    if low <= coverage <= high:
        return Remark("good", f"{text}, as they should.")
    is_short = hits / n < coverage
    return Remark("caution", f"{text}: intervals are too {'narrow' if is_short else 'wide'}.")


def _as_objects(joint: JointTable) -> pd.DataFrame:
    """Return the whole table as it was given."""
    table = joint.table
    parts = {
        name: table.as_written(name).text if table.is_file else table.as_given(name).array
        for name in table.columns
    }
    return pd.DataFrame({name: pd.Series(part) for name, part in parts.items()})


def _with(values: pd.Series[Any], rows: NDArray[np.intp], new: Sequence[Any]) -> pd.Series[Any]:
    """Return a column with other values in some rows; numbers stay numbers if all are."""
    changed = values.astype(object).to_numpy().copy()
    changed[rows] = np.array(new, dtype=object)
    return pd.Series(changed).infer_objects()


def _at(rows: NDArray[np.intp], values: Array, n: int) -> Array:
    answer = np.full(n, np.nan)
    answer[rows] = values
    return answer


def _written(column: JointColumn, values: NDArray[Any]) -> list[Any]:
    """Return values as they stand in a table: numbers, words, and dates."""
    if column.is_date:
        return [cell_word(column, float(value)) for value in values]
    if not column.holds_numbers:
        return list(values)
    short = [float(f"{float(value):.8g}") for value in values]
    return [int(v) if v.is_integer() and abs(v) < MOST_DIGITS else v for v in short]

"""Odd rows of a table: which, at what rate of false alarms, and by which of their cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.data.error import TableError
from credo.data.table.column_name import quoted
from credo.data.table.joint_rows import JointColumn, without_cells
from credo.numerics.array import Array
from credo.numerics.missing import missing_patterns
from credo.study.latent.cluster_job import cell_word, far_remarks
from credo.study.latent.density import Density, JointTable, joint_table, learned_density
from credo.study.latent.impute_job import drawn_cells
from credo.study.progress import Progress, silent
from credo.study.result.chance import CONFIDENCE
from credo.study.result.table_model import Remark
from credo.study.result.wording import count, percent
from credo.validation.proportion import share_interval

__all__ = ["OddCell", "OddRow", "TableAnomalies", "anomaly_table"]

N_FOLDS = 5

N_DRAWN, N_DRAWN_RARE = 4000, 1000
"""Rows drawn from the mixture, by which it is known how low its density falls."""

CLEAR = 0.1
"""Rows among all that would be as odd, if the mixture were right, of a clearly odd one."""

TAIL = 0.02
"""Share of the draws by which the tail of their scores is continued."""

MOST_EXPLAINED = 200
"""Odd rows whose cells are asked, the oddest first."""

N_VALUES = 200
"""Draws of a cell given the rest of its row."""

MOST_CELLS = 3
"""Cells that a sentence names."""

LEAST_SURPRISE = 0.2
"""Nats from which a cell is named."""

PART_OF_TOP = 0.3
"""Share of the surprise of the oddest cell that another must have to be named."""


class OddCell(NamedTuple):
    """A cell that makes its row odd.

    Attributes
    ----------
    column
        Its column.
    surprise
        Nats by which it is less probable, given the rest of the row, than such cells are.
    words
        What it is, and what was to be expected.
    """

    column: JointColumn
    surprise: float
    words: str


@dataclass(frozen=True)
class OddRow:
    """A row that is odd.

    Attributes
    ----------
    place, name
        Its place, from 0, and what it is called.
    score
        How many standard deviations less probable it is than rows with its gaps usually are.
    is_clear
        Whether fewer than `CLEAR` usual rows of so many would be as odd.
    cells
        Those that make it odd, most first; none of rows that were not asked.
    """

    place: int
    name: str
    score: float
    is_clear: bool
    cells: tuple[OddCell, ...]

    @property
    def sentence(self) -> str:
        """Why it is odd."""
        if not self.cells:
            return f"{self.name}: no cell by itself."
        return f"{self.name}: {'; '.join(cell.words for cell in self.cells)}."


@dataclass(frozen=True, eq=False)
class TableAnomalies:
    """The odd rows of a table.

    Attributes
    ----------
    joint, density
        The table as rows of a density, and the mixture that was learned.
    score
        Of each row by a mixture that did not learn from it, shape (n,).
    threshold
        Score above which rows are odd.
    rate
        False alarms per usual row that the threshold was set to.
    checked, n_checked
        Alarms among rows that the threshold was not set by, and how many these are.
    rows
        The odd rows, the oddest first.
    remarks
        The answer, facts, and cautions on what not to believe.
    """

    joint: JointTable
    density: Density
    score: Array
    threshold: float
    rate: float
    checked: int
    n_checked: int
    rows: tuple[OddRow, ...]
    remarks: tuple[Remark, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """Score of each row and whether and why it is odd, after the columns that number it."""
        n = len(self.joint)
        is_odd, is_clear = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        why = np.full(n, None, dtype=object)
        for row in self.rows:
            is_odd[row.place], is_clear[row.place] = True, row.is_clear
            why[row.place] = "; ".join(cell.words for cell in row.cells)
        columns = {
            "row": np.arange(1, n + 1),
            "score": self.score,
            "is odd": is_odd,
            "is clearly odd": is_clear,
            "why": why,
        }
        return self.joint.frame(columns)


def anomaly_table(
    source: Any,
    rate: float = 0.01,
    seed: int = 0,
    ignore: Sequence[str] = (),
    progress: Progress = silent,
) -> TableAnomalies:
    """Return the odd rows of a table.

    Parameters
    ----------
    source
        A `Table`, a path or a data frame.
    rate
        False alarms per usual row, between 0 and 1.
    seed
        Of folds, starts and draws.
    ignore
        Columns that are not used.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> frame = pd.DataFrame({"x": x, "y": 2 * x + 0.1 * np.cos(40 * x)})
    >>> frame.loc[7, "y"] = frame["y"][7] + 3.0
    >>> anomaly_table(frame).rows[0].place
    7
    """
    if not 0 < rate < 1:
        raise TableError(
            f"`rate` must be above 0 and below 1: false alarms per usual row; found {rate:g}; "
            "pass 0.01 for one in a hundred."
        )
    progress(0.0, "typing the columns")
    joint = joint_table(source, ignore)
    density = learned_density(joint, None, seed, lambda s, what: progress(0.6 * s, what))
    rng = np.random.default_rng(seed)
    fold = rng.permutation(len(joint)) % min(N_FOLDS, len(joint))
    score = np.empty(len(joint))
    clear = np.inf
    for f in range(int(fold.max()) + 1):
        progress(0.6 + 0.05 * f, "scoring rows that were left out")
        own = density.again(joint, seed, np.flatnonzero(fold != f))
        score[fold == f], drawn = _scores(own, joint.rows[fold == f], rng)
        clear = min(clear, _far_end(drawn, CLEAR / len(joint)))
    is_clear = score > clear
    threshold = _threshold(score[~is_clear], rate, clear)
    checked, n_checked = _checked(score, is_clear, fold, rate, clear)
    progress(0.9, "asking why rows are odd")
    odd = np.flatnonzero(score > threshold)
    odd = odd[np.argsort(-score[odd], kind="stable")]
    cells = _explained(joint, density, odd[:MOST_EXPLAINED], rng)
    names = joint.row_names()
    rows = tuple(
        OddRow(int(i), names[i], float(score[i]), bool(is_clear[i]), tuple(cells.get(i, ())))
        for i in odd
    )
    found = TableAnomalies(joint, density, score, threshold, rate, checked, n_checked, rows, ())
    progress(1.0, "done")
    return replace(found, remarks=tuple(_remarks(found)))


def _scores(
    density: Density, rows: pd.DataFrame, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return how odd rows are, and rows drawn from the mixture.

    The log density below its mean, in standard deviations, both over draws with the gaps of the
    row: rows with gaps have fewer terms.
    """
    model = density.model
    log_prob = model.log_prob(rows) - _of_new_words(density, rows)
    drawn = model.predictive_.sample(rng, N_DRAWN)[0]
    codes = rows.isna().to_numpy()[:, model.varying_]
    marked = np.where(codes, np.nan, 0.0)
    answer, whole = np.empty(len(rows)), np.zeros(N_DRAWN)
    for columns, places in missing_patterns(marked):
        is_whole = len(columns) == drawn.shape[1]
        part = drawn if is_whole else drawn[:N_DRAWN_RARE].copy()
        if not is_whole:
            gaps = np.setdiff1d(np.arange(drawn.shape[1]), columns)
            part[:, gaps] = np.nan
        logs = model.predictive_.log_marginal(part)
        spread = max(float(logs.std()), 1e-9)
        answer[places] = (logs.mean() - log_prob[places]) / spread
        if is_whole:
            whole = (logs.mean() - logs) / spread
    if not whole.any():
        logs = model.predictive_.log_marginal(drawn)
        whole = (logs.mean() - logs) / max(float(logs.std()), 1e-9)
    return answer, whole


def _of_new_words(density: Density, rows: pd.DataFrame) -> Array:
    """Return the surprise of words that the mixture never saw, which it takes as gaps."""
    answer = np.zeros(len(rows))
    for name, states in zip(rows, density.model.columns_.states, strict=True):
        if states:
            words = rows[name]
            is_new = words.notna() & ~words.isin(states)
            answer += np.log(density.n_learned + 1.0) * is_new.to_numpy()
    return answer


def _far_end(drawn: Array, share: float) -> float:
    """Return the score that a share of usual rows exceeds, the tail of draws continued.

    Log densities of normals have tails that fall as exponentials do.
    """
    start = float(np.quantile(drawn, 1 - TAIL))
    excess = float((drawn[drawn > start] - start).mean())
    return start + excess * max(float(np.log(TAIL / share)), 0.0)


def _threshold(score: Array, rate: float, clear: float) -> float:
    """Return the score that a new usual row exceeds with probability at most ``rate``.

    By its rank among those of usual rows. Where these are too few for the rate, it is that of
    clearly odd rows.
    """
    place = int(np.floor(rate * (len(score) + 1)))
    if place < 1:
        return clear
    return min(float(np.sort(score)[len(score) - place]), clear)


def _checked(
    score: Array, is_clear: NDArray[np.bool_], fold: NDArray[Any], rate: float, clear: float
) -> tuple[int, int]:
    """Return alarms among rows of each fold by thresholds set on the others, and the rows."""
    alarms = n = 0
    for f in np.unique(fold):
        limit = _threshold(score[(fold != f) & ~is_clear], rate, clear)
        own = (fold == f) & ~is_clear
        alarms, n = alarms + int((score[own] > limit).sum()), n + int(own.sum())
    return alarms, n


def _explained(
    joint: JointTable, density: Density, odd: NDArray[np.intp], rng: np.random.Generator
) -> dict[int, list[OddCell]]:
    """Return the cells that make rows odd, by the places of the rows."""
    if not len(odd):
        return {}
    usual = rng.permutation(len(joint))[:MOST_EXPLAINED]
    typical = np.nanmean(_surprise(density, joint.learned_rows.iloc[usual]), axis=0)
    rows = joint.rows.iloc[odd].reset_index(drop=True)
    excess = _surprise(density, rows) - np.nan_to_num(typical)
    top = np.nanmax(excess, axis=1, initial=0.0)
    is_named = excess >= np.maximum(PART_OF_TOP * top, LEAST_SURPRISE)[:, None]
    rank = np.argsort(np.argsort(-np.nan_to_num(excess, nan=-np.inf), axis=1), axis=1)
    is_named &= rank < MOST_CELLS
    words = _words(joint, density, rows, is_named, rng)
    answer = {}
    for place, row in enumerate(odd):
        named = np.flatnonzero(is_named[place])
        order = named[np.argsort(-excess[place, named])]
        answer[int(row)] = [
            OddCell(joint.rules.columns[j], float(excess[place, j]), words[place, int(j)])
            for j in order
        ] or _far_together(joint, rows.iloc[place])
    return answer


def _far_together(joint: JointTable, row: pd.Series[Any]) -> list[OddCell]:
    """Return the numbers of a row that are far out, though each is as the others say."""
    found = []
    for column in joint.rules.numbers:
        value = float(row[column.name])
        known = joint.rows[column.name].dropna().to_numpy(dtype=np.float64)
        beyond = min(float((known <= value).mean()), float((known >= value).mean()))
        if np.isfinite(value):
            low, high = np.quantile(known, [0.05, 0.95])
            ends = " to ".join(
                cell_word(column, float(column.restored(z))) for z in (low, high)
            )
            own = cell_word(column, float(column.restored(value)))
            words = f"{column.name} {own} (most rows {ends})"
            found.append(OddCell(column, -float(np.log(max(beyond, 1e-9))), words))
    return sorted(found, key=lambda cell: -cell.surprise)[:MOST_CELLS]


def _surprise(density: Density, rows: pd.DataFrame) -> Array:
    """Return minus the log density of each cell given the rest of its row, (n, d)."""
    whole = density.model.log_prob(rows)
    answer = np.full(rows.shape, np.nan)
    known = rows.notna().to_numpy()
    for j in range(rows.shape[1]):
        is_out = np.zeros(rows.shape, dtype=bool)
        is_out[:, j] = True
        rest = density.model.log_prob(without_cells(rows, is_out))
        answer[known[:, j], j] = (rest - whole)[known[:, j]]
    return answer


def _words(
    joint: JointTable,
    density: Density,
    rows: pd.DataFrame,
    is_named: NDArray[np.bool_],
    rng: np.random.Generator,
) -> dict[tuple[int, int], str]:
    """Return what each cell is, and what was to be expected given the rest of its row."""
    answer = {}
    cells = joint.rules.cells(rows)
    for j, column in enumerate(joint.rules.columns):
        places = np.flatnonzero(is_named[:, j])
        if not len(places):
            continue
        asked = np.zeros((len(places), rows.shape[1]), dtype=bool)
        asked[:, j] = True
        hidden = without_cells(rows.iloc[places].reset_index(drop=True), asked)
        draws = drawn_cells(joint, density, hidden, asked, N_VALUES, rng)[j]
        values = cells[column.name].to_numpy()[places]
        for i, place in enumerate(places):
            answer[int(place), j] = _cell_words(column, values[i], draws[:, i])
    return answer


def _cell_words(column: JointColumn, value: Any, draws: NDArray[Any]) -> str:
    if column.holds_numbers:
        low, high = np.quantile(draws.astype(np.float64), [0.05, 0.95])
        ends = f"{cell_word(column, float(low))} to {cell_word(column, float(high))}"
        return f"{column.name} {cell_word(column, float(value))} (expected {ends})"
    levels, counts = np.unique(draws.astype(str), return_counts=True)
    likely = str(levels[counts.argmax()])
    share = percent(float(counts.max() / counts.sum()))
    return f"{column.name} {value!r} (expected {likely!r}, {share})"


def _remarks(found: TableAnomalies) -> Iterator[Remark]:
    """Yield the answer, the check of the rate, and what it rests on."""
    n, rate = len(found.joint), found.rate
    n_clear = sum(row.is_clear for row in found.rows)
    others = len(found.rows) - n_clear
    by_chance = count(max(round(rate * n), 0), "row")
    yield Remark(
        "answer",
        f"{count(len(found.rows), 'odd row')} of {n:,}: {n_clear:,} clearly odd, and "
        f"{others:,} by the rate of {percent_rate(rate)}, which lists about {by_chance} even "
        "if all are usual.",
    )
    if rate * (n - n_clear + 1) < 1:
        yield Remark(
            "caution",
            f"{count(n, 'row')} are too few for a rate of {percent_rate(rate)}: only what is "
            "clearly odd is listed.",
        )
    elif found.n_checked:
        yield _check_remark(found)
    yield Remark(
        "fact",
        "Clearly odd is what less than a tenth of a row of so many would be, if the density "
        f"that was learned were right; it has {count(found.density.choice.best, 'cloud')}.",
    )
    yield Remark(
        "fact",
        "Every row was scored by a density that had not learned from it. Odd is not wrong: a "
        "row can be rare and right.",
    )
    columns = [row.cells[0].column.name for row in found.rows if row.is_clear and row.cells]
    if columns:
        names, counts = np.unique(columns, return_counts=True)
        most = [str(name) for name in names[np.argsort(-counts, kind="stable")][:3]]
        yield Remark("fact", f"Clearly odd rows are so most often by {quoted(most)}.")
    yield from far_remarks(found.joint)


def percent_rate(rate: float) -> str:
    """Return a small share in percent."""
    return f"{100 * rate:g} %"


def _check_remark(found: TableAnomalies) -> Remark:
    low, high = share_interval(found.checked, found.n_checked, CONFIDENCE)
    share = found.checked / found.n_checked
    text = (
        f"Checked: {100 * share:.2g} % of {found.n_checked:,} rows that are not clearly odd "
        f"alarm at thresholds set without them (95 % interval {100 * low:.2g} to "
        f"{100 * high:.2g} %)"
    )
    if low <= found.rate <= high:
        return Remark("good", f"{text}, as they should.")
    return Remark("caution", f"{text}, and not {percent_rate(found.rate)}.")

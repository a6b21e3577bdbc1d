"""The joint density of the columns of a table: a mixture, its number of components searched.

Columns are typed as for a fit, and stand on scales that suit a density. Gaps are integrated
out. Cells that lie far from all others are not learned from, so that a few of them cannot make
clusters of their own.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.data.error import TableError
from credo.data.table.joint_rows import JointRows, without_cells
from credo.data.table.preparation import PreparedTable, TablePreparation, TableSchema
from credo.data.table.table import Table, as_table
from credo.data.table.table_input import TableInput, TrainingRange
from credo.inference.engine.engine import ConvergenceWarning
from credo.inference.latent.partition import CollapsedGibbs
from credo.models.latent.mixture_model import MixtureModel
from credo.numerics.array import Array
from credo.numerics.special.log_domain import log_normalize
from credo.study.job import require_ignorable
from credo.study.progress import Progress, silent

__all__ = [
    "CLEAR",
    "MOST_CHOSEN",
    "MOST_LEARNED",
    "PLAUSIBLE",
    "Density",
    "JointTable",
    "NumberChoice",
    "NumberScore",
    "joint_table",
    "learned_density",
]

MOST_CHOSEN = 1000
"""Rows by which the number of components is chosen."""

MOST_LEARNED = 10_000
"""Rows from which the components are learned."""

MOST_DRAWN, MOST_DRAWN_NUMBERS = 400, 6
"""Rows and columns of numbers up to which the number has a posterior by draws."""

DRAWN = CollapsedGibbs(200, 100, 2)
"""Draws of partitions of few rows without gaps among their numbers."""

FIRST_MOST, LAST_MOST = 6, 24
"""Largest numbers that are tried: at first, and as long as the largest is the best."""

LEAST_ROWS = 1.6
"""Rows that a component must have, with the one that its prior is worth."""

ROWS_PER_COMPONENT = 4
"""Fewest rows for each component that is tried."""

N_FOLDS = 4

PLAUSIBLE = 0.05
"""A number of components with at least this probability is not ruled out."""

CLEAR = 2.0
"""Standard errors from which a difference of held-out log scores counts."""

SHAPES = {
    "vector": "a cloud of any shape and direction",
    "normal": "a cloud along the axes: within a cluster, columns do not depend on each other",
}
"""What a component is of columns of numbers, by the family that says so."""


@dataclass(frozen=True, eq=False)
class JointTable:
    """A table as rows of a joint density.

    Attributes
    ----------
    table, prepared
        The table, and its design matrix.
    schema, rules
        Kinds of all columns, and the rules from the table to rows of the density.
    rows, is_far
        These rows, and which of their cells are set apart, (n, d).
    has_words
        Whether numbers of few different values are taken as words.
    """

    table: Table
    prepared: PreparedTable
    schema: TableSchema
    rules: JointRows
    rows: pd.DataFrame
    is_far: NDArray[np.bool_]
    has_words: bool = True

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def learned_rows(self) -> pd.DataFrame:
        """The rows with gaps in place of cells that are set apart."""
        return without_cells(self.rows, self.is_far)

    def without(self, is_hidden: NDArray[np.bool_]) -> JointTable:
        """Return the table with gaps in place of some cells (n, d)."""
        return replace(self, rows=without_cells(self.rows, is_hidden))

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Which cells are missing, shape (n, d)."""
        return np.asarray(self.rows.isna().to_numpy())

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what was left out, missing and taken on other scales."""
        left_out = tuple(column.note for column in self.schema.left_out)
        taken = self.rules.notes(self.has_words)
        return (*left_out, *self.prepared.notes, *taken)

    @property
    def head(self) -> str:
        """Name, rows and columns in a few words."""
        n, d = len(self), len(self.rules.columns)
        return f"{self.table.name}: {n:,} row{'s' * (n != 1)}, {d} column{'s' * (d != 1)} used"

    def frame(self, columns: dict[str, Any]) -> pd.DataFrame:
        """Return columns by name, after those of the table that number its rows."""
        preparation = self.rules.preparation
        limits = TrainingRange.of(self.prepared)
        return TableInput(self.table, self.prepared, preparation, limits).frame(columns)

    def row_names(self) -> list[str]:
        """Return what each row is called: by the columns that number them, or its place."""
        known = self.frame({})
        if not known.shape[1]:
            return [f"row {i + 1}" for i in range(len(self))]
        first = known.columns[0]
        return [f"{first} {value}" for value in known[first]]


def joint_table(source: Any, ignore: Sequence[str] = ()) -> JointTable:
    """Return a table without a target as rows of a joint density.

    Parameters
    ----------
    source
        A `Table`, a path or a data frame.
    ignore
        Columns that are not used.
    """
    table = as_table(source, is_used=lambda name: name not in ignore)
    require_ignorable(ignore, table, "")
    if len(table) < 2:
        raise TableError(
            f"{table.name} must have at least 2 rows, to say what is alike and what is not; "
            f"found {len(table)}; add rows."
        )
    schema = TableSchema.of(table, ignore=ignore)
    preparation = TablePreparation.learn(table, schema=schema)
    prepared = preparation.prepare(table)
    rules = JointRows.learn(preparation, prepared)
    rows = rules.rows(prepared)
    return JointTable(table, prepared, schema, rules, rows, rules.far_cells(rows))


@dataclass(frozen=True)
class NumberScore:
    """What is known of one number of components.

    Attributes
    ----------
    number
        How many.
    bic, bound
        At the expected parameters, lower is better; and of the log evidence.
    probability
        Of equal ones before the rows were seen.
    held_out, held_out_error
        Mean log density of rows left out above that of the number taken, and its standard
        error; NaN where it was not asked for.
    """

    number: int
    bic: float
    bound: float
    probability: float
    held_out: float = float("nan")
    held_out_error: float = float("nan")

    @property
    def is_worse(self) -> bool:
        """Whether rows left out are clearly less probable than under the number taken."""
        return self.held_out < -CLEAR * self.held_out_error


@dataclass(frozen=True)
class NumberChoice:
    """What is known of the number of components.

    Attributes
    ----------
    scores
        One for each number, from 1 on.
    best
        The number taken: the one asked for, or the smallest of those that have a probability of
        `PLAUSIBLE` and under which rows left out are no less probable than under the likeliest.
    shape
        Family of the numbers of each component.
    method
        What the probabilities are by: "draws of partitions" or "bounds of the evidence".
    n_rows
        Rows that were looked at.
    is_given
        Whether the number was asked for.
    """

    scores: tuple[NumberScore, ...]
    best: int
    shape: str
    method: str
    n_rows: int
    is_given: bool

    def of(self, n: int) -> NumberScore:
        """Return what is known of a number."""
        return self.scores[n - 1]

    @property
    def at_least(self) -> float:
        """Probability of the number taken, or a larger one."""
        return sum(score.probability for score in self.scores[self.best - 1 :])

    @property
    def likeliest(self) -> NumberScore:
        """The number with the highest probability."""
        return max(self.scores, key=lambda score: score.probability)

    @property
    def highest_bound(self) -> float:
        """The bound of the number of the best."""
        return max(score.bound for score in self.scores)

    @property
    def lowest_bic(self) -> NumberScore:
        """The best number by BIC."""
        return min(self.scores, key=lambda score: score.bic)


@dataclass(frozen=True, eq=False)
class Density:
    """A mixture of the rows of a table, and how its number of components was found."""

    model: MixtureModel
    choice: NumberChoice
    n_learned: int

    def again(
        self, joint: JointTable, seed: int, rows: NDArray[np.intp] | None = None
    ) -> Density:
        """Return a mixture of the same kind and number, learned from other rows.

        Parameters
        ----------
        rows
            Which rows of the table; None for all.
        """
        all_rows = joint.learned_rows
        chosen = _shuffled(all_rows if rows is None else all_rows.iloc[rows], seed)
        learned = _whole(chosen.iloc[:MOST_LEARNED], all_rows)
        model = _mixture(
            joint.rules.families(self.choice.shape), self.choice.best, learned, seed
        )
        return Density(model, self.choice, len(learned))


def learned_density(
    joint: JointTable,
    n_components: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Density:
    """Return a mixture of the rows of a table.

    Parameters
    ----------
    joint
        The table.
    n_components
        How many components; as many as the evidence favors if None.
    seed
        Of the choice of rows, and of starts.
    """
    n_distinct = int((~joint.rows.duplicated()).sum())
    if n_components is not None and n_components > n_distinct:
        raise TableError(
            f"`clusters` must be at most the number of different rows of {joint.table.name}, "
            f"{n_distinct:,}; found {n_components:,}; ask for fewer."
        )
    rows = _shuffled(joint.learned_rows, seed)
    some = _whole(rows.iloc[:MOST_CHOSEN], rows)
    choice = _chosen(joint.rules, some, n_components, seed, progress)
    progress(0.8, "learning the density of all rows")
    learned = _whole(rows.iloc[:MOST_LEARNED], rows)
    families = joint.rules.families(choice.shape)
    model = _mixture(families, choice.best, learned, seed)
    n_used = int((model.weights_ * len(learned) > LEAST_ROWS).sum())
    if n_used < choice.best and n_components is None:
        choice = replace(choice, best=n_used)
        model = _mixture(families, n_used, learned, seed)
    return Density(model, choice, len(learned))


def _shuffled(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return the rows that have a value, in a random order."""
    has_value = np.flatnonzero(rows.notna().any(axis=1).to_numpy())
    return rows.iloc[np.random.default_rng(seed).permutation(has_value)]


def _mixture(families: dict[str, str], k: int, rows: pd.DataFrame, seed: int) -> MixtureModel:
    """Return a mixture of rows; their order does not matter but for its last digits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MixtureModel(families, k, n_restarts=2, random_state=seed)
        return model.fit(rows.sort_index())


def _whole(some: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return some rows, and one with a value in each column that they have none of."""
    empty = [name for name in rows if some[name].isna().all()]
    more = [rows.index[rows[name].notna()][0] for name in empty]
    return pd.concat([some, rows.loc[more]]) if more else some


def _chosen(
    rules: JointRows, rows: pd.DataFrame, given: int | None, seed: int, progress: Progress
) -> NumberChoice:
    shapes = ["vector", "normal"] if len(rules.numbers) > 1 else ["normal"]
    n_distinct = int((~rows.duplicated()).sum())
    limit = max(1, min(n_distinct, len(rows) // ROWS_PER_COMPONENT, LAST_MOST))
    scanned = {}
    for i, shape in enumerate(shapes):
        progress(0.1 + 0.25 * i, "asking how many clusters there are")
        scanned[shape] = _scanned(rules.families(shape), rows, limit, seed, given)

    def evidence(shape: str) -> float:
        scores = scanned[shape] if given is None else scanned[shape][given - 1 : given]
        return max(score.bound for score in scores)

    shape = max(scanned, key=evidence)
    scores = scanned[shape]
    by_bound = [score.probability for score in scores]
    progress(0.6, "asking rows that were left out")
    numbers = [column.name for column in rules.numbers]
    has_gaps = bool(rows[numbers].isna().to_numpy().any())
    is_drawn = len(rows) <= MOST_DRAWN and len(numbers) <= MOST_DRAWN_NUMBERS and not has_gaps
    if is_drawn:
        scores = _drawn(rules.families(shape), rows, scores, seed)
    plausible = [
        s.number
        for s, share in zip(scores, by_bound, strict=True)
        if max(s.probability, share) >= PLAUSIBLE
    ]
    likeliest = max(scores, key=lambda score: score.probability).number
    held_out = _HeldOut(rules.families(shape), rows, len(scores))
    best = given or held_out.fewest(plausible, likeliest)
    near = {1, best - 1, best, best + 1, likeliest}
    scores = [
        replace(s, held_out=above, held_out_error=error) if s.number in near else s
        for s in scores
        for above, error in [held_out.above(s.number, best) if s.number in near else (0, 0)]
    ]
    method = "draws of partitions" if is_drawn else "bounds of the evidence"
    return NumberChoice(tuple(scores), best, shape, method, len(rows), given is not None)


def _scanned(
    families: dict[str, str], rows: pd.DataFrame, limit: int, seed: int, given: int | None
) -> list[NumberScore]:
    """Return the evidence of numbers from one on, beyond the best."""
    most = min(max(FIRST_MOST, given or 0), max(limit, given or 0))
    while True:
        model = MixtureModel(families, n_restarts=1, random_state=seed)
        table = model.component_table(rows, range(1, most + 1), n_folds=0)
        bound = table["bound"].to_numpy(dtype=np.float64)
        if bound.argmax() < most - 1 or most >= limit or given is not None:
            break
        most = min(2 * most, limit)
    probability = np.exp(log_normalize(bound)).tolist()
    values = zip(table["bic"].tolist(), bound.tolist(), probability, strict=True)
    return [NumberScore(k, *value) for k, value in enumerate(values, start=1)]


def _drawn(
    families: dict[str, str], rows: pd.DataFrame, scores: list[NumberScore], seed: int
) -> list[NumberScore]:
    """Return scores with the posterior of the number by draws."""
    model = MixtureModel(families, n_restarts=1, random_state=seed)
    posterior = model.number_posterior(rows, len(scores), DRAWN).tolist()
    return [replace(s, probability=p) for s, p in zip(scores, posterior, strict=True)]


class _HeldOut:
    """Log densities of rows by mixtures that did not learn from them."""

    def __init__(self, families: dict[str, str], rows: pd.DataFrame, most: int) -> None:
        self._families, self._rows, self._most = families, rows, most
        self._known: dict[int, Array] = {}

    def above(self, k: int, other: int) -> tuple[float, float]:
        """Return by how much rows are more probable than under another number, and its error.

        Both are NaN where too few rows can be left out.
        """
        n_distinct = int((~self._rows.duplicated()).sum())
        if n_distinct < 2 * max(k, other) + N_FOLDS:
            return float("nan"), float("nan")
        gain = self._scores(k) - self._scores(other)
        return float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain)))

    def fewest(self, plausible: Sequence[int], likeliest: int) -> int:
        """Return the smallest number that makes rows as probable as the likeliest."""
        for k in sorted(plausible):
            above, error = self.above(k, likeliest)
            if k == likeliest or above > -CLEAR * error:
                return k
        return likeliest

    def _scores(self, k: int) -> Array:
        if k not in self._known:
            model = MixtureModel(self._families, k, n_restarts=1)
            self._known[k] = model.held_out(self._rows, N_FOLDS, self._most)
        return self._known[k]

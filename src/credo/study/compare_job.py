"""Models of the slate compared on a table: which are better, which alike."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.data.error import TableError
from credo.data.table.column_name import quoted
from credo.data.table.preparation import PreparedTable, TablePreparation, TableSchema
from credo.data.table.table import as_table
from credo.data.table.target import Target, Task, prepare_target
from credo.evaluation.comparison.compare import compare
from credo.evaluation.comparison.comparison import Comparison
from credo.inference.engine.engine import ConvergenceWarning
from credo.models.gaps.gap_average import held_out_completion
from credo.models.gaps.row_completion import learned_completion
from credo.numerics.array import has_missing
from credo.numerics.parallel.threads import threads_for
from credo.study.candidates.candidate import CLASS_MEANINGS, MEANINGS
from credo.study.candidates.slate import spelled
from credo.study.job import require_ignorable, require_rows, task_of

__all__ = ["TableComparison", "compare_table", "model_names"]

N_FOLDS = 10


@dataclass(frozen=True, eq=False)
class TableComparison:
    """A comparison, the table and target it is about, and notes on what was done to it."""

    comparison: Comparison
    table: str
    target: str
    n_columns: int
    notes: tuple[str, ...]


def model_names(has_classes: bool) -> Mapping[str, str]:
    """Return what each model that can be compared is, by its name."""
    return CLASS_MEANINGS if has_classes else MEANINGS


def compare_table(
    source: Any,
    target: str | int,
    models: Sequence[str] | None = None,
    task: Task = "auto",
    seed: int = 0,
    ignore: Sequence[str] = (),
) -> TableComparison:
    """Return how models of the slate compare on all rows of a table, in the same folds.

    Parameters
    ----------
    source
        A `Table`, a path or a data frame.
    target
        Name of the column to predict.
    models
        Names of the models to compare; all that suit the table if None.
    task, seed
        What the target is predicted as, and what draws the folds.
    ignore
        Columns that are not used.
    """
    table = as_table(source, is_used=lambda name: name not in ignore)
    wanted = prepare_target(table, target, task)
    require_rows(wanted, table.name)
    require_ignorable(ignore, table, wanted.name)
    chosen = _known(models, wanted)
    labeled = table.rows(wanted.rows)
    schema = TableSchema.of(labeled, leave_out=(wanted.name,), ignore=ignore)
    preparation = TablePreparation.learn(labeled, wanted.name, schema, y=wanted.y)
    prepared = preparation.prepare(labeled)
    compared, notes = _models(prepared, preparation, wanted, chosen)
    with threads_for(0), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = compare(
            compared, prepared.frame, wanted.y, cv=_n_folds(wanted), random_state=seed
        )
    said = wanted.code_notes + wanted.notes + preparation.notes + notes
    return TableComparison(found, table.name, wanted.name, len(schema.used), said)


def _known(names: Sequence[str] | None, target: Target) -> list[str] | None:
    """Return names as the slate spells them; an unknown one is refused with the nearest."""
    if names is None:
        return None
    known = list(model_names(target.has_classes))
    chosen = [spelled(name, known, "for this target") for name in names]
    if len(set(chosen)) < 2:
        raise TableError(
            f"`models` must name at least 2 different models; found {quoted(chosen)}; choose "
            f"from {quoted(known, 20)}."
        )
    return list(dict.fromkeys(chosen))


def _models(
    prepared: PreparedTable,
    preparation: TablePreparation,
    target: Target,
    chosen: list[str] | None,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the models by name, and notes on those that were left out."""
    completion = learned_completion(prepared.X, target.y, preparation.level_places)
    X = completion.training(prepared.X, target.y).one_of_each().X
    task = task_of(target)
    # A process searches for its settings in every fold: only those are that were asked for.
    slate = task.slate(X, target.y, preparation, is_fast=chosen is None)
    offered = dict(slate.candidates)
    if has_missing(prepared.X):
        held = held_out_completion(completion, prepared.X, preparation.level_places)
        offered = {name: task.over_gaps(model, held) for name, model in offered.items()}
    if chosen is None:
        return offered, slate.notes
    for name in chosen:
        if name not in offered:
            why = next((note for note in slate.notes if note.startswith(f"{name} ")), "")
            raise TableError(
                f"`models` must name models that suit the table; found that {why or name} "
                "Choose others."
            )
    return {name: offered[name] for name in chosen}, ()


def _n_folds(target: Target) -> int:
    if not target.has_classes:
        return min(N_FOLDS, len(target.y))
    _, counts = np.unique(target.y, return_counts=True)
    return int(min(N_FOLDS, counts.min()))

"""The study of a table: candidates for its target fitted, mixed, and judged on other rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo import study
from credo.data.error import TableError
from credo.data.table.column_name import nearest_names, quoted
from credo.data.table.preparation import TablePreparation, TableSchema
from credo.data.table.table import Table, as_table
from credo.data.table.target import Target, prepare_target, require_one_name
from credo.inference.engine.engine import ConvergenceWarning
from credo.models.gaps.row_completion import learned_completion
from credo.numerics.parallel.threads import threads_for
from credo.study.candidates.slate import Slate
from credo.study.partial_dependence import N_PROFILES, profiles
from credo.study.progress import Progress, silent, unheard
from credo.study.remark.remark import in_order
from credo.study.result.data_summary import DataSummary
from credo.study.result.held_out import Part, Split, held_out_rows
from credo.study.result.result import FitSettings, Judged
from credo.study.result.table_model import Remark
from credo.study.task import StudyRows, Task, Trained
from credo.validation.splits import hold_out

__all__ = [
    "MIN_ROWS",
    "fit_table",
    "require_ignorable",
    "require_rows",
    "split_rows",
    "task_of",
]

MIN_ROWS = 10
"""With fewer rows there is nothing to hold out and judge by."""

MIN_TRAINING_ROWS = 2
"""Rows of each class to learn from, so that one can be held out in turn."""

MIN_TRAINING_NUMBERS = 3
"""Rows with a number to learn from, so that without any one of them some noise is left."""


def fit_table(
    source: Any,
    target: str | int,
    settings: FitSettings | None = None,
    progress: Progress = silent,
    on_judged: Callable[[Judged[Any]], object] = unheard,
) -> Judged[Any]:
    """Return candidates for a table's target, judged on rows that they have not seen.

    Columns are typed on the whole table; then test rows are held out, and all else is learned
    from the training rows alone: what may be in gaps, where functions are placed, weights,
    evidences and cross-validated scores. Everything is also fitted to all rows, for use on
    new ones.

    Parameters
    ----------
    source
        A `Table`, a path or a data frame.
    target
        Name of the column to predict.
    settings
        How; the defaults if not given.
    progress
        Called with the share of the work that is done.
    on_judged
        Called with what was judged, while the fit to all rows goes on or before it.
    """
    require_one_name(target)
    settings = settings or FitSettings()
    ignored = settings.ignore
    table = as_table(source, is_used=lambda name: name not in ignored)
    wanted = prepare_target(table, target, settings.task)
    require_ignorable(settings.ignore, table, wanted.name)
    require_rows(wanted, table.name)
    task = task_of(wanted)
    settings = task.checked(wanted, settings, table.name)
    with warnings.catch_warnings(), threads_for(task.n_threaded(len(wanted.y))):
        # Rows that repeat others have a note of their own.
        warnings.filterwarnings("ignore", "rows with the same inputs must be separate")
        # Relevance vectors are judged by what they have reached.
        warnings.filterwarnings("ignore", "RelevanceDetermination", ConvergenceWarning)
        return _studied(task, table, wanted, settings, progress, on_judged)


def _studied(
    task: Task,
    table: Table,
    target: Target,
    settings: FitSettings,
    progress: Progress,
    on_judged: Callable[[Judged[Any]], object],
) -> Judged[Any]:
    as_number = ", the target as a number and not as classes (`task`)"
    progress(0.0, f"typing the columns{as_number * bool(target.code_notes)}")
    rows = _rows(table, target, settings)
    train = rows.split.train
    offered = task.slate(rows.complete, train.y, rows.split.preparation, settings.fast)
    slate = offered.only(settings.models)
    trained = task.train(slate, rows, progress)

    def judge() -> Judged[Any]:
        found = _judged(task, rows, slate, trained)
        judged = replace(found, remarks=task.remarks(found))
        on_judged(judged)
        progress(0.8, "fitting to all rows")
        return judged

    judged, model = task.finish(judge, partial(task.refit, trained, rows))
    facts = [Remark("fact", note) for note in (*judged.data.notes, *trained.dropped_notes)]
    remarks = in_order([*judged.remarks, *facts])
    progress(1.0, "done")
    return replace(judged, model=model.judged(judged.scores, remarks))


def _rows(table: Table, target: Target, settings: FitSettings) -> StudyRows:
    """Return the rows split, and those to learn from with a guess in each gap."""
    split_rng, fold_rng = np.random.default_rng(settings.seed).spawn(2)
    split = split_rows(table, target, settings.test_share, split_rng, settings.ignore)
    X, y = split.train.prepared.X, split.train.y
    levels, asked = split.preparation.level_places, split.test.prepared.X
    completion = learned_completion(X, y, levels, asked)
    complete = completion.training(X, y).one_of_each().X
    return StudyRows(table, target, settings, split, completion, complete, fold_rng)


def split_rows(
    table: Table, target: Target, share: float, rng: Generator, ignore: Sequence[str] = ()
) -> Split:
    """Return the rows with a target in two parts, of classes the same share of each.

    Columns are typed on the whole table; all else is learned from the training rows alone.
    Columns in ``ignore`` are not used.

    Raises
    ------
    TableError
        If the training rows do not show enough of the target to learn from.
    """
    labeled = table.rows(target.rows)
    classes = target.y if target.has_classes else None
    train, test = hold_out(len(labeled), share, rng, stratify=classes)
    _require_variety(target.y[train], target, table.name)
    schema = TableSchema.of(labeled, leave_out=(target.name,), ignore=ignore)
    rows = labeled.rows(train)
    preparation = TablePreparation.learn(rows, target.name, schema, y=target.y[train])
    held_out = preparation.prepare(labeled.rows(test))
    return Split(
        schema,
        preparation,
        Part(preparation.prepare(rows), target.y[train], train),
        Part(held_out, target.y[test], test),
        preparation.missing(held_out),
    )


def _require_variety(y: NDArray[Any], target: Target, source: str) -> None:
    if target.has_classes:
        counts = {label: int(np.sum(y == label)) for label in np.unique(target.y)}
        rarest = min(counts, key=lambda label: counts[label])
        if counts[rarest] < MIN_TRAINING_ROWS:
            raise TableError(
                f"target {target.name!r} of {source} must leave at least {MIN_TRAINING_ROWS} "
                f"training rows of each class; found {counts[rarest]} of {str(rarest)!r}; add "
                "rows, or pass a smaller `test_share`."
            )
    elif len(y) < MIN_TRAINING_NUMBERS:
        raise TableError(
            f"target {target.name!r} of {source} must leave at least {MIN_TRAINING_NUMBERS} "
            f"training rows; found {len(y)}; add rows, or pass a smaller `test_share`."
        )
    elif np.all(y == y[0]):
        raise TableError(
            f"target {target.name!r} of {source} must vary in the training rows; found "
            f"{y[0]:g} in all {len(y)}; add rows with other values, or pass another `seed`."
        )


def _judged(task: Task, rows: StudyRows, slate: Slate, trained: Trained) -> Judged[Any]:
    split, settings = rows.split, rows.settings
    answers = task.answers(trained, split.test.prepared.frame)
    common = {
        "settings": settings,
        "data": DataSummary.of(rows.table, rows.target, split.schema, split.preparation),
        "training": trained.mixture,
        "scores": task.scores(trained, answers, split.test.y, settings.coverage),
        "columns_gain": task.columns_gain(trained),
        "held_out": held_out_rows(answers[-1], answers[0], split, task.doubt),
        "profiles": tuple(
            profiles(trained.mixture, split.preparation, rows.complete, N_PROFILES)
        ),
        "slate_notes": (*slate.notes, *trained.notes, *trained.dropped_notes),
    }
    return task.judged(trained, rows, common)


def task_of(target: Target) -> Task:
    """Return the task that a target asks for; what the other one needs is not loaded."""
    task: Task = study.CLASSIFICATION if target.has_classes else study.REGRESSION
    return task


def require_rows(target: Target, source: str) -> None:
    """Raise an error unless a table has enough rows with a target."""
    if len(target.y) < MIN_ROWS:
        raise TableError(
            f"{source} must have at least {MIN_ROWS} rows with a target, to learn from some "
            f"and test on others; found {len(target.y)}; add rows."
        )


def require_ignorable(ignore: Sequence[str], table: Table, target: str) -> None:
    """Raise a `TableError` unless all names are columns of the table, and not its target."""
    for name in ignore:
        if name == target:
            raise TableError(
                f"`ignore` must name columns besides the target; found {name!r}, which is to "
                "be predicted; leave it out of `ignore`."
            )
        if name not in table.columns:
            raise TableError(
                f"`ignore` must name columns of {table.name}; found {name!r}; "
                f"{_hint(name, [column for column in table.columns if column != target])}"
            )


def _hint(name: str, columns: list[str]) -> str:
    nearest = nearest_names(name, columns, n=1)
    return f"did you mean {nearest[0]!r}?" if nearest else f"choose from {quoted(columns)}."

"""The main job: from a table and the name of its target to models that have been judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from credo import study
from credo.data.error import TableError
from credo.data.table.table import as_table
from credo.data.table.target import Target, prepare_target
from credo.numerics.parallel.threads import threads_for
from credo.study.progress import Progress, silent, unheard
from credo.study.result.classification_result import ClassificationResult
from credo.study.result.ignored import require_ignorable
from credo.study.result.result import FitSettings, RegressionResult

__all__ = ["MIN_ROWS", "fit_table", "require_rows"]

MIN_ROWS = 10
"""With fewer rows there is nothing to hold out and judge by."""

TYPICAL_COLUMNS = 200
"""Columns of the design matrix of a typical candidate."""


def fit_table(
    source: Any,
    target: str,
    settings: FitSettings | None = None,
    progress: Progress = silent,
    on_judged: Callable[[Any], object] = unheard,
) -> RegressionResult | ClassificationResult:
    """Return candidates for a table's target, judged on rows that they have not seen.

    Columns are typed on the whole table; then test rows are held out, and all else is learned
    from the training rows alone: what may be in gaps, where functions are placed, weights,
    evidences and cross-validated scores. Last, everything is fitted again to all rows, for
    use on new ones.

    Parameters
    ----------
    source
        A `Table`, a path or a data frame.
    target
        Name of the column to predict.
    settings
        How; the defaults if not given.
    progress
        Is told how far the work is.
    on_judged
        Is told all but the model as soon as it is known; the fit to all rows comes last.
    """
    settings = settings or FitSettings()
    table = as_table(source)
    wanted = prepare_target(table, target, settings.task)
    require_ignorable(settings.ignore, table, target)
    require_rows(wanted, table.name)
    _require_classes(wanted, settings, table.name)
    if wanted.has_classes:
        with threads_for(len(wanted.y) * TYPICAL_COLUMNS**2):
            return study.judged_classification(table, wanted, settings, progress, on_judged)
    # Candidates run side by side, and what is left between them is many small products.
    with threads_for(0):
        return study.judged_regression(table, wanted, settings, progress, on_judged)


def _require_classes(target: Target, settings: FitSettings, source: str) -> None:
    if settings.has_decisions and not target.has_classes:
        raise TableError(
            f"`loss` and `reject` need a target of classes; found that {target.name!r} of "
            f"{source} is a number; leave them out, or pass `task='classification'`."
        )


def require_rows(target: Target, source: str) -> None:
    """Raise an error unless a table has enough rows with a target."""
    if len(target.y) < MIN_ROWS:
        raise TableError(
            f"{source} must have at least {MIN_ROWS} rows with a target, to learn from some "
            f"and test on others; found {len(target.y)}; add rows."
        )

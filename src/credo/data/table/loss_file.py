"""Losses in: a table file with one row for each action and one column for each class."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from credo.data.error import TableError
from credo.data.table.column_name import quoted
from credo.data.table.table import Table, read_table
from credo.decisions.loss_matrix import LossMatrix
from credo.numerics.array import Array

__all__ = ["read_losses"]


def read_losses(path: str | PathLike[str], labels: Sequence[str]) -> LossMatrix:
    r"""Return the losses in a file, its classes in the order of ``labels``.

    The first column names the actions, which need not be classes; every other column is a
    class of the model.

    Raises
    ------
    TableError
        If a class is missing or unknown, an action has no name or that of another, a loss is
        not a number, or there is only one action.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "costs.csv"
    ...     _ = file.write_text("action,ill,well\nsend home,10,0\ntreat,0,1\n")
    ...     read_losses(file, ["well", "ill"]).loss
    array([[ 0., 10.],
           [ 1.,  0.]])
    """
    path = Path(path)
    table = read_table(path)
    wanted, found = [str(label) for label in labels], table.columns[1:]
    _require_labels(table.columns[0], found, wanted, table.name)
    actions = table.as_written(table.columns[0]).text
    _require_actions(actions.tolist(), table.name)
    losses = np.column_stack([_losses(table, label) for label in wanted])
    return LossMatrix(losses, wanted, actions.astype(str))


def _require_labels(first: str, found: list[str], wanted: list[str], source: str) -> None:
    missing = [label for label in wanted if label not in found]
    unknown = [name for name in found if name not in wanted]
    if not missing and not unknown:
        return
    complaints = [f"none for {quoted(missing)}"] if missing else []
    complaints += [f"losses for the unknown {quoted(unknown)}"] if unknown else []
    advice = (
        "put the names of the actions into a first column of their own"
        if first in missing
        else "name the columns by the classes"
    )
    raise TableError(
        f"{source} must have a column of losses for each class, {quoted(wanted, 8)}; found "
        f"{' and '.join(complaints)}; {advice}."
    )


def _require_actions(actions: list[str | None], source: str) -> None:
    rule = f"{source} must name at least 2 different actions in its first column; found"
    if None in actions:
        raise TableError(f"{rule} no name in row {actions.index(None) + 1}; add it.")
    twice = [name for place, name in enumerate(actions) if name in actions[:place]]
    if twice:
        raise TableError(f"{rule} {twice[0]!r} twice; name each action once.")
    if len(actions) < 2:
        raise TableError(f"{rule} {quoted(actions)} alone; add the alternatives.")


def _losses(table: Table, label: str) -> Array:
    values = table.column(label).numbers
    if np.isnan(values).any():
        row = int(np.flatnonzero(np.isnan(values))[0])
        found = table.frame[label].iloc[row]
        what = "nothing" if pd.isna(found) else repr(str(found))
        raise TableError(
            f"{table.name} must hold a number for each action and class; found {what} for "
            f"class {label!r} in row {row + 1}; write what that action costs there."
        )
    return values

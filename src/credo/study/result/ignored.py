"""Columns that the user does not want to be used."""

from __future__ import annotations

from collections.abc import Sequence

from credo.data.error import TableError
from credo.data.table.column_name import nearest_names, quoted
from credo.data.table.table import Table

__all__ = ["require_ignorable"]


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

"""From a table to a design matrix, by rules learned on the training rows only."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from credo.data.error import TableError
from credo.data.table.cell import Cells, varies
from credo.data.table.column_code import CategoryCode, Coded, ColumnCode, DateCode, NumberCode
from credo.data.table.column_name import quoted, require_columns
from credo.data.table.columns import VANISHING, Column, TableSchema
from credo.data.table.gap import gap_evidence, gap_note
from credo.data.table.table import Table, as_table
from credo.numerics.array import Array

__all__ = ["MissingCells", "PreparedTable", "TablePreparation"]

_CODES: Mapping[str, Callable[[Cells, str, bool], ColumnCode]] = MappingProxyType(
    {"number": NumberCode.learn, "category": CategoryCode.learn, "date": DateCode.learn}
)


class PreparedTable(NamedTuple):
    """A design matrix, shape (n_rows, n_columns), its column names, and notes in sentences."""

    X: Array
    names: tuple[str, ...]
    notes: tuple[str, ...]


class MissingCells(NamedTuple):
    """Cells that are averaged over: a mask, shape (n_rows, n_inputs), and input names."""

    is_missing: NDArray[np.bool_]
    inputs: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the inputs in which any cell is missing."""
        pairs = zip(self.inputs, self.is_missing.T, strict=True)
        return tuple(name for name, is_missing in pairs if is_missing.any())

    @property
    def rows(self) -> NDArray[np.bool_]:
        """Whether each row has a missing cell, shape (n_rows,)."""
        return np.asarray(self.is_missing.any(axis=1))


@dataclass(frozen=True)
class TablePreparation:
    """Rules that turn a table into a design matrix, learned from training rows alone.

    A number stays itself, a date becomes days since the earliest training date, a category
    one 0/1 column for each level. What is missing is NaN; where training had gaps, and the
    evidence is that they say something of the target, an indicator column marks them. See
    `NumberCode`, `DateCode` and `CategoryCode` for what happens to values that training
    never showed.

    Attributes
    ----------
    target
        Name of the target column, which a table to predict may have or not; may be empty.
    codes
        One code for each column used, in the order of the training table.
    left_out
        Columns of the training table that are not used, each with its reason.
    n_rows
        Number of training rows.
    training_notes
        Plain sentences on what was missing and pooled in the training rows.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     {"age": [20.0, None, 40.0], "sex": ["f", "m", "f"], "y": [1.0, 2.0, 3.0]}
    ... )
    >>> preparation = TablePreparation.learn(frame, target="y")
    >>> X, names, notes = preparation.prepare(frame)
    >>> names
    ('age', 'sex = f', 'sex = m')
    >>> X
    array([[20.,  1.,  0.],
           [nan,  0.,  1.],
           [40.,  1.,  0.]])
    >>> notes
    ("1 missing value of 'age' was averaged over, given what else the rows have.",)
    """

    target: str
    codes: tuple[NumberCode | CategoryCode | DateCode, ...]
    left_out: tuple[Column, ...]
    n_rows: int
    training_notes: tuple[str, ...]

    @classmethod
    def learn(
        cls,
        table: Any,
        target: str = "",
        schema: TableSchema | None = None,
        keep: Sequence[str] = (),
        y: NDArray[Any] | None = None,
    ) -> Self:
        """Return the rules for a training table.

        Parameters
        ----------
        table
            The training rows: a `Table`, a path or a data frame.
        target
            Name of the target column, which is not an input.
        schema
            Kinds of the columns, found on the whole table before rows were held out; by
            default they are found on the training rows.
        keep
            Columns to use even if they look like row numbers or free text; for when no
            schema is given.
        y
            The target of each row, numbers or labels, by which the evidence that its gaps
            tell something decides on the indicator of a column; no indicators if None.
        """
        table = as_table(table)
        schema = schema or TableSchema.of(table, leave_out=(target,), keep=keep)
        inputs = [column for column in schema.columns if column.name != target]
        require_columns([column.name for column in inputs], table.columns, table.name)
        columns = [_in_training(column, table) for column in inputs]
        left_out = tuple(column for column in columns if not column.is_used)
        codes: Any = tuple(
            _CODES[column.kind](cells, table.name, _is_telling(cells, y))
            for column in columns
            if column.is_used
            for cells in [table.column(column.name)]
        )
        _require_some(codes, left_out, table.name)
        bare = cls(target, codes, left_out, len(table), ())
        notes = bare._prepared(table, " in the training rows").notes
        return cls(target, codes, left_out, len(table), notes)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the design matrix."""
        return tuple(name for code in self.codes for name in code.names)

    @property
    def binary_names(self) -> tuple[str, ...]:
        """Names of the columns that hold 0 or 1 in any table: levels, and what is missing."""
        return tuple(
            name
            for code in self.codes
            for place, name in enumerate(code.names)
            if isinstance(code, CategoryCode) or code.is_constant or place == 1
        )

    @property
    def level_places(self) -> tuple[tuple[int, int], ...]:
        """First column of each category in the design matrix, and the one after its last."""
        ends = np.cumsum([0, *(len(code.names) for code in self.codes)]).tolist()
        places = zip(self.codes, ends[:-1], ends[1:], strict=True)
        return tuple((a, b) for code, a, b in places if isinstance(code, CategoryCode))

    @property
    def level_names(self) -> tuple[str, ...]:
        """Names of the 0/1 columns that say which level a category has."""
        return tuple(
            name for code in self.codes if isinstance(code, CategoryCode) for name in code.names
        )

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the table's columns that must be there to predict."""
        return tuple(code.name for code in self.codes)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns that are text even if they look like numbers; pass them to `read_table`."""
        return tuple(code.name for code in self.codes if isinstance(code, CategoryCode))

    @property
    def notes(self) -> tuple[str, ...]:
        """Plain sentences: what was left out and why, what was missing or pooled."""
        return tuple(column.note for column in self.left_out) + self.training_notes

    def prepare(self, table: Any) -> PreparedTable:
        """Return the design matrix of a table, the names of its columns, and notes.

        Parameters
        ----------
        table
            A `Table`, a path or a data frame with the columns in `inputs`, in any order.
            Columns that training did not have are ignored, and a note says so.
        """
        return self._prepared(table, "")

    def _prepared(self, table: Any, where: str) -> PreparedTable:
        """Return the same, notes on gaps saying where they are."""
        table = as_table(table, text_columns=self.text_columns)
        require_columns(self.inputs, table.columns, table.name)
        parts = [code.code(table.column(code.name), table.name) for code in self.codes]
        notes = tuple(_notes(parts, where))
        X = np.concatenate([part.values for part in parts], axis=1)
        return PreparedTable(X, self.names, notes + self._extra(table))

    def missing(self, prepared: PreparedTable) -> MissingCells:
        """Return which inputs are missing and averaged over, row by row.

        Not those whose absence is a value: a level of its own, or all that a column tells.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [20.0, None, 40.0], "dose": [1.0, 2.0, 3.0]})
        >>> preparation = TablePreparation.learn(frame)
        >>> missing = preparation.missing(preparation.prepare(frame))
        >>> missing.columns, missing.rows
        (('age',), array([False,  True, False]))
        """
        start = np.cumsum([0, *(len(code.names) for code in self.codes)])
        first = [i for i, code in zip(start, self.codes, strict=False) if code.names]
        names = tuple(code.name for code in self.codes if code.names)
        return MissingCells(np.isnan(prepared.X[:, first]), names)

    def _extra(self, table: Table) -> tuple[str, ...]:
        known = {*self.inputs, *(column.name for column in self.left_out), self.target}
        extra = [name for name in table.columns if name not in known]
        if not extra:
            return ()
        what = "1 column was" if len(extra) == 1 else f"{len(extra)} columns were"
        return (f"{what} not there in training and ignored: {quoted(extra)}.",)


def _notes(parts: Sequence[Coded], where: str) -> Iterator[str]:
    """Yield notes by column, those on gaps that were treated alike in one sentence."""
    reported = set()
    for part in parts:
        yield from part.notes
        if part.gap and part.gap.fate not in reported:
            reported.add(part.gap.fate)
            alike = [p.gap for p in parts if p.gap and p.gap.fate == part.gap.fate]
            yield gap_note(alike, where)


def _in_training(column: Column, table: Table) -> Column:
    """Return ``column``, or its replacement if the training rows alone show nothing of it."""
    if not column.is_used:
        return column
    cells = table.column(column.name)
    if cells.is_uniform:
        word = cells.word(0)
        why = f"all its training values are {'missing' if word is None else repr(word)}"
    elif column.kind == "number" and not (cells.n_missing or varies(cells.numbers)):
        word = cells.word(0)
        why = f"its training values {VANISHING}"
    else:
        return column
    note = f"Column {column.name!r} is left out: {why}."
    return Column(column.name, "empty" if word is None else "constant", note)


def _is_telling(column: Cells, y: NDArray[Any] | None) -> bool:
    """Return whether values are missing, and evidence favors that this says something."""
    if y is None or not column.n_missing:
        return False
    return gap_evidence(column.is_missing, y) > 0


def _require_some(codes: Sequence[ColumnCode], left_out: Sequence[Column], source: str) -> None:
    if not codes:
        raise TableError(
            f"{source} must have an input column to learn from; found "
            f"{'none besides the target' if not left_out else 'none that can be used'}"
            f"{''.join(f' ({column.note})' for column in left_out[:1])}; add a column of "
            "numbers, categories or dates."
        )

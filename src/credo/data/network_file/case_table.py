"""Tables of findings: a case per row, a column per variable, gaps where nothing is known."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from credo.data.error import TableError
from credo.data.network_file.state_text import state_of
from credo.data.table.cell import MISSING_MARKERS
from credo.data.table.column_name import nearest_names, quoted
from credo.data.table.table import read_table
from credo.graphs.variable import Variable

__all__ = ["CaseTable", "read_cases"]


@dataclass(frozen=True, eq=False)
class CaseTable:
    """Cases from a file, parted by what a network knows.

    Attributes
    ----------
    findings
        Columns of variables, with states in their own types and NaN where nothing is known.
    others
        Columns that are no variables, such as names of the cases.
    left_out
        Columns of variables that were not to be used.
    name
        What messages call the table.
    """

    findings: pd.DataFrame
    others: pd.DataFrame
    left_out: tuple[str, ...]
    name: str


def read_cases(
    path: str | PathLike[str], variables: Mapping[str, Variable], asked: Collection[str] = ()
) -> CaseTable:
    """Return the cases in a CSV or Parquet file.

    Cells of a variable's column are matched to its states. A word such as ``None`` or ``-``
    means that nothing is known, unless it is a state.

    Parameters
    ----------
    variables
        Variables of the network by name.
    asked
        Variables that are asked for; columns of theirs are not used.

    Raises
    ------
    TableError
        If the file cannot be read, has no column of a variable, or a cell that is no state.
    """
    words = {name: _state_words(variable) for name, variable in variables.items()}
    table = read_table(path, list(variables), words)
    used = [name for name in table.columns if name in variables and name not in asked]
    if not any(name in variables for name in table.columns):
        raise TableError(_no_column(table.columns, variables, table.name))
    findings = {name: _typed(table.frame[name], variables[name], table.name) for name in used}
    known = [name for name in table.columns if name in variables]
    return CaseTable(
        pd.DataFrame(findings, index=table.frame.index),
        table.frame.drop(columns=known),
        tuple(name for name in known if name in asked),
        table.name,
    )


def _state_words(variable: Variable) -> list[str]:
    if not variable.is_discrete:
        return []
    return [str(state) for state in variable.labels if str(state) in MISSING_MARKERS]


def _typed(column: pd.Series[Any], variable: Variable, source: str) -> pd.Series[Any]:
    """Return a column of texts as states or numbers, each different text looked up once."""
    codes, distinct = pd.factorize(column)
    found = np.full(len(distinct) + 1, np.nan, dtype=object)
    for i, text in enumerate(distinct):
        found[i] = _cell(text, variable, source, codes, i)
    values = found[codes]
    if not variable.is_discrete:
        values = values.astype(float)
    return pd.Series(values, index=column.index, name=column.name)


def _cell(text: Any, variable: Variable, source: str, codes: Any, i: int) -> Any:
    if variable.is_discrete and not isinstance(text, str) and text in variable.positions:
        return variable.labels[variable.index(text)]
    try:
        return state_of(variable, _written(text, variable))
    except ValueError as error:
        row = int(np.flatnonzero(codes == i)[0]) + 1
        raise TableError(f"{source}, row {row}: {error}") from error


def _written(cell: Any, variable: Variable) -> str:
    """Return a cell as text; gaps make a column of whole numbers one of floats."""
    text = str(cell)
    is_whole = isinstance(cell, float | np.floating) and float(cell).is_integer()
    if is_whole and variable.is_discrete and text not in map(str, variable.labels):
        return str(int(cell))
    return text


def _no_column(columns: Collection[str], variables: Mapping[str, Variable], source: str) -> str:
    near = [word for name in columns for word in nearest_names(name, list(variables), n=1)]
    advice = f"did you mean {quoted(near[:3])}" if near else "name them as the network does"
    return (
        f"{source} must have columns that are variables of the network; found only "
        f"{quoted(list(columns)[:6])}; {advice}."
    )

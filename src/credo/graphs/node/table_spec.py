"""Probabilities as people write them, dictionaries and data frames, turned into an array."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from credo.graphs.variable import Variable
from credo.numerics.array import Array, as_float
from credo.numerics.quotation import quote

__all__ = [
    "entries_of_frame",
    "frame_columns",
    "probability_of_entries",
    "require_discrete",
    "setting_text",
    "state_columns",
]


def setting_text(variables: Sequence[Variable], positions: Iterable[Any]) -> str:
    """Return ``"a=yes, b=no"`` for positions of states of some variables."""
    pairs = zip(variables, positions, strict=True)
    return ", ".join(f"{v.name}={v.labels[int(i)]!r}" for v, i in pairs)


def require_discrete(child: Variable, parents: Sequence[Variable]) -> None:
    """Raise if a variable of a node that is a table, whole or compact, is real-valued."""
    if not child.is_discrete:
        raise ValueError(
            f"{child.name} must have states to have a table; found a real-valued variable or "
            "no states. List its states, or use LinearGaussian or a distribution."
        )
    real = [parent.name for parent in parents if not parent.is_discrete]
    if real:
        raise ValueError(
            f"parents of {child.name} must be discrete for a table; found real-valued {real}. "
            "Use Probit or Logit, or cut them into Bins."
        )


def probability_of_entries(
    child: Variable, parents: Sequence[Variable], entries: Mapping[Any, Any]
) -> Array:
    """Return the table of a dictionary, axes parents in order, then child."""
    require_discrete(child, parents)
    if not parents:
        return _row(child, entries, "")
    table = np.zeros([v.n_states for v in (*parents, child)])
    is_missing = np.ones(table.shape[:-1], dtype=bool)
    for key, row in entries.items():
        setting = _setting(child, parents, key)
        table[setting] = _row(child, row, f" given {setting_text(parents, setting)}")
        is_missing[setting] = False
    missing = np.argwhere(is_missing)
    if len(missing):
        few = "; ".join(setting_text(parents, where) for where in missing[:3])
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise ValueError(
            f"table of {child.name} must have an entry for every setting of "
            f"{[v.name for v in parents]}; found none for {few}{more}. Add "
            f"{'it' if len(missing) == 1 else 'them'}."
        )
    return table


def entries_of_frame(
    child: Variable, parents: Sequence[Variable], frame: Any
) -> dict[Any, dict[Any, float]] | dict[Any, float]:
    """Return the dictionary that says the same as a DataFrame or Series."""
    require_discrete(child, parents)
    if isinstance(frame, pd.Series):
        return _entries_of_series(child, parents, frame)
    columns = frame_columns(frame)
    names = [v.name for v in parents]
    absent = [name for name in names if name not in columns]
    if absent:
        raise ValueError(
            f"table of {child.name} must have a column for each of its parents "
            f"{quote(names)}; found "
            f"no {quote(absent[0])} among {quote(list(columns))}. Add it, or rename the "
            "column that holds it."
        )
    keys = list(zip(*(columns[name] for name in names), strict=True)) if names else []
    if child.name in columns and "p" in columns:
        cells = list(zip(columns[child.name], columns["p"], strict=True))
        return _gathered(child, keys if names else [()] * len(cells), cells)
    states = {_state_of_column(child, c): columns[c] for c in state_columns(columns, names)}
    n_rows = len(next(iter(states.values()), []))
    rows = [{s: float(column[i]) for s, column in states.items()} for i in range(n_rows)]
    if names:
        _require_distinct(child, keys)
        return dict(zip(keys, rows, strict=True))
    if n_rows != 1:
        raise ValueError(
            f"table of {child.name} must have one row, as it has no parents; found {n_rows}. "
            "Name its parents in the structure, or keep one row."
        )
    return rows[0]


def frame_columns(frame: Any) -> dict[Any, list[Any]]:
    """Return the columns of a pandas or polars frame, named levels of its index included."""
    if isinstance(frame, pd.DataFrame) and any(n is not None for n in frame.index.names):
        frame = frame.reset_index()
    return {name: frame[name].to_list() for name in frame.columns}


def state_columns(columns: Mapping[Any, list[Any]], parents: Sequence[str]) -> list[Any]:
    """Return the columns that are states of the child, those of no parent."""
    return [name for name in columns if name not in parents]


def _gathered(
    child: Variable, keys: list[tuple[Any, ...]], cells: list[tuple[Any, float]]
) -> dict[Any, Any]:
    _require_distinct(child, [(*key, cell[0]) for key, cell in zip(keys, cells, strict=True)])
    if not any(keys):
        return {state: float(p) for state, p in cells}
    rows: dict[Any, dict[Any, float]] = {}
    for key, (state, p) in zip(keys, cells, strict=True):
        rows.setdefault(key, {})[state] = float(p)
    return rows


def _entries_of_series(
    child: Variable, parents: Sequence[Variable], series: pd.Series[Any]
) -> dict[Any, Any]:
    names = [v.name for v in (*parents, child)]
    if series.index.nlevels != len(names):
        raise ValueError(
            f"Series of {child.name} must have an index of the levels {quote(names)}; found "
            f"{quote(list(series.index.names))}. Use one level per parent and one for the node."
        )
    keys = [key if isinstance(key, tuple) else (key,) for key in series.index.to_list()]
    levels = list(series.index.names)
    if set(levels) == set(names):
        order = [levels.index(name) for name in names]
        keys = [tuple(key[i] for i in order) for key in keys]
    cells = [(key[-1], p) for key, p in zip(keys, series.to_list(), strict=True)]
    return _gathered(child, [key[:-1] for key in keys], cells)


def _setting(child: Variable, parents: Sequence[Variable], key: Any) -> tuple[int, ...]:
    if len(parents) == 1 and not (isinstance(key, tuple) and len(key) == 1):
        return (parents[0].index(key),)
    if not isinstance(key, tuple) or len(key) != len(parents):
        example = next(iter(product(*(v.labels for v in parents))))
        raise ValueError(
            f"key of the table of {child.name} must be one state of each of "
            f"{[v.name for v in parents]}, such as {quote(example)}; found {quote(key)}. Use "
            "tuples in the order of the parents."
        )
    return tuple(v.index(state) for v, state in zip(parents, key, strict=True))


def _row(child: Variable, row: Any, given: str) -> Array:
    if isinstance(row, Mapping):
        values = np.zeros(child.n_states)
        for state, p in row.items():
            values[child.index(state)] = _number(child, p, given)
        return values
    values = as_float(row)
    if values.shape != (child.n_states,):
        raise ValueError(
            f"probabilities of {child.name}{given} must be {child.n_states}, one for each of "
            f"{quote(list(child.labels))}; found {values.tolist()}. List them in that order, "
            "or write a dictionary of states."
        )
    return values


def _number(child: Variable, p: Any, given: str) -> float:
    if np.ndim(p) or isinstance(p, str | Mapping):
        raise ValueError(
            f"probability of a state of {child.name}{given} must be a number; found "
            f"{quote(p)}. Parents that the structure does not name cannot have entries."
        )
    return float(p)


def _state_of_column(child: Variable, column: Any) -> Any:
    # Headers of files and polars frames are text even where states are not.
    by_text = {str(label): label for label in child.labels}
    return column if column in child.positions else by_text.get(str(column), column)


def _require_distinct(child: Variable, keys: list[tuple[Any, ...]]) -> None:
    seen: set[tuple[Any, ...]] = set()
    for key in keys:
        if key in seen:
            raise ValueError(
                f"rows of the table of {child.name} must differ; found {key} twice. Keep one."
            )
        seen.add(key)

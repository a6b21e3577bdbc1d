"""What people say they know about a network, checked and coded."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.graphs.variable import UnknownState, UnknownVariable, Variable, nearest
from credo.inference.engine.findings import MISSING, Findings
from credo.numerics.array import Array, as_float
from credo.numerics.quotation import quote

__all__ = ["Given", "as_frame", "as_mapping", "is_frame", "read_findings", "with_settings"]

Given = Mapping[str, Any] | Any
"""A mapping of names to what is known, or a table with one row per case."""


def read_findings(variables: Mapping[str, Variable], given: Given = None) -> Findings[str]:
    """Return findings that were written as a dictionary or as a table.

    A finding about a discrete variable is a state, a dictionary of likelihoods by state, a list
    of likelihoods in the order of the states, or a set of states one of which is true; None is
    missing. A table has one column per variable, and such findings in its cells.

    Raises
    ------
    UnknownVariable, UnknownState
        If a name or a label does not exist; the message names the nearest.
    """
    if is_frame(given):
        return _read_frame(variables, given)
    codes, likelihood, values = {}, {}, {}
    for name, value in as_mapping(given).items():
        variable = _variable(variables, name)
        position = _position(variable, value)
        if position is not None:
            codes[name] = np.array([position])
        elif _is_missing(value):
            continue
        elif not variable.is_discrete:
            values[name] = np.array([_number(name, value)])
        elif _is_likelihood(variable, value):
            likelihood[name] = _likelihood(variable, value)[:, None]
        else:
            codes[name] = np.array([variable.index(value)])
    return Findings(1, codes, likelihood, values)


def with_settings(findings: Findings[str], settings: Findings[str]) -> Findings[str]:
    """Return findings with variables that are set from outside, the same in every row."""
    clash = sorted(settings.names & findings.names)
    if settings.likelihood or clash:
        raise ValueError(
            "do must name variables that given does not, with one state each; found "
            f"{clash or sorted(settings.likelihood)}. Name each once."
        )
    n = findings.n_rows
    return Findings(
        n,
        {**findings.codes, **{name: np.repeat(c, n) for name, c in settings.codes.items()}},
        findings.likelihood,
        {**findings.values, **{name: np.repeat(v, n) for name, v in settings.values.items()}},
        findings.index,
        findings.root,
    )


def as_mapping(given: Given) -> Mapping[str, Any]:
    """Return findings by name: those of a mapping or a Series; none at all of None."""
    if given is None:
        return {}
    if isinstance(given, pd.Series):
        return {str(name): value for name, value in given.items()}
    if isinstance(given, Mapping):
        return given
    raise ValueError(
        "findings must be a dictionary by name, or a table with a column per variable; found a "
        f"{type(given).__name__}. Write them as {{name: state}}, or many cases as a DataFrame."
    )


def is_frame(given: Any) -> bool:
    """Return whether ``given`` is a table rather than a mapping."""
    # Asked of the type, for a table that is not computed yet warns if asked for its columns.
    return hasattr(type(given), "columns") and not isinstance(given, Mapping)


def as_frame(given: Any) -> pd.DataFrame:
    """Return a table of any library as one of pandas, computed if it is not yet."""
    if isinstance(given, pd.DataFrame):
        return given
    table = nw.from_native(given)
    whole = table.collect() if isinstance(table, nw.LazyFrame) else table
    return pd.DataFrame({name: pd.Series(whole[name].to_list()) for name in whole.columns})


def _variable(variables: Mapping[str, Variable], name: str) -> Variable:
    found = variables.get(name)
    if found is None:
        raise UnknownVariable(
            f"a finding must be about a variable of the network; found {name!r}."
            f"{nearest(name, variables)}"
        )
    return found


def _check_columns(variables: Mapping[str, Variable], frame: pd.DataFrame) -> None:
    twice = frame.columns[frame.columns.duplicated()].tolist()
    if twice:
        raise ValueError(
            f"columns of a table must be named each once; found {quote(twice[0])} twice. Drop "
            "or rename one of them."
        )
    extra = [name for name in frame.columns if name not in variables]
    if extra:
        raise UnknownVariable(
            f"a column of a table must be a variable of the network; found {extra[0]!r}."
            f"{nearest(extra[0], variables)} Drop what is none with data.drop(columns={extra})."
        )


def _position(variable: Variable, value: Any) -> int | None:
    """Return the position of a state, None for anything else."""
    try:
        return variable.positions.get(value) if variable.states is not None else None
    except TypeError:
        return None


def _is_missing(value: Any) -> bool:
    return (
        value is None
        or value is np.ma.masked
        or (pd.api.types.is_scalar(value) and bool(pd.isna(value)))
    )


def _number(name: str, value: Any) -> float:
    # True would silently count as one.
    if not isinstance(value, bool | np.bool_):
        with suppress(TypeError, ValueError, OverflowError):
            return float(value)
    raise ValueError(
        f"a finding about {name} must be a number, for it is real-valued; found "
        f"{quote(value)}. Pass a number."
    )


def _is_likelihood(variable: Variable, value: Any) -> bool:
    if isinstance(value, Mapping | set | frozenset | list | pd.Series):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, tuple) and value not in variable.positions


def _likelihood(variable: Variable, value: Any) -> Array:
    """Return the likelihood of each state, in the order of the states."""
    if isinstance(value, set | frozenset):
        chosen = {variable.index(state) for state in value}
        likelihood = np.array([float(i in chosen) for i in range(variable.n_states)])
    elif isinstance(value, Mapping | pd.Series):
        given_states = {variable.index(state): float(share) for state, share in value.items()}
        likelihood = np.array([given_states.get(i, np.nan) for i in range(variable.n_states)])
    else:
        likelihood = _listed(variable, value)
    if (
        likelihood.shape != (variable.n_states,)
        or not np.all(likelihood >= 0)
        or not likelihood.max() > 0
    ):
        raise ValueError(
            f"a likelihood of {variable.name} must hold one number, not negative and not all "
            f"zero, for each of its states {quote(list(variable.labels[:8]))}; found "
            f"{quote(value)}. Use a set of states to say that one of them is true."
        )
    if not np.all(np.isfinite(likelihood)):
        raise ValueError(
            f"a likelihood of {variable.name} must be finite; found {quote(value)}. Pass "
            "ratios."
        )
    return likelihood


def _listed(variable: Variable, value: Any) -> Array:
    """Return the numbers of a list, which are likelihoods and never states."""
    try:
        return as_float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"a list given for {variable.name} must hold one likelihood for each of its states "
            f"{quote(list(variable.labels[:8]))}; found {quote(value)}. Use a set to say that "
            "one of some states is true."
        ) from error


def _read_frame(variables: Mapping[str, Variable], given: Any) -> Findings[str]:
    frame = as_frame(given)
    _check_columns(variables, frame)
    codes, likelihood, values = {}, {}, {}
    for name in frame.columns:
        variable = variables[name]
        column = frame[name]
        if not variable.is_discrete:
            values[name] = _numbers(name, column)
            continue
        positions = _codes(variable, column)
        if positions is None:
            likelihood[name] = _likelihoods(variable, column)
        else:
            codes[name] = positions
    return Findings(len(frame), codes, likelihood, values, frame.index)


def _likelihoods(variable: Variable, column: pd.Series[Any]) -> Array:
    """Return the likelihood of each state in every row, (n_states, n_rows); flat if unknown."""
    likelihood = np.ones((variable.n_states, len(column)))
    for row, cell in enumerate(column):
        if _is_missing(cell):
            continue
        try:
            given_states = cell if _is_likelihood(variable, cell) else {cell}
            likelihood[:, row] = _likelihood(variable, given_states)
        except ValueError as error:
            where = f"It is in row {row} of column {variable.name}."
            raise type(error)(f"{error} {where}") from error
    return likelihood


def _codes(variable: Variable, column: pd.Series[Any]) -> NDArray[np.intp] | None:
    """Return the positions of the states of a column, each label looked up once.

    None if some cell is a set of states or holds likelihoods.
    """
    is_plain = isinstance(column.dtype, np.dtype)
    try:
        # Of an array, for labels of a Series would be made into an index.
        number, found = pd.factorize(column.to_numpy() if is_plain else column.array)
    except TypeError:
        return None
    labels = found.tolist()
    place = [_position(variable, label) for label in labels]
    if None in place:
        if column.dtype == object and any(_is_likelihood(variable, x) for x in labels):
            return None
        _refuse_label(variable, labels, number)
    return np.array([*place, MISSING], dtype=np.intp)[number]


def _refuse_label(variable: Variable, labels: list[Any], number: NDArray[np.intp]) -> None:
    """Raise for the first label that is no state, saying in which row it is."""
    at, label = next((i, x) for i, x in enumerate(labels) if x not in variable.positions)
    try:
        variable.index(label)
    except UnknownState as error:
        row = int(np.flatnonzero(number == at)[0])
        raise UnknownState(f"{error} It is in row {row} of column {variable.name}.") from error


def _numbers(name: str, column: pd.Series[Any]) -> Array:
    try:
        if pd.api.types.infer_dtype(column, skipna=True) == "boolean":
            raise TypeError("truth values")
        return np.asarray(pd.to_numeric(column), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {name} must hold numbers, for the variable is real-valued; found others "
            f"({error}). Leave missing entries empty."
        ) from error

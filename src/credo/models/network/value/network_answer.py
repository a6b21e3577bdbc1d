"""Answers of networks, labelled by names and states."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.graphs.variable import Variable, object_array
from credo.inference.engine.account import Account
from credo.numerics.array import Array
from credo.numerics.memory import bytes_text

__all__ = [
    "Explanation",
    "Marginals",
    "PlanReport",
    "check_draws",
    "joint_axis",
    "labelled",
    "labelled_rows",
    "row_attrs",
    "shown_names",
    "value_column",
]

MOST_SHOWN = 6
"""Names of variables that a short text lists."""


class Marginals(dict[str, Any]):
    """Marginal distributions by name of the variable.

    Attributes
    ----------
    log_prob
        Log probability of the findings, a number or one per row; NaN where it is not known:
        Gibbs draws do not tell it, nor does mean field of an undirected network.
    is_impossible
        Whether the findings have probability zero; such rows are NaN.
    account
        How the answer was found.
    """

    def __init__(self, parts: Mapping[str, Any], log_prob: Any, account: Account) -> None:
        super().__init__(parts)
        self.log_prob = log_prob
        self.is_impossible = np.isneginf(log_prob)
        self.account = account

    def frame(self) -> pd.DataFrame:
        """Return the probabilities of all discrete variables, one below the other.

        Columns are ``variable``, ``state`` and ``probability``; for a table of findings a first
        one, ``row``, holds the label of the case.
        """
        parts = [_long(name, part) for name, part in self.items() if _is_table(part)]
        columns = ["variable", "state", "probability"]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)

    def __repr__(self) -> str:
        few = np.ndim(self.log_prob) == 0
        found = f"log_prob={self.log_prob:.6g}" if few else f"{len(self.log_prob)} rows"
        return f"Marginals({shown_names(self)}; {found}, by {self.account.method})"


class Explanation(dict[str, Any]):
    """The most probable states of some variables, jointly, by name.

    Attributes
    ----------
    log_prob
        Log probability of these states together with the findings.
    account
        How the answer was found.
    """

    def __init__(self, states: Mapping[str, Any], log_prob: float, account: Account) -> None:
        super().__init__(states)
        self.log_prob = log_prob
        self.account = account


@dataclass(frozen=True)
class PlanReport:
    """What an answer costs, stated before anything is allocated.

    Attributes
    ----------
    width
        Variables of the largest table, less one.
    cells
        Multiplications for one row of findings.
    bytes
        Memory for one row of findings.
    seconds
        Rough time for one row of findings on one core.
    fits
        Whether it fits the memory that plans may take.
    is_exact
        False of weighted draws, where nothing else can answer.
    """

    width: int
    cells: int
    bytes: int
    seconds: float
    fits: bool
    is_exact: bool = True

    def __str__(self) -> str:
        fit = "fits" if self.fits else "does not fit"
        how = "" if self.is_exact else "weighted draws: "
        return (
            f"{how}width {self.width}, {self.cells:,} cells, {bytes_text(self.bytes)} and "
            f"about {self.seconds:.2g} s for one row; {fit} the memory allowed"
        )


def shown_names(names: Collection[str]) -> str:
    """Return how many variables there are, and the names of the first few.

    Examples
    --------
    >>> shown_names(["cloud", "rain"])
    '2 variables: cloud, rain'
    """
    few = [*names][:MOST_SHOWN]
    more = ", ..." if len(names) > MOST_SHOWN else ""
    return f"{len(names)} variables: {', '.join(few)}{more}"


def _is_table(part: Any) -> bool:
    """Return whether an answer is about states, whose axis has the name of the variable."""
    if isinstance(part, pd.DataFrame):
        return part.columns.name is not None
    return isinstance(part, pd.Series)


def _long(name: str, part: Any) -> pd.DataFrame:
    """Return the answer about one variable with a row per state, case by case of a table."""
    rows = part.to_frame().T if isinstance(part, pd.Series) else part
    n_rows, n_states = rows.shape
    states = object_array(list(rows.columns) * n_rows)
    columns = {"variable": name, "state": states, "probability": rows.to_numpy().ravel()}
    if isinstance(part, pd.Series):
        return pd.DataFrame(columns)
    return pd.DataFrame({"row": rows.index.repeat(n_states), **columns})


def check_draws(n: Any) -> None:
    """Refuse a number of draws that is none."""
    if not isinstance(n, Integral) or n < 0:
        raise ValueError(
            f"the number of draws must be a whole number, not negative; found {n!r}. Pass how "
            "many rows to draw."
        )


def labelled(variables: Sequence[Variable], table: Array, account: Account) -> pd.Series[float]:
    """Return a table of probabilities as a Series labelled by states."""
    series = pd.Series(table.ravel(), index=joint_axis(variables), name="probability")
    series.attrs = account.attrs()
    return series


def labelled_rows(
    variables: Sequence[Variable],
    table: Array,
    total: Array,
    index: pd.Index[Any] | None,
    account: Account,
) -> pd.DataFrame:
    """Return tables of probabilities, one per row, with one column per (joint) state."""
    flat = table.reshape(len(table), prod(table.shape[1:]))
    frame = pd.DataFrame(flat, index=index, columns=joint_axis(variables))
    # A row without an answer has no first entry either.
    frame.attrs = account.attrs() | row_attrs(np.isnan(flat[:, 0]), total)
    return frame


def row_attrs(is_empty: NDArray[np.bool_], total: Array) -> dict[Hashable, Any]:
    """Return which rows have no answer, as attributes of a labelled one.

    Parameters
    ----------
    is_empty
        Whether a row has no answer.
    total
        Its log total: minus infinity if what is known there is impossible; any other row
        without an answer is one that no draw agreed with.
    """
    if not is_empty.any():
        return {"impossible_rows": [], "unanswered_rows": []}
    impossible = is_empty & np.isneginf(total)
    return {
        "impossible_rows": np.flatnonzero(impossible).tolist(),
        "unanswered_rows": np.flatnonzero(is_empty & ~impossible).tolist(),
    }


def joint_axis(variables: Sequence[Variable]) -> pd.Index[Any]:
    """Return the joint states of some variables, one level per variable."""
    if len(variables) == 1:
        return variables[0].axis
    names = [v.name for v in variables]
    return pd.MultiIndex.from_product([v.axis for v in variables], names=names)


def value_column(
    variable: Variable, values: NDArray[Any], index: pd.Index[Any] | None = None
) -> pd.Series[Any]:
    """Return values of a real variable, or states of a discrete one by position.

    Labels that are no numbers become categories in order; -1 is missing.
    """
    if not variable.is_discrete:
        return pd.Series(values, index=index, name=variable.name, dtype=float)
    labels = object_array(variable.labels)
    kinds = {type(label) for label in variable.labels}
    if kinds <= {bool, int, float}:
        chosen = pd.Series(labels[values], index=index, name=variable.name, dtype=object)
        chosen = chosen.where(np.asarray(values) >= 0)
        return chosen.infer_objects() if len(kinds) == 1 else chosen
    categories = pd.Categorical.from_codes(values, categories=pd.Index(labels))
    return pd.Series(categories, index=index, name=variable.name)

"""Answers of networks, labelled by names and states: for one dictionary of findings, or by row.

Joint answers of real and discrete variables, and posteriors of a real one, exact or drawn,
carry the account that every answer has.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from credo.distributions.distribution import Distribution
from credo.distributions.empirical import Empirical
from credo.distributions.mixture import Mixture
from credo.distributions.normal import Normal
from credo.graphs.variable import Variable, object_array
from credo.inference.engine.engine import Account
from credo.inference.engine.findings import Findings
from credo.inference.hybrid.real_rows import JointRows, RealMarginal
from credo.numerics.array import Array

__all__ = [
    "DrawnDistribution",
    "ExactMixture",
    "ExactNormal",
    "Explanation",
    "JointAnswer",
    "Marginals",
    "check_draws",
    "joint_axis",
    "labelled",
    "labelled_answer",
    "labelled_rows",
    "row_attrs",
    "shown_names",
    "value_column",
    "value_columns",
    "with_account",
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


@dataclass(frozen=True, eq=False)
class ExactNormal(Normal):
    """A `Normal` that says how it was found.

    Attributes
    ----------
    account
        Method and error.
    """

    _shared: ClassVar[frozenset[str]] = frozenset({"account"})

    account: Account

    def __init__(self, loc: ArrayLike, scale: ArrayLike, account: Account) -> None:
        object.__setattr__(self, "account", account)
        super().__init__(loc, scale)

    def __repr__(self) -> str:
        return repr(Normal(self.loc, self.scale))


@dataclass(frozen=True, eq=False)
class ExactMixture(Mixture):
    """A `Mixture` that says how it was found.

    Attributes
    ----------
    account
        Method and error.
    """

    _shared: ClassVar[frozenset[str]] = frozenset({"account"})

    account: Account

    def __init__(
        self, weights: ArrayLike, components: Sequence[Distribution], account: Account
    ) -> None:
        object.__setattr__(self, "account", account)
        super().__init__(weights, components)

    def __repr__(self) -> str:
        return repr(Mixture(self.weights, self.components))


def with_account(found: Distribution, account: Account) -> Distribution:
    """Return the posterior of a real variable with the account of how it was found.

    Examples
    --------
    >>> with_account(Normal(0.0, 1.0), Account()).account.is_exact
    True
    """
    if isinstance(found, DrawnDistribution):
        return found
    if isinstance(found, Normal):
        return ExactNormal(found.loc, found.scale, account)
    if isinstance(found, Mixture):
        return ExactMixture(found.weights, found.components, account)
    if isinstance(found, Empirical):
        return DrawnDistribution(found.draws, found.weights, account)
    return found


def labelled_answer(
    variables: Sequence[Variable],
    found: Any,
    total: Array,
    findings: Findings[str],
    account: Account,
) -> Any:
    """Return what was found about some variables, under the names of states and rows.

    Parameters
    ----------
    found
        Table of probabilities, (n_rows, *n_states); or `JointRows`, or a `RealMarginal`.
    total
        Log total of the findings in each row, minus infinity where they are impossible.
    """
    if isinstance(found, JointRows):
        return JointAnswer(tuple(variables), found, account, total, findings.index)
    if not isinstance(found, np.ndarray):
        return _labelled_real(found, total, findings, account)
    if findings.index is None:
        return labelled(variables, found[0], account)
    return labelled_rows(variables, found, total, findings.index, account)


def value_columns(
    variables: Mapping[str, Variable], values: Mapping[str, Any], index: pd.Index[Any] | None
) -> pd.DataFrame:
    """Return states by position and real values, one column per name in ``values``."""
    columns = [value_column(variables[name], column, index) for name, column in values.items()]
    return pd.concat(columns, axis=1) if columns else pd.DataFrame(index=index)


def _labelled_real(
    found: RealMarginal, total: Array, findings: Findings[str], account: Account
) -> Any:
    """Return the distribution of a real variable, or its moments row by row."""
    if findings.index is None:
        return with_account(found.mixture(0), account)
    mean = found.total_mean()
    parts = {"mean": mean, "std": np.sqrt(found.total_variance())}
    frame = pd.DataFrame(parts, index=findings.index)
    frame.attrs = account.attrs() | row_attrs(np.isnan(mean), total)
    return frame


@dataclass(frozen=True, eq=False)
class JointAnswer:
    """What is known of several variables together, some of them real.

    Attributes
    ----------
    variables
        The variables asked about.
    account
        How the answer was found.
    total
        Log total of the findings, minus infinity in rows that are impossible.
    """

    variables: tuple[Variable, ...]
    rows: JointRows
    account: Account
    total: Array
    index: pd.Index[Any] | None = None

    @property
    def probability(self) -> Any:
        """Joint probability of the discrete variables, a Series; rows of a table of findings.

        None if all variables asked about are real.
        """
        discrete = [v for v in self.variables if v.is_discrete]
        if not discrete:
            return None
        if self.index is None:
            return labelled(discrete, self.rows.table[0], self.account)
        return labelled_rows(discrete, self.rows.table, self.total, self.index, self.account)

    def mean(self) -> Any:
        """Return the means of the real variables, a Series; one row per row of findings."""
        frame = pd.DataFrame(self.rows.mean, columns=self._real, index=self.index)
        return frame.iloc[0].rename(None) if self.index is None else frame

    def covariance(self) -> pd.DataFrame:
        """Return the covariance of the real variables, labelled by name on both sides.

        For a table of findings one such block per row, under a first level of the index.
        """
        names, blocks = self._real, self.rows.covariance
        if self.index is None:
            return pd.DataFrame(blocks[0], index=names, columns=names)
        labels = pd.MultiIndex.from_product([self.index, names])
        return pd.DataFrame(blocks.reshape(-1, len(names)), index=labels, columns=names)

    def sample(self, n: int, rng: Generator | int | None = None) -> pd.DataFrame:
        """Return ``n`` joint draws, one row each.

        Raises
        ------
        ValueError
            If the answer is about a table of findings, or ``n`` is no whole number.
        """
        if self.index is not None:
            raise ValueError(
                "findings must be a dictionary to draw from their joint posterior; found a "
                "table. Ask about one row."
            )
        check_draws(n)
        drawn = self.rows.draw(n, np.random.default_rng(rng))
        return pd.concat([value_column(v, drawn[v.name][0]) for v in self.variables], axis=1)

    @property
    def _real(self) -> list[str]:
        return [v.name for v in self.variables if not v.is_discrete]

    def __repr__(self) -> str:
        names = ", ".join(v.name for v in self.variables)
        return f"JointAnswer({names}; {self.account.method})"


@dataclass(frozen=True, eq=False)
class DrawnDistribution(Empirical):
    """An `Empirical` distribution that says how its draws were made.

    Attributes
    ----------
    account
        Method, error and effective draws.

    Examples
    --------
    >>> account = Account("likelihood weighting", False, 0.01, "largest standard error", 9000.0)
    >>> found = DrawnDistribution([1.0, 2.0, 4.0], [0.5, 0.25, 0.25], account)
    >>> float(found.mean()), found.account.effective_draws
    (2.0, 9000.0)
    """

    _shared: ClassVar[frozenset[str]] = frozenset({"account"})

    account: Account

    def __init__(self, draws: ArrayLike, weights: ArrayLike, account: Account) -> None:
        super().__init__(draws, weights)
        object.__setattr__(self, "account", account)

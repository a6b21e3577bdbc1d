"""What networks do with a table of cases: predict columns, and fill gaps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

from credo.graphs.variable import UnknownVariable, Variable, nearest
from credo.inference.discrete.findings import MISSING, Findings
from credo.inference.engine.account import Account
from credo.models.network.answer.answer_frame import labelled_answer, value_columns
from credo.models.network.answer.answers import Answers
from credo.models.network.value.findings import (
    Given,
    as_frame,
    as_mapping,
    is_frame,
    read_findings,
    with_settings,
)
from credo.models.network.value.network_answer import row_attrs, value_column
from credo.numerics.array import Array
from credo.numerics.quotation import quote

__all__ = ["Names", "TableVerbs", "asked_of", "variables_named"]

Names = str | Sequence[str]


class TableVerbs(ABC):
    """Predictions for the rows of a table, for anything that answers about variables."""

    variables: dict[str, Variable]

    @abstractmethod
    def answers(self, do: Sequence[str] = ()) -> Answers:
        """Return the engines of this network, those in ``do`` cut off from their causes."""

    def predict_proba(
        self,
        data: Any,
        target: Names | None = None,
        method: str = "auto",
        do: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """Return the distribution of targets in every row of a table, from the other columns.

        Parameters
        ----------
        data
            One row per case. Every column must be a variable: leave out others, such as
            numbers of cases, with ``data.drop(columns=[...])``.
        target
            One variable, or several; those that are no column of the table by default. A
            column of a target is not used.
        do
            Interventions: variables set to a state from outside in every row.

        Returns
        -------
        pandas.DataFrame
            One column per state; for several targets a first level of columns names them.
            Rows are labelled as in ``data``: to stand beside it, name the columns of one
            target by ``answer.add_prefix("rain=")``, those of several by
            ``answer.set_axis(answer.columns.map("{0[0]}={0[1]}".format), axis=1)``, and
            ``join`` both. Rows with impossible findings are NaN and listed in
            ``attrs["impossible_rows"]``.
        """
        findings, answers = self._asked(_table(data), do)
        absent = [name for name in self.variables if name not in findings.names]
        chosen = absent if target is None else target
        if not isinstance(chosen, str) and not len(chosen):
            raise ValueError(
                "a target must be named where the table has every variable; found none. Pass "
                "target=."
            )
        variables = variables_named(self.variables, chosen)
        names = [variable.name for variable in variables]
        findings = findings.without([name for name in names if name not in as_mapping(do)])
        if len(names) == 1:
            table, total, account = asked_of(answers, findings, variables, method)
            frame: pd.DataFrame = labelled_answer(variables, table, total, findings, account)
            return frame
        found, total, account = answers.marginals(findings, names, method)
        frames = [
            labelled_answer([v], found[v.name], total, findings, account) for v in variables
        ]
        joined: pd.DataFrame = pd.concat(
            frames, axis=1, keys=names, names=["variable", "state"]
        )
        joined.attrs = frames[0].attrs
        return joined

    def predict(
        self,
        data: Any,
        target: str,
        method: str = "auto",
        do: Mapping[str, Any] | None = None,
    ) -> pd.Series[Any]:
        """Return the most probable state of one variable in every row; the mean if real."""
        frame = self.predict_proba(data, target, method, do)
        variable = self.variables[target]
        if not variable.is_discrete:
            return frame["mean"].rename(target)
        share = frame.to_numpy()
        best = np.nan_to_num(share).argmax(axis=1)
        best[np.isnan(share).all(axis=1)] = MISSING
        return value_column(variable, best, frame.index)

    def impute(
        self,
        data: Any,
        rng: Generator | int | None = None,
        do: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """Return the table with its gaps filled by the most probable joint states.

        Parameters
        ----------
        rng
            If given, gaps are filled by a joint draw instead, as multiple imputation needs.
            Gaps of real variables are filled by draws only, or by their mean.
        do
            Interventions: variables set to a state from outside in every row.

        Returns
        -------
        pandas.DataFrame
            What is known stays as it is; likelihoods and sets of states are gaps. Rows whose
            findings are impossible keep their gaps and are listed in
            ``attrs["impossible_rows"]``.
        """
        table = _table(data)
        findings, answers = self._asked(table, do)
        names = list(table.columns)
        filled, total = (
            self._likeliest(answers, findings, names)
            if rng is None
            else _drawn(answers, findings, np.random.default_rng(rng))
        )
        is_empty = ~np.isfinite(total)
        columns = {
            name: _with_gaps_filled(findings, name, filled[name], is_empty) for name in names
        }
        frame = value_columns(self.variables, columns, findings.index)
        frame.attrs = row_attrs(is_empty, total)
        return frame

    def _asked(
        self, given: Given, do: Mapping[str, Any] | None
    ) -> tuple[Findings[str], Answers]:
        """Return what is known and set, and the engines of the network without their causes."""
        findings = read_findings(self.variables, given)
        told = as_mapping(do)
        if not told:
            return findings, self.answers()
        settings = read_findings(self.variables, told)
        return with_settings(findings, settings), self.answers(tuple(sorted(settings.names)))

    def _likeliest(
        self, answers: Answers, findings: Findings[str], names: Sequence[str]
    ) -> tuple[dict[str, Any], Array]:
        """Return the most probable states jointly, and the means of real columns."""
        every = [n for n, v in self.variables.items() if v.is_discrete]
        states, total, _ = answers.best(findings, every, "auto")
        real = [n for n in names if not self.variables[n].is_discrete]
        if not real:
            return dict(states), total
        mean, _, _ = answers.marginals(findings, real, "auto")
        return {**states, **{n: mean[n].total_mean() for n in real}}, total


def asked_of(
    answers: Answers, findings: Findings[str], variables: Sequence[Variable], method: str
) -> tuple[Any, Array, Account]:
    """Return the joint distribution of the variables; one real variable has a marginal."""
    names = [variable.name for variable in variables]
    if len(names) > 1 or variables[0].is_discrete:
        return answers.joint(findings, names, method)
    found, total, account = answers.marginals(findings, names, method)
    return found[names[0]], total, account


def variables_named(variables: dict[str, Variable], targets: Names) -> list[Variable]:
    """Return the variables asked about.

    Raises
    ------
    ValueError
        If none is named, or one twice.
    UnknownVariable
        If there is no such variable; the message names the nearest.
    """
    is_one = isinstance(targets, str) or not isinstance(targets, Iterable)
    names: list[Any] = [targets] if is_one else list(targets)
    if not names or len(set(names)) < len(names):
        raise ValueError(
            f"targets must be at least one variable, each once; found {quote(names)}. Name "
            "what to ask about."
        )
    for name in names:
        if name not in variables:
            raise UnknownVariable(
                f"what is named must be a variable of the network; found {name!r}."
                f"{nearest(str(name), variables)}"
            )
    return [variables[name] for name in names]


def _table(data: Any) -> pd.DataFrame:
    if not is_frame(data):
        raise ValueError(
            "data must be a table with a column per variable and one row per case; found a "
            f"{type(data).__name__}. Make it a DataFrame, or ask query about a dictionary."
        )
    return as_frame(data)


def _drawn(
    answers: Answers, findings: Findings[str], rng: Generator
) -> tuple[dict[str, Any], Array]:
    drawn, total = answers.draws(findings, 1, rng)
    return {name: column[:, 0] for name, column in drawn.items()}, total


def _with_gaps_filled(findings: Findings[str], name: str, filled: Any, is_empty: Any) -> Any:
    """Return a column with what is known, and what was found where nothing is."""
    if name not in findings.values:
        known = findings.codes[name] if name in findings.codes else _certain(findings, name)
        return np.where((known == MISSING) & ~is_empty, filled, known)
    values = findings.values[name]
    return np.where(np.isnan(values) & ~is_empty, filled, values)


def _certain(findings: Findings[str], name: str) -> NDArray[np.intp]:
    """Return the states of a variable where its likelihood leaves only one, else missing."""
    possible = findings.likelihood[name] > 0
    return np.where(possible.sum(axis=0) == 1, possible.argmax(axis=0), MISSING)

"""What networks do with a table of cases: predict columns, and fill gaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

from credo.graphs.variable import UnknownVariable, Variable, nearest
from credo.inference.account import Account
from credo.inference.findings import MISSING, Findings
from credo.models.answers import Answers
from credo.models.findings import read_findings
from credo.models.labelling import labelled_answer, value_columns
from credo.models.network_answer import row_attrs, value_column
from credo.numerics.array import Array

__all__ = ["Names", "TableVerbs", "asked_of", "variables_named"]

Names = str | Sequence[str]


class TableVerbs:
    """Predictions for the rows of a table, for anything that answers about variables."""

    variables: dict[str, Variable]

    def answers(self, do: Sequence[str] = ()) -> Answers:
        """Return the engines of this network, those in ``do`` cut off from their causes."""
        raise NotImplementedError

    def predict_proba(
        self, data: Any, target: Names | None = None, method: str = "auto"
    ) -> pd.DataFrame:
        """Return the distribution of targets in every row of a table, from the other columns.

        Parameters
        ----------
        target
            One variable, or several; those that are no column of the table by default. A
            column of a target is not used.

        Returns
        -------
        pandas.DataFrame
            One column per state; for several targets a first level of columns names them.
            Rows with impossible findings are NaN and listed in ``attrs["impossible_rows"]``.
        """
        findings = _read_table(self.variables, data)
        absent = [name for name in self.variables if name not in list(data.columns)]
        chosen = absent if target is None else target
        if not isinstance(chosen, str) and not len(chosen):
            raise ValueError(
                "a target must be named where the table has every variable; found none. Pass "
                "target=."
            )
        variables = variables_named(self.variables, chosen)
        names = [variable.name for variable in variables]
        findings = findings.without(names)
        if len(names) == 1:
            table, total, account = asked_of(self.answers(), findings, variables, method)
            frame: pd.DataFrame = labelled_answer(variables, table, total, findings, account)
            return frame
        found, total, account = self.answers().marginals(findings, names, method)
        frames = [
            labelled_answer([v], found[v.name], total, findings, account) for v in variables
        ]
        joined: pd.DataFrame = pd.concat(frames, axis=1, keys=names)
        joined.attrs = frames[0].attrs
        return joined

    def predict(self, data: Any, target: str, method: str = "auto") -> pd.Series[Any]:
        """Return the most probable state of one variable in every row; the mean if real."""
        frame = self.predict_proba(data, target, method)
        variable = self.variables[target]
        if not variable.is_discrete:
            return frame["mean"].rename(target)
        share = frame.to_numpy()
        best = np.nan_to_num(share).argmax(axis=1)
        best[np.isnan(share).all(axis=1)] = MISSING
        return value_column(variable, best, frame.index)

    def impute(self, data: Any, rng: Generator | int | None = None) -> pd.DataFrame:
        """Return the table with its gaps filled by the most probable joint states.

        Parameters
        ----------
        rng
            If given, gaps are filled by a joint draw instead, as multiple imputation needs.
            Gaps of real variables are filled by draws only, or by their mean.

        Returns
        -------
        pandas.DataFrame
            What is known stays as it is. Rows whose findings are impossible keep their gaps
            and are listed in ``attrs["impossible_rows"]``.
        """
        findings, names = _read_table(self.variables, data), list(data.columns)
        filled, total = (
            self._likeliest(findings, names)
            if rng is None
            else self._drawn(findings, np.random.default_rng(rng))
        )
        is_empty = ~np.isfinite(total)
        columns = {
            name: _with_gaps_filled(findings, name, filled[name], is_empty) for name in names
        }
        frame = value_columns(self.variables, columns, findings.index)
        frame.attrs = row_attrs(is_empty, total)
        return frame

    def _drawn(self, findings: Findings[str], rng: Generator) -> tuple[dict[str, Any], Array]:
        drawn, total = self.answers().draws(findings, 1, rng)
        return {name: column[:, 0] for name, column in drawn.items()}, total

    def _likeliest(
        self, findings: Findings[str], names: Sequence[str]
    ) -> tuple[dict[str, Any], Array]:
        """Return the most probable states jointly, and the means of real columns."""
        answers = self.answers()
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
            f"targets must be at least one variable, each once; found {names}. Name what to "
            "ask about."
        )
    for name in names:
        if name not in variables:
            raise UnknownVariable(
                f"a target must be a variable of the network; found {name!r}."
                f"{nearest(str(name), variables)}"
            )
    return [variables[name] for name in names]


def _read_table(variables: dict[str, Variable], data: Any) -> Findings[str]:
    findings = read_findings(variables, data)
    if findings.index is None:
        raise ValueError(
            f"data must be a table with one row per case; found a {type(data).__name__}. Use "
            "query for a dictionary."
        )
    return findings


def _with_gaps_filled(findings: Findings[str], name: str, filled: Any, is_empty: Any) -> Any:
    """Return a column with what is known, and what was found where nothing is."""
    if name in findings.codes:
        known = findings.codes[name]
        return np.where((known == MISSING) & ~is_empty, filled, known)
    values = findings.values[name]
    return np.where(np.isnan(values) & ~is_empty, filled, values)

"""The questions that every network answers, labelled by names and states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self, overload

import numpy as np
import pandas as pd
from numpy.random import Generator

from credo.graphs.variable import UnknownVariable, Variable, nearest
from credo.inference.table_ladder import Account
from credo.inference.table_plan_error import ImpossibleFindings
from credo.models.answers import Answers, RealMarginal
from credo.models.findings import Findings, Given, read_findings, with_settings
from credo.models.joint_answer import JointAnswer, JointRows
from credo.models.limits import Limits
from credo.models.network_answer import (
    Explanation,
    Marginals,
    PlanReport,
    labelled,
    labelled_rows,
    value_column,
)
from credo.numerics.array import Array
from credo.numerics.memory import bytes_of

__all__ = ["Network"]

Names = str | Sequence[str]

ENGINES = ("_answers", "_engines")
"""Cached properties that hold engines and their plans."""


class Network:
    """What Bayesian networks, Markov random fields and factor graphs have in common.

    Findings are a dictionary, or a table with one row per case in which empty cells are
    unknown. A finding is a state; or, uncertain, a dictionary or list of the likelihood of each
    state; or a set of states one of which is true; of a real variable it is a number.
    """

    variables: dict[str, Variable]
    limits = Limits()

    def within(self, memory: float | str | None = None, seconds: float | None = None) -> Self:
        """Return the same network with other limits on the cost of exact inference.

        Parameters
        ----------
        memory
            Bytes, or a text such as "12GB"; a quarter of the free memory by default.
        seconds
            Time for one row of findings where a plan only fits in pieces.
        """
        other = copy(self)
        other.limits = Limits(
            self.limits.memory if memory is None else bytes_of(memory),
            self.limits.seconds if seconds is None else seconds,
        )
        return other

    def __getstate__(self) -> dict[str, Any]:
        # Plans are many times larger than the network, and belong to the limits they fit.
        return {name: value for name, value in vars(self).items() if name not in ENGINES}

    def answers(self, do: Sequence[str] = ()) -> Answers:
        """Return the engines of this network, those in ``do`` cut off from their causes."""
        raise NotImplementedError

    def query(
        self,
        targets: Names,
        given: Given = None,
        do: Mapping[str, Any] | None = None,
        method: str = "auto",
    ) -> Any:
        """Return the distribution of one variable, or of several jointly, once some is known.

        Parameters
        ----------
        targets
            A name, or several.
        given
            Findings. A table gives one row of answers per case.
        do
            Interventions: variables set to a state from outside, cut off from their causes.
        method
            "auto" is exact wherever that fits, and says so where not; "exact" raises instead.
            "belief_propagation", "mean_field" and "gibbs" are approximate, of discrete
            networks; "likelihood_weighting" is, of Bayesian ones.

        Returns
        -------
        pandas.Series
            Probabilities labelled by states, one level of the index per variable; how they
            were found is in ``attrs``. For a table of findings a DataFrame, one row per case.
            A real variable gives a distribution, or columns of mean and standard deviation;
            several of which some are real give a `JointAnswer`.

        Raises
        ------
        ImpossibleFindings
            If the findings cannot be; the message names the smallest conflict.
        InferenceTooLarge
            If an exact answer is asked for and does not fit.
        """
        names = [targets] if isinstance(targets, str) else list(targets)
        if not names or len(set(names)) < len(names):
            raise ValueError(
                f"targets must be at least one variable, each once; found {names}. Name what "
                "to ask about."
            )
        variables = [self._variable(name) for name in names]
        findings, answers = self._asked(given, do)
        table, total, account = _asked_of(answers, findings, variables, method)
        if findings.index is None:
            self._refuse_impossible(findings, total, _told(given, do), answers)
        return _shown(variables, table, findings, account)

    def marginals(
        self, given: Given = None, do: Mapping[str, Any] | None = None, method: str = "auto"
    ) -> Marginals:
        """Return the distribution of every variable that is not given.

        Returns
        -------
        dict
            A Series per variable for a dictionary of findings; for a table a DataFrame per
            variable, one row per case, NaN in rows that are impossible. Its attributes
            ``log_prob`` and ``is_impossible`` tell of the findings.
        """
        findings, answers = self._asked(given, do)
        names = [name for name in self.variables if not findings.is_known(name)]
        found, total, account = answers.marginals(findings, names, method)
        if findings.index is None:
            self._refuse_impossible(findings, total, _told(given, do), answers)
        total = total - self._log_constant(answers, method)
        parts = {
            name: _shown([self.variables[name]], found[name], findings, account)
            for name in names
        }
        return Marginals(parts, _one_or_all(total, findings), account)

    @overload
    def log_prob(self, findings: Mapping[str, Any], method: str = "auto") -> float: ...
    @overload
    def log_prob(self, findings: Any, method: str = "auto") -> Any: ...

    def log_prob(self, findings: Given, method: str = "auto") -> Any:
        """Return the log probability of findings, all else summed out.

        A number for a dictionary, one per row for a table; minus infinity if impossible.
        Findings about real variables add their density.
        """
        known, answers = self._asked(findings, None)
        total, _ = answers.total(known, method)
        return _one_or_all(total - self._log_constant(answers, method), known)

    def log_partition(self, given: Given = None, method: str = "auto") -> Any:
        """Return the log of the sum of the density over everything that is not given.

        For a Bayesian network this is the log probability of the findings.
        """
        findings, answers = self._asked(given, None)
        total, _ = answers.total(findings, method)
        return _one_or_all(total, findings)

    def most_probable(
        self, variables: Names | None = None, given: Given = None, method: str = "auto"
    ) -> Any:
        """Return the most probable states, jointly, of all unknown variables or of some.

        Discrete variables that are neither asked for nor given are summed out first; so are
        real ones.

        Returns
        -------
        dict
            States by name, with the attribute ``log_prob``; a DataFrame for a table.
        """
        findings, answers = self._asked(given, None)
        names = self._targets(variables, findings)
        states, total, account = answers.best(findings, names, method)
        if findings.index is not None:
            return self._columns(states, names, findings)
        self._refuse_impossible(findings, total, given, answers)
        # The constant is a sum, which the approximate engines of maxima do not know.
        how = "exact" if method == "exact" else "auto"
        log_prob = float(total[0]) - self._log_constant(answers, how)
        found = {n: self.variables[n].labels[int(states[n][0])] for n in names}
        return Explanation(found, log_prob, account)

    def sample(
        self, n: int, given: Given = None, rng: Generator | int | None = None
    ) -> pd.DataFrame:
        """Return ``n`` joint draws of all variables once some is known, one row each."""
        findings, answers = self._asked(given, None)
        if findings.index is not None:
            raise ValueError(
                "given must be a dictionary to draw from; found a table. Use impute to fill "
                "the gaps of a table with draws."
            )
        drawn, total = answers.draws(findings, n, np.random.default_rng(rng))
        self._refuse_impossible(findings, total, given, answers)
        only = {name: values[0] for name, values in drawn.items()}
        return self._columns(only, list(self.variables), findings)

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
        absent = [name for name in self.variables if name not in list(data.columns)]
        chosen = absent if target is None else target
        names = [chosen] if isinstance(chosen, str) else list(chosen)
        if not names:
            raise ValueError(
                "a target must be named where the table has every variable; found none. Pass "
                "target=."
            )
        variables = [self._variable(name) for name in names]
        findings = read_findings(self.variables, data).without(names)
        if len(names) == 1:
            table, _, account = _asked_of(self.answers(), findings, variables, method)
            return pd.DataFrame(_shown(variables, table, findings, account))
        found, _, account = self.answers().marginals(findings, names, method)
        frames = [_shown([v], found[v.name], findings, account) for v in variables]
        joined: pd.DataFrame = pd.concat(frames, axis=1, keys=names)
        joined.attrs = frames[0].attrs
        return joined

    def predict(self, data: Any, target: str, method: str = "auto") -> pd.Series[Any]:
        """Return the most probable state of one variable in every row; the mean if real."""
        frame = self.predict_proba(data, target, method)
        if not self._variable(target).is_discrete:
            return frame["mean"].rename(target)
        share = frame.to_numpy()
        best = np.nan_to_num(share).argmax(axis=1)
        best[np.isnan(share).all(axis=1)] = -1
        return value_column(self._variable(target), best, frame.index)

    def impute(self, data: Any, rng: Generator | int | None = None) -> pd.DataFrame:
        """Return the table with its gaps filled by the most probable joint states.

        Parameters
        ----------
        rng
            If given, gaps are filled by a joint draw instead, as multiple imputation needs.
            Gaps of real variables are filled by draws only, or by their mean.
        """
        findings, answers = self._asked(data, None)
        names = list(data.columns)
        if rng is not None:
            drawn, _ = answers.draws(findings, 1, np.random.default_rng(rng))
            return self._columns({n: drawn[n][:, 0] for n in names}, names, findings)
        every = [n for n, v in self.variables.items() if v.is_discrete]
        filled: dict[str, Any] = answers.best(findings, every, "auto")[0]
        real = [n for n in names if not self.variables[n].is_discrete]
        if real:
            mean, _, _ = answers.marginals(findings, real, "auto")
            filled = {**filled, **{n: mean[n].total_mean() for n in real}}
        return self._columns(filled, names, findings)

    def plan(
        self, observed: Sequence[str] = (), targets: Sequence[str] | None = None
    ) -> PlanReport:
        """Return what the exact marginals of all other variables cost, given some.

        Nothing is allocated.
        """
        names = [self._variable(n).name for n in (targets or self.variables)]
        return self.answers().report(names, [self._variable(n).name for n in observed])

    def _log_constant(self, answers: Answers, method: str) -> float:
        """Return the log of the sum of the density over everything."""
        total, _ = answers.total(Findings(1), method)
        return float(total[0])

    def _asked(self, given: Given, do: Mapping[str, Any] | None) -> tuple[Findings, Answers]:
        findings = read_findings(self.variables, given)
        if not do:
            return findings, self.answers()
        settings = read_findings(self.variables, do)
        return with_settings(findings, settings), self.answers(tuple(sorted(settings.names)))

    def _variable(self, name: str) -> Variable:
        if name not in self.variables:
            raise UnknownVariable(
                f"a target must be a variable of the network; found {name!r}."
                f"{nearest(name, self.variables)}"
            )
        return self.variables[name]

    def _targets(self, variables: Names | None, findings: Findings) -> list[str]:
        """Return the discrete variables to explain."""
        if variables is None:
            names = [name for name in self.variables if not findings.is_known(name)]
            return [name for name in names if self.variables[name].is_discrete]
        names = [variables] if isinstance(variables, str) else list(variables)
        real = [name for name in names if not self._variable(name).is_discrete]
        if real:
            raise ValueError(
                f"variables to explain must have states; found {real}, which are real-valued. "
                "Leave them out, and query them given the states found."
            )
        return names

    def _columns(
        self, values: Mapping[str, Any], names: Sequence[str], findings: Findings
    ) -> pd.DataFrame:
        columns = [value_column(self.variables[n], values[n], findings.index) for n in names]
        return pd.concat(columns, axis=1) if columns else pd.DataFrame(index=findings.index)

    def _refuse_impossible(
        self, findings: Findings, total: Array, given: Given, answers: Answers
    ) -> None:
        if total[0] == -np.inf:
            told = dict(given or {})
            raise ImpossibleFindings({n: told.get(n) for n in answers.conflict(findings)})


def _asked_of(
    answers: Answers, findings: Findings, variables: Sequence[Variable], method: str
) -> tuple[Any, Array, Account]:
    """Return the joint distribution of the variables; one real variable has a marginal."""
    names = [variable.name for variable in variables]
    if len(names) > 1 or variables[0].is_discrete:
        return answers.joint(findings, names, method)
    found, total, account = answers.marginals(findings, names, method)
    return found[names[0]], total, account


def _told(given: Given, do: Mapping[str, Any] | None) -> dict[str, Any]:
    return {**(given or {}), **(do or {})}


def _one_or_all(total: Array, findings: Findings) -> Any:
    return float(total[0]) if findings.index is None else total


def _shown(
    variables: Sequence[Variable], found: Any, findings: Findings, account: Account
) -> Any:
    """Return an answer for one dictionary, or for the rows of a table."""
    if isinstance(found, JointRows):
        return JointAnswer(tuple(variables), found, account, findings.index)
    if not isinstance(found, np.ndarray):
        return _shown_real(found, findings, account)
    if findings.index is None:
        return labelled(variables, found[0], account)
    return labelled_rows(variables, found, findings.index, account)


def _shown_real(found: RealMarginal, findings: Findings, account: Account) -> Any:
    """Return the distribution of a real variable, or its moments row by row."""
    if findings.index is None:
        return found.mixture(0)
    mean = found.total_mean()
    parts = {"mean": mean, "std": np.sqrt(found.total_variance())}
    frame = pd.DataFrame(parts, index=findings.index)
    impossible = [int(row) for row in np.flatnonzero(np.isnan(mean))]
    frame.attrs = account.attrs() | {"impossible_rows": impossible}
    return frame

"""The questions that every network answers, labelled by names and states.

Of a table of cases a network predicts columns and fills gaps. A question whose plan is kept,
because it was asked before about other states, takes a short way to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Self, overload

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

from credo.graphs.variable import UnknownVariable, Variable, nearest
from credo.inference.discrete.exact_inference import MAX_SECONDS
from credo.inference.engine.engine import EXACT, Account
from credo.inference.engine.error import (
    ImpossibleFindings,
    InferenceTooLarge,
    NoExactAnswer,
)
from credo.inference.engine.findings import MISSING, Findings
from credo.inference.engine.method import Method, engine_of, tells_total, written
from credo.inference.engine.network import Auto, PlanReport
from credo.models.network.value.findings import (
    Given,
    as_frame,
    as_mapping,
    is_frame,
    read_findings,
    with_settings,
)
from credo.models.network.value.network_answer import (
    Explanation,
    Marginals,
    check_draws,
    labelled,
    labelled_answer,
    row_attrs,
    value_column,
    value_columns,
)
from credo.numerics.array import Array
from credo.numerics.memory import bytes_of
from credo.numerics.quotation import quote

__all__ = ["Limits", "Names", "Network", "asked_of", "variables_named"]


@dataclass(frozen=True)
class Limits:
    """Memory and time that exact inference may take before it is given up.

    Attributes
    ----------
    memory
        Bytes for one plan or joint answer; None is 2 GiB, whatever the machine has.
    seconds
        Time for one row of findings where a plan only fits in pieces.
    """

    memory: float | None = None
    seconds: float = MAX_SECONDS

    def within(self, memory: float | str | None, seconds: float | None) -> Limits:
        """Return other limits; what is None stays, and a text such as "12GB" has a unit."""
        return Limits(
            self.memory if memory is None else bytes_of(memory),
            self.seconds if seconds is None else seconds,
        )

    def __post_init__(self) -> None:
        for what, limit in (("memory", self.memory), ("seconds", self.seconds)):
            if limit is not None and not limit > 0:
                raise ValueError(
                    f"{what} for exact inference must be positive; found {limit}. Leave it out "
                    'for the usual limit, or pass method="importance" for no exact answer.'
                )


Names = str | Sequence[str]


PLANNED = ("_answers", "_engines", "_spins")
"""Cached properties that hold engines and their plans."""


class Network(ABC):
    """What Bayesian networks, Markov random fields and factor graphs have in common.

    Findings are a dictionary, or a table with one row per case in which empty cells are
    unknown. A finding is a state; or, uncertain, a dictionary or list of the likelihood of each
    state; or a set of states one of which is true; of a real variable it is a number.
    """

    limits = Limits()
    root = 0
    variables: dict[str, Variable]

    @abstractmethod
    def answers(self, do: Sequence[str] = ()) -> Auto:
        """Return the engines of this network, those in ``do`` cut off from their causes."""

    def within(self, memory: float | str | None = None, seconds: float | None = None) -> Self:
        """Return the same network with other limits on the cost of exact inference.

        Parameters
        ----------
        memory
            Bytes, or a text such as "12GB"; 2 GiB by default, on every machine. Where ulimit
            or a control group leaves less, what does not fit is refused.
        seconds
            Time for one row of findings where a plan only fits in pieces.
        """
        other = copy(self)
        other.limits = self.limits.within(memory, seconds)
        return other

    def with_rng(self, rng: Generator | int) -> Self:
        """Return the same network, whose answers by draws use other random numbers.

        Without it they are always the same. Rows of a table have streams of their own; equal
        rows have equal answers.

        Parameters
        ----------
        rng
            A generator, from which one number is taken, or a seed.
        """
        other = copy(self)
        other.root = int(np.random.default_rng(rng).integers(1, 1 << 62))
        return other

    def _repr_html_(self) -> str:
        """Return the network as a notebook shows it: drawn, if it is not too large."""
        # Drawings stand above models; matplotlib is loaded when a notebook asks for one.
        plots = import_module("credo.plots.network_display")
        return str(plots.network_html(self))

    def __getstate__(self) -> dict[str, Any]:
        # Plans are many times larger than the network, and belong to the limits they fit.
        return {name: value for name, value in vars(self).items() if name not in PLANNED}

    def query(
        self,
        targets: Names,
        given: Given = None,
        do: Mapping[str, Any] | None = None,
        method: Method = "auto",
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
            Other names, listed by `credo.inference.methods`, are of approximate engines, of
            discrete networks such as "gibbs" and of Bayesian ones "likelihood_weighting"; an
            engine with other settings is passed itself: ``TableGibbs(n_draws=100_000)``.

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
        is_plain = given is None or type(given) is dict
        if is_plain and type(targets) is str and not do and method == "auto":
            repeated = self._repeated(targets, given or {})
            if repeated is not None:
                return repeated
        variables = variables_named(self.variables, targets)
        findings, answers = self._findings_and_engine(given, do)
        table, total, account = asked_of(answers, findings, variables, method)
        _refuse_impossible(findings, total, answers, given, do)
        return labelled_answer(variables, table, total, findings, account)

    def _repeated(self, target: str, given: Any) -> pd.Series[float] | None:
        """Return the answer to a question whose plan is kept, or None if only the long way can.

        That is so for likelihoods, gaps, unknown states and findings that are impossible.
        """
        variables = self.variables
        try:
            states = {name: variables[name].positions[given[name]] for name in given}
            found = self.answers().repeated(target, states)
        except (KeyError, TypeError):
            return None
        return None if found is None else labelled([variables[target]], found, EXACT)

    def marginals(
        self, given: Given = None, do: Mapping[str, Any] | None = None, method: Method = "auto"
    ) -> Marginals:
        """Return the distribution of every variable that is not given.

        Returns
        -------
        dict
            A Series per variable for a dictionary of findings; for a table a DataFrame per
            variable, one row per case, NaN in rows that are impossible. Its attributes
            ``log_prob`` and ``is_impossible`` tell of the findings; ``log_prob`` is NaN where
            the method does not know it, as Gibbs sampling does not.
        """
        findings, answers = self._findings_and_engine(given, do)
        names = [name for name in self.variables if not findings.is_known(name)]
        found, total, account = answers.marginals(findings, names, method)
        _refuse_impossible(findings, total, answers, given, do)
        parts = {
            name: labelled_answer([self.variables[name]], found[name], total, findings, account)
            for name in names
        }
        log_prob = total - self._log_constant(answers, method)
        return Marginals(parts, _one_or_all(log_prob, findings), account)

    @overload
    def log_prob(
        self,
        findings: Mapping[str, Any],
        method: Method = "auto",
        do: Mapping[str, Any] | None = None,
    ) -> float: ...
    @overload
    def log_prob(
        self, findings: Any, method: Method = "auto", do: Mapping[str, Any] | None = None
    ) -> Any: ...

    def log_prob(
        self, findings: Given, method: Method = "auto", do: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the log probability of findings, all else summed out.

        A number for a dictionary, one per row for a table; minus infinity if impossible.
        Findings about real variables add their density. Interventions in ``do`` have no
        probability: they change that of the findings.

        Raises
        ------
        ValueError
            If the method does not tell probabilities: Gibbs draws, or mean field of an
            undirected network, whose two bounds have no known difference.
        ZeroWeights
            If no random draw agrees with a dictionary of findings that may be possible; such
            rows of a table are NaN, with a warning.
        """
        self._check_log_prob(method)
        known, answers = self._findings_and_engine(findings, do)
        total, _ = answers.total(known, method)
        return _one_or_all(total - self._log_constant(answers, method), known)

    def log_partition(self, given: Given = None, method: Method = "auto") -> Any:
        """Return the log of the sum of the density over everything that is not given.

        For a Bayesian network this is the log probability of the findings. It is a lower bound
        by mean field; Gibbs sampling does not give it.
        """
        findings, answers = self._findings_and_engine(given, None)
        total, _ = answers.total(findings, method)
        return _one_or_all(total, findings)

    def most_probable(
        self,
        variables: Names | None = None,
        given: Given = None,
        method: Method = "auto",
        do: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the most probable states, jointly, of all unknown variables or of some.

        Discrete variables that are neither asked for nor given are summed out first; so are
        real ones. Methods are those of ``credo.inference.methods("mode")``, or an engine.

        Returns
        -------
        dict
            States by name, with the attribute ``log_prob``; a DataFrame for a table.
        """
        findings, answers = self._findings_and_engine(given, do)
        names = self._targets(variables, findings)
        states, total, account = answers.best(findings, names, method)
        if findings.index is not None:
            frame = value_columns(self.variables, states, findings.index)
            frame.attrs = account.attrs() | row_attrs(~np.isfinite(total), total)
            return frame
        _refuse_impossible(findings, total, answers, given, do)
        # The constant is a sum, which the approximate engines of maxima do not know.
        how = "exact" if method == "exact" else "auto"
        log_prob = float(total[0]) - self._log_constant(answers, how)
        found = {n: self.variables[n].labels[int(states[n][0])] for n in names}
        return Explanation(found, log_prob, account)

    def sample(
        self,
        n: int,
        given: Given = None,
        rng: Generator | int | None = None,
        do: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return ``n`` joint draws of all variables once some is known or set, one row each."""
        check_draws(n)
        findings, answers = self._findings_and_engine(given, do)
        if findings.index is not None:
            raise ValueError(
                "given must be a dictionary to draw from; found a table. Use impute to fill "
                "the gaps of a table with draws."
            )
        drawn, total = answers.draws(findings, n, np.random.default_rng(rng))
        _refuse_impossible(findings, total, answers, given, do)
        only = {name: drawn[name][0] for name in self.variables}
        return value_columns(self.variables, only, None)

    def predict_proba(
        self,
        data: Any,
        target: Names | None = None,
        method: Method = "auto",
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
        findings, answers = self._findings_and_engine(_table(data), do)
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
        method: Method = "auto",
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
            Gaps of real variables are filled by draws only, or by their mean given the states
            that are filled in beside them.
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
        findings, answers = self._findings_and_engine(table, do)
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

    def plan(self, observed: Names = (), targets: Names | None = None) -> PlanReport:
        """Return what the exact marginals of all other variables cost, given some.

        Nothing is allocated.
        """
        every = list(self.variables) if targets is None else targets
        names = [v.name for v in variables_named(self.variables, every)]
        known = [v.name for v in variables_named(self.variables, observed)] if observed else []
        return self.answers().report(names, known)

    def _findings_and_engine(
        self, given: Given, do: Mapping[str, Any] | None
    ) -> tuple[Findings[str], Auto]:
        """Return what is known and set, and the engines of the network without their causes."""
        findings = self._rooted(read_findings(self.variables, given))
        forced = as_mapping(do)
        if not forced:
            return findings, self.answers()
        settings = read_findings(self.variables, forced)
        return with_settings(findings, settings), self.answers(tuple(sorted(settings.names)))

    def _rooted(self, findings: Findings[str]) -> Findings[str]:
        """Return findings whose answers by draws use the random numbers of this network."""
        return replace(findings, root=self.root) if self.root else findings

    def _likeliest(
        self, answers: Auto, findings: Findings[str], names: Sequence[str]
    ) -> tuple[dict[str, Any], Array]:
        """Return the most probable states jointly, and means of real columns given these."""
        every = [n for n, v in self.variables.items() if v.is_discrete]
        states, total, _ = answers.best(findings, every, "auto")
        real = [n for n in names if not self.variables[n].is_discrete]
        if not real:
            return dict(states), total
        known = replace(findings.without(states), codes=states)
        mean, _, _ = answers.marginals(known, real, "auto")
        return {**states, **{n: mean[n].total_mean() for n in real}}, total

    def _log_constant(self, answers: Auto, method: Method) -> float:
        """Return the log of the sum of the density over everything, NaN if not known.

        Raises
        ------
        ImpossibleFindings
            If the density is zero everywhere, so that nothing has a probability.
        """
        if not tells_total(method):
            return float("nan")
        total, _ = answers.total(self._rooted(Findings(1)), method)
        if total[0] == -np.inf:
            raise ImpossibleFindings({})
        return float(total[0])

    def _check_log_prob(self, method: Method) -> None:
        """Refuse a method that bounds the density of findings and its constant apart."""
        if engine_of(method, "total") is not None and not tells_total(method):
            raise ValueError(
                "a log probability must be the difference of two known log partitions; found "
                f"{written(method)}, which only bounds both from below. Use "
                '"exact", "importance" or "belief_propagation", or ask log_partition for the '
                "bound."
            )

    def _targets(self, variables: Names | None, findings: Findings[str]) -> list[str]:
        """Return the discrete variables to explain."""
        if variables is None:
            names = [name for name in self.variables if not findings.is_known(name)]
            return [name for name in names if self.variables[name].is_discrete]
        asked = variables_named(self.variables, variables)
        real = [variable.name for variable in asked if not variable.is_discrete]
        if real:
            raise ValueError(
                f"variables to explain must have states; found {real}, which are real-valued. "
                "Leave them out, and query them given the states found."
            )
        return [variable.name for variable in asked]


def asked_of(
    answers: Auto,
    findings: Findings[str],
    variables: Sequence[Variable],
    method: Method,
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
    answers: Auto, findings: Findings[str], rng: Generator
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


def _refuse_impossible(
    findings: Findings[str],
    total: Array,
    answers: Auto,
    given: Given,
    do: Mapping[str, Any] | None = None,
) -> None:
    """Raise if a dictionary of findings is impossible, naming the smallest conflict."""
    if findings.index is not None or total[0] != -np.inf:
        return
    values = _known_and_forced(given, do)
    try:
        conflict = answers.conflict(findings)
    except (InferenceTooLarge, NoExactAnswer):
        conflict = [name for name in values if name in findings.names]
    raise ImpossibleFindings({name: values.get(name) for name in conflict})


def _known_and_forced(given: Given, do: Mapping[str, Any] | None) -> dict[str, Any]:
    return {**as_mapping(given), **as_mapping(do)}


def _one_or_all(total: Array, findings: Findings[str]) -> Any:
    return float(total[0]) if findings.index is None else total

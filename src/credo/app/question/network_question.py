"""Questions to networks as typed in a shell, and their answers, once or for each case.

Findings are written ``smoke=yes``, ``age=old|young``, ``x=a:0.8|b:0.2``. Every failure is one
sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from credo.app.console.console import noted_warnings
from credo.data.error import DataError
from credo.data.network_file.case_table import CaseTable
from credo.data.network_file.network_file import load_network
from credo.data.network_file.state_text import state_of
from credo.data.table.column_name import quoted
from credo.graphs.variable import UnknownState, UnknownVariable, Variable, nearest
from credo.inference.engine.error import (
    ImpossibleFindings,
    InferenceTooLarge,
    MemoryWithheld,
)
from credo.inference.engine.method import tells_total
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.markov_random_field import MarkovRandomField
from credo.models.network.network import Network
from credo.models.network.value.findings import read_findings
from credo.models.network.value.network_answer import labelled_answer
from credo.study.counting import count
from credo.study.progress import Progress, silent

__all__ = [
    "Answer",
    "CaseAnswers",
    "QuestionError",
    "RealAnswer",
    "StateAnswer",
    "answering",
    "case_answers",
    "findings_text",
    "found_log_prob",
    "log_constant",
    "opened_network",
    "require_answers",
    "require_free",
    "require_names",
    "typed_findings",
    "typed_settings",
]

TOO_LARGE = (InferenceTooLarge, MemoryWithheld)


class QuestionError(DataError):
    """A question with unknown names, findings that contradict each other, or no answer."""


def opened_network(path: Path, console: Console) -> BayesianNetwork | MarkovRandomField:
    """Return the network in a file; each warning on the way is printed as a note."""
    with noted_warnings(console):
        return load_network(path)


def require_answers(net: Network, source: str, do: Mapping[str, Any]) -> None:
    """Raise a `QuestionError` unless the network has tables, and arrows if some are set."""
    if do and not isinstance(net, BayesianNetwork):
        raise QuestionError(
            f"`do` needs a Bayesian network, whose arrows say what causes what; found that "
            f"{source} has none; use `given` for what was observed."
        )
    if isinstance(net, BayesianNetwork) and not net.conditionals:
        raise QuestionError(
            f"{source} must hold a table for each variable; found only the structure; add the "
            "tables."
        )


def found_log_prob(net: Network, given: Any, do: Mapping[str, Any] | None, method: str) -> Any:
    """Return the log probability of findings, NaN if the method does not find it."""
    if do or not tells_total(method):
        return net.marginals(given, do or None, method).log_prob
    return net.log_prob(given, method)


def log_constant(net: Network, method: str) -> float:
    """Return the log of the sum of a network's density, NaN if the method does not find it."""
    if isinstance(net, BayesianNetwork):
        return 0.0
    return float(net.log_partition(method=method)) if tells_total(method) else math.nan


@contextmanager
def answering(source: str, console: Console, method: str = "auto") -> Iterator[None]:
    """Print warnings as notes, and raise a `QuestionError` where there is no answer.

    Parameters
    ----------
    source
        What the question is about, for the messages.
    method
        How it is answered; one that was chosen may not suit the network.
    """
    try:
        with noted_warnings(console):
            yield
    except (ImpossibleFindings, UnknownState, UnknownVariable, *TOO_LARGE) as error:
        raise QuestionError(f"{source}: {error}") from error
    except ValueError as error:
        if method == "auto":
            raise
        raise QuestionError(f"{source}: {error}") from error


def typed_findings(
    texts: Iterable[str], variables: Mapping[str, Variable], argument: str = "given"
) -> dict[str, Any]:
    """Return the value of each variable that a text names.

    A state stands for itself; ``a|b`` means one of these states, and ``a:0.8|b:0.2`` how
    likely a vague observation is in each.

    Raises
    ------
    QuestionError
        If a text is no finding, names no variable or state of the network, or its likelihoods
        cannot be.

    Examples
    --------
    >>> smoke = Variable("smoke", ("yes", "no"))
    >>> typed_findings(["smoke=yes"], {"smoke": smoke})
    {'smoke': 'yes'}
    >>> typed_findings(["smoke=yes:0.8|no:0.2"], {"smoke": smoke})
    {'smoke': {'yes': 0.8, 'no': 0.2}}
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, value = _parted(text, variables, argument)
        if name in found:
            raise QuestionError(
                f"`{argument}` must name a variable once; found {name!r} twice; leave one out."
            )
        try:
            found[name] = _value(variables[name], value)
            read_findings(variables, {name: found[name]})
        except ValueError as error:
            raise QuestionError(f"`{argument}={text!r}`: {error}") from error
    return found


def typed_settings(texts: Iterable[str], variables: Mapping[str, Variable]) -> dict[str, Any]:
    """Return the state or number that each variable is set to from outside.

    Raises
    ------
    QuestionError
        If a text is no finding, or leaves open which state is meant.
    """
    found = typed_findings(texts, variables, "do")
    vague = list(read_findings(variables, found).likelihood)
    if vague:
        raise QuestionError(
            f"`do` must set a variable to one state; found {findings_text(found)}; choose one "
            f"state of {vague[0]}."
        )
    return found


def require_names(
    names: Iterable[str], variables: Mapping[str, Variable], argument: str
) -> None:
    """Raise a `QuestionError` with the nearest name unless all are variables."""
    for name in names:
        if name not in variables:
            raise QuestionError(
                f"`{argument}` must name a variable of the network; found {name!r}."
                f"{nearest(name, variables)}"
            )


def require_free(asked: Sequence[str], given: Mapping[str, Any], do: Mapping[str, Any]) -> None:
    """Raise a `QuestionError` if a variable is two of asked for, given and set."""
    for name in [*asked, *do]:
        if name in given or (name in asked and name in do):
            raise QuestionError(
                f"{name} must be asked for, given or set, only one of these; found it twice; "
                "leave it out of `of`, `given` or `do`."
            )


def findings_text(given: Mapping[str, Any]) -> str:
    """Return findings as a person would write them.

    Examples
    --------
    >>> findings_text({"smoke": "yes", "age": {"old": 0.8, "young": 0.2}})
    'smoke = yes, age ~ old:0.8 young:0.2'
    """
    return ", ".join(f"{name} {_as_typed(value)}" for name, value in given.items())


def _as_typed(value: Any) -> str:
    if isinstance(value, Mapping):
        return "~ " + " ".join(f"{state}:{share:g}" for state, share in value.items())
    if isinstance(value, set | frozenset):
        return "= " + " or ".join(sorted(str(state) for state in value))
    return f"= {value}"


def _parted(text: str, variables: Mapping[str, Variable], argument: str) -> tuple[str, str]:
    """Return name and value; a name may have an equals sign in it."""
    if "=" not in text:
        raise QuestionError(
            f"`{argument}` must be written as variable=state; found {text!r}; write for "
            f"example `{argument}='{next(iter(variables), 'smoke')}=...'`."
        )
    places = [i for i, sign in enumerate(text) if sign == "="]
    place = next((i for i in places if text[:i].strip() in variables), places[0])
    name = text[:place].strip()
    require_names([name], variables, argument)
    return name, text[place + 1 :]


def _value(variable: Variable, text: str) -> Any:
    if not variable.is_discrete:
        return state_of(variable, text)
    try:
        return state_of(variable, text)
    except UnknownState:
        parts = text.split("|")
        if len(parts) == 1 and ":" not in text:
            raise
    if all(":" in part for part in parts):
        return dict(_likelihood(variable, part) for part in parts)
    return {state_of(variable, part) for part in parts}


def _likelihood(variable: Variable, text: str) -> tuple[Any, float]:
    word, _, number = text.rpartition(":")
    state = state_of(variable, word)
    try:
        return state, float(number)
    except ValueError as error:
        raise ValueError(
            f"a likelihood of {variable.name} must be a number; found {number!r}. Write "
            f"{variable.name}={word}:0.8."
        ) from error


# Beyond, numbers cannot be written but by their logs.
LARGEST_LOG = 700.0

CHUNK = 20_000
IMPOSSIBLE, LOG_PROB = "impossible", "log_prob_given"
ABOUT_ROWS = (LOG_PROB, IMPOSSIBLE)


@dataclass(frozen=True)
class StateAnswer:
    """Probabilities of states, or of joint states."""

    name: str
    labels: tuple[str, ...]
    shares: tuple[float, ...]

    @classmethod
    def of(cls, name: str, series: pd.Series[float]) -> StateAnswer:
        """Return the entries of a labelled series; levels of a joint one are named."""
        levels = list(series.index.names)
        if len(levels) == 1:
            labels = tuple(str(label) for label in series.index)
        else:
            labels = tuple(
                ", ".join(f"{n}={s}" for n, s in zip(levels, label, strict=True))
                for label in series.index
            )
        return cls(name, labels, tuple(float(share) for share in series))


@dataclass(frozen=True)
class RealAnswer:
    """Mean and standard deviation of a real variable."""

    name: str
    mean: float
    sd: float


@dataclass(frozen=True)
class Answer:
    """Distributions of some variables, and how they were found.

    Attributes
    ----------
    parts
        One for each variable, or one for all jointly.
    given, do
        Findings and interventions.
    log_prob
        Log probability of the findings; None if there are none.
    method, is_exact, error
        How it was found, whether that is exact, and how far off it may be.
    is_density
        Whether a real number is given, so that the probability is a density.
    is_relative
        Whether likelihoods are given, whose scale the probability then has.
    """

    parts: Sequence[StateAnswer | RealAnswer]
    given: Mapping[str, Any]
    do: Mapping[str, Any]
    log_prob: float | None
    method: str
    is_exact: bool
    error: str = ""
    is_density: bool = False
    is_relative: bool = False

    def lines(self) -> list[str]:
        """Return sentences on findings, their probability, and the method."""
        lines = [f"given {findings_text(self.given)}"] if self.given else []
        if self.do:
            lines.append(f"set {findings_text(self.do)}")
        return [*lines, *self._probability_line(), self._method_line()]

    def _probability_line(self) -> list[str]:
        if self.log_prob is None:
            return []
        if math.isnan(self.log_prob):
            return ["log P(given) is not found by this method"]
        sign = "=" if self.is_exact else "is about"
        what = "density(given)" if self.is_density else "P(given)"
        text = f"log {what} {sign} {self.log_prob:.6g}"
        if self.is_relative:
            return [f"{text}, in the scale of the likelihoods"]
        if abs(self.log_prob) > LARGEST_LOG:
            return [text]
        return [f"{text}, {what} {sign} {math.exp(self.log_prob):.4g}"]

    def _method_line(self) -> str:
        if not self.is_exact:
            text = [f"method: {self.method}", "approximate", self.error]
            return ", ".join(part for part in text if part)
        return "method: exact" if self.method == "exact" else f"method: {self.method}, exact"

    def frame(self) -> pd.DataFrame:
        """Return one row per state, or per real variable, for a file."""
        rows: list[dict[str, Any]] = []
        for part in self.parts:
            if isinstance(part, RealAnswer):
                rows.append({"variable": part.name, "mean": part.mean, "sd": part.sd})
                continue
            rows += [
                {"variable": part.name, "state": label, "probability": share}
                for label, share in zip(part.labels, part.shares, strict=True)
            ]
        return pd.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class CaseAnswers:
    """One row per case, and what is to be said of them all.

    Attributes
    ----------
    frame
        Columns that are no variables, then for each state of each variable asked for its
        probability ("lung=yes"), for real ones mean and sd; then the log probability of the
        row's findings, and whether they are impossible.
    notes
        Sentences.
    """

    frame: pd.DataFrame
    notes: tuple[str, ...]


def case_answers(
    net: Network,
    cases: CaseTable,
    asked: Sequence[str],
    given: Mapping[str, Any],
    method: str = "auto",
    advance: Progress = silent,
) -> CaseAnswers:
    """Return the posteriors of some variables for each case; impossible rows have none.

    Parameters
    ----------
    given
        Findings that all cases share.
    method
        How to answer, as for ``net.query``.
    advance
        Is called with how far the work is.
    """
    findings = _with_shared(net, cases, given)
    _require_own_names(net, cases, asked)
    constant = log_constant(net, method)
    parts = []
    for start in range(0, len(findings), CHUNK):
        advance(start / len(findings), f"answering, row {start + 1:,} of {len(findings):,}")
        part = _chunk(net, findings.iloc[start : start + CHUNK], asked, method)
        parts.append(part.assign(**{LOG_PROB: part[LOG_PROB] - constant}))
    answers = pd.concat(parts)
    frame = pd.concat([cases.others, answers], axis=1)
    return CaseAnswers(frame, tuple(_notes(cases, answers)))


def _with_shared(net: Network, cases: CaseTable, given: Mapping[str, Any]) -> pd.DataFrame:
    both = [name for name in given if name in cases.findings.columns]
    if both:
        raise QuestionError(
            f"`given` must name variables that {cases.name} has no column for; found "
            f"{quoted(both)} in both; leave it out of one."
        )
    vague = list(read_findings(net.variables, given).likelihood)
    if vague:
        raise QuestionError(
            f"`given` must be one state each where `data` is given; found several for "
            f"{quoted(vague)}; choose one."
        )
    shared = {name: [value] * len(cases.findings) for name, value in given.items()}
    return cases.findings.assign(**shared)


def _require_own_names(net: Network, cases: CaseTable, asked: Sequence[str]) -> None:
    own = [*(column for name in asked for column in _column_names(net, name)), *ABOUT_ROWS]
    twice = [column for column in own if column in cases.others.columns]
    if twice:
        raise QuestionError(
            f"{cases.name} must leave free the names of the columns that answers get; found "
            f"{quoted(twice)}; rename or remove them."
        )


def _chunk(
    net: Network, findings: pd.DataFrame, asked: Sequence[str], method: str
) -> pd.DataFrame:
    """Return the answers for some rows, with the log total of what is known in each."""
    known = read_findings(net.variables, findings)
    found, total, account = net.answers().marginals(known, list(asked), method)
    columns: dict[str, Any] = {}
    for name in asked:
        shares = labelled_answer([net.variables[name]], found[name], total, known, account)
        columns |= dict(zip(_column_names(net, name), shares.to_numpy().T, strict=True))
    columns |= {LOG_PROB: total, IMPOSSIBLE: np.isneginf(total)}
    return pd.DataFrame(columns, index=findings.index)


def _column_names(net: Network, name: str) -> list[str]:
    variable = net.variables[name]
    if variable.is_discrete:
        return [f"{name}={state}" for state in variable.labels]
    return [f"{name} mean", f"{name} sd"]


def _notes(cases: CaseTable, answers: pd.DataFrame) -> list[str]:
    notes = []
    if cases.left_out:
        notes.append(f"Columns that are asked for are not used: {quoted(cases.left_out)}.")
    n_impossible = int(answers[IMPOSSIBLE].sum())
    if n_impossible:
        first = int(np.flatnonzero(answers[IMPOSSIBLE])[0]) + 1
        notes.append(
            f"{count(n_impossible, 'row')} cannot be, by this network (the first is row "
            f"{first}); see the column '{IMPOSSIBLE}'."
        )
    return notes

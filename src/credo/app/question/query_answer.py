"""What a network answers to a question, once or for each case of a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from credo.app.question.finding_text import findings_text
from credo.app.question.network_question import QuestionError, log_constant
from credo.data.network_file.case_table import CaseTable
from credo.data.table.column_name import quoted
from credo.models.network.network import Network
from credo.models.network.value.findings import read_findings
from credo.models.network.value.network_answer import labelled_answer
from credo.study.counting import count
from credo.study.progress import Progress, silent

__all__ = [
    "Answer",
    "CaseAnswers",
    "RealAnswer",
    "StateAnswer",
    "case_answers",
]

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

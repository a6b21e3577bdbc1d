"""The commands on networks: query, once or for each case of a table, info and convert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import pandas as pd
from rich.text import Text

from credo.app.console.console import print_notes, progress_bar, stderr, stdout
from credo.app.console.csv_place import CsvPlace
from credo.app.question.finding_text import (
    require_free,
    require_names,
    typed_findings,
    typed_settings,
)
from credo.app.question.network_question import (
    QuestionError,
    answering,
    found_log_prob,
    opened_network,
    require_answers,
)
from credo.app.question.query_answer import Answer, RealAnswer, StateAnswer, case_answers
from credo.app.terminal.network_terminal import print_answer, print_info
from credo.data.network_file.case_table import read_cases
from credo.data.network_file.network_file import save_network
from credo.data.output import require_apart, require_writable
from credo.graphs.variable import nearest
from credo.inference.engine.method import engine_of, methods
from credo.models.network.network import Network
from credo.models.network.value.findings import read_findings
from credo.study.counting import count

__all__ = ["QuerySettings", "convert", "info", "query"]

N_DIGITS = 10
MOST_JOINT = 10_000


@dataclass(frozen=True)
class QuerySettings:
    """A question, as typed.

    Attributes
    ----------
    of
        Variables asked for; all that are not given if empty.
    given, do
        Findings and interventions, such as "smoke=yes".
    is_joint
        Whether the variables are asked for jointly.
    method
        How to answer, as for ``net.query``.
    """

    of: Sequence[str] = ()
    given: Sequence[str] = ()
    do: Sequence[str] = ()
    is_joint: bool = False
    method: str = "auto"


def info(path: Path) -> None:
    """Print what a network is made of, what exact answers cost, and what looks odd."""
    net = opened_network(path, stderr())
    with answering(path.name, stderr()):
        print_info(stdout(), path, net)


def convert(source: Path, out: Path) -> None:
    """Write a network in the format that the extension of ``out`` says."""
    require_writable(out)
    require_apart(out, source)
    net = opened_network(source, stderr())
    save_network(net, out)
    stdout().print(Text(f"network: {out}", "bold"), soft_wrap=True)


def query(path: Path, settings: QuerySettings, data: Path | None, place: CsvPlace) -> None:
    """Answer a question about a network, on the terminal or in a CSV file."""
    place.require_free(path, data)
    net = opened_network(path, stderr())
    require_names(settings.of, net.variables, "of")
    given = typed_findings(settings.given, net.variables)
    do = typed_settings(settings.do, net.variables)
    require_free(settings.of, given, do)
    require_answers(net, path.name, do)
    _require_method(settings.method)
    if data is not None:
        _answer_cases(net, settings, given, do, data, place)
        return
    with answering(path.name, stderr(), settings.method):
        answer = answered(net, settings, given, do)
    print_answer(stdout(), answer)
    if place.path is not None:
        place.write(answer.frame(), N_DIGITS)


def answered(
    net: Network, settings: QuerySettings, given: Mapping[str, Any], do: Mapping[str, Any]
) -> Answer:
    """Return what a network says of the variables asked for."""
    names = list(settings.of) or [n for n in net.variables if n not in given and n not in do]
    method = settings.method
    found: dict[str, Any]
    account: Mapping[Any, Any] = {}
    if settings.is_joint and len(names) > 1:
        _require_few(names, net)
        found = {", ".join(names): net.query(names, given, do or None, method)}
    elif len(names) == 1:
        found = {names[0]: net.query(names[0], given, do or None, method)}
    else:
        every = net.marginals(given, do or None, method)
        found = {name: every[name] for name in names}
        account = every.account.attrs()
    account = account or _account(*found.values())
    known = read_findings(net.variables, given)
    return Answer(
        [_part(title, one) for title, one in found.items()],
        given,
        do,
        float(found_log_prob(net, given, do, method)) if given else None,
        str(account.get("method", "exact")),
        bool(account.get("is_exact", True)),
        "" if account.get("is_exact", True) else _error(account),
        bool(known.values),
        any(((table != 0) & (table != 1)).any() for table in known.likelihood.values()),
    )


def _account(one: Any) -> Mapping[Any, Any]:
    """Return how an answer was found; distributions without an account are exact."""
    if hasattr(one, "account"):
        return dict(one.account.attrs())
    return dict(getattr(one, "attrs", {}))


def _part(title: str, one: Any) -> StateAnswer | RealAnswer:
    if isinstance(one, pd.Series):
        return StateAnswer.of(title, one)
    return RealAnswer(title, float(one.mean()), float(one.std()))


def _error(attributes: Mapping[Any, Any]) -> str:
    error, kind = attributes.get("error"), str(attributes.get("error_kind", "error"))
    if error is None:
        return ""
    if kind.startswith("largest change"):
        return f"changed last by {error:.2g}; how far off it is, is not known"
    return f"{kind} {error:.2g}"


def _answer_cases(
    net: Network,
    settings: QuerySettings,
    given: Mapping[str, Any],
    do: Mapping[str, Any],
    data: Path,
    place: CsvPlace,
) -> None:
    if not settings.of or do or settings.is_joint:
        raise QuestionError(
            "`data` needs `of` with the variables asked for in each row, and neither `do` nor "
            "`joint`; found another question; write for example --data cases.csv --of lung."
        )
    cases = read_cases(data, net.variables, settings.of)
    console = stderr()
    with progress_bar(console) as advance, answering(cases.name, console, settings.method):
        found = case_answers(net, cases, settings.of, given, settings.method, advance)
    place.write(found.frame, N_DIGITS)
    print_notes(console, found.notes)
    if place.path is not None:
        print_notes(console, [f"{count(len(found.frame), 'row')} in {place.path}."])


def _require_method(method: str) -> None:
    try:
        engine_of(method, "marginals")
    except ValueError as error:
        known = methods()
        raise QuestionError(
            f"`method` must be one of {', '.join(known)}; found {method!r}."
            f"{nearest(method, known)}"
        ) from error


def _require_few(names: Sequence[str], net: Network) -> None:
    """Raise a `QuestionError` if the joint states are too many to be read one by one."""
    real = [name for name in names if not net.variables[name].is_discrete]
    if real:
        raise QuestionError(
            f"`joint` must ask for variables with states; found {', '.join(real)}, which are "
            "real-valued; leave out `joint`."
        )
    n_states = prod(net.variables[name].n_states for name in names)
    if n_states > MOST_JOINT:
        raise QuestionError(
            f"`joint` must ask for at most {MOST_JOINT:,} joint states; found "
            f"{count(len(names), 'variable')} with {n_states:.3g}; name fewer with `of`, or "
            "leave out `joint`."
        )

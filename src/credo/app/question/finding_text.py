"""Findings as typed in a shell: ``smoke=yes``, ``age=old|young``, ``x=a:0.8|b:0.2``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from credo.app.question.network_question import QuestionError
from credo.data.network_file.state_text import state_of
from credo.graphs.variable import UnknownState, Variable, nearest
from credo.models.network.value.findings import read_findings

__all__ = [
    "findings_text",
    "require_free",
    "require_names",
    "typed_findings",
    "typed_settings",
]


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

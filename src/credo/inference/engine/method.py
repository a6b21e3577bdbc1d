"""Methods of answering about a network: engines as values, or their names.

An engine that can be asked for by name says so in its class: ``name``; ``answers``, the
questions it can be asked ("marginals", "total" for the log partition, "bound" for a lower
bound on it, "mode"); if it is not for a product of tables, ``problem``, the kind it solves;
and ``other_names`` by which it may be asked for as well. Its ``examples()`` are values with
usual settings, and a name stands for the first of them that answers the question. The stub of
`credo.inference` lists the engines there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from importlib import import_module
from typing import Any

from credo.exports import stub_lines
from credo.graphs.variable import nearest
from credo.inference.engine.engine import Engine
from credo.numerics.quotation import quote
from credo.numerics.warning import warn_user

__all__ = [
    "ApproximationWarning",
    "Method",
    "density_engine",
    "engine_for",
    "engine_of",
    "methods",
    "named_engines",
    "problem_of",
    "question_for",
    "tells_total",
    "title_of",
    "warn_approximate",
    "written",
]

Method = str | Engine[Any, Any, Any]
"""An engine, or a name: "auto", "exact", or that of an engine."""

SUBJECTS = (
    "credo.inference.discrete.",
    "credo.inference.hybrid.",
    "credo.inference.spins.",
)
"""Where engines about networks live."""

FREE = ("auto", "exact")

VERBS = ("init", "step", "posterior")

QUESTIONS = {
    "marginals": "a distribution",
    "total": "a log partition",
    "mode": "a most probable state",
    "draws": "a draw",
}


def methods(question: str = "marginals") -> tuple[str, ...]:
    """Return the names of the methods that answer a question about networks.

    Parameters
    ----------
    question
        "marginals", "total" (the log partition), "mode" (the most probable state) or "draws".

    Examples
    --------
    >>> "max_flow" in methods("mode"), "max_flow" in methods("marginals")
    (True, False)
    """
    found = {engine.name for engine in named_engines() if _answers(engine, question)}
    return (*FREE, *sorted(found))


@cache
def named_engines() -> tuple[Any, ...]:
    """Return the values that names of methods stand for, one or several of a class."""
    lines = stub_lines("credo.inference").items()
    public: list[Any] = [
        getattr(import_module(module), name)
        for name, (module, _) in lines
        if module.startswith(SUBJECTS)
    ]
    named = [found for found in public if isinstance(getattr(found, "name", None), str)]
    return tuple(getattr(engine, "it", engine) for kind in named for engine in kind.examples())


def engine_of(method: Method, question: str) -> Any | None:
    """Return the engine that a method stands for; None for "auto" and "exact".

    Raises
    ------
    ValueError
        If there is no method of that name, or it does not answer the question.
    TypeError
        If it is neither a name nor an engine.
    """
    if isinstance(method, str) and method in FREE:
        return None
    return _candidates(method, question, methods(question))[0]


def density_engine(method: Method, n_draws: int) -> Any:
    """Return the engine of densities that a name or a value stands for.

    Parameters
    ----------
    n_draws
        Draws of an engine that is asked for by name, where it has such a setting.

    Raises
    ------
    ValueError
        If there is no such engine of densities.

    Examples
    --------
    >>> density_engine("nuts", 500).n_draws
    500
    """
    if not isinstance(method, str):
        return _as_engine(method)
    kinds = {kind.name: kind for kind in _density_kinds()}
    if method not in kinds:
        known = sorted({"map", "laplace", "smc", *kinds})
        raise ValueError(
            f"inference must be one of {['auto', *known]}, or an engine of densities; found "
            f"{quote(method)}. Leave it out for what suits the density."
            f"{nearest(method, known)}"
        )
    names = {part.name for part in fields(kinds[method])}
    return kinds[method](**({"n_draws": n_draws} if "warm_up" in names else {}))


@cache
def _density_kinds() -> tuple[Any, ...]:
    """Return the classes of engines of densities that have names."""
    lines = stub_lines("credo.inference").items()
    found = [
        getattr(import_module(module), name)
        for name, (module, _) in lines
        if module.startswith("credo.inference.density.")
    ]
    return tuple(
        kind
        for kind in found
        if isinstance(kind, type) and isinstance(getattr(kind, "name", None), str)
    )


def tells_total(method: Method) -> bool:
    """Return whether a method tells the log partition itself, not only a bound on it.

    Examples
    --------
    >>> tells_total("importance"), tells_total("mean_field"), tells_total("gibbs")
    (True, False, False)
    """
    if isinstance(method, str):
        return method in methods("total") and (
            method in FREE or "total" in getattr(engine_of(method, "total"), "answers", ())
        )
    return "total" in getattr(method, "answers", ("total",))


def engine_for(method: Method, question: str, problems: Sequence[type | None], of: str) -> Any:
    """Return the engine that a method stands for, which must solve a kind of problem.

    Parameters
    ----------
    problems
        The kinds, the best first; None for a product of tables. Of several engines of one name
        that for the best kind is meant.
    of
        What has such problems, for the message.
    """
    known = _able(problems, (question,))
    found = _candidates(method, question, known)
    for problem in problems:
        for engine in found:
            if problem_of(engine) is problem:
                return engine
    raise _unknown(method, known, f" for {of}")


def question_for(
    method: Method, questions: Sequence[str], problems: Sequence[type | None], of: str
) -> str:
    """Return the first of some questions that a method answers.

    Examples
    --------
    >>> question_for("max_flow", ("marginals", "mode"), (None,), "tables")
    'mode'
    """
    if isinstance(method, str) and method in FREE:
        return questions[0]
    engines = _engines(method)
    for question in questions:
        if any(_answers(e, question) for e in engines if problem_of(e) in problems):
            return question
    raise _unknown(method, _able(problems, questions), f" for {of}")


def _able(problems: Sequence[type | None], questions: Sequence[str]) -> tuple[str, ...]:
    """Return the names of methods that answer one of the questions about some problems."""
    able = [e for e in named_engines() if problem_of(e) in problems]
    names = {e.name for e in able if any(_answers(e, question) for question in questions)}
    return (*FREE, *sorted(names))


def problem_of(engine: Any) -> type | None:
    """Return the kind of problem that an engine solves; None for a product of tables."""
    found: type | None = getattr(engine, "problem", None)
    return found


def _candidates(method: Method, question: str, known: tuple[str, ...]) -> list[Any]:
    """Return the engines that a name or a value may stand for, which answer the question.

    What is ``known`` is advised where there is none.
    """
    found = _engines(method)
    if not found:
        raise _unknown(method, known)
    answering = [engine for engine in found if _answers(engine, question)]
    if not answering:
        raise _silent(method, found[0], question, known)
    return answering


def _engines(method: Method) -> list[Any]:
    """Return the engines that a name or a value may stand for: the one place to look."""
    if not isinstance(method, str):
        return [_as_engine(method)]
    return [engine for engine in named_engines() if method in _names(engine)]


def _names(engine: Any) -> tuple[str, ...]:
    return (engine.name, *getattr(engine, "other_names", ()))


def title_of(engine: Any) -> str:
    """Return what the method of an engine is called."""
    return str(getattr(engine, "title", type(engine).__name__))


def written(method: Method) -> str:
    """Return the argument as it was written, an engine by its class.

    Examples
    --------
    >>> written("gibbs")
    'method="gibbs"'
    """
    return f'method="{method}"' if isinstance(method, str) else f"method={_shown(method)}"


class ApproximationWarning(UserWarning):
    """An answer is approximate because an exact one does not fit."""


def warn_approximate(what: str) -> None:
    """Warn that ``what`` holds, and tell how to ask for an error instead."""
    warn_user(
        f'{what}. Pass method="exact" where it can be chosen to get an error instead.',
        ApproximationWarning,
    )


def _unknown(method: Method, known: tuple[str, ...], of: str = "") -> ValueError:
    return ValueError(
        f"method must be one of {list(known)}, or such an engine{of}; found {_shown(method)}. "
        f"Leave it out for an exact answer wherever one fits.{_nearest(method, known)}"
    )


def _nearest(method: Method, known: tuple[str, ...]) -> str:
    """Return the name that was meant by a misspelt one; others are spelled right."""
    is_misspelt = isinstance(method, str) and not _engines(method)
    return nearest(str(method), known) if is_misspelt else ""


def _shown(method: Method) -> str:
    return quote(method) if isinstance(method, str) else type(method).__name__


def _answers(engine: Any, question: str) -> bool:
    """Whether an engine can be asked; one that does not say what it answers is tried."""
    answers = getattr(engine, "answers", tuple(QUESTIONS))
    return question in answers or (question == "total" and "bound" in answers)


def _as_engine(method: Any) -> Any:
    if isinstance(method, type) or not all(hasattr(method, verb) for verb in VERBS):
        is_class = isinstance(method, type)
        advice = f"Write {method.__name__}()." if is_class else "Pass the name of a method."
        raise TypeError(
            "method must be a name, or an engine with init, step and posterior; found "
            f"{'the class ' + method.__name__ if is_class else quote(method)}. {advice}"
        )
    return method


def _silent(method: Method, engine: Any, question: str, known: tuple[str, ...]) -> ValueError:
    answered = " and ".join(part for part in engine.answers if part in QUESTIONS)
    others = ", ".join(f'"{name}"' for name in known if name not in FREE)
    return ValueError(
        f"{QUESTIONS[question]} must come from a method that tells it; found "
        f"{written(method)}, which tells {answered} only. Use {others}, or leave method out."
    )

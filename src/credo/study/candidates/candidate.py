"""What each candidate is: in words, and as the Python expression that makes it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from inspect import signature
from types import MappingProxyType
from typing import Any, NamedTuple

from credo.features.basis import Basis, ConcatenatedBasis
from credo.features.continued import ContinuedBasis
from credo.study.candidates.slate import NETWORK, PROCESS, RELEVANCE, SUPPORT, VARYING

__all__ = [
    "BASELINE",
    "CLASS_MEANINGS",
    "MEANINGS",
    "STACK",
    "Candidate",
    "described",
    "expression",
]

MEANINGS = MappingProxyType(
    {
        "constant": "the mean alone",
        "linear": "a straight line in each column",
        "quadratic": "columns, their squares, and products of two",
        "cubic": "as quadratic, with third powers and products of three",
        "spline": "a smooth curve in each column, added up",
        "radial": "a straight line in each column, and bumps around clusters of rows",
        "spline + quadratic": "the terms of both",
        "spline + radial": "the curves of spline, and the bumps of radial",
        SUPPORT: "a smooth surface held by a few rows, judged but never averaged",
        RELEVANCE: "bumps at the few rows that evidence asks for, judged but never averaged",
        NETWORK: "a sum of a few smooth steps, judged but never averaged",
        PROCESS: "a smooth surface of any shape, a length scale for each column",
    }
)
"""One line for each candidate that a slate may hold."""

BASELINE = "baseline"
STACK = "stack"

CLASS_MEANINGS = MappingProxyType(
    {
        BASELINE: "how often each class occurs, whatever the columns say",
        "linear": "log odds that are a straight line in each column",
        "spline": "log odds that are a smooth curve in each column, added up",
        "radial": "linear, and bumps around clusters of rows",
        "tied gaussian": "a normal cloud of rows for each class, all of one shape",
        "gaussian": "a normal cloud of rows for each class, each of its own shape",
        "naive bayes": "each column by itself, as if independent within a class",
        "neighbors": "the classes of the most similar training rows",
        "boosting": "a vote of many rules with one threshold each",
        SUPPORT: "the widest margin between classes, by a few rows that hold it",
        RELEVANCE: "log odds of bumps at the few rows that evidence asks for",
        NETWORK: "log odds that are a sum of a few smooth steps",
        PROCESS: "log odds that are a smooth surface of any shape",
    }
)
"""One line for each classifier that a slate may hold."""


MAX_LETTERS = 60
"""Settings that take more letters are shown as being there, without their value."""


class Candidate(NamedTuple):
    """Name of a candidate, what it is in words, and in Python."""

    name: str
    meaning: str
    expression: str


def described(
    named: Iterable[tuple[str, Any]], meanings: Mapping[str, str] = MEANINGS
) -> list[Candidate]:
    """Return what each of the named models is."""
    return [
        Candidate(name, _meaning(name, meanings), expression(model)) for name, model in named
    ]


def _meaning(name: str, meanings: Mapping[str, str]) -> str:
    if name.endswith(VARYING):
        return f"as {name.removesuffix(VARYING)}, with noise that follows the columns"
    return meanings.get(name, "")


def expression(model: Any) -> str:
    """Return the Python expression of a model that differs from others in a few settings.

    Examples
    --------
    >>> from credo.features import LinearBasis, RadialBasis
    >>> from credo.models import LinearRegression
    >>> expression(LinearRegression(LinearBasis() + RadialBasis(200)))
    'LinearRegression(LinearBasis() + RadialBasis(n_centers=200))'
    >>> expression(LinearRegression(weight_precision=2.0))
    'LinearRegression(weight_precision=2.0)'
    """
    usual = signature(type(model)).parameters
    settings = model.get_params(deep=False)
    settings_shown = [
        _basis(value) if isinstance(value, Basis) else f"{name}={_brief(value)}"
        for name, value in settings.items()
        if not _is_usual(value, usual[name].default)
    ]
    return f"{type(model).__name__}({', '.join(settings_shown)})"


def _is_usual(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and value == default)


def _brief(value: Any) -> str:
    written = repr(value)
    return written if len(written) <= MAX_LETTERS else "{...}"


def _basis(basis: Basis) -> str:
    if isinstance(basis, ConcatenatedBasis):
        return " + ".join(_basis(part) for part in basis.parts)
    if isinstance(basis, ContinuedBasis):
        return f"ContinuedBasis({_basis(basis.basis)})"
    own = [field for field in fields(basis) if not field.name.startswith("placed_")]
    # The first setting is the size, which is worth saying even where it is the default.
    settings = [
        f"{field.name}={getattr(basis, field.name)!r}"
        for place, field in enumerate(own)
        if place == 0 or getattr(basis, field.name) != field.default
    ]
    return f"{type(basis).__name__}({', '.join(settings)})"

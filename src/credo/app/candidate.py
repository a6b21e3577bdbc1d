"""What each candidate is: in words, and as the Python expression that makes it again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from types import MappingProxyType
from typing import NamedTuple

from credo.features.basis import Basis, ConcatenatedBasis
from credo.models.linear_regression import LinearRegression

__all__ = ["MEANINGS", "Candidate", "described", "expression"]

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
    }
)
"""One line for each candidate that a slate may hold."""


class Candidate(NamedTuple):
    """Name of a candidate, what it is in words, and in Python."""

    name: str
    meaning: str
    expression: str


def described(named: Iterable[tuple[str, LinearRegression]]) -> list[Candidate]:
    """Return what each of the named regressions is."""
    return [Candidate(name, MEANINGS.get(name, ""), expression(model)) for name, model in named]


def expression(model: LinearRegression) -> str:
    """Return the Python expression of a regression that differs from others in its basis.

    Examples
    --------
    >>> from credo.features import LinearBasis, RadialBasis
    >>> expression(LinearRegression(LinearBasis() + RadialBasis(200)))
    'LinearRegression(LinearBasis() + RadialBasis(n_centers=200))'
    """
    return f"LinearRegression({'' if model.basis is None else _basis(model.basis)})"


def _basis(basis: Basis) -> str:
    if isinstance(basis, ConcatenatedBasis):
        return " + ".join(_basis(part) for part in basis.parts)
    own = [field for field in fields(basis) if not field.name.startswith("placed_")]
    # The first setting is the size, which is worth saying even where it is the default.
    settings = [
        f"{field.name}={getattr(basis, field.name)!r}"
        for place, field in enumerate(own)
        if place == 0 or getattr(basis, field.name) != field.default
    ]
    return f"{type(basis).__name__}({', '.join(settings)})"

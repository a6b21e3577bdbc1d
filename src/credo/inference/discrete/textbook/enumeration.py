"""Exact inference by summing over every combination of states, to read and to test with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from credo.graphs.factor import Factor
from credo.graphs.variable import UnknownVariable, Variable, nearest
from credo.inference.engine.error import ImpossibleFindings
from credo.numerics.quotation import quote

__all__ = [
    "enumerate_depth_first",
    "enumerate_joint",
    "enumerate_query",
    "impossible",
    "posterior_factor",
    "restricted",
    "target_names",
    "variables_of",
]

Targets = str | Sequence[str]
Given = Mapping[str, Any]


def enumerate_joint(factors: Sequence[Factor], given: Given | None = None) -> Factor:
    """Return the product of all factors at the given states, one axis per other variable.

    ``2^n`` numbers for ``n`` variables with two states. The factors of a Bayesian network give
    the joint probability of the other variables and of what is given.
    """
    return reduce(mul, restricted(factors, given or {}))


def enumerate_query(
    factors: Sequence[Factor], targets: Targets, given: Given | None = None
) -> Factor:
    """Return ``P(targets | given)`` by building the whole joint table and summing the rest.

    Parameters
    ----------
    factors
        Those of the network; their product need not be normalized.
    targets
        A name, or names in the order of the axes of the answer.
    given
        States by name.

    Examples
    --------
    >>> rain, wet = Variable("rain", (False, True)), Variable("wet", (False, True))
    >>> factors = [Factor([rain], [0.8, 0.2]), Factor([rain, wet], [[0.9, 0.1], [0.2, 0.8]])]
    >>> enumerate_query(factors, "rain", {"wet": True}).table().round(4).tolist()
    [0.3333, 0.6667]
    """
    names = target_names(factors, targets, given or {})
    joint = enumerate_joint(factors, given)
    if not joint.values.any():
        raise impossible(given or {}, lambda part: enumerate_joint(factors, part).values.any())
    return posterior_factor(joint.sum_out(*(n for n in joint.names if n not in names)), names)


def enumerate_depth_first(
    factors: Sequence[Factor], targets: Targets, given: Given | None = None
) -> Factor:
    """Return ``P(targets | given)`` by visiting combinations one after the other.

    The sum is nested, one loop per hidden variable, and a factor is multiplied in as soon as
    all its variables have states. The time is that of ``enumerate_query``; the memory, beside
    the answer, is one state per variable.
    """
    names = target_names(factors, targets, given or {})
    found = _visited(factors, names, given or {})
    if not found.values.any():
        raise impossible(given or {}, lambda part: _visited(factors, (), part).values.any())
    return posterior_factor(found, names)


def impossible(given: Given, is_possible: Callable[[Given], np.bool_]) -> ImpossibleFindings:
    """Return the error for states of probability zero, naming a smallest part that is so."""
    conflict = dict(given)
    for name in given:
        rest = {other: conflict[other] for other in conflict if other != name}
        if not is_possible(rest):
            conflict = rest
    return ImpossibleFindings(conflict)


def restricted(factors: Sequence[Factor], given: Given) -> list[Factor]:
    """Return every factor at the given states, over its other variables."""
    known = variables_of(factors)
    for name in given:
        _require_known(name, known)
    return [
        factor.restrict({n: given[n] for n in factor.names if n in given}) for factor in factors
    ]


def variables_of(factors: Sequence[Factor]) -> dict[str, Variable]:
    """Return the variables of some factors by name, in the order of first appearance."""
    if not factors:
        raise ValueError("factors must not be empty; found none. Pass those of a network.")
    known: dict[str, Variable] = {}
    for variable in (v for factor in factors for v in factor.variables):
        if known.setdefault(variable.name, variable) != variable:
            raise ValueError(
                f"factors must agree on the states of {variable.name}; found "
                f"{quote(list(known[variable.name].labels))} and "
                f"{quote(list(variable.labels))}. Use one Variable in all of them."
            )
    return known


def target_names(factors: Sequence[Factor], targets: Targets, given: Given) -> tuple[str, ...]:
    """Return the names of the targets, each a variable of the factors that is not given."""
    names = (targets,) if isinstance(targets, str) else tuple(targets)
    known = variables_of(factors)
    for name in names:
        _require_known(name, known)
    clash = [name for name in names if name in given]
    if clash or len(set(names)) < len(names):
        raise ValueError(
            f"targets must be distinct and not given; found {quote(list(names))} with "
            f"{quote(list(given))} given. Ask about the others."
        )
    return names


def posterior_factor(factor: Factor, names: Sequence[str]) -> Factor:
    """Return the factor divided by its sum, axes in the order of ``names``."""
    variables = [factor.variable(name) for name in names]
    return Factor(variables, factor.spread(variables)).normalized()


def _visited(factors: Sequence[Factor], names: Sequence[str], given: Given) -> Factor:
    """Return the sum over all other variables, one combination of states after the other."""
    rest = restricted(factors, given)
    variables = {name: v for name, v in variables_of(factors).items() if name not in given}
    hidden = [name for name in variables if name not in names]
    order = [variables[name] for name in (*names, *hidden)]
    ready = _factors_by_depth(rest, order, len(names))
    states: dict[str, int] = {}

    def total(depth: int) -> float:
        weight = math.prod(_entry(factor, states) for factor in ready[depth])
        if weight == 0.0 or depth == len(order):
            return weight
        below = 0.0
        for state in range(order[depth].n_states):
            states[order[depth].name] = state
            below += total(depth + 1)
        return weight * below

    answer = np.zeros([variable.n_states for variable in order[: len(names)]])
    for cell in np.ndindex(answer.shape):
        states.update(zip(names, cell, strict=True))
        answer[cell] = total(len(names))
    return Factor(order[: len(names)], answer)


def _factors_by_depth(
    factors: Sequence[Factor], order: Sequence[Variable], start: int
) -> list[list[Factor]]:
    """Return, for each number of variables that have states, the factors complete by then."""
    place = {variable.name: i + 1 for i, variable in enumerate(order)}
    ready: list[list[Factor]] = [[] for _ in range(len(order) + 1)]
    for factor in factors:
        ready[max([start, *(place[name] for name in factor.names)])].append(factor)
    return ready


def _entry(factor: Factor, states: Mapping[str, int]) -> float:
    return float(factor.values[tuple(states[name] for name in factor.names)])


def _require_known(name: str, known: Mapping[str, Variable]) -> None:
    if name not in known:
        raise UnknownVariable(
            f"variable must be one of {list(known)}; found {name!r}.{nearest(name, known)}"
        )

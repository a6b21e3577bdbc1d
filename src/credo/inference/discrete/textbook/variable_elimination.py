"""Exact inference by enumeration and by variable elimination, to read and to test with.

Enumeration sums over every combination of states. Elimination sums out one variable after the
other; every step is kept, and can be written out as on paper: products, sums and their cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import mul
from typing import Any

import numpy as np

from credo.graphs.factor import Factor
from credo.graphs.variable import UnknownVariable, Variable, nearest
from credo.inference.engine.error import ImpossibleFindings
from credo.numerics.quotation import quote

__all__ = [
    "Elimination",
    "EliminationStep",
    "eliminate",
    "enumerate_depth_first",
    "enumerate_joint",
    "enumerate_query",
    "explain_elimination",
    "product_cost",
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


@dataclass(frozen=True, eq=False)
class EliminationStep:
    """One variable summed out of the product of the factors that speak of it.

    Attributes
    ----------
    variable
        The variable that was summed out.
    factors
        The factors that had it, in the order of multiplication.
    product
        Their product, before summing.
    result
        The sum, a factor of the other variables, which later steps use.
    """

    variable: Variable
    factors: tuple[Factor, ...]
    product: Factor
    result: Factor

    @property
    def n_multiplications(self) -> int:
        """Multiplications of numbers for the product, factor after factor."""
        return product_cost(self.factors)

    @property
    def n_additions(self) -> int:
        """Additions of numbers for the sum."""
        return int(self.product.values.size - self.result.values.size)

    @property
    def is_barren(self) -> bool:
        """Whether the sum is one throughout, as that of an unobserved leaf is."""
        return bool(np.allclose(self.result.table(), 1.0, rtol=0.0, atol=1e-12))


@dataclass(frozen=True, eq=False)
class Elimination:
    """A query answered by variable elimination, with the steps that led to the answer.

    Attributes
    ----------
    targets
        Names of the variables asked for.
    given
        States that were given.
    factors
        Factors at the given states, before the first step.
    steps
        One per variable summed out, in order.
    last
        Factors left over, all about targets.
    joint
        Their product: ``P(targets, given)`` if the factors were those of a Bayesian network.
    """

    targets: tuple[str, ...]
    given: dict[str, Any]
    factors: tuple[Factor, ...]
    steps: tuple[EliminationStep, ...]
    last: tuple[Factor, ...]
    joint: Factor

    @property
    def posterior(self) -> Factor:
        """``P(targets | given)``, axes in the order of the targets."""
        return posterior_factor(self.joint, self.targets)

    @property
    def log_evidence(self) -> float:
        """Log of the sum of the product of all factors, ``log P(given)`` of a network."""
        return float(self.joint.log_scale + np.log(self.joint.values.sum()))

    @property
    def n_multiplications(self) -> int:
        """Multiplications of all steps and of the last product; dividing by the sum is none."""
        return sum(step.n_multiplications for step in self.steps) + product_cost(self.last)

    @property
    def n_enumeration_multiplications(self) -> int:
        """Multiplications if every combination of states were multiplied out on its own."""
        n_terms = math.prod(v.n_states for v in variables_of(self.factors).values())
        return (len(self.factors) - 1) * n_terms


def eliminate(
    factors: Sequence[Factor],
    keep: str | Sequence[str],
    given: Mapping[str, Any] | None = None,
    order: Sequence[str] | None = None,
) -> Elimination:
    """Return the answer to ``P(keep | given)`` by summing out the other variables in turn.

    Parameters
    ----------
    factors
        Those of the network; their product need not be normalized.
    keep
        Names of the variables asked for.
    given
        States by name.
    order
        All other variables, in the order of elimination. Any order gives the same answer, at
        different cost; None takes the variable with the fewest multiplications each time.

    Examples
    --------
    >>> rain, wet = Variable("rain", (False, True)), Variable("wet", (False, True))
    >>> factors = [Factor([rain], [0.8, 0.2]), Factor([rain, wet], [[0.9, 0.1], [0.2, 0.8]])]
    >>> answer = eliminate(factors, "wet")
    >>> answer.posterior.table().round(4).tolist(), answer.n_multiplications
    ([0.76, 0.24], 4)
    """
    known = dict(given or {})
    targets = target_names(factors, keep, known)
    start = restricted(factors, known)
    hidden = [name for name in variables_of(factors) if name not in (*targets, *known)]
    if order is not None:
        _require_all(order, hidden)
    steps, left = _steps(start, hidden, order)
    joint = reduce(mul, left)
    if not joint.values.any():
        raise impossible(known, lambda part: _total(factors, part).values.any())
    return Elimination(targets, known, tuple(start), tuple(steps), tuple(left), joint)


def product_cost(factors: Sequence[Factor]) -> int:
    """Return the multiplications of numbers in a product, taken from left to right."""
    cost, scope = 0, {v.name: v for v in factors[0].variables} if factors else {}
    for factor in factors[1:]:
        scope.update((v.name, v) for v in factor.variables)
        cost += math.prod(v.n_states for v in scope.values())
    return cost


def _steps(
    factors: Sequence[Factor], hidden: Sequence[str], order: Sequence[str] | None
) -> tuple[list[EliminationStep], list[Factor]]:
    """Return the steps that sum out all hidden variables, and the factors left over."""
    left = list(factors)
    steps: list[EliminationStep] = []
    for i in range(len(hidden)):
        name = _cheapest(left, hidden) if order is None else order[i]
        step = _summed_out(left, name)
        left = [factor for factor in left if name not in factor.names] + [step.result]
        hidden = [other for other in hidden if other != name]
        steps.append(step)
    return steps, left


def _total(factors: Sequence[Factor], given: Mapping[str, Any]) -> Factor:
    hidden = [name for name in variables_of(factors) if name not in given]
    return reduce(mul, _steps(restricted(factors, given), hidden, None)[1])


def _summed_out(factors: Sequence[Factor], name: str) -> EliminationStep:
    about = tuple(factor for factor in factors if name in factor.names)
    product = reduce(mul, about)
    return EliminationStep(product.variable(name), about, product, product.sum_out(name))


def _cheapest(factors: Sequence[Factor], names: Sequence[str]) -> str:
    """Return the variable that needs fewest multiplications now, none if one factor has it."""
    return min(names, key=lambda name: product_cost([f for f in factors if name in f.names]))


def _require_all(order: Sequence[str], hidden: Sequence[str]) -> None:
    if sorted(order) != sorted(hidden):
        raise ValueError(
            f"order must list each variable to sum out once, {quote(list(hidden))}; found "
            f"{quote(list(order))}. Leave out targets and what is given."
        )


MOST_ROWS = 32
Names = Mapping[int, str]


def explain_elimination(
    factors: Sequence[Factor],
    targets: str | Sequence[str],
    given: Mapping[str, Any] | None = None,
    order: Sequence[str] | None = None,
) -> str:
    """Return the elimination that answers ``P(targets | given)`` as text, step by step.

    Every step shows the product of the factors about one variable, a column for each of its
    states, and the sum; the end compares the multiplications with those of full enumeration.

    Examples
    --------
    >>> rain, wet = Variable("rain", (False, True)), Variable("wet", (False, True))
    >>> factors = [Factor([rain], [0.8, 0.2]), Factor([rain, wet], [[0.9, 0.1], [0.2, 0.8]])]
    >>> print(explain_elimination(factors, "wet"))
    P(wet) is proportional to
      sum_rain F1(rain) F2(rain, wet)
    <BLANKLINE>
    Step 1. Sum out rain: F1(rain) F2(rain, wet) -> F3(wet)
      wet    rain=False  rain=True  sum
      False  0.72        0.04       0.76
      True   0.08        0.16       0.24
      4 multiplications, 2 additions
    <BLANKLINE>
    Answer: F3(wet)
      wet    product  P(wet)
      False  0.76     0.76
      True   0.24     0.24
      sum    1
    <BLANKLINE>
    4 multiplications by elimination, 4 by full enumeration.
    """
    found = eliminate(factors, targets, given, order)
    names = _factor_names(found)
    blocks = [
        _headline(found, names),
        *(_step_block(i + 1, step, names) for i, step in enumerate(found.steps)),
        _answer_block(found, names),
        f"{found.n_multiplications} multiplications by elimination, "
        f"{found.n_enumeration_multiplications} by full enumeration.",
    ]
    return "\n\n".join(blocks)


def _factor_names(found: Elimination) -> dict[int, str]:
    every = [*found.factors, *(step.result for step in found.steps)]
    return {id(factor): f"F{i}({', '.join(factor.names)})" for i, factor in enumerate(every, 1)}


def _headline(found: Elimination, names: Names) -> str:
    """Return the nested sum that the order of elimination stands for."""
    text = dict(names)
    for step in found.steps:
        inner = " ".join(text[id(factor)] for factor in step.factors)
        text[id(step.result)] = f"[sum_{step.variable.name} {inner}]"
    whole = " ".join(text[id(factor)] for factor in found.last)
    if len(found.last) == 1 and whole.startswith("["):
        whole = whole[1:-1]
    return f"{_wanted(found)} is proportional to\n  {whole}"


def _wanted(found: Elimination) -> str:
    given = ", ".join(f"{name}={state}" for name, state in found.given.items())
    return f"P({', '.join(found.targets)}{' | ' if given else ''}{given})"


def _step_block(number: int, step: EliminationStep, names: Names) -> str:
    inner = " ".join(names[id(factor)] for factor in step.factors)
    title = f"Step {number}. Sum out {step.variable.name}: {inner} -> {names[id(step.result)]}"
    rest = step.result.variables
    head = [*(v.name for v in rest), *_state_columns(step.variable), "sum"]
    terms = _cells(step.product, (*rest, step.variable)).reshape(-1, step.variable.n_states)
    sums = step.result.table().ravel()
    rows = [
        [*labels, *map(_number, parts), _number(total)]
        for labels, parts, total in zip(_settings(rest), terms, sums, strict=True)
    ]
    cost = f"{step.n_multiplications} multiplications, {step.n_additions} additions"
    note = f"{cost}; all ones, so {step.variable.name} has no say" if step.is_barren else cost
    return "\n".join([title, *_table([head, *rows]), f"  {note}"])


def _answer_block(found: Elimination, names: Names) -> str:
    title = "Answer: " + " ".join(names[id(factor)] for factor in found.last)
    variables = [found.joint.variable(name) for name in found.targets]
    joint = _cells(found.joint, variables).ravel()
    shares = found.posterior.table().ravel()
    head = [*found.targets, "product", _wanted(found)]
    rows = [
        [*labels, _number(weight), _number(share)]
        for labels, weight, share in zip(_settings(variables), joint, shares, strict=True)
    ]
    blanks = [""] * (len(variables) - 1)
    total = ["sum", *blanks, _number(float(joint.sum())), ""]
    return "\n".join([title, *_table([head, *rows, total])])


def _state_columns(variable: Variable) -> list[str]:
    return [f"{variable.name}={label}" for label in variable.labels]


def _cells(factor: Factor, variables: Sequence[Variable]) -> Any:
    ordered = Factor(variables, factor.spread(variables), factor.log_scale)
    return ordered.table()


def _settings(variables: Sequence[Variable]) -> list[list[str]]:
    return [[str(s) for s in setting] for setting in product(*(v.labels for v in variables))]


def _number(value: float) -> str:
    return f"{value:.9g}"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines with aligned columns, the first few rows of a long table only."""
    shown = rows[: MOST_ROWS + 1]
    widths = [max(len(row[i]) for row in shown) for i in range(len(rows[0]))]
    lines = [
        "  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in shown
    ]
    hidden = len(rows) - len(shown)
    return [*lines, f"  ... and {hidden} more rows"] if hidden else lines

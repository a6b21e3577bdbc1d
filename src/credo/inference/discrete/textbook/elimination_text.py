"""Variable elimination written out as on paper: products, sums and what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from credo.graphs.factor import Factor
from credo.graphs.variable import Variable
from credo.inference.discrete.textbook.variable_elimination import (
    Elimination,
    EliminationStep,
    eliminate,
)

__all__ = ["explain_elimination"]

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

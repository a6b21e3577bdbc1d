"""Exact inference by summing out one variable after the other, every step kept to be read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from credo.graphs.factor import Factor
from credo.graphs.variable import Variable
from credo.inference.discrete.textbook.enumeration import (
    impossible,
    posterior_factor,
    restricted,
    target_names,
    variables_of,
)
from credo.numerics.quotation import quote

__all__ = ["Elimination", "EliminationStep", "eliminate", "product_cost"]


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

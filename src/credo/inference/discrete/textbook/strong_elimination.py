"""Exact inference in small hybrid networks with the algebra of canonical forms, to be read.

Real variables are integrated out first and discrete ones summed out after that, a strong order
[lauritzen1992]_; a sum first would leave mixtures, which are no factors. This is what
`HybridInference` computes by orthogonal rotations that lose fewer digits, for many rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.graphs.factor import Factor
from credo.graphs.gaussian.conditional_gaussian import ConditionalGaussianFactor
from credo.graphs.gaussian.gaussian_factor import GaussianFactor
from credo.graphs.node.conditional import Conditional, DiscreteConditional
from credo.graphs.node.linear_gaussian import GaussianNode
from credo.graphs.variable import UnknownVariable, nearest
from credo.inference.engine.error import ImpossibleFindings
from credo.numerics.special.log_domain import log_sum_exp

__all__ = ["StrongElimination", "StrongStep", "eliminate_strongly", "hybrid_factors"]

AnyFactor = Factor | GaussianFactor | ConditionalGaussianFactor


@dataclass(frozen=True, eq=False)
class StrongStep:
    """One variable integrated or summed out of the product of the factors that have it."""

    name: str
    factors: tuple[ConditionalGaussianFactor, ...]
    product: ConditionalGaussianFactor
    result: ConditionalGaussianFactor


@dataclass(frozen=True, eq=False)
class StrongElimination:
    """A query of a hybrid network, with the steps that led to its answer.

    Attributes
    ----------
    targets
        Names of the variables asked for.
    steps
        One per variable integrated out, then one per variable summed out.
    joint
        Factor of the targets, not normalized. Where real targets depend on discrete variables
        that are not asked for, it is the Gaussian of the same mass, mean and covariance.
    """

    targets: tuple[str, ...]
    steps: tuple[StrongStep, ...]
    joint: ConditionalGaussianFactor

    @property
    def log_evidence(self) -> float:
        """Log density of what was given."""
        return float(log_sum_exp(self.joint.moments()[0]))

    def table(self) -> Factor:
        """Return the probabilities of the discrete targets, real ones integrated out."""
        alone = self.joint.integrate_out(*self.joint.names)
        return alone.table().normalized()

    def normal(self) -> MultivariateNormal:
        """Return mean and covariance of the real targets, as a normal in their order."""
        discrete = [v.name for v in self.joint.variables]
        alone = self.joint.collapsed(*discrete) if discrete else self.joint
        order = [alone.names.index(name) for name in self.targets if name in alone.names]
        _, mean, covariance = alone.moments()
        return MultivariateNormal(mean[order], covariance[np.ix_(order, order)])


def hybrid_factors(conditionals: Iterable[Conditional]) -> list[AnyFactor]:
    """Return the factors of tables and linear-Gaussian nodes."""
    factors: list[AnyFactor] = []
    for node in conditionals:
        if isinstance(node, GaussianNode):
            factors.append(ConditionalGaussianFactor.of(node))
        elif isinstance(node, DiscreteConditional):
            factors.append(node.table())
        else:
            raise TypeError(
                f"conditionals must be tables or linear-Gaussian for exact algebra; found "
                f"{type(node).__name__} for {node.child.name}. Use likelihood weighting."
            )
    return factors


def eliminate_strongly(
    factors: Sequence[AnyFactor],
    keep: str | Sequence[str],
    given: Mapping[str, Any] | None = None,
) -> StrongElimination:
    """Return the answer to ``P(keep | given)`` by integrating, then summing, the others out.

    Parameters
    ----------
    factors
        Those of the network: tables, Gaussian factors, and tables of Gaussian factors.
    keep
        Names of the variables asked for.
    given
        States of discrete variables and values of real ones, by name.

    Examples
    --------
    >>> from credo.graphs.variable import Variable
    >>> kind, size = Variable("kind", ("small", "large")), Variable("size")
    >>> node = GaussianNode(size, (kind,), [1.0, 3.0], np.zeros((2, 0)), [1.0, 1.0])
    >>> factors = [Factor((kind,), [0.5, 0.5]), ConditionalGaussianFactor.of(node)]
    >>> eliminate_strongly(factors, "kind", {"size": 3.0}).table().table().round(4)
    array([0.1192, 0.8808])
    >>> eliminate_strongly(factors, "size").normal().covariance()
    array([[2.]])
    """
    known, targets = dict(given or {}), (keep,) if isinstance(keep, str) else tuple(keep)
    whole = [_as_conditional(factor) for factor in factors]
    _require_known(whole, (*targets, *known))
    left = [_restricted(factor, known) for factor in whole]
    hidden = [name for f in left for name in f.names if name not in targets]
    steps: list[StrongStep] = []
    for name in _in_order(left, hidden):
        left = _without(left, name, steps, _integrated)
    others = dict.fromkeys(v.name for f in left for v in f.variables if v.name not in targets)
    if not any(factor.names for factor in left):
        for name in others:
            left = _without(left, name, steps, _summed)
        others = {}
    joint = reduce(mul, left)
    joint = joint.collapsed(*others) if others else joint
    found = StrongElimination(targets, tuple(steps), joint)
    if found.log_evidence == -np.inf:
        raise ImpossibleFindings(known)
    return found


def _as_conditional(factor: AnyFactor) -> ConditionalGaussianFactor:
    if isinstance(factor, Factor):
        return ConditionalGaussianFactor.of_table(factor)
    if isinstance(factor, GaussianFactor):
        scale = np.asarray(factor.log_scale)
        return ConditionalGaussianFactor(
            (), factor.names, factor.precision, factor.shift, scale
        )
    return factor


def _scope(factor: ConditionalGaussianFactor) -> list[str]:
    return [*factor.names, *(v.name for v in factor.variables)]


def _require_known(factors: Sequence[ConditionalGaussianFactor], names: Sequence[str]) -> None:
    among = list(dict.fromkeys(name for factor in factors for name in _scope(factor)))
    for name in names:
        if name not in among or names.count(name) > 1:
            raise UnknownVariable(
                f"targets and what is given must be different variables among {among}; found "
                f"{name!r}.{nearest(name, among)}"
            )


def _restricted(
    factor: ConditionalGaussianFactor, given: Mapping[str, Any]
) -> ConditionalGaussianFactor:
    states = {v.name: given[v.name] for v in factor.variables if v.name in given}
    values = {name: given[name] for name in factor.names if name in given}
    return factor.restrict(states, values)


def _in_order(factors: Sequence[ConditionalGaussianFactor], names: Sequence[str]) -> list[str]:
    """Return the names, those in few factors first."""
    distinct = dict.fromkeys(names)
    return sorted(distinct, key=lambda name: sum(name in f.names for f in factors))


def _without(
    factors: Sequence[ConditionalGaussianFactor],
    name: str,
    steps: list[StrongStep],
    removed: Callable[[ConditionalGaussianFactor, str], ConditionalGaussianFactor],
) -> list[ConditionalGaussianFactor]:
    """Return the factors after one more step, which is added to those taken."""
    about = tuple(factor for factor in factors if name in _scope(factor))
    product = reduce(mul, about)
    steps.append(StrongStep(name, about, product, removed(product, name)))
    return [factor for factor in factors if name not in _scope(factor)] + [steps[-1].result]


def _integrated(product: ConditionalGaussianFactor, name: str) -> ConditionalGaussianFactor:
    return product.integrate_out(name)


def _summed(product: ConditionalGaussianFactor, name: str) -> ConditionalGaussianFactor:
    return ConditionalGaussianFactor.of_table(product.table().sum_out(name))

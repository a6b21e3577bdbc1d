"""Empirical Bayes and objective priors: learned from data, or chosen by a rule.

An empirical prior makes the data most probable. An objective prior follows from the likelihood
alone: that of Jeffreys is the root of the Fisher information, and says the same in whatever
units the parameter is written. Many of them have no integral; then the posterior has one only
if there are enough data, and without them it is refused [bernardo1994]_.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from credo.families.bernoulli import BernoulliStatistics, BetaBernoulli
from credo.families.categorical import CategoricalStatistics, DirichletCategorical
from credo.families.exponential import ExponentialStatistics, GammaExponential
from credo.families.normal import NormalInverseGamma, NormalStatistics
from credo.families.poisson import GammaPoisson, PoissonStatistics
from credo.inference.engine.problem import Parameters
from credo.numerics.array import Array
from credo.numerics.optimize.difference import finite_difference_gradient
from credo.numerics.optimize.minimum import Termination
from credo.numerics.optimize.quasi_newton import lbfgs
from credo.numerics.status import Status

__all__ = ["EmpiricalPrior", "ImproperPosterior", "ObjectivePrior", "empirical_prior"]

# A logarithm of a setting beyond which the search has run away: the best value is a limit.
FAR = 30.0


class ImproperPosterior(ValueError):
    """A prior without an integral met too few data to give a posterior one."""


@dataclass(frozen=True, eq=False)
class EmpiricalPrior:
    """The prior of a family under which data are most probable.

    Attributes
    ----------
    belief
        The prior.
    settings
        Its settings by name.
    log_evidence
        Log probability of the data under it; it has seen them, and is too high for comparing
        models.
    status
        Why the search ended.
    is_limit
        Whether the evidence keeps rising towards the border of a setting: a prior that is ever
        more certain, or ever less.
    """

    belief: Any
    settings: dict[str, Any]
    log_evidence: float
    status: Status
    is_limit: bool


def empirical_prior(
    make: Callable[..., Any],
    parameters: Parameters,
    statistics: Any,
    start: Mapping[str, ArrayLike] | None = None,
) -> EmpiricalPrior:
    """Return the prior ``argmax over a of log p(data | a)`` of any conjugate family.

    Parameters
    ----------
    make
        From settings by name to a belief with ``log_evidence``, such as the class itself.
    parameters
        Names and supports of the settings.
    statistics
        Of groups of rows that each have parameters of their own; their evidences multiply.
    start
        Settings to start from; those of free numbers zero by default.

    Examples
    --------
    >>> from credo.numerics.special.bijection import positive
    >>> heads = np.array([7.0, 3.0, 5.0, 9.0])
    >>> coins = BernoulliStatistics(heads, 10.0 - heads)
    >>> found = empirical_prior(
    ...     BetaBernoulli, Parameters({"a": positive(), "b": positive()}), coins
    ... )
    >>> round(float(found.belief.a / (found.belief.a + found.belief.b)), 2)
    0.6
    """
    first = np.zeros(parameters.n_free) if start is None else parameters.free(start)

    def cost(free: Array) -> float:
        belief = make(**parameters.constrain(free))
        found = -float(np.sum(belief.log_evidence(statistics)))
        return found if np.isfinite(found) else 1e300

    def slope(free: Array) -> Array:
        return finite_difference_gradient(cost, free)

    bounds = [(-FAR, FAR)] * parameters.n_free
    rules = Termination(max_steps=500, value_change=1e-14, gradient_norm=1e-7)
    minimum = lbfgs(cost, slope, np.clip(first, -FAR, FAR), bounds, rules)
    settings = parameters.constrain(minimum.x)
    # Where a step of one in free numbers changes nothing any more, the best value is a limit.
    near = [cost(np.clip(minimum.x + step, -FAR, FAR)) for step in _steps(len(first))]
    is_limit = bool(np.min(np.array(near) - minimum.value) <= 1e-4)
    return EmpiricalPrior(
        make(**settings), settings, -float(minimum.value), minimum.status, is_limit
    )


def _steps(d: int) -> Array:
    """Return steps along each free number, and along all of them with all signs if few."""
    signs = product((-1.0, 1.0), repeat=d) if d <= 6 else [np.ones(d), -np.ones(d)]
    return np.concatenate([np.eye(d), -np.eye(d), np.array(list(signs))])


@dataclass(frozen=True)
class ObjectivePrior:
    """A prior that follows from a rule and not from knowledge.

    Attributes
    ----------
    family
        "bernoulli", "categorical", "poisson", "exponential" or "normal" (mean and variance
        both unknown).
    rule
        "jeffreys"; "uniform", flat in the parameter; "haldane", for "bernoulli" alone, flat in
        the logit. For "normal" the prior of Jeffreys is the one for independent parameters,
        flat in the mean and in the log variance.

    Examples
    --------
    >>> prior = ObjectivePrior("bernoulli")
    >>> belief = prior.update(BernoulliStatistics.of([[1], [1], [0]]))
    >>> prior.is_proper, belief.mean().probability
    (True, array([0.625]))
    >>> ObjectivePrior("poisson").is_proper
    False
    """

    family: str
    rule: str = "jeffreys"

    def __post_init__(self) -> None:
        if (self.family, self.rule) not in RULES:
            known = ", ".join(f"{rule} of {family}" for family, rule in RULES)
            raise ValueError(
                f"an objective prior must be one of {known}; found {self.rule!r} of "
                f"{self.family!r}. Choose one of these, or write a belief."
            )

    @property
    def is_proper(self) -> bool:
        """Whether it is a distribution; else only a posterior after enough data is one."""
        return RULES[self.family, self.rule][0]

    def update(self, statistics: Any) -> Any:
        """Return the posterior, a belief of the conjugate family.

        Raises
        ------
        ImproperPosterior
            If the data leave it without an integral.
        """
        settings = RULES[self.family, self.rule][1](statistics)
        lacking = [
            name for name, x in settings.items() if name != "location" and np.any(x <= 0)
        ]
        if lacking:
            raise ImproperPosterior(
                f"data must be enough to make the {self.rule} prior of a {self.family} "
                f"distribution a posterior with an integral; found that its {lacking[0]} would "
                f"be {np.min(settings[lacking[0]]):.4g}. Give more data, or a proper prior."
            )
        return BELIEFS[self.family](**settings)


def _bernoulli(a: float) -> Callable[[BernoulliStatistics], dict[str, Array]]:
    return lambda s: {"a": a + s.successes, "b": a + s.failures}


def _categorical(a: float) -> Callable[[CategoricalStatistics], dict[str, Array]]:
    return lambda s: {"concentration": a + s.counts}


def _counted(shape: float) -> Callable[[PoissonStatistics], dict[str, Array]]:
    return lambda s: {"shape": shape + s.total, "rate": s.weight + 0.0}


def _waited(shape: float) -> Callable[[ExponentialStatistics], dict[str, Array]]:
    return lambda s: {"shape": shape + s.weight, "rate": s.total + 0.0}


def _normal(power: float) -> Callable[[NormalStatistics], dict[str, Array]]:
    """Return the update of a prior that is flat in the mean, and a power of the variance."""
    return lambda s: {
        "location": s.mean,
        "strength": s.weight + 0.0,
        "shape": 0.5 * s.weight + power,
        "rate": 0.5 * s.scatter,
    }


BELIEFS: Mapping[str, Any] = MappingProxyType(
    {
        "bernoulli": BetaBernoulli,
        "categorical": DirichletCategorical,
        "poisson": GammaPoisson,
        "exponential": GammaExponential,
        "normal": NormalInverseGamma,
    }
)

Rule = tuple[bool, Callable[[Any], dict[str, Array]]]

RULES: Mapping[tuple[str, str], Rule] = MappingProxyType(
    {
        ("bernoulli", "jeffreys"): (True, _bernoulli(0.5)),
        ("bernoulli", "uniform"): (True, _bernoulli(1.0)),
        ("bernoulli", "haldane"): (False, _bernoulli(0.0)),
        ("categorical", "jeffreys"): (True, _categorical(0.5)),
        ("categorical", "uniform"): (True, _categorical(1.0)),
        ("poisson", "jeffreys"): (False, _counted(0.5)),
        ("poisson", "uniform"): (False, _counted(1.0)),
        ("exponential", "jeffreys"): (False, _waited(0.0)),
        ("exponential", "uniform"): (False, _waited(1.0)),
        # Of the joint density N(mean | location, v / strength) IG(v | shape, rate) the power
        # of v is -(shape + 3/2), of likelihood times prior -(n/2 + 1) and -n/2.
        ("normal", "jeffreys"): (False, _normal(-0.5)),
        ("normal", "uniform"): (False, _normal(-1.5)),
    }
)

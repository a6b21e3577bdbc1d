"""Likelihood weighting: draw every node after its parents, and weigh by what is given.

A node that is given is not drawn: it keeps its value, and the draw is weighted by the
probability or density of that value [fung1990]_. Nodes may be of any kind that can be drawn
from and evaluated, discrete or real. With nothing given this is ancestral sampling, and all
weights are one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo import graphs
from credo.graphs.node.conditional import Conditional
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.variable import UnknownVariable, Variable, nearest
from credo.inference.engine.engine import Account, Inference, StandardError, WeightStep
from credo.inference.engine.weighted_draws import WeightedDraws, ZeroWeights
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.quotation import quote

__all__ = ["ConditionalProblem", "DrawnState", "LikelihoodWeighting", "ancestral_sample"]

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class ConditionalProblem:
    """The nodes of a Bayesian network, and what is known about some of them.

    Attributes
    ----------
    conditionals
        One conditional distribution per variable, in any order.
    given
        Known values by name: the position of a state, or a real number.
    likelihood
        Likelihood of each state of discrete variables that are known uncertainly, by name.
    keep
        Names of the variables whose draws are kept; None keeps all.
    """

    conditionals: Sequence[Conditional]
    given: Mapping[str, float] = field(default_factory=dict)
    likelihood: Mapping[str, Array] = field(default_factory=dict)
    keep: Sequence[str] | None = None

    def __post_init__(self) -> None:
        names = list(self._by_name)
        for name in (*self.given, *self.likelihood, *(self.keep or ())):
            if name not in self._by_name:
                raise UnknownVariable(
                    f"variable must be one of {names}; found {name!r}.{nearest(name, names)}"
                )
        for name, value in self.given.items():
            _check_value(self._by_name[name].child, value)

    @cached_property
    def ordered(self) -> tuple[Conditional, ...]:
        """The nodes, each after its parents."""
        parents = {name: [p.name for p in c.parents] for name, c in self._by_name.items()}
        return tuple(self._by_name[name] for name in DirectedGraph(parents).order())

    def draw(self, n: int, rng: Generator) -> WeightedDraws:
        """Return ``n`` draws with their weights.

        Examples
        --------
        >>> from credo.graphs.node.conditional_table import ConditionalTable
        >>> rain, wet = Variable("rain", (False, True)), Variable("wet", (False, True))
        >>> nodes = [ConditionalTable(rain, [], [0.8, 0.2]),
        ...          ConditionalTable(wet, [rain], [[0.9, 0.1], [0.2, 0.8]])]
        >>> problem = ConditionalProblem(nodes, given={"wet": 1})
        >>> draws = problem.draw(20_000, np.random.default_rng(0))
        >>> draws.probability("rain", 2).round(2)  # 0.16 / 0.24 for rain
        array([0.33, 0.67])
        """
        columns: Columns = {}
        log_weight = np.zeros(n)
        with np.errstate(divide="ignore"):
            for node in self.ordered:
                name = node.child.name
                if name in self.given:
                    columns[name] = _constant(node.child, self.given[name], n)
                    log_weight += node.log_prob(columns)
                else:
                    columns[name] = node.sample(columns, n, rng)
                if name in self.likelihood:
                    log_weight += np.log(self.likelihood[name])[columns[name]]
        kept = columns if self.keep is None else {name: columns[name] for name in self.keep}
        return WeightedDraws(kept, log_weight)

    @cached_property
    def _by_name(self) -> dict[str, Conditional]:
        return {node.child.name: node for node in self.conditionals}


@dataclass(frozen=True, eq=False)
class DrawnState:
    """Blocks of draws so far."""

    blocks: tuple[WeightedDraws, ...]

    @property
    def effective_draws(self) -> float:
        """Equally weighted draws that all blocks together would be worth."""
        log_weight = [block.log_weight for block in self.blocks]
        return WeightedDraws({}, np.concatenate([*log_weight])).effective_draws


@dataclass(frozen=True)
class LikelihoodWeighting:
    """Draw blocks until no probability can have a standard error above the tolerance.

    That bound is ``0.5 / sqrt(effective draws)``, reached by a probability of one half.

    Attributes
    ----------
    n_draws
        Most draws in all.
    block_size
        Draws per step.
    tolerance
        Standard error at which enough has been drawn.
    """

    n_draws: int = 200_000
    block_size: int = 10_000
    tolerance: float = 0.005

    name = "likelihood_weighting"
    title = "likelihood weighting"
    answers = ("marginals", "total", "mode")
    problem = ConditionalProblem
    is_random: ClassVar[bool] = True

    @property
    def stop(self) -> StandardError:
        """The standard error is small enough, or all draws are taken."""
        return StandardError(self.tolerance, self.n_draws)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return values for laws to check; names of methods stand for the first."""
        rain, _, wet = (node for node in graphs.ConditionalTable.examples())
        problem = ConditionalProblem([rain, wet], given={"wet": 2})
        return (Example(cls(), problem=problem),)

    def init(self, problem: ConditionalProblem, rng: Generator) -> DrawnState:
        """Return no draws."""
        return DrawnState(())

    def step(
        self, problem: ConditionalProblem, state: DrawnState, rng: Generator
    ) -> tuple[DrawnState, WeightStep]:
        """Draw one more block; report its share of the log evidence and the bound."""
        block = problem.draw(self.block_size, rng)
        after = DrawnState((*state.blocks, block))
        effective = after.effective_draws
        n_draws = sum(part.n_draws for part in after.blocks)
        return after, WeightStep(block.log_evidence, _bound(effective), n_draws, effective)

    def joined(self, problem: ConditionalProblem, states: Sequence[DrawnState]) -> DrawnState:
        """Return the blocks of several chains together."""
        return DrawnState(tuple(block for state in states for block in state.blocks))

    def posterior(self, problem: ConditionalProblem, state: DrawnState) -> Inference:
        """Return all draws, and the log probability of what is given.

        Raises
        ------
        ZeroWeights
            If no draw agrees with what is given.
        """
        draws = WeightedDraws.pooled(state.blocks)
        if not draws.effective_draws:
            raise ZeroWeights(draws.n_draws)
        worth = draws.effective_draws
        account = Account(self.title, False, _bound(worth), "largest standard error", worth)
        return Inference(draws, draws.log_evidence, "importance", account=account)


def _bound(effective: float) -> float:
    """Return the largest standard error that a probability can have."""
    return float(0.5 / np.sqrt(effective)) if effective else float("inf")


def ancestral_sample(conditionals: Sequence[Conditional], n: int, rng: Generator) -> Columns:
    """Return ``n`` joint draws of a network, every node drawn after its parents.

    Examples
    --------
    >>> from credo.graphs.node.conditional_table import ConditionalTable
    >>> coin = Variable("coin", ("heads", "tails"))
    >>> node = ConditionalTable(coin, [], [0.0, 1.0])
    >>> ancestral_sample([node], 3, np.random.default_rng(0))["coin"]
    array([1, 1, 1])
    """
    return dict(ConditionalProblem(conditionals).draw(n, rng).columns)


def _constant(variable: Variable, value: float, n: int) -> NDArray[Any]:
    return np.full(n, value, dtype=np.intp if variable.is_discrete else np.float64)


def _check_value(variable: Variable, value: float) -> None:
    if variable.is_discrete:
        if value not in range(variable.n_states):
            raise ValueError(
                f"given {variable.name} must be a position from 0 to {variable.n_states - 1}; "
                f"found {quote(value)}. Look the state up with Variable.index."
            )
    elif not np.isfinite(value):
        raise ValueError(
            f"given {variable.name} must be a finite number; found {quote(value)}. Leave it "
            "out if it is not known."
        )

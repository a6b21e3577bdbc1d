"""The most probable state of binary variables that prefer to agree, exactly, by a minimum cut.

A table over two binary variables is submodular if
``table(0, 0) table(1, 1) >= table(0, 1) table(1, 0)``: agreeing is favored. If all are, minus
the log density is the cost of a cut between the variables in state 1, on the side of the
source, and those in state 0 [greig1989]_ [kolmogorov2004]_.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.approximate.flat_problem import NoPossibleState
from credo.inference.discrete.factor_problem import (
    Assignment,
    FactorProblem,
    Table,
    table_of,
)
from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.inference.engine.error import NotSubmodular
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.graph.max_flow import minimum_cut

__all__ = ["GraphCut", "graph_cut"]

# Logs of tables whose entries favor neither agree only to rounding.
_ROUNDING = 1e-9


def graph_cut(problem: FactorProblem) -> Assignment:
    """Return a most probable joint state of binary variables with submodular tables.

    Raises
    ------
    NotSubmodular
        If a variable has more than two states, a table has more than two free variables, or
        it favors that two variables differ.
    NoPossibleState
        If every joint state has density zero.

    Examples
    --------
    >>> from credo.inference.discrete.factor_problem import table_of
    >>> agree = table_of((0, 1), np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> lean = table_of((0,), np.array([0.3, 0.7]))
    >>> graph_cut(FactorProblem((2, 2), (agree, lean))).states.tolist()
    [1, 1]
    """
    _check_binary(problem)
    cost = np.zeros((len(problem.n_states), 2))
    # A variable with one state left is in state 0, whatever that once was.
    cost[np.asarray(problem.n_states) == 1, 1] = np.inf
    pairs: list[_Pair] = []
    for scope, energy in _energies(problem):
        if len(scope) == 1:
            cost[scope[0]] += energy
        elif len(scope) == 2:
            pairs.append(_split(scope, energy, cost))
    states = _states(cost, pairs)
    log_density = float(problem.log_density(states[None])[0])
    if log_density == -np.inf:
        raise NoPossibleState
    return Assignment(states, log_density)


@dataclass(frozen=True)
class GraphCut:
    """The minimum cut as an engine: it ends with its first step."""

    name = "max_flow"
    title = "max-flow"
    answers = ("mode",)
    is_random: ClassVar[bool] = False

    @property
    def stop(self) -> Settled:
        """One step, which changes nothing."""
        return Settled(0.0, 1)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return values for laws to check; names of methods stand for the first."""
        agree = table_of((0, 1), np.array([[0.9, 0.1], [0.2, 0.8]]))
        problem = FactorProblem((2, 2), (agree, table_of((0,), np.array([0.3, 0.7]))))
        return (Example(cls(), problem=problem),)

    def init(self, problem: FactorProblem, rng: Generator) -> Assignment:
        """Return the most probable joint state."""
        return graph_cut(problem)

    def step(
        self, problem: FactorProblem, state: Assignment, rng: Generator
    ) -> tuple[Assignment, Move]:
        """Return the same state, which nothing improves."""
        return state, Move(state.log_density, 0.0)

    def posterior(self, problem: FactorProblem, state: Assignment) -> Inference:
        """Return the most probable joint state."""
        return Inference(state, account=Account(self.title))


@dataclass(frozen=True)
class _Pair:
    """Costs of two variables for being (1, 0) and for being (0, 1)."""

    scope: tuple[int, int]
    ahead: float
    back: float


def _check_binary(problem: FactorProblem) -> None:
    for variable, n in enumerate(problem.n_states):
        if n > 2:
            raise NotSubmodular(
                f"variables must be binary for max-flow; found {n} states of variable "
                f"{variable}. Use an exact plan or iterated conditional modes."
            )


def _energies(problem: FactorProblem) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Yield free variables and minus the logs of each table."""
    for table in problem.tables:
        free = tuple(i for i in table.scope if problem.n_states[i] == 2)
        if len(free) > 2:
            raise NotSubmodular(
                "tables must have at most two free variables for max-flow; found "
                f"{len(free)}: {list(free)}. Use an exact plan, or give states to some."
            )
        yield free, _energy(table)


def _energy(table: Table) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(np.squeeze(table.values)))


def _split(scope: tuple[int, ...], energy: Array, cost: Array) -> _Pair:
    """Move what belongs to single variables into ``cost``; return what is left of a pair."""
    i, j = scope
    for variable, rows in ((i, energy), (j, energy.T)):
        # A state that is impossible whatever the other variable is costs by itself.
        for state in (0, 1):
            if np.all(np.isinf(rows[state])):
                cost[variable, state] = np.inf
                rows[state] = 0.0 if np.all(np.isinf(rows[1 - state])) else rows[1 - state]
    (a, b), (c, d) = energy
    favored = _excess(a, b, c, d, scope)
    if np.isinf(c):
        cost[j, 1] += 0.0 if np.isinf(b) else b - a
        cost[i, 1] += d - (a if np.isinf(b) else b)
        return _Pair((i, j), np.inf, np.inf if np.isinf(b) else 0.0)
    cost[i, 1] += c - a
    cost[j, 1] += d - c
    return _Pair((i, j), 0.0, favored)


def _excess(a: float, b: float, c: float, d: float, scope: tuple[int, ...]) -> float:
    """Return how much two differing variables cost more than two that agree."""
    if np.isinf(b + c) and not np.isinf(a + d):
        return float("inf")
    excess = -np.inf if np.isinf(a + d) else b + c - a - d
    scale = 0.0 if np.isinf(a + d) else max(abs(a), abs(b), abs(c), abs(d), 1.0)
    if excess < -_ROUNDING * scale:
        raise NotSubmodular(
            "every table of two variables must favor that they agree, table(0, 0) table(1, 1) "
            f">= table(0, 1) table(1, 0), for max-flow; found one of {list(scope)} that does "
            "not. Swap the states of one of the two, or use an exact plan."
        )
    return max(float(excess), 0.0)


def _states(cost: Array, pairs: list[_Pair]) -> NDArray[np.intp]:
    """Return the cheapest states, those on the side of the source being 1."""
    both = np.isinf(cost).all(axis=1)
    extra = cost - np.where(both, 0.0, cost.min(axis=1))[:, None]
    edges = np.array([pair.scope for pair in pairs], dtype=np.intp).reshape(-1, 2)
    ahead = np.array([pair.ahead for pair in pairs], dtype=np.float64)
    back = np.array([pair.back for pair in pairs], dtype=np.float64)
    cut = minimum_cut(extra[:, 0], extra[:, 1], edges, ahead, back)
    return cut.is_source_side.astype(np.intp)

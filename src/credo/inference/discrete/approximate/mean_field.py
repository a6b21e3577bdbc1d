"""Mean field for networks: the best approximation with all variables independent.

Coordinate ascent on the bound ``sum_t E[log table_t] + sum_i H(q_i) <= log Z``: each ``q_i`` in
turn becomes proportional to ``exp(E[log density | x_i])``, the expectation over the others
[jordan1999]_. The bound never falls.

Where tables have zeros the bound is minus infinity unless the product of all ``q`` keeps clear
of them, and a uniform start does not. So a start is a single joint state of positive density,
whose bound is its log density; each update then widens as far as the others allow, and never
onto a zero. What is found depends on the start, so there are several, and the best bound wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator

from credo.inference.discrete.approximate.flat_problem import FlatProblem
from credo.inference.discrete.factor_problem import FactorProblem, TableMarginals
from credo.inference.discrete.loops.messages import beliefs
from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.inference.engine.sweep import MeanFieldState, require_damping
from credo.numerics.array import Array

__all__ = ["TableMeanField"]

LIKELY = 1e-4
"""States that messages give more than this may well be possible."""


@dataclass(frozen=True)
class TableMeanField:
    """Improve the marginals one by one until none moves by more than the tolerance.

    Attributes
    ----------
    n_starts
        Starts: the uniform one and random ones, or where there are zeros random joint states of
        positive density.
    tolerance
        Largest change of a marginal at which they have settled.
    max_steps
        Sweeps after which it gives up.
    damping
        Share of the old marginal that stays in each update, from 0 to below 1.

    Examples
    --------
    >>> from credo.inference.engine.engine import run
    >>> from credo.inference.discrete.factor_problem import table_of
    >>> pair = FactorProblem((2, 2), (table_of((0, 1), np.array([[0.4, 0.2], [0.3, 0.1]])),))
    >>> found = run(TableMeanField(), pair, np.random.default_rng(0))
    >>> found.evidence_method, -0.01 < found.log_evidence < 0.0
    ('bound', True)
    """

    n_starts: int = 4
    tolerance: float = 1e-8
    max_steps: int = 1000
    damping: float = 0.0

    name = "mean_field"
    title = "mean field"
    answers = ("marginals", "bound")
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_damping(self.damping)

    @property
    def stop(self) -> Settled:
        """Marginals have settled, or there were too many sweeps."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return values for laws to check; names of methods stand for the first."""
        return (cls(),)

    def init(self, problem: FactorProblem, rng: Generator) -> MeanFieldState:
        """Return the starts."""
        flat = FlatProblem.of(problem)
        starts = _points if flat.net.has_zeros else _spread
        return MeanFieldState.start(flat, starts(flat, self.n_starts, rng))

    def step(
        self, problem: FactorProblem, state: MeanFieldState, rng: Generator
    ) -> tuple[MeanFieldState, Move]:
        """Update every marginal of every start once."""
        return state.moved(FlatProblem.of(problem), self.damping)

    def joined(
        self, problem: FactorProblem, states: Sequence[MeanFieldState]
    ) -> MeanFieldState:
        """Return the starts of several chains together."""
        return MeanFieldState.joined(states)

    def caution(self, problem: FactorProblem, found: TableMarginals) -> str:
        """Return what marginals may wrongly exclude, in a sentence; nothing without zeros."""
        flat = FlatProblem.of(problem)
        if not flat.net.has_zeros:
            return ""
        may_be = flat.per_variable(beliefs(flat.net, flat.messages()))
        pairs = zip(found.probability, may_be, strict=True)
        n_excluded = sum(int(np.sum((q == 0) & (b > LIKELY))) for q, b in pairs)
        if not n_excluded:
            return ""
        return (
            "mean field on tables with zeros keeps to one part of the possible joint states; "
            f"found {n_excluded} single state{'s' * (n_excluded > 1)} of variables with "
            "probability 0 that may well be possible. Do not rely on it: use an exact method "
            "or importance sampling."
        )

    def posterior(self, problem: FactorProblem, state: MeanFieldState) -> Inference:
        """Return the marginals of the start with the best bound, and that bound."""
        moments, bound = state.best
        marginals = FlatProblem.of(problem).per_variable(moments)
        account = Account(self.title, False, state.change, "largest change of a marginal")
        return Inference(TableMarginals(marginals), bound, "bound", account=account)


def _spread(flat: FlatProblem, n_starts: int, rng: Generator) -> Array:
    """Return the uniform start and random ones around it."""
    net = flat.net
    weight = rng.standard_exponential((n_starts, flat.n_moments))
    weight[0] = 1.0
    total = np.add.reduceat(weight, net.state_start[:-1], axis=1)
    return np.asarray(weight / np.repeat(total, net.n_states, axis=1))


def _points(flat: FlatProblem, n_starts: int, rng: Generator) -> Array:
    """Return starts that are each certain of one joint state."""
    states = flat.starts(n_starts, rng)
    probability = np.zeros((n_starts, flat.n_moments))
    np.put_along_axis(probability, states + flat.net.state_start[:-1], 1.0, axis=1)
    return probability

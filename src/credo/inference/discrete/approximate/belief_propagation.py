"""Loopy belief propagation: messages between tables and variables until they settle.

A table tells each of its variables

    ``m(x_i) = sum over the other x of  table(x) * prod_j m'(x_j)``,

where ``m'`` is the product of what the other variables hear elsewhere; the maximum in place of
the sum gives modes. On a forest the answer is exact after one sweep from the leaves and back
[pearl1988]_; with loops it is a stationary point of the Bethe free energy [yedidia2005]_.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.approximate.flat_problem import FlatProblem, NoPossibleState
from credo.inference.discrete.factor_problem import Assignment, FactorProblem, TableMarginals
from credo.inference.discrete.loops.flat_tables import log_densities
from credo.inference.discrete.loops.messages import (
    beliefs,
    bethe_log_partition,
    decoded_states,
    empty_messages,
    sweep,
)
from credo.inference.engine.engine import Account, Inference, Move, Settled
from credo.numerics.array import Array
from credo.numerics.form import Form

__all__ = ["LoopyBeliefPropagation", "MessageState"]


@dataclass(frozen=True, eq=False)
class MessageState:
    """Messages, and by how much they changed last.

    Attributes
    ----------
    log_message
        Log messages from tables to variables, the largest entry of each zero.
    change
        Largest change of an entry in the last step.
    """

    log_message: Annotated[Array, Form("m", -np.inf)]
    change: float = float("inf")


@dataclass(frozen=True)
class LoopyBeliefPropagation:
    """Send messages until the largest change of a log message is within the tolerance.

    Attributes
    ----------
    semiring
        "sum" for marginals and the Bethe log partition, "max" for a mode.
    damping
        Share of the old message, in logs, that is kept: from 0 to below 1. It helps where
        messages circle; a forest needs none and gets none.
    tolerance
        Largest change of a log message at which they have settled.
    max_steps
        Steps, each over all tables backward and forward, after which it gives up.

    Examples
    --------
    >>> from credo.inference.engine.engine import run
    >>> from credo.inference.discrete.factor_problem import table_of
    >>> chain = FactorProblem((2, 2), (
    ...     table_of((0,), np.array([0.4, 0.6])),
    ...     table_of((0, 1), np.array([[0.9, 0.1], [0.2, 0.8]]))))
    >>> found = run(LoopyBeliefPropagation(), chain)
    >>> found.posterior.probability[1].round(4), found.evidence_method
    (array([0.48, 0.52]), 'exact')
    """

    semiring: Literal["sum", "max"] = "sum"
    damping: float = 0.3
    tolerance: float = 1e-8
    max_steps: int = 500

    name = "belief_propagation"
    is_random: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.semiring not in ("sum", "max"):
            raise ValueError(
                f"semiring must be 'sum' or 'max'; found {self.semiring!r}. Use 'sum' for "
                "marginals, 'max' for a mode."
            )
        if not 0 <= self.damping < 1:
            raise ValueError(
                f"damping must be from 0 to below 1; found {self.damping}. At 1 messages "
                "would never move."
            )

    @property
    def stop(self) -> Settled:
        """Messages have settled, or were sent too often."""
        return Settled(self.tolerance, self.max_steps)

    @property
    def title(self) -> str:
        """What the method is called."""
        return f"{'max-product' if self.semiring == 'max' else 'loopy'} belief propagation"

    @property
    def answers(self) -> tuple[str, ...]:
        """Questions that it can be asked."""
        return ("mode",) if self.semiring == "max" else ("marginals", "total")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return values for laws to check; names of methods stand for the first."""
        return (cls(), cls("max"))

    def init(self, problem: FactorProblem, rng: Generator) -> MessageState:
        """Return messages that say nothing."""
        return MessageState(empty_messages(FlatProblem.of(problem).net))

    def step(
        self, problem: FactorProblem, state: MessageState, rng: Generator
    ) -> tuple[MessageState, Move]:
        """Visit all tables backward and forward.

        Raises
        ------
        NoPossibleState
            If messages leave no state to some variable, which proves that there is none.
        """
        flat = FlatProblem.of(problem)
        damping = 0.0 if flat.order.is_forest else self.damping
        message, change = sweep(
            flat.net, flat.order, state.log_message, self.semiring == "max", damping
        )
        if np.isnan(change):
            raise NoPossibleState
        after = MessageState(message, change)
        return after, Move(self._objective(flat, after), change)

    def posterior(self, problem: FactorProblem, state: MessageState) -> Inference:
        """Return marginals and the Bethe log partition, or a mode of positive density."""
        flat = FlatProblem.of(problem)
        if self.semiring == "max":
            states = _best_reading(flat, state)
            density = log_densities(flat.net, states[None])[0] + flat.log_scale
            account = Account(self.title, False, float("nan"), "unknown")
            return Inference(Assignment(states, float(density)), account=account)
        marginals = flat.per_variable(beliefs(flat.net, state.log_message))
        log_partition = bethe_log_partition(flat.net, state.log_message) + flat.log_scale
        if flat.order.is_forest and state.change <= self.tolerance:
            account = Account(self.title)
            return Inference(TableMarginals(marginals), log_partition, "exact", account=account)
        account = Account(self.title, False, state.change, "largest change of a message")
        return Inference(TableMarginals(marginals), log_partition, "bethe", account=account)

    def _objective(self, flat: FlatProblem, state: MessageState) -> float:
        """Return the Bethe log partition, or the log density of the state read off."""
        if self.semiring == "sum":
            return bethe_log_partition(flat.net, state.log_message) + flat.log_scale
        states = decoded_states(flat.net, flat.order, state.log_message)
        return float(log_densities(flat.net, states[None])[0]) + flat.log_scale


def _best_reading(flat: FlatProblem, state: MessageState) -> NDArray[np.intp]:
    """Return the denser of two readings: table by table, and each variable by itself.

    The first is the mode on a forest even where there are ties. With loops both may be
    impossible; then any possible state is better.
    """
    joint = decoded_states(flat.net, flat.order, state.log_message)
    each = flat.per_variable(beliefs(flat.net, state.log_message))
    single = np.array([int(p.argmax()) for p in each], dtype=np.intp)
    both = np.stack([joint, single])
    density = log_densities(flat.net, both)
    if np.isneginf(density).all():
        return np.asarray(flat.starts(1, np.random.default_rng(0))[0])
    return np.asarray(both[int(density.argmax())])

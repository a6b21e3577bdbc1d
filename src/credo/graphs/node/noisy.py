"""Noisy-OR and noisy-MAX: causes that act independently, the strongest of which shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.distributions.categorical import random_index
from credo.graphs.factor import Factor
from credo.graphs.node.auxiliary_variable import auxiliary_name, require_storable
from credo.graphs.node.conditional import Values
from credo.graphs.node.conditional_spec import bind_table, states_of
from credo.graphs.node.parent_state import node_array
from credo.graphs.node.positive_state import present_position
from credo.graphs.node.table_spec import require_discrete
from credo.graphs.variable import Variable, nearest
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.quotation import quote

__all__ = ["LargestEffect", "NoisyMax", "NoisyOr"]


@dataclass(frozen=True, eq=False)
class LargestEffect:
    """``P(child | parents)`` where the child is the largest of independent effects.

    Every parent causes an effect at random, its distribution depending on the state of that
    parent only; the leak is an effect without a cause. The child is the highest effect
    [diez1993]_. Size and cost are linear in the number of parents.

    Attributes
    ----------
    child, parents
        Variables.
    effects
        One table per parent, shape (states of the parent, states of the child).
    leak
        Distribution of the effect that has no cause, shape (states of the child,).
    is_descending
        Whether the child's states are listed from the highest to the lowest.
    """

    child: Variable
    parents: tuple[Variable, ...]
    effects: tuple[Array, ...]
    leak: Array
    is_descending: bool = False

    kind = "noisy"

    def __post_init__(self) -> None:
        require_discrete(self.child, self.parents)
        if len(self.effects) != len(self.parents):
            raise ValueError(
                f"effects of {self.child.name} must have {len(self.parents)} parts, one per "
                f"parent; found {len(self.effects)}. Give every parent a table."
            )
        for parent, effect in zip(self.parents, self.effects, strict=True):
            name, shape = f"effect of {parent.name}", (parent.n_states, self.child.n_states)
            node_array(self.child, name, effect, shape)
        node_array(self.child, "leak", self.leak, (self.child.n_states,))

    @property
    def n_parameters(self) -> int:
        """Number of free parameters; an effect that is certainly the lowest has none."""
        lowest = -1 if self.is_descending else 0
        rows = np.vstack([self.leak, *self.effects])
        return int((rows[:, lowest] < 1.0).sum()) * (self.child.n_states - 1)

    def log_prob(self, values: Values) -> Array:
        """Return the log probability of the child's positions given its parents' positions."""
        child = np.asarray(values[self.child.name])
        shares = self._distribution(values, len(child))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(shares[np.arange(len(child)), child]))

    def sample(self, values: Values, n: int, rng: Generator) -> NDArray[np.intp]:
        """Return ``n`` random positions of the child given those of its parents."""
        return random_index(rng, self._distribution(values, n), (n,))

    def table(self) -> Factor:
        """Return the whole table, axes parents then child; exponential in the parents."""
        scope = (*self.parents, self.child)
        require_storable(scope)
        shares = self.leak
        for effect in self.effects:
            shares = self._larger(shares[..., None, :], effect)
        return Factor(scope, shares)

    def factors(self) -> tuple[Factor, ...]:
        """Return a chain of small factors through the running maximum of the effects.

        The first is over the first parent and the running maximum so far, each further one over
        the running maximum before and after one parent; the last running maximum is the child.
        """
        if len(self.parents) < 2:
            return (self.table(),)
        first = (self.parents[0], self._running(1))
        chain = [Factor(first, self._larger(self.leak, self.effects[0]))]
        certain = np.eye(self.child.n_states)[:, None, :]
        for i in range(1, len(self.parents)):
            scope = (self._running(i), self.parents[i], self._running(i + 1))
            chain.append(Factor(scope, self._larger(certain, self.effects[i])))
        return tuple(chain)

    def _running(self, i: int) -> Variable:
        if i == len(self.parents):
            return self.child
        return Variable(auxiliary_name(self.child, i), self.child.labels)

    def _distribution(self, values: Values, n: int) -> Array:
        shares = np.tile(self.leak, (n, 1))
        for parent, effect in zip(self.parents, self.effects, strict=True):
            shares = self._larger(shares, effect[np.asarray(values[parent.name])])
        return shares

    def _larger(self, left: Array, right: Array) -> Array:
        """Return the distribution of the higher of two independent effects."""
        step = -1 if self.is_descending else 1
        left, right = left[..., ::step], right[..., ::step]
        # Only sums of positive terms: differences of cumulative products would cancel.
        below = np.zeros_like(left)
        np.cumsum(left[..., :-1], axis=-1, out=below[..., 1:])
        return np.asarray(left * np.cumsum(right, axis=-1) + below * right)[..., ::step]


@dataclass(frozen=True)
class NoisyOr:
    """A node that any of its parents can switch on, each by chance and on its own.

    ``P(child absent | parents) = (1 - leak) * prod_{present i} (1 - probability_i)``.

    Attributes
    ----------
    probability
        Chance of each parent, by name, to switch the child on when it alone is present.
    leak
        Chance of the child when no parent is present.
    present
        State that means presence, by name, where the two states do not say it themselves.

    Examples
    --------
    >>> cold, flu, fever = (Variable(name, (False, True)) for name in ("cold", "flu", "fever"))
    >>> node = NoisyOr({"cold": 0.4, "flu": 0.8}).bind(fever, [cold, flu])
    >>> node.table().table()[1, 1].round(2).tolist()
    [0.12, 0.88]
    """

    probability: Mapping[str, float]
    leak: float = 0.0
    present: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        cold, flu = (Variable(name, (False, True)) for name in ("cold", "flu"))
        fever = Variable("fever", ("yes", "no"))
        spec = cls({"cold": 0.4, "flu": 0.8}, leak=0.1)
        return (Example(spec, child=fever, parents=(cold, flu)),)

    def __post_init__(self) -> None:
        for name, chance in {**self.probability, "leak": self.leak}.items():
            if not 0.0 <= chance <= 1.0:
                raise ValueError(
                    f"probability of {name} in NoisyOr must be between 0 and 1; found "
                    f"{chance}. Pass the chance that it alone switches the node on."
                )

    def child_states(self, parents: Sequence[Variable] = ()) -> tuple[Any, ...]:
        """Return the states proposed for the child."""
        return (False, True)

    def bind(self, child: Variable, parents: Sequence[Variable]) -> LargestEffect:
        """Return the distribution of this child given these parents."""
        _require_same_names("NoisyOr", child, parents, self.probability)
        top = present_position(child, self.present)
        effects = []
        for parent in parents:
            effect = np.tile(_switch(0.0, top), (2, 1))
            shown = present_position(parent, self.present)
            effect[shown] = _switch(self.probability[parent.name], top)
            effects.append(effect)
        leak = _switch(self.leak, top)
        return LargestEffect(child, tuple(parents), tuple(effects), leak, top == 0)


@dataclass(frozen=True)
class NoisyMax:
    """A node with ordered states that shows the highest of the effects of its parents.

    ``P(child <= k | parents) = leak(<= k) * prod_i effect_i(<= k | parent_i)``.

    Attributes
    ----------
    effects
        By name of parent, the distribution of its effect in each of its states: anything that
        a table of the child given this parent alone can be written as.
    leak
        Distribution of the effect without a cause; None if there is none.
    is_descending
        Whether the child's states are listed from the highest to the lowest.

    Examples
    --------
    >>> flu, pain = Variable("flu", (False, True)), Variable("pain", ("none", "some", "much"))
    >>> spec = NoisyMax({"flu": [[1, 0, 0], [0.2, 0.5, 0.3]]}, leak=[0.9, 0.1, 0])
    >>> spec.bind(pain, [flu]).table().table().round(3).tolist()
    [[0.9, 0.1, 0.0], [0.18, 0.52, 0.3]]
    """

    effects: Mapping[str, Any]
    leak: Any = None
    is_descending: bool = False

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        cold, flu = (Variable(name, (False, True)) for name in ("cold", "flu"))
        pain = Variable("pain", ("none", "some", "much"))
        mild, strong = [[1, 0, 0], [0.5, 0.4, 0.1]], [[0.9, 0.1, 0], [0.2, 0.5, 0.3]]
        spec = cls({"cold": mild, "flu": strong}, leak=[0.9, 0.1, 0])
        return (Example(spec, child=pain, parents=(cold, flu)),)

    def child_states(self, parents: Sequence[Variable] = ()) -> tuple[Any, ...] | None:
        """Return the states proposed for the child."""
        specs = [self.leak, *self.effects.values()]
        proposals = [states_of(spec) for spec in specs if spec is not None]
        return next((states for states in proposals if states is not None), None)

    def bind(self, child: Variable, parents: Sequence[Variable]) -> LargestEffect:
        """Return the distribution of this child given these parents."""
        _require_same_names("NoisyMax", child, parents, self.effects)
        effects = [bind_table(self.effects[p.name], child, [p]).probability for p in parents]
        lowest = np.zeros(child.n_states)
        lowest[-1 if self.is_descending else 0] = 1.0
        leak = lowest if self.leak is None else bind_table(self.leak, child, []).probability
        return LargestEffect(child, tuple(parents), tuple(effects), leak, self.is_descending)


def _switch(chance: float, top: int) -> Array:
    return np.array([1.0 - chance, chance] if top == 1 else [chance, 1.0 - chance])


def _require_same_names(
    kind: str, child: Variable, parents: Sequence[Variable], written: Mapping[str, Any]
) -> None:
    require_discrete(child, parents)
    names = [parent.name for parent in parents]
    odd = [n for n in written if n not in names] or [n for n in names if n not in written]
    if odd:
        raise ValueError(
            f"{kind} of {child.name} must name each of its parents {quote(names)}; found "
            f"{quote(list(written))}.{nearest(odd[0], names)}"
        )

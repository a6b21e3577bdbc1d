"""A count that grows with the number of present parents: a skeleton for a new kind of node.

Copy it to ``src/credo/graphs/node/<name>.py`` and export what people write, here `Additive`, by
a line in the stub of the room. The node is a frozen dataclass whose first fields are ``child``
and ``parents``: network files hold its other fields under its ``kind``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from credo.distributions.poisson import Poisson
from credo.graphs.node.conditional import Values
from credo.graphs.node.parent_state import node_array
from credo.graphs.variable import Variable
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example

__all__ = ["Additive", "AdditiveNode"]


@dataclass(frozen=True, eq=False)
class AdditiveNode:
    """``child ~ Poisson(base + sum of rates of parents in their second state)``."""

    child: Variable
    parents: tuple[Variable, ...]
    base: Array
    rates: Array

    kind = "additive"

    def __post_init__(self) -> None:
        for name, shape in (("base", ()), ("rates", (len(self.parents),))):
            array = node_array(self.child, name, getattr(self, name), shape)
            object.__setattr__(self, name, array)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return 1 + len(self.parents)

    def log_prob(self, values: Values) -> Array:
        """Return the log probability of the child's column given its parents'."""
        return self._given(values).log_prob(values[self.child.name])

    def sample(self, values: Values, n: int, rng: Generator) -> Array:
        """Return a column of ``n`` draws of the child given the columns of its parents."""
        made = self._given(values)
        drawn = made.sample(rng) if made.batch_shape == (n,) else made.sample(rng, n)
        return as_float(drawn).reshape(n)

    def _given(self, values: Values) -> Poisson:
        terms = zip(self.parents, self.rates, strict=True)
        return Poisson(sum((rate * as_float(values[p.name]) for p, rate in terms), self.base))


@dataclass(frozen=True)
class Additive:
    """What people write: a base rate, and what each parent adds to it.

    Examples
    --------
    >>> flu = Variable("flu", (False, True))
    >>> node = Additive(1.0, {"flu": 2.0}).bind(Variable("visits"), (flu,))
    >>> node.log_prob({"flu": np.array([0, 1]), "visits": np.array([0.0, 0.0])})
    array([-1., -3.])
    """

    base: float
    rates: Mapping[str, float]

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        flu, cold = (Variable(name, (False, True)) for name in ("flu", "cold"))
        spec = cls(0.5, {"flu": 2.0, "cold": 1.0})
        return (Example(spec, child=Variable("visits"), parents=(flu, cold)),)

    def child_states(self, parents: Sequence[Variable] = ()) -> tuple[Any, ...] | None:
        """Return None: counts are numbers, not states."""
        return None

    def bind(self, child: Variable, parents: Sequence[Variable]) -> AdditiveNode:
        """Return the distribution of this child given these parents."""
        rates = np.array([self.rates[parent.name] for parent in parents])
        return AdditiveNode(child, tuple(parents), as_float(self.base), rates)

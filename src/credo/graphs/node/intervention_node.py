"""A node that was set from outside, cut off from its causes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from credo.graphs.node.conditional import Values
from credo.graphs.variable import Variable
from credo.numerics.array import Array

__all__ = ["SetNode"]


@dataclass(frozen=True)
class SetNode:
    """A variable without parents whose value is an intervention, and so tells nothing.

    Examples
    --------
    >>> SetNode(Variable("dose")).log_prob({"dose": np.array([1.0, 5.0])})
    array([0., 0.])
    """

    child: Variable
    parents: tuple[Variable, ...] = ()
    n_parameters: int = 0

    def log_prob(self, values: Values) -> Array:
        """Return zeros: whoever sets a variable does not observe it."""
        return np.zeros(len(values[self.child.name]))

    def sample(self, values: Values, n: int, rng: Generator) -> Array:
        """Refuse, since the value comes from outside."""
        raise ValueError(
            f"{self.child.name} must be set to be cut off from its causes; found no value. "
            "Pass it in do."
        )

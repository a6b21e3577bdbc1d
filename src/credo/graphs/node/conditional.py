"""What a node of a Bayesian network is: a distribution of one variable given its parents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.graphs.factor import Factor
from credo.graphs.variable import Variable
from credo.numerics.array import Array

__all__ = ["Conditional", "DiscreteConditional", "Values"]

Values = Mapping[str, NDArray[Any]]
"""Columns by variable name: positions of states (integers) or real values (floats)."""


@runtime_checkable
class Conditional(Protocol):
    """``P(child | parents)``; every kind can be evaluated and drawn from."""

    @property
    def child(self) -> Variable:
        """The variable this is the distribution of."""
        ...

    @property
    def parents(self) -> tuple[Variable, ...]:
        """The variables it depends on, in order."""
        ...

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        ...

    def log_prob(self, values: Values) -> Array:
        """Return the log probability or density of the child's column given its parents'."""
        ...

    def sample(self, values: Values, n: int, rng: Generator) -> NDArray[np.intp] | Array:
        """Return a column of ``n`` draws of the child given the columns of its parents."""
        ...


@runtime_checkable
class DiscreteConditional(Conditional, Protocol):
    """A conditional distribution that is a table, stored whole or in a compact form."""

    def table(self) -> Factor:
        """Return the whole table, axes parents then child."""
        ...

    def factors(self) -> tuple[Factor, ...]:
        """Return factors whose product, summed over auxiliary variables, is the table.

        Auxiliary variables are named after the child with a suffix that no user writes.
        """
        ...

"""A node of any distribution, which sampling and weighting can use and exact algebra cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo import distributions
from credo.distributions.distribution import Distribution
from credo.graphs.node.conditional import Values
from credo.graphs.variable import Variable
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example

__all__ = ["BoundDistribution", "DistributionNode"]

Maker = Callable[..., Distribution]


@dataclass(frozen=True, eq=False)
class DistributionNode:
    """Any distribution of one number, fixed or a function of the parents.

    Attributes
    ----------
    distribution
        A distribution of `credo.distributions`; or a function that takes the columns of the
        parents by name (labels of discrete ones, numbers of real ones) and returns one
        distribution per row.
    states
        States of a discrete child, in the order of the outcomes 0, 1, ... of the
        distribution; None for a real-valued child, counts included.

    Examples
    --------
    >>> from credo.distributions import Gamma, Poisson
    >>> rate = DistributionNode(Gamma(2.0, 1.0))
    >>> cases = DistributionNode(lambda rate: Poisson(rate))
    >>> node = cases.bind(Variable("cases"), (Variable("rate"),))
    >>> node.log_prob({"rate": np.array([1.0, 2.0]), "cases": np.array([0.0, 0.0])})
    array([-1., -2.])
    """

    distribution: Distribution | Maker
    states: tuple[Any, ...] | None = None

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        size, group, wait = Variable("size"), Variable("group", ("a", "b")), Variable("wait")
        gamma, normal = distributions.Gamma(2.0, 1.5), distributions.Normal
        shift = cls(lambda group, size: normal(np.where(group == "b", 1.0, size), 0.5))
        return (
            Example(cls(gamma), child=wait, parents=()),
            Example(shift, child=wait, parents=(group, size)),
        )

    @property
    def is_discrete(self) -> bool:
        """Whether the child has states."""
        return self.states is not None

    def child_states(self, parents: Sequence[Variable] = ()) -> tuple[Any, ...] | None:
        """Return the states of the child, None if it is real-valued."""
        return self.states

    def bind(self, child: Variable, parents: Sequence[Variable]) -> BoundDistribution:
        """Return the conditional distribution of ``child`` given ``parents``."""
        return BoundDistribution(child, tuple(parents), self.distribution)


@dataclass(frozen=True, eq=False)
class BoundDistribution:
    """A `DistributionNode` whose child and parents are known."""

    child: Variable
    parents: tuple[Variable, ...]
    distribution: Distribution | Maker

    kind = "fixed"

    def __post_init__(self) -> None:
        if not isinstance(self.distribution, Distribution):
            return
        if self.parents:
            raise ValueError(
                f"distribution of {self.child.name} must be a function of its parents "
                f"{[p.name for p in self.parents]}; found a fixed "
                f"{type(self.distribution).__name__}. Pass lambda parent: distribution, or "
                "remove the edges."
            )
        _refuse_vector(self.child, self.distribution)

    @property
    def n_parameters(self) -> int:
        """Zero: what is free inside a distribution or function of the user is not known."""
        return 0

    def given(self, values: Values) -> Distribution:
        """Return the distribution of the child, one per row of its parents' columns."""
        if isinstance(self.distribution, Distribution):
            return self.distribution
        made = self.distribution(**{p.name: _column(values, p) for p in self.parents})
        if not isinstance(made, Distribution):
            raise TypeError(
                f"the function of {self.child.name} must return a distribution; found "
                f"{type(made).__name__}. Return an object of credo.distributions."
            )
        _refuse_vector(self.child, made)
        return made

    def log_prob(self, values: Values) -> Array:
        """Return the log probability or density of the child's column given its parents'."""
        return as_float(self.given(values).log_prob(as_float(values[self.child.name])))

    def sample(self, values: Values, n: int, rng: Generator) -> NDArray[np.intp] | Array:
        """Return a column of ``n`` draws of the child given the columns of its parents."""
        made = self.given(values)
        draws = made.sample(rng) if made.batch_shape == (n,) else made.sample(rng, n)
        column = np.asarray(draws).reshape(n)
        return column.astype(np.intp) if self.child.is_discrete else as_float(column)


def _column(values: Values, parent: Variable) -> NDArray[Any]:
    if not parent.is_discrete:
        return as_float(values[parent.name])
    kinds = {type(label) for label in parent.labels}
    labels = np.array(parent.labels) if len(kinds) == 1 else np.empty(parent.n_states, object)
    if len(kinds) > 1:
        labels[:] = parent.labels
    return np.asarray(labels[np.asarray(values[parent.name], dtype=np.intp)])


def _refuse_vector(child: Variable, made: Distribution) -> None:
    if made.event_shape != ():
        raise ValueError(
            f"distribution of {child.name} must be of one number; found outcomes of shape "
            f"{made.event_shape}. Use one node per coordinate."
        )

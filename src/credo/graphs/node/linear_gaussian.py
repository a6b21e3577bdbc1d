"""What a user writes for a real variable that depends linearly on real parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from credo.graphs.node.gaussian_node import GaussianNode
from credo.graphs.node.parent_state import coefficient_vector, discrete_parents
from credo.graphs.variable import Variable
from credo.numerics.example import Example

__all__ = ["LinearGaussian"]


@dataclass(frozen=True)
class LinearGaussian:
    """``child ~ N(intercept + sum_j coefficients_j * parent_j, scale^2)``.

    Attributes
    ----------
    intercept
        Mean of the child where all parents are zero.
    coefficients
        One number per real-valued parent, by name; none for a root.
    scale
        Standard deviation around that mean. Zero, a relation without noise, is refused: it
        has no density to multiply others with.

    Examples
    --------
    >>> spec = LinearGaussian(1.0, {"dose": 2.0}, scale=0.5)
    >>> node = spec.bind(Variable("effect"), (Variable("dose"),))
    >>> node.mean({"dose": np.array([0.0, 3.0])})
    array([1., 7.])
    """

    intercept: float = 0.0
    coefficients: Mapping[str, float] = field(default_factory=dict)
    scale: float = 1.0
    is_discrete: ClassVar[bool] = False

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        dose, effect = Variable("dose"), Variable("effect")
        return (
            Example(cls(1.5, {}, 0.3), child=effect, parents=()),
            Example(cls(0.1, {"dose": 2.0}, 0.5), child=effect, parents=(dose,)),
        )

    def __post_init__(self) -> None:
        if not np.isfinite(self.intercept):
            raise ValueError(
                f"intercept must be finite; found {self.intercept}. Pass a number."
            )
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise ValueError(
                f"scale must be positive; found {self.scale}. Pass a standard deviation; for a "
                "relation without noise substitute it into the children, or state a scale that "
                "is small in the units of the variable."
            )
        object.__setattr__(self, "coefficients", dict(self.coefficients))

    def child_states(self, parents: Sequence[Variable] = ()) -> None:
        """Return None: the child has no states, it is real-valued."""

    def bind(self, child: Variable, parents: Sequence[Variable]) -> GaussianNode:
        """Return the conditional distribution of ``child`` given ``parents``."""
        discrete = [parent.name for parent in discrete_parents(parents)]
        if discrete:
            raise ValueError(
                f"parents of {child.name} must be real-valued for LinearGaussian; found "
                f"discrete {discrete}. Use ConditionalLinearGaussian, with one LinearGaussian "
                "per setting."
            )
        vector = coefficient_vector(child, parents, self.coefficients)
        return GaussianNode(
            child, tuple(parents), np.array(self.intercept), vector, np.array(self.scale)
        )

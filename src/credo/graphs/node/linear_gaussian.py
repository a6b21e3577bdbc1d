"""What a user writes for a real variable that is linear in its real parents.

With discrete parents there is one such line for each of their joint states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from credo.graphs.node.gaussian_node import GaussianNode
from credo.graphs.node.parent_state import (
    coefficient_vector,
    discrete_parents,
    parts_in_order,
    setting_shape,
)
from credo.graphs.variable import Variable
from credo.numerics.example import Example
from credo.numerics.quotation import quote

__all__ = ["ConditionalLinearGaussian", "LinearGaussian"]


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


@dataclass(frozen=True)
class ConditionalLinearGaussian:
    """One `LinearGaussian` for each setting of the discrete parents.

    Attributes
    ----------
    parts
        `LinearGaussian` by state of the one discrete parent, or by tuple of states of several
        in the order of the parents. Every setting needs one.

    Examples
    --------
    >>> tuned = ConditionalLinearGaussian({
    ...     True: LinearGaussian(1.0, {"power": 3.0}, 0.5),
    ...     False: LinearGaussian(0.5, {"power": 1.5}, 1.0)})
    >>> engine, power = Variable("tuned", (False, True)), Variable("power")
    >>> node = tuned.bind(Variable("speed"), (power, engine))
    >>> node.mean({"tuned": np.array([0, 1]), "power": np.array([2.0, 2.0])})
    array([3.5, 7. ])
    """

    parts: Mapping[Any, LinearGaussian]
    is_discrete: ClassVar[bool] = False

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        dose, sex, effect = Variable("dose"), Variable("sex", ("f", "m")), Variable("effect")
        f, m = LinearGaussian(0.0, {"dose": 2.0}, 0.5), LinearGaussian(1.0, {"dose": 1.0}, 0.7)
        return (Example(cls({"f": f, "m": m}), child=effect, parents=(dose, sex)),)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", dict(self.parts))
        for key, part in self.parts.items():
            if not isinstance(part, LinearGaussian):
                raise TypeError(
                    "each setting must have a LinearGaussian; found "
                    f"{type(part).__name__} for {quote(key)}. Write LinearGaussian(intercept, "
                    "coefficients, scale)."
                )

    def child_states(self, parents: Sequence[Variable] = ()) -> None:
        """Return None: the child has no states, it is real-valued."""

    def bind(self, child: Variable, parents: Sequence[Variable]) -> GaussianNode:
        """Return the conditional distribution of ``child`` given ``parents``."""
        parts = parts_in_order(child, parents, self.parts)
        shape = setting_shape(parents)
        vectors = [coefficient_vector(child, parents, part.coefficients) for part in parts]
        return GaussianNode(
            child,
            tuple(parents),
            np.reshape([part.intercept for part in parts], shape),
            np.reshape(vectors, (*shape, -1 if vectors[0].size else 0)),
            np.reshape([part.scale for part in parts], shape),
        )

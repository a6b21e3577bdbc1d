"""What a user writes for a real variable with discrete parents, and perhaps real ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credo.graphs.node.gaussian_node import GaussianNode
from credo.graphs.node.linear_gaussian import LinearGaussian
from credo.graphs.node.parent_state import coefficient_vector, parts_in_order, setting_shape
from credo.graphs.variable import Variable
from credo.numerics.example import Example
from credo.numerics.quotation import quote

__all__ = ["ConditionalLinearGaussian"]


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

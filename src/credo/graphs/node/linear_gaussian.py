"""Linear-Gaussian nodes: a real variable is normal around a line in its real parents.

With discrete parents there is one such line for each of their joint states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from credo.distributions.normal import LOG_ROOT_TWO_PI
from credo.graphs.node.conditional import Values
from credo.graphs.node.parent_state import (
    coefficient_vector,
    discrete_parents,
    linear_score,
    node_array,
    parts_in_order,
    real_parents,
    require_positive,
    setting_codes,
    setting_shape,
)
from credo.graphs.variable import Variable
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.quotation import quote

__all__ = ["ConditionalLinearGaussian", "GaussianNode", "LinearGaussian"]


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


@dataclass(frozen=True, eq=False)
class GaussianNode:
    """``child ~ N(intercept_s + coefficients_s . real parents, scale_s^2)``.

    ``s`` is the setting of the discrete parents; without any there is one set of parameters.
    `LinearGaussian` and `ConditionalLinearGaussian` become this once their parents are known.

    Attributes
    ----------
    child, parents
        The variable and its parents, of both kinds in any order.
    intercept
        Shape (n_states of the first discrete parent, of the second, ...).
    coefficients
        The same shape and one axis more, along the real parents in order.
    scale
        Standard deviations, positive, of the shape of ``intercept``.
    """

    child: Variable
    parents: tuple[Variable, ...]
    intercept: Array
    coefficients: Array
    scale: Array

    kind = "gaussian"

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        dose, sex, effect = Variable("dose"), Variable("sex", ("f", "m")), Variable("effect")
        slopes, scale = [[2.0], [1.0]], [0.5, 0.7]
        return (
            cls(effect, (), as_float(1.5), np.empty(0), as_float(0.3)),
            cls(effect, (dose, sex), as_float([0.0, 1.0]), as_float(slopes), as_float(scale)),
        )

    def __post_init__(self) -> None:
        if self.child.is_discrete:
            raise ValueError(
                f"{self.child.name} must be real-valued to be normal; found states "
                f"{quote(list(self.child.labels))}. Leave out its states, or give it a table."
            )
        shape = setting_shape(self.parents)
        wide = (*shape, len(real_parents(self.parents)))
        for name, expected in (("intercept", shape), ("coefficients", wide), ("scale", shape)):
            array = node_array(self.child, name, getattr(self, name), expected)
            object.__setattr__(self, name, array)
        require_positive(self.child, "scale", self.scale)

    @property
    def discrete_parents(self) -> tuple[Variable, ...]:
        """Parents whose states choose the parameters."""
        return discrete_parents(self.parents)

    @property
    def real_parents(self) -> tuple[Variable, ...]:
        """Parents that enter the mean linearly."""
        return real_parents(self.parents)

    @property
    def real_names(self) -> tuple[str, ...]:
        """Names of the child and its real parents: the variables of the density."""
        return (self.child.name, *(parent.name for parent in self.real_parents))

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: intercept, coefficients and scale of every setting."""
        return int(self.intercept.size * (2 + len(self.real_parents)))

    def mean(self, values: Values) -> Array:
        """Return the mean of the child given the columns of its parents."""
        intercept = self.intercept[setting_codes(values, self.parents)]
        return as_float(intercept + linear_score(values, self.parents, self.coefficients))

    def log_prob(self, values: Values) -> Array:
        """Return the log density of the child's column given its parents'."""
        scale = self.scale[setting_codes(values, self.parents)]
        residual = (as_float(values[self.child.name]) - self.mean(values)) / scale
        with np.errstate(over="ignore"):
            return as_float(-0.5 * residual**2 - np.log(scale) - LOG_ROOT_TWO_PI)

    def sample(self, values: Values, n: int, rng: Generator) -> Array:
        """Return a column of ``n`` draws of the child given the columns of its parents."""
        scale = self.scale[setting_codes(values, self.parents)]
        return as_float(self.mean(values) + scale * rng.standard_normal(n))

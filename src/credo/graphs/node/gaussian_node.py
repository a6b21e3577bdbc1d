"""A real variable that is normal around a linear function of its real parents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator

from credo.distributions.normal import LOG_ROOT_TWO_PI
from credo.graphs.node.conditional import Values
from credo.graphs.node.parent_state import (
    discrete_parents,
    linear_score,
    node_array,
    real_parents,
    require_positive,
    setting_codes,
    setting_shape,
)
from credo.graphs.variable import Variable
from credo.numerics.array import Array, as_float
from credo.numerics.quotation import quote

__all__ = ["GaussianNode"]


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

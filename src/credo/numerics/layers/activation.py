"""Activations: what a unit makes of its weighted input, with the first two derivatives."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

import numpy as np
from scipy import special

from credo.numerics.array import Array
from credo.numerics.quotation import quote

__all__ = ["ACTIVATIONS", "Activation", "activation_named"]


@dataclass(frozen=True)
class Activation:
    """A function of one number, and its derivatives from its input and its value.

    Attributes
    ----------
    value
        The value at the input.
    slope, bend
        First and second derivative, from the input and the value there.
    gain
        By what the spread of random weights is multiplied, so that the spread of the units
        stays about the same from layer to layer.
    has_slope
        Whether the slope says how to learn; that of a threshold is zero wherever it exists.
    """

    value: Callable[[Array], Array]
    slope: Callable[[Array, Array], Array]
    bend: Callable[[Array, Array], Array]
    gain: float = 1.0
    has_slope: bool = True


MANY = 20_000
"""Numbers from which on a compiled loop, which takes time to load, takes the tangents."""


def _tanh(z: Array) -> Array:
    if z.size < MANY:
        return np.tanh(z)
    found = z.copy()
    loops = importlib.import_module("credo.numerics.special._loops_exponential")
    loops.fast_tanh(found.ravel())
    return found


def _zero(z: Array, a: Array) -> Array:
    return np.zeros_like(z)


ACTIVATIONS = MappingProxyType(
    {
        "identity": Activation(lambda z: z, lambda z, a: np.ones_like(z), _zero),
        "sigmoid": Activation(
            special.expit,
            lambda z, a: a * (1.0 - a),
            lambda z, a: a * (1.0 - a) * (1.0 - 2.0 * a),
            gain=2.0,
        ),
        "tanh": Activation(
            _tanh, lambda z, a: 1.0 - a * a, lambda z, a: -2.0 * a * (1.0 - a * a)
        ),
        "relu": Activation(
            lambda z: np.maximum(z, 0.0),
            lambda z, a: (z > 0).astype(np.float64),
            _zero,
            gain=float(np.sqrt(2.0)),
        ),
        "threshold": Activation(
            lambda z: (z >= 0).astype(np.float64), _zero, _zero, has_slope=False
        ),
    }
)
"""Activations by name; a threshold unit is 1 from zero on, and 0 below."""


def activation_named(name: str) -> Activation:
    """Return the activation of a name.

    Raises
    ------
    ValueError
        If there is none, with the nearest name.

    Examples
    --------
    >>> activation_named("relu").value(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    if isinstance(name, str) and name in ACTIVATIONS:
        return ACTIVATIONS[name]
    near = get_close_matches(str(name).lower(), ACTIVATIONS, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]!r}?" if near else "Choose from these."
    raise ValueError(
        f"activation must be one of {tuple(ACTIVATIONS)}; found {quote(name)}. {hint}"
    )

"""Parents of a node by kind: settings of the discrete ones, columns of the real ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from credo.graphs.node.conditional import Values
from credo.graphs.variable import Variable, nearest
from credo.numerics.array import Array, as_float
from credo.numerics.quotation import quote

__all__ = [
    "coefficient_vector",
    "discrete_parents",
    "linear_score",
    "node_array",
    "parts_in_order",
    "real_parents",
    "require_positive",
    "setting_codes",
    "setting_shape",
]

Part = TypeVar("Part")


def discrete_parents(parents: Sequence[Variable]) -> tuple[Variable, ...]:
    """Return the parents that have states, in order."""
    return tuple(parent for parent in parents if parent.is_discrete)


def real_parents(parents: Sequence[Variable]) -> tuple[Variable, ...]:
    """Return the real-valued parents, in order."""
    return tuple(parent for parent in parents if not parent.is_discrete)


def setting_shape(parents: Sequence[Variable]) -> tuple[int, ...]:
    """Return the numbers of states of the discrete parents."""
    return tuple(parent.n_states for parent in discrete_parents(parents))


def node_array(child: Variable, name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Return a field of a node as an array, which must have a shape."""
    array = as_float(value)
    if array.shape != shape:
        raise ValueError(
            f"{name} of {child.name} must have shape {shape}; found {array.shape}. "
            "Order axes as the parents."
        )
    return array


def require_positive(child: Variable, name: str, array: Array) -> None:
    """Raise if a field of a node, such as a scale, is not positive."""
    if not np.all(array > 0):
        raise ValueError(
            f"{name} of {child.name} must be positive; found {array.min()}. Correct it."
        )


def setting_codes(values: Values, parents: Sequence[Variable]) -> tuple[NDArray[np.intp], ...]:
    """Return one column of positions of states per discrete parent, an index of settings."""
    return tuple(np.asarray(values[p.name], np.intp) for p in discrete_parents(parents))


def linear_score(values: Values, parents: Sequence[Variable], coefficients: Array) -> Array:
    """Return ``sum_j coefficients_j * parent_j`` over the real parents, row by row.

    Parameters
    ----------
    coefficients
        Shape (*setting_shape, n_real_parents), one vector per setting of discrete parents.
    """
    weights = coefficients[setting_codes(values, parents)]
    columns = [as_float(values[parent.name]) for parent in real_parents(parents)]
    terms = [weights[..., j] * column for j, column in enumerate(columns)]
    return as_float(sum(terms, np.zeros(weights.shape[:-1])))


def coefficient_vector(
    child: Variable, parents: Sequence[Variable], coefficients: Mapping[str, float]
) -> Array:
    """Return the coefficients in the order of the real parents; each needs its own.

    Raises
    ------
    ValueError
        If a real parent has no coefficient, or a coefficient no real parent.
    """
    names = [parent.name for parent in real_parents(parents)]
    for name in coefficients:
        if name not in names:
            raise ValueError(
                f"coefficients of {child.name} must belong to its real-valued parents "
                f"{quote(names)}; found {quote(name)}.{nearest(name, names)}"
            )
    absent = [name for name in names if name not in coefficients]
    if absent:
        raise ValueError(
            f"{child.name} must have a coefficient for each real-valued parent; found none for "
            f"{absent}. Write 0.0 for a parent without effect, or remove the edge."
        )
    vector = np.array([coefficients[name] for name in names], dtype=np.float64)
    if not np.all(np.isfinite(vector)):
        raise ValueError(
            f"coefficients of {child.name} must be finite; found {vector.tolist()}. "
            "Pass numbers."
        )
    return vector


def parts_in_order(
    child: Variable, parents: Sequence[Variable], parts: Mapping[Any, Part]
) -> list[Part]:
    """Return the part of every setting of the discrete parents, the last parent fastest.

    Parameters
    ----------
    parts
        Keys are states of the one discrete parent, or tuples of states of several in order.
    """
    discrete = discrete_parents(parents)
    for key in parts:
        _refuse_unknown(child, discrete, key)
    keys = [key for key in product(*[parent.labels for parent in discrete])]
    found = {_as_tuple(key, len(discrete)): part for key, part in parts.items()}
    absent = [key for key in keys if key not in found]
    if absent:
        names = [parent.name for parent in discrete]
        raise ValueError(
            f"{child.name} must have parameters for each setting of {quote(names)}; found "
            f"none for {absent[0]} ({len(absent)} of {len(keys)} are absent). Add them."
        )
    return [found[key] for key in keys]


def _as_tuple(key: Any, n_parents: int) -> tuple[Any, ...]:
    is_whole = isinstance(key, tuple) and len(key) == n_parents
    return key if is_whole else (key,)


def _refuse_unknown(child: Variable, discrete: tuple[Variable, ...], key: Any) -> None:
    states = _as_tuple(key, len(discrete))
    if not discrete or len(states) != len(discrete):
        names = [parent.name for parent in discrete]
        raise ValueError(
            f"settings of {child.name} must name one state per discrete parent "
            f"{quote(names)}; found "
            f"{quote(key)}. Use a state for one parent, a tuple of states for several."
        )
    for parent, state in zip(discrete, states, strict=True):
        parent.index(state)

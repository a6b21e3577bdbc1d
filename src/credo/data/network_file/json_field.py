"""Fields of JSON objects, checked for being there, for their type and their shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from credo.data.error import NetworkFileError
from credo.numerics.array import Array

__all__ = ["array_of", "field_of", "state_labels"]

_WORDS = {
    list: "a list",
    str: "text",
    float: "a finite number",
    dict: "an object",
    bool: "a truth value",
}


def field_of(record: Any, key: str, kind: type) -> Any:
    """Return the value of a key of a JSON object, which must be of a type.

    Examples
    --------
    >>> field_of({"scale": 2}, "scale", float)
    2
    """
    if not isinstance(record, dict):
        raise NetworkFileError(
            f"entries must be JSON objects with {key!r}; found {str(record)[:40]!r}. Check "
            "that credo wrote the file."
        )
    value = record.get(key)
    is_number = not isinstance(value, bool) and _is_finite(value)
    if not (is_number if kind is float else isinstance(value, kind)):
        found = "none" if key not in record else repr(value)[:40]
        raise NetworkFileError(
            f"{key!r} must be {_WORDS[kind]}; found {found} in {str(record)[:60]}. Check that "
            "credo wrote the file."
        )
    return value


def array_of(value: Any, shape: tuple[int, ...], what: str) -> Array:
    """Return nested lists as an array, which must be of numbers and of a shape."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except OverflowError as error:
        raise _too_large(what) from error
    except (TypeError, ValueError):
        array = np.empty(0)
    # A list without entries cannot tell its own shape.
    if array.size == 0 == math.prod(shape):
        return np.empty(shape)
    if array.shape != shape:
        raise NetworkFileError(
            f"{what} must be numbers of shape {shape}; found another shape, {array.shape}. "
            "Check that credo wrote the file."
        )
    if not np.isfinite(array).all():
        raise _too_large(what)
    return array


def _too_large(what: str) -> NetworkFileError:
    return NetworkFileError(
        f"{what} must be finite; found numbers too large to hold. Correct them."
    )


def _is_finite(value: Any) -> bool:
    """Whether a value is a number that a float can hold."""
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        return False


def state_labels(states: Any, name: str) -> tuple[Any, ...]:
    """Return the states of a variable, which must be a list of plain values."""
    is_list = isinstance(states, list)
    odd = [s for s in states if isinstance(s, list | dict)] if is_list else [states]
    if odd:
        raise NetworkFileError(
            f"states of {name!r} must be a list of text, truth values or numbers; found "
            f"{str(odd[0])[:40]}. Check that credo wrote the file."
        )
    return tuple(states)

"""Fields of JSON objects, checked for being there and for their type."""

from __future__ import annotations

from typing import Any

from credo.data.error import NetworkFileError

__all__ = ["field_of"]

_WORDS = {
    list: "a list",
    str: "text",
    float: "a number",
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
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number if kind is float else isinstance(value, kind)):
        found = "none" if key not in record else repr(value)[:40]
        raise NetworkFileError(
            f"{key!r} must be {_WORDS[kind]}; found {found} in {str(record)[:60]}. Check that "
            "credo wrote the file."
        )
    return value

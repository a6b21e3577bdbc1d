"""The classes that a model file may hold: written here, never read from a file."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from credo.data.error import ModelFileError

__all__ = ["CLASSES", "registered_class", "registered_name"]

CLASSES: Mapping[str, str] = MappingProxyType(
    {
        "CategoryCode": "credo.data.column_code",
        "Column": "credo.data.columns",
        "DateCode": "credo.data.column_code",
        "NumberCode": "credo.data.column_code",
        "TablePreparation": "credo.data.preparation",
        "TableSchema": "credo.data.columns",
    }
)
"""Module of each class by its name."""


def registered_class(name: object) -> type:
    """Return the class of that name in `CLASSES`; raise a `ModelFileError` if there is none.

    Examples
    --------
    >>> registered_class("Column")
    <class 'credo.data.columns.Column'>
    """
    if not isinstance(name, str) or name not in CLASSES:
        raise ModelFileError(f"must name classes of credo's registry; found {str(name)[:80]!r}")
    cls: type = getattr(import_module(CLASSES[name]), name)
    return cls


def registered_name(cls: type) -> str | None:
    """Return the name under which a class is registered, or None.

    Examples
    --------
    >>> registered_name(dict) is None
    True
    """
    name = cls.__name__
    return name if CLASSES.get(name) == cls.__module__ else None

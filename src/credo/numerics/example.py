"""Examples that a class gives of itself, for the laws and for whoever saves or lists it.

A class has a classmethod ``examples()`` that returns a tuple. An item is an object of the
class; or an `Example`, where the laws of its kind take arguments that the object does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

__all__ = ["Example"]


@dataclass(frozen=True, eq=False)
class Example:
    """An object of a class, and arguments for the laws that check it.

    Examples
    --------
    >>> example = Example(3, unit_free=False)
    >>> example.it, example.arguments["unit_free"]
    (3, False)
    """

    it: Any
    arguments: Mapping[str, Any]

    def __init__(self, it: Any, **arguments: Any) -> None:
        object.__setattr__(self, "it", it)
        object.__setattr__(self, "arguments", MappingProxyType(arguments))

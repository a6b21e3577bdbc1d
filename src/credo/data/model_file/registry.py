"""The classes that a model file may hold: a closed list, never a name to import from a file.

Public values, families, bases and estimators are on it because the stubs of their rooms name
them, engines because they can run; the parts that these hold are named in ``parts.pyi``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from inspect import isabstract
from types import MappingProxyType

from credo.data.error import ModelFileError
from credo.exports import stub_lines

__all__ = ["named_parts", "registered_class", "registered_classes", "registered_name"]

ROOMS = ("distributions", "families", "features", "models", "inference")
"""Rooms whose public classes can be part of something that was learned."""

ENGINE = ("init", "step", "posterior")

FORMER_NAMES = MappingProxyType(
    {
        "ClassConditionalBelief": "Components",
        "ClassConditionalStatistics": "ComponentStatistics",
        "Info": "Move",
        "LinearGaussian": "LinearGaussianBelief",
    }
)
"""New names of classes, by the names under which older files hold them."""


@cache
def registered_classes() -> Mapping[str, str]:
    """Return the module of each name that a file may use.

    Examples
    --------
    >>> registered_classes()["Column"]
    'credo.data.table.preparation'
    """
    stubs = [*(stub_lines(f"credo.{room}") for room in ROOMS), named_parts()]
    return MappingProxyType(
        {name: module for stub in stubs for name, (module, _) in stub.items()}
    )


def named_parts() -> Mapping[str, tuple[str, str]]:
    """Return module and name of each class that is stored and not public as a value."""
    return stub_lines("credo.data.model_file", "parts.pyi")


def registered_class(name: object) -> type:
    """Return the class of that name; raise a `ModelFileError` if files may not hold it.

    Examples
    --------
    >>> registered_class("Column")
    <class 'credo.data.table.preparation.Column'>
    >>> registered_class("LinearGaussian").__name__
    'LinearGaussianBelief'
    """
    now = FORMER_NAMES.get(name, name) if isinstance(name, str) else ""
    module = registered_classes().get(now)
    found = None if module is None else getattr(import_module(module), now, None)
    if not (isinstance(found, type) and registered_name(found) == now):
        raise ModelFileError(f"must name classes of credo's registry; found {str(name)[:80]!r}")
    return found


def registered_name(cls: type) -> str | None:
    """Return the name under which a file may hold objects of a class, or None.

    Examples
    --------
    >>> registered_name(dict) is None
    True
    """
    name, module = cls.__name__, cls.__module__
    is_listed = registered_classes().get(name) == module
    return name if is_listed and (_is_part(name, module) or _is_stored(cls)) else None


def _is_part(name: str, module: str) -> bool:
    return named_parts().get(name, ("", ""))[0] == module


def _is_stored(cls: type) -> bool:
    """Return whether objects of a public class are values, estimators or engines."""
    if isabstract(cls) or getattr(cls, "_is_protocol", False):
        return False
    if cls.__module__.startswith("credo.inference."):
        return all(hasattr(cls, verb) for verb in ENGINE)
    return is_dataclass(cls) or issubclass(cls, Enum) or hasattr(cls, "get_params")

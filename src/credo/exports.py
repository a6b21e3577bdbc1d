"""Public names of a room, loaded when they are asked for: its stub is the one list of them."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

__all__ = ["exports", "stub_lines"]


@cache
def stub_lines(stub: Path) -> Mapping[str, tuple[str, str]]:
    """Return, for each name in a stub, its module and its name there."""
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    return MappingProxyType(
        {
            alias.asname or alias.name: (str(line.module), alias.name)
            for line in tree.body
            if isinstance(line, ast.ImportFrom)
            for alias in line.names
        }
    )


def exports(
    package: str, file: str, moved: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Parameters
    ----------
    package
        Its name.
    file
        Its ``__init__.py``. ``__init__.pyi`` beside it holds lines such as
        ``from credo.numerics.array import Array as Array``, one for each public name.
    moved
        Modules that now hold names which were public here; to ask for one warns.
    """
    places = stub_lines(Path(file).with_suffix(".pyi"))

    def load(name: str) -> Any:
        if name in places:
            found = _found(package, *places[name])
        elif moved is not None and name in moved:
            warnings.warn(
                f"{package}.{name} is now {moved[name]}.{name}; the old name goes with the "
                "next release.",
                FutureWarning,
                stacklevel=2,
            )
            return getattr(import_module(moved[name]), name)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # Once loaded it is an attribute like any other.
        setattr(import_module(package), name, found)
        return found

    names = sorted(places)
    return load, lambda: list(names), list(names)


def _found(package: str, module: str, name: str) -> Any:
    """Return what a line of a stub names: a part of a module, or a module."""
    holder = import_module(module)
    if module != package and hasattr(holder, name):
        return getattr(holder, name)
    return import_module(f"{module}.{name}")

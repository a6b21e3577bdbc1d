"""Public names of a room, loaded when they are asked for: its stub is the one list of them."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

__all__ = ["public_names", "stub_lines"]


# Python's own parser would take longer to load than all the rest of ``import credo``.
_LINE = re.compile(r"^from (\S+) import (?:\(\s*)?(\w+) as (\w+)", re.MULTILINE)


@cache
def stub_lines(package: str, stub: str = "__init__.pyi") -> Mapping[str, tuple[str, str]]:
    """Return, for each name in a stub beside a package, its module and its name there.

    A line is such as ``from credo.numerics.array import Array as Array``.
    """
    lines = _LINE.findall(_text(package, stub))
    return MappingProxyType({name: (module, there) for module, there, name in lines})


def public_names(
    package: str,
    moved: Mapping[str, str] | None = None,
    renamed: Mapping[str, str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Parameters
    ----------
    package
        Its name; the lines of its ``__init__.pyi`` are its public names.
    moved
        Modules that now hold names which were public here; to ask for one warns.
    renamed
        New names, by the names that they had here before; to ask for an old one warns.
    """
    places = stub_lines(package)
    former = {name: (module, name) for name, module in (moved or {}).items()}
    former |= {old: (package, new) for old, new in (renamed or {}).items()}

    def load(name: str) -> Any:
        if name in places:
            found = _found(package, *places[name])
        elif name in former:
            module, now = former[name]
            # ``from package import name`` asks twice: to see that it is there, and for it.
            if sys._getframe(1).f_code.co_name != "_handle_fromlist":
                warnings.warn(
                    f"{package}.{name} is now {module}.{now}; the old name goes with the next "
                    "release.",
                    FutureWarning,
                    stacklevel=2,
                )
            return getattr(import_module(module), now)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # Once loaded it is an attribute like any other.
        setattr(import_module(package), name, found)
        return found

    names = sorted(places)
    return load, lambda: list(names), list(names)


def _found(package: str, module: str, name: str) -> Any:
    """Return what a line of a stub names: a part of a module, or a module."""
    if module == package:
        return import_module(f"{module}.{name}")
    holder = import_module(module)
    return getattr(holder, name) if name in dir(holder) else import_module(f"{module}.{name}")


def _text(package: str, file: str) -> str:
    """Return what a file beside a package holds, also if the package is in an archive."""
    module = import_module(package)
    loader: Any = module.__loader__
    beside = str(module.__file__).removesuffix("__init__.py")
    return str(loader.get_data(beside + file), encoding="utf-8")

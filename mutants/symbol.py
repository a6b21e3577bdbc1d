"""Make a public symbol wrong in this process, wherever it has been imported already.

The code of its functions is replaced in place, so that every reference sees it. What counts as
an answer of a symbol:

- of a function or method: what it returns; for a method of an interface, what any class that
  implements it returns;
- of a class: what its public methods, properties and operators return, and the public
  attributes that a test reads;
- of a table of values: what the values of the table answer.

Answers are changed once, where they leave the symbol: not where it calls itself.
"""

import functools
import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any

__all__ = ["Broken", "break_symbol", "found"]

Wrong = Callable[[Any], Any]

OPERATORS = {
    "__call__", "__add__", "__radd__", "__sub__", "__mul__", "__rmul__", "__matmul__",
    "__truediv__", "__neg__", "__pow__", "__getitem__", "__iter__", "__len__", "__contains__",
}  # fmt: skip
MAKERS = {"__init__", "__post_init__"}
COMPUTED = (property, functools.cached_property)


class Broken(Exception):
    """Raised in place of an answer."""


def found(symbol: str) -> tuple[Any, Any]:
    """Return what a dotted path names, and what holds it."""
    parts = symbol.split(".")
    holder, value = None, importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], start=2):
        holder = value
        try:
            value = getattr(holder, part)
        except AttributeError:
            value = importlib.import_module(".".join(parts[:i]))
    return value, holder


def break_symbol(symbol: str, wrong: Wrong | None) -> list[str]:
    """Change what a symbol answers, for good, and return the names of what was changed.

    Parameters
    ----------
    symbol
        A dotted path that starts with ``credo``.
    wrong
        Makes a wrong answer of a right one; without it every use raises `Broken`.
    """
    value, holder = found(symbol)
    inside = threading.local()
    if inspect.isclass(value):
        return _break_class(value, wrong, inside)
    if inspect.isclass(holder):
        name = symbol.rpartition(".")[2]
        return _break_methods(holder, lambda other: other == name, wrong, inside)
    if isinstance(value, Mapping):
        kinds = {type(held) for held in value.values()}
        return [name for kind in kinds for name in _break_class(kind, wrong, inside)]
    _replace(_plain(value), _everything, wrong, inside)
    return [symbol.rpartition(".")[2]]


def _break_class(kind: type, wrong: Wrong | None, inside: Any) -> list[str]:
    def is_public(name: str) -> bool:
        is_maker = wrong is None and name in MAKERS
        return not name.startswith("_") or name in OPERATORS or is_maker

    if wrong is not None:
        _change_attributes(kind, wrong)
    return _break_methods(kind, is_public, wrong, inside)


def _break_methods(
    kind: type, is_wanted: Callable[[str], bool], wrong: Wrong | None, inside: Any
) -> list[str]:
    """Replace methods of a class and its kin; calls for objects of other classes go through."""
    names = []
    done: set[int] = set()
    for owner in (*kind.__mro__, *_heirs(kind)):
        if not owner.__module__.startswith("credo"):
            continue
        for name, member in list(vars(owner).items()):
            function = _plain(member)
            if not is_wanted(name) or not isinstance(function, FunctionType):
                continue
            if id(function) in done or function.__code__.co_filename == "<string>":
                continue
            done.add(id(function))
            concerns = functools.partial(_concerns, kind, isinstance(member, staticmethod))
            _replace(function, concerns, wrong, inside)
            names.append(f"{owner.__name__}.{name}")
    return names


def _heirs(kind: type) -> Iterator[type]:
    for heir in type.__subclasses__(kind):
        yield heir
        yield from _heirs(heir)


def _concerns(kind: type, is_static: bool, args: tuple[Any, ...]) -> bool:
    if is_static:
        return True
    first = args[0] if args else None
    return isinstance(first, kind) or (isinstance(first, type) and issubclass(first, kind))


def _everything(_args: tuple[Any, ...]) -> bool:
    return True


def _plain(member: Any) -> Any:
    """Return the function inside a method, property, cache or decorator."""
    for name in ("__func__", "fget", "func", "__wrapped__"):
        inner = getattr(member, name, None)
        if inner is not None and callable(inner) and not isinstance(member, type):
            return _plain(inner)
    return member.__func__ if isinstance(member, MethodType) else member


def _replace(
    function: FunctionType,
    concerns: Callable[[tuple[Any, ...]], bool],
    wrong: Wrong | None,
    inside: Any,
) -> None:
    """Give a function other code, which calls the old and changes what it returns."""
    if not isinstance(function, FunctionType):
        raise TypeError(f"a symbol must be written in Python; found {type(function).__name__}.")
    right = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip
    right.__kwdefaults__ = function.__kwdefaults__
    signature = inspect.signature(function)

    def answer(*args: Any, **kwargs: Any) -> Any:
        if getattr(inside, "is_on", False) or not concerns(args):
            return right(*args, **kwargs)
        if wrong is None:
            raise Broken(function.__qualname__)
        inside.is_on = True
        try:
            returned = right(*args, **kwargs)
            return returned if args and returned is args[0] else wrong(returned)
        finally:
            inside.is_on = False

    key = f"_broken_{id(function)}"
    function.__globals__[key] = answer
    function.__defaults__ = None
    function.__kwdefaults__ = None
    function.__code__ = _calling(key, len(function.__code__.co_freevars))
    function.__signature__ = signature  # type: ignore[attr-defined]


def _calling(key: str, n_cells: int) -> CodeType:
    """Return code that hands all its arguments to the global ``key``.

    Code can stand in for other code only if it closes over as many variables: those after
    the return are never read.
    """
    cells = [f"cell_{i}" for i in range(n_cells)]
    text = f"""
def closed({", ".join(cells)}):
    def call(*args, **kwargs):
        return {key}(*args, **kwargs)
        ({"".join(cell + "," for cell in cells)})
    return call
"""
    space: dict[str, Any] = {}
    exec(text, space)
    code = space["closed"](*cells).__code__
    assert isinstance(code, CodeType)
    return code


def _change_attributes(kind: type, wrong: Wrong) -> None:
    """Change the public attributes of objects of a class where a test reads them."""
    right = kind.__getattribute__

    def read(self: Any, name: str) -> Any:
        value = right(self, name)
        if name.startswith("_") or callable(value):
            return value
        if isinstance(inspect.getattr_static(kind, name, None), COMPUTED):
            return value
        reader = sys._getframe(1).f_code.co_filename
        is_test = "/tests/" in reader and "site-packages" not in reader
        return wrong(value) if is_test and not _is_setting(kind, name) else value

    kind.__getattribute__ = read  # type: ignore[method-assign, assignment]


def _is_setting(kind: type, name: str) -> bool:
    """Say whether an attribute is what the constructor was given, and so no answer."""
    return name in inspect.signature(kind).parameters

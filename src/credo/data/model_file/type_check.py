"""What a class declares of fields, settings and fitted attributes, and whether values fit."""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from numbers import Integral, Real
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from credo.numerics.form import Form

__all__ = ["declared_forms", "declared_types", "fits", "fitted_types"]


@cache
def declared_types(cls: Any) -> Mapping[str, Any]:
    """Return the type of each argument of a constructor, or of each field it stands for.

    Examples
    --------
    >>> from credo.data.table.columns import Column
    >>> declared_types(Column)["name"]
    <class 'str'>
    """
    hints = get_type_hints(cls) | get_type_hints(cls.__init__)
    named = {*inspect.signature(cls).parameters, *getattr(cls, "__dataclass_fields__", ())}
    return MappingProxyType({name: hints[name] for name in named if name in hints})


@cache
def fitted_types(cls: Any) -> Mapping[str, Any]:
    """Return the type of each attribute that fitting gives an estimator of ours.

    They are annotated in the body of the class, or of a class of ours that it derives from.

    Examples
    --------
    >>> from credo.models.margin.decision_stump import DecisionStump
    >>> fitted_types(DecisionStump)["feature_"]
    <class 'int'>
    """
    ours = [base for base in cls.__mro__ if base.__module__.partition(".")[0] == "credo"]
    settings = inspect.signature(cls).parameters
    hints = get_type_hints(cls)
    named = {name for base in ours for name in vars(base).get("__annotations__", ())}
    return MappingProxyType({n: hints[n] for n in sorted(named) if n not in settings})


@cache
def declared_forms(cls: Any) -> Mapping[str, Form]:
    """Return the form of each part of a class that declares one.

    Examples
    --------
    >>> from credo.models.margin.decision_stump import DecisionStump
    >>> declared_forms(DecisionStump)["feature_"].high
    'd'
    """
    hints = get_type_hints(cls, include_extras=True)
    noted = {name: getattr(hint, "__metadata__", ()) for name, hint in hints.items()}
    return MappingProxyType(
        {
            name: form
            for name, notes in noted.items()
            for form in notes
            if isinstance(form, Form)
        }
    )


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type; what cannot be told counts as fitting.

    A float may be any real number, an array of floats any array of numbers or one number.

    Examples
    --------
    >>> fits(3, float), fits({}, float | str), fits((1, "a"), tuple[int, ...])
    (True, False, False)
    >>> fits(np.zeros(2), np.ndarray), fits([1.0], np.ndarray)
    (True, False)
    """
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in get_args(hint))
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in get_args(hint))
    kind = origin or hint
    if kind in _CONTAINERS:
        return isinstance(value, kind) and _CONTAINERS[kind](value, get_args(hint))
    if kind is np.ndarray:
        return _array_fits(value, get_args(hint))
    if kind in _SCALARS:
        return _SCALARS[kind](value)
    return _is_instance(value, kind)


def _is_instance(value: Any, kind: Any) -> bool:
    try:
        return isinstance(value, kind)
    except TypeError:
        return True


def _is_real(value: Any) -> bool:
    is_scalar = isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "fiu"
    return is_scalar or (isinstance(value, Real) and not _is_truth(value))


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not _is_truth(value)


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _array_fits(value: Any, parts: tuple[Any, ...]) -> bool:
    """Whether a value is one number or an array, of numbers unless declared otherwise."""
    item = get_args(parts[1])[0] if parts else Any
    is_open = not (isinstance(item, type) and issubclass(item, np.number | np.bool_))
    is_array = isinstance(value, np.ndarray) and (is_open or value.dtype.kind in "fiub")
    return is_array or _is_real(value)


def _tuple_fits(value: tuple[Any, ...], parts: tuple[Any, ...]) -> bool:
    if len(parts) == 2 and parts[1] is Ellipsis:
        return all(fits(item, parts[0]) for item in value)
    return not parts or (len(value) == len(parts) and all(map(fits, value, parts)))


def _list_fits(value: list[Any], parts: tuple[Any, ...]) -> bool:
    return not parts or all(fits(item, parts[0]) for item in value)


def _dict_fits(value: dict[Any, Any], parts: tuple[Any, ...]) -> bool:
    return not parts or all(fits(k, parts[0]) and fits(v, parts[1]) for k, v in value.items())


_SCALARS: Mapping[Any, Callable[[Any], bool]] = MappingProxyType(
    {
        Any: lambda value: True,
        float: _is_real,
        complex: _is_real,
        int: _is_whole,
        bool: _is_truth,
        str: lambda value: isinstance(value, str),
        NoneType: lambda value: value is None,
    }
)
_CONTAINERS: Mapping[Any, Callable[[Any, tuple[Any, ...]], bool]] = MappingProxyType(
    {tuple: _tuple_fits, list: _list_fits, dict: _dict_fits}
)

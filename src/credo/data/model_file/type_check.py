"""What a class declares of fields, settings and fitted attributes, and whether values fit.

Forms of arrays are checked as well: their shape, and the range of their entries.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cache
from numbers import Integral, Real
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from credo.data.error import ModelFileError
from credo.numerics.form import Form

__all__ = ["declared_forms", "declared_types", "fits", "fitted_types", "require_forms"]


@cache
def declared_types(cls: Any) -> Mapping[str, Any]:
    """Return the type of each argument of a constructor, or of each field it stands for.

    Examples
    --------
    >>> from credo.data.table.preparation import Column
    >>> declared_types(Column)["name"]
    <class 'str'>
    """
    # An __init__ that dataclasses write names types of fields which other modules declared.
    names: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        names |= vars(sys.modules[base.__module__])
    hints = get_type_hints(cls) | get_type_hints(cls.__init__, localns=names)
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
    """Whether a value is of a declared type; what cannot be checked counts as fitting.

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


def require_forms(cls: type, parts: Mapping[str, Any]) -> None:
    """Raise a `ModelFileError` unless the parts of an object are of their forms and agree.

    Parameters
    ----------
    cls
        The class of the object, whose annotations hold the forms.
    parts
        Its fields, or settings and fitted attributes, by name; None is not checked.
    """
    name, sizes = cls.__name__, _known_sizes(parts)
    for field, form in declared_forms(cls).items():
        value = parts.get(field)
        if value is None or isinstance(value, str):
            continue
        shape = (len(value),) if isinstance(value, list | tuple) else np.shape(value)
        if not form.bound(shape, sizes):
            raise ModelFileError(
                f"must give {name}.{field} the axes ({form.axes or 'none'}) that its other "
                f"parts have; found shape {shape}"
            )
        if not isinstance(value, list | tuple):
            _require_entries(f"{name}.{field}", value, form, sizes)
        other = parts.get(form.above) if form.above else None
        if other is not None and not np.all(np.asarray(value) >= other):
            raise ModelFileError(
                f"must give {name}.{field} no entry below that of {form.above}; found one"
            )


def _require_entries(name: str, value: Any, form: Form, sizes: Mapping[str, Any]) -> None:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.dtype != np.float64:
        raise ModelFileError(f"must give {name} as float64; found {value.dtype}")
    if not form.holds(value, sizes):
        raise ModelFileError(
            f"must give {name} entries from {form.low:g} to {form.high}; found others"
        )


def _known_sizes(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lengths that several parts of a fitted estimator are about."""
    sizes: dict[str, Any] = {}
    if "n_features_in_" in parts:
        sizes["d"] = parts["n_features_in_"]
    if "neighborhood_" in parts:
        sizes["n"] = len(parts["neighborhood_"].points)
    if isinstance(parts.get("classes_"), np.ndarray):
        n_classes = len(np.atleast_1d(parts["classes_"]))
        # One score tells two classes apart, and none is needed for a single one.
        sizes |= {"K": n_classes, "s": n_classes if n_classes > 2 else n_classes - 1}
    return sizes

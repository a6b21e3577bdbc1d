"""Values as a tree of JSON and a list of arrays, and back; nothing else can be stored.

None, truth values, whole numbers, finite floats, text and lists are written as JSON has them.
All else is an object whose key ``$`` says what it is:

=============  ==========================================================================
``float``      a float that JSON cannot write: nan, inf, -inf
``tuple``      its items
``dict``       its items; keys are text
``array``      a place in the list of arrays
``text``       an array of Python strings: its shape and items
``scalar``     a NumPy scalar: its dtype and value
``value``      a dataclass of ours: its class and fields, given back to the constructor
``member``     a member of an enumeration of ours: its class and name
``estimator``  an estimator of ours: its class, settings and fitted attributes
``step``       a Pipeline of scikit-learn, or a known step of one: the same
=============  ==========================================================================
"""

import dataclasses
import inspect
import math
from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.data.error import ModelFileError
from credo.data.model_file.first_prediction import require_predicts
from credo.data.model_file.pipeline import OUTPUT, built_step, known_step, step_parts
from credo.data.model_file.registry import registered_class, registered_name
from credo.data.model_file.type_check import declared_types, fits, fitted_types, require_forms
from credo.numerics.form import LATER

__all__ = [
    "MAX_BITS",
    "MAX_DEPTH",
    "MAX_NDIM",
    "Decoder",
    "Encoder",
    "array_fault",
]


NOT_KEPT = frozenset(["_metadata_request"])
"""How scikit-learn routes arguments to an estimator is a matter of the pipeline around it."""

MAX_NDIM = 4
MAX_DEPTH = 64
MAX_BITS = 1024

_NUMBER_TYPES = frozenset(
    (np.dtype(code).newbyteorder("<" if is_little else ">")).str
    for code in "?bhilqBHILQefd"
    for is_little in (True, False)
)
_FLOATS: Mapping[str, float] = MappingProxyType(
    {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
)
_KEYS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "float": frozenset(["$", "value"]),
        "tuple": frozenset(["$", "items"]),
        "dict": frozenset(["$", "items"]),
        "array": frozenset(["$", "place"]),
        "text": frozenset(["$", "shape", "items"]),
        "scalar": frozenset(["$", "dtype", "value"]),
        "value": frozenset(["$", "class", "fields"]),
        "member": frozenset(["$", "class", "name"]),
        "estimator": frozenset(["$", "class", "settings", "fitted"]),
        "step": frozenset(["$", "class", "settings", "fitted"]),
    }
)


def array_fault(dtype: np.dtype[Any], ndim: int) -> str | None:
    """Return what keeps an array from being stored, or None.

    Examples
    --------
    >>> array_fault(np.dtype(object), 1)
    'an array of dtype object'
    """
    if dtype.kind != "U" and dtype.str not in _NUMBER_TYPES:
        return f"an array of dtype {dtype}"
    if not dtype.itemsize:
        return "an array of text without letters"
    if ndim > MAX_NDIM:
        return f"an array of {ndim} dimensions"
    return None


class Encoder:
    """Writes values as JSON trees, and collects their arrays.

    Examples
    --------
    >>> encoder = Encoder()
    >>> encoder.encode({"x": (1, np.zeros(2))})
    {'$': 'dict', 'items': {'x': {'$': 'tuple', 'items': [1, {'$': 'array', 'place': 0}]}}}
    >>> encoder.arrays
    [array([0., 0.])]
    """

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._places: dict[int, int] = {}

    def encode(self, value: Any, path: str = "value", depth: int = 0) -> Any:
        """Return the tree of ``value``; ``path`` says in messages where it is."""
        if depth > MAX_DEPTH:
            raise _unstorable(path, f"nesting deeper than {MAX_DEPTH}")
        if value is None or type(value) in (bool, str):
            return value
        if type(value) is int and value.bit_length() <= MAX_BITS:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"$": "float", "value": str(value)}
        if isinstance(value, np.generic):
            return self._scalar(value, path)
        if type(value) is np.ndarray:
            return self._array(value, path)
        return self._composite(value, path, depth + 1)

    def _composite(self, value: Any, path: str, depth: int) -> Any:
        if type(value) in (list, tuple):
            items = [self.encode(v, f"{path}[{i}]", depth) for i, v in enumerate(value)]
            return items if type(value) is list else {"$": "tuple", "items": items}
        if type(value) is dict:
            return {"$": "dict", "items": self._named(value, path, depth)}
        name = registered_name(type(value))
        if name is None:
            return self._step(value, path, depth)
        return self._object(value, name, path, depth)

    def _step(self, value: Any, path: str, depth: int) -> Any:
        parts = step_parts(value, path)
        if parts is None and hasattr(value, "best_estimator_"):
            raise ModelFileError(
                f"{path} must be a model, which a search finds; found the search, of class "
                f"{type(value).__name__}; save its `best_estimator_` instead."
            )
        if parts is None:
            raise _unstorable(path, f"an object of class {type(value).__name__}")
        settings, fitted = parts
        return {
            "$": "step",
            "class": type(value).__name__,
            "settings": self._named(settings, path, depth),
            "fitted": self._named(fitted, path, depth),
        }

    def _object(self, value: Any, name: str, path: str, depth: int) -> Any:
        if isinstance(value, Enum):
            return {"$": "member", "class": name, "name": value.name}
        if dataclasses.is_dataclass(value):
            named = {
                f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init
            }
            return {"$": "value", "class": name, "fields": self._named(named, path, depth)}
        return {
            "$": "estimator",
            "class": name,
            "settings": self._named(value.get_params(deep=False), path, depth),
            "fitted": self._named(_fitted(value, path), path, depth),
        }

    def _named(self, items: Mapping[Any, Any], path: str, depth: int) -> dict[str, Any]:
        for key in items:
            if type(key) is not str:
                raise _unstorable(path, f"the key {key!r}, which is not text")
        return {key: self.encode(v, f"{path}.{key}", depth) for key, v in items.items()}

    def _scalar(self, value: np.generic, path: str) -> Any:
        fault = array_fault(value.dtype, 0)
        if fault:
            raise _unstorable(path, fault.replace("an array", "a scalar"))
        dtype = "str" if value.dtype.kind == "U" else value.dtype.name
        return {"$": "scalar", "dtype": dtype, "value": self.encode(value.item(), path)}

    def _array(self, value: NDArray[Any], path: str) -> Any:
        if value.dtype == object and all(type(item) is str for item in value.flat):
            items = [str(item) for item in value.flat]
            return {"$": "text", "shape": list(value.shape), "items": items}
        fault = array_fault(value.dtype, value.ndim)
        if fault:
            raise _unstorable(path, fault)
        if id(value) not in self._places:
            self._places[id(value)] = len(self.arrays)
            self.arrays.append(value)
        return {"$": "array", "place": self._places[id(value)]}


class Decoder:
    """Reads values from JSON trees, trusting neither their shape nor their content."""

    def __init__(self, arrays: Sequence[NDArray[Any]]) -> None:
        self.arrays = arrays
        self.used: set[int] = set()

    def decode(self, tree: Any, depth: int = 0) -> Any:
        """Return the value that a tree describes, or raise a `ModelFileError`."""
        if depth > MAX_DEPTH:
            raise ModelFileError(f"must not nest deeper than {MAX_DEPTH}; found more")
        if isinstance(tree, list):
            return [self.decode(item, depth + 1) for item in tree]
        if not isinstance(tree, dict):
            return tree
        tag = tree.get("$")
        if not isinstance(tag, str) or _KEYS.get(tag) != frozenset(tree):
            raise ModelFileError(f"must hold known keys only; found {sorted(tree)[:5]}")
        return getattr(self, f"_{tag}")(tree, depth + 1)

    def _float(self, tree: dict[str, Any], depth: int) -> float:
        return _FLOATS[tree["value"]]

    def _tuple(self, tree: dict[str, Any], depth: int) -> tuple[Any, ...]:
        return tuple(self.decode(_of_type(tree["items"], list), depth))

    def _dict(self, tree: dict[str, Any], depth: int) -> dict[str, Any]:
        return self._named(tree["items"], depth)

    def _array(self, tree: dict[str, Any], depth: int) -> NDArray[Any]:
        place: int = _of_type(tree["place"], int)
        if not 0 <= place < len(self.arrays):
            raise ModelFileError(f"must hold every array it uses; found no array {place}")
        self.used.add(place)
        return self.arrays[place]

    def _text(self, tree: dict[str, Any], depth: int) -> NDArray[Any]:
        items = [_of_type(item, str) for item in _of_type(tree["items"], list)]
        shape = [_of_type(size, int) for size in _of_type(tree["shape"], list)]
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array.reshape(shape)

    def _scalar(self, tree: dict[str, Any], depth: int) -> Any:
        value = self.decode(tree["value"], depth)
        if tree["dtype"] == "str":
            return np.str_(_of_type(value, str))
        dtype = np.dtype(_of_type(tree["dtype"], str))
        if dtype.str not in _NUMBER_TYPES or not isinstance(value, bool | int | float):
            raise ModelFileError(f"must hold plain scalars; found one of dtype {dtype}")
        return dtype.type(value)

    def _value(self, tree: dict[str, Any], depth: int) -> Any:
        cls = registered_class(tree["class"])
        if not dataclasses.is_dataclass(cls):
            raise ModelFileError(f"must hold fields of values only; found {cls.__name__}")
        # Fields that came after the build of a file have their defaults.
        fields = _later_defaults(cls) | self._named(tree["fields"], depth)
        _require_names(cls, fields, [f.name for f in dataclasses.fields(cls) if f.init])
        _require_types(cls, fields, declared_types(cls))
        require_forms(cls, fields)
        if set(_parameters(cls)) == set(fields):
            return cls(**fields)
        return _filled(cls, fields)

    def _member(self, tree: dict[str, Any], depth: int) -> Any:
        cls = registered_class(tree["class"])
        if not issubclass(cls, Enum):
            raise ModelFileError(f"must hold members of enumerations; found {cls.__name__}")
        return cls[tree["name"]]

    def _estimator(self, tree: dict[str, Any], depth: int) -> Any:
        cls = registered_class(tree["class"])
        if not hasattr(cls, "get_params"):
            raise ModelFileError(f"must hold settings of estimators only; found {cls.__name__}")
        settings = self._named(tree["settings"], depth)
        # Settings that came after the build of a file have their defaults.
        _require_names(cls, _defaults(cls) | settings, _parameters(cls))
        _require_types(cls, settings, declared_types(cls))
        estimator = cls(**settings)
        fitted = self._named(tree["fitted"], depth)
        strange = sorted(set(fitted) - set(fitted_types(cls)))
        if strange:
            raise ModelFileError(f"must hold what fitting gives; found {strange[0][:80]!r}")
        _require_types(cls, fitted, fitted_types(cls))
        require_forms(cls, settings | fitted)
        vars(estimator).update(fitted)
        if set(fitted) - {OUTPUT}:
            require_predicts(estimator)
        return estimator

    def _step(self, tree: dict[str, Any], depth: int) -> Any:
        known = known_step(tree["class"])
        settings = self._named(tree["settings"], depth)
        return built_step(known, settings, self._named(tree["fitted"], depth))

    def _named(self, items: Any, depth: int) -> dict[str, Any]:
        return {key: self.decode(v, depth) for key, v in _of_type(items, dict).items()}


def _fitted(estimator: Any, path: str) -> dict[str, Any]:
    cls: Any = type(estimator)
    settings = NOT_KEPT.union(_parameters(cls))
    fitted = {name: v for name, v in vars(estimator).items() if name not in settings}
    strange = sorted(set(fitted) - set(fitted_types(cls)))
    if strange:
        raise ModelFileError(
            f"{path} must hold only what fitting gave it; found the attribute {strange[0]!r}; "
            "delete it, and save it beside the model."
        )
    return fitted


def _filled(cls: type, fields: Mapping[str, Any]) -> Any:
    """Return a value whose constructor takes other arguments than its fields."""
    value: Any = object.__new__(cls)
    for name, field in fields.items():
        object.__setattr__(value, name, field)
    value.require_valid()
    return value


def _parameters(cls: type) -> list[str]:
    return list(inspect.signature(cls).parameters)


def _defaults(cls: type) -> dict[str, Any]:
    parameters = inspect.signature(cls).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


def _later_defaults(cls: Any) -> dict[str, Any]:
    """Return what the fields hold that came after files of a dataclass were written."""
    later = [f for f in dataclasses.fields(cls) if LATER.items() <= f.metadata.items()]
    return {field.name: field.default for field in later}


def _require_names(cls: type, found: Mapping[str, Any], expected: Sequence[str]) -> None:
    if set(found) != set(expected):
        wrong = sorted(set(found) ^ set(expected))
        raise ModelFileError(
            f"must give {cls.__name__} what it has; found {wrong[:5]} unknown or absent"
        )


def _require_types(cls: type, found: Mapping[str, Any], hints: Mapping[str, Any]) -> None:
    for name, value in found.items():
        if name in hints and not fits(value, hints[name]):
            raise ModelFileError(
                f"must give {cls.__name__}.{name} a value of its type; found "
                f"{_short_text(value)}"
            )


def _of_type(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ModelFileError(
            f"must hold a {kind.__name__} where one belongs; found {type(value).__name__}"
        )
    return value


def _short_text(value: Any) -> str:
    is_short = value is None or isinstance(value, bool | int | float | str)
    return repr(value)[:80] if is_short else f"a {type(value).__name__}"


def _unstorable(path: str, found: str) -> ModelFileError:
    return ModelFileError(
        f"{path} must be a number, text, list, tuple, dict, array, or an object of credo's own "
        f"registered classes; found {found}; leave it out, or turn it into one of these. "
        "Networks have files of their own: use save_network."
    )

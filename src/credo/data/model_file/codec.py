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
=============  ==========================================================================

A loaded estimator makes a first prediction, which shows whether its parts agree.
"""

import dataclasses
import inspect
import math
import warnings
from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import get_tags

from credo.data.error import ModelFileError
from credo.data.model_file.registry import registered_class, registered_name
from credo.data.model_file.type_check import declared_types, fits, fitted_types, require_forms

__all__ = [
    "MAX_BITS",
    "MAX_DEPTH",
    "MAX_NDIM",
    "Decoder",
    "Encoder",
    "array_fault",
    "require_predicts",
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
            raise _unstorable(path, f"an object of class {type(value).__name__}")
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
        fields = self._named(tree["fields"], depth)
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
        if fitted:
            require_predicts(estimator)
        return estimator

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


N_ROWS = 3


def require_predicts(estimator: Any) -> None:
    """Raise a `ModelFileError` unless a fitted estimator of ours answers for some rows.

    The rows hold nothing where gaps are allowed, else zeros, which are at most some 1e16
    standard deviations from any data: an estimator that learned from data answers for them.
    Counts may make zeros impossible; normal classes take both, for a gap does not ask after
    their means.
    """
    _require_coded_members(estimator)
    allows_gaps = get_tags(estimator).input_tags.allow_nan
    fillers = (np.nan,) * allows_gaps + (0.0,) * (not allows_gaps or _is_normal(estimator))
    for filler in fillers:
        _require_answers(estimator, filler)


def _require_answers(estimator: Any, filler: float) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            answers = _answers(estimator, _rows(estimator, filler))
        except ModelFileError:
            raise
        # Whatever parts that do not agree make a prediction raise, the file is at fault.
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:120]
            raise ModelFileError(
                f"must hold a {type(estimator).__name__} whose parts agree; found that it "
                f"cannot predict ({reason})"
            ) from error
    for answer in answers:
        if len(answer) != N_ROWS or (answer.dtype.kind == "f" and np.isnan(answer).any()):
            raise ModelFileError(
                f"must hold a {type(estimator).__name__} that predicts numbers; found NaN or "
                "another number of rows"
            )


def _require_coded_members(estimator: Any) -> None:
    """Refuse members of a vote that answer with codes of classes that are not there."""
    for member in getattr(estimator, "members_", ()):
        codes = getattr(member, "classes_", np.arange(0))
        if not np.isin(codes, np.arange(len(estimator.classes_))).all():
            raise ModelFileError(
                f"must hold members that vote for {len(estimator.classes_)} classes; found "
                "one that votes for others"
            )


def _require_columns(estimator: Any, probability: NDArray[Any]) -> None:
    if probability.shape[1] != len(estimator.classes_):
        raise ModelFileError(
            f"must hold a {type(estimator).__name__} of {len(estimator.classes_)} classes; "
            f"found that it gives {probability.shape[1]} probabilities"
        )


def _is_normal(estimator: Any) -> bool:
    return type(estimator).__name__ == "GaussianClassConditional"


def _rows(estimator: Any, filler: float) -> Any:
    """Return rows that a fitted estimator takes, by name if it knows its columns by name."""
    rows = np.full((N_ROWS, estimator.n_features_in_), filler)
    names = getattr(estimator, "feature_names_in_", None)
    return rows if names is None else pd.DataFrame(rows, columns=list(names))


def _answers(estimator: Any, rows: Any) -> list[NDArray[Any]]:
    """Return what the verbs of an estimator say of rows."""
    if hasattr(estimator, "transform"):
        return [np.asarray(estimator.transform(rows))]
    verbs = ("predict", "predict_proba", "decision_function", "log_density")
    found = {v: np.asarray(getattr(estimator, v)(rows)) for v in verbs if hasattr(estimator, v)}
    if "predict_proba" in found:
        _require_columns(estimator, found["predict_proba"])
    elif hasattr(estimator, "predict_dist"):
        found["predict_dist"] = np.asarray(estimator.predict_dist(rows).quantile(0.5))
    return list(found.values())

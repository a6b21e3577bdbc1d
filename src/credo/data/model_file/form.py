"""Whether what a file gives an object has the shape and range that its class declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.data.error import ModelFileError
from credo.data.model_file.type_check import declared_forms
from credo.numerics.form import Form

__all__ = ["require_forms"]


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

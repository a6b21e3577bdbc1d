"""Wrong answers made from right ones: every number negated, or scaled by 1.001."""

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy import sparse

__all__ = ["SCALE", "Change", "negated", "scaled", "unchanged"]

SCALE = 1.001
DEEPEST = 6


@dataclasses.dataclass
class Change:
    """A way to make answers wrong, and how many numbers it has changed.

    Numbers are found in arrays, tables, containers, dataclasses and the lines of figures. A new
    object is returned, and the one that was given stays as it was; a figure alone is changed.
    """

    name: str
    number: Callable[[Any], Any]
    n_changed: int = 0

    def __call__(self, value: Any, depth: int = 0) -> Any:
        """Return ``value`` with its numbers changed, or itself where it holds none."""
        if depth > DEEPEST:
            return value
        for kind, rule in RULES:
            if isinstance(value, kind):
                return rule(self, value, depth)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self.fields(value, depth)
        if callable(value) and getattr(value, "__name__", "") and not isinstance(value, type):
            return lambda *args, **kwargs: self(value(*args, **kwargs), depth + 1)
        return value

    def array(self, value: Any, _depth: int = 0) -> Any:
        """Return an array or a number changed; texts and other objects are left alone."""
        held = np.asarray(value)
        if held.dtype.kind not in "biufc":
            return value
        wrong = self.number(held)
        if wrong is held or np.array_equal(wrong, held, equal_nan=held.dtype.kind in "fc"):
            return value
        self.n_changed += 1
        return wrong if isinstance(value, np.ndarray) else wrong[()].item()

    def fields(self, value: Any, depth: int) -> Any:
        """Return a dataclass whose fields are changed; its checks are not run again."""
        wrong = object.__new__(type(value))
        is_other = False
        for field in dataclasses.fields(value):
            held = getattr(value, field.name, None)
            new = self(held, depth + 1)
            is_other |= new is not held
            object.__setattr__(wrong, field.name, new)
        return wrong if is_other else value

    def frame(self, value: Any, _depth: int) -> Any:
        """Return a data frame or series with its numbers changed, and its labels kept."""
        before = self.n_changed
        if isinstance(value, pd.Series):
            wrong = pd.Series(self.array(value.to_numpy()), value.index, name=value.name)
        else:
            columns = {i: self.frame(value.iloc[:, i], 0) for i in range(value.shape[1])}
            wrong = pd.DataFrame(columns, value.index).set_axis(value.columns, axis=1)
        wrong.attrs = value.attrs
        return wrong if self.n_changed > before else value

    def mapping(self, value: Any, depth: int) -> Any:
        """Return a dictionary with its values changed, and attributes if it has any."""
        wrong = {key: self(held, depth + 1) for key, held in value.items()}
        if not isinstance(value, dict):
            return MappingProxyType(wrong)
        if type(value) is dict:
            return wrong
        other = copy.copy(value)
        other.update(wrong)
        for name, held in vars(value).items():
            setattr(other, name, self(held, depth + 1))
        return other

    def sequence(self, value: Any, depth: int) -> Any:
        """Return a list or tuple with its entries changed."""
        wrong = [self(held, depth + 1) for held in value]
        if hasattr(value, "_fields"):
            return type(value)(*wrong)
        return type(value)(wrong)

    def iterator(self, value: Any, depth: int) -> Any:
        """Return an iterator over changed entries."""
        return (self(held, depth + 1) for held in value)

    def sparse(self, value: Any, _depth: int) -> Any:
        """Return a sparse matrix with its entries changed."""
        wrong = copy.copy(value)
        wrong.data = self.array(value.data)
        return wrong

    def drawing(self, value: Any, _depth: int) -> Any:
        """Return the same figure or axes with its lines and regions moved."""
        for line in value.findobj(Line2D):
            line.set_ydata(self.array(np.asarray(line.get_ydata())))
        for collection in value.findobj(Collection):
            for path in collection.get_paths():
                path.vertices = self.array(path.vertices)
        return value

    def same(self, value: Any, _depth: int) -> Any:
        """Return what has no numbers."""
        return value


RULES: tuple[tuple[Any, Callable[[Change, Any, int], Any]], ...] = (
    ((str, bytes, type(None)), Change.same),
    ((bool, int, float, complex, np.generic, np.ndarray), Change.array),
    ((pd.Series, pd.DataFrame), Change.frame),
    ((sparse.spmatrix, sparse.sparray), Change.sparse),
    ((Figure, Axes), Change.drawing),
    (Artist, Change.same),
    ((dict, Mapping), Change.mapping),
    ((list, tuple), Change.sequence),
    (Iterator, Change.iterator),
)


def unchanged() -> Change:
    """Return the change that is none: what fails under it fails for the way of changing."""
    return Change("unchanged", lambda x: x)


def negated() -> Change:
    """Return the change that turns every sign, and every truth value."""
    return Change("negated", lambda x: ~x if x.dtype.kind == "b" else -x)


def scaled() -> Change:
    """Return the change that makes every real number 1.001 times as large; counts stay."""
    return Change("scaled by 1.001", lambda x: x * SCALE if x.dtype.kind in "fc" else x)

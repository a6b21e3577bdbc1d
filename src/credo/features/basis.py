"""What a basis is: fixed functions of the inputs, placed once on the training inputs.

And what it is placed on: distinct rows, and how far their columns spread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo import features
from credo.numerics.array import Array, as_float

__all__ = [
    "MAX_COLUMNS",
    "Basis",
    "ConcatenatedBasis",
    "column_spread",
    "distinct_rows",
    "n_distinct",
]

MAX_COLUMNS = 5000


@dataclass(frozen=True, eq=False)
class Basis(ABC):
    """Functions ``b_1 ... b_m`` of the inputs, as a value that never changes.

    The settings say how the functions are chosen; `place` fills in what depends on the
    training inputs (centers, knots, ...) in fields named ``placed_*`` and returns a new basis
    of the same type; `design` evaluates them, ``B[i, j] = b_j(x_i)``. Targets are never seen,
    and no basis holds a constant: the intercept belongs to the model. ``a + b`` joins the
    columns of two bases.
    """

    def __post_init__(self) -> None:
        # Settings are written to model files, which hold plain numbers.
        for name, setting in vars(self).items():
            if isinstance(setting, np.generic):
                object.__setattr__(self, name, setting.item())

    @abstractmethod
    def place(self, X: ArrayLike) -> Self:
        """Return this basis placed on the training inputs, shape (n_samples, n_features)."""

    @abstractmethod
    def design(self, X: ArrayLike) -> Array:
        """Return the functions at each row of ``X``, shape (n_samples, n_columns)."""

    @abstractmethod
    def n_columns(self, n_features: int) -> int:
        """Return the number of functions of ``n_features`` inputs."""

    @abstractmethod
    def names(self, feature_names: Sequence[str]) -> list[str]:
        """Return one readable, unique name per column of `design`."""

    def follows(self, n_features: int) -> NDArray[np.bool_]:
        """Return whether each function may rise or fall with an input beyond all rows.

        Shape (n_features, n_columns): true for the inputs that a function depends on, false
        for a function that comes to rest, such as a bump.
        """
        return np.ones((n_features, self.n_columns(n_features)), dtype=np.bool_)

    def __add__(self, other: Basis) -> ConcatenatedBasis:
        if not isinstance(other, Basis):
            return NotImplemented
        return ConcatenatedBasis(_parts(self) + _parts(other))

    def _inputs(self, X: ArrayLike, n_features: int | None = None) -> Array:
        """Return ``X`` as a float matrix with the expected number of columns."""
        X = as_float(X)
        if X.ndim != 2:
            raise ValueError(
                f"X must have shape (n_samples, n_features); found shape {X.shape}. "
                "Reshape one column with X[:, None]."
            )
        if n_features is not None:
            self._require_features(X.shape[1], n_features)
        return X

    def _require_features(self, found: int, placed: int) -> None:
        """Raise if the number of features is not the one the basis was placed on."""
        if found != placed:
            raise ValueError(
                f"{type(self).__name__} is placed on {placed} features; found {found}. "
                "Pass the features it was placed on."
            )

    def _training_inputs(self, X: ArrayLike) -> Array:
        """Return ``X`` as a float matrix that has rows to learn from."""
        X = self._inputs(X)
        if len(X) == 0:
            raise ValueError(
                "X must have at least one row to place a basis; found none. "
                "Pass the training inputs."
            )
        return X

    def _require_placed(self, placed: Array | None) -> Array:
        """Return a placed array, or say that `place` comes first."""
        if placed is None:
            name = type(self).__name__
            raise ValueError(
                f"{name} must be placed before it is used; found no training inputs. "
                f"Call basis.place(X) first and use the basis it returns."
            )
        return placed

    def _refuse_too_many(self, n_columns: int, advice: str) -> None:
        """Raise if the basis would be larger than memory and sense allow."""
        if n_columns > MAX_COLUMNS:
            raise ValueError(
                f"{type(self).__name__} must have at most {MAX_COLUMNS} columns; found "
                f"{n_columns}. {advice}"
            )

    def _require_count(self, at_least: int = 1, **settings: float) -> None:
        """Raise if a setting that counts is not a whole number of at least ``at_least``."""
        for name, setting in settings.items():
            if setting != int(setting) or setting < at_least:
                raise ValueError(
                    f"{name} must be a whole number, {at_least} or more; found {setting!r}. "
                    "Pass such a number."
                )

    def _require_positive(self, **settings: ArrayLike) -> None:
        """Raise if a setting that measures is not positive."""
        for name, setting in settings.items():
            if not np.all(as_float(setting) > 0):
                raise ValueError(
                    f"{name} must be positive; found {setting!r}. Pass a larger value."
                )


@dataclass(frozen=True, eq=False)
class ConcatenatedBasis(Basis):
    """The columns of several bases side by side, in order.

    Examples
    --------
    >>> from credo.features import LinearBasis, PolynomialBasis
    >>> (LinearBasis() + PolynomialBasis(2)).names(["age"])
    ['age', 'age#2', 'age^2']
    """

    parts: tuple[Basis, ...]

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        spline, bumps = features.SplineBasis(4), features.RadialBasis(3)
        line, waves = features.LinearBasis(), features.FourierBasis(1)
        return cls((spline, bumps)), cls((line, waves))

    def place(self, X: ArrayLike) -> Self:
        """Return the basis with every part placed on ``X``."""
        placed = replace(self, parts=tuple(part.place(X) for part in self.parts))
        n_columns = placed.n_columns(as_float(X).shape[1])
        self._refuse_too_many(n_columns, "Leave out a part or make the parts smaller.")
        return placed

    def design(self, X: ArrayLike) -> Array:
        """Return the columns of every part, shape (n_samples, n_columns)."""
        X = self._inputs(X)
        return np.hstack([np.empty((len(X), 0)), *(part.design(X) for part in self.parts)])

    def n_columns(self, n_features: int) -> int:
        """Return the total number of columns."""
        return sum(part.n_columns(n_features) for part in self.parts)

    def follows(self, n_features: int) -> NDArray[np.bool_]:
        """Return which inputs the functions of every part may follow."""
        parts = [part.follows(n_features) for part in self.parts]
        return np.hstack([np.empty((n_features, 0), dtype=np.bool_), *parts])

    def names(self, feature_names: Sequence[str]) -> list[str]:
        """Return the names of all parts; a repeated name carries its count, as ``rbf[0]#2``."""
        seen: Counter[str] = Counter()
        unique = []
        for name in (name for part in self.parts for name in part.names(feature_names)):
            seen[name] += 1
            unique.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
        return unique


def n_distinct(X: Array) -> list[int]:
    """Return the number of distinct values in each column."""
    return [len(np.unique(column)) for column in X.T]


def column_spread(X: Array, constant: float) -> Array:
    """Return the standard deviation of each column, and ``constant`` where nothing varies.

    Columns whose squares are below the range of floats count as constant too.

    Examples
    --------
    >>> column_spread(np.array([[1.0, 0.1, 1e-200], [3.0, 0.1, -1e-200]]), 1.0)
    array([1., 1., 1.])
    """
    spread = X.std(axis=0)
    # The deviation of equal numbers can be a rounding error above zero.
    return np.where((np.ptp(X, axis=0) > 0) & (spread > 0), spread, constant)


def distinct_rows(X: Array, weight: Array | None = None) -> Array:
    """Return each row that carries weight once, in an order that depends on values alone.

    A basis placed on these does not change when a row is repeated, weighted or moved.

    Examples
    --------
    >>> distinct_rows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])).shape
    (2, 2)
    """
    rows = X if weight is None else X[weight > 0]
    if rows.shape[1] == 0 or len(rows) < 2:
        return rows
    # Sorting one number per row is much faster than sorting rows.
    mixing = np.random.default_rng(0).uniform(1.0, 2.0, rows.shape[1])
    spread = np.abs(rows).max(axis=0)
    keys = (rows * (mixing / np.where(spread > 0, spread, 1.0))).sum(axis=1)
    return np.asarray(rows[np.unique(keys, return_index=True)[1]])


def _parts(basis: Basis) -> tuple[Basis, ...]:
    return basis.parts if isinstance(basis, ConcatenatedBasis) else (basis,)

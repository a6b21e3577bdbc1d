"""Bases that treat each input on its own: no products, columns grow with the features."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.features.basis import Basis, n_distinct
from credo.numerics.array import Array
from credo.numerics.form import SMALLEST, Form

__all__ = ["AdditiveBasis"]


@dataclass(frozen=True, eq=False, kw_only=True)
class AdditiveBasis(Basis):
    """Functions of one input at a time, of ``u = (x - origin) / extent``.

    By default origin and extent are the lowest value and the range of the training inputs, so
    ``u`` runs from 0 to 1 and nothing depends on units. A feature with too few distinct
    values to bend, such as a 0/1 indicator, enters as the single column ``u``.

    Attributes
    ----------
    placed_origin, placed_extent
        Map of each feature to ``u``, shape (n_features,).
    placed_knots
        What the functions of each feature hang on, in ``u``, shape (n_features, n_knots);
        shorter rows end in NaN, and a row of NaN marks a feature that enters as ``u``.
    """

    fewest_values: ClassVar[int] = 3

    placed_origin: Annotated[Array | None, Form("d")] = field(default=None, repr=False)
    placed_extent: Annotated[Array | None, Form("d", SMALLEST)] = field(
        default=None, repr=False
    )
    placed_knots: Annotated[Array | None, Form("d m", has_gaps=True)] = field(
        default=None, repr=False
    )

    @abstractmethod
    def _knots(self, u: Array) -> Array:
        """Return the knots of a feature from its training values ``u``."""

    @abstractmethod
    def _columns(self, u: Array, knots: Array, extent: float) -> Array:
        """Return the functions at ``u``, shape (n_samples, n_functions)."""

    @abstractmethod
    def _column_names(self, feature: str, n_knots: int) -> list[str]:
        """Return the names of the functions of a feature."""

    def _frame(self, X: Array) -> tuple[Array, Array]:
        """Return origin and extent of each feature."""
        extent = np.ptp(X, axis=0)
        return X.min(axis=0), np.where(extent > 0, extent, 1.0)

    def place(self, X: ArrayLike) -> Self:
        """Return the basis with origin, extent and knots of each feature found from ``X``."""
        X = self._training_inputs(X)
        origin, extent = self._frame(X)
        U = (X - origin) / extent
        rows = [
            self._knots(u) if count >= self.fewest_values else np.empty(0)
            for u, count in zip(U.T, n_distinct(X), strict=True)
        ]
        knots = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
        for row, found in zip(knots, rows, strict=True):
            row[: len(found)] = found
        placed = replace(self, placed_origin=origin, placed_extent=extent, placed_knots=knots)
        advice = f"Use fewer functions per feature, or fewer than {len(rows)} features."
        self._refuse_too_many(placed.n_columns(len(rows)), advice)
        return placed

    def design(self, X: ArrayLike) -> Array:
        """Return the functions of each feature in turn, shape (n_samples, n_columns)."""
        origin = self._require_placed(self.placed_origin)
        extent = self._require_placed(self.placed_extent)
        U = np.asfortranarray((self._inputs(X, len(origin)) - origin) / extent)
        blocks = [
            self._columns(u, knots, width) if len(knots) else u[:, None]
            for u, knots, width in zip(U.T, self._knot_rows(), extent.tolist(), strict=True)
        ]
        return np.hstack([np.empty((len(U), 0)), *blocks])

    def n_columns(self, n_features: int) -> int:
        """Return the number of functions of all features."""
        return len(self.names([""] * n_features))

    def names(self, feature_names: Sequence[str]) -> list[str]:
        """Return the names of the functions; a feature that enters linearly keeps its name."""
        rows = self._knot_rows()
        self._require_features(len(feature_names), len(rows))
        return [
            name
            for feature, knots in zip(feature_names, rows, strict=True)
            for name in (self._column_names(feature, len(knots)) if len(knots) else [feature])
        ]

    def follows(self, n_features: int) -> NDArray[np.bool_]:
        """Return which input each function is of."""
        rows = self._knot_rows()
        self._require_features(n_features, len(rows))
        counts = [len(self._column_names("", len(k))) if len(k) else 1 for k in rows]
        return np.repeat(np.eye(n_features, dtype=np.bool_), counts, axis=1)

    def _knot_rows(self) -> list[Array]:
        placed = self._require_placed(self.placed_knots)
        return [row[np.isfinite(row)] for row in placed]

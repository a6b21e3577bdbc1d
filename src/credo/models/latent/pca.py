"""Principal components analysis (PCA), and whitening of rows by it."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Annotated, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from credo.inference.latent.factor_analysis import log_evidence_of_dimensions
from credo.models.contract.inputs import (
    FittedInputs,
    generator,
    require_choice,
    row_weight,
    validated,
)
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.linear.moments import Moments
from credo.numerics.linear.principal_axes import PrincipalAxes

__all__ = ["PCA", "Whiten"]

METHODS = ("auto", "exact", "random")
EVIDENCE = "evidence"

MOST_EXACT, FEW_AXES = 2000, 0.1
"""Shorter side of a table, and share of its axes, from which random directions are quicker."""

NO_VARIANCE = 1e-12
"""Share of the largest variance below which a direction holds rounding alone."""


class _Subspace(FittedInputs, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A part of both: a plane through the mean of the rows, and coordinates in it."""

    axes_: PrincipalAxes
    statistics_: Moments
    explained_variance_ratio_: Annotated[Array, Form("c", 0.0)]
    n_components_: Annotated[int, Form(low=1)]
    n_components: int | float | str | None
    _sklearn_output_config: dict[str, str]

    @property
    def components_(self) -> Array:
        """Directions, one a row, shape (n_components_, d)."""
        return self.axes_.axes

    @property
    def explained_variance_(self) -> Array:
        """Variance along each of them, with 1/n."""
        return self.axes_.variance

    @property
    def mean_(self) -> Array:
        """Mean of the rows, shape (d,)."""
        return self.axes_.center

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def partial_fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one more chunk; chunks give what one fit gives, in constant memory."""
        self._check_components()
        is_first = not hasattr(self, "statistics_")
        rows = np.asarray(validated(self, X, dtype=np.float64, reset=is_first))
        weight = row_weight(sample_weight, rows)
        chunk = Moments.of([rows], None if sample_weight is None else weight)
        self.statistics_ = chunk if is_first else self.statistics_ + chunk
        found = PrincipalAxes.of_moments(self.statistics_)
        return self._set_axes(found, self.statistics_.weight)

    def _rows(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Array, Any]:
        if hasattr(self, "statistics_"):
            del self.statistics_
        rows = np.asarray(validated(self, X, dtype=np.float64, ensure_min_samples=2))
        if sample_weight is None:
            return rows, None
        weight = row_weight(sample_weight, rows)
        return rows[weight > 0], weight[weight > 0]

    def _set_axes(self, found: PrincipalAxes, n_rows: float) -> Self:
        wanted = self._n_wanted(found, n_rows)
        self.axes_, self.n_components_ = found.first(wanted), wanted
        whole = found.total if found.total > 0.0 else 1.0
        self.explained_variance_ratio_ = self.axes_.variance / whole
        return self

    def _n_wanted(self, found: PrincipalAxes, n_rows: float) -> int:
        """Return the number of axes that is asked for, or that explains the share asked for."""
        wanted, most = self.n_components, len(found.variance)
        if wanted == EVIDENCE:
            if n_rows <= len(found.center):
                raise ValueError(
                    f"n_components={EVIDENCE!r} needs more rows than columns; found "
                    f"{n_rows:g} rows of {len(found.center)} columns. Pass a number, or a "
                    "share of the variance."
                )
            best = int(np.argmax(log_evidence_of_dimensions(found.variance, n_rows)))
            return min(max(best, 1), most)
        if wanted is None:
            return max(_n_varying(found), 1)
        if isinstance(wanted, Integral):
            if not 1 <= wanted <= most:
                raise ValueError(
                    f"n_components must be from 1 to {most}, the shorter side of X; found "
                    f"{wanted}. Ask for fewer, or None for all."
                )
            return int(wanted)
        explained = np.cumsum(found.variance)
        # Rounding must not ask for one more direction of nothing.
        enough = float(cast(float, wanted)) * found.total * (1.0 - 1e-12)
        return min(int(np.searchsorted(explained, enough)) + 1, most)

    def _check_components(self) -> None:
        wanted = self.n_components
        if wanted == EVIDENCE:
            return
        is_number = isinstance(wanted, Integral) and not isinstance(wanted, bool)
        is_share = isinstance(wanted, Real) and not is_number and 0.0 < float(wanted) < 1.0
        if not (wanted is None or is_number or is_share):
            raise ValueError(
                "n_components must be None, a whole number, the share of variance to explain, "
                f"between 0 and 1, or {EVIDENCE!r}; found {wanted!r}. Pass 2, or 0.9."
            )

    def _inputs(self, X: ArrayLike) -> Array:
        check_is_fitted(self, "axes_")
        return np.asarray(validated(self, X, dtype=np.float64, reset=False))

    def _coordinates(self, X: ArrayLike) -> Array:
        """Return coordinates that come back as arrays: those that went out of `transform`."""
        check_is_fitted(self, "axes_")
        place = np.asarray(X, dtype=np.float64)
        if place.ndim != 2 or place.shape[1] != self.n_components_:
            raise ValueError(
                f"coordinates must be of shape (n, {self.n_components_}); found shape "
                f"{place.shape}. Pass what transform returns."
            )
        return place


def _total(rows: Array, weight: Array | None) -> float:
    return float(len(rows)) if weight is None else float(weight.sum())


def _n_varying(found: PrincipalAxes) -> int:
    """Return the number of axes along which rows vary, and not by rounding alone."""
    return int(np.sum(found.variance > NO_VARIANCE * found.variance.max(initial=0.0)))


class PCA(_Subspace):
    """Principal components: the plane nearest to the rows, and coordinates in it.

    ``K = V diag(v) V'`` is the covariance of the rows, with 1/n. The components are the first
    columns of ``V``; the variance that they lose is the sum of the other ``v``. Columns count
    in the units they come in: standardize them first, or use `Whiten` after it.

    Parameters
    ----------
    n_components
        How many, the share of variance to explain, such as 0.9, or "evidence" for as many as
        the evidence of probabilistic PCA favors; None is all along which rows vary.
    method
        "exact"; "random", by random directions turned towards those of large variance; "auto"
        takes random ones for few components of tables with both sides beyond 2,000.
    random_state
        Of random directions.

    Attributes
    ----------
    components_, explained_variance_, explained_variance_ratio_, mean_
        Directions (C, d), variance along each and its share of the whole, mean of the rows.
    axes_
        The same as one value.
    n_components_
        Number of components.

    Examples
    --------
    >>> rows = [[2, 0, 1], [0, 1, 3], [1, 4, 0], [3, 2, 2], [4, 3, 4]]
    >>> model = PCA(2).fit(rows)
    >>> model.explained_variance_.round(4)
    array([2.8279, 2.157 ])
    >>> model.reconstruction_error(rows).sum().round(4)
    np.float64(5.0757)
    """

    def __init__(
        self,
        n_components: int | float | str | None = None,
        method: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return tuple(Example(cls(n), unit_free=False) for n in (None, 0.9))

    def fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find the components of ``X`` (n, d), forgetting earlier data."""
        self._check_components()
        require_choice("method", self.method, METHODS)
        rows, weight = self._rows(X, sample_weight)
        if self._is_random(rows):
            wanted = self.n_components
            if not isinstance(wanted, Integral):
                raise ValueError(
                    "method='random' needs a number of components; found "
                    f"n_components={wanted!r}. Pass a whole number, or method='exact'."
                )
            rng = generator(self.random_state)
            n_axes = min(int(wanted), *rows.shape)
            found = PrincipalAxes.by_random_directions(rows, n_axes, rng, weight)
        elif self.n_components == EVIDENCE:
            found = PrincipalAxes.of_moments(Moments.of([rows], weight))
        else:
            found = PrincipalAxes.of_rows(rows, self._n_axes(rows), weight)
        return self._set_axes(found, _total(rows, weight))

    def transform(self, X: ArrayLike) -> Array:
        """Return the coordinates of rows along the components, shape (n, C)."""
        rows = self._inputs(X)
        return self.axes_.place(rows)

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return the rows (n, d) at coordinates (n, C)."""
        place = self._coordinates(X)
        return self.axes_.restore(place)

    def denoise(self, X: ArrayLike) -> Array:
        """Return the nearest points of the plane to rows (n, d)."""
        rows = self._inputs(X)
        return self.axes_.restore(self.axes_.place(rows))

    def reconstruction_error(self, X: ArrayLike) -> Array:
        """Return the squared distance of each row from the plane, shape (n,)."""
        rows = self._inputs(X)
        return self.axes_.squared_distance(rows)

    def _is_random(self, rows: Array) -> bool:
        if self.method != "auto":
            return self.method == "random"
        wanted, least = self.n_components, min(rows.shape)
        few = isinstance(wanted, Integral) and int(wanted) <= FEW_AXES * least
        return few and least > MOST_EXACT

    def _n_axes(self, rows: Array) -> int:
        wanted, most = self.n_components, min(rows.shape)
        if isinstance(wanted, Integral) and 1 <= int(wanted) <= most:
            return int(wanted)
        return int(most)


class Whiten(_Subspace):
    """Rows turned and scaled to mean zero and unit covariance, ``v^-1/2 V' (x - mean)``.

    Directions in which the rows do not vary, or by rounding alone, are left out.

    Parameters
    ----------
    n_components
        How many directions, the share of variance to explain, or "evidence" as of `PCA`; None
        is all that vary.

    Attributes
    ----------
    components_, explained_variance_, explained_variance_ratio_, mean_
        Directions (C, d), variance along each and its share of the whole, mean of the rows.
    axes_
        The same as one value.
    n_components_
        Number of directions.

    Examples
    --------
    >>> rows = [[2, 0, 1], [0, 1, 3], [1, 4, 0], [3, 2, 2], [4, 3, 4]]
    >>> white = Whiten().fit_transform(rows)
    >>> bool(np.allclose(white.T @ white / 5, np.eye(3)))
    True
    """

    def __init__(self, n_components: int | float | str | None = None) -> None:
        self.n_components = n_components

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return (Example(cls(), unit_free=False), Example(cls(1), unit_free=False))

    def fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find directions and variances of ``X`` (n, d), forgetting earlier data."""
        self._check_components()
        rows, weight = self._rows(X, sample_weight)
        return self._set_axes(PrincipalAxes.of_rows(rows, None, weight), _total(rows, weight))

    def _set_axes(self, found: PrincipalAxes, n_rows: float) -> Self:
        n_varying = _n_varying(found)
        if not n_varying:
            raise ValueError(
                "rows must differ for their variance to be made one; found that all are alike. "
                "Pass rows that vary."
            )
        return super()._set_axes(found.first(n_varying), n_rows)

    def transform(self, X: ArrayLike) -> Array:
        """Return white rows, shape (n, C)."""
        rows = self._inputs(X)
        return self.axes_.place(rows) / np.sqrt(self.axes_.variance)

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return the rows (n, d) that white ones (n, C) come from."""
        place = self._coordinates(X)
        return self.axes_.restore(place * np.sqrt(self.axes_.variance))

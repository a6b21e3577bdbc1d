"""Bases that treat each input on its own: no products, columns grow with the features.

The inputs themselves, cubic B-splines, sines and cosines, and sigmoids of each of them.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.features.basis import Basis, n_distinct
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.form import SMALLEST, Form
from credo.numerics.special.log_domain import sigmoid

__all__ = ["AdditiveBasis", "FourierBasis", "LinearBasis", "SigmoidBasis", "SplineBasis"]

_PLACEMENTS = ("quantile", "uniform")
_SMALLEST_GAP = 1e-6


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


@dataclass(frozen=True, eq=False)
class LinearBasis(Basis):
    """One column per input, unchanged and uncopied: ``b_j(x) = x_j``.

    Examples
    --------
    >>> LinearBasis().design([[1.0, 2.0], [3.0, 4.0]])
    array([[1., 2.], [3., 4.]])
    """

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return (cls(),)

    def place(self, X: ArrayLike) -> Self:
        """Return the basis itself: nothing depends on the training inputs."""
        self._training_inputs(X)
        return self

    def design(self, X: ArrayLike) -> Array:
        """Return ``X``, shape (n_samples, n_features)."""
        return self._inputs(X)

    def n_columns(self, n_features: int) -> int:
        """Return ``n_features``."""
        return n_features

    def names(self, feature_names: Sequence[str]) -> list[str]:
        """Return the feature names."""
        return list(feature_names)

    def follows(self, n_features: int) -> NDArray[np.bool_]:
        """Return that each function follows its own input."""
        return np.eye(n_features, dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class SplineBasis(AdditiveBasis):
    """Cubic B-splines of each input, continued by straight lines outside the training range.

    Parameters
    ----------
    n_knots
        Knots per feature, both ends of the training range included: ``n_knots + 1`` columns.
        A feature with few distinct values gets fewer; one with less than four enters linearly.
    placement
        ``"quantile"``: as many training values between one knot and the next, equal knots
        merged; ``"uniform"``: even spacing.

    Notes
    -----
    The ``n_knots + 2`` cubic B-splines sum to one, so the first is left out; with a constant
    the others span all of them. Outside the range each function goes on along its tangent.

    Examples
    --------
    >>> basis = SplineBasis(2, placement="uniform").place([[0.0], [1.0], [2.0], [4.0]])
    >>> basis.names(["age"])
    ['spline(age)[1]', 'spline(age)[2]', 'spline(age)[3]']
    >>> basis.design([[2.0], [4.0], [8.0]])
    array([[ 0.375,  0.375,  0.125], [ 0.   ,  0.   ,  1.   ], [ 0.   , -3.   ,  4.   ]])
    """

    fewest_values: ClassVar[int] = 4

    n_knots: int = 8
    placement: str = "quantile"

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls(5), cls(5, placement="uniform")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_count(2, n_knots=self.n_knots)
        if self.placement not in _PLACEMENTS:
            raise ValueError(
                f"placement must be one of {_PLACEMENTS}; found {self.placement!r}. Name one."
            )
        knots = () if self.placed_knots is None else self._knot_rows()
        if not all(_are_apart(row) for row in knots):
            raise ValueError(
                "placed_knots must rise from 0 to 1 in each feature; found others. Call "
                "basis.place(X)."
            )

    def _knots(self, u: Array) -> Array:
        # More functions than distinct values could not be distinguished.
        levels = np.linspace(0, 1, min(self.n_knots, len(np.unique(u)) - 2))
        inner = (np.quantile(u, levels) if self.placement == "quantile" else levels)[1:-1]
        inside = inner[(inner > _SMALLEST_GAP) & (inner < 1 - _SMALLEST_GAP)]
        distinct = np.diff(inside, prepend=0.0) > _SMALLEST_GAP
        return np.concatenate([[0.0], inside[distinct], [1.0]])

    def _columns(self, u: Array, knots: Array, extent: float) -> Array:
        nearest = np.clip(u, 0.0, 1.0)
        design = _cubic_splines(nearest, knots)
        beyond = u - nearest
        low, high = 3 / knots[1], 3 / (1 - knots[-2])
        below, above = np.minimum(beyond, 0.0), np.maximum(beyond, 0.0)
        design[:, 1] += low * below
        design[:, -2] -= high * above
        design[:, -1] += high * above
        return design[:, 1:]

    def _column_names(self, feature: str, n_knots: int) -> list[str]:
        return [f"spline({feature})[{k}]" for k in range(1, n_knots + 2)]


def _are_apart(knots: Array) -> bool:
    is_whole = len(knots) > 1 and knots[0] == 0.0 and knots[-1] == 1.0
    return not len(knots) or bool(is_whole and (np.diff(knots) > 0.5 * _SMALLEST_GAP).all())


def _cubic_splines(u: Array, knots: Array) -> Array:
    """Return the ``len(knots) + 2`` cubic B-splines at ``u`` in [0, 1], by Cox-de Boor.

    At most four are not zero at a point; they grow from the indicator of its interval,
    ``B_{i,k} = (u - t_i) / (t_{i+k} - t_i) B_{i,k-1} + (t_{i+k+1} - u) / (...) B_{i+1,k-1}``.
    """
    t = np.concatenate([np.zeros(3), knots, np.ones(3)])
    interval = np.searchsorted(knots[1:-1], u, side="right") + 3
    local = [np.ones_like(u)]
    for degree in range(1, 4):
        raised = [np.zeros_like(u) for _ in range(degree + 1)]
        for i, value in enumerate(local):
            left, right = t[interval + 1 + i - degree], t[interval + 1 + i]
            share = value / (right - left)
            raised[i] += (right - u) * share
            raised[i + 1] += (u - left) * share
        local = raised
    design = np.zeros((len(u), len(knots) + 2))
    first = interval[:, None] - 3 + np.arange(4)
    np.put_along_axis(design, first, np.stack(local, axis=1), axis=1)
    return design


@dataclass(frozen=True, eq=False)
class FourierBasis(AdditiveBasis):
    """Harmonics of each input: ``sin(2 pi k x / period)`` and ``cos(2 pi k x / period)``.

    Parameters
    ----------
    n_harmonics
        Highest multiple k of the base frequency; 2 columns each.
    period
        A number for all features, or one per feature, in the units of X. If None, the range
        of the training inputs, counted from its lower end; such a function has equal values at
        both ends, so add a `LinearBasis` where that is not wanted.

    Examples
    --------
    >>> basis = FourierBasis(1, period=4.0).place([[0.0], [1.0], [2.0]])
    >>> basis.names(["hour"])
    ['sin(hour)', 'cos(hour)']
    >>> basis.design([[1.0]]).round(6) + 0.0
    array([[1., 0.]])
    """

    n_harmonics: int = 3
    period: ArrayLike | None = None

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return cls(2), Example(cls(2, period=[1.5, 2.0]), unit_free=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_count(n_harmonics=self.n_harmonics)
        if self.period is not None:
            self._require_positive(period=self.period)
            period = as_float(self.period)
            object.__setattr__(self, "period", period if period.ndim else float(period))

    def _frame(self, X: Array) -> tuple[Array, Array]:
        if self.period is None:
            return super()._frame(X)
        return np.zeros(X.shape[1]), np.broadcast_to(as_float(self.period), X.shape[1]).copy()

    def _knots(self, u: Array) -> Array:
        return np.arange(1.0, self.n_harmonics + 1)

    def _columns(self, u: Array, knots: Array, extent: float) -> Array:
        # Powers of one complex exponential; whole turns are taken off first, because sines of
        # huge angles lose their phase. 1j * conj(z) is sin + 1j * cos.
        turn = np.exp(-2j * np.pi * (u - np.floor(u)))
        waves = np.full((len(u), len(knots)), turn[:, None]).cumprod(axis=1)
        waves *= 1j
        return waves.view(np.float64)

    def _column_names(self, feature: str, n_knots: int) -> list[str]:
        orders = range(1, n_knots + 1)
        angles = [feature if k == 1 else f"{k}*{feature}" for k in orders]
        return [f"{wave}({angle})" for angle in angles for wave in ("sin", "cos")]


@dataclass(frozen=True, eq=False)
class SigmoidBasis(AdditiveBasis):
    """Logistic steps of each input at even centers: ``1 / (1 + exp(-(x - c) / s))``.

    Parameters
    ----------
    n_centers
        Steps per feature; their centers cut the training range into ``n_centers + 1`` equal
        parts.
    slope
        Length s over which a step rises, in the units of X. If None, the distance between
        centers.

    Examples
    --------
    >>> basis = SigmoidBasis(1, slope=1.0).place([[0.0], [1.0], [2.0]])
    >>> basis.design([[1.0], [2.0]]).round(4)
    array([[0.5   ], [0.7311]])
    """

    n_centers: int = 5
    slope: float | None = None

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return cls(3), Example(cls(2, slope=0.4), unit_free=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_count(n_centers=self.n_centers)
        if self.slope is not None:
            self._require_positive(slope=self.slope)

    def _knots(self, u: Array) -> Array:
        return np.arange(1.0, self.n_centers + 1) / (self.n_centers + 1)

    def _columns(self, u: Array, knots: Array, extent: float) -> Array:
        rise = 1 / (self.n_centers + 1) if self.slope is None else self.slope / extent
        return sigmoid((u[:, None] - knots) / rise)

    def _column_names(self, feature: str, n_knots: int) -> list[str]:
        return [f"sigmoid({feature})[{k}]" for k in range(n_knots)]

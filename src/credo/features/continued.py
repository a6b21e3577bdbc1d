"""Extrapolation: a basis goes on by straight lines outside the box of its training inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo import features
from credo.features.additive import LinearBasis
from credo.features.basis import Basis, column_spread
from credo.numerics.array import Array, as_float
from credo.numerics.form import Form
from credo.numerics.row_hash import hashed_sample

__all__ = ["Beyond", "ContinuedBasis"]

_SAMPLED_ROWS = 2000
_SMALLEST_EIGENVALUE = 1e-10
_BENDING_LENGTH = 0.2
_CENTRAL = (0.025, 0.975)
_KEPT_BENDS = 50


class Beyond(NamedTuple):
    """What is known of rows outside the box of the training inputs.

    Attributes
    ----------
    rows
        Their places, shape (n_outside,).
    edge
        The functions at the nearest points of the box, shape (n_outside, n_columns).
    step
        How far each column of the design went on since the edge, shape (n_outside, n_columns).
    trust
        The part of the step that may be followed if the trend is sure: all of it for one range
        of the training inputs, farther out as much as the logarithm grows, shape (n_outside,).
    doubt
        How often each row may have, once more, the variance of the functions about their
        trends, for each input that some row has outside, if any function is not straight:
        zero at the edge and growing with the distance, shape (n_outside, n_inputs_outside).
    bends
        For each such input the functions that depend on it, about their trends, at some
        training rows, shape (n_sampled, n_columns).
    """

    rows: NDArray[np.intp]
    edge: Array
    step: Array
    trust: Array
    doubt: Array
    bends: Iterable[Array]


@dataclass(frozen=True, eq=False)
class ContinuedBasis(Basis):
    """Any basis inside the box of the training inputs, and straight lines outside of it.

    Just outside, ``b(x) = b(c) + (x - c)^T trend`` with ``c`` the nearest point of the box;
    farther out ``c`` moves to the central part of each input that is outside, 95 % of its
    training values, since the value at the edge hangs on the few rows there. So does a tangent:
    the trend of a function is its least-squares slope over all training inputs. A straight line
    goes on as it is, a bump not at all, and a power or a product no faster than a line.

    Models of it know one thing more of rows that are unlike all training rows in combination:
    outcomes lie where they lay. A function that is in doubt by more than three standard
    deviations of the outcomes, inside or at the nearest point of the box, is held to their
    mean until that much doubt is left.

    Parameters
    ----------
    basis
        What the functions are inside.

    Attributes
    ----------
    placed_lowest, placed_highest
        The box, shape (n_features,).
    placed_center
        Both ends of the central part of each input, shape (2, n_features).
    placed_trend
        Slope of each function by each feature, shape (n_features, n_columns); None for a
        `LinearBasis`, which is its own trend.
    placed_bends
        The functions about their trends at some training rows, shape (n_sampled, n_columns).

    Examples
    --------
    >>> from credo.features import PolynomialBasis
    >>> basis = ContinuedBasis(PolynomialBasis(2)).place([[0.0], [1.0], [2.0]])
    >>> basis.design([[1.0], [2.0], [10.0]]).round(1)
    array([[ 1. ,  1. ], [ 2. ,  4. ], [10. , 19.9]])
    """

    basis: Basis
    placed_lowest: Annotated[Array | None, Form("d")] = field(default=None, repr=False)
    placed_highest: Annotated[Array | None, Form("d", above="placed_lowest")] = field(
        default=None, repr=False
    )
    placed_center: Annotated[Array | None, Form("2 d")] = field(default=None, repr=False)
    placed_trend: Annotated[Array | None, Form("d m")] = field(default=None, repr=False)
    placed_bends: Annotated[Array | None, Form("n m")] = field(default=None, repr=False)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return (
            cls(features.PolynomialBasis(3, orthogonal=True)),
            cls(features.SplineBasis(4) + features.RadialBasis(3)),
            cls(LinearBasis()),
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.basis, Basis):
            raise TypeError(
                f"basis must be a basis from credo.features; found {self.basis!r}. Pass an "
                "instance, such as SplineBasis()."
            )
        if self.placed_lowest is not None:
            self._require_consistent()

    def place(self, X: ArrayLike) -> Self:
        """Return the basis placed inside, with the box and the trends found from ``X``."""
        X = self._training_inputs(X)
        inside = self.basis.place(X)
        lowest, highest = X.min(axis=0), X.max(axis=0)
        shares = (X - lowest) / np.where(highest > lowest, highest - lowest, 1.0)
        sampled = hashed_sample(shares, _SAMPLED_ROWS)
        sample = X[sampled]
        trend, bends = (None, np.zeros((1, X.shape[1])))
        if not isinstance(inside, LinearBasis):
            trend, bends = _trend(inside, sample)
            bends = bends[hashed_sample(shares[sampled], _KEPT_BENDS)]
        return replace(
            self,
            basis=inside,
            placed_lowest=lowest,
            placed_highest=highest,
            placed_center=np.quantile(sample, _CENTRAL, axis=0),
            placed_trend=trend,
            placed_bends=bends,
        )

    def design(self, X: ArrayLike) -> Array:
        """Return the functions at each row, shape (n_samples, n_columns)."""
        X = self._checked(X)
        found = self._outside(X)
        if len(found.rows) == 0 or isinstance(self.basis, LinearBasis):
            return self.basis.design(X)
        nearest = X.copy()
        nearest[found.rows] = found.edge
        design = self.basis.design(nearest)
        center = self.basis.design(found.center)
        design[found.rows] += found.share * (center - design[found.rows])
        design[found.rows] += self._step(found.excess)
        return design

    def is_left(self, X: ArrayLike) -> bool:
        """Return whether any row lies outside the box."""
        X, lowest = self._checked(X), self._require_placed(self.placed_lowest)
        highest = self._require_placed(self.placed_highest)
        return bool(((lowest > X) | (highest < X)).any())

    def beyond(self, X: ArrayLike) -> Beyond:
        """Return which rows lie outside the box, and how far the functions went on there."""
        found = self._outside(self._checked(X))
        is_bent = self.placed_trend is not None
        inputs = np.flatnonzero(found.ranges.any(axis=0) & is_bent)
        ranges = found.ranges[:, inputs]
        # Of a smooth function the covariance with its edge falls off within the length; and
        # farther out not even its trend is sure to go on.
        doubt = 2 * _forgotten(ranges) + ranges**2
        distance = np.maximum(np.linalg.norm(found.ranges, axis=1), 1.0)
        trust = (1 + np.log(distance)) / distance
        edge, step = self.basis.design(found.edge), self._step(found.excess)
        return Beyond(found.rows, edge, step, trust, doubt, self._bends(inputs))

    def n_columns(self, n_features: int) -> int:
        """Return the number of functions of the basis inside."""
        return self.basis.n_columns(n_features)

    def names(self, feature_names: Sequence[str]) -> list[str]:
        """Return the names that the basis inside gives."""
        return self.basis.names(feature_names)

    def follows(self, n_features: int) -> NDArray[np.bool_]:
        """Return which inputs each function of the basis inside may follow."""
        return self.basis.follows(n_features)

    def _checked(self, X: ArrayLike) -> Array:
        return self._inputs(X, len(self._require_placed(self.placed_lowest)))

    def _outside(self, X: Array) -> _Outside:
        lowest, highest = self._require_placed(self.placed_lowest), self.placed_highest
        assert highest is not None
        is_outside = (lowest > X) | (highest < X)
        rows = np.flatnonzero(is_outside.any(axis=1))
        extent = highest - lowest
        x, is_outside = X[rows], is_outside[rows] & (extent > 0)
        edge = np.clip(x, lowest, highest)
        low, high = self._require_placed(self.placed_center)
        center = np.where(is_outside, np.clip(x, low, high), edge)
        ranges = (x - edge) / np.where(extent > 0, extent, np.inf)
        share = _forgotten(np.linalg.norm(ranges, axis=1, keepdims=True))
        excess = x - edge + share * (edge - center)
        return _Outside(rows, edge, center, excess, ranges, share)

    def _bends(self, inputs: NDArray[np.intp]) -> Iterator[Array]:
        """Yield the bends of the functions that depend on each input; bumps do on all."""
        bends = self._require_placed(self.placed_bends)
        follows = self.follows(len(self._require_placed(self.placed_lowest)))
        depends = follows | ~follows.any(axis=0)
        for j in inputs:
            yield bends * depends[j]

    def _step(self, excess: Array) -> Array:
        return excess if self.placed_trend is None else excess @ self.placed_trend

    def _require_consistent(self) -> None:
        """Raise unless box, trends and bends belong together and are finite."""
        lowest = self._require_placed(self.placed_lowest)
        highest = self._require_placed(self.placed_highest)
        center = self._require_placed(self.placed_center)
        bends = self._require_placed(self.placed_bends)
        trend, n_features = self.placed_trend, len(lowest)
        has_trend = not isinstance(self.basis, LinearBasis)
        parts = [lowest, highest, center, bends, *([] if trend is None else [trend])]
        shapes = [(n_features,), (n_features,), (2, n_features)]
        n_columns = self.basis.n_columns(n_features)
        shapes += [(len(bends), n_columns), *[(n_features, n_columns)] * has_trend]
        found = [part.shape for part in parts]
        if found != shapes:
            raise ValueError(
                "a placed ContinuedBasis must have a box, a center, and trends and bends of "
                f"its functions, of shapes {shapes}; found {found}. Call basis.place(X)."
            )
        is_finite = all(np.isfinite(part).all() for part in parts)
        if not is_finite or len(bends) == 0 or (lowest > highest).any():
            raise ValueError(
                "a placed ContinuedBasis must have a finite box and finite trends and bends; "
                "found others. Call basis.place(X)."
            )


class _Outside(NamedTuple):
    """Rows outside the box, all arrays of shape (n_outside, n_features) unless stated.

    Attributes
    ----------
    rows
        Their places, shape (n_outside,).
    edge, center
        The nearest point of the box; the same with inputs outside moved to their central part.
    excess
        What is left of the inputs to go on by.
    ranges
        How far they are outside, in ranges of the training inputs.
    share
        How far the way from edge to center is gone, shape (n_outside, 1).
    """

    rows: NDArray[np.intp]
    edge: Array
    center: Array
    excess: Array
    ranges: Array
    share: Array


def _forgotten(ranges: Array) -> Array:
    """Return how much of what is known at the edge does not hold any more so far outside."""
    return np.asarray(-np.expm1(-0.5 * (ranges / _BENDING_LENGTH) ** 2))


def _trend(basis: Basis, X: Array) -> tuple[Array, Array]:
    """Return the least-squares slopes of the functions by the inputs, and what they leave.

    A function is held against the inputs that it may follow alone: against others it would
    have slopes by chance. Of inputs that determine each other the shortest slopes are taken.
    """
    scale = column_spread(X, np.inf)
    centered = (X - X.mean(axis=0)) / scale
    design = basis.design(X)
    functions = design - design.mean(axis=0)
    slopes = np.zeros((X.shape[1], functions.shape[1]))
    follows = basis.follows(X.shape[1])
    n_followed = follows.sum(axis=0)
    if not n_followed.any():
        return slopes, functions
    gram, products = centered.T @ centered, centered.T @ functions
    for n_inputs in np.unique(n_followed[n_followed > 0]):
        columns = np.flatnonzero(n_followed == n_inputs)
        if n_inputs == len(gram):
            slopes[:, columns] = _inverse(gram) @ products[:, columns]
            continue
        inputs = np.nonzero(follows[:, columns].T)[1].reshape(-1, n_inputs)
        inverses = _inverse(gram[inputs[:, :, None], inputs[:, None, :]])
        found = inverses @ products[inputs, columns[:, None]][..., None]
        slopes[inputs, columns[:, None]] = found[..., 0]
    return slopes / scale[:, None], functions - centered @ slopes


def _inverse(gram: Array) -> Array:
    return as_float(np.linalg.pinv(gram, rcond=_SMALLEST_EIGENVALUE, hermitian=True))

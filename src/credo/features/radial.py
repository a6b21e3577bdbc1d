"""Radial basis functions: Gaussian bumps around centers."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.features.basis import Basis, column_spread
from credo.numerics.array import Array, as_float, squared_distances
from credo.numerics.example import Example
from credo.numerics.form import SMALLEST, Form
from credo.numerics.linear.clustering import kmeans

__all__ = ["RadialBasis"]

_CENTER_RULES = ("clusters", "uniform", "data")
_WIDTH_RULES = ("median", "mean_square")
_CLUSTERED_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class RadialBasis(Basis):
    """Gaussian functions of the distance to centers: ``exp(-|x - c|^2 / (2 w^2))``.

    Parameters
    ----------
    n_centers
        Number of centers; for ``centers="uniform"`` the number along each feature.
    centers
        ``"clusters"``: centers of k-means clusters of the training inputs. ``"uniform"``: an
        even grid over the box they fill, n^D centers in D features. ``"data"``: every distinct
        training row. Or an array, shape (n_centers, n_features), in the units of X.
    width
        ``"median"`` or ``"mean_square"``: the median, or the root of the mean square, of the
        distances from centers to their nearest neighbors, 2 D of them (those along the axes of
        a grid); a lone center takes the distances to the training rows. Or a number, in the
        units of X. Distances under a rule are between columns scaled to standard deviation
        one, so the rules do not depend on units.
    width_scale
        Factor on every width.
    per_center
        If true, a rule is applied around each center instead of over all of them.

    Notes
    -----
    Centers and widths are never fitted to the targets: that ends in one spike per point.

    Examples
    --------
    >>> basis = RadialBasis(centers=[[0.0], [1.0]], width=0.5)
    >>> basis.design([[0.0], [0.5]]).round(4)
    array([[1.    , 0.1353], [0.6065, 0.6065]])
    """

    n_centers: int = 10
    centers: str | ArrayLike = "clusters"
    width: str | float = "median"
    width_scale: float = 1.0
    per_center: bool = False
    placed_centers: Annotated[Array | None, Form("m d")] = field(default=None, repr=False)
    placed_widths: Annotated[Array | None, Form("...", SMALLEST)] = field(
        default=None, repr=False
    )
    placed_scale: Annotated[Array | None, Form("d", SMALLEST)] = field(default=None, repr=False)

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return (
            cls(8),
            cls(3, centers="uniform", width="mean_square", width_scale=1.5),
            cls(centers="data", per_center=True, width_scale=0.3),
            Example(cls(centers=[[0.0, 0.0], [1.0, 1.0]], width=0.7), unit_free=False),
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_count(n_centers=self.n_centers)
        self._require_positive(width_scale=self.width_scale)
        if isinstance(self.width, str):
            _require_rule("width", self.width, _WIDTH_RULES)
        else:
            self._require_positive(width=self.width)
        if isinstance(self.centers, str):
            _require_rule("centers", self.centers, _CENTER_RULES)
        else:
            object.__setattr__(self, "centers", _distinct_rows(self.centers))
            self._place_given()

    def place(self, X: ArrayLike) -> Self:
        """Return the basis with centers, widths and column scales found from ``X``."""
        X = self._training_inputs(X)
        spread = column_spread(X, 1.0)
        centers = self._find_centers(X, spread)
        scale = spread if isinstance(self.width, str) else np.ones(X.shape[1])
        widths = self._find_widths(centers / scale, X / scale)
        return replace(self, placed_centers=centers, placed_widths=widths, placed_scale=scale)

    def design(self, X: ArrayLike) -> Array:
        """Return the bumps at each row, shape (n_samples, n_centers), between 0 and 1."""
        centers = self._require_placed(self.placed_centers)
        scale = self._require_placed(self.placed_scale)
        widths = self._require_placed(self.placed_widths)
        X = self._inputs(X, centers.shape[1])
        design = squared_distances(X / scale, centers / scale)
        design *= -0.5 / np.square(widths)
        np.exp(design, out=design)
        # Scaled to unit spread, a column of such remainders would outweigh all that is known.
        design[design < np.finfo(float).eps] = 0.0
        return design

    def n_columns(self, n_features: int) -> int:
        """Return the number of centers."""
        return len(self._require_placed(self.placed_centers))

    def names(self, feature_names: Sequence[str]) -> list[str]:
        """Return ``rbf[0]``, ``rbf[1]``, ..."""
        return [f"rbf[{k}]" for k in range(self.n_columns(len(feature_names)))]

    def follows(self, n_features: int) -> NDArray[np.bool_]:
        """Return that bumps follow no input: far away they are zero."""
        return np.zeros((n_features, self.n_columns(n_features)), dtype=np.bool_)

    def _find_centers(self, X: Array, spread: Array) -> Array:
        if not isinstance(self.centers, str):
            centers = as_float(self.centers)
            self._inputs(X, centers.shape[1])
            return centers
        if self.centers == "uniform":
            return self._grid(X)
        if self.centers == "data":
            rows = np.unique(X, axis=0)
            self._refuse_too_many(len(rows), 'Use centers="clusters" with fewer centers.')
            return rows
        self._refuse_too_many(self.n_centers, "Lower n_centers.")
        origin: Array = X.mean(axis=0)
        rows = _in_fixed_order((X - origin) / spread, max(_CLUSTERED_ROWS, 20 * self.n_centers))
        found = _cluster_centers(rows.tobytes(), rows.shape[1], self.n_centers)
        return found * spread + origin

    def _grid(self, X: Array) -> Array:
        """Return an even grid over the box of ``X``; a constant feature has one level."""
        low, high = X.min(axis=0), X.max(axis=0)
        levels = np.where(high > low, self.n_centers, 1).tolist()
        total = 1
        for level in levels:
            total *= level
        self._refuse_too_many(
            total,
            f"A grid of {self.n_centers} centers along each of {X.shape[1]} features grows as "
            'n^D: use centers="clusters", fewer centers or fewer features.',
        )
        axes = [
            np.linspace(a, b, n) if n > 1 else np.array([(a + b) / 2])
            for a, b, n in zip(low, high, levels, strict=True)
        ]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(total, -1)

    def _find_widths(self, centers: Array, X: Array) -> Array:
        """Return one width, or one per center, in the scale of ``centers``."""
        if not isinstance(self.width, str):
            return np.array(self.width * self.width_scale)
        squares = _neighbor_squares(centers, X)
        axis = 1 if self.per_center else None
        if self.width == "median":
            widths = np.asarray(np.median(np.sqrt(squares), axis=axis))
        else:
            widths = np.asarray(np.sqrt(squares.mean(axis=axis)))
        # Training rows that are all alike have no distances; any width is right for them.
        return np.where(widths > 0, widths, 1.0) * self.width_scale

    def _place_given(self) -> None:
        """Centers and width given as numbers need no training inputs."""
        if not isinstance(self.width, str) and self.placed_centers is None:
            centers = as_float(self.centers)
            object.__setattr__(self, "placed_centers", centers)
            object.__setattr__(self, "placed_widths", np.array(self.width * self.width_scale))
            object.__setattr__(self, "placed_scale", np.ones(centers.shape[1]))


@lru_cache(maxsize=4)
def _cluster_centers(rows: bytes, n_columns: int, n_centers: int) -> Array:
    """Return the centers of clusters; several bases on the same rows share one search."""
    X = np.frombuffer(rows).reshape(-1, n_columns)
    return kmeans(X, n_centers, np.random.default_rng(0)).centers


def _require_rule(name: str, found: str, rules: tuple[str, ...]) -> None:
    if found not in rules:
        raise ValueError(
            f"{name} must be given as numbers or as one of {rules}; found {found!r}. "
            "Name a rule or pass numbers."
        )


def _distinct_rows(centers: ArrayLike) -> Array:
    """Return given centers as a matrix; a repeated one would repeat its column."""
    rows = as_float(centers)
    rows = rows[:, None] if rows.ndim == 1 else rows
    n_repeated = len(rows) - len(np.unique(rows, axis=0))
    if n_repeated:
        raise ValueError(
            f"centers must be distinct; found {n_repeated} repeated rows of {len(rows)}. "
            "Remove the repetitions."
        )
    return rows


def _in_fixed_order(Z: Array, at_most: int) -> Array:
    """Return rows in an order set by their values alone, evenly thinned to ``at_most``.

    K-means seeds depend on the order of rows; the order along one random direction does not
    depend on how the caller sorted the table.
    """
    direction = np.random.default_rng(0).normal(size=Z.shape[1])
    order = np.argsort((Z * direction).sum(axis=1), kind="stable")
    n_picks = min(len(Z), at_most)
    picks = np.arange(n_picks) * len(Z) // n_picks
    return Z[order[picks]]


def _neighbor_squares(centers: Array, X: Array) -> Array:
    """Return squared distances from each center to its 2 D nearest others, nearest first."""
    if len(centers) == 1:
        return squared_distances(centers, X)
    squares = squared_distances(centers, centers)
    n_neighbors = min(2 * centers.shape[1], len(centers) - 1)
    np.fill_diagonal(squares, np.inf)
    return np.partition(squares, n_neighbors - 1, axis=1)[:, :n_neighbors]

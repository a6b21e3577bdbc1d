"""K-medoids: rows in groups around rows that stand for them, under any distance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.models.contract.inputs import (
    FittedInputs,
    generator,
    require_choice,
    require_count,
    row_weight,
    validated,
)
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.linear.clustering import (
    ClusterRows,
    by_weight,
    farthest_first,
    n_distinct,
)
from credo.numerics.linear.medoids import (
    METRICS,
    Medoids,
    RowDistances,
    TableDistances,
    swapped,
)

__all__ = ["KMedoids"]

Labels = NDArray[np.intp]
Metric = str | Callable[[Array, Array], float]

PRECOMPUTED = "precomputed"
STARTS = ("farthest-first", "k-means++", "random-rows")


class KMedoids(
    FittedInputs, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """K-medoids: the rows with the least sum of distances to all rows that swaps find.

    Centers are rows of the data, so that any distance will do, and an outlier moves a center
    less than it moves a mean. A medoid is swapped for another row as long as that lowers the
    sum (FasterPAM); memory grows with the number of rows, not with its square.

    Parameters
    ----------
    n_clusters
        Number of medoids, at most the number of rows that differ.
    metric
        "euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation",
        "canberra", "braycurtis", "hamming"; a function of two rows; or "precomputed", where
        ``X`` is a table of distances (n, n).
    init
        "farthest-first", a random row and then each row that is farthest from those before:
        its largest radius is at most twice the least there is; "k-means++", drawn by squared
        distance; "random-rows". Or the numbers of rows, shape (K,), for one start.
    n_restarts
        Number of starts; that with the least sum is kept.
    swaps
        Whether to swap at all, or to keep the first medoids.
    random_state
        Of the starts.

    Attributes
    ----------
    medoid_indices_
        Which rows are medoids, shape (K,); the one with most rows around it comes first.
    cluster_centers_
        These rows (K, d); none if distances were given.
    labels_
        Medoid of each row, shape (n,).
    inertia_
        Sum of distances to the medoids, by weight: the objective.
    radius_
        Largest distance of a row from its medoid.
    objectives_
        The objective of every start, shape (n_restarts,).
    history_
        The objective of the best start, at first and after each swap.

    Examples
    --------
    >>> rows = [[0, 0], [0, 1], [1, 0], [8, 8], [9, 8], [8, 9], [4, 4]]
    >>> model = KMedoids(3, metric="sqeuclidean", random_state=0).fit(rows)
    >>> sorted(model.medoid_indices_.tolist()), model.inertia_
    ([0, 3, 6], 4.0)
    """

    medoid_indices_: Annotated[Labels, Form("k", 0)]
    cluster_centers_: Annotated[Array | None, Form("k d")]
    labels_: Annotated[Labels, Form("n", 0, "k")]
    inertia_: Annotated[float, Form(low=0.0)]
    radius_: Annotated[float, Form(low=0.0)]
    objectives_: Annotated[Array, Form("r", 0.0)]
    history_: Annotated[Array, Form("t", 0.0)]
    _sklearn_output_config: dict[str, str]

    def __init__(
        self,
        n_clusters: int = 8,
        metric: Metric = "euclidean",
        init: str | ArrayLike = "farthest-first",
        n_restarts: int = 1,
        swaps: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.init = init
        self.n_restarts = n_restarts
        self.swaps = swaps
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        plain = cls(2, random_state=0)
        blocks = cls(3, "cityblock", "k-means++", n_restarts=3, random_state=0)
        return tuple(Example(it, unit_free=False) for it in (plain, blocks))

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)

    def fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find the medoids of ``X``: rows (n, d), or distances (n, n)."""
        self._check_settings()
        rows = np.asarray(validated(self, X, dtype=np.float64, order="C"))
        weight = row_weight(sample_weight, rows)
        is_table = self.metric == PRECOMPUTED
        if is_table:
            _require_distances(rows)
        chosen = np.flatnonzero(weight > 0)
        own = rows[np.ix_(chosen, chosen)] if is_table else rows[chosen]
        self._require_different(own)
        if not is_table:
            # In an order of their own, rows have the same answer wherever they stood.
            order = ClusterRows(own, weight[chosen]).order
            chosen = chosen if order is None else chosen[order]
            own = np.ascontiguousarray(rows[chosen])
        source = TableDistances(own) if is_table else RowDistances(own, self.metric)
        found = [
            swapped(source, start, weight[chosen], 100 if self.swaps else 0)
            for start in self._starts(source, weight[chosen], chosen)
        ]
        best = min(found, key=lambda one: float(one.objective[-1]))
        self.objectives_ = np.array([one.objective[-1] for one in found])
        self._set_sorted(best, rows, chosen, weight)
        return self

    def _set_sorted(self, best: Medoids, rows: Array, chosen: Labels, weight: Array) -> None:
        """Set the answer with medoids in order of weight, and distances without rounding."""
        places = chosen[best.places]
        is_table = self.metric == PRECOMPUTED
        keys = places[:, None].astype(np.float64) if is_table else rows[places]
        order, _ = by_weight(best.labels, weight[chosen], keys)
        self.medoid_indices_ = places[order]
        self.cluster_centers_ = None if is_table else rows[self.medoid_indices_]
        away = self._away(rows)
        self.labels_ = np.asarray(away.argmin(axis=1))
        near = away[np.arange(len(rows)), self.labels_]
        self.inertia_ = float(weight @ near)
        self.radius_ = float(near[weight > 0].max())
        self.history_ = np.maximum(best.objective, 0.0)

    def _starts(self, source: Any, weight: Array, chosen: Labels) -> list[Labels]:
        k = int(self.n_clusters)
        if isinstance(self.init, str):
            rng = generator(self.random_state)
            draw = {
                "farthest-first": _farthest_first,
                "k-means++": _by_square,
                "random-rows": _random_rows,
            }[self.init]
            return [draw(source, weight, k, rng) for _ in range(self.n_restarts)]
        given = np.asarray(self.init)
        place = np.full(int(chosen.max()) + 1, -1)
        place[chosen] = np.arange(len(chosen))
        is_whole = given.dtype.kind in "iu" and given.shape == (k,)
        is_in = is_whole and bool(((given >= 0) & (given < len(place))).all())
        if not is_in or (place[given] < 0).any() or len(np.unique(given)) < k:
            raise ValueError(
                f"init must be the numbers of {k} different rows that count, or one of "
                f"{STARTS}; found an array of shape {given.shape}. Pass whole numbers."
            )
        return [place[given]]

    def predict(self, X: ArrayLike) -> Labels:
        """Return the number of the nearest medoid of each row; a tie goes to the first."""
        return np.asarray(self._away(self._inputs(X)).argmin(axis=1))

    def transform(self, X: ArrayLike) -> Array:
        """Return the distance of each row from each medoid, shape (n, K)."""
        return self._away(self._inputs(X))

    def _inputs(self, X: ArrayLike) -> Array:
        check_is_fitted(self, "medoid_indices_")
        return np.asarray(validated(self, X, dtype=np.float64, reset=False))

    def _away(self, rows: Array) -> Array:
        """Return distances from the medoids; of given distances those columns."""
        if self.cluster_centers_ is None:
            return np.asarray(rows[:, self.medoid_indices_])
        if self.metric in ("euclidean", "sqeuclidean"):
            found = np.zeros((len(rows), len(self.cluster_centers_)))
            for column, place in zip(rows.T, self.cluster_centers_.T, strict=True):
                found += np.square(column[:, None] - place)
            return np.sqrt(found) if self.metric == "euclidean" else found
        return RowDistances(self.cluster_centers_, self.metric).to(rows)

    def _require_different(self, rows: Array) -> None:
        k, n = int(self.n_clusters), len(rows)
        n_different = n_distinct(rows, k) if n else 0
        if n_different < k:
            raise ValueError(
                f"n_clusters must be at most the number of rows that differ; found {k} for "
                f"{n_different} different of n_samples = {n} that count. Ask for at most "
                f"{max(n_different, 1)} clusters."
            )

    def _check_settings(self) -> None:
        for name in ("n_clusters", "n_restarts"):
            require_count(name, getattr(self, name))
        if not callable(self.metric):
            require_choice("metric", self.metric, (*METRICS, PRECOMPUTED))
        if isinstance(self.init, str):
            require_choice("init", self.init, STARTS)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == PRECOMPUTED
        return tags


def _require_distances(table: Array) -> None:
    if table.shape[0] != table.shape[1]:
        raise ValueError(
            "X must be a square table of distances for metric='precomputed'; found shape "
            f"{table.shape}. Pass distances between all rows, or another metric."
        )
    if (table < 0).any() or np.abs(np.diagonal(table)).max(initial=0.0) > 0:
        raise ValueError(
            "distances must not be negative, and zero from a row to itself; found a least "
            f"value of {table.min():g} and up to {np.diagonal(table).max():g} on the "
            "diagonal. Pass distances, not similarities."
        )
    if not np.allclose(table, table.T, rtol=1e-6, atol=1e-9 * table.max(initial=0.0)):
        raise ValueError(
            "distances must be the same in both directions; found some that differ. Pass the "
            "mean of the table and its transpose, if that is meant."
        )


def _drawn(share: Array, rng: Generator) -> int:
    totals = np.cumsum(share)
    place = int(np.searchsorted(totals, rng.random() * totals[-1], side="right"))
    return min(place, int(np.searchsorted(totals, totals[-1])))


def _farthest_first(source: Any, weight: Array, k: int, rng: Generator) -> Labels:
    return farthest_first(source.gaps, _drawn(weight, rng), k)


def _by_square(source: Any, weight: Array, k: int, rng: Generator) -> Labels:
    chosen = [_drawn(weight, rng)]
    gap = np.array(source.gaps(chosen[0]))
    while len(chosen) < k:
        share = weight * (gap / (gap.max() or 1.0)) ** 2
        chosen.append(_drawn(share if share.any() else weight, rng))
        np.minimum(gap, source.gaps(chosen[-1]), out=gap)
    return np.array(chosen, dtype=np.intp)


def _random_rows(source: Any, weight: Array, k: int, rng: Generator) -> Labels:
    share = weight.copy()
    chosen: list[int] = []
    while len(chosen) < k:
        chosen.append(_drawn(share, rng))
        share[chosen[-1]] = 0.0
    return np.array(chosen, dtype=np.intp)

"""K-means: rows in groups around centers, each row with the nearest."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from credo.inference.engine.engine import ConvergenceWarning
from credo.models.contract.inputs import (
    FittedInputs,
    generator,
    require_choice,
    require_count,
    row_weight,
    validated,
)
from credo.numerics.array import Array, as_float, squared_distances
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.linear.clustering import (
    STARTS,
    Clustering,
    ClusterRows,
    ClusterTrace,
    by_weight,
    lloyd,
    n_distinct,
    nearest,
)
from credo.numerics.warning import warn_user

__all__ = ["KMeans"]

Labels = NDArray[np.intp]


class KMeans(
    FittedInputs, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """K-means: the centers with the least sum of squared distances that descent finds.

    Rows go to their nearest center and centers to the mean of their rows, in turn, until no
    row changes. What is found is a local minimum, so that several starts are tried and the
    best is kept. Columns count in the units they come in: standardize them, or use `Whiten`.

    Parameters
    ----------
    n_clusters
        Number of centers, at most the number of rows that differ.
    init
        How the first centers are chosen: "k-means++", rows drawn one by one with probability
        proportional to the squared distance from those before, the best of a few at a time;
        "random-rows"; "random-labels", the means of rows with random labels; "random-box",
        places in the box around all rows; "farthest-first", each the row farthest from those
        before. Or an array of centers, shape (K, d), from which there is one start.
    n_restarts
        Number of starts; that with the least objective is kept.
    max_steps
        Steps of one start after which it ends with a warning.
    tolerance
        Share of the objective that a step must gain to go on; at 0 it goes on until no row
        changes.
    random_state
        Of the starts.

    Attributes
    ----------
    cluster_centers_
        Centers (K, d); the one with most rows comes first.
    labels_
        Center of each row of the last data, shape (n,).
    inertia_
        Sum of squared distances to the centers, by weight: the objective.
    objectives_
        The same of every start, shape (n_restarts,).
    history_
        Centers, objective and number of rows that changed, for each step of the best start;
        ``history_.labels(X, step)`` are the labels of a step.
    cluster_weight_
        Weight of the rows of each center, shape (K,).
    n_repairs_
        How often a center had lost all its rows: it then begins anew at the row that is
        farthest from its own center.
    n_iter_
        Number of steps of the best start.

    Examples
    --------
    >>> rows = [[0, 0], [0, 1], [1, 0], [8, 8], [9, 8], [8, 9], [4, 4]]
    >>> model = KMeans(2, random_state=0).fit(rows)
    >>> model.inertia_.__round__(4), model.labels_.tolist()
    (22.8333, [0, 0, 0, 1, 1, 1, 0])
    >>> model.cluster_centers_.round(2)
    array([[1.25, 1.25], [8.33, 8.33]])
    """

    cluster_centers_: Annotated[Array, Form("k d")]
    cluster_weight_: Annotated[Array, Form("k", 0.0)]
    labels_: Annotated[Labels, Form("n", 0, "k")]
    inertia_: Annotated[float, Form(low=0.0)]
    objectives_: Annotated[Array, Form("r", 0.0)]
    history_: ClusterTrace
    n_iter_: Annotated[int, Form(low=0)]
    n_repairs_: Annotated[int, Form(low=0)]
    _sklearn_output_config: dict[str, str]

    def __init__(
        self,
        n_clusters: int = 8,
        init: str | ArrayLike = "k-means++",
        n_restarts: int = 5,
        max_steps: int = 1000,
        tolerance: float = 1e-7,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_restarts = n_restarts
        self.max_steps = max_steps
        self.tolerance = tolerance
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        few = cls(2, n_restarts=10, random_state=0)
        far = cls(2, "farthest-first", n_restarts=10, random_state=0)
        return tuple(Example(it, unit_free=False, streams=False) for it in (few, far))

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find the centers of ``X`` (n, d), forgetting earlier data."""
        self._check_settings()
        rows = np.asarray(validated(self, X, dtype=np.float64, order="C"))
        weight = row_weight(sample_weight, rows)
        counts = weight > 0
        if counts.all():
            return self._search(ClusterRows(rows, weight), None)
        return self._search(ClusterRows(rows[counts], weight[counts]), rows)

    def _search(self, rows: ClusterRows, everything: Array | None) -> Self:
        """Keep the best of all starts; label rows without weight as well, if there are any."""
        found = [lloyd(rows, s, self.max_steps, self.tolerance) for s in self._starts(rows)]
        best = min(found, key=lambda one: one.scatter)
        if not best.is_settled:
            warn_user(
                f"k-means stopped after max_steps={self.max_steps} while rows still changed "
                "their center. Raise max_steps or tolerance.",
                ConvergenceWarning,
            )
        self.objectives_ = np.array([one.scatter for one in found])
        self.n_repairs_ = sum(one.n_repairs for one in found)
        self.n_iter_ = len(best.trace.objective)
        self.inertia_ = best.scatter
        self._set_sorted(best, rows.weight)
        if everything is not None:
            self.labels_ = nearest(everything, self.cluster_centers_)
        return self

    def _set_sorted(self, best: Clustering, weight: Array) -> None:
        """Set the answer with centers in order of weight, those of equal weight by place."""
        order, mass = by_weight(best.labels, weight, best.centers)
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order))
        trace = best.trace
        self.cluster_centers_, self.cluster_weight_ = best.centers[order], mass[order]
        self.labels_ = rank[best.labels]
        self.history_ = ClusterTrace(trace.centers[:, order], trace.objective, trace.n_moved)

    def _starts(self, rows: ClusterRows) -> list[Array]:
        k = int(self.n_clusters)
        n_different = n_distinct(rows.x, k) if len(rows.x) else 0
        if n_different < k:
            raise ValueError(
                f"n_clusters must be at most the number of rows that differ; found {k} for "
                f"{n_different} different of n_samples = {len(rows.x)} that count. Ask for "
                f"at most {max(n_different, 1)} clusters."
            )
        if isinstance(self.init, str):
            rng = generator(self.random_state)
            return [STARTS[self.init](rows, k, rng) for _ in range(self.n_restarts)]
        start = as_float(self.init)
        if start.shape != (k, rows.x.shape[1]) or not np.isfinite(start).all():
            raise ValueError(
                "init must be finite centers of shape (n_clusters, n_features), here "
                f"({k}, {rows.x.shape[1]}); found shape {start.shape}. Pass one row for each "
                "center, or the name of a start."
            )
        return [start]

    def partial_fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one more chunk in constant memory.

        The first chunk is fitted, and must have ``n_clusters`` rows that differ. From then on
        rows go to their nearest center, and each center is the mean of all rows that ever came
        to it. ``inertia_`` adds up what each chunk had when it came.
        """
        if not hasattr(self, "cluster_centers_"):
            return self.fit(X, y, sample_weight)
        self._check_settings()
        rows = np.asarray(validated(self, X, dtype=np.float64, order="C", reset=False))
        weight = row_weight(sample_weight, rows)
        rows, weight = rows[weight > 0], weight[weight > 0]
        if not len(rows):
            return self
        chunk = lloyd(ClusterRows(rows, weight), self.cluster_centers_, 0)
        k = len(self.cluster_centers_)
        mass = np.bincount(chunk.labels, weight, k)
        away = rows - self.cluster_centers_[chunk.labels]
        sums = np.transpose([np.bincount(chunk.labels, weight * c, k) for c in away.T])
        self.cluster_weight_ = self.cluster_weight_ + mass
        self.cluster_centers_ = self.cluster_centers_ + sums / self.cluster_weight_[:, None]
        self.labels_ = nearest(rows, self.cluster_centers_)
        self.inertia_ += chunk.scatter
        return self

    def predict(self, X: ArrayLike) -> Labels:
        """Return the number of the nearest center of each row; a tie goes to the first."""
        return nearest(self._inputs(X), self.cluster_centers_)

    def transform(self, X: ArrayLike) -> Array:
        """Return the distance of each row from each center, shape (n, K)."""
        return np.sqrt(squared_distances(self._inputs(X), self.cluster_centers_))

    def quantize(self, X: ArrayLike) -> Array:
        """Return each row's center in its place, shape (n, d): vector quantization."""
        return np.asarray(self.cluster_centers_[self.predict(X)])

    def score(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return minus the sum of squared distances to the nearest centers."""
        rows = self._inputs(X)
        away = rows - self.cluster_centers_[nearest(rows, self.cluster_centers_)]
        return -float(row_weight(sample_weight, rows) @ np.square(away).sum(axis=1))

    def _inputs(self, X: ArrayLike) -> Array:
        check_is_fitted(self, "cluster_centers_")
        return np.asarray(validated(self, X, dtype=np.float64, reset=False))

    def _check_settings(self) -> None:
        for name in ("n_clusters", "n_restarts", "max_steps"):
            require_count(name, getattr(self, name))
        if isinstance(self.init, str):
            require_choice("init", self.init, tuple(STARTS))
        if not (isinstance(self.tolerance, int | float) and 0 <= self.tolerance < 1):
            raise ValueError(
                "tolerance must be the share of the objective that a step must gain, from 0 "
                f"to below 1; found {self.tolerance!r}. Pass 0 to go on until no row changes."
            )

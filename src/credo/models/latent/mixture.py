"""What every mixture answers: components of rows, densities, draws, and rows that are odd."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from credo.distributions.class_conditional import ClassConditional
from credo.families.bernoulli import BetaBernoulli
from credo.families.categorical import DirichletCategorical
from credo.families.exponential import GammaExponential
from credo.families.normal import NormalStatistics
from credo.families.normal_component import mixture_belief
from credo.families.poisson import GammaPoisson
from credo.families.product import Product
from credo.inference.latent.latent_class import IncompleteRows
from credo.inference.latent.mixture_search import MixtureHistory
from credo.models.contract.inputs import (
    FittedInputs,
    generator,
    require_choice,
    require_moderate,
    validated,
)
from credo.numerics.array import Array
from credo.numerics.form import Form

__all__ = [
    "ColumnKinds",
    "Mixture",
    "co_clustering_of",
    "column_belief",
    "incomplete_rows",
    "read_columns",
    "require_rate",
]

N_SCORED = 100_000
"""Rows drawn from a mixture to find how low its log density falls at some rate."""

MOST_PAIRS = 1 << 27
"""Numbers of a table of pairs of rows."""


class Mixture(FittedInputs, DensityMixin, BaseEstimator):
    """A part of all mixtures: what a fitted one answers.

    Attributes
    ----------
    varying_, constant_
        Columns that vary, and a value of each column. One that never varies says nothing and is
        left out: its density would be endless.
    predictive_
        Weight of each component and density of its rows, in the columns that vary.
    component_
        The component that each entry of ``predictive_`` is of, shape (m,): one to one, unless
        there is an entry for each component of each draw.
    """

    varying_: Annotated[NDArray[np.intp], Form("v", 0)]
    constant_: Annotated[Array, Form("d")]
    predictive_: ClassConditional
    component_: Annotated[NDArray[np.intp], Form("m", 0)]
    n_components_: Annotated[int, Form(low=1)]
    bound_: Annotated[float, Form(low=-np.inf, high=np.inf, has_gaps=True)]
    log_evidence_: Annotated[float, Form(low=-np.inf, high=np.inf, has_gaps=True)]
    evidence_method_: str
    history_: MixtureHistory

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probability of each component for each row, shape (n, K).

        What is missing is integrated out; a row without any value has the weights.
        """
        rows = self._varying_rows(X)
        share = np.exp(self.predictive_.log_posterior(rows))
        if share.shape[1] == self.n_components_:
            return share
        member = np.zeros((share.shape[1], self.n_components_))
        member[np.arange(len(member)), self.component_] = 1.0
        return np.asarray(share @ member)

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Return the most probable component of each row, shape (n,)."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def fit_predict(
        self, X: ArrayLike, y: object = None, **fit_params: Any
    ) -> NDArray[np.intp]:
        """Learn from rows and return the most probable component of each."""
        fitted: Any = self
        return np.asarray(fitted.fit(X, y, **fit_params).predict(X))

    def log_prob(self, X: ArrayLike) -> Array:
        """Return the log density of each row, shape (n,); what is missing is integrated out."""
        rows = self._varying_rows(X)
        return self.predictive_.log_marginal(rows)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return the mean log density of rows."""
        return float(np.mean(self.log_prob(X)))

    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """Return ``n`` new rows, shape (n, d)."""
        check_is_fitted(self, "predictive_")
        drawn = self.predictive_.sample(generator(random_state), n)[0]
        if len(self.varying_) == len(self.constant_):
            return drawn
        answer = np.repeat(self.constant_[None], n, axis=0)
        answer[:, self.varying_] = drawn
        return answer

    def anomaly_threshold(
        self, rate: float = 0.01, X: ArrayLike | None = None, random_state: Any = 0
    ) -> float:
        """Return the log density below which a share ``rate`` of usual rows falls.

        Parameters
        ----------
        rate
            False alarms per usual row, between 0 and 1.
        X
            Usual rows that the mixture was not fitted to, from which the threshold is found
            whether or not the mixture is right: a new row falls below it with probability at
            most ``rate``. Without them rows are drawn from the mixture, which is right if it
            is.
        """
        check_is_fitted(self, "predictive_")
        require_rate(rate)
        if X is None:
            rng = generator(random_state)
            rows = self.predictive_.sample(rng, N_SCORED)[0]
            return float(np.quantile(self.predictive_.log_marginal(rows), rate))
        scores = np.sort(self.log_prob(X))
        place = int(np.floor(rate * (len(scores) + 1))) - 1
        if place < 0:
            raise ValueError(
                f"X must have at least {int(np.ceil(1.0 / rate)) - 1} rows for a rate of "
                f"{rate:g}; found {len(scores)}. Pass more rows, or a larger rate."
            )
        return float(scores[place])

    def is_anomaly(
        self, X: ArrayLike, rate: float = 0.01, threshold: float | None = None
    ) -> NDArray[np.bool_]:
        """Return which rows are less usual than all but a share ``rate`` of usual rows.

        Parameters
        ----------
        threshold
            As of `anomaly_threshold`; found from draws of the mixture if None.
        """
        limit = self.anomaly_threshold(rate) if threshold is None else threshold
        return np.asarray(self.log_prob(X) < limit)

    def co_clustering(self, X: ArrayLike) -> Array:
        """Return the probability that two rows are of one component, shape (n, n)."""
        return co_clustering_of(self.predict_proba(X))

    def _fitted_rows(self, X: ArrayLike) -> Array:
        raise NotImplementedError

    def _varying_rows(self, X: ArrayLike) -> Array:
        rows = self._fitted_rows(X)
        return rows if len(self.varying_) == rows.shape[1] else rows[:, self.varying_]

    def _without_constants(self, rows: Array, weight: Array, keep: bool = False) -> Array:
        """Note which columns vary, and return them; all if none does."""
        counts = weight > 0
        with warnings.catch_warnings():
            # What a column without any value is, is said later.
            warnings.simplefilter("ignore", RuntimeWarning)
            low, high = np.nanmin(rows[counts], axis=0), np.nanmax(rows[counts], axis=0)
        is_flat = (high == low) & (not keep)
        return self._with_varying(rows, low, is_flat)

    def _with_varying(self, rows: Array, value: Array, is_flat: NDArray[np.bool_]) -> Array:
        self.varying_ = np.flatnonzero(~is_flat if not is_flat.all() else is_flat)
        self.constant_ = np.where(np.isnan(value), 0.0, value)
        return rows if not is_flat.any() else np.ascontiguousarray(rows[:, self.varying_])


KINDS = ("normal", "vector", "student_t", "bernoulli", "categorical", "poisson", "exponential")


@dataclass(frozen=True, eq=False)
class ColumnKinds:
    """What each column of a table is.

    Attributes
    ----------
    kinds
        Family of each column.
    states
        Categories of each column, as text in rising order; none of columns of numbers.
    """

    kinds: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]

    def chosen(self, places: NDArray[np.intp]) -> ColumnKinds:
        """Return what some columns are."""
        return ColumnKinds(
            tuple(self.kinds[j] for j in places), tuple(self.states[j] for j in places)
        )

    def table(self, rows: Array, names: Any) -> Any:
        """Return coded rows (n, d) as a table with categories, or as they are without."""
        if names is None and not any(self.states):
            return rows
        labels = range(rows.shape[1]) if names is None else list(names)
        columns = {}
        for j, name in enumerate(labels):
            states = self.states[j]
            code = rows[:, j]
            columns[name] = np.array(states)[code.astype(np.intp)] if states else code
        return pd.DataFrame(columns)


def read_columns(
    estimator: Any, X: Any, families: Any, usual: str
) -> tuple[Array, ColumnKinds]:
    """Return rows as numbers, categories as codes, and what each column is.

    Parameters
    ----------
    families
        A family for all columns, or by column; None for what types say. Columns that were
        learned, a `ColumnKinds`, are read again in the same way.
    usual
        The family of a column of numbers.
    """
    known = families if isinstance(families, ColumnKinds) else None
    options = {"ensure_all_finite": "allow-nan", "reset": known is None}
    if _has_text(X):
        validated(estimator, X, skip_check_array=True, reset=known is None)
        columns = _columns(X)
        if known is None and not len(columns[0]):
            raise ValueError("X must have at least one row; found none. Pass rows.")
    else:
        rows = np.asarray(validated(estimator, X, dtype=np.float64, **options))
        columns = list(rows.T)
    if known is None:
        names = list(getattr(estimator, "feature_names_in_", range(len(columns))))
        known = _kinds(columns, names, families, usual, X)
    coded = [
        _coded(column, states) for column, states in zip(columns, known.states, strict=True)
    ]
    answer = np.ascontiguousarray(np.column_stack(coded))
    require_moderate("X", answer)
    return answer, known


def _has_text(X: Any) -> bool:
    """Return whether a table or array holds anything but numbers and gaps."""
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        return any(not dtype.is_numeric() for dtype in frame.schema.values())
    values = np.asarray(X) if isinstance(X, list | tuple | np.ndarray) else None
    if values is None or values.dtype.kind not in "OUS" or values.ndim != 2:
        return False
    return any(isinstance(entry, str) for entry in values.ravel())


def _columns(X: Any) -> list[NDArray[Any]]:
    """Return the columns of a table; numbers as floats, all else as objects."""
    if not nw.dependencies.is_into_dataframe(X):
        X = pd.DataFrame(np.asarray(X, dtype=object))
    frame = nw.from_native(X, eager_only=True)
    found = []
    for name in frame.columns:
        series = frame.get_column(name)
        if series.dtype.is_numeric():
            found.append(np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64))
            continue
        values = np.array(series.to_list(), dtype=object)
        is_gap = np.asarray(pd.isna(values))
        try:
            numbers = np.where(is_gap, np.nan, values).astype(np.float64)
        except (TypeError, ValueError):
            found.append(values)
        else:
            is_number = all(not isinstance(v, str) for v in values[~is_gap])
            found.append(numbers if is_number else values)
    return found


def _kinds(
    columns: list[NDArray[Any]], names: list[Any], families: Any, usual: str, X: Any
) -> ColumnKinds:
    """Return what columns are: as named, or by their type."""
    kinds, states = [], []
    is_mapping = isinstance(families, Mapping)
    unknown = [] if not is_mapping else [key for key in families if not _names(key, names)]
    if unknown:
        raise ValueError(
            f"families must name columns of X; found {unknown[:3]}, and columns "
            f"{names[:5]}. Use their names or positions."
        )
    for j, column in enumerate(columns):
        given = families if not is_mapping else families.get(names[j], families.get(j))
        is_text = column.dtype == object
        kind = given or ("categorical" if is_text else _kind_of(X, j, column, usual))
        require_choice("families", kind, KINDS)
        if is_text and kind != "categorical":
            raise ValueError(
                f"column {names[j]!r} must hold numbers for the family {kind!r}; found text. "
                "Leave it out of families, or use 'categorical'."
            )
        own: tuple[str, ...] = ()
        if kind == "categorical":
            own = tuple(sorted({str(v) for v in column[~_is_gap(column)]}))
        kinds.append(kind)
        states.append(own)
        _require_values(column, kind, names[j])
    return ColumnKinds(tuple(kinds), tuple(states))


def _names(key: Any, names: list[Any]) -> bool:
    return key in names or (isinstance(key, int) and 0 <= key < len(names))


def _kind_of(X: Any, j: int, column: NDArray[Any], usual: str) -> str:
    if not nw.dependencies.is_into_dataframe(X):
        return usual
    frame = nw.from_native(X, eager_only=True)
    dtype = frame.get_column(frame.columns[j]).dtype
    return "bernoulli" if dtype == nw.Boolean else usual


def _is_gap(column: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(pd.isna(column))


def _require_values(column: NDArray[Any], kind: str, name: Any) -> None:
    """Refuse numbers that a family cannot have."""
    if kind not in ("bernoulli", "poisson", "exponential"):
        return
    values = column[~_is_gap(column)]
    is_right = {
        "bernoulli": (values == 0) | (values == 1),
        "poisson": (values >= 0) & (values == np.floor(values)),
        "exponential": values >= 0,
    }[kind]
    if not is_right.all():
        needs = {
            "bernoulli": "0 or 1",
            "poisson": "whole numbers from 0 on",
            "exponential": "numbers from 0 on",
        }[kind]
        raise ValueError(
            f"column {name!r} must hold {needs} for the family {kind!r}; found "
            f"{values[~is_right][0]:g}. Choose another family for it."
        )


def _coded(column: NDArray[Any], states: tuple[str, ...]) -> Array:
    """Return a column as numbers: codes of categories, NaN of those never seen."""
    if not states:
        return np.asarray(column, dtype=np.float64)
    place = {state: float(i) for i, state in enumerate(states)}
    gap = _is_gap(column)
    return np.array(
        [np.nan if g else place.get(str(v), np.nan) for v, g in zip(column, gap, strict=True)]
    )


def column_belief(
    columns: ColumnKinds, data: IncompleteRows, n_components: int, is_point: bool
) -> Any:
    """Return a weak belief about rows of any component, in the units of the data."""
    pooled = data.pooled()
    by_kind: dict[tuple[str, int], list[int]] = {}
    for j, kind in enumerate(columns.kinds):
        # Categories differ in number: each column is a part of its own.
        by_kind.setdefault((kind, j if kind == "categorical" else 0), []).append(j)
    parts: dict[Any, Any] = {}
    for (kind, _), own in by_kind.items():
        some = NormalStatistics(pooled.weight[own], pooled.mean[own], pooled.scatter[own])
        n_states = max(len(columns.states[own[0]]), 1)
        parts[tuple(own)] = _weak_part(kind, some, n_states, n_components, is_point)
    if len(parts) == 1 and next(iter(parts)) == tuple(range(len(columns.kinds))):
        return next(iter(parts.values()))
    return Product.by_column(parts)


def _weak_part(
    kind: str, pooled: NormalStatistics, n_states: int, n_components: int, is_point: bool
) -> Any:
    """Return a weak belief about columns of one kind."""
    # A little more than one, so that the most probable share of a state is never zero.
    pseudo, d = 1.0 + 0.01 * is_point, len(pooled.mean)
    if kind in ("normal", "vector"):
        covariance = "diagonal" if kind == "normal" else "full"
        return mixture_belief(covariance, pooled, n_components, is_point)
    if kind == "categorical":
        return DirichletCategorical(np.full(n_states, pseudo))
    if kind == "bernoulli":
        return BetaBernoulli(np.full(d, pseudo), np.full(d, pseudo))
    level = np.maximum(pooled.mean, 1e-6)
    if kind == "poisson":
        return GammaPoisson(np.full(d, pseudo), 1.0 / level)
    return GammaExponential(np.full(d, pseudo), level)


def co_clustering_of(share: Array) -> Array:
    """Return how probably pairs of independent rows are of one component, shape (n, n)."""
    if len(share) ** 2 > MOST_PAIRS:
        raise ValueError(
            f"a table of pairs must have at most {MOST_PAIRS} numbers; found {len(share)} "
            "rows. Pass fewer rows."
        )
    together = share @ share.T
    np.fill_diagonal(together, 1.0)
    return np.asarray(np.minimum(together, 1.0))


def require_rate(rate: float) -> None:
    """Refuse a rate of false alarms that is not between 0 and 1."""
    if not 0 < rate < 1:
        raise ValueError(
            f"rate must be between 0 and 1: false alarms per usual row; found {rate!r}. Pass "
            "0.01 for one in a hundred."
        )


def incomplete_rows(
    rows: Array, weight: Array, labels: ArrayLike | None, n_components: int
) -> tuple[IncompleteRows, NDArray[np.intp]]:
    """Return rows that count and have a value, and which they are.

    Raises
    ------
    ValueError
        If a column has no value, if there are fewer distinct rows than components, or if a
        label is no component.
    """
    label = _labels(labels, len(rows), n_components)
    counts = np.flatnonzero((weight > 0) & ~np.isnan(rows).all(axis=1))
    if not len(counts):
        raise ValueError(
            "X must have a row with weight and a value; found none. Pass rows that count."
        )
    x = rows if len(counts) == len(rows) else rows[counts]
    is_empty = np.isnan(x).all(axis=0)
    if is_empty.any():
        raise ValueError(
            "each column must have a value in some row; found none in column "
            f"{int(np.argmax(is_empty))}. Leave the column out."
        )
    _require_distinct(x, n_components)
    return IncompleteRows(x, label[counts], weight[counts], n_components), counts


def _labels(labels: ArrayLike | None, n: int, n_components: int) -> NDArray[np.intp]:
    if labels is None:
        return np.full(n, -1, dtype=np.intp)
    given = np.asarray(labels, dtype=np.float64)
    known = np.where(np.isnan(given), -1.0, given)
    is_right = (known >= -1) & (known < n_components) & (known == np.floor(known))
    if given.shape != (n,) or not is_right.all():
        raise ValueError(
            f"labels must be a component from 0 to {n_components - 1} for each of {n} rows, or "
            f"-1 where it is not known; found shape {given.shape} and values from "
            f"{np.nanmin(given):g} to {np.nanmax(given):g}. Number the components from 0."
        )
    return known.astype(np.intp)


def _require_distinct(x: Array, n_components: int) -> None:
    some = x[: max(1000, 20 * n_components)]
    n_distinct = len(np.unique(some, axis=0))
    if n_distinct < n_components and len(some) < len(x):
        n_distinct = len(np.unique(x, axis=0))
    if n_distinct < n_components:
        raise ValueError(
            f"n_components must be at most the number of distinct rows; found {n_components} "
            f"components and {n_distinct} distinct rows of n_samples = {len(x)}. Ask for "
            "fewer components."
        )

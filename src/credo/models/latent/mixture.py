"""What every mixture answers: components of rows, densities, draws, anomalies."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from credo.distributions.class_conditional import ClassConditional
from credo.distributions.independent_columns import IndependentColumns
from credo.inference.engine.engine import run
from credo.inference.latent.latent_class import IncompleteRows
from credo.inference.latent.mixture_search import MixtureHistory
from credo.inference.latent.partition import CollapsedGibbs, PartitionLaw, PartitionProblem
from credo.models.contract.column_kinds import VaryingColumns
from credo.models.contract.inputs import generator
from credo.numerics.array import Array
from credo.numerics.form import Form

__all__ = [
    "Mixture",
    "co_clustering_of",
    "drawn_gaps",
    "incomplete_rows",
    "number_posterior",
    "require_rate",
]

N_SCORED = 100_000
"""Rows drawn from a mixture to find how low its log density falls at some rate."""

MOST_PAIRS = 1 << 27
"""Numbers of a table of pairs of rows."""


class Mixture(VaryingColumns, DensityMixin, BaseEstimator):
    """A part of all mixtures: what a fitted one answers.

    Attributes
    ----------
    predictive_
        Weight of each component and density of its rows, in the columns that vary.
    component_
        The component that each entry of ``predictive_`` is of, shape (m,): one to one, unless
        there is an entry for each component of each draw.
    """

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

    def sample_missing(self, X: ArrayLike, n: int = 1, random_state: Any = None) -> Array:
        """Return rows with gaps drawn ``n`` times, jointly in each row, shape (n, rows, d).

        Each draw has parameters of its own, drawn from the belief about them if there is one,
        so that their doubt is in it (multiple imputation). Categories are codes.
        """
        rows = self._varying_rows(X)
        has_gap = np.flatnonzero(np.isnan(rows).any(axis=1))
        rng = generator(random_state)
        answer = np.repeat(self.constant_[None, None], n, axis=0).repeat(len(rows), axis=1)
        answer[:, :, self.varying_] = rows
        for one in answer:
            if len(has_gap):
                drawn = drawn_gaps(self._drawn_joint(rng), rows[has_gap], rng)
                one[has_gap[:, None], self.varying_] = drawn
        return answer

    def _drawn_joint(self, rng: Generator) -> ClassConditional:
        """Return the mixture at a draw of its parameters, or at those that are known."""
        posterior: Any = getattr(self, "posterior_", self.predictive_)
        if hasattr(posterior, "classes"):
            joint: ClassConditional = posterior.sample(rng)
            return joint
        if isinstance(posterior, ClassConditional):
            return posterior
        raise ValueError(
            "gaps can be drawn by parameters, which inference='variational' and 'map' learn; "
            f"found {type(posterior).__name__}. Fit with one of these."
        )

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


def drawn_gaps(joint: ClassConditional, x: Array, rng: Generator) -> Array:
    """Return rows (n, d) with their gaps drawn given what they have."""
    share = np.exp(joint.log_posterior(x)).cumsum(axis=1)
    label = (share[:, :-1] <= rng.uniform(size=len(x))[:, None]).sum(axis=1)
    density: Any = joint.density
    drawn = np.asarray(density.sample(rng, len(x)), dtype=np.float64)
    drawn = np.broadcast_to(drawn, (len(x), len(joint.log_weight), x.shape[1]))
    answer = np.where(np.isnan(x), drawn[np.arange(len(x)), label], x)
    is_parted = isinstance(density, IndependentColumns)
    parts = density.parts if is_parted else (density,)
    places = density.columns if is_parted else (tuple(range(x.shape[1])),)
    for part, own in zip(parts, map(list, places), strict=True):
        if part.event_shape and np.isnan(x[:, own]).any():
            # Columns of a vector depend on those that are there.
            vector = ClassConditional(joint.log_weight, part)
            scores = rng.standard_normal((len(x), 1, len(own)))
            answer[:, own] = vector.completed(x[:, own], label[:, None], scores)[:, 0]
    return np.asarray(answer)


def number_posterior(
    x: Array, belief: Any, most: int, rng: Generator, engine: CollapsedGibbs
) -> Array:
    """Return the posterior probability of 1, 2, ... components, of equal ones before.

    Parameters
    ----------
    x, belief
        Rows (n, d), and a prior about those of any component.
    most
        Largest number.
    """
    law = PartitionLaw.unknown(np.full(most, -np.log(most)), 1.0, len(x))
    draws = run(engine, PartitionProblem(x, belief, law), rng).posterior
    counts = np.bincount(draws.n_clusters.ravel(), minlength=most + 1)
    each = [law.number_given(t, len(x)) for t in range(1, most + 1)]
    return np.asarray(counts[1 : most + 1] @ np.array(each) / counts.sum())


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

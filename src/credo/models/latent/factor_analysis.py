"""Probabilistic PCA and factor analysis: rows made of few hidden numbers and noise."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.inference.engine.engine import ConvergenceWarning, Inference, run
from credo.inference.latent.expectation_maximization import ExpectationMaximization
from credo.inference.latent.factor_analysis import (
    FactorModel,
    FactorProblem,
    likeliest_factors,
    log_evidence_of_dimensions,
    relevant_pca,
)
from credo.models.contract.inputs import FittedInputs, generator, row_weight, validated
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.linear.moments import Moments
from credo.numerics.linear.principal_axes import PrincipalAxes
from credo.numerics.warning import warn_user

__all__ = ["FactorAnalysis", "ProbabilisticPCA"]

PATIENT = ExpectationMaximization(tolerance=1e-7, max_steps=10_000)
"""For factors of rows with gaps, whose noise is found by small steps."""

ARD = "ard"

ROUGH = ExpectationMaximization(tolerance=1e-3, max_steps=30)
"""For the covariance of rows with gaps, from which the number of hidden numbers is chosen."""


class _HiddenNumbers(
    FittedInputs, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """A part of both: what a fitted model of hidden numbers answers."""

    _CHOICES: ClassVar[tuple[Any, ...]] = ()

    inference_: Inference
    model_: FactorModel
    statistics_: Moments
    n_components_: Annotated[int, Form(low=0)]
    _sklearn_output_config: dict[str, str]

    def partial_fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one more chunk without gaps, in constant memory, as from all at once."""
        is_first = not hasattr(self, "statistics_")
        rows = np.asarray(validated(self, X, dtype=np.float64, reset=is_first))
        self._require_components(rows.shape[1])
        weight = row_weight(sample_weight, rows)
        chunk = Moments.of([rows], None if sample_weight is None else weight)
        self.statistics_ = chunk if is_first else self.statistics_ + chunk
        return self._learned(self.statistics_)

    def _learned(self, moments: Moments) -> Self:
        """Learn from the statistics of complete rows."""
        raise NotImplementedError

    @property
    def mean_(self) -> Array:
        """Mean of the rows, shape (d,)."""
        return self.model_.center

    @property
    def loading_(self) -> Array:
        """How columns follow the hidden numbers, shape (d, C)."""
        return self.model_.loading

    @property
    def noise_variance_(self) -> Array:
        """Variance of the noise of each column, shape (d,)."""
        return self.model_.noise

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def transform(self, X: ArrayLike) -> Array:
        """Return the expected hidden numbers of each row, shape (n, C)."""
        return np.asarray(self.hidden(X).mean())

    def hidden(self, X: ArrayLike) -> MultivariateNormal:
        """Return the normal of the hidden numbers of each row, given what it has."""
        rows = self._inputs(X)
        return self.model_.hidden(rows)

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return the rows (n, d) expected at hidden numbers (n, C)."""
        check_is_fitted(self, "model_")
        hidden = np.asarray(X, dtype=np.float64)
        if hidden.ndim != 2 or hidden.shape[1] != self.n_components_:
            raise ValueError(
                f"hidden numbers must be of shape (n, {self.n_components_}); found shape "
                f"{hidden.shape}. Pass what transform returns."
            )
        return self.model_.restored(hidden)

    def denoise(self, X: ArrayLike) -> Array:
        """Return the rows that are expected without their noise, gaps filled, shape (n, d)."""
        return self.model_.restored(self.transform(X))

    def log_prob(self, X: ArrayLike) -> Array:
        """Return the log density of each row, shape (n,); what is missing is integrated out."""
        rows = self._inputs(X)
        return self.model_.log_prob(rows)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return the mean log density of rows."""
        return float(np.mean(self.log_prob(X)))

    def sample(self, n: int = 1, random_state: Any = None) -> Array:
        """Return ``n`` new rows, shape (n, d)."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.density.sample(generator(random_state), n))

    def impute(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Return rows with each gap at its expected value, given what the row has.

        Parameters
        ----------
        return_std
            Whether to return the standard deviation of each entry as well: zero where it was
            seen.
        """
        rows = self._inputs(X)
        hidden = self.model_.hidden(rows)
        is_gap = np.isnan(rows)
        filled = np.where(is_gap, self.model_.restored(np.asarray(hidden.mean())), rows)
        if not return_std:
            return filled
        loading = self.model_.loading
        doubt = np.einsum("dc,nce,de->nd", loading, hidden.covariance(), loading)
        return filled, np.where(is_gap, np.sqrt(doubt + self.model_.noise), 0.0)

    def sample_missing(self, X: ArrayLike, n: int = 1, random_state: Any = None) -> Array:
        """Return rows with gaps drawn ``n`` times, jointly in each row, shape (n, rows, d)."""
        rows = self._inputs(X)
        rng = generator(random_state)
        hidden = np.asarray(self.model_.hidden(rows).sample(rng, n))
        noise = rng.standard_normal((n, *rows.shape)) * np.sqrt(self.model_.noise)
        drawn = hidden @ self.model_.loading.T + self.model_.center + noise
        return np.where(np.isnan(rows), drawn, rows)

    def _inputs(self, X: ArrayLike) -> Array:
        check_is_fitted(self, "model_")
        return np.asarray(
            validated(self, X, dtype=np.float64, reset=False, ensure_all_finite="allow-nan")
        )

    def _rows(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Array, Array]:
        """Return rows that count and have a value, and their weights."""
        if hasattr(self, "statistics_"):
            del self.statistics_
        rows = np.asarray(
            validated(
                self, X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2
            )
        )
        weight = row_weight(sample_weight, rows)
        counts = (weight > 0) & ~np.isnan(rows).all(axis=1)
        rows, weight = rows[counts], weight[counts]
        is_empty = np.isnan(rows).all(axis=0)
        if is_empty.any():
            raise ValueError(
                "each column must have a value in some row; found none in column "
                f"{int(np.argmax(is_empty))}. Leave the column out."
            )
        return rows, weight

    def _require_components(self, d: int) -> None:
        if d < 2:
            raise ValueError(
                "X must have at least two columns, of which one may follow another; found "
                "n_features = 1. Use PCA, or the mean and variance of the column."
            )
        wanted: Any = getattr(self, "n_components")  # noqa: B009
        is_number = isinstance(wanted, Integral) and not isinstance(wanted, bool)
        if wanted in self._CHOICES:
            return
        if not is_number:
            choices = " or ".join(map(repr, self._CHOICES)) or "no other"
            raise ValueError(
                f"n_components must be a whole number, or {choices}; found {wanted!r}. Pass "
                "how many hidden numbers there are."
            )
        if not 1 <= wanted < d:
            raise ValueError(
                f"n_components must be at least 1 and fewer than the {d} columns, so that "
                f"noise is left; found {wanted}. Ask for fewer."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class ProbabilisticPCA(_HiddenNumbers):
    """Probabilistic PCA: hidden numbers, a plane, and noise of one variance around it.

    ``y = W x + b + noise`` with ``x ~ N(0, I)`` and ``noise ~ N(0, s I)``. The most likely
    plane is that of PCA, found in closed form; rows with gaps (NaN) are learned from by
    expectation maximization, with what is missing integrated out.

    Parameters
    ----------
    n_components
        How many hidden numbers; None takes as many as the evidence favors, at least one.
        "ard" is Bayesian PCA: each axis has a prior of its own, which draws its loading to
        zero, and drops it if the rows do not speak for it; there may be none left.
    inference
        The engine for rows with gaps; None is ``ExpectationMaximization()``.

    Attributes
    ----------
    mean_, loading_, noise_variance_
        ``b`` (d,), ``W`` (d, C), and ``s`` for each column (d,).
    model_
        The same as one value.
    dimensions_
        Log evidence of 0, 1, ... d - 1 hidden numbers, up to a constant that all share, by
        Laplace's method (Minka).
    n_components_
        Number of hidden numbers.
    inference_
        The answer of the engine.

    Examples
    --------
    >>> rows = [[2, 0, 1], [0, 1, 3], [1, 4, 0], [3, 2, 2], [4, 3, 4]]
    >>> model = ProbabilisticPCA(1).fit(rows)
    >>> model.noise_variance_[0].round(4), model.loading_.ravel().round(4)
    (np.float64(1.5861), array([0.8118, 0.2153, 0.7324]))
    >>> model.impute([[4.0, np.nan, 4.0]]).round(3)
    array([[4.   , 2.239, 4.   ]])
    """

    dimensions_: Annotated[Array, Form("k", -np.inf, np.inf)]
    _CHOICES = (None, ARD)

    def __init__(
        self,
        n_components: int | str | None = None,
        inference: ExpectationMaximization | None = None,
    ) -> None:
        self.n_components = n_components
        self.inference = inference

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return tuple(Example(cls(n), unit_free=False) for n in (None, 1, ARD))

    def fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from rows ``X`` (n, d), in which NaN is missing."""
        rows, weight = self._rows(X, sample_weight)
        d = rows.shape[1]
        self._require_components(d)
        if not np.isnan(rows).any():
            return self._learned(Moments.of([rows], weight))
        axes = self._axes(rows, weight)
        n_rows = float(weight @ (~np.isnan(rows)).mean(axis=1))
        found = self._choose(axes, n_rows)
        if not self.n_components_:
            found = FactorModel.probabilistic_pca(axes, 0)
        elif self.n_components != ARD:
            problem = FactorProblem(rows, weight, self.n_components_, is_isotropic=True)
            self.inference_ = run(self.inference or ExpectationMaximization(), problem)
            found = self.inference_.posterior
        if self.n_components == ARD:
            self.inference_ = Inference(found)
        self.model_ = found
        return self

    def _learned(self, moments: Moments) -> Self:
        """Learn from the statistics of complete rows."""
        found = self._choose(PrincipalAxes.of_moments(moments), moments.weight)
        self.inference_, self.model_ = Inference(found), found
        return self

    def _choose(self, axes: PrincipalAxes, n_rows: float) -> FactorModel:
        """Set the number of hidden numbers, and return the model that has them."""
        self.dimensions_ = log_evidence_of_dimensions(axes.variance, n_rows)
        if self.n_components == ARD:
            found = relevant_pca(axes, n_rows)
            self.n_components_ = found.n_hidden
            return found
        best = min(max(int(np.argmax(self.dimensions_)), 1), len(axes.center) - 1)
        self.n_components_ = best if self.n_components is None else int(self.n_components)
        return FactorModel.probabilistic_pca(axes, self.n_components_)

    def evidence_table(self) -> pd.DataFrame:
        """Return log evidence and probability of each number of hidden numbers."""
        check_is_fitted(self, "model_")
        share = np.exp(self.dimensions_ - self.dimensions_.max())
        return pd.DataFrame(
            {"log_evidence": self.dimensions_, "probability": share / share.sum()},
            index=pd.RangeIndex(len(share), name="n_components"),
        )

    def _axes(self, rows: Array, weight: Array) -> PrincipalAxes:
        """Return all principal axes of the likeliest covariance of rows with gaps."""
        d = rows.shape[1]
        problem = FactorProblem(rows, weight, d - 1, is_isotropic=True)
        with warnings.catch_warnings():
            # Evidences differ by nats: a rough covariance tells dimensions apart.
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = run(ROUGH, problem).posterior
        total = float(weight.sum())
        return PrincipalAxes.of_moments(
            Moments(total, found.center, total * found.density.form.dense())
        )


class FactorAnalysis(_HiddenNumbers):
    """Factor analysis: hidden numbers behind the columns, and noise of its own in each.

    ``y = W x + b + noise`` with ``x ~ N(0, I)`` and independent noise of variance ``s_j`` in
    column j. Unlike PCA it does not depend on the units of columns. Of complete rows the
    likelihood is made largest over the noise alone, the best loading for it being known; gaps
    (NaN) are integrated out by expectation maximization.

    Parameters
    ----------
    n_components
        How many hidden numbers, fewer than columns.
    inference
        An engine for all rows, complete or not; None finds complete rows' factors from their
        statistics, and those of rows with gaps by ``ExpectationMaximization(1e-7, 10_000)``.

    Attributes
    ----------
    mean_, loading_, noise_variance_
        ``b`` (d,), ``W`` (d, C), and ``s`` (d,).
    model_
        The same as one value.
    n_components_
        Number of hidden numbers.
    inference_
        The answer of the engine, with the log likelihood of every step.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=(500, 1))
    >>> rows = cause * [2.0, 1.0, 0.5] + rng.normal(size=(500, 3)) * [0.1, 0.5, 1.0]
    >>> model = FactorAnalysis(1).fit(rows)
    >>> np.sqrt(model.noise_variance_[1:]).round(1)
    array([0.5, 0.9])
    """

    def __init__(
        self, n_components: int = 1, inference: ExpectationMaximization | None = None
    ) -> None:
        self.n_components = n_components
        self.inference = inference

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return (cls(1),)

    def fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from rows ``X`` (n, d), in which NaN is missing."""
        rows, weight = self._rows(X, sample_weight)
        self._require_components(rows.shape[1])
        if self.inference is None and not np.isnan(rows).any():
            return self._learned(Moments.of([rows], weight))
        problem = FactorProblem(rows, weight, int(self.n_components), is_isotropic=False)
        self.inference_ = run(self.inference or PATIENT, problem)
        self.model_, self.n_components_ = self.inference_.posterior, int(self.n_components)
        return self

    def _learned(self, moments: Moments) -> Self:
        """Learn from the statistics of complete rows."""
        self.inference_ = likeliest_factors(moments, int(self.n_components))
        if not self.inference_.status.has_converged:
            warn_user(
                f"factor analysis ended early: {self.inference_.status.value}. Ask for fewer "
                "components, or look at columns that copy each other.",
                ConvergenceWarning,
            )
        self.model_, self.n_components_ = self.inference_.posterior, int(self.n_components)
        return self

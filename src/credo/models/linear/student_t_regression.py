"""Robust regression: a linear one that rows far from the others hardly move."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from credo import features
from credo.distributions.mixture import Mixture
from credo.distributions.normal import Normal
from credo.distributions.predictive import Predictive
from credo.distributions.student_t import StudentT
from credo.features.basis import Basis
from credo.inference.density.posterior import Parameter, posterior
from credo.inference.density.trajectory import NoUTurnSampling
from credo.inference.engine.diagnosis import Diagnosis
from credo.inference.engine.draws import Draws
from credo.inference.engine.engine import Inference
from credo.inference.linear.student_t import StudentTRegressionProblem
from credo.models.contract.diagnosis import diagnose_drawn
from credo.models.contract.inputs import (
    design,
    fitted_design,
    generator,
    placed_basis,
    require_basis,
    row_weight,
    term_names,
    validated,
)
from credo.models.contract.regressor import PredictiveRegressor
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form

__all__ = ["StudentTRegression"]

MIXED = 100
"""Draws that a predictive distribution is a mixture of."""

WAYS = ("auto", "laplace", "nuts")
FACTS_KEPT = ("is_divergent", "depth", "energy")


class StudentTRegression(PredictiveRegressor):
    """Linear regression with noise of long tails, which outliers hardly move.

    ``y = intercept + b(x)^T w + noise``, weights normal around zero as in `LinearRegression`,
    noise Student-t with a scale and degrees of freedom that are learned. All of them are
    averaged over.

    Parameters
    ----------
    basis
        Functions of the inputs from `credo.features`; the inputs themselves if None. It is
        placed on the inputs of the fit and never sees y.
    inference
        "laplace" for draws of a Gaussian at the mode, resampled by importance ratios; "nuts"
        for draws from the posterior itself; "auto" for the first where the ratios say that it
        is good, and else the second; or ``NoUTurnSampling`` with settings.
    df
        Degrees of freedom of the noise, infinite for normal noise; or "learned", above two.
    fit_intercept
        Whether to add an intercept, with a flat prior of density one.
    random_state
        Seed of the draws.

    Attributes
    ----------
    coef_, intercept_
        Posterior mean of weights and intercept, in the units of the data.
    scale_, df_
        Posterior median of the scale of the noise and of its degrees of freedom.
    log_evidence_, evidence_method_, evidence_flat_
        Log probability of y by weights of draws at the mode, "importance", and which unknowns
        have a flat prior of density one, as of `LinearRegression`.
    draws_
        Draws of "coef", "intercept", "scale" and "df" by chain.
    posterior_, inference_, basis_
        Draws with what the engine says of each, its whole answer, the placed basis.

    Examples
    --------
    >>> x = np.arange(12.0)[:, None]
    >>> y = 2.0 * x[:, 0] + np.tile([0.1, -0.1, 0.05], 4)
    >>> y[3] = 500.0
    >>> StudentTRegression(random_state=0).fit(x, y).predict([[20.0]]).round()
    array([40.])
    """

    basis_: Basis | None
    coef_: Annotated[Array, Form("c")]
    df_: float
    evidence_flat_: tuple[str, ...]
    evidence_method_: str
    inference_: Inference
    intercept_: float
    log_evidence_: float
    posterior_: Draws
    scale_: float

    def __init__(
        self,
        basis: Basis | None = None,
        inference: str | NoUTurnSampling = "auto",
        df: float | str = "learned",
        fit_intercept: bool = True,
        random_state: Any = None,
    ):
        self.basis = basis
        self.inference = inference
        self.df = df
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return (cls(features.LinearBasis(), "laplace", random_state=0),)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and ``y`` (n,), forgetting earlier data."""
        self._check_settings()
        inputs, outputs = validated(self, X, y, reset=True, dtype=np.float64, y_numeric=True)
        weight = row_weight(sample_weight, inputs)
        is_heavy = weight > 0
        if is_heavy.sum() < 2:
            raise ValueError(
                "samples of positive weight must be at least 2 to learn the noise; found "
                f"n_samples={int(is_heavy.sum())}. Add rows."
            )
        self.basis_ = placed_basis(self.basis, inputs, weight)
        problem = StudentTRegressionProblem.of(
            design(self.basis_, inputs)[is_heavy],
            np.asarray(outputs, dtype=np.float64)[is_heavy],
            weight[is_heavy],
            self.fit_intercept,
            None if isinstance(self.df, str) else float(self.df),
        )
        return self._learn(problem)

    def predict_dist(self, X: ArrayLike) -> Predictive:
        """Return the distribution of the outcome, one entry per row.

        A mixture over some draws, whose mean and spread are made those of all.
        """
        columns = fitted_design(self, X)
        coef, intercept, scale, df = (
            self.posterior_.pooled(name) for name in ("coef", "intercept", "scale", "df")
        )
        every = columns @ coef.T + intercept
        mean, doubt = every.mean(axis=1), every.std(axis=1)
        rows = np.unique(np.linspace(0, len(scale) - 1, MIXED).astype(np.intp))
        some = every[:, rows]
        shift = some - some.mean(axis=1, keepdims=True)
        spread = np.sqrt((shift**2).mean(axis=1))
        stretch = np.where(spread > 0, doubt / np.where(spread > 0, spread, 1.0), 0.0)
        place = mean[:, None] + shift * stretch[:, None]
        parts = [self._noise(place[:, i], scale[r], df[r]) for i, r in enumerate(rows)]
        marginal = Mixture(np.full(len(rows), 1.0 / len(rows)), parts)
        own = np.sqrt(np.mean([part.variance() for part in parts], axis=0))
        return Predictive(marginal, doubt * (stretch > 0), own)

    def sample_posterior(self, n: int, random_state: Any = None) -> dict[str, Array]:
        """Return ``n`` draws of "coef", "intercept", "scale" and "df" from the posterior."""
        check_is_fitted(self)
        kept = self.draws_
        chosen = generator(random_state).integers(kept.n_chains * kept.n_draws, size=n)
        return {name: kept.pooled(name)[chosen] for name in kept}

    @property
    def draws_(self) -> Draws:
        """Draws by chain, in the units of the data."""
        check_is_fitted(self)
        kept = self.posterior_
        return Draws({name: kept[name] for name in ("coef", "intercept", "scale", "df")})

    def coefficients(self, coverage: float = 0.9) -> pd.DataFrame:
        """Return a table of the weights by name: mean, sd and central interval."""
        check_is_fitted(self)
        kept, ends = self.posterior_, [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage]
        low, high = kept.quantile("coef", ends)
        columns = {"mean": self.coef_, "sd": kept.std("coef"), "low": low, "high": high}
        return pd.DataFrame(columns, index=pd.Index(term_names(self), name="term"))

    def diagnose(self) -> Diagnosis:
        """Return whether the draws can be relied on, and why not."""
        check_is_fitted(self)
        return diagnose_drawn(self.inference_, self.posterior_, self.draws_.names)

    def _check_settings(self) -> None:
        require_basis(self.basis)
        is_engine = isinstance(self.inference, NoUTurnSampling)
        if not is_engine and self.inference not in WAYS:
            raise ValueError(
                f"inference must be one of {WAYS}, or NoUTurnSampling(...); found "
                f"{self.inference!r}. Name one of them."
            )
        is_number = isinstance(self.df, int | float | np.number) and self.df > 2
        if not (is_number or self.df == "learned"):
            raise ValueError(
                "df must be 'learned' or a number above 2, so that noise has a variance; "
                f"found {self.df!r}. Use np.inf for normal noise."
            )

    def _learn(self, problem: StudentTRegressionProblem) -> Self:
        unknown = {name: Parameter(shape) for name, shape in problem.shapes.items()}
        rng = generator(self.random_state)
        found = posterior(
            problem.log_density, unknown, problem.data, self.inference, random_state=rng
        )
        log_evidence = found.log_evidence
        if np.isnan(log_evidence):
            other = posterior(
                problem.log_density, unknown, problem.data, "laplace", random_state=rng
            )
            log_evidence = other.log_evidence
        facts = {name: found.facts[name] for name in FACTS_KEPT if name in found.facts}
        self.posterior_ = Draws(problem.values(found.draws) | facts)
        self.inference_ = replace(found.inference, posterior=self.posterior_, state=None)
        self.coef_ = self.posterior_.mean("coef")
        self.intercept_ = float(self.posterior_.mean("intercept"))
        self.scale_ = float(self.posterior_.quantile("scale", 0.5))
        self.df_ = float(np.median(self.posterior_["df"]))
        self.log_evidence_ = float(log_evidence) - problem.log_unit
        self.evidence_method_ = "importance"
        named = {"intercept": self.fit_intercept, "log noise": True}
        self.evidence_flat_ = tuple(name for name, is_flat in named.items() if is_flat)
        return self

    def _noise(self, loc: Array, scale: float, df: float) -> StudentT | Normal:
        return Normal(loc, scale) if np.isinf(df) else StudentT(df, loc, scale)

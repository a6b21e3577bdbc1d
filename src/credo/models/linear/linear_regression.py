"""Bayesian linear regression on any basis, with precisions given, believed or learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted

from credo import distributions, features
from credo.distributions.gamma import Gamma
from credo.distributions.normal import Normal
from credo.distributions.predictive import Predictive
from credo.distributions.student_t import StudentT
from credo.families.linear import LinearStatistics, Rows
from credo.families.linear_gaussian import LinearGaussianBelief, LinearGaussianGamma
from credo.families.ridge import Intercept, Noise
from credo.families.ridge_belief import RidgeBelief
from credo.families.rows import as_label, group_rows
from credo.features.basis import Basis
from credo.features.continued import ContinuedBasis
from credo.inference.engine.diagnosis import Diagnosis
from credo.inference.engine.engine import Inference
from credo.inference.linear.regression import (
    LinearProblem,
    WeightPrecision,
    evidence_approximations,
    infer,
    log_evidence_at,
    prior_precision,
)
from credo.models.contract.diagnosis import diagnose_linear
from credo.models.contract.inputs import (
    design,
    design_blocks,
    fitted_design,
    fitted_inputs,
    generator,
    group_blocks,
    placed_basis,
    require_basis,
    require_choice,
    require_precision,
    row_blocks,
    row_weight,
    term_names,
    validated,
)
from credo.models.contract.regressor import PredictiveRegressor
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import ANYTHING, FINITE, Form
from credo.numerics.parallel.threads import threads_for

__all__ = ["MOST_DOUBT", "LinearRegression", "LinearSetting"]

MOST_DOUBT = 3.0
"""Standard deviations of the outcomes beyond which a continued function is not in doubt."""


@dataclass(frozen=True)
class LinearSetting:
    """Settings as the user wrote them, and the problem that they state."""

    inference: str
    weight_precision: Any
    noise_precision: Any
    fit_intercept: bool
    penalize_intercept: bool

    def check(self) -> None:
        """Refuse settings that cannot be."""
        require_choice("inference", self.inference, ("exact", "map", "ml"))
        _require_precision("weight_precision", self.weight_precision, ("evidence", "ard"))
        _require_precision("noise_precision", self.noise_precision, ("evidence",))

    @property
    def intercept(self) -> Intercept:
        """What is believed of the intercept beforehand."""
        if not self.fit_intercept:
            return "none"
        return "penalized" if self.penalize_intercept else "flat"

    @property
    def noise(self) -> Noise:
        """What is known of the noise; None if it is to be learned."""
        if isinstance(self.noise_precision, Gamma):
            return self.noise_precision
        return None if isinstance(self.noise_precision, str) else float(self.noise_precision)

    @property
    def flat_priors(self) -> tuple[str, ...]:
        """Unknowns with a flat prior of density one."""
        named = {"intercept": self.intercept == "flat", "log noise": self.noise is None}
        return tuple(name for name, is_flat in named.items() if is_flat)

    def require_prior(self) -> None:
        """Refuse settings whose prior is flat, or is learned from the data."""
        is_given = not isinstance(self.weight_precision, str | Gamma)
        is_given = is_given and self.noise is not None
        if self.inference != "ml" and is_given and self.intercept != "flat":
            return
        raise ValueError(
            "a prior needs weight_precision as a number, noise_precision that is given, "
            "penalize_intercept=True or fit_intercept=False, and inference='exact' or 'map'; "
            f"found weight_precision={self.weight_precision!r}, "
            f"noise_precision={self.noise_precision!r}, an intercept that is "
            f"{self.intercept!r} and inference={self.inference!r}. Say what is believed before "
            "the data."
        )

    def prior(self, n_terms: int) -> LinearGaussianBelief | LinearGaussianGamma:
        """Return the belief about the weights before any data, and an intercept as the last."""
        center, precision = np.zeros(n_terms), float(self.weight_precision) * np.eye(n_terms)
        if isinstance(self.noise_precision, Gamma):
            return LinearGaussianGamma(center, precision, self.noise_precision)
        return LinearGaussianBelief(center, precision, float(self.noise_precision))

    def problem(
        self, statistics: LinearStatistics, rows: LinearStatistics | None = None
    ) -> LinearProblem:
        """Return the problem for an engine; ``rows`` are kept where moments lose digits."""
        given = self.weight_precision
        if not isinstance(given, str | Gamma):
            given = float(given)
        precision: WeightPrecision = "none" if self.inference == "ml" else given
        return LinearProblem(statistics, self.intercept, precision, self.noise, rows)

    def is_enough(self, statistics: LinearStatistics) -> bool:
        """Return whether the data leave something to learn the noise from."""
        return statistics.weight > self._n_lost_rows

    def require_enough(self, statistics: LinearStatistics) -> None:
        """Refuse data that leave nothing to learn the noise from."""
        if not self.is_enough(statistics):
            raise ValueError(
                f"samples must weigh more than {self._n_lost_rows:g} together to learn with "
                f"these settings; found n_samples={statistics.weight:g}. Add rows, give "
                "noise_precision as a number, or scale sample_weight, which counts copies of "
                "a row, to sum to the number of rows."
            )

    @property
    def _n_lost_rows(self) -> float:
        """Rows that a flat intercept uses up before the noise can be learned."""
        return float(self.noise is None and self.intercept == "flat")


def _require_precision(name: str, value: Any, learned: tuple[str, ...]) -> None:
    """Refuse what is no precision, no belief about one and no way to learn it."""
    if not isinstance(value, Gamma):
        require_precision(name, value, learned)
    elif value.batch_shape != ():
        raise ValueError(
            f"{name} must be one Gamma belief; found a batch of shape {value.batch_shape}. "
            "Pass a Gamma with scalar parameters."
        )


class LinearRegression(PredictiveRegressor):
    """Linear regression that knows how sure it is.

    ``y = intercept + b(x)^T w + noise``, weights normal around zero, noise normal. One pass
    over the data builds additive statistics; everything else is computed from them.

    Parameters
    ----------
    basis
        Functions of the inputs from `credo.features`; the inputs themselves if None. It is
        placed once, on the inputs of the first fit, and never sees y.
    inference
        "exact" for the whole posterior, "map" for its most probable weights (ridge), "ml"
        for least squares.
    weight_precision
        Inverse prior variance of the weights in the units of the data, or "evidence" to
        learn one for all (columns scaled to unit variance inside), or "ard" to learn one for
        each, or a `Gamma` belief about the one for all, in the units of the data (hierarchical
        prior): the most probable one predicts, and the evidence is integrated over it. Under
        a `Gamma` belief about the noise all of these are relative to the noise precision.
    noise_precision
        Inverse noise variance, or "evidence" to learn it from the data alone, or a `Gamma`
        belief about it. Unless it is known, predictions are Student-t, with the degrees of
        freedom that the rows leave, and few rows give wide intervals.
    fit_intercept
        Whether to add an intercept, with a flat prior of density one.
    penalize_intercept
        Whether the intercept is under the prior of the weights instead.

    Attributes
    ----------
    coef_, intercept_
        Posterior mean of weights and intercept, in the units of the data.
    weight_precision_, noise_precision_
        Prior precision of each weight, infinite if dropped; precision of the noise.
    log_evidence_, evidence_method_
        Log probability of y, parameters and learned precisions integrated out, summed over
        outputs; and how: "exact", "grid" over learned precisions, "laplace" (one precision
        at a time, for "ard"), or "none" for least squares.
    evidence_flat_
        Which unknowns have a flat prior of density one; evidences compare only among models
        that agree in this.
    n_effective_parameters_
        How many parameters the data determine.
    posterior_, inference_, statistics_, basis_
        The belief, the whole answer of the engine, what is kept of the data, placed basis.

    Examples
    --------
    >>> x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.2, 0.9, 2.1, 2.8])
    >>> model = LinearRegression().fit(x, y)
    >>> model.predict_interval([[1.5]], coverage=0.9).round(2)
    array([[1.08, 1.92]])
    """

    _is_single: bool
    basis_: Basis | None
    coef_: Annotated[Array, Form("... c")]
    evidence_flat_: tuple[str, ...]
    evidence_method_: str
    inference_: Inference
    intercept_: Annotated[Array, Form("...")]
    log_evidence_: float
    n_effective_parameters_: Annotated[Array, ANYTHING]
    noise_precision_: Annotated[Array, Form("...", 0.0, FINITE)]
    posterior_: RidgeBelief
    weight_precision_: Annotated[Array, Form("... p", 0.0, np.inf)]
    statistics_: LinearStatistics

    def __init__(
        self,
        basis: Basis | None = None,
        inference: str = "exact",
        weight_precision: float | str | Gamma = "evidence",
        noise_precision: float | str | Gamma = "evidence",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
    ):
        self.basis = basis
        self.inference = inference
        self.weight_precision = weight_precision
        self.noise_precision = noise_precision
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        line, bumps = features.LinearBasis(), features.RadialBasis(6)
        bases = (
            features.PolynomialBasis(2, orthogonal=True),
            features.SplineBasis(5),
            bumps + line,
            features.FourierBasis(2),
            features.SigmoidBasis(4),
        )
        return (
            cls(),
            cls(inference="ml"),
            cls(inference="map"),
            cls(weight_precision="ard"),
            Example(cls(fit_intercept=False), unit_free=False),
            Example(cls(penalize_intercept=True), unit_free=False),
            Example(cls(weight_precision=1.0, noise_precision=2.0), unit_free=False),
            Example(cls(noise_precision=distributions.Gamma(1.0, 1.0)), unit_free=False),
            Example(cls(weight_precision=distributions.Gamma(2.0, 1.0)), unit_free=False),
            *(Example(cls(basis), streams=False) for basis in bases),
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and ``y`` (n,) or (n, k), forgetting earlier data."""
        self._check_settings()
        inputs, outputs, weight = self._validated(X, y, sample_weight, is_first=True)
        statistics = self._summary(inputs, outputs, weight)
        if self.inference == "ml" and self._setting.problem(statistics).is_ill_conditioned:
            columns = design(self.basis_, inputs)
            filled = np.ones(len(columns)) if weight is None else weight
            kept = LinearStatistics(columns.shape[1], Rows(columns, outputs, filled))
            return self._learn(statistics, kept)
        return self._learn(statistics)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one more chunk; the result equals a fit to all chunks together.

        A basis is placed on the first chunk. Least squares ("ml") on nearly collinear columns
        keeps fewer digits than one `fit`, which has the rows at hand. Rows too few to learn
        from are kept until more come.
        """
        self._check_settings()
        is_first = not hasattr(self, "statistics_")
        chunk = self._summary(*self._validated(X, y, sample_weight, is_first))
        statistics = chunk if is_first else self.statistics_ + chunk
        self.statistics_ = statistics
        return self._learn(statistics) if self._setting.is_enough(statistics) else self

    def summarize(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LinearStatistics:
        """Return the statistics of rows under the basis of a fitted model."""
        check_is_fitted(self, "basis_")
        return self._summary(*self._validated(X, y, sample_weight, is_first=False))

    def summarize_groups(
        self,
        X: ArrayLike,
        y: ArrayLike,
        label: ArrayLike,
        n_groups: int,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[LinearStatistics, ...]:
        """Return the statistics of each group of rows, in one pass.

        On a model that has seen no data yet this places the basis, after which
        `fit_statistics` can learn from any sum or difference of groups.
        """
        self._check_settings()
        is_first = not hasattr(self, "basis_")
        inputs, outputs, weight = self._validated(X, y, sample_weight, is_first)
        groups = group_rows(as_label(label, len(inputs), n_groups), n_groups)
        found: list[list[LinearStatistics]] = [[] for _ in groups]
        for columns, parts in group_blocks(self.basis_, inputs, groups):
            none = LinearStatistics.of(columns[:0], outputs[:0])
            for group, rows, own in parts:
                row_weights = None if weight is None else weight[rows]
                with threads_for(columns[own].size * columns.shape[1]):
                    found[group].append(
                        LinearStatistics.of(columns[own], outputs[rows], row_weights)
                    )
        return tuple(reduce(add, part) if part else none for part in found)

    def fit_statistics(self, statistics: LinearStatistics) -> Self:
        """Learn from statistics alone, such as ``total - fold``; the basis stays placed."""
        check_is_fitted(self, "basis_")
        return self._learn(statistics)

    def predict_dist(self, X: ArrayLike) -> Predictive:
        """Return the distribution of the outcome, one entry per row (and output)."""
        inputs = fitted_inputs(self, X)
        parts = [
            self._moments(design(self.basis_, rows), rows)
            for rows in row_blocks(self.basis_, inputs)
        ]
        mean, leverage = (np.concatenate(part) for part in zip(*parts, strict=True))
        return self._squeezed(self.posterior_.predictive_at(mean, leverage))

    def predict_groups(
        self, X: ArrayLike, label: ArrayLike, models: Sequence[LinearRegression]
    ) -> Predictive:
        """Return what each row is predicted as by the model of its group, in one pass.

        Parameters
        ----------
        label
            Which group each row is in, 0, 1, ..., shape (n,).
        models
            One for each group, learned by `fit_statistics` of copies of this model: they share
            its basis.
        """
        inputs = fitted_inputs(models[0], X)
        of = as_label(label, len(inputs), len(models))
        beliefs: list[RidgeBelief] = [model.posterior_ for model in models]
        mean, leverage = np.empty((2, len(inputs), beliefs[0].n_outputs))
        for columns, parts in group_blocks(self.basis_, inputs, group_rows(of, len(models))):
            for group, rows, own in parts:
                moments = models[group]._moments(columns[own], inputs[rows])
                mean[rows], leverage[rows] = moments
        by_row = replace(
            beliefs[0],
            noise_precision=np.array([belief.noise_precision for belief in beliefs])[of],
            noise_shape=np.array([belief.noise_shape for belief in beliefs])[of],
        )
        return models[0]._squeezed(by_row.predictive_at(mean, leverage))

    def leave_one_out(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Predictive:
        """Return what each training row would have been predicted as, had it been left out.

        Closed form at the learned precisions: with leverage h the mean moves by
        ``h / (1 - h)`` residuals and the leverage becomes ``h / (1 - h)``.
        """
        check_is_fitted(self)
        inputs, outputs, weight = self._validated(X, y, sample_weight, is_first=False)
        columns = design(self.basis_, inputs)
        row_weight = np.ones((len(columns), 1)) if weight is None else weight[:, None]
        self._check_same_rows(outputs, row_weight)
        return self._squeezed(self.posterior_.without_each(columns, outputs, row_weight))

    def sample_posterior(self, n: int, random_state: Any = None) -> dict[str, Array]:
        """Return ``n`` draws of "coef" and "intercept" from the posterior."""
        check_is_fitted(self)
        weights, intercept = self.posterior_.sample(generator(random_state), n)
        if self._is_single:
            return {"coef": weights[:, 0], "intercept": intercept[:, 0]}
        return {"coef": weights, "intercept": intercept}

    def sample_functions(self, X: ArrayLike, n: int, random_state: Any = None) -> Array:
        """Return ``n`` regression functions drawn from the posterior, at each row of ``X``."""
        columns = fitted_design(self, X)
        weights, intercept = self.posterior_.sample(generator(random_state), n)
        values = np.einsum("skd,nd->snk", weights, columns) + intercept[:, None]
        return np.asarray(values[..., 0] if self._is_single else values)

    def prior_predictive(self, X: ArrayLike) -> Normal | StudentT:
        """Return the distribution of the outcome at each row before any data were seen.

        The model need not be fitted; a basis that is not placed yet is placed on ``X``. Needs
        a prior that does not come from data: precisions that are given, and an intercept that
        is penalized or left out.

        Examples
        --------
        >>> model = LinearRegression(
        ...     weight_precision=0.25, noise_precision=1.0, penalize_intercept=True
        ... )
        >>> model.prior_predictive([[0.0], [1.0]]).std()
        array([2.23606798, 3.        ])
        """
        columns, belief = self._prior(X)
        return belief.predictive().given(columns)

    def sample_prior(self, X: ArrayLike, n: int, random_state: Any = None) -> Array:
        """Return ``n`` regression functions drawn from the prior, at each row of ``X``.

        What `sample_functions` draws after the data, this draws before them, under the
        conditions of `prior_predictive`.
        """
        columns, belief = self._prior(X)
        return np.asarray(belief.sample(generator(random_state), n).weights @ columns.T)

    def coefficients(self, coverage: float = 0.9) -> pd.DataFrame:
        """Return a table of the weights by name: mean, sd and central interval."""
        check_is_fitted(self)
        if not self._is_single:
            raise ValueError(
                f"coefficients needs one output; found {len(self.coef_)}. Read coef_ and "
                "posterior_.weight_variance() instead."
            )
        low, high = self.posterior_.weight_interval(coverage)[:, 0].T
        sd = np.sqrt(self.posterior_.weight_variance()[:, 0])
        columns = {"mean": self.coef_, "sd": sd, "low": low, "high": high}
        return pd.DataFrame(columns, index=pd.Index(self.term_names(), name="term"))

    def term_names(self) -> list[str]:
        """Return the name of each column of the design."""
        return term_names(self)

    def log_evidence_at(self, weight_precision: ArrayLike, noise_precision: ArrayLike) -> float:
        """Return the log evidence at given precisions, exact, summed over outputs.

        Parameters
        ----------
        weight_precision
            One number, or one for each weight (and a penalized intercept last), or a row of
            these for each output; in the units of the data. Infinity drops a weight.
        noise_precision
            Inverse noise variance, or one for each output.
        """
        check_is_fitted(self)
        return log_evidence_at(
            self.statistics_, self._setting.intercept, weight_precision, noise_precision
        )

    def evidence_approximations(self) -> dict[str, float]:
        """Return the log evidence beside its Laplace, BIC and width approximations."""
        check_is_fitted(self)
        if self.inference == "ml" or self.weight_precision == "ard":
            raise ValueError(
                "evidence_approximations needs one prior precision for all weights; found "
                f"inference={self.inference!r}, weight_precision={self.weight_precision!r}. "
                "Use 'exact' or 'map' with a number or 'evidence'."
            )
        return evidence_approximations(self._setting.problem(self.statistics_), self.inference_)

    def diagnose(self) -> Diagnosis:
        """Return whether the posterior can be relied on, and why not."""
        check_is_fitted(self)
        return diagnose_linear(self.inference_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @property
    def _setting(self) -> LinearSetting:
        return LinearSetting(
            self.inference,
            self.weight_precision,
            self.noise_precision,
            self.fit_intercept,
            self.penalize_intercept,
        )

    def _prior(self, X: ArrayLike) -> tuple[Array, LinearGaussianBelief | LinearGaussianGamma]:
        """Return the design at rows, and what is believed of its weights before any data."""
        self._check_settings()
        self._setting.require_prior()
        if self.__sklearn_is_fitted__():
            columns = fitted_design(self, X)
        else:
            inputs = check_array(X, dtype=np.float64)
            columns = design(placed_basis(self.basis, inputs, None), inputs)
        if self.fit_intercept:
            columns = np.column_stack([columns, np.ones(len(columns))])
        d = columns.shape[1]
        return columns, self._setting.prior(d)

    def _check_settings(self) -> None:
        require_basis(self.basis)
        self._setting.check()

    def _validated(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, is_first: bool
    ) -> tuple[Array, Array, Array | None]:
        """Return inputs, outputs (n, k) and weights; the first call places the basis."""
        inputs, outputs = validated(
            self, X, y, reset=is_first, dtype=np.float64, y_numeric=True, multi_output=True
        )
        weight = None
        if sample_weight is not None:
            weight = row_weight(sample_weight, inputs)
        if is_first:
            self.basis_ = placed_basis(self.basis, inputs, weight)
            self._is_single = np.ndim(outputs) == 1
        outputs = np.asarray(outputs, dtype=np.float64)
        return inputs, outputs.reshape(len(outputs), -1), weight

    def _summary(self, inputs: Array, outputs: Array, weight: Array | None) -> LinearStatistics:
        """Return the statistics of rows; of many, the design is made part by part."""
        ends = [0]
        parts = []
        for columns in design_blocks(self.basis_, inputs):
            ends.append(ends[-1] + len(columns))
            rows = slice(*ends[-2:])
            row_weights = None if weight is None else weight[rows]
            with threads_for(columns.size * columns.shape[1]):
                parts.append(LinearStatistics.of(columns, outputs[rows], row_weights))
        return reduce(add, parts)

    def _learn(
        self, statistics: LinearStatistics, rows: LinearStatistics | None = None
    ) -> Self:
        self._setting.require_enough(statistics)
        # An eigendecomposition takes about ten times the work of a product.
        with threads_for(10.0 * statistics.n_features**3):
            inference = infer(
                self._setting.problem(statistics, rows), is_point=self.inference == "map"
            )
        return self._set_belief(statistics, inference)

    def _moments(self, columns: Array, inputs: Array) -> tuple[Array, Array]:
        """Return mean and leverage at rows, which may lie outside the training inputs."""
        belief: RidgeBelief = self.posterior_
        with threads_for(columns.size * columns.shape[1]):
            mean, leverage = belief.mean(columns), belief.leverage(columns)
        if not isinstance(self.basis_, ContinuedBasis):
            return mean, leverage
        held = self._held(leverage)
        if self.basis_.is_left(inputs):
            beyond = self.basis_.beyond(inputs)
            rows = beyond.rows
            mean[rows], leverage[rows] = belief.continued(columns[rows], *beyond[1:])
            held[rows] = self._held(belief.leverage(beyond.edge))
        center = self.statistics_.y_mean
        return np.where(held < 1, center + held * (mean - center), mean), held * leverage

    def _held(self, leverage: Array) -> Array:
        """Return the part of each variance that is left if no doubt is above `MOST_DOUBT`.

        With ``d`` for the doubt of a row and ``e`` for the most of it, a row with more is
        multiplied by a normal about the mean of the outcomes, of precision
        ``1 / e^2 - 1 / d^2``: its doubt becomes ``e``, and of its way from that mean
        ``e^2 / d^2`` is left, as of its variance.
        """
        known = self.statistics_
        variance = known.y_scatter_diagonal / known.weight
        most = MOST_DOUBT**2 * variance * self.posterior_.noise_precision
        is_known = np.isfinite(most) & (most > 0)
        return np.where(is_known & (leverage > most), most / np.maximum(leverage, most), 1.0)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")

    def _check_same_rows(self, outputs: Array, weight: Array) -> None:
        """Refuse rows that are not those of training, as far as weight and mean can tell."""
        known = self.statistics_
        mean = (weight * outputs).sum(axis=0) / weight.sum()
        spread = np.sqrt(known.y_scatter_diagonal / known.weight) + np.abs(known.y_mean)
        is_same = np.isclose(weight.sum(), known.weight, rtol=1e-9)
        if not is_same or (np.abs(mean - known.y_mean) > 1e-6 * spread).any():
            raise ValueError(
                "leave_one_out needs the rows and weights of training; found "
                f"{weight.sum():g} rows with other outputs, against {known.weight:g}. Pass the "
                "training data, and predict_dist for new rows."
            )

    def _set_belief(self, statistics: LinearStatistics, inference: Inference) -> Self:
        belief: RidgeBelief = inference.posterior
        self.coef_ = self._per_output(belief.weights.T)
        self.intercept_ = self._per_output(belief.intercept)
        self.weight_precision_ = self._per_output(prior_precision(belief))
        self.noise_precision_ = self._per_output(belief.noise_precision)
        self.n_effective_parameters_ = self._per_output(belief.effective_parameters)
        self.log_evidence_ = inference.log_evidence
        self.evidence_method_ = inference.evidence_method
        self.evidence_flat_ = self._setting.flat_priors
        self.posterior_, self.inference_, self.statistics_ = belief, inference, statistics
        return self

    def _per_output(self, values: Array) -> Any:
        """Return the only entry for one output, a float if it is one number; all otherwise."""
        if not self._is_single:
            return values
        return values[0] if values.ndim > 1 else float(values[0])

    def _squeezed(self, predictive: Predictive) -> Predictive:
        return predictive[:, 0] if self._is_single else predictive

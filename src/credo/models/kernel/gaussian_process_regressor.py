"""Gaussian process regression: functions of any shape, as smooth as the data say."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from numbers import Real
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo import features
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.normal import Normal
from credo.distributions.predictive import Predictive
from credo.features.basis import Basis, column_spread, distinct_rows
from credo.features.kernels.kernel import Kernel, ScaledKernel
from credo.features.kernels.parted import PartedKernel, has_white
from credo.features.kernels.stationary import Matern52
from credo.inference.density.trajectory import NoUTurnSampling
from credo.inference.engine.diagnosis import Diagnosis
from credo.inference.engine.draws import Draws
from credo.inference.engine.engine import ConvergenceWarning, Inference
from credo.inference.kernel.exact import ExactProcess
from credo.inference.kernel.learning import (
    Copies,
    ProcessPosterior,
    ProcessProblem,
    RowNoise,
    draw_settings,
    learn_process,
)
from credo.inference.kernel.process import ProcessData, ProcessMethod
from credo.inference.kernel.search import Learned
from credo.inference.kernel.series import SeriesProcess, state_dimension
from credo.inference.kernel.sparse import SparseProcess
from credo.models.contract.diagnosis import diagnose_drawn
from credo.models.contract.inputs import (
    LARGEST,
    generator,
    require_choice,
    row_weight,
    validated,
)
from credo.models.contract.regressor import PredictiveRegressor
from credo.numerics.array import Array, as_float, last_digit
from credo.numerics.example import Example
from credo.numerics.form import FINITE, Form
from credo.numerics.linear.linear_algebra import independent_columns
from credo.numerics.memory import USUAL_BYTES, bytes_text
from credo.numerics.quotation import quote
from credo.numerics.warning import warn_user
from credo.validation.held_out import Forget

__all__ = ["GaussianProcessRegressor", "varying_noise_basis"]

EXACT_ROWS = 2_000
"""Rows up to which a process is exact if nothing is said: some seconds of learning."""

METHODS: dict[Any, ProcessMethod] = {
    "exact": ExactProcess(),
    "series": SeriesProcess(),
    "sparse": SparseProcess(),
}

VISIBLE_SHIFT = 1e-3
"""Share of the spread of the outcomes by which jitter may move the function unsaid."""

SERIES_ROWS = 1_000
"""Rows from which on states save seconds beside a covariance matrix.

Their loops are compiled once, which takes some ten seconds: with fewer rows that is lost.
"""

ROWS_BY_STATE = 10
"""Rows that there must be for each number in the state."""


def varying_noise_basis(n_rows: int) -> Basis:
    """Return the functions that the log noise follows if it varies, for distinct rows."""
    return features.RadialBasis(min(8, max(2, n_rows // 20)), width_scale=1.5)


class GaussianProcessRegressor(PredictiveRegressor):
    """Regression by a random function, ``y = mean(x) + f(x) + noise``, ``f ~ GP(0, kernel)``.

    Kernel parameters and noise are learned from the evidence, and what is left open of them is
    averaged over where the rows are few, so that intervals carry it.

    Parameters
    ----------
    kernel
        Covariance function from `credo.features`, whose values are the first to be tried; if
        None a variance times `Matern52` with a length scale for each column that varies.
        Several outputs, each divided by its spread, share it, but for a variance in front,
        ``variance * kernel``, of which each learns its own.
    inference
        "map" for settings under weak priors in the units of the data, averaged over by
        weighted draws of a normal around the best; "nuts" for draws from the posterior of the
        settings itself, or ``NoUTurnSampling`` with settings; "ml" for the settings of largest
        evidence alone.
    mean
        "constant" for a level that is integrated out under a flat prior of density one,
        "zero" for none, or a basis from `credo.features` whose weights are integrated out.
    noise
        "learned", a variance that is known, or "varying" for noise whose log follows the
        inputs; a basis says by which functions. `White` in the kernel is noise of each outcome
        as well: it is added to what is given or varies, and where it stands none is learned
        besides. Learned noise is never less than what rounding of the outcomes leaves open.
        Each of several outputs has noise of its own.
    method
        "exact" for no approximation; "series" for one column and kernels that have a state
        space form, exact as well and in time that grows with the rows; "sparse" for inducing
        inputs and a bound of the evidence; "auto" for series where it is quicker, else exact
        up to 2,000 rows and sparse beyond; or a method of `credo.inference` with settings,
        such as ``SparseProcess(500)``.
    random_state
        Seed of the draws of `sample_functions`, and of "nuts".

    Attributes
    ----------
    kernel_
        The kernel with its most probable parameters; what outputs share of it.
    noise_variance_
        Most probable variance of the noise, that of `White` included; at the mean of the
        inputs' functions if it varies.
        An array (k,) of several outputs, in their units.
    outcome_scale_
        What outcomes are divided by: the spread of each of several outputs, and one for a
        single one.
    log_parameters_, log_parameter_std_, parameter_names_
        Logs of kernel parameters and noise, of scaled outcomes, at the maximum, how uncertain
        each is, and its name; "ml" takes the maximum for what is known, an uncertainty of
        zero.
    log_evidence_, evidence_method_
        Log probability of y with all settings integrated out, learned noise under a prior
        that is flat in its log as that of `LinearRegression` is; by "laplace" where some were
        learned and "exact" otherwise; a "bound" of it if the process is sparse; for "ml" it
        is their largest value, "none".
    evidence_flat_
        Which unknowns have a flat prior of density one.
    mean_center_, mean_columns_
        What is taken off each mean function, which keeps inputs far from zero from cancelling:
        its mean over distinct training rows, and nothing off the level. Which of the mean
        functions differ on the training rows, and are used.
    method_
        How it was computed.
    jitter_
        What had to be added to the diagonal of the covariance.
    draws_
        Of "nuts": draws of the logs of the settings by chain, "log_parameters".
    posterior_, inference_
        The belief about the function, and the whole answer of the search.

    Examples
    --------
    >>> x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 0.8, 0.9, 0.1])
    >>> from credo.features import SquaredExponential
    >>> model = GaussianProcessRegressor(SquaredExponential(1.0).hold(), noise=0.01)
    >>> model.fit(x, y).predict([[1.5]]).round(3)
    array([1.017])
    """

    _is_single: bool
    basis_: Basis | None
    evidence_flat_: tuple[str, ...]
    evidence_method_: str
    inference_: Inference
    jitter_: float
    kernel_: Kernel
    log_evidence_: float
    log_parameter_std_: Annotated[Array, Form("p", 0.0)]
    log_parameters_: Annotated[Array, Form("p")]
    mean_center_: Annotated[Array, Form("f")]
    mean_columns_: Annotated[NDArray[np.intp], Form("q", 0)]
    method_: str
    noise_basis_: Basis | None
    noise_variance_: Annotated[float | Array, Form("...", 0.0)]
    outcome_scale_: Annotated[Array, Form("k", 0.0, FINITE)]
    parameter_names_: tuple[str, ...]
    posterior_: ProcessPosterior

    def __init__(
        self,
        kernel: Kernel | None = None,
        inference: str | NoUTurnSampling = "map",
        mean: str | Basis = "constant",
        noise: str | float | Basis = "learned",
        method: Any = "auto",
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.inference = inference
        self.mean = mean
        self.noise = noise
        self.method = method
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        smooth = features.SquaredExponential(1.0).hold()
        bent = features.Matern52(1.0).hold() + features.Linear().hold()
        line = features.LinearBasis()
        return (
            Example(cls(), streams=False),
            Example(cls(bent, inference="ml", mean="zero"), unit_free=False, streams=False),
            Example(
                cls(smooth.hold(), mean=line, noise="varying"), unit_free=False, streams=False
            ),
            Example(cls(smooth.hold(), noise=0.5), unit_free=False),
        )

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        noise_variance: ArrayLike | None = None,
    ) -> Self:
        """Learn from ``X`` (n, d) and ``y`` (n,) or (n, k), forgetting earlier data.

        Parameters
        ----------
        sample_weight
            How many copies of it each row stands for.
        noise_variance
            Variance of the noise of each row that is known beforehand, beside what is learned.
        """
        self._check_settings()
        # What was learned before stays if this fails.
        fitted = copy(self)._learned(X, y, sample_weight, noise_variance)
        self.__dict__.update(vars(fitted))
        return self

    def _learned(self, X: Any, y: Any, sample_weight: Any, noise_variance: Any) -> Self:
        data, noise = self._rows(X, y, sample_weight, noise_variance, is_first=True)
        kernel = self._start_kernel(data.x)
        variance: float | None = None
        method = self._chosen(data.x, kernel)
        if noise.n_outputs > 1 and isinstance(kernel, ScaledKernel):
            variance, kernel = kernel.variance, kernel.kernel
        has_prior = self.inference != "ml"
        problem = ProcessProblem(data, kernel, noise, method, has_prior, variance)
        problem, learned = learn_process(problem)
        self._warn_of_bounds(learned)
        self._warn_of_copies(row_weight(sample_weight, X), problem, learned)
        return self._set_belief(problem, learned)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        noise_variance: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows at the settings of the first fit, by growing its factor.

        The result equals a fit to all rows with these settings; `fit` learns them anew.
        """
        if not hasattr(self, "posterior_"):
            return self.fit(X, y, sample_weight, noise_variance)
        self._check_settings()
        data, noise = self._rows(X, y, sample_weight, noise_variance, is_first=False)
        self.posterior_ = self.posterior_.extended(data, noise)
        self.log_evidence_ = self.log_evidence_at(self.log_parameters_)
        self.evidence_method_ = "none"
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Return the predictive mean, the best guess under squared loss.

        It takes a product of n numbers for each row; all else that is predicted takes n^2.

        Parameters
        ----------
        return_std
            Whether to return the predictive standard deviation as well.
        """
        if return_std:
            return super().predict(X, return_std=True)
        inputs = self._inputs(X)
        mean = self.posterior_.mean(inputs, self._columns(inputs)) * self.outcome_scale_
        return mean[:, 0] if self._is_single else mean

    def predict_dist(self, X: ArrayLike) -> Predictive:
        """Return the distribution of the outcome, noise included, one entry per row."""
        return self._predictive(X, with_noise=True)

    def predict_function(self, X: ArrayLike) -> Predictive:
        """Return the distribution of the function without noise, one entry per row."""
        return self._predictive(X, with_noise=False)

    def components(self, X: ArrayLike, centered: bool = False) -> dict[str, Predictive]:
        """Return what is believed of each part of a sum of kernels, at the rows.

        The parts are named as in ``parameter_names_``, "part1", "part2" and so on, without
        those that are `White`, and with "mean" before them if there are mean functions. Their
        means add up to the mean of the function. A kernel that is no sum is one part.

        Parameters
        ----------
        centered
            Whether to take from each part its average over the rows. Data say little of the
            levels of parts, which can go from one to another, and much of their shapes.

        Examples
        --------
        >>> from credo.features import Linear, Matern52
        >>> x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.2, 1.9, 3.1])
        >>> kernel = (Linear(1.0) + Matern52(1.0)).hold()
        >>> model = GaussianProcessRegressor(kernel, mean="zero", noise=0.01).fit(x, y)
        >>> parts = model.components([[5.0]])
        >>> {name: part.mean().round(2).tolist() for name, part in parts.items()}
        {'part1': [4.72], 'part2': [0.05]}
        """
        inputs = self._inputs(X)
        parts = self.posterior_.components(
            inputs, self._columns(inputs), self.outcome_scale_, centered
        )
        return {name: self._squeezed(part) for name, part in parts.items()}

    def predict_joint(self, X: ArrayLike, with_noise: bool = False) -> MultivariateNormal:
        """Return the joint distribution of the function, or of outcomes, at all rows.

        At the most probable settings; for one output.
        """
        inputs = self._inputs(X)
        if len(self.outcome_scale_) > 1:
            raise ValueError(
                f"predict_joint needs one output; found {len(self.outcome_scale_)}. Fit one "
                "model for each output."
            )
        belief = self.posterior_.at_mode
        _require_memory("predict_joint", len(inputs), belief.joint_bytes(len(inputs)))
        mean, covariance = belief.joint(inputs, self._columns(inputs))
        if with_noise:
            covariance = covariance + np.diag(self._noise_at(inputs)[:, 0])
        return MultivariateNormal(mean[:, 0], covariance)

    def sample_functions(self, X: ArrayLike, n: int, random_state: Any = None) -> Array:
        """Return ``n`` functions drawn from the posterior, shape (n, m), or (n, m, k).

        Each has settings of its own, drawn as `predict_function` averages over them. Of a
        series, time and memory grow with the rows; else with their square, and cube.
        """
        inputs = self._inputs(X)
        if not isinstance(self.posterior_.method, SeriesProcess):
            needed = self.posterior_.beliefs[0].joint_bytes(len(inputs))
            _require_memory("sample_functions", len(inputs), needed)
        state = self.random_state if random_state is None else random_state
        draws = self.posterior_.sample(generator(state), inputs, self._columns(inputs), n)
        scaled = draws * self.outcome_scale_
        return np.asarray(scaled[..., 0] if self._is_single else scaled)

    def leave_one_out(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Predictive:
        """Return what each training row would have been predicted as, had it been left out.

        In closed form from the factor, at the most probable settings. After `partial_fit`
        the rows of all chunks are to be passed, in any order.
        """
        rows, scaled, weight = self._training_rows(X, y, sample_weight)
        known = self.posterior_.merged()
        if not _has_learned(known, rows) or not np.all(row_weight(sample_weight, X) > 0):
            raise ValueError(
                "leave_one_out needs the rows and weights of training, without known noise; "
                f"found {len(scaled)} other rows. Pass the training data, and predict_dist for "
                "new rows."
            )
        mean, spread, noise = known.left_out(rows.place, scaled, weight)
        scale = self.outcome_scale_
        doubt, own = (np.sqrt(part) * scale for part in (spread, noise))
        # A function that is known for sure still has a density, if a narrow one.
        std = np.maximum(np.hypot(doubt, own), 1e-150)
        found = Predictive(Normal(mean * scale, std), doubt, own)
        return self._squeezed(found)

    def forgetting(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Forget | None:
        """Return how the model forgets some of the rows that it has learned from.

        In closed form from the factor, at the settings and inducing inputs of all rows; None
        for a series, or where the rows are not those of training without known noise. What it
        returns has ``predict_dist`` and ``log_evidence_``.
        """
        rows, scaled, weight = self._training_rows(X, y, sample_weight)
        known, is_heavy = self.posterior_.merged(), row_weight(sample_weight, X) > 0
        number = np.cumsum(is_heavy) - 1
        if isinstance(known.method, SeriesProcess) or not _has_learned(known, rows):
            return None

        def without(left_out: NDArray[np.intp]) -> GaussianProcessRegressor:
            model, gone = copy(self), number[left_out[is_heavy[left_out]]]
            model.posterior_ = known.without(rows.without(gone, scaled, weight))
            change = model.posterior_.log_evidence_at_mode - known.log_evidence_at_mode
            shift = model._scale_shift() - self._scale_shift()
            model.log_evidence_ = self.log_evidence_ + change - shift
            return model

        return without

    def conditioned(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Return the model of other rows at the settings, and with the doubt, learned here.

        For rows like those of training; `fit` learns the settings anew. The log evidence is
        that at the most probable settings, with the doubt that these rows left.
        """
        check_is_fitted(self)
        model = copy(self)
        data, noise = model._rows(X, y, sample_weight, None, is_first=False)
        _require_rows(data.columns.shape[1], data.columns, len(data.x))
        model.posterior_ = self.posterior_.conditioned(data, noise)
        change = model.posterior_.log_evidence_at_mode - self.posterior_.log_evidence_at_mode
        shift = model._scale_shift() - self._scale_shift()
        model.log_evidence_ = self.log_evidence_ + change - shift
        return model

    def log_evidence_at(self, log_parameters: ArrayLike, gradient: bool = False) -> Any:
        """Return the log evidence of the training rows at other settings.

        Parameters
        ----------
        log_parameters
            Logs in the order of ``parameter_names_``; those of the noise may be left out,
            which stays as it was learned.
        gradient
            Whether to return the gradient by these as well.
        """
        check_is_fitted(self)
        logs = as_float(log_parameters)
        problem = self.posterior_.problem
        if logs.shape not in {self.log_parameters_.shape, (problem.n_function,)}:
            raise ValueError(
                f"log_parameters must hold the logs of {list(self.parameter_names_)}; found "
                f"shape {logs.shape}. Start from model.log_parameters_."
            )
        whole = np.concatenate([logs, self.log_parameters_[len(logs) :]])
        value, slope = problem.log_evidence(whole)
        value -= self._scale_shift()
        return (value, slope[: len(logs)]) if gradient else value

    def settings(self, coverage: float = 0.9) -> pd.DataFrame:
        """Return a table of what was learned: value, and an interval where it was averaged.

        Length scales of columns that have names are called by these.
        """
        check_is_fitted(self)
        half = float(Normal(0.0, 1.0).quantile(0.5 + 0.5 * coverage)) * self.log_parameter_std_
        low, high = self.log_parameters_ - half, self.log_parameters_ + half
        if hasattr(self, "draws_"):
            ends = [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage]
            low, high = self.draws_.quantile("log_parameters", ends)
        columns = {
            "value": np.exp(self.log_parameters_),
            "low": np.exp(low),
            "high": np.exp(high),
        }
        names = getattr(self, "feature_names_in_", None)
        labels = [p.label(names) for p in self.kernel_.parameters]
        labels += self.parameter_names_[len(labels) :]
        return pd.DataFrame(columns, index=pd.Index(labels, name="setting"))

    def _check_settings(self) -> None:
        if not isinstance(self.inference, NoUTurnSampling):
            require_choice("inference", self.inference, ("map", "ml", "nuts"))
        if not (self.kernel is None or isinstance(self.kernel, Kernel)):
            raise TypeError(
                "kernel must be None or a kernel from credo.features, such as "
                f"SquaredExponential(); found {quote(self.kernel)}. Pass an instance."
            )
        if not isinstance(self.mean, Basis):
            require_choice("mean", self.mean, ("constant", "zero"))
        if isinstance(self.noise, str):
            require_choice("noise", self.noise, ("learned", "varying"))
        elif not isinstance(self.noise, Basis) and not _is_variance(self.noise):
            raise ValueError(
                "noise must be 'learned', 'varying', a basis, or a variance of 0 or more; "
                f"found {quote(self.noise)}. Choose from these."
            )
        if isinstance(self.method, str):
            require_choice("method", self.method, ("auto", *METHODS))
        elif isinstance(self.method, type) or not hasattr(self.method, "evidence"):
            raise TypeError(
                f"method must be one of {quote(['auto', *METHODS])}, or a method of "
                f"credo.inference, such as SparseProcess(500); found {quote(self.method)}. "
                "Pass one of these."
            )

    def _training_rows(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Copies, Array, Array]:
        """Return distinct rows, scaled outcomes (n, k), and weights (n,) that are not zero."""
        check_is_fitted(self)
        x, outcomes = validated(
            self, X, y, reset=False, dtype=np.float64, multi_output=True, y_numeric=True
        )
        weight = row_weight(sample_weight, x)
        is_heavy = weight > 0
        x, weight = x[is_heavy], weight[is_heavy]
        outcomes = as_float(outcomes)[is_heavy].reshape(len(x), -1)
        scaled = outcomes / self.outcome_scale_
        return Copies.of(x, scaled, weight, np.zeros(len(x))), scaled, weight

    def _start_kernel(self, x: Array) -> Kernel:
        if self.kernel is None:
            varying = np.flatnonzero(column_spread(x, 0.0) > 0).tolist() or [0]
            smooth: Kernel = Matern52((1.0,) * len(varying))
            kernel = 1.0 * (smooth if len(varying) == x.shape[1] else smooth.on(varying))
            return kernel.placed(x, 1.0)
        self.kernel.check_inputs(x)
        return self.kernel

    def _chosen(self, x: Array, kernel: Kernel) -> ProcessMethod:
        """Return how to compute it, and refuse a wish that would not fit into memory."""
        n = len(x)
        if self.method == "auto":
            if _is_series(x, kernel):
                return SeriesProcess()
            return ExactProcess() if n <= EXACT_ROWS else SparseProcess()
        chosen: ProcessMethod = METHODS.get(self.method, self.method)
        # So many are exact without a question.
        needed = 0.0 if n <= EXACT_ROWS else chosen.bytes_needed(n)
        if needed > 4 * USUAL_BYTES:
            raise ValueError(
                f"{type(chosen).__name__} must fit into memory; found {n} rows, which need "
                f"{bytes_text(needed)}. Take fewer rows, or method='auto', which takes "
                "inducing inputs."
            )
        return chosen

    def _rows(
        self, X: Any, y: Any, sample_weight: Any, noise_variance: Any, is_first: bool
    ) -> tuple[ProcessData, RowNoise]:
        """Return checked rows that carry weight, as the process sees them, and their noise."""
        x, outcomes = validated(
            self, X, y, reset=is_first, dtype=np.float64, multi_output=True, y_numeric=True
        )
        outcomes = as_float(outcomes)
        weight = row_weight(sample_weight, x)
        known = self._known_noise(noise_variance, len(x))
        is_kept = weight > 0
        if is_first:
            _require_visible(outcomes[is_kept])
            self._is_single = outcomes.ndim == 1
            self._place(x[is_kept])
            self.outcome_scale_ = self._scale_of(outcomes[is_kept])
        scaled = outcomes.reshape(len(x), -1)[is_kept] / self.outcome_scale_
        rows = Copies.of(x[is_kept], scaled, weight[is_kept], known[is_kept])
        columns, scale = self._columns(rows.x), self.outcome_scale_
        if is_first:
            _require_rows(columns.shape[1] + 1, columns, int(is_kept.sum()))
        level = self._noise_level
        noise = RowNoise(
            rows.known / scale**2,
            rows.weight,
            rows.scatter,
            self._noise_columns(rows.x),
            None if level is None else level / scale**2,
            rows.rounding(scaled),
        )
        white = np.zeros(len(rows.x))
        if self.kernel is not None:
            white = PartedKernel.of(self.kernel).noise(rows.x)[0]
        _require_noise_of_copies(noise, white)
        return ProcessData(rows.x, rows.y, columns), noise

    def _scale_of(self, outcomes: Array) -> Array:
        """Return what outcomes are divided by: several outputs share one kernel."""
        if outcomes.ndim == 1 or outcomes.shape[1] == 1:
            return np.ones(1)
        spread = column_spread(outcomes - outcomes[0], 1.0)
        return np.where(spread > last_digit(outcomes), spread, 1.0)

    def _place(self, x: Array) -> None:
        rows = distinct_rows(x)
        self.basis_ = self.mean.place(rows) if isinstance(self.mean, Basis) else None
        functions = self._mean_functions(rows)
        n_functions = functions.shape[1]
        self.mean_center_, self.mean_columns_ = np.zeros(n_functions), np.arange(n_functions)
        if self.basis_ is not None:
            self.mean_center_[1:] = functions[:, 1:].mean(axis=0)
            is_flat = np.ptp(functions, axis=0) <= 4.0 * last_digit(functions)
            centered = np.where(is_flat, 0.0, functions - self.mean_center_)
            centered[:, 0] = 1.0
            # The first is the level; more functions than rows have nothing to learn from.
            most = max(1, len(rows) - 1)
            self.mean_columns_ = independent_columns(centered)[:most]
        noise: Any = self.noise
        if isinstance(noise, str) and noise == "varying":
            noise = varying_noise_basis(len(rows))
        self.noise_basis_ = noise.place(rows) if isinstance(noise, Basis) else None

    def _known_noise(self, noise_variance: Any, n: int) -> Array:
        if noise_variance is None:
            return np.zeros(n)
        known = as_float(noise_variance)
        wanted = f"noise_variance must hold a variance of 0 or more for each of the {n} rows"
        if known.shape != (n,):
            raise ValueError(f"{wanted}; found shape {known.shape}. Pass one for each row.")
        is_odd = ~((known >= 0) & (known < np.inf))
        if is_odd.any():
            row = int(np.flatnonzero(is_odd)[0])
            raise ValueError(
                f"{wanted}; found {known[row]:g} in row {row}. Pass variances, with 0 where "
                "there is no known noise."
            )
        return known

    @property
    def _noise_level(self) -> float | None:
        """The noise variance where it is given; None where it is learned."""
        if isinstance(self.noise, str | Basis):
            is_white = self.kernel is not None and has_white(self.kernel)
            return 0.0 if is_white and self.noise == "learned" else None
        return float(self.noise)

    def _columns(self, x: Array) -> Array:
        functions = self._mean_functions(x) - self.mean_center_
        return np.ascontiguousarray(functions[:, self.mean_columns_])

    def _mean_functions(self, x: Array) -> Array:
        if self.basis_ is not None:
            return np.column_stack([np.ones(len(x)), self.basis_.design(x)])
        return np.ones((len(x), int(self.mean == "constant")))

    def _noise_columns(self, x: Array) -> Array:
        if self.noise_basis_ is None:
            return np.empty((len(x), 0))
        return self.noise_basis_.design(x)

    def _noise_at(self, x: Array) -> Array:
        return self.posterior_.noise_at(self.log_parameters_, x, self._noise_columns(x))

    def _inputs(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        return np.asarray(validated(self, X, reset=False, dtype=np.float64))

    def _predictive(self, X: ArrayLike, with_noise: bool) -> Predictive:
        inputs = self._inputs(X)
        belief, columns = self.posterior_, self._noise_columns(inputs)
        noise = [
            with_noise * belief.noise_at(point, inputs, columns) for point in belief.points
        ]
        found = belief.predictive(inputs, self._columns(inputs), noise, self.outcome_scale_)
        return self._squeezed(found)

    def _scale_shift(self) -> float:
        """Return what dividing outcomes adds to the log evidence."""
        known = self.posterior_
        free = float(known.noise.weight.sum()) - known.data.columns.shape[1]
        return float(free * np.log(self.outcome_scale_).sum())

    def _set_belief(self, problem: ProcessProblem, learned: Learned) -> Self:
        self.posterior_ = ProcessPosterior.of(problem, learned)
        self.log_parameters_ = learned.free
        self.parameter_names_ = tuple(problem.names)
        self.kernel_ = problem.split(learned.free).kernel
        center, columns = (
            part.mean(axis=0, keepdims=True) for part in (problem.data.x, problem.noise.columns)
        )
        noise = self.posterior_.noise_at(learned.free, center, columns)[0]
        noise = noise * self.outcome_scale_**2
        self.noise_variance_ = float(noise[0]) if len(noise) == 1 else noise
        self.method_ = type(problem.method).__name__
        is_learned = len(learned.free) > 0
        self.evidence_method_ = "laplace" if is_learned else "exact"
        if isinstance(problem.method, SparseProcess):
            self.evidence_method_ = "bound"
        if self.inference == "ml" and is_learned:
            self.evidence_method_ = "none"
        value = learned.value
        if self.inference != "ml":
            value = learned.log_evidence - problem.log_noise_prior(learned.free)
        self.log_evidence_ = float(value) - self._scale_shift()
        flat = {
            "intercept": self.mean != "zero",
            "log noise": problem.noise.level is None,
        }
        self.evidence_flat_ = tuple(name for name, is_flat in flat.items() if is_flat)
        self.inference_ = Inference(
            None, self.log_evidence_, self.evidence_method_, learned.status
        )
        self.log_parameter_std_ = np.sqrt(np.maximum(np.diagonal(learned.covariance), 0.0))
        if self._is_drawn and is_learned:
            self._draw_settings(problem, learned)
        self.jitter_ = max(belief.jitter for belief in self.posterior_.beliefs)
        if self.jitter_ > 0:
            self._warn_of_jitter(problem, learned)
        return self

    @property
    def _is_drawn(self) -> bool:
        return self.inference == "nuts" or isinstance(self.inference, NoUTurnSampling)

    def _draw_settings(self, problem: ProcessProblem, learned: Learned) -> None:
        engine = self.inference if isinstance(self.inference, NoUTurnSampling) else None
        rng = generator(self.random_state)
        self.posterior_, found = draw_settings(problem, learned, engine, rng)
        self.inference_ = replace(
            found, log_evidence=self.log_evidence_, evidence_method=self.evidence_method_
        )
        self.log_parameter_std_ = found.posterior.std("log_parameters")

    @property
    def draws_(self) -> Draws:
        """Draws of the logs of the settings, where they were drawn."""
        kept = getattr(getattr(self, "inference_", None), "posterior", None)
        if kept is None:
            raise AttributeError(
                "draws_ must be asked of a model that learned settings with inference='nuts'; "
                f"found {self.inference!r}. Read settings()."
            )
        return Draws({"log_parameters": kept["log_parameters"]})

    def diagnose(self) -> Diagnosis:
        """Return whether draws of the settings can be relied on, and why not."""
        return diagnose_drawn(self.inference_, self.inference_.posterior, self.draws_.names)

    def _warn_of_bounds(self, learned: Learned) -> None:
        if learned.at_bounds and self.inference == "ml":
            warn_user(
                "settings must lie inside their bounds for the evidence to have a maximum; "
                f"found {quote(list(learned.at_bounds))} at a bound. A length scale at its "
                "upper bound is of a column that does nothing: leave it out, or use "
                "inference='map', which has priors.",
                ConvergenceWarning,
            )

    def _warn_of_jitter(self, problem: ProcessProblem, learned: Learned) -> None:
        """Warn of jitter that moves the function more than the noise lets it."""
        shift = np.max([belief.jitter_shift for belief in self.posterior_.beliefs], axis=0)
        noise = np.sqrt(problem.variance_of_rows(learned.free).max(axis=0))
        is_moved = shift > np.maximum(noise, VISIBLE_SHIFT * np.sqrt(problem.y_variances))
        if is_moved.any():
            worst = int(np.argmax(np.where(is_moved, shift, 0.0)))
            scale = float(self.outcome_scale_[worst])
            warn_user(
                "the covariance of the outcomes must have a factor without help; found that a "
                f"jitter of {self.jitter_:.3g} had to be added to its diagonal, which moves "
                f"the function at the rows by {scale * shift[worst]:.3g}, beside noise of "
                f"standard deviation {scale * noise[worst]:.3g}. Let noise be learned or "
                "give more of it, or take a shorter length scale, or another kernel.",
                UserWarning,
            )

    def _warn_of_copies(self, weight: Array, problem: ProcessProblem, learned: Learned) -> None:
        """Warn of rows that count twice, by which no noise at all was learned."""
        noise, n_distinct = problem.noise, len(problem.data.x)
        n_rows = max(float(weight.sum()), float(np.count_nonzero(weight)))
        is_copied = 10 * (n_rows - n_distinct) >= n_rows and not noise.scatter.any()
        if not is_copied or noise.floor is None:
            return
        places = problem.level_places
        low = problem.bounds[places, 0]
        is_least = (noise.floor < np.exp(low)) & (learned.free[places] < low + 1.0)
        if len(places) and is_least.any():
            warn_user(
                "rows with the same inputs must be separate measurements for noise to be "
                f"learned; found {n_rows - n_distinct:g} of {n_rows:g} that repeat another "
                "with the same outcome, weights above one being such copies, which leaves no "
                "noise at all. Leave out the copies, divide weights by their mean, or give "
                "the noise, noise=0.01.",
                UserWarning,
            )

    def _squeezed(self, predictive: Predictive) -> Predictive:
        return predictive[:, 0] if self._is_single else predictive

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _is_variance(noise: Any) -> bool:
    """Return whether this is one finite number of 0 or more."""
    return isinstance(noise, Real) and 0.0 <= float(noise) < np.inf


def _require_visible(outcomes: Array) -> None:
    """Raise an error if outcomes differ by so little that squares of it vanish."""
    gap, digit = np.ptp(outcomes, axis=0), last_digit(outcomes)
    gaps = np.atleast_1d(gap[(gap > digit) & (gap < 1.0 / LARGEST)])
    if len(gaps):
        raise ValueError(
            f"y must vary by {1.0 / LARGEST:g} or more, so that squares are above 0, or not at "
            f"all; found a range of {gaps[0]:g}. Change the unit: multiply by a constant."
        )


def _require_rows(least: int, columns: Array, n_rows: int) -> None:
    """Raise an error if there are fewer distinct rows than mean functions need."""
    n, n_functions = columns.shape
    if n >= least:
        return
    found = f"n_samples={n}" if n == n_rows else f"{n} distinct among n_samples={n_rows}"
    raise ValueError(
        f"distinct rows of positive weight must be {least} or more for {n_functions} mean "
        f"functions; found {found}. Add rows with other inputs, or use mean='zero'."
    )


def _require_noise_of_copies(noise: RowNoise, white: Array) -> None:
    """Raise an error if rows of which there are several have no noise that tells them apart."""
    if noise.level is None:
        return
    variance = noise.known + noise.level + white[:, None]
    is_bare = (variance == 0).any(axis=1) & (noise.weight != 1.0)
    if is_bare.any():
        raise ValueError(
            "rows that repeat the inputs of another, or have a weight other than 1, must have "
            f"noise of positive variance; found {int(is_bare.sum())} distinct rows of this "
            "kind without any. Leave out the copies, give a noise, noise=0.01, or let it be "
            "learned, noise='learned'."
        )


def _has_learned(known: ProcessPosterior, rows: Copies) -> bool:
    """Return whether rows are those of a posterior."""
    is_same = np.array_equal(rows.x, known.data.x) and np.allclose(rows.y, known.data.y)
    return is_same and np.allclose(rows.weight, known.noise.weight)


def _require_memory(name: str, n_rows: int, needed: float) -> None:
    """Raise an error if what is known of all rows together would not fit into memory."""
    if needed > USUAL_BYTES:
        raise ValueError(
            f"{name} must fit into {bytes_text(USUAL_BYTES)}; found {n_rows} rows, which need "
            f"{bytes_text(needed)}. Pass fewer rows, or use predict_function, which takes "
            "each row by itself."
        )


def _is_series(x: Array, kernel: Kernel) -> bool:
    """Return whether rows of one column are many beside the state of the kernel."""
    if x.shape[1] != 1 or len(x) < SERIES_ROWS:
        return False
    size = state_dimension(kernel)
    return size is not None and len(x) >= ROWS_BY_STATE * size

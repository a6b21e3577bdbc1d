"""From labeled rows to a belief about the weights of a logistic regression.

Chooses how: Newton steps on columns or on the space that rows span, gradients alone where both
are many; a precision that is given, learned, or hardly any.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from credo.distributions.covariance import PrecisionForm
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.inference.density.laplace import Mode, approach
from credo.inference.engine.engine import ConvergenceWarning, Inference, Status, run
from credo.inference.logistic.belief import LogisticBelief
from credo.inference.logistic.evidence import LogisticEvidence, highest_evidence
from credo.inference.logistic.problem import LogisticProblem, mode_of
from credo.inference.logistic.softmax_rows import SoftmaxRows, class_coding
from credo.inference.logistic.variational import GaussianFit, VariationalLogistic
from credo.numerics.array import Array
from credo.numerics.constant import is_constant
from credo.numerics.linear.linear_algebra import cholesky
from credo.numerics.parallel.threads import threads_for_matrix
from credo.numerics.warning import warn_caller

__all__ = ["LogisticLearning", "SeparationWarning"]

MOST_PARAMETERS = 4000
HARDLY_ANY, SLIGHT, NOTABLE = 1e-13, 1e-8, 1e-5
FAR = 5.0
FINE, COARSE, NOTABLE_BEND = 0.02, 0.05, 0.1


class SeparationWarning(UserWarning):
    """Classes can be told apart without error, so that no finite weights are most likely."""


@dataclass(frozen=True)
class LogisticLearning:
    """How a logistic regression learns.

    Attributes
    ----------
    inference
        "variational" for the closest Gaussian, "laplace" for one at the mode, "map" for the
        mode alone, "ml" for maximum likelihood.
    weight_precision
        Inverse prior variance of the weights in the units of the design, or "evidence".
    fit_intercept
        Whether there are intercepts.
    """

    inference: str
    weight_precision: float | str
    fit_intercept: bool

    @property
    def learns_precision(self) -> bool:
        """Whether the precision of the weights comes from the data."""
        return self.inference != "ml" and isinstance(self.weight_precision, str)

    @property
    def has_gaussian(self) -> bool:
        """Whether the belief is a Gaussian."""
        return self.inference in ("variational", "laplace")

    def learn(
        self, design: Array, codes: NDArray[np.intp], weight: Array, n_classes: int
    ) -> tuple[LogisticBelief, Inference]:
        """Return the belief about the weights, and how it came about."""
        with threads_for_matrix((n_classes - 1) * (min(design.shape) + 1)):
            return self._believed(design, codes, weight, n_classes)

    def _believed(
        self, design: Array, codes: NDArray[np.intp], weight: Array, n_classes: int
    ) -> tuple[LogisticBelief, Inference]:
        if not weight.all():
            is_heavy = weight > 0
            design, codes, weight = design[is_heavy], codes[is_heavy], weight[is_heavy]
        seen = self._rows(design, codes, weight, n_classes)
        rows, axes = _spanned(seen)
        problem = LogisticProblem(rows, self._first_precision(rows))
        inference = self._inferred(problem)
        precision = problem.precision
        if self.learns_precision:
            precision = inference.state.problem.precision
        found = inference.posterior
        is_point = not (self.has_gaussian and isinstance(found, MultivariateNormal))
        mean = found.loc if isinstance(found, MultivariateNormal) else found
        belief = LogisticBelief(
            mean=mean.reshape(rows.shape),
            gaussian=None if is_point else found,
            coding=rows.coding,
            center=seen.center,
            scale=seen.scale,
            axes=axes,
            precision=precision,
            has_intercept=self.fit_intercept,
        )
        if self.inference == "ml":
            inference = replace(inference, log_evidence=float("nan"), evidence_method="none")
        # Where the engine stopped holds all rows, which a fitted model must not.
        return belief, replace(inference, posterior=belief, state=None)

    def _view(self, design: Array, weight: Array) -> tuple[Array, Array]:
        """Return what is subtracted from each column, and what the rest is multiplied by."""
        total = weight.sum()
        mean = weight @ design / total
        center = mean if self.fit_intercept else np.zeros_like(mean)
        if not (self.learns_precision or self.inference == "ml"):
            return center, np.ones_like(mean)
        spread = np.sqrt(_mean_square(design, center, weight / total))
        is_flat = is_constant(mean, spread) if self.fit_intercept else spread == 0
        return center, np.where(is_flat, 0.0, 1.0 / np.where(is_flat, 1.0, spread))

    def _rows(
        self, design: Array, codes: NDArray[np.intp], weight: Array, n_classes: int
    ) -> SoftmaxRows:
        center, scale = self._view(design, weight)
        coding = class_coding(n_classes)
        return SoftmaxRows(design, codes, weight, center, scale, coding, self.fit_intercept)

    def _first_precision(self, rows: SoftmaxRows) -> float:
        if self.inference == "ml":
            return SLIGHT * float(rows.weight.sum())
        if self.learns_precision:
            # A prior under which scores are about one.
            return max(float(np.count_nonzero(rows.scale)), 1.0)
        return float(self.weight_precision)

    def _inferred(self, problem: LogisticProblem) -> Inference:
        if problem.n_parameters <= MOST_PARAMETERS:
            return self._by_newton(problem)
        if self.has_gaussian or self.learns_precision:
            raise ValueError(
                f"a posterior must have at most {MOST_PARAMETERS} parameters to be kept; "
                f"found {problem.n_parameters}. Use inference='map' with a number for "
                "weight_precision, or fewer columns."
            )
        squares = (problem.rows.weight @ problem.rows.x**2) * problem.rows.scale**2
        guide = problem.prior_precision + 0.25 * np.tile(
            np.append(squares, problem.rows.weight.sum()), problem.rows.shape[0]
        )
        found = approach(problem, problem.start, guide, tolerance=1e-6, max_steps=10_000)
        if self.inference == "ml" and problem.rows.errors(found.x) == 0:
            _warn_of_separation()
        if found.status.has_converged:
            return Inference(found.x, float("nan"), "none", Status.CONVERGED, ())
        warn_caller(
            f"the search for the weights must settle; found that it ended with: "
            f"{found.status.value}. Scale the columns, or raise weight_precision.",
            ConvergenceWarning,
        )
        return Inference(found.x, float("nan"), "none", Status.MAX_STEPS, ())

    def _by_newton(self, problem: LogisticProblem) -> Inference:
        if self.inference == "ml":
            return self._most_likely(problem)
        part = problem.subsample()
        if self.inference == "variational" and part is None:
            return self._closest(problem)
        found = _learned(problem) if self.learns_precision else mode_of(problem)
        if self.inference == "variational" and _leans(found.posterior, part):
            return self._closest(problem)
        return found

    def _closest(self, problem: LogisticProblem) -> Inference:
        # The means of two classes are exact; those of more are not worth a fine search.
        tolerance = FINE if len(problem.rows.coding) == 2 else COARSE
        return run(VariationalLogistic(self.learns_precision, tolerance), problem)

    def _most_likely(self, problem: LogisticProblem) -> Inference:
        """Return the mode under hardly any prior, or some where no finite mode is likely."""
        found = mode_of(problem)
        per_row = problem.precision / SLIGHT
        problem = replace(problem, guess=found.state.parameters)
        if not _is_separated(problem, found.state):
            return mode_of(replace(problem, precision=HARDLY_ANY * per_row))
        _warn_of_separation()
        return mode_of(replace(problem, precision=NOTABLE * per_row))


def _learned(problem: LogisticProblem) -> Inference:
    """Return the posterior at the precision of the highest evidence."""
    if problem.subsample() is not None:
        return run(LogisticEvidence(tolerance=1e-4), problem)
    found = run(LogisticEvidence(), problem)
    best = highest_evidence(found.state)
    return replace(
        found, posterior=best.laplace.posterior, log_evidence=best.log_evidence, state=best
    )


def _leans(gaussian: MultivariateNormal, part: LogisticProblem | None) -> bool:
    """Return whether the rows, judged by some of them, say that the posterior is not normal."""
    form = gaussian.form
    assert part is not None
    assert isinstance(form, PrecisionForm)
    fit = GaussianFit.of(part, gaussian.loc, form.precision, cholesky(form.precision))
    return abs(fit.excess() - 1.0) > NOTABLE_BEND


def _warn_of_separation() -> None:
    warn_caller(
        "maximum likelihood needs classes that overlap; found classes, or values of a "
        "column, that are told apart without error, so that the likelihood grows as "
        "weights go to infinity. The weights returned are finite but arbitrary in size; "
        "use inference='map' or 'laplace', whose prior keeps them sensible.",
        SeparationWarning,
    )


def _is_separated(problem: LogisticProblem, mode: Mode) -> bool:
    """Return whether only the prior, however slight, keeps some weights finite."""
    values, vectors = np.linalg.eigh(mode.curvature - np.diag(problem.prior_precision))
    loose = vectors[:, values < 1e3 * problem.precision]
    part = (loose @ (loose.T @ mode.parameters)).reshape(problem.rows.shape)
    return bool(np.abs(problem.rows.coordinates(part)).max(initial=0.0) > FAR)


def _mean_square(design: Array, center: Array, share: Array) -> Array:
    parts = [
        share[i : i + 4096] @ (design[i : i + 4096] - center) ** 2
        for i in range(0, len(design), 4096)
    ]
    return np.asarray(np.sum(parts, axis=0))


def _spanned(rows: SoftmaxRows) -> tuple[SoftmaxRows, Array | None]:
    """Return rows in coordinates of the space they span, if that has fewer dimensions.

    Under equal precisions weights outside that space stay as they were, so that nothing is
    lost, and the work grows with the number of rows instead of columns.
    """
    n, m = rows.x.shape
    n_codes = rows.coding.shape[1]
    if m <= n or n_codes * (n + 1) > MOST_PARAMETERS:
        return rows, None
    seen = (rows.x - rows.center) * rows.scale
    # Weighted, so that a row of weight two has the axes, in order and sign, of two rows.
    heavy = seen * np.sqrt(rows.weight)[:, None]
    values, vectors = np.linalg.eigh(heavy @ heavy.T)
    is_kept = values > n * np.finfo(float).eps * values.max(initial=0.0)
    axes = heavy.T @ (vectors[:, is_kept] / np.sqrt(values[is_kept]))
    largest = np.abs(axes).argmax(axis=0)
    axes *= np.sign(axes[largest, np.arange(axes.shape[1])])
    r = axes.shape[1]
    spanned = replace(rows, x=seen @ axes, center=np.zeros(r), scale=np.ones(r))
    return spanned, axes

"""The regressor that looks at no input: what any other must beat."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.distributions.predictive import Predictive
from credo.distributions.student_t import StudentT
from credo.families.normal import NormalInverseGamma, NormalStatistics
from credo.models.contract.inputs import row_weight, validated
from credo.models.contract.regressor import PredictiveRegressor
from credo.numerics.array import Array
from credo.numerics.example import Example

__all__ = ["BaselineRegressor"]


class BaselineRegressor(PredictiveRegressor):
    """One normal distribution of y, whatever the input; mean and variance integrated out.

    Parameters
    ----------
    prior
        Belief about mean and variance of y; if None, flat in the mean and in the logarithm of
        the variance, each with density one, as `LinearRegression` has it for intercept and
        noise, so that evidences compare.

    Attributes
    ----------
    posterior_, statistics_
        Belief about mean and variance, and what is kept of y.
    log_evidence_, evidence_method_, evidence_of_
        Log density of y, mean and variance integrated out, "exact", of "y given X".
    evidence_flat_
        Which unknowns have a flat prior; evidences compare only among models that agree in
        this.

    Examples
    --------
    >>> model = BaselineRegressor().fit([[0.0]] * 4, [1.0, 2.0, 3.0, 6.0])
    >>> model.predict([[7.0]]), model.predict_interval([[7.0]], coverage=0.5).round(2)
    (array([3.]), array([[1.15, 4.85]]))
    """

    evidence_flat_: tuple[str, ...]
    evidence_method_: str
    evidence_of_: str
    log_evidence_: float
    posterior_: NormalInverseGamma
    statistics_: NormalStatistics

    def __init__(self, prior: NormalInverseGamma | None = None):
        self.prior = prior

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        prior = NormalInverseGamma(0.0, 0.1, 1.0, 1.0)
        return cls(), Example(cls(prior), unit_free=False)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from outcomes ``y`` (n,); of ``X`` only the shape is kept."""
        statistics = self._summary(X, y, sample_weight, is_first=True)
        self._require_enough(statistics)
        return self._learn(statistics)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one more chunk; outcomes too few to learn from wait until more come."""
        is_first = not hasattr(self, "statistics_")
        chunk = self._summary(X, y, sample_weight, is_first)
        self.statistics_ = chunk if is_first else self.statistics_ + chunk
        return self._learn(self.statistics_) if self._is_enough(self.statistics_) else self

    def summarize_groups(
        self,
        X: ArrayLike,
        y: ArrayLike,
        label: ArrayLike,
        n_groups: int,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[NormalStatistics, ...]:
        """Return the statistics of each group of rows, in one pass."""
        is_first = not hasattr(self, "n_features_in_")
        outcomes, weight = self._validated(X, y, sample_weight, is_first)
        groups = NormalStatistics.by_group(outcomes, label, n_groups, weight)
        return tuple(groups[i] for i in range(n_groups))

    def fit_statistics(self, statistics: NormalStatistics) -> Self:
        """Learn from statistics alone, such as ``total - fold``."""
        self._require_enough(statistics)
        return self._learn(statistics)

    def predict_dist(self, X: ArrayLike) -> Predictive:
        """Return the Student-t distribution of the next outcome, the same in every row."""
        check_is_fitted(self)
        x = validated(self, X, reset=False, dtype=np.float64)
        belief, full = self.posterior_, np.ones(len(x))
        one = belief.predictive()
        marginal = StudentT(one.df * full, one.loc * full, one.scale * full)
        with np.errstate(divide="ignore"):
            noise = np.where(belief.shape > 1, belief.rate / np.abs(belief.shape - 1), np.inf)
        return Predictive(
            marginal,
            epistemic_std=np.sqrt(noise / belief.strength) * full,
            aleatoric_std=np.sqrt(noise) * full,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    def _summary(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, is_first: bool
    ) -> NormalStatistics:
        outcomes, weight = self._validated(X, y, sample_weight, is_first)
        return NormalStatistics.of(outcomes, weight)

    def _validated(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, is_first: bool
    ) -> tuple[Array, Array]:
        self._check_prior()
        x, outcomes = validated(self, X, y, reset=is_first, dtype=np.float64, y_numeric=True)
        return np.asarray(outcomes, dtype=np.float64), row_weight(sample_weight, x)

    def _check_prior(self) -> None:
        if self.prior is None:
            return
        if not isinstance(self.prior, NormalInverseGamma) or self.prior.batch_shape != ():
            raise TypeError(
                "prior must be None or one NormalInverseGamma belief; found "
                f"{self.prior!r}. Pass it with scalar parameters."
            )

    def _is_enough(self, statistics: NormalStatistics) -> bool:
        return self.prior is not None or bool(statistics.weight > 1 and statistics.scatter > 0)

    def _require_enough(self, statistics: NormalStatistics) -> None:
        if not self._is_enough(statistics):
            raise ValueError(
                "y must hold two different values of weight above 1 together to learn its "
                f"spread without a prior; found n_samples={statistics.weight:g} with squared "
                f"distances from the mean of {statistics.scatter:g} in all. Add rows, or give "
                "a prior."
            )

    def _learn(self, statistics: NormalStatistics) -> Self:
        if self.prior is None:
            self.posterior_, self.log_evidence_ = _from_flat(statistics)
        else:
            self.posterior_ = self.prior.update(statistics)
            self.log_evidence_ = float(self.prior.log_evidence(statistics))
        self.evidence_method_, self.evidence_of_ = "exact", "y given X"
        self.evidence_flat_ = () if self.prior else ("intercept", "log noise")
        self.statistics_ = statistics
        return self


def _from_flat(statistics: NormalStatistics) -> tuple[NormalInverseGamma, float]:
    """Return posterior and log evidence under flat priors of mean and log variance.

    With half the degrees of freedom ``h = (n - 1) / 2`` and the scatter S the evidence is
    ``Gamma(h) (pi S)^-h n^-1/2``.
    """
    n, scatter = float(statistics.weight), float(statistics.scatter)
    half = 0.5 * (n - 1.0)
    posterior = NormalInverseGamma(statistics.mean, n, half, 0.5 * scatter)
    log_evidence = special.gammaln(half) - half * np.log(np.pi * scatter) - 0.5 * np.log(n)
    return posterior, float(log_evidence)

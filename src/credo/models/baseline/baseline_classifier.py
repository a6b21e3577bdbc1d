"""The classifier that looks at no input: what any other must beat."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.distributions.categorical import Categorical
from credo.distributions.parameter import positive
from credo.families.categorical import CategoricalStatistics, DirichletCategorical
from credo.models.contract.classifier import PredictiveClassifier
from credo.models.contract.inputs import (
    ClassLabels,
    LabeledRows,
    first_labeled_rows,
    labeled_chunk,
    more_labeled_rows,
    validated,
)
from credo.numerics.array import Array

__all__ = ["BaselineClassifier"]


class BaselineClassifier(PredictiveClassifier):
    """Class frequencies, whatever the input: a Dirichlet belief updated by counts.

    Parameters
    ----------
    concentration
        Pseudo-count of each class, one number or one for each class; 1 is a uniform belief
        about the frequencies. If None, the belief is flat in the log odds of the classes, as
        `LogisticRegression` has it for its intercepts, so that evidences compare; predictions
        are then the plain frequencies. As long as a class has no rows, which a flat belief
        could never expect again, None stands for 1.

    Attributes
    ----------
    classes_
        The labels, rising.
    posterior_, statistics_
        Belief about the frequencies, and the weighted counts.
    log_evidence_, evidence_method_, evidence_of_
        Log probability of y, frequencies integrated out, "exact", of "y given X".

    Examples
    --------
    >>> model = BaselineClassifier(1.0).fit([[0.0]] * 4, ["no", "no", "no", "yes"])
    >>> model.predict_proba([[5.0]]).round(3), round(model.log_evidence_, 4)
    (array([[0.667, 0.333]]), -2.9957)
    """

    evidence_method_: str
    evidence_of_: str
    log_evidence_: float
    classes_: ClassLabels
    statistics_: CategoricalStatistics
    posterior_: DirichletCategorical

    def __init__(self, concentration: Any = None):
        self.concentration = concentration

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls(), cls(0.5)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Count the labels ``y`` (n,); of ``X`` only the shape is kept."""
        return self._learn(self._counts(first_labeled_rows(self, X, y, sample_weight)))

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Count one more chunk; the first must name all ``classes``."""
        is_first = not hasattr(self, "statistics_")
        chunk = self._counts(labeled_chunk(self, X, y, classes, sample_weight))
        return self._learn(chunk if is_first else self.statistics_ + chunk)

    def summarize_groups(
        self,
        X: ArrayLike,
        y: ArrayLike,
        label: ArrayLike,
        n_groups: int,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[CategoricalStatistics, ...]:
        """Return the counts of each group of rows, in one pass."""
        checked = more_labeled_rows if hasattr(self, "classes_") else first_labeled_rows
        rows = checked(self, X, y, sample_weight)
        groups = CategoricalStatistics.by_group(
            rows.code, label, n_groups, rows.weight, n_states=len(self.classes_)
        )
        return tuple(groups[i] for i in range(n_groups))

    def fit_statistics(self, statistics: CategoricalStatistics) -> Self:
        """Learn from counts alone, such as ``total - fold``."""
        check_is_fitted(self, "classes_")
        return self._learn(statistics)

    def predict_dist(self, X: ArrayLike) -> Categorical:
        """Return the mean frequencies, the same in every row."""
        check_is_fitted(self)
        x = validated(self, X, reset=False, dtype=np.float64)
        share = self.posterior_.predictive().probability
        return Categorical(np.broadcast_to(share, (len(x), len(share))), self.classes_)

    @property
    def evidence_flat_(self) -> tuple[str, ...]:
        """Which unknowns have a flat prior of density one.

        Evidences compare only among models that agree in this.
        """
        check_is_fitted(self)
        return ("intercept",) if self._is_flat(self.statistics_) else ()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _counts(self, rows: LabeledRows) -> CategoricalStatistics:
        return CategoricalStatistics.of(rows.code, rows.weight, n_states=len(self.classes_))

    def _is_flat(self, statistics: CategoricalStatistics) -> bool:
        return self.concentration is None and bool((statistics.counts > 0).all())

    def _learn(self, statistics: CategoricalStatistics) -> Self:
        if self._is_flat(statistics):
            self.posterior_ = DirichletCategorical(statistics.counts)
            self.log_evidence_ = _log_evidence_if_flat(statistics.counts)
        else:
            prior = self._prior()
            self.posterior_ = prior.update(statistics)
            self.log_evidence_ = float(prior.log_evidence(statistics))
        self.evidence_method_, self.evidence_of_ = "exact", "y given X"
        self.statistics_ = statistics
        return self

    def _prior(self) -> DirichletCategorical:
        pseudo_count = 1.0 if self.concentration is None else self.concentration
        given = positive("concentration", pseudo_count, "Pass pseudo-counts.")
        if given.shape not in ((), self.classes_.shape):
            raise ValueError(
                f"concentration must be one number, or one for each of {len(self.classes_)} "
                f"classes; found shape {given.shape}. Give them in the order of classes_."
            )
        return DirichletCategorical(np.broadcast_to(given, self.classes_.shape))


def _log_evidence_if_flat(counts: Array) -> float:
    """Return the log probability of labels, the coordinates of `class_coding` integrated out.

    ``c prod Gamma(n_k) / Gamma(n)``, because the frequencies have the density
    ``c / prod p_k``: c is 1 for the log odds of two classes, and ``1 / sqrt(K)`` for K scores
    that sum to zero, in orthonormal coordinates.
    """
    k = len(counts)
    constant = 0.0 if k == 2 else -0.5 * np.log(k)
    return float(special.gammaln(counts).sum() - special.gammaln(counts.sum()) + constant)

"""Decision stumps: one question about one feature."""

from __future__ import annotations

from typing import Annotated, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from credo.distributions.categorical import Categorical
from credo.inference.margin.presorted import Presorted
from credo.inference.margin.stumps import best_stump
from credo.models.contract.classifier import PredictiveClassifier
from credo.models.contract.inputs import first_labeled_rows, validated
from credo.numerics.array import Array, as_float
from credo.numerics.form import SMALLEST, Form

__all__ = ["DecisionStump"]


class DecisionStump(PredictiveClassifier):
    """The best classifier that asks whether one feature is greater than one threshold.

    All features and all thresholds midway between adjacent values are tried, and the constant
    answer besides; the least weighted number of errors wins, the first of several. Only the
    order of values counts, so that units do not matter.

    Parameters
    ----------
    concentration
        Pseudo-count of each class on each side; a side's probabilities are the mean of a
        Dirichlet belief. They are somewhat too sure, as the threshold was chosen on the same
        rows.

    Attributes
    ----------
    feature_, threshold_
        Column that is asked about, and the threshold; minus infinity if the answer is constant.
    class_weight_
        Weight of each class not above and above the threshold, shape (2, n_classes).
    error_
        Share of the training weight that is misclassified.

    Examples
    --------
    >>> stump = DecisionStump().fit([[1.0], [2.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    >>> stump.threshold_, stump.predict([[2.4], [9.0]]).tolist()
    (2.5, ['a', 'b'])
    >>> stump.predict_proba([[0.0]])
    array([[0.75, 0.25]])
    """

    class_weight_: Annotated[Array, Form("2 K", 0.0)]
    error_: Annotated[float, Form(low=0.0, high=1.0)]
    feature_: Annotated[int, Form(low=0, high="d")]
    threshold_: Annotated[float, Form(low=-np.inf)]
    concentration: Annotated[float, Form(low=SMALLEST)]

    def __init__(self, concentration: float = 1.0):
        self.concentration = concentration

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls(), cls(0.1)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Search all features and thresholds."""
        if not self.concentration > 0:
            raise ValueError(
                f"concentration must be positive; found {self.concentration!r}. Pass a "
                "pseudo-count such as 1.0."
            )
        given = first_labeled_rows(self, X, y, sample_weight)
        kept = given.weight > 0
        codes, weight, n_classes = given.code[kept], given.weight[kept], len(self.classes_)
        rows = Presorted.of(given.x[kept])
        stump = best_stump(rows, codes, n_classes, weight)
        side = rows.columns[stump.feature] > stump.threshold
        count = np.bincount(n_classes * side + codes, weight, 2 * n_classes)
        self.feature_, self.threshold_ = stump.feature, stump.threshold
        self.class_weight_ = as_float(count).reshape(2, -1)
        self.error_ = float(1.0 - self.class_weight_.max(axis=1).sum() / weight.sum())
        return self

    def predict_dist(self, X: ArrayLike) -> Categorical:
        """Return the distribution of the class, one entry per row."""
        check_is_fitted(self)
        inputs = validated(self, X, reset=False, dtype=np.float64)
        side = (inputs[:, self.feature_] > self.threshold_).astype(np.intp)
        return Categorical(self._side_probability()[side], self.classes_)

    def describe(self) -> str:
        """Return the stump in words."""
        check_is_fitted(self)
        name = _check_feature_names_in(self)[self.feature_]
        low, high = self.classes_[self._side_probability().argmax(axis=1)]
        if not np.isfinite(self.threshold_):
            return f"{high}"
        return f"{high} if {name} > {self.threshold_:g}, else {low}"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Two answers cannot name three classes.
        tags.classifier_tags.poor_score = True
        return tags

    def _side_probability(self) -> Array:
        count = self.class_weight_ + self.concentration
        return np.asarray(count / count.sum(axis=1, keepdims=True))

"""The generative classifier: a Gaussian for the rows of each class, turned around by Bayes."""

from __future__ import annotations

import warnings
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.distributions.categorical import Categorical
from credo.distributions.class_conditional import ClassConditional
from credo.distributions.normal import Normal
from credo.families.component import Components
from credo.families.normal_component import NormalBelief
from credo.inference.engine.diagnosis import Diagnosis
from credo.inference.engine.engine import Inference
from credo.inference.latent.expectation_maximization import ExpectationMaximization
from credo.inference.latent.latent_class import IncompleteRows
from credo.models.contract.diagnosis import diagnose_classes
from credo.models.contract.inputs import generator
from credo.models.generative.class_setting import (
    ClassConditionalSetting,
    RowsOfClasses,
    Summary,
    class_weight,
)
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form

__all__ = ["GaussianClassConditional"]


class GaussianClassConditional(RowsOfClasses):
    """Classifier with a normal density in each class: quadratic or linear discriminants.

    ``P(C | x) = p(x | C) P(C) / sum over classes``. Being generative it also says how usual a
    row is (`log_prob`), draws new ones (`sample`), and learns and predicts from rows with
    missing values (NaN) and learns from rows without a label (None or NaN).

    Parameters
    ----------
    covariance
        "full" (one per class, quadratic boundaries), "tied" (one for all classes, linear
        boundaries), "diagonal" (features independent within a class) or "spherical" (one
        variance for all features, for features in one unit).
    inference
        "exact" integrates means and covariances out, so that predictions are Student-t and
        small classes are not trusted too far; "map" takes the most probable parameters, "ml"
        those of largest likelihood. An engine such as ``ExpectationMaximization(max_steps=50)``
        is "exact" with its limits where rows have gaps.
    pseudo_count
        Imagined rows of each class, in the belief about class frequencies.
    class_probability
        Known class probabilities in the order of ``classes_``, instead of learned ones.
    prior
        Belief about means and covariances, from `credo.families`; if None a weak one whose
        location and scale are those of all rows together, whatever their units.
    variance_floor
        For "ml", the share of the pooled variance of a feature that is added to its variance
        in each class. Zero refuses a class that has no estimate; None adds nothing unless
        there is such a class, and then warns and adds 1e-9.

    Attributes
    ----------
    classes_, class_count_
        Labels in rising order, and the weight of the rows that carry each.
    joint_
        Distribution of class and row that predicts.
    constant_
        Which columns never varied in training (d,): without a ``prior`` to give them a unit
        they say nothing about the class, whatever their value in a new row.
    posterior_
        Belief about class probabilities, means and covariances; None for "ml".
    log_evidence_, evidence_method_, evidence_of_
        Log probability of "X and y": "exact" for complete data, a lower "bound" where the
        engine had to fill in, "none" for "ml".
    inference_, statistics_
        The answer of the engine; what is kept of the data: statistics, or incomplete rows.

    Examples
    --------
    >>> X = [[0.0, 0.0], [2.0, 0.0], [1.0, 2.0], [4.0, 4.0], [6.0, 4.0], [5.0, 7.0]]
    >>> y = ["a", "a", "a", "b", "b", "b"]
    >>> model = GaussianClassConditional(covariance="tied", inference="ml").fit(X, y)
    >>> model.predict_proba([[3.0, 2.0]]).round(4)
    array([[0.9241, 0.0759]])
    >>> GaussianClassConditional().fit(X, y).predict_proba([[2.0, np.nan]]).round(4)
    array([[0.8874, 0.1126]])
    """

    class_count_: Annotated[Array, Form("K", 0.0)]
    evidence_method_: str
    evidence_of_: str
    inference_: Inference
    log_evidence_: float
    statistics_: Summary
    posterior_: Components | None
    joint_: ClassConditional
    constant_: Annotated[NDArray[np.bool_], Form("d")]

    def __init__(
        self,
        covariance: str = "full",
        inference: str | ExpectationMaximization = "exact",
        pseudo_count: float = 1.0,
        class_probability: ArrayLike | None = None,
        prior: NormalBelief | None = None,
        variance_floor: float | None = None,
    ):
        self.covariance = covariance
        self.inference = inference
        self.pseudo_count = pseudo_count
        self.class_probability = class_probability
        self.prior = prior
        self.variance_floor = variance_floor

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        ways: tuple[dict[str, Any], ...] = (
            {"inference": "exact"},
            {"inference": "map"},
            {"inference": "ml"},
            {"inference": "ml", "variance_floor": 1e-3},
        )
        return tuple(
            Example(cls(covariance, **way), unit_free=covariance != "spherical")
            for covariance in ("full", "tied", "diagonal", "spherical")
            for way in ways
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and ``y`` (n,), forgetting earlier data.

        NaN in ``X`` is a missing value, None or NaN in ``y`` a missing label; at least two
        classes must be known by a label.
        """
        rows = self._checked_rows(X, y, sample_weight)
        return self._learn(self._setting.summary(rows))

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from one more chunk; the result equals a fit to all chunks together.

        For "ml", rows too few to learn from are kept until more come.

        Parameters
        ----------
        classes
            All labels that will ever come; needed only if the first chunk lacks some.
        """
        if not hasattr(self, "statistics_"):
            rows = self._checked_rows(X, y, sample_weight, classes)
        else:
            rows = self._more_rows(X, y, sample_weight)
        chunk, known = self._setting.summary(rows), getattr(self, "statistics_", None)
        if isinstance(chunk, IncompleteRows) or isinstance(known, IncompleteRows):
            raise ValueError(
                "partial_fit needs rows with every label and, for covariance='full' and "
                "'tied', every value, because only their statistics add; found rows with gaps "
                "(NaN or None). Call fit on all rows at once, or use covariance='diagonal', "
                "which only needs the labels."
            )
        self.statistics_ = chunk if known is None else known + chunk
        is_enough = self._setting.is_estimable(self.statistics_)
        return self._learn(self.statistics_) if is_enough else self

    def summarize_groups(
        self,
        X: ArrayLike,
        y: ArrayLike,
        label: ArrayLike,
        n_groups: int,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[Summary, ...]:
        """Return what is kept of each group of rows, in one pass; sums go to `fit_statistics`.

        On a model that has seen no data yet this fixes the classes.
        """
        is_first = not hasattr(self, "classes_")
        rows = (self._checked_rows if is_first else self._more_rows)(X, y, sample_weight)
        return self._setting.summaries(rows, np.asarray(label, dtype=np.intp), n_groups)

    def fit_statistics(self, statistics: Summary) -> Self:
        """Learn from statistics alone, such as the sum of all folds but one."""
        check_is_fitted(self, "classes_")
        return self._learn(statistics)

    def predict_dist(self, X: ArrayLike) -> Categorical:
        """Return the distribution of the class, one entry per row; NaN is integrated out."""
        return Categorical(np.exp(self.predict_log_proba(X)), labels=self.classes_)

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return the log probability of each class, finite however small it is."""
        joint, x = self._joint(), self._inputs(X)
        if self.constant_.any():
            x = np.where(self.constant_, np.nan, x)
        log_probability = joint.log_posterior(x)
        lost = np.flatnonzero(np.isnan(log_probability[:, 0]))
        if len(lost):
            raise ValueError(
                "X must hold values whose distance from the training rows can be squared; "
                f"found a row, number {lost[0]}, that is further off. Check its units."
            )
        return log_probability

    def log_prob(self, X: ArrayLike) -> Array:
        """Return the log density of each row, class and parameters integrated out, shape (n,).

        The lower, the more unusual; rows compare only if they miss the same values.
        """
        return self._joint().log_marginal(self._inputs(X))

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Array, NDArray[Any]]:
        """Return ``n`` new rows (n, d) and their labels (n,), each from the predictive."""
        rows, codes = self._joint().sample(generator(random_state), n)
        return rows, np.asarray(self.classes_[codes])

    def sample_posterior(self, n: int, random_state: Any = None) -> dict[str, Array]:
        """Return ``n`` draws of the parameters from the posterior.

        "class_probability" (n, K), "mean" (n, K, d) and "covariance" (n, K, d, d), equal for
        all classes where they share one.
        """
        check_is_fitted(self)
        if self.posterior_ is None:
            raise ValueError(
                "sample_posterior needs a posterior, which inference='ml' does not have; found "
                "posterior_=None. Use inference='exact'."
            )
        joint: Any = self.posterior_.sample(generator(random_state), n)
        return {
            "class_probability": np.exp(joint.log_weight),
            "mean": joint.density.loc,
            "covariance": self._covariance(joint.density, n),
        }

    def prior_predictive(self, n_classes: int) -> ClassConditional:
        """Return the distribution of class and row before any data, of an unfitted model too.

        ``prior_predictive(2).sample(rng, 100)`` draws rows and classes that would not surprise.
        Needs a ``prior``: without one it is in the units of the data.
        """
        self._setting.check()
        return self._setting.given_belief(n_classes).predictive()

    def diagnose(self) -> Diagnosis:
        """Return whether what was learned can be relied on, and why not."""
        check_is_fitted(self)
        d = self.n_features_in_
        n_shape = {"full": d * (d + 1) // 2, "tied": 0, "diagonal": d, "spherical": 1}
        return diagnose_classes(
            self.class_count_,
            (d + n_shape[self.covariance]) / d,
            self.inference_,
            n_shared=0.5 * (d + 1) if self.covariance == "tied" else 0.0,
        )

    @property
    def coef_(self) -> Array:
        """Weights of the linear log odds: (1, d) of the second class against the first.

        With more than two classes (K, d), up to a constant. For "tied" at point estimates.
        """
        return self._discriminant()[0]

    @property
    def intercept_(self) -> Array:
        """Intercept of the linear log odds, (1,), or (K,) with more than two classes."""
        return self._discriminant()[1]

    @property
    def _setting(self) -> ClassConditionalSetting:
        return ClassConditionalSetting(**self.get_params(deep=False))

    def _checked_rows(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        classes: ArrayLike | None = None,
    ) -> IncompleteRows:
        self._setting.check()
        rows = self._first_rows(X, y, sample_weight, classes)
        _warn_of_code_for_unlabeled(self.classes_)
        self._setting.known_probability(len(self.classes_))
        return rows

    def _covariance(self, density: Any, n: int) -> Array:
        """Return the covariances of drawn classes, shape (n, K, d, d)."""
        k, d = len(self.classes_), self.n_features_in_
        if isinstance(density, Normal):
            return np.asarray(density.scale[..., None] ** 2 * np.eye(d))
        return np.broadcast_to(density.covariance(), (n, k, d, d))

    def _joint(self) -> ClassConditional:
        check_is_fitted(self)
        return self.joint_

    def _learn(self, summary: Summary) -> Self:
        setting = self._setting
        inference = setting.infer(summary, self.classes_)
        found = inference.posterior
        self.posterior_ = found if isinstance(found, Components) else None
        self.joint_ = setting.joint(found)
        self.constant_ = setting.constant(summary)
        self.class_count_ = class_weight(summary)
        self.log_evidence_ = inference.log_evidence
        self.evidence_method_ = inference.evidence_method
        self.evidence_of_ = "X and y"
        self.statistics_, self.inference_ = summary, inference
        return self

    def _discriminant(self) -> tuple[Array, Array]:
        """Return weights and intercepts of the classes, or of the second against the first."""
        joint = self._joint()
        if not self._setting.is_linear:
            raise AttributeError(
                "coef_ and intercept_ need covariance='tied' with inference='map' or 'ml', "
                f"whose boundaries are planes; found covariance={self.covariance!r}, "
                f"inference={self.inference!r}. Read predict_log_proba instead."
            )
        return joint.linear_discriminant()


def _warn_of_code_for_unlabeled(classes: NDArray[Any]) -> None:
    """Warn of a class -1 below several that count from zero: elsewhere it means no label."""
    if classes.dtype.kind != "i" or len(classes) < 3:
        return
    if classes[0] == -1 and classes[1] == 0:
        warnings.warn(
            "rows without a label must have NaN or None in y; found -1 beside classes from 0 "
            "on, which is learned as a class of its own. If it marks unlabeled rows, as in "
            "scikit-learn, write np.where(y == -1, np.nan, y).",
            UserWarning,
            stacklevel=4,
        )

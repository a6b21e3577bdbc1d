"""What generative classifiers share: rows of classes, and settings of Gaussian ones."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length

from credo.distributions.categorical import Categorical
from credo.distributions.class_conditional import ClassConditional
from credo.families.categorical import DirichletCategorical
from credo.families.component import Components, ComponentStatistics
from credo.families.multivariate_normal import MultivariateNormalStatistics
from credo.families.normal import NormalStatistics
from credo.families.normal_component import (
    COVARIANCES,
    NormalBelief,
    lifted,
    pooled_features,
    weak_belief,
)
from credo.inference.engine.engine import Inference, run
from credo.inference.engine.problem import ConjugateProblem
from credo.inference.latent.expectation_maximization import ExpectationMaximization
from credo.inference.latent.latent_class import IncompleteRows, LatentClassProblem
from credo.models.contract.classifier import DensityClassifier
from credo.models.contract.inputs import (
    class_labels,
    inference_name,
    label_codes,
    require_choice,
    require_moderate,
    row_weight,
    validated,
)
from credo.numerics.array import Array, has_missing

__all__ = [
    "ClassConditionalSetting",
    "RowsOfClasses",
    "SingularClassWarning",
    "Summary",
    "class_weight",
    "known_classes",
    "pooled_rows",
]

ESTIMATES: Mapping[str, type | None] = MappingProxyType(
    {"exact": ExpectationMaximization, "map": None, "ml": None}
)
"""Ways to learn classes, and the engines that hidden parts of rows are learned by."""

SINGULAR = 1e-12
ADDED_VARIANCE = 1e-9
"""Share of the pooled variance that is added where a class has no estimate without it."""

Summary = ComponentStatistics | IncompleteRows


class SingularClassWarning(UserWarning):
    """A class does not vary in some direction, so that its likelihood has no maximum."""


def known_classes(given: ArrayLike | None, n_classes: int) -> Categorical | None:
    """Return the distribution of the class that was given, or None.

    Raises
    ------
    ValueError
        If it is of another number of classes, or none.
    """
    if given is None:
        return None
    share = np.asarray(given, dtype=np.float64)
    if share.shape != (n_classes,):
        raise ValueError(
            f"class_probability must be one number for each of {n_classes} classes; found "
            f"shape {share.shape}. Give them in the order of classes_."
        )
    return Categorical(share)


class RowsOfClasses(DensityClassifier):
    """A classifier that learns from rows with gaps and labels, some of which may be missing."""

    def _first_rows(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        classes: ArrayLike | None = None,
    ) -> IncompleteRows:
        """Check the data of the first call, and fix the classes."""
        x = self._inputs(X, is_first=True)
        check_consistent_length(x, y)
        weight = row_weight(sample_weight, x)
        self.classes_, codes = class_labels(y, weight, True, classes)
        return self._rows(x, codes, weight)

    def _more_rows(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> IncompleteRows:
        x = self._inputs(X)
        require_moderate("X", x)
        check_consistent_length(x, y)
        codes = label_codes(y, self.classes_, allow_missing=True)
        return self._rows(x, codes, row_weight(sample_weight, x))

    def _inputs(self, X: ArrayLike, is_first: bool = False) -> Array:
        x = validated(self, X, reset=is_first, dtype=np.float64, ensure_all_finite="allow-nan")
        return np.asarray(x)

    def _rows(self, x: Array, codes: NDArray[np.intp], weight: Array) -> IncompleteRows:
        # A row without weight has no say, whether or not its class is known.
        label = np.where(weight > 0, codes, np.maximum(codes, 0))
        return IncompleteRows(x, label, weight, len(self.classes_))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "joint_")


@dataclass(frozen=True, eq=False)
class ClassConditionalSetting:
    """The settings of `GaussianClassConditional`, as it names them."""

    covariance: str
    inference: str | ExpectationMaximization
    pseudo_count: float
    class_probability: ArrayLike | None
    prior: Any
    variance_floor: float | None

    @property
    def estimate(self) -> str:
        """What is learned: "exact", which an engine stands for, "map" or "ml"."""
        return inference_name(self.inference, ESTIMATES)

    @property
    def is_joint(self) -> bool:
        """Whether products of features are needed, so that a row must be complete."""
        return self.covariance in ("full", "tied")

    @property
    def is_linear(self) -> bool:
        """Whether boundaries between classes are planes."""
        return self.covariance == "tied" and self.estimate != "exact"

    def check(self) -> None:
        """Refuse settings that mean nothing."""
        require_choice("covariance", self.covariance, tuple(COVARIANCES))
        inference_name(self.inference, ESTIMATES)
        _require_number("pseudo_count", self.pseudo_count, is_zero_allowed=False)
        if self.variance_floor is not None:
            _require_number("variance_floor", self.variance_floor, is_zero_allowed=True)
        kind = COVARIANCES[self.covariance]
        if not (self.prior is None or isinstance(self.prior, kind)):
            raise TypeError(
                f"prior must be None or a {kind.__name__} for covariance={self.covariance!r}; "
                f"found {type(self.prior).__name__}. Make one from credo.families."
            )

    def known_probability(self, n_classes: int) -> Array | None:
        """Return the class probabilities that were given, or None."""
        known = known_classes(self.class_probability, n_classes)
        return None if known is None else known.probability

    def given_belief(self, n_classes: int) -> Components:
        """Return what is believed before the data, if that does not come from them."""
        if self.prior is None:
            raise ValueError(
                "prior_predictive needs a prior; found prior=None, which is in the units of "
                "the data. Set prior to a belief from credo.families."
            )
        return self._belief(self.prior, n_classes)

    def belief(self, pooled: NormalStatistics, n_classes: int) -> Components:
        """Return what is believed before the data, in their units unless a prior is given."""
        rows = self.prior
        if rows is None:
            rows = weak_belief(self.covariance, pooled, n_classes)
        return self._belief(rows, n_classes)

    def _belief(self, rows: NormalBelief, n_classes: int) -> Components:
        known = self.known_probability(n_classes)
        classes: DirichletCategorical | Categorical = (
            DirichletCategorical(np.full(n_classes, float(self.pseudo_count)))
            if known is None
            else Categorical(known)
        )
        return Components(classes, rows)

    def summary(self, rows: IncompleteRows) -> Summary:
        """Return statistics of the rows, or the rows themselves if they have gaps."""
        return self.summaries(rows, np.zeros(len(rows.x), dtype=np.intp), 1)[0]

    def summaries(
        self, rows: IncompleteRows, group: NDArray[np.intp], n_groups: int
    ) -> tuple[Summary, ...]:
        """Return statistics of each group of rows, or its rows if some have gaps."""
        if self._has_gaps(rows):
            return tuple(rows[group == g] for g in range(n_groups))
        k = rows.n_classes
        weight: ArrayLike = 1.0 if np.all(rows.weight == 1) else rows.weight
        kind: Any = MultivariateNormalStatistics if self.is_joint else NormalStatistics
        return ComponentStatistics.by_group(
            kind.by_group, rows.x, group * k + rows.label, (n_groups, k), weight
        )

    def infer(self, summary: Summary, classes: NDArray[Any]) -> Inference:
        """Return what is learned: a belief, or the joint distribution of largest likelihood."""
        k = len(classes)
        if isinstance(summary, IncompleteRows):
            engine = self.inference
            if not isinstance(engine, ExpectationMaximization):
                engine = ExpectationMaximization()
            return run(engine, self._problem(summary))
        prior = self.belief(pooled_features(summary), k)
        if self.estimate == "ml":
            floor = self._estimable_floor(summary, classes)
            found = prior.maximum_likelihood(lifted(summary, floor))
            return Inference(found)
        return ConjugateProblem(prior, summary).solution()

    def joint(self, found: Components | ClassConditional) -> ClassConditional:
        """Return the distribution that predicts."""
        if isinstance(found, ClassConditional):
            return found
        return found.mode() if self.estimate == "map" else found.predictive()

    def constant(self, summary: Summary) -> NDArray[np.bool_]:
        """Return which columns never varied, so that they say nothing about the class.

        Without a unit of their own, only the sizes of the classes would speak through them; a
        prior gives them one, and so do other columns where all share one variance.
        """
        is_flat = pooled_rows(summary).is_constant()
        has_unit = self.prior is not None or self.covariance == "spherical"
        return np.zeros_like(is_flat) if has_unit else is_flat

    def _problem(self, rows: IncompleteRows) -> LatentClassProblem:
        return LatentClassProblem(
            rows,
            self.belief(rows.pooled(), rows.n_classes),
            self.estimate == "ml",
            ADDED_VARIANCE if self.variance_floor is None else float(self.variance_floor),
        )

    def _has_gaps(self, rows: IncompleteRows) -> bool:
        if (rows.label < 0).any():
            return True
        if not (self.is_joint and has_missing(rows.x)):
            return False
        return has_missing(rows.x[rows.weight > 0])

    def is_estimable(self, statistics: ComponentStatistics) -> bool:
        """Whether there is something to learn from: with a prior always."""
        if self.estimate != "ml":
            return True
        floor = ADDED_VARIANCE if self.variance_floor is None else float(self.variance_floor)
        return not self._inestimable(statistics, floor).any()

    def _estimable_floor(self, statistics: ComponentStatistics, classes: NDArray[Any]) -> float:
        """Return the floor that gives each class a largest likelihood, or refuse."""
        floor = float(self.variance_floor or 0.0)
        faulty = self._inestimable(statistics, floor)
        if not faulty.any():
            return floor
        found = (
            f"inference='ml' with covariance={self.covariance!r} needs every class to "
            f"vary in every direction{self._row_requirement(statistics)}; found too few rows, "
            f"or constant or repeated columns, in class {_named(classes[faulty].tolist())}."
        )
        better = (
            "Use inference='exact' (or 'map'), whose prior carries such classes, or a simpler "
            "covariance"
        )
        if not self.is_estimable(statistics):
            raise ValueError(f"{found} {better}, or variance_floor=1e-6.")
        warnings.warn(
            f"{found} A share of {ADDED_VARIANCE} of the pooled variances was added to all, "
            f"and probabilities hang on that number. {better}, or set variance_floor.",
            SingularClassWarning,
            stacklevel=5,
        )
        return ADDED_VARIANCE

    def _row_requirement(self, statistics: ComponentStatistics) -> str:
        rows: Any = statistics.rows
        d = rows.mean.shape[-1]
        if self.covariance == "full":
            return f", so more than n_features = {d} rows of each"
        return ", all classes together" if self.covariance == "tied" else ""

    def _inestimable(self, statistics: ComponentStatistics, floor: float) -> NDArray[np.bool_]:
        """Return which classes have no maximum likelihood estimate, shape (K,)."""
        rows: Any = lifted(statistics, floor).rows
        is_empty = statistics.classes.counts <= 0
        if isinstance(rows, MultivariateNormalStatistics):
            scatter = rows.scatter
            if self.covariance == "tied":
                scatter = np.broadcast_to(scatter.sum(axis=0), scatter.shape)
            return is_empty | (_smallest_share(scatter) <= SINGULAR)
        is_flat = rows.is_constant()
        is_lacking = is_flat.all if self.covariance == "spherical" else is_flat.any
        return np.asarray(is_empty | is_lacking(axis=-1))


def class_weight(summary: Summary) -> Array:
    """Return the weight of the rows that carry each label, shape (K,)."""
    if isinstance(summary, ComponentStatistics):
        return summary.classes.counts
    is_known = summary.label >= 0
    return np.bincount(
        summary.label[is_known], summary.weight[is_known], summary.n_classes
    ).astype(np.float64)


def pooled_rows(summary: Summary) -> NormalStatistics:
    """Return weight, mean and scatter of each feature, all classes together."""
    if isinstance(summary, IncompleteRows):
        return summary.pooled()
    return pooled_features(summary)


def _smallest_share(scatter: Array) -> Array:
    """Return the smallest variance of any direction, in units of the features."""
    root = np.sqrt(np.maximum(np.diagonal(scatter, axis1=-2, axis2=-1), 0.0))
    unit = np.where(root > 0, root, 1.0)
    correlation = scatter / (unit[..., :, None] * unit[..., None, :])
    return np.asarray(np.linalg.eigvalsh(correlation)[..., 0])


def _named(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _require_number(name: str, value: Any, is_zero_allowed: bool) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not (0 < float(value) < np.inf or (is_zero_allowed and value == 0)):
        sign = "zero or positive" if is_zero_allowed else "positive"
        raise ValueError(
            f"{name} must be a number that is {sign}; found {value!r}. Pass a finite number."
        )

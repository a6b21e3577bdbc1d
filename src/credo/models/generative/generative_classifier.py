"""Generative classification: any family as the density of a class, turned around by Bayes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from credo import families
from credo.distributions.categorical import Categorical
from credo.distributions.class_conditional import ClassConditional
from credo.distributions.parameter import positive
from credo.families.belief import Belief
from credo.families.categorical import DirichletCategorical
from credo.families.component import Components, ComponentStatistics
from credo.families.known import Known
from credo.families.normal import NormalInverseGamma
from credo.families.normal_component import has_hidden_values
from credo.inference.engine.diagnosis import Diagnosis
from credo.inference.engine.engine import Inference, run
from credo.inference.engine.problem import ConjugateProblem
from credo.inference.latent.expectation_maximization import ExpectationMaximization
from credo.inference.latent.latent_class import IncompleteRows, LatentClassProblem
from credo.inference.latent.student_t import StudentTProblem
from credo.models.contract.diagnosis import diagnose_classes
from credo.models.contract.inputs import generator, inference_name, require_choice
from credo.models.generative.class_setting import (
    RowsOfClasses,
    class_weight,
    known_classes,
    pooled_rows,
)
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.special.log_domain import log_normalize, log_sum_exp

__all__ = ["GenerativeClassifier"]


STUDENT_T = "student_t"


def _has_statistics(model: GenerativeClassifier) -> bool:
    return not isinstance(model.density, Components | str)


ESTIMATES: Mapping[str, type | None] = MappingProxyType(
    {"exact": ExpectationMaximization, "map": None}
)
"""Ways to learn, and the engines that hidden parts of rows are learned by."""


class GenerativeClassifier(RowsOfClasses):
    """Classifier whose classes have a density of any family, or a mixture of one.

    ``P(C | x) = p(x | C) P(C) / sum over classes``. Being generative it also says how usual a
    row is (`log_prob`) and draws new ones (`sample`); a missing number (NaN) says nothing,
    and rows without a label (None or NaN) are learned from as well.

    Parameters
    ----------
    density
        What is believed about the rows of a class before the data, from `credo.families`:
        ``GammaPoisson(1.0, 0.1)`` for counts, ``GammaExponential`` for waiting times,
        ``Known(StudentT(4.0, [[0.0], [2.0]], 1.0))`` for densities that need no learning, a
        `Product` for columns of several families, or `Components` for a mixture in each class.
        A leading axis of its parameters is for the classes, in the order of ``classes_``. If
        None, independent normal columns, in the units of the data. "student_t" has independent
        columns with heavy tails, whose center, scale and degrees of freedom are those of
        largest likelihood; every row then needs a label.
    inference
        "exact" integrates parameters out; "map" takes the most probable ones. An engine such
        as ``ExpectationMaximization(max_steps=50)`` is "exact" with its limits, where labels
        or components are hidden.
    pseudo_count
        Imagined rows of each class, in the belief about class frequencies. In a mixture, the
        concentration of its weights says how many of each component are imagined instead.
    class_probability
        Known class probabilities in the order of ``classes_``, instead of learned ones.

    Attributes
    ----------
    classes_, class_count_
        Labels in rising order, and the weight of the rows that carry each.
    posterior_
        Belief about classes and their rows. A mixture in each class has the components of the
        first class first.
    n_parts_
        Number of components in each class.
    constant_
        Which columns never varied in training (d,): without a ``density`` to give them a unit
        they say nothing about the class.
    joint_
        Distribution of class, or component, and row that predicts.
    log_evidence_, evidence_method_, evidence_of_
        Log probability of "X and y": "exact" where every class is known, else a "bound"; NaN
        and "none" of Student's t, whose parameters are not integrated out.
    inference_, statistics_
        The answer of the engine; what is kept of the data: statistics, or incomplete rows.

    Examples
    --------
    >>> from credo.families import GammaPoisson
    >>> X, y = [[0], [2], [1], [9], [7], [11]], ["few", "few", "few", "many", "many", "many"]
    >>> model = GenerativeClassifier(GammaPoisson(1.0, 0.1)).fit(X, y)
    >>> model.predict_proba([[4], [np.nan]]).round(3)
    array([[0.477, 0.523],
           [0.5  , 0.5  ]])
    >>> model.prior_predictive(2).density.mean().round(1).ravel()
    array([10., 10.])
    """

    class_count_: Annotated[Array, Form("K", 0.0)]
    constant_: Annotated[NDArray[np.bool_], Form("d")]
    evidence_method_: str
    evidence_of_: str
    inference_: Inference
    joint_: ClassConditional
    log_evidence_: float
    n_parts_: Annotated[int, Form(low=1)]
    posterior_: Components
    statistics_: ComponentStatistics | IncompleteRows

    def __init__(
        self,
        density: Belief | Components | str | None = None,
        inference: str | ExpectationMaximization = "exact",
        pseudo_count: float = 1.0,
        class_probability: ArrayLike | None = None,
    ):
        self.density = density
        self.inference = inference
        self.pseudo_count = pseudo_count
        self.class_probability = class_probability

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        normal = families.NormalInverseGamma(0.0, 0.1, 1.0, 1.0)
        mixture = families.Components(families.DirichletCategorical([1.0, 1.0]), normal)
        return (
            cls(),
            cls(inference="map"),
            Example(cls(normal), unit_free=False),
            Example(cls(mixture), unit_free=False, streams=False),
            Example(cls(STUDENT_T), streams=False),
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and ``y`` (n,), forgetting earlier data.

        NaN in ``X`` is a missing value, None or NaN in ``y`` a missing label; at least two
        classes must be known by a label.
        """
        rows = self._checked_rows(X, y, sample_weight)
        return self._learn(rows if self._is_hidden(rows) else self._summary(rows))

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from one more chunk; the result equals a fit to all chunks together.

        Not for a mixture in each class or Student's t, whose rows are needed all at once.

        Parameters
        ----------
        classes
            All labels that will ever come; needed only if the first chunk lacks some.
        """
        if not hasattr(self, "statistics_"):
            rows = self._checked_rows(X, y, sample_weight, classes)
        else:
            rows = self._more_rows(X, y, sample_weight)
        known = getattr(self, "statistics_", None)
        if self._is_hidden(rows) or isinstance(known, IncompleteRows):
            raise ValueError(
                "partial_fit needs rows with every label, and normal vectors with every value, "
                "because only their statistics add; found gaps. Call fit on all rows at once."
            )
        chunk = self._summary(rows)
        return self._learn(chunk if known is None else known + chunk)

    partial_fit = available_if(_has_statistics)(partial_fit)

    def predict_dist(self, X: ArrayLike) -> Categorical:
        """Return the distribution of the class, one entry per row; NaN is integrated out."""
        return Categorical(np.exp(self.predict_log_proba(X)), labels=self.classes_)

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return the log probability of each class, finite however small it is."""
        score = self._log_joint(X)
        best = score.max(axis=1, keepdims=True)
        if not np.isfinite(best).all():
            raise ValueError(
                "each row must be possible in some class, and near enough for its density to "
                f"be a number; found row {int(np.argmin(np.isfinite(best)))} that is not. "
                "Check its units, or use a density that rules nothing out."
            )
        return log_normalize(score - best)

    def log_prob(self, X: ArrayLike) -> Array:
        """Return the log density of each row, class and parameters integrated out, shape (n,).

        The lower, the more unusual; rows compare only if they miss the same values.
        """
        return log_sum_exp(self._log_joint(X), axis=1)

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Array, NDArray[Any]]:
        """Return ``n`` new rows (n, d) and their labels (n,), each from the predictive."""
        check_is_fitted(self)
        rows, codes = self.joint_.sample(generator(random_state), n)
        return rows, np.asarray(self.classes_[codes // self.n_parts_])

    def prior_predictive(self, n_classes: int) -> ClassConditional:
        """Return the distribution of class and row before any data, of an unfitted model too.

        ``prior_predictive(2).sample(rng, 100)`` draws rows and classes that would not surprise.
        A density that is the same for all columns is shown for one.
        """
        self._check_settings()
        if self.density is None or isinstance(self.density, str):
            raise ValueError(
                f"prior_predictive needs a density that is a belief; found {self.density!r}, "
                "which learns its units from the data. Set density to a belief from "
                "credo.families."
            )
        return self._prior(n_classes, self.density).predictive()

    def diagnose(self) -> Diagnosis:
        """Return whether what was learned can be relied on, and why not."""
        check_is_fitted(self)
        return diagnose_classes(self.class_count_, float(self.n_parts_), self.inference_)

    @property
    def _family(self) -> Belief:
        """The family of the rows of a class, or of a component of it."""
        if self.density is None or isinstance(self.density, str):
            return NormalInverseGamma(0.0, 1.0, 1.0, 1.0)
        return self.density.rows if isinstance(self.density, Components) else self.density

    def _check_settings(self) -> None:
        density = self.density
        if isinstance(density, str):
            require_choice("density", density, (STUDENT_T,))
        elif not isinstance(density, Belief | Components | None):
            raise TypeError(
                "density must be None or a belief about the rows of a class; found "
                f"{type(density).__name__}. Take one from credo.families, or write "
                "Known(distribution)."
            )
        if density is not None and self._family.has_components:
            raise TypeError(
                "density must be about one class at a time; found "
                f"{type(self._family).__name__}, which is about all. Use "
                "GaussianClassConditional('tied')."
            )
        if isinstance(density, Components) and not (
            isinstance(density.classes, DirichletCategorical) and self.class_probability is None
        ):
            raise TypeError(
                "a mixture in each class needs a DirichletCategorical belief about its weights "
                "and class probabilities that are learned; found others. Leave "
                "class_probability out."
            )
        inference_name(self.inference, ESTIMATES)
        positive("pseudo_count", self.pseudo_count, "Pass imagined rows of each class.")

    def _checked_rows(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        classes: ArrayLike | None = None,
    ) -> IncompleteRows:
        self._check_settings()
        rows = self._first_rows(X, y, sample_weight, classes)
        known_classes(self.class_probability, len(self.classes_))
        if isinstance(self.density, str) and (rows.label < 0).any():
            raise ValueError(
                "density='student_t' needs the label of every row; found some that are "
                "missing. Leave these rows out, or use another density."
            )
        return rows

    def _is_hidden(self, rows: IncompleteRows) -> bool:
        """Return whether labels, components, precisions or parts of vectors are hidden."""
        if isinstance(self.density, Components | str) or (rows.label < 0).any():
            return True
        return has_hidden_values(self._family, rows.x[rows.weight > 0])

    def _summary(self, rows: IncompleteRows) -> ComponentStatistics:
        """Return the statistics of rows whose classes are known."""
        prior = Components(DirichletCategorical(np.ones(rows.n_classes)), self._family)
        return prior.statistics_of(rows.x, rows.label, rows.weight)

    def _prior(self, n_classes: int, density: Belief | Components) -> Components:
        """Return what is believed before the data; components of a class side by side."""
        if isinstance(density, Components):
            each = np.tile(np.arange(density.n_classes), n_classes)
            # Sums of the shares of a Dirichlet are Dirichlet: so are class probabilities.
            shares: Any = density.classes
            return Components(
                DirichletCategorical(shares.concentration[each]), density.rows[each]
            )
        classes = known_classes(self.class_probability, n_classes)
        if classes is None:
            return Components(
                DirichletCategorical(np.full(n_classes, float(self.pseudo_count))), density
            )
        return Components(classes, density)

    def _learn(self, summary: ComponentStatistics | IncompleteRows) -> Self:
        density = self.density
        self.constant_ = np.zeros(self.n_features_in_, dtype=bool)
        if density is None or isinstance(density, str):
            self.constant_ = pooled_rows(summary).is_constant()
        if isinstance(density, str):
            self.n_parts_, inference = 1, self._student_t(summary)
        else:
            if density is None:
                density = NormalInverseGamma.weak(pooled_rows(summary))
            prior = self._prior(len(self.classes_), density)
            self.n_parts_ = prior.n_classes // len(self.classes_)
            inference = self._infer(prior, summary)
        self.posterior_ = inference.posterior
        self.joint_ = (
            self.posterior_.mode() if self.inference == "map" else self.posterior_.predictive()
        )
        self.class_count_ = class_weight(summary)
        self.log_evidence_ = inference.log_evidence
        self.evidence_method_ = inference.evidence_method
        self.evidence_of_ = "X and y"
        self.statistics_, self.inference_ = summary, inference
        return self

    def _infer(
        self, prior: Components, summary: ComponentStatistics | IncompleteRows
    ) -> Inference:
        if not isinstance(summary, IncompleteRows):
            return ConjugateProblem(prior, summary).solution()
        return run(self._engine, _problem(summary, prior, self.n_parts_))

    def _student_t(self, rows: Any) -> Inference:
        """Return classes that are Student's t of largest likelihood."""
        found = run(self._engine, StudentTProblem(rows))
        prior = self._prior(len(self.classes_), Known(found.posterior))
        seen = prior.statistics_of(rows.x, rows.label, rows.weight)
        return replace(found, posterior=prior.update(seen))

    @property
    def _engine(self) -> ExpectationMaximization:
        engine = self.inference
        return (
            engine if isinstance(engine, ExpectationMaximization) else ExpectationMaximization()
        )

    def _log_joint(self, X: ArrayLike) -> Array:
        """Return the log density of rows with each class, its components summed, (n, K)."""
        check_is_fitted(self)
        x = self._inputs(X)
        if self.constant_.any():
            x = np.where(self.constant_, np.nan, x)
        score = self.joint_.log_joint(x)
        if self.n_parts_ == 1:
            return score
        return log_sum_exp(score.reshape(len(score), -1, self.n_parts_), axis=2)


def _problem(rows: IncompleteRows, prior: Components, n_parts: int) -> LatentClassProblem:
    """Return the problem of rows whose class, or component in it, is hidden."""
    if n_parts == 1:
        return LatentClassProblem(rows, prior)
    label = rows.label[:, None]
    among = (label < 0) | (label == np.arange(prior.n_classes) // n_parts)
    hidden = IncompleteRows.unlabeled(rows.x, prior.n_classes, rows.weight)
    return LatentClassProblem(hidden, prior, among=among)

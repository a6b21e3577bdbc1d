"""Bayesian logistic and softmax regression on any basis."""

from __future__ import annotations

from copy import copy
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo import features
from credo.distributions.normal import Normal
from credo.features.basis import Basis
from credo.inference.density.laplace import LaplaceApproximation
from credo.inference.engine.diagnosis import Diagnosis
from credo.inference.engine.draws import Draws
from credo.inference.engine.engine import Inference
from credo.inference.logistic.learning import (
    LOGISTIC_ENGINES,
    LogisticEngine,
    LogisticFolds,
    LogisticLearning,
)
from credo.inference.logistic.problem import LogisticBelief
from credo.models.contract.classifier import LogClassifier
from credo.models.contract.diagnosis import diagnose_logistic
from credo.models.contract.inputs import (
    design,
    first_labeled_rows,
    fitted_design,
    generator,
    inference_name,
    more_labeled_rows,
    placed_basis,
    require_basis,
    require_choice,
    require_precision,
    term_names,
    weighted_by_class,
)
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.parallel.threads import threads_for_matrix
from credo.numerics.special.log_domain import softmax
from credo.validation.held_out import Forget

__all__ = ["LogisticRegression"]


class LogisticRegression(LogClassifier):
    """Linear classification that knows how sure it is.

    Class probabilities are ``softmax(intercept + W b(x))``, weights normal around zero,
    intercepts flat. The posterior of the weights is approximated by the closest Gaussian, or
    drawn from, and predictions are averaged over it: where the data say little, probabilities
    stay moderate.

    Parameters
    ----------
    basis
        Functions of the inputs from `credo.features`; the inputs themselves if None. It is
        placed on the inputs of the fit and never sees y.
    inference
        "variational" for the Gaussian closest to the posterior (that of Laplace's method where
        rows are many and show that it is the same), "laplace" for a Gaussian at the mode,
        "ep" for that of expectation propagation, "nuts" for draws from the posterior
        itself, of a learned precision as well, under a weak prior of intercepts;
        "map" for the mode alone, "ml" for maximum likelihood; or an engine with settings, such
        as ``LaplaceApproximation(max_steps=50)`` or ``NoUTurnSampling(n_draws=4000)``.
    weight_precision
        Inverse prior variance of the weights in the units of the data, or "evidence" to
        learn one for all (columns scaled to unit variance inside).
    fit_intercept
        Whether to add intercepts, which are never shrunk.
    class_weight
        None, "balanced", or a mapping from label to the weight of its rows. Probabilities are
        then those of a population with classes in these proportions.
    integration
        How classes are averaged over the posterior: "quadrature", for two classes accurate to
        rounding, for more to about a percent; or "probit", the closed form of MacKay. Draws
        are averaged over as they are.
    random_state
        Seed of the draws of "nuts".

    Attributes
    ----------
    classes_
        The labels, in rising order.
    coef_, intercept_
        Mean weights of the Gaussian, or most probable ones; shape (K, n_columns) and (K,), or
        one row for two classes: the score of the second. In the units of the data.
    weight_precision_
        Prior precision of the weights of each column in the units of the data, infinite for
        a constant column.
    log_evidence_, evidence_method_, evidence_of_
        Log probability of y given X, a learned precision integrated out; "importance" where
        draws of the closest Gaussian are weighed, also for "nuts", "laplace" for Laplace's
        method, "ep" for expectation propagation, "none" for maximum likelihood and where a
        class has no weight;
        "y given X", or "weighted y given X" under class weights, which are no data.
    n_effective_parameters_
        How many parameters the data determine.
    class_weight_
        Total weight of the rows of each class.
    draws_
        Of "nuts": draws of "coef", "intercept" and "precision" by chain, the last of the
        weights of columns scaled to unit variance.
    posterior_, inference_, basis_
        The belief, the whole answer of the engine, the placed basis.

    Examples
    --------
    >>> x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["no", "yes", "no", "yes"])
    >>> model = LogisticRegression(weight_precision=1.0).fit(x, y)
    >>> model.predict_proba([[4.0]]).round(3)
    array([[0.314, 0.686]])
    """

    basis_: Basis | None
    class_weight_: Annotated[Array, Form("K", 0.0)]
    coef_: Annotated[Array, Form("s c")]
    evidence_flat_: tuple[str, ...]
    evidence_method_: str
    evidence_of_: str
    inference_: Inference
    intercept_: Annotated[Array, Form("s")]
    log_evidence_: float
    n_effective_parameters_: float
    weight_precision_: Annotated[Array, Form("c", 0.0, np.inf)]
    posterior_: LogisticBelief

    def __init__(
        self,
        basis: Basis | None = None,
        inference: str | LogisticEngine = "variational",
        weight_precision: float | str = "evidence",
        fit_intercept: bool = True,
        class_weight: Any = None,
        integration: str = "quadrature",
        random_state: Any = None,
    ):
        self.basis = basis
        self.inference = inference
        self.weight_precision = weight_precision
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.integration = integration
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return (
            cls(),
            cls(inference="map"),
            cls(inference="ml"),
            cls(inference=LaplaceApproximation(tolerance=1e-6)),
            Example(cls(weight_precision=1.0, integration="probit"), unit_free=False),
            Example(cls(features.RadialBasis(6)), streams=False),
            cls(class_weight="balanced"),
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and labels ``y`` (n,), forgetting earlier data."""
        self._check_settings()
        rows = first_labeled_rows(self, X, y, sample_weight)
        weight = weighted_by_class(self.class_weight, self.classes_, rows.code, rows.weight)
        self.basis_ = placed_basis(self.basis, rows.x, weight)
        self.class_weight_ = as_float(np.bincount(rows.code, weight, len(self.classes_)))
        learning = LogisticLearning(
            inference_name(self.inference, LOGISTIC_ENGINES),
            self.weight_precision,
            self.fit_intercept,
            None if isinstance(self.inference, str) else self.inference,
            generator(self.random_state),
        )
        self.posterior_, self.inference_ = learning.learn(
            design(self.basis_, rows.x), rows.code, weight, len(self.classes_)
        )
        with threads_for_matrix(self.posterior_.mean.size):
            return self._set_belief()

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return log class probabilities (n, K), with their digits however small they are."""
        columns = fitted_design(self, X)
        return self.posterior_.log_probability(columns, self.integration == "quadrature")

    def forgetting(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Forget | None:
        """Return how the fit to these rows forgets some of them; None if it cannot.

        A Gaussian belief gets to the fit without a fold by one Newton step, where that is
        short. All that is left out is taken to have had its say in where a basis is placed and
        in how wide a prior is.
        """
        check_is_fitted(self)
        belief = self.posterior_
        if belief.gaussian is None:
            return None
        rows = more_labeled_rows(self, X, y, sample_weight)
        weight = weighted_by_class(self.class_weight, self.classes_, rows.code, rows.weight)
        folds = LogisticFolds.of(belief, design(self.basis_, rows.x), rows.code, weight)

        def without(left_out: NDArray[np.intp]) -> Any:
            found = folds.without(left_out)
            if found is None:
                return None
            model = copy(self)
            model.posterior_ = found
            return model

        return without

    def sample_posterior(self, n: int, random_state: Any = None) -> dict[str, Array]:
        """Return ``n`` draws of "coef" and "intercept" from the posterior."""
        check_is_fitted(self)
        return self._by_class(*self.posterior_.sample(generator(random_state), n))

    @property
    def draws_(self) -> Draws:
        """Draws by chain, where the posterior was drawn from."""
        belief: LogisticBelief | None = getattr(self, "posterior_", None)
        if belief is None or belief.draws is None:
            raise AttributeError(
                "draws_ must be asked of a model that was fitted with inference='nuts'; found "
                f"{self.inference!r}. Use sample_posterior(n)."
            )
        precision = belief.draws.pooled("precision")
        weights, intercepts = belief.in_design_units(
            belief.draws.pooled("parameters"), precision, np.random.default_rng(0)
        )
        values = self._by_class(weights, intercepts) | {"precision": precision}
        names = ["coef", *(["intercept"] if self.fit_intercept else [])]
        names += ["precision"] if isinstance(self.weight_precision, str) else []
        shape = (belief.draws.n_chains, belief.draws.n_draws)
        return Draws(
            {name: values[name].reshape(*shape, *values[name].shape[1:]) for name in names}
        )

    def _by_class(self, weights: Array, intercepts: Array) -> dict[str, Array]:
        """Return draws of weights and intercepts as ``coef_`` and ``intercept_`` are shaped."""
        if len(self.classes_) == 2:
            return {"coef": weights, "intercept": intercepts}
        coding = self.posterior_.coding
        return {
            "coef": np.einsum("kj,njd->nkd", coding, weights),
            "intercept": intercepts @ coding.T,
        }

    def sample_probabilities(self, X: ArrayLike, n: int, random_state: Any = None) -> Array:
        """Return class probabilities under ``n`` draws of the weights, (n, n_samples, K)."""
        columns = fitted_design(self, X)
        weights, intercepts = self.posterior_.sample(generator(random_state), n)
        scores = np.einsum("njd,rd->nrj", weights, columns) + intercepts[:, None]
        return softmax(scores @ self.posterior_.coding.T)

    def coefficients(self, coverage: float = 0.9) -> pd.DataFrame:
        """Return a table of the weights by name: mean, sd and central interval.

        More than two classes have one row for each class and term.
        """
        check_is_fitted(self)
        shown = self.posterior_.coding[1 if len(self.classes_) == 2 else 0 :]
        sd = np.sqrt(self.posterior_.weight_variance(shown))
        half = float(Normal(0.0, 1.0).quantile(0.5 + 0.5 * coverage)) * sd
        low, high = self.coef_ - half, self.coef_ + half
        if self.posterior_.draws is not None:
            ends = [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage]
            low, high = self.draws_.quantile("coef", ends)
        columns = {
            "mean": self.coef_.ravel(),
            "sd": sd.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }
        terms = self.term_names()
        if len(self.classes_) == 2:
            return pd.DataFrame(columns, index=pd.Index(terms, name="term"))
        index = pd.MultiIndex.from_product([self.classes_, terms], names=["class", "term"])
        return pd.DataFrame(columns, index=index)

    def term_names(self) -> list[str]:
        """Return the name of each column of the design."""
        return term_names(self)

    def diagnose(self) -> Diagnosis:
        """Return whether the posterior can be relied on, and why not."""
        check_is_fitted(self)
        return diagnose_logistic(self.inference_, float(self.class_weight_.min()))

    def _check_settings(self) -> None:
        require_basis(self.basis)
        inference_name(self.inference, LOGISTIC_ENGINES)
        require_precision("weight_precision", self.weight_precision, ("evidence",))
        require_choice("integration", self.integration, ("quadrature", "probit"))

    def _set_belief(self) -> Self:
        belief = self.posterior_
        weights, intercepts = belief.weights()
        is_pair = len(self.classes_) == 2
        self.coef_ = weights if is_pair else belief.coding @ weights
        self.intercept_ = intercepts if is_pair else belief.coding @ intercepts
        is_used = belief.scale > 0
        units = np.where(is_used, 1.0 / np.where(is_used, belief.scale, 1.0), np.inf)
        self.weight_precision_ = belief.precision * units**2 * (self.inference != "ml")
        self.evidence_of_ = "y given X" if self.class_weight is None else "weighted y given X"
        self.evidence_method_ = self.inference_.evidence_method
        if not self.class_weight_.all():
            # The flat intercept of a class without rows has no end.
            self.evidence_method_ = "none"
        if self.evidence_method_ != "none":
            self.log_evidence_ = self.inference_.log_evidence
        elif hasattr(self, "log_evidence_"):
            del self.log_evidence_
        self.n_effective_parameters_ = belief.n_effective_parameters()
        self.evidence_flat_ = ("intercept",) if self.fit_intercept else ()
        return self

"""Mixtures of normals: by likelihood, most probable parameters, beliefs, or draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo import families
from credo.distributions.class_conditional import ClassConditional
from credo.families.categorical import DirichletCategorical
from credo.families.component import Components
from credo.families.normal_component import COVARIANCES, mixture_belief
from credo.inference.engine.engine import Inference
from credo.inference.latent.expectation_maximization import ExpectationMaximization
from credo.inference.latent.latent_class import IncompleteRows, LatentClassProblem
from credo.inference.latent.mixture_search import MixtureSearch
from credo.models.contract.inputs import (
    generator,
    inference_name,
    require_choice,
    require_count,
    row_weight,
    validated,
)
from credo.models.latent.mixture import Mixture, incomplete_rows
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import FINITE, SMALLEST, Form

__all__ = ["GaussianMixture"]

ENGINES: Mapping[str, type | None] = MappingProxyType(
    {
        "map": ExpectationMaximization,
        "ml": None,
        "variational": None,
    }
)


class GaussianMixture(Mixture):
    """Rows from several normals, of which nobody said which row is from which.

    ``p(x) = sum over k of w_k N(x; m_k, S_k)``. Gaps (NaN) are integrated out, weights count
    copies of rows, and ``labels`` may say of some rows which component they are of.

    Parameters
    ----------
    n_components
        How many normals, K; `component_table` says what the data think of several numbers.
    covariance
        "full" matrices, one "tied" matrix for all, "diagonal" ones, or "spherical" ones.
    inference
        "map" for the most probable parameters under a weak prior, which keeps components from
        shrinking to a point; "ml" for those of largest likelihood, which refuses components
        that do; "variational" for a belief about them and a bound of the evidence; or an engine
        such as ``ExpectationMaximization(1e-10, 5000)``, which is "map" with its limits.
    prior
        Belief about weights and normals, a `Components`; if None, weights are uniform, and
        normals have about the weight of one row, in the units of the data [fraley2007]_.
    n_restarts
        Starts by k-means, from the best of which components are split and merged.
    random_state
        Where starts come from.

    Attributes
    ----------
    weights_, means_, covariances_
        Shapes (K,), (K, d) and (K, d, d); heaviest component first, unless there are labels.
    posterior_
        Parameters as a `ClassConditional`, or the belief about them as `Components`.
    predictive_
        Weight of each component and density of a new row of it.
    bound_
        Lower bound of the log evidence; NaN unless inference is "variational".
    log_evidence_, evidence_method_
        The bound, or minus half of BIC, and which.
    history_
        Parameters and objective at each step, and all climbs of the search.
    inference_
        The answer of the engine.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.concatenate([rng.normal(0, 1, (60, 2)), rng.normal(6, 1, (40, 2))])
    >>> model = GaussianMixture(2).fit(rows)
    >>> model.weights_.round(2), model.predict([[0.5, 0.0], [5.0, 6.0]])
    (array([0.6, 0.4]), array([0, 1]))
    """

    posterior_: Components | ClassConditional
    prior_: Components
    inference_: Inference
    weights_: Annotated[Array, Form("k", 0.0, 1.0)]
    means_: Annotated[Array, Form("k d")]
    covariances_: Annotated[Array, Form("k d d", -FINITE, FINITE)]
    n_rows_: Annotated[float, Form(low=SMALLEST)]

    def __init__(
        self,
        n_components: int = 2,
        covariance: str = "full",
        inference: str | ExpectationMaximization = "map",
        prior: Components | None = None,
        n_restarts: int = 4,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.covariance = covariance
        self.inference = inference
        self.prior = prior
        self.n_restarts = n_restarts
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        long = ExpectationMaximization(1e-13, 20_000)
        return (
            Example(cls(inference=long), rtol=1e-4),
            Example(cls(covariance="diagonal", inference=long), rtol=1e-4),
            Example(cls(covariance="tied", inference=long), rtol=1e-4),
            Example(cls(covariance="spherical", inference=long), unit_free=False, rtol=1e-4),
        )

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        labels: ArrayLike | None = None,
    ) -> Self:
        """Learn from rows ``X`` (n, d), in which NaN is missing.

        Parameters
        ----------
        labels
            The component of each row, from 0 to K - 1, or -1 where it is not known.
        """
        name = self._require_settings()
        rows = np.asarray(
            validated(self, X, dtype=np.float64, ensure_all_finite="allow-nan"),
        )
        weight = row_weight(sample_weight, rows)
        k = int(self.n_components)
        data, _ = incomplete_rows(rows, weight, labels, k)
        rng = generator(self.random_state)
        self.prior_ = self._prior(data)
        self.n_components_, self.n_rows_ = k, float(data.weight.sum())
        self.component_ = np.arange(k)
        problem = LatentClassProblem(
            data, self.prior_, is_point=name != "variational", has_prior=name == "map"
        )
        search = MixtureSearch(self._engine(), int(self.n_restarts))
        return self._learned(*search.best(problem, rng))

    def bic(self, X: ArrayLike | None = None) -> float:
        """Return ``-2 log likelihood + n_parameters log n`` of the data, or of other rows."""
        check_is_fitted(self, "predictive_")
        if X is None:
            return -2.0 * self.log_evidence_ if self.evidence_method_ == "bic" else np.nan
        log_likelihood = float(self.log_prob(X).sum())
        return -2.0 * log_likelihood + self.n_parameters * float(np.log(len(np.asarray(X))))

    @property
    def n_parameters(self) -> int:
        """Free numbers of weights, means and covariances."""
        k, d = self.means_.shape
        spread = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2}
        spread |= {"diagonal": k * d, "spherical": k}
        return k - 1 + k * d + spread[self.covariance]

    def _learned(self, found: Inference, history: Any) -> Self:
        """Set what is known from the answer of an engine."""
        self.inference_, self.history_ = found, history
        self.posterior_ = found.posterior
        if isinstance(found.posterior, Components):
            self.predictive_ = found.posterior.predictive()
            point = found.posterior.mean()
            self.bound_ = self.log_evidence_ = float(found.log_evidence)
            self.evidence_method_ = "bound"
        else:
            self.predictive_ = point = found.posterior
            self.bound_, self.evidence_method_ = np.nan, "bic"
        self.weights_ = np.exp(point.log_weight)
        self.means_, self.covariances_ = _moments(point)
        if self.evidence_method_ == "bic":
            log_prior = float(history.objective[-1])
            if self.prior_ is not None and self._name == "map":
                log_prior -= self.prior_.log_density_at(point)
            penalty = 0.5 * self.n_parameters * np.log(self.n_rows_)
            self.log_evidence_ = float(log_prior - penalty)
        return self

    @property
    def _name(self) -> str:
        return inference_name(self.inference, ENGINES)

    def _engine(self) -> ExpectationMaximization:
        engine = self.inference
        is_given = isinstance(engine, ExpectationMaximization)
        return engine if is_given else ExpectationMaximization(1e-7, 2000)

    def _prior(self, data: IncompleteRows) -> Components:
        if self.prior is not None:
            return self.prior
        k = data.n_classes
        return Components(
            DirichletCategorical(np.ones(k)), mixture_belief(self.covariance, data.pooled(), k)
        )

    def _require_settings(self) -> str:
        require_count("n_components", self.n_components)
        require_count("n_restarts", self.n_restarts)
        require_choice("covariance", self.covariance, tuple(COVARIANCES))
        return self._name

    def _fitted_rows(self, X: ArrayLike) -> Array:
        check_is_fitted(self, "predictive_")
        return np.asarray(
            validated(self, X, dtype=np.float64, reset=False, ensure_all_finite="allow-nan")
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _moments(point: ClassConditional) -> tuple[Array, Array]:
    """Return means (K, d) and covariances (K, d, d) of the components."""
    density: Any = point.density
    mean = np.broadcast_to(density.mean(), (len(point.log_weight), density.loc.shape[-1]))
    if density.event_shape:
        covariance = np.asarray(density.covariance())
    else:
        variance = np.broadcast_to(density.variance(), mean.shape)
        covariance = variance[..., None] * np.eye(mean.shape[1])
    return np.array(mean), np.array(np.broadcast_to(covariance, (*mean.shape, mean.shape[1])))

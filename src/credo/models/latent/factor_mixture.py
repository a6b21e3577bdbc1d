"""Mixtures of factor analyzers: clusters that are flat, each in directions of its own."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.distributions.class_conditional import ClassConditional
from credo.inference.engine.engine import Inference
from credo.inference.latent.expectation_maximization import ExpectationMaximization
from credo.inference.latent.mixture_search import MixtureSearch
from credo.inference.latent.other_mixtures import FactorMixtureProblem
from credo.models.contract.inputs import (
    generator,
    require_choice,
    require_count,
    row_weight,
    validated,
)
from credo.models.latent.mixture import Mixture, incomplete_rows
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import SMALLEST, Form

__all__ = ["FactorMixture"]

NOISES = ("columns", "one")


class FactorMixture(Mixture):
    """Rows from several normals, each made of few hidden numbers and noise.

    ``p(y) = sum over k of w_k N(y; b_k, W_k W_k' + diag(s_k))``: between a diagonal and a full
    covariance, for rows with many columns. Gaps (NaN) are integrated out. Noise has a weak
    prior, so that no component shrinks to a plane.

    Parameters
    ----------
    n_components
        How many components, K.
    n_factors
        Hidden numbers of each, fewer than columns.
    noise
        "columns" for a variance in each column, factor analyzers; "one" for the same in all,
        a mixture of probabilistic PCA, which depends on the units of columns.
    n_restarts
        Starts by k-means, from the best of which components are split and merged.
    random_state
        Where starts come from.

    Attributes
    ----------
    weights_, means_, loadings_, noise_variances_
        Shapes (K,), (K, d), (K, d, n_factors) and (K, d); heaviest component first.
    posterior_, predictive_
        The same as one value, of the columns that vary.
    log_evidence_, evidence_method_
        Minus half of BIC.
    history_
        Parameters and objective at each step, and all climbs of the search.
    inference_
        The answer of the engine.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> along = rng.normal(size=(80, 1))
    >>> first = along * [3.0, 3.0, 0.0] + 0.1 * rng.normal(size=(80, 3))
    >>> second = along[:40] * [3.0, -3.0, 0.0] + 0.1 * rng.normal(size=(40, 3)) + [0, 0, 2]
    >>> model = FactorMixture(2, 1).fit(np.concatenate([first, second]))
    >>> model.weights_.round(2), np.abs(model.loadings_[:, 0, 0]) > 2.0
    (array([0.67, 0.33]), array([ True,  True]))
    """

    posterior_: ClassConditional
    inference_: Inference
    weights_: Annotated[Array, Form("k", 0.0, 1.0)]
    n_rows_: Annotated[float, Form(low=SMALLEST)]

    def __init__(
        self,
        n_components: int = 2,
        n_factors: int = 1,
        noise: str = "columns",
        n_restarts: int = 4,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.n_factors = n_factors
        self.noise = noise
        self.n_restarts = n_restarts
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return (Example(cls(n_restarts=1), rtol=0.05),)

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from rows ``X`` (n, d), in which NaN is missing."""
        for name in ("n_components", "n_factors", "n_restarts"):
            require_count(name, getattr(self, name))
        require_choice("noise", self.noise, NOISES)
        rows = np.asarray(
            validated(self, X, dtype=np.float64, ensure_all_finite="allow-nan"),
        )
        weight = row_weight(sample_weight, rows)
        rows = self._without_constants(rows, weight)
        if self.n_factors >= rows.shape[1]:
            raise ValueError(
                f"n_factors must be less than the columns that vary; found {self.n_factors} "
                f"and {rows.shape[1]} of n_features = {self.n_features_in_}. Ask for fewer, or "
                "use GaussianMixture."
            )
        k = int(self.n_components)
        data, _ = incomplete_rows(rows, weight, None, k)
        self.n_components_, self.n_rows_ = k, float(data.weight.sum())
        self.component_ = np.arange(k)
        problem = FactorMixtureProblem(data, int(self.n_factors), self.noise == "one")
        search = MixtureSearch(ExpectationMaximization(1e-6, 5000), int(self.n_restarts))
        found, self.history_ = search.best(problem, generator(self.random_state))
        self.inference_, self.posterior_ = found, found.posterior
        self.predictive_ = found.posterior
        self.weights_ = np.exp(found.posterior.log_weight)
        log_likelihood = problem.expect(found.posterior).log_normalizer
        self.log_evidence_ = log_likelihood - 0.5 * self.n_parameters * np.log(self.n_rows_)
        self.bound_, self.evidence_method_ = np.nan, "bic"
        return self

    @property
    def means_(self) -> Array:
        """Center of each component, shape (K, d)."""
        return self._wide(self._density.loc, self.constant_)

    @property
    def loadings_(self) -> Array:
        """How columns follow the hidden numbers of each component, shape (K, d, n_factors)."""
        factor = self._density.form.factor.swapaxes(1, 2)
        return self._wide(factor, np.zeros_like(self.constant_)).swapaxes(1, 2)

    @property
    def noise_variances_(self) -> Array:
        """Variance of the noise of each component in each column, shape (K, d)."""
        return self._wide(self._density.form.noise, np.zeros_like(self.constant_))

    @property
    def n_parameters(self) -> int:
        """Free numbers of weights, centers, loadings up to a rotation, and noise."""
        k, d, c = self.n_components_, len(self.varying_), int(self.n_factors)
        noise = d if self.noise == "columns" else 1
        return k - 1 + k * (d + d * c - c * (c - 1) // 2 + noise)

    def bic(self) -> float:
        """Return ``-2 log likelihood + n_parameters log n`` of the data."""
        check_is_fitted(self, "predictive_")
        return -2.0 * self.log_evidence_

    def denoise(self, X: ArrayLike) -> Array:
        """Return the rows that are expected without their noise, gaps filled, shape (n, d)."""
        rows = self._varying_rows(X)
        share = np.exp(self.predictive_.log_posterior(rows))
        each = [one.restored(one.hidden(rows).mean()) for one in self._models]
        answer = np.einsum("nk,knd->nd", share, np.stack(each))
        return self._wide(answer, self.constant_)

    @property
    def _models(self) -> Any:
        return FactorMixtureProblem.models(self.predictive_)

    @property
    def _density(self) -> Any:
        check_is_fitted(self, "predictive_")
        return self.predictive_.density

    def _wide(self, values: Array, constant: Array) -> Array:
        """Return values of columns that vary (..., v) among those of all, (..., d)."""
        answer = np.array(np.broadcast_to(constant, (*values.shape[:-1], len(constant))))
        answer[..., self.varying_] = values
        return answer

    def coded_rows(self, X: ArrayLike) -> Array:
        """Return rows as numbers (n, d), as a fitted model reads them."""
        check_is_fitted(self, "predictive_")
        return np.asarray(
            validated(self, X, dtype=np.float64, reset=False, ensure_all_finite="allow-nan")
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

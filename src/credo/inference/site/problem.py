"""The problem of the site engines: a Gaussian prior, and a likelihood of each row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from credo.inference.site.likelihood import Likelihood
from credo.inference.site.prior import Conditioned, SitePrior
from credo.numerics.array import Array

__all__ = ["SitePosterior", "SiteProblem"]


@dataclass(frozen=True, eq=False)
class SiteProblem:
    """Outcomes, each of which depends on one hidden number, and a Gaussian prior of these.

    The density of the hidden numbers is ``N(f | m, K) prod_i p(y_i | f_i)^weight_i``, so that a
    whole weight says how often a row occurred.

    Attributes
    ----------
    prior
        `CovariancePrior` or `LinearPrior` of n hidden numbers.
    likelihood
        Of an outcome given its hidden number.
    y
        Outcomes, shape (n,), as ``likelihood.outcomes`` returns them.
    weight
        Weight of each row, shape (n,); one if None.

    Examples
    --------
    >>> from credo.inference import CovariancePrior, LogitLikelihood, SiteLaplace, run
    >>> near = np.array([[1.0, 0.9], [0.9, 1.0]])
    >>> problem = SiteProblem(CovariancePrior(near), LogitLikelihood(), np.array([1.0, 1.0]))
    >>> run(SiteLaplace(), problem).posterior.mean.round(3)
    array([0.651, 0.651])
    """

    prior: SitePrior
    likelihood: Likelihood
    y: Array
    weight: Array | None = None

    def __post_init__(self) -> None:
        shapes = (np.shape(self.y), np.shape(self.y if self.weight is None else self.weight))
        if set(shapes) != {(self.prior.n_rows,)}:
            raise ValueError(
                f"y and weight must have one entry for each of the {self.prior.n_rows} rows of "
                f"the prior; found shapes {shapes}. Pass arrays of one axis."
            )

    @cached_property
    def row_weight(self) -> Array:
        """Weight of each row, shape (n,)."""
        return np.ones(self.prior.n_rows) if self.weight is None else self.weight

    def log_likelihood(self, f: Array) -> float:
        """Return the weighted log likelihood of all rows."""
        return float(self.row_weight @ self.likelihood.log_prob(self.y, f))


class SitePosterior(Protocol):
    """A Gaussian belief about hidden numbers, and how the evidence depends on what is fixed."""

    @property
    def belief(self) -> Conditioned:
        """The Gaussian as the prior and one site for each row."""
        ...

    @property
    def log_evidence(self) -> float:
        """Log probability of the outcomes, hidden numbers integrated out."""
        ...

    @property
    def mean(self) -> Array:
        """Means of the hidden numbers, shape (n,)."""
        ...

    @property
    def variance(self) -> Array:
        """Variances of the hidden numbers, shape (n,)."""
        ...

    @property
    def dual(self) -> Array:
        """``a`` with ``mean = m + K a``, shape (n,)."""
        ...

    def prior_gradient(self) -> Any:
        """Return the gradient of the log evidence for the prior.

        A matrix ``G`` of shape (n, n) such that the log evidence changes by
        ``sum(G * dK) / 2`` with the covariance; for a `LinearPrior` only the product with
        its design, and its diagonal.
        """
        ...

    def parameter_gradient(self) -> Array:
        """Return the gradient of the log evidence by the likelihood's free parameters."""
        ...

"""Posteriors of real variables of a hybrid network: mixtures of normals over settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import pandas as pd

from credo.distributions.mixture import Mixture
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.normal import Normal
from credo.graphs.variable import Variable
from credo.numerics.array import Array

__all__ = ["HybridPosterior", "RealPosterior"]


@dataclass(frozen=True, eq=False)
class RealPosterior:
    """Mixture of ``K`` normals for each row of the findings.

    Attributes
    ----------
    weight
        Posterior probability of each component, shape (n_rows, K); NaN in impossible rows.
    mean, variance
        Of the components, each of shape (n_rows, K).

    Examples
    --------
    >>> both = RealPosterior(np.array([[0.5, 0.5]]), np.array([[-1.0, 1.0]]), np.ones((1, 2)))
    >>> both.total_mean(), both.total_variance()
    (array([0.]), array([2.]))
    """

    weight: Array
    mean: Array
    variance: Array

    @classmethod
    def concatenated(cls, parts: Sequence[RealPosterior]) -> RealPosterior:
        """Return the rows of several posteriors, one after the other.

        Where one has fewer components than another, others without weight fill it up.
        """
        most = max(part.weight.shape[1] for part in parts)
        columns = [
            [getattr(part, name) for part in parts] for name in ("weight", "mean", "variance")
        ]
        return cls(*(np.concatenate([_filled(c, most) for c in column]) for column in columns))

    def total_mean(self) -> Array:
        """Return the mean of the mixture, shape (n_rows,)."""
        return np.asarray(np.sum(self.weight * self.mean, axis=-1))

    def total_variance(self) -> Array:
        """Return the variance of the mixture, shape (n_rows,)."""
        shift = self.mean - self.total_mean()[:, None]
        return np.asarray(np.sum(self.weight * (self.variance + shift**2), axis=-1))

    def mixture(self, row: int | None = None) -> Mixture | Normal:
        """Return the distribution of one row, or of all rows as a batch.

        Components that have no weight in any of these rows are left out.
        """
        chosen = slice(None) if row is None else slice(row, row + 1)
        weight = self.weight[chosen]
        used = np.flatnonzero((weight > 0).any(axis=0))
        squeeze = (slice(None),) if row is None else (0,)
        parts = [
            Normal(self.mean[chosen, k][squeeze], np.sqrt(self.variance[chosen, k])[squeeze])
            for k in used
        ]
        return parts[0] if len(parts) == 1 else Mixture(weight[:, used][squeeze], parts)


@dataclass(frozen=True, eq=False)
class HybridPosterior:
    """Joint posterior of some real and discrete variables, for each row of the findings.

    Given a setting of ``discrete`` the real variables are jointly normal.

    Attributes
    ----------
    discrete
        The discrete variables asked for, then those that the real ones are a mixture over.
    real
        Names of the ``d`` real variables.
    weight
        Probability of each setting, shape (n_rows, *sizes).
    mean
        Shape (n_rows, *sizes, d).
    covariance
        Shape (n_rows, *sizes, d, d).
    """

    discrete: tuple[Variable, ...]
    real: tuple[str, ...]
    weight: Array
    mean: Array
    covariance: Array

    def table(self, names: Sequence[str]) -> Array:
        """Return the joint probability of some discrete variables, shape (n_rows, *sizes)."""
        place = {v.name: 1 + i for i, v in enumerate(self.discrete)}
        others = tuple(i for name, i in place.items() if name not in names)
        left = [name for name in place if name in names]
        summed = self.weight.sum(axis=others)
        return np.asarray(summed.transpose(0, *(1 + left.index(name) for name in names)))

    def total_mean(self) -> Array:
        """Return the mean of the real variables, shape (n_rows, d)."""
        weight, mean, _ = self._flat()
        return np.asarray(np.einsum("rs,rsd->rd", weight, mean))

    def total_covariance(self) -> Array:
        """Return the covariance of the real variables, shape (n_rows, d, d)."""
        weight, mean, covariance = self._flat()
        shift = mean - self.total_mean()[:, None, :]
        spread = np.einsum("rs,rsi,rsj->rij", weight, shift, shift)
        return np.asarray(np.einsum("rs,rsij->rij", weight, covariance) + spread)

    def frame(self, row: int = 0) -> pd.DataFrame:
        """Return one line per setting: its probability, means and standard deviations."""
        weight, mean, covariance = (part[row] for part in self._flat())
        columns = {"probability": weight}
        for i, name in enumerate(self.real):
            columns[f"mean of {name}"] = mean[:, i]
            columns[f"std of {name}"] = np.sqrt(covariance[:, i, i])
        labels = [list(v.labels) for v in self.discrete]
        names = [v.name for v in self.discrete]
        if len(labels) == 1:
            return pd.DataFrame(columns, index=pd.Index(labels[0], name=names[0]))
        if not labels:
            return pd.DataFrame(columns)
        return pd.DataFrame(columns, index=pd.MultiIndex.from_product(labels, names=names))

    def mixture(self, row: int = 0) -> Mixture:
        """Return the joint distribution of the real variables in one row."""
        weight, mean, covariance = (part[row] for part in self._flat())
        used = np.flatnonzero(weight > 0)
        parts = [MultivariateNormal(mean[k], covariance[k]) for k in used]
        return Mixture(weight[used], parts)

    def _flat(self) -> tuple[Array, Array, Array]:
        n_rows, d = len(self.weight), len(self.real)
        n_settings = prod(self.weight.shape[1:])
        return (
            self.weight.reshape(n_rows, n_settings),
            self.mean.reshape(n_rows, n_settings, d),
            self.covariance.reshape(n_rows, n_settings, d, d),
        )


def _filled(columns: Array, n: int) -> Array:
    """Return ``n`` columns, zeros after those given."""
    return np.pad(columns, ((0, 0), (0, n - columns.shape[1])))

"""The belief about linear weights that a `Spectrum` and its precisions define."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np

from credo.distributions.gamma import Gamma
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.multivariate_student_t import MultivariateStudentT
from credo.distributions.normal import Normal
from credo.distributions.predictive import Predictive
from credo.distributions.student_t import StudentT
from credo.families.ridge import Spectrum
from credo.numerics.array import Array
from credo.numerics.form import FINITE, SMALLEST, Form

__all__ = ["RidgeBelief"]

BLOCK_BYTES = 1 << 20

SURE = 3.0
"""Standard errors below which a trend does not go on beyond the data."""


@dataclass(frozen=True, eq=False)
class RidgeBelief:
    """Normal (or Student-t) belief about weights and intercept, one column per output.

    Attributes
    ----------
    spectra
        One `Spectrum` for all outputs, or one for each.
    ratio
        Prior precision of the scaled weights over the noise precision, shape (k,); zero is
        least squares.
    noise_precision
        Noise precision, known or its posterior mean, shape (k,).
    noise_shape
        Shape of the Gamma belief about the noise precision, shape (k,); infinite if known.
    is_point
        Whether weights are taken as known (maximum likelihood, maximum a posteriori).
    """

    spectra: tuple[Spectrum, ...]
    ratio: Annotated[Array, Form("k", 0.0)]
    noise_precision: Annotated[Array, Form("k", SMALLEST, FINITE)]
    noise_shape: Annotated[Array, Form("k", SMALLEST, np.inf)]
    is_point: bool = False

    @property
    def n_outputs(self) -> int:
        """Number of outputs k."""
        return len(self.ratio)

    @cached_property
    def columns(self) -> Array:
        """Posterior mean of the weight of each column, shape (n_columns, k)."""
        return np.column_stack([self._location(k) for k in range(self.n_outputs)])

    @cached_property
    def weights(self) -> Array:
        """Posterior mean of the weights, in the units of the inputs, shape (d, k)."""
        return self.columns[: len(self.spectra[0].center)]

    @cached_property
    def origin(self) -> Array:
        """Point of the outputs about which moments were taken, shape (k,)."""
        if len(self.spectra) == 1:
            return self.spectra[0].origin
        return np.concatenate([spectrum.origin for spectrum in self.spectra])

    @cached_property
    def intercept(self) -> Array:
        """Posterior mean of the intercept, shape (k,)."""
        spectrum = self.spectra[0]
        if spectrum.intercept == "penalized":
            return np.asarray(self.columns[-1])
        return np.asarray(self.origin - spectrum.center @ self.weights)

    def mean(self, x: Array) -> Array:
        """Return the mean of the function at rows ``x``, shape (n, k)."""
        spectrum = self.spectra[0]
        parts = [_columns(spectrum, x[rows]) @ self.columns for rows in _blocks(x)]
        return np.concatenate(parts) + self.origin

    def leverage(self, x: Array) -> Array:
        """Return the variance of the function over that of the noise, shape (n, k)."""
        if self.is_point:
            return np.zeros((len(x), self.n_outputs))
        return np.column_stack([self._leverage(k, x) for k in range(self.n_outputs)])

    @property
    def noise_variance(self) -> Array:
        """Mean of the noise variance, shape (k,); infinite if the belief has none."""
        with np.errstate(divide="ignore"):
            excess = np.where(self.noise_shape > 1, 1 - 1 / self.noise_shape, 0.0)
            return np.asarray(1 / (self.noise_precision * excess))

    def predictive(self, x: Array) -> Predictive:
        """Return the distribution of outputs at rows ``x``, batch shape (n, k)."""
        return self.predictive_at(self.mean(x), self.leverage(x))

    def continued(
        self,
        x: Array,
        edge: Array,
        step: Array,
        trust: Array,
        doubt: Array,
        bends: Iterable[Array],
    ) -> tuple[Array, Array]:
        """Return mean and leverage at rows that lie outside what was learned from.

        Functions may bend beyond as they do inside, as far as their weights are known. The mean
        goes on along ``step`` only as far as that is sure: of a shift t with standard error s,
        bends included, the part ``trust (1 - (SURE s / t)^2)``, nothing if that is negative.
        The leverage is that of the whole step, or of the edge if that is larger, of the bends,
        and of the part left out.

        Parameters
        ----------
        x, edge
            Rows (n, d) at the end of their steps, and at the edge.
        step
            How far each column has gone on since the edge, shape (n, d).
        trust
            The part of a sure shift that is followed, shape (n,).
        doubt, bends
            How often the mean square of each of some bends counts in a row, shape (n, b), and
            each of them, as columns at some rows, shape (s, d).
        """
        mean, leverage = self.mean(x), self.leverage(x)
        if self.is_point:
            return mean, leverage
        squares = np.array([self._mean_square(rows) for rows in bends])
        bent = doubt @ squares.reshape(-1, self.n_outputs)
        shift, chance = step @ self.weights, self._variance(step) + bent
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.minimum(np.nan_to_num(SURE**2 * chance / shift**2), 1.0)
        dropped = (1 - trust[:, None] * (1 - share)) * shift
        leverage = np.maximum(leverage, self.leverage(edge))
        return mean - dropped, leverage + (bent + dropped**2) * self.noise_precision

    def predictive_at(self, mean: Array, leverage: Array) -> Predictive:
        """Return the predictive with given means and leverages, both of shape (n, k)."""
        scale = np.sqrt((1 + leverage) / self.noise_precision)
        noise = np.broadcast_to(self.noise_variance, mean.shape)
        epistemic, aleatoric = np.sqrt(leverage * noise), np.sqrt(noise)
        if np.isinf(self.noise_shape).all():
            return Predictive(Normal(mean, scale), epistemic, aleatoric)
        return Predictive(StudentT(2 * self.noise_shape, mean, scale), epistemic, aleatoric)

    def without_each(self, x: Array, y: Array, weight: Array) -> Predictive:
        """Return the predictive of each training row after forgetting that row.

        Parameters
        ----------
        x, y, weight
            Training inputs (n, d), outputs (n, k) and row weights (n, 1).
        """
        leverage = replace(self, is_point=False).leverage(x)
        kept = np.maximum(1 - weight * leverage, np.finfo(float).eps)
        residual = (y - self.mean(x)) / kept
        without = 0.0 if self.is_point else leverage / kept
        shape = self.noise_shape - 0.5 * weight
        rate = self.noise_shape / self.noise_precision - 0.5 * weight * kept * residual**2
        is_known = np.isinf(shape)
        precision = np.where(
            is_known, self.noise_precision, shape / np.where(is_known, 1, rate)
        )
        row_wise = replace(self, noise_precision=precision, noise_shape=shape)
        return row_wise.predictive_at(y - residual, np.broadcast_to(without, y.shape))

    @cached_property
    def effective_parameters(self) -> Array:
        """Number of parameters that the data determine, intercept included, shape (k,)."""
        counts = [
            self.spectrum(k).effective_parameters(self.ratio[k]) for k in range(self.n_outputs)
        ]
        return np.asarray(counts) + (self.spectra[0].intercept == "flat")

    def weight_variance(self) -> Array:
        """Return the posterior variance of each weight, shape (d, k)."""
        return self._weight_leverage() * self.noise_variance

    def weight_interval(self, coverage: float) -> Array:
        """Return the central interval of each weight, shape (d, k, 2)."""
        scale = np.sqrt(self._weight_leverage() / self.noise_precision)
        if np.isinf(self.noise_shape).all():
            unit = Normal(0.0, 1.0).interval(coverage)
        else:
            unit = StudentT(2 * self.noise_shape, 0.0, 1.0).interval(coverage)
        return np.asarray(self.weights[..., None] + scale[..., None] * unit)

    def _weight_leverage(self) -> Array:
        """Return the variance of each weight over that of the noise, shape (d, k)."""
        size = len(self.spectra[0].center)
        if self.is_point:
            return np.zeros((size, self.n_outputs))
        return np.column_stack(
            [self._weight_variances(k)[:size] for k in range(self.n_outputs)]
        )

    def marginal(self, output: int = 0) -> MultivariateNormal | MultivariateStudentT:
        """Return the joint distribution of one output's weights."""
        if self.is_point:
            raise ValueError(
                "a point estimate has no distribution of its weights; found is_point=True. "
                "Use inference='exact'."
            )
        size = len(self.spectra[0].center)
        spread = self._spread(output, size) / self.noise_precision[output]
        if np.isinf(self.noise_shape[output]):
            return MultivariateNormal(self.weights[:, output], spread)
        freedom = 2 * self.noise_shape[output]
        return MultivariateStudentT(freedom, self.weights[:, output], spread)

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        """Return draws of the weights (n, k, d) and of the intercept (n, k)."""
        draws = [self._draws(k, rng, n) for k in range(self.n_outputs)]
        return np.stack([w for w, _ in draws], axis=1), np.stack([b for _, b in draws], axis=1)

    def spectrum(self, output: int) -> Spectrum:
        """Return the spectrum that one output is read off."""
        return self.spectra[output] if len(self.spectra) > 1 else self.spectra[0]

    def _index(self, output: int) -> int:
        return 0 if len(self.spectra) > 1 else output

    def _location(self, output: int) -> Array:
        s = self.spectrum(output)
        inner = s.projection[self._index(output)] / (self.ratio[output] + s.eigenvalues)
        return np.asarray(s.scale * (s.vectors @ inner))

    def _leverage(self, output: int, x: Array) -> Array:
        s = self.spectrum(output)
        leverage = np.full(len(x), 1 / s.weight if s.intercept == "flat" else 0.0)
        for rows in _blocks(x):
            leverage[rows] += self._squares(output, _columns(s, x[rows]))
        return leverage

    def _mean_square(self, rows: Array) -> Array:
        """Return the expected mean square of ``rows w``, shape (k,)."""
        return np.asarray(((rows @ self.weights) ** 2 + self._variance(rows)).mean(axis=0))

    def _variance(self, step: Array) -> Array:
        """Return the variance of ``step w``, shape (n, k)."""
        columns = np.pad(step, [(0, 0), (0, self.spectra[0].intercept == "penalized")])
        squares = [self._squares(k, columns) for k in range(self.n_outputs)]
        return np.column_stack(squares) / self.noise_precision

    @cached_property
    def _roots(self) -> list[Array]:
        """Roots of the covariance of each output's weights that the data speak of."""
        spectra = [self.spectrum(output) for output in range(self.n_outputs)]
        return [
            np.asarray(s.scale[:, None] * s.vectors / np.sqrt(ratio + s.eigenvalues))
            for s, ratio in zip(spectra, self.ratio, strict=True)
        ]

    def _squares(self, output: int, z: Array) -> Array:
        """Return the variance of ``z^T w`` over that of the noise, shape (n,)."""
        s, ratio = self.spectrum(output), self.ratio[output]
        inner = z @ self._roots[output]
        squares = np.einsum("ij,ij->i", inner, inner)
        if s.vectors.shape[1] < len(s.scale) and ratio > 0:
            unseen = ((z * s.scale) ** 2).sum(axis=1) - inner**2 @ (ratio + s.eigenvalues)
            squares += np.maximum(unseen, 0.0) / ratio
        return np.asarray(squares)

    def _weight_variances(self, output: int) -> Array:
        """Return the diagonal of the covariance of the weights over the noise variance."""
        s, ratio = self.spectrum(output), self.ratio[output]
        squares = s.vectors**2
        variances = squares @ (1 / (ratio + s.eigenvalues))
        if s.vectors.shape[1] < len(s.scale):
            variances += np.maximum(1 - squares.sum(axis=1), 0.0) / ratio
        return np.asarray(variances * s.scale**2)

    def _spread(self, output: int, size: int) -> Array:
        """Return the covariance of the weights over the noise variance."""
        if self.is_point:
            return np.zeros((size, size))
        s, ratio = self.spectrum(output), self.ratio[output]
        gain = 1 / (ratio + s.eigenvalues)
        spread = (s.vectors * gain) @ s.vectors.T
        if s.vectors.shape[1] < len(s.scale):
            spread += (np.eye(len(s.scale)) - s.vectors @ s.vectors.T) / ratio
        return np.asarray((spread * np.outer(s.scale, s.scale))[:size, :size])

    def _draws(self, output: int, rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        s, ratio = self.spectrum(output), self.ratio[output]
        noise = self._noise_draws(output, rng, n)
        inner = rng.standard_normal((n, s.vectors.shape[1])) / np.sqrt(ratio + s.eigenvalues)
        moves = inner @ s.vectors.T
        if s.vectors.shape[1] < len(s.scale):
            free = rng.standard_normal((n, len(s.scale)))
            moves = moves + (free - (free @ s.vectors) @ s.vectors.T) / np.sqrt(ratio)
        spread = 0.0 if self.is_point else noise[:, None]
        columns = self.columns[:, output] + spread * moves * s.scale
        if s.intercept == "penalized":
            return columns[:, :-1], columns[:, -1]
        shift = noise * rng.standard_normal(n) / np.sqrt(s.weight)
        is_free = s.intercept == "flat" and not self.is_point
        origin = s.origin[self._index(output)] + (shift if is_free else 0.0)
        return columns, origin - columns @ s.center

    def _noise_draws(self, output: int, rng: np.random.Generator, n: int) -> Array:
        """Return draws of the noise standard deviation."""
        shape, precision = self.noise_shape[output], self.noise_precision[output]
        if np.isinf(shape):
            return np.full(n, 1 / np.sqrt(precision))
        return np.asarray(1 / np.sqrt(Gamma(shape, shape / precision).sample(rng, n)))


def _blocks(x: Array) -> list[slice]:
    """Return slices of rows that stay in cache, where temporaries cost less than products."""
    size = max(256, BLOCK_BYTES // (8 * max(x.shape[1], 1)))
    return [slice(start, start + size) for start in range(0, max(len(x), 1), size)]


def _columns(spectrum: Spectrum, x: Array) -> Array:
    """Return the inputs about their center, with the penalized intercept's column if any."""
    if spectrum.intercept == "penalized":
        return np.hstack([x, np.ones((len(x), 1))])
    return x - spectrum.center if spectrum.intercept == "flat" else x

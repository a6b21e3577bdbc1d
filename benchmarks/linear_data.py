"""Linear data with half of the weights zero, and a neutral judge of learned precisions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

__all__ = ["LinearData", "evidence_at", "linear_data"]

Array = NDArray[np.float64]
NOISE = 2.0


@dataclass(frozen=True, eq=False)
class LinearData:
    """Rows, targets, and rows held out to judge predictions."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


def linear_data(n_samples: int, n_features: int, n_test: int = 2000) -> LinearData:
    """Return normal inputs, every second weight zero, noise of standard deviation two."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples + n_test, n_features))
    weights = rng.standard_normal(n_features) * (np.arange(n_features) % 2)
    y = 1.0 + X @ weights + NOISE * rng.standard_normal(len(X))
    return LinearData(X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:])


def evidence_at(data: LinearData, weight_precision: ArrayLike, noise_precision: float) -> float:
    """Return the log evidence at given precisions, with a flat intercept of density one.

    With rows centered and divided by the roots of the weight precisions, ``b`` the noise
    precision and ``S = I + b X^T X``:
    ``(n-1)/2 log(b / 2 pi) - log(n)/2 - log|S|/2 - b/2 (y^T y - b y^T X S^-1 X^T y)``;
    if there are more columns than rows, the same through ``I + b X X^T``.
    """
    X, y = data.X - data.X.mean(axis=0), data.y - data.y.mean()
    n, d = X.shape
    scaled = X / np.sqrt(np.broadcast_to(np.asarray(weight_precision, dtype=float), d))
    is_wide = d > n
    gram = scaled @ scaled.T if is_wide else scaled.T @ scaled
    factor = linalg.cholesky(np.eye(len(gram)) + noise_precision * gram, lower=True)
    half = linalg.solve_triangular(factor, y if is_wide else scaled.T @ y, lower=True)
    unexplained = half @ half if is_wide else y @ y - noise_precision * (half @ half)
    return float(
        0.5 * (n - 1) * np.log(noise_precision / (2 * np.pi))
        - 0.5 * np.log(n)
        - np.log(np.diag(factor)).sum()
        - 0.5 * noise_precision * unexplained
    )

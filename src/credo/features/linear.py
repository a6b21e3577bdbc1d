"""The inputs themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.features.basis import Basis
from credo.numerics.array import Array

__all__ = ["LinearBasis"]


@dataclass(frozen=True, eq=False)
class LinearBasis(Basis):
    """One column per input, unchanged and uncopied: ``b_j(x) = x_j``.

    Examples
    --------
    >>> LinearBasis().design([[1.0, 2.0], [3.0, 4.0]])
    array([[1., 2.], [3., 4.]])
    """

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return (cls(),)

    def place(self, X: ArrayLike) -> Self:
        """Return the basis itself: nothing depends on the training inputs."""
        self._training_inputs(X)
        return self

    def design(self, X: ArrayLike) -> Array:
        """Return ``X``, shape (n_samples, n_features)."""
        return self._inputs(X)

    def n_columns(self, n_features: int) -> int:
        """Return ``n_features``."""
        return n_features

    def names(self, feature_names: Sequence[str]) -> list[str]:
        """Return the feature names."""
        return list(feature_names)

    def follows(self, n_features: int) -> NDArray[np.bool_]:
        """Return that each function follows its own input."""
        return np.eye(n_features, dtype=np.bool_)

"""A bend at the median of each input: a skeleton for a new basis.

Copy it to ``src/credo/features/<name>.py`` and export it by a line in the stub of the room,
where the laws find its examples. Fields ``placed_*`` hold what depends on the training inputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np
from numpy.typing import ArrayLike

from credo.features.basis import Basis
from credo.numerics.array import Array
from credo.numerics.form import Form

__all__ = ["HingeBasis"]


@dataclass(frozen=True, eq=False)
class HingeBasis(Basis):
    """Two columns per input, ``x`` and ``max(x - median, 0)``.

    Examples
    --------
    >>> basis = HingeBasis().place([[0.0], [1.0], [5.0]])
    >>> basis.design([[0.0], [3.0]])
    array([[0., 0.], [3., 2.]])
    """

    placed_median: Annotated[Array | None, Form("d")] = None

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return (cls(),)

    def place(self, X: ArrayLike) -> Self:
        """Return the basis with its bends at the medians of the training inputs."""
        return replace(self, placed_median=np.median(self._training_inputs(X), axis=0))

    def design(self, X: ArrayLike) -> Array:
        """Return the inputs and what exceeds the medians, shape (n_samples, 2 n_features)."""
        median = self._require_placed(self.placed_median)
        rows = self._inputs(X, len(median))
        return np.hstack([rows, np.maximum(rows - median, 0.0)])

    def n_columns(self, n_features: int) -> int:
        """Return two per input."""
        return 2 * n_features

    def names(self, feature_names: Sequence[str]) -> list[str]:
        """Return the names of the inputs, and of what exceeds their medians."""
        return [*feature_names, *(f"{name} above median" for name in feature_names)]

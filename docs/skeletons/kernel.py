"""Wendland's kernel, zero beyond a distance: a skeleton for a new kernel.

Copy it to ``src/credo/features/kernels/<name>.py`` and export it by a line in the stub of the
room, where the laws find its examples. A profile of the distance is all that a stationary
kernel adds; any other derives from `SettingsKernel` or `Kernel` and gives its own pull-back.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from credo.features.kernels.stationary import StationaryKernel
from credo.numerics.array import Array

__all__ = ["Wendland"]

MOST_COLUMNS = 3


@dataclass(frozen=True)
class Wendland(StationaryKernel):
    """Wendland's kernel ``(1 - r)^4 (4 r + 1)`` for ``r < 1``, else 0: sparse matrices.

    Functions with a slope that is continuous, of up to three columns.

    Examples
    --------
    >>> Wendland(2.0)([[0.0]], [[1.0], [2.0]])
    array([[0.1875, 0.    ]])
    """

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls(2.5), cls((1.5, 4.0))

    def profile(self, square: Array) -> Array:
        """Return ``(1 - r)^4 (4 r + 1)`` for ``r = sqrt(s)`` below 1."""
        r = np.minimum(np.sqrt(square), 1.0)
        return np.asarray((1.0 - r) ** 4 * (4.0 * r + 1.0))

    def slope(self, square: Array, matrix: Array) -> Array:
        """Return ``20 (1 - r)^3``, which is ``-2 dk / ds``."""
        return np.asarray(20.0 * (1.0 - np.minimum(np.sqrt(square), 1.0)) ** 3)

    def check_inputs(self, X: Array) -> None:
        """Raise if there are too many columns: the matrix could have negative eigenvalues."""
        super().check_inputs(X)
        if X.shape[1] > MOST_COLUMNS:
            raise ValueError(
                f"the inputs of Wendland must have at most {MOST_COLUMNS} columns; found "
                f"{X.shape[1]}. Choose columns by kernel.on([...])."
            )

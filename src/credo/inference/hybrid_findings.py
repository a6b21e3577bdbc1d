"""What is given in a hybrid network: states, numbers and likelihoods, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.numerics.array import Array, as_float

__all__ = ["HybridFindings"]


@dataclass(frozen=True, eq=False)
class HybridFindings:
    """Rows of findings that all concern the same variables.

    Attributes
    ----------
    n_rows
        Number of rows; one if nothing is given.
    codes
        Position of the state of each given discrete variable, shape (n_rows,).
    values
        Value of each given real variable, shape (n_rows,).
    likelihoods
        Likelihood of the states of discrete variables that were only hinted at, each of shape
        (n_rows, n_states).
    """

    n_rows: int
    codes: dict[str, NDArray[np.intp]]
    values: dict[str, Array]
    likelihoods: dict[str, Array]

    @classmethod
    def of(
        cls,
        codes: Mapping[str, ArrayLike],
        values: Mapping[str, ArrayLike],
        likelihoods: Mapping[str, ArrayLike] | None = None,
    ) -> HybridFindings:
        """Return the findings; single ones count as one row, and fill up longer columns."""
        positions = {name: np.atleast_1d(np.asarray(c, np.intp)) for name, c in codes.items()}
        numbers = {name: np.atleast_1d(as_float(v)) for name, v in values.items()}
        hints = {n: np.atleast_2d(as_float(v)) for n, v in (likelihoods or {}).items()}
        for name, column in numbers.items():
            if not np.all(np.isfinite(column)):
                raise ValueError(
                    f"given values of {name} must be finite; found "
                    f"{column[~np.isfinite(column)][0]}. Leave out what is not known."
                )
        columns = [*positions.values(), *numbers.values(), *hints.values()]
        n_rows = max([1, *(len(c) for c in columns)]) if all(map(len, columns)) else 0
        return cls(
            n_rows,
            {name: np.broadcast_to(c, n_rows) for name, c in positions.items()},
            {name: np.broadcast_to(c, n_rows) for name, c in numbers.items()},
            {name: np.broadcast_to(c, (n_rows, c.shape[1])) for name, c in hints.items()},
        )

    @property
    def names(self) -> list[str]:
        """All variables that something is known about."""
        return [*self.codes, *self.values, *self.likelihoods]

    def block(self, rows: slice) -> HybridFindings:
        """Return the findings of some rows."""
        return HybridFindings(
            len(range(*rows.indices(self.n_rows))),
            {name: column[rows] for name, column in self.codes.items()},
            {name: column[rows] for name, column in self.values.items()},
            {name: table[rows] for name, table in self.likelihoods.items()},
        )

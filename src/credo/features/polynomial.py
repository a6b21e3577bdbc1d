"""Polynomials of the inputs by total degree, as monomials or as orthogonal polynomials."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from itertools import combinations_with_replacement
from math import comb
from typing import Annotated, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.features.basis import Basis, n_distinct
from credo.numerics.array import Array
from credo.numerics.form import SMALLEST, Form

__all__ = ["PolynomialBasis"]

# A polynomial this small on the training inputs, against their spread, is rounding noise.
_SMALLEST_NORM = 1e-6


@dataclass(frozen=True, eq=False)
class PolynomialBasis(Basis):
    """Products of powers of the inputs, of total degree 1 to ``degree``, in graded order.

    Two inputs to degree 2 give ``x, y, x^2, x*y, y^2``; degree 0 gives no column.

    Parameters
    ----------
    degree
        Highest total degree.
    orthogonal
        If false, plain monomials. If true, ``x^k`` is replaced by the polynomial ``P_k`` of
        degree k that is orthogonal to all lower ones on the training inputs of that column,
        with mean square one there; products of them are taken as for monomials. The span with a
        constant is the same, and one column to degree 20 is as well conditioned as to degree 1.
        A column with u distinct values has only u - 1 of them; higher powers are left out.

    Notes
    -----
    ``norm[k] P_{k+1}(x) = (x - shift[k]) P_k(x) - norm[k-1] P_{k-1}(x)`` is the three-term
    recurrence; its coefficients, shape (n_features, degree), are placed, with NaN where a
    power is left out, and new inputs are evaluated by the same recurrence.

    Examples
    --------
    >>> PolynomialBasis(2).names(["age", "dose"])
    ['age', 'dose', 'age^2', 'age*dose', 'dose^2']
    >>> PolynomialBasis(3).design([[2.0]])
    array([[2., 4., 8.]])
    """

    degree: int = 2
    orthogonal: bool = False
    placed_shift: Annotated[Array | None, Form("d m", has_gaps=True)] = field(
        default=None, repr=False
    )
    placed_norm: Annotated[Array | None, Form("d m", SMALLEST, has_gaps=True)] = field(
        default=None, repr=False
    )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls(3), cls(3, orthogonal=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_count(0, degree=self.degree)

    def place(self, X: ArrayLike) -> Self:
        """Return the basis, with its recurrences placed on ``X`` if it is orthogonal."""
        X = self._training_inputs(X)
        n_columns = comb(X.shape[1] + self.degree, self.degree) - 1
        advice = f"Lower degree={self.degree} or pass fewer than {X.shape[1]} features."
        self._refuse_too_many(n_columns, advice)
        if not self.orthogonal:
            return self
        shift, norm = _recurrences(X, self.degree)
        return replace(self, placed_shift=shift, placed_norm=norm)

    def design(self, X: ArrayLike) -> Array:
        """Return the products, shape (n_samples, n_columns)."""
        highest = self._highest()
        X = self._inputs(X, None if highest is None else len(highest))
        # Columns are read and written one by one, so they are the contiguous axis.
        powers = self._powers(np.asfortranarray(X))
        design = np.empty((len(X), self.n_columns(X.shape[1])), order="F")
        for column, term in enumerate(_terms(X.shape[1], self.degree, highest)):
            design[:, column] = reduce(np.multiply, (powers[k][:, j] for j, k in term.items()))
        return design

    def n_columns(self, n_features: int) -> int:
        """Return the number of products of total degree 1 to ``degree``."""
        highest = self._highest()
        if highest is None:
            return comb(n_features + self.degree, self.degree) - 1
        self._require_features(n_features, len(highest))
        return len(_terms(n_features, self.degree, highest))

    def names(self, feature_names: Sequence[str]) -> list[str]:
        """Return names such as ``age*dose^2``, or ``P1(age)*P2(dose)`` if orthogonal."""

        def power(j: int, k: int) -> str:
            name = feature_names[j]
            if self.orthogonal:
                return f"P{k}({name})"
            return name if k == 1 else f"{name}^{k}"

        highest = self._highest()
        if highest is not None:
            self._require_features(len(feature_names), len(highest))
        terms = _terms(len(feature_names), self.degree, highest)
        return ["*".join(power(j, k) for j, k in term.items()) for term in terms]

    def follows(self, n_features: int) -> NDArray[np.bool_]:
        """Return which inputs are factors of each product."""
        follows = np.zeros((n_features, self.n_columns(n_features)), dtype=np.bool_)
        for column, term in enumerate(_terms(n_features, self.degree, self._highest())):
            follows[list(term), column] = True
        return follows

    def _powers(self, X: Array) -> list[Array]:
        """Return the power (or polynomial) of degree 0, 1, ... of every column of ``X``."""
        zeros = np.zeros((X.shape[1], self.degree))
        shift = self._require_placed(self.placed_shift) if self.orthogonal else zeros
        norm = self._require_placed(self.placed_norm) if self.orthogonal else zeros + 1.0
        powers = [np.ones_like(X)]
        for k in range(self.degree):
            ahead = (X - shift[:, k]) * powers[k]
            if self.orthogonal and k > 0:
                ahead -= norm[:, k - 1] * powers[k - 1]
            powers.append(ahead / norm[:, k])
        return powers

    def _highest(self) -> tuple[int, ...] | None:
        """Return the highest power of each feature, or None if only the total counts."""
        if not self.orthogonal:
            return None
        counts = np.isfinite(self._require_placed(self.placed_norm)).sum(axis=1)
        return tuple(counts.tolist())


@lru_cache(maxsize=64)
def _terms(
    n_features: int, degree: int, highest: tuple[int, ...] | None
) -> tuple[Mapping[int, int], ...]:
    """Return each product in graded order, as powers by feature."""
    terms = (
        {j: factors.count(j) for j in factors}
        for total in range(1, degree + 1)
        for factors in combinations_with_replacement(range(n_features), total)
    )
    return tuple(
        term
        for term in terms
        if highest is None or all(k <= highest[j] for j, k in term.items())
    )


def _recurrences(X: Array, degree: int) -> tuple[Array, Array]:
    """Return the coefficients of the polynomials orthogonal on each column of ``X``."""
    shift = np.full((X.shape[1], degree), np.nan)
    norm = shift.copy()
    for j, count in enumerate(n_distinct(X)):
        x, before, current, last = X[:, j], np.zeros(len(X)), np.ones(len(X)), 0.0
        for k in range(min(degree, count - 1)):
            center = np.mean(x * current**2)
            ahead = (x - center) * current - last * before
            last = np.sqrt(np.mean(ahead**2))
            # Squares below the range of floats leave nothing to divide by.
            if last == 0 or (k > 0 and last < _SMALLEST_NORM * norm[j, 0]):
                break
            shift[j, k], norm[j, k] = center, last
            before, current = current, ahead / last
    return shift, norm

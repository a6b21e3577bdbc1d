"""Any basis as a scikit-learn transformer."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
)

from credo import features
from credo.features.additive import LinearBasis
from credo.features.basis import Basis
from credo.models.contract.inputs import FittedInputs, validated
from credo.numerics.array import Array
from credo.numerics.example import Example

__all__ = ["BasisTransformer"]


class BasisTransformer(FittedInputs, TransformerMixin, BaseEstimator):
    """The columns of a basis, placed on the training inputs, for use in a Pipeline.

    Parameters
    ----------
    basis
        Functions of the inputs; if None, the inputs themselves.

    Attributes
    ----------
    basis_
        The basis as placed by `fit`.

    Examples
    --------
    >>> from credo.features import PolynomialBasis
    >>> square = BasisTransformer(PolynomialBasis(2)).fit([[1.0], [3.0]])
    >>> square.transform([[2.0]])
    array([[2., 4.]])
    >>> square.get_feature_names_out(["age"])
    array(['age', 'age^2'], dtype=object)
    """

    basis_: Basis
    _sklearn_output_config: dict[str, str]

    def __init__(self, basis: Basis | None = None) -> None:
        self.basis = basis

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return (Example(cls(features.SplineBasis(5)), streams=False),)

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Place the basis on ``X``; ``y`` is not looked at."""
        inputs = validated(self, X, dtype=np.float64)
        basis = LinearBasis() if self.basis is None else self.basis
        self.basis_ = basis.place(inputs)
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Return the columns of the basis, shape (n_samples, n_columns)."""
        check_is_fitted(self)
        return self.basis_.design(validated(self, X, dtype=np.float64, reset=False))

    def get_feature_names_out(
        self, input_features: ArrayLike | None = None
    ) -> NDArray[np.object_]:
        """Return the names of the columns; without names ``x0``, ``x1``, ... are used."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array(self.basis_.names([str(name) for name in names]), dtype=object)

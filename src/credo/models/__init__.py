"""Estimators: state a problem, choose an engine, hold the posterior, answer questions."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.models.average import ModelAverage as ModelAverage
    from credo.models.basis_transformer import BasisTransformer as BasisTransformer
    from credo.models.linear_regression import LinearRegression as LinearRegression
    from credo.models.predictive import predict_dist as predict_dist
    from credo.models.stack import Stack as Stack

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "average": ["ModelAverage"],
        "basis_transformer": ["BasisTransformer"],
        "linear_regression": ["LinearRegression"],
        "predictive": ["predict_dist"],
        "stack": ["Stack"],
    },
)

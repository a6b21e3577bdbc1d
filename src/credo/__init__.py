"""Bayesian machine learning: beliefs, predictions with honest uncertainty, decisions."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.data.model_file import load as load
    from credo.data.model_file import save as save
    from credo.decisions.decision import decide as decide
    from credo.evaluation import laws as laws
    from credo.models.average import ModelAverage as ModelAverage
    from credo.models.basis_transformer import BasisTransformer as BasisTransformer
    from credo.models.linear_regression import LinearRegression as LinearRegression
    from credo.models.predictive import predict_dist as predict_dist
    from credo.models.stack import Stack as Stack

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[
        "app",
        "data",
        "decisions",
        "distributions",
        "evaluation",
        "families",
        "features",
        "inference",
        "models",
        "numerics",
        "plots",
    ],
    submod_attrs={
        "data.model_file": ["load", "save"],
        "decisions.decision": ["decide"],
        "evaluation": ["laws"],
        "models.average": ["ModelAverage"],
        "models.basis_transformer": ["BasisTransformer"],
        "models.linear_regression": ["LinearRegression"],
        "models.predictive": ["predict_dist"],
        "models.stack": ["Stack"],
    },
)

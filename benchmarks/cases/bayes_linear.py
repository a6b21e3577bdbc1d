"""Linear regression with precisions learned by evidence.

credo shares one precision among scaled columns, scikit-learn among columns as they come: two
slightly different priors, of which either may be ahead by a fraction of a nat.
"""

from typing import Any

import numpy as np
from sklearn.linear_model import BayesianRidge

from benchmarks.harness import Case, Contender, Goal
from benchmarks.linear_data import LinearData, evidence_at, linear_data
from credo.models.linear.linear_regression import LinearRegression

__all__ = ["CASES"]


def credo(data: LinearData) -> Any:
    return LinearRegression().fit(data.X, data.y)


def sklearn(data: LinearData) -> Any:
    return BayesianRidge().fit(data.X, data.y)


def evidence(data: LinearData, model: Any) -> float:
    if isinstance(model, BayesianRidge):
        return evidence_at(data, model.lambda_, model.alpha_)
    return evidence_at(data, model.weight_precision_, float(model.noise_precision_))


def rmse(data: LinearData, model: Any) -> float:
    return float(np.sqrt(np.mean((model.predict(data.X_test) - data.y_test) ** 2)))


def case(n_samples: int, n_features: int) -> Case:
    return Case(
        name=f"N={n_samples:,} D={n_features}",
        data=lambda: linear_data(n_samples, n_features),
        contenders={
            "credo": Contender(credo),
            "BayesianRidge": Contender(sklearn, "scikit-learn"),
        },
        quality={"log evidence": evidence, "test rmse": rmse},
        goals=(Goal("BayesianRidge", at_least=8.0),),
        repeats=12,
    )


CASES = (case(50_000, 100), case(500, 2_000))

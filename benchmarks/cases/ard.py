"""Linear regression with one precision per weight."""

from typing import Any

import numpy as np
from sklearn.linear_model import ARDRegression

from benchmarks.harness import Case, Contender, Goal
from benchmarks.linear_data import LinearData, evidence_at, linear_data
from credo.models.linear.linear_regression import LinearRegression

__all__ = ["CASES"]


def credo(data: LinearData) -> Any:
    return LinearRegression(weight_precision="ard").fit(data.X, data.y)


def sklearn(data: LinearData) -> Any:
    return ARDRegression().fit(data.X, data.y)


def evidence(data: LinearData, model: Any) -> float:
    """Return the evidence at the learned precisions; a weight switched off stays off."""
    if isinstance(model, ARDRegression):
        precision = np.where(model.coef_ == 0.0, np.inf, model.lambda_)
        return evidence_at(data, precision, model.alpha_)
    return evidence_at(data, model.weight_precision_, float(model.noise_precision_))


def rmse(data: LinearData, model: Any) -> float:
    return float(np.sqrt(np.mean((model.predict(data.X_test) - data.y_test) ** 2)))


def n_used(data: LinearData, model: Any) -> float:
    return float(np.count_nonzero(model.coef_))


def case(n_samples: int, n_features: int) -> Case:
    return Case(
        name=f"N={n_samples:,} D={n_features}",
        data=lambda: linear_data(n_samples, n_features),
        contenders={
            "credo": Contender(credo),
            "ARDRegression": Contender(sklearn, "scikit-learn"),
        },
        quality={"log evidence": evidence, "test rmse": rmse, "weights used": n_used},
        goals=(Goal("ARDRegression", at_least=4.0),),
        repeats=12,
    )


CASES = (case(50_000, 100), case(5_000, 100))

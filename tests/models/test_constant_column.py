"""A column that is constant but for rounding says nothing, however many rows there are."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from credo import (
    GaussianClassConditional,
    LeastSquaresClassifier,
    LinearRegression,
    LogisticRegression,
    NaiveBayes,
    Perceptron,
    RegularizedRisk,
)

MODELS = [
    GaussianClassConditional(),
    GaussianClassConditional("tied"),
    LeastSquaresClassifier(),
    LinearRegression(),
    LinearRegression(inference="ml"),
    LogisticRegression(),
    LogisticRegression(inference="ml"),
    NaiveBayes(),
    Perceptron(max_epochs=2),
    RegularizedRisk(),
]


def answer(model, x):
    verbs = ("predict_proba", "decision_function", "predict")
    return next(getattr(model, verb)(x) for verb in verbs if hasattr(model, verb))


@pytest.mark.parametrize("constant", [0.1, 7.7])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_constant_column_of_many_rows_changes_nothing(model, constant):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30_000, 2))
    y = (x @ [1.0, -2.0] + rng.normal(size=len(x)) > 0).astype(int)
    wide = np.column_stack([x, np.full(len(x), constant)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        without, with_it = clone(model).fit(x, y), clone(model).fit(wide, y)
    moved = wide[:20] + np.array([0.0, 0.0, 5.0])
    assert_allclose(answer(with_it, moved), answer(without, x[:20]), atol=1e-9)

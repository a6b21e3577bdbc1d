import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from credo.data import load, model_file_info, save
from credo.data.model_file.type_check import fits, fitted_types
from credo.features import SplineBasis
from credo.models import (
    BaselineClassifier,
    LeastSquaresClassifier,
    LogisticRegression,
    ModelAverage,
    Perceptron,
    VotedPerceptron,
)

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(90, 2)), columns=["length", "width"])
NAMES = np.array(["ash", "elm", "oak"])
IS_LONG, IS_WIDE = (X["length"] > 0).to_numpy(), (X["width"] > 1).to_numpy()
Y = {2: NAMES[IS_LONG.astype(int)], 3: NAMES[IS_LONG.astype(int) + IS_WIDE]}
MODELS = [
    BaselineClassifier(),
    BaselineClassifier(concentration=0.5),
    LeastSquaresClassifier(),
    LeastSquaresClassifier(SplineBasis(4)),
    LogisticRegression(),
    LogisticRegression(SplineBasis(4), integration="probit"),
    LogisticRegression(inference="map", weight_precision=1.0),
    ModelAverage(
        [("line", LogisticRegression()), ("curve", LogisticRegression(SplineBasis(4)))]
    ),
    Perceptron(max_epochs=3),
    VotedPerceptron(n_epochs=2),
]


def fitted(model, n_classes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).fit(X, Y[n_classes])


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_loaded_classifier_answers_exactly_as_the_saved_one(model, n_classes, tmp_path):
    before = fitted(model, n_classes)
    save(before, tmp_path / "m.credo")
    after = load(tmp_path / "m.credo")
    check_is_fitted(after)
    assert_array_equal(after.classes_, before.classes_)
    assert_array_equal(after.predict(X), before.predict(X))
    for verb in ("decision_function", "predict_proba"):
        if hasattr(before, verb):
            assert_array_equal(getattr(after, verb)(X), getattr(before, verb)(X))
    assert_array_equal(*[getattr(m, "log_evidence_", np.nan) for m in (after, before)])
    assert after.feature_names_in_.tolist() == ["length", "width"]
    assert model_file_info(tmp_path / "m.credo").class_name == type(model).__name__


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_list_of_fitted_attributes_is_what_fitting_gives(model, n_classes):
    result = fitted(model, n_classes)
    given = set(vars(result)) - set(result.get_params(deep=False))
    listed = fitted_types(type(model))
    absent = {"fingerprint_"}
    if isinstance(model, ModelAverage):
        assert result.criterion_ == "evidence"
        absent |= {"log_scores_"}
    assert given == set(listed) - absent
    for name in given:
        assert fits(getattr(result, name), listed[name]), name

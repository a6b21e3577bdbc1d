import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils.validation import check_is_fitted

from credo.data import ModelFileError, TablePreparation, load, load_set, model_file_info, save
from credo.distributions import Gamma
from credo.features import PolynomialBasis, RadialBasis, SplineBasis
from credo.models import BasisTransformer, LinearRegression, ModelAverage

YACHT = load_set("yacht")
X, Y = YACHT.iloc[:, :-1], YACHT["resistance"]
MODELS = [
    LinearRegression(),
    LinearRegression(inference="ml"),
    LinearRegression(inference="map"),
    LinearRegression(weight_precision="ard"),
    LinearRegression(noise_precision=Gamma(1.0, 1.0)),
    LinearRegression(PolynomialBasis(2), weight_precision=0.5, noise_precision=2.0),
    LinearRegression(RadialBasis(15)),
    ModelAverage([("linear", LinearRegression()), ("spline", LinearRegression(SplineBasis()))]),
]


def assert_same_predictions(left, right):
    for summary in ("mean", "std"):
        a, b = (
            getattr(left.predict_dist(X), summary)(),
            getattr(right.predict_dist(X), summary)(),
        )
        assert_array_equal(a, b)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_loaded_model_predicts_exactly_as_the_saved_one(model, tmp_path):
    model.fit(X, Y)
    save(model, tmp_path / "m.credo")
    copy = load(tmp_path / "m.credo")
    check_is_fitted(copy)
    assert_same_predictions(model, copy)
    assert copy.log_evidence_ == model.log_evidence_ or np.isnan(model.log_evidence_)
    assert copy.feature_names_in_.tolist() == list(X.columns)
    assert model_file_info(tmp_path / "m.credo").class_name == type(model).__name__


def test_a_loaded_model_goes_on_learning(tmp_path):
    model = LinearRegression().fit(X[:200], Y[:200])
    save(model, tmp_path / "m.credo")
    copy = load(tmp_path / "m.credo").partial_fit(X[200:], Y[200:])
    assert_same_predictions(copy, model.partial_fit(X[200:], Y[200:]))


def test_an_unfitted_model_and_a_transformer_can_be_saved(tmp_path):
    save(
        [LinearRegression(PolynomialBasis(2)), BasisTransformer(SplineBasis()).fit(X)],
        tmp_path / "m",
    )
    model, transformer = load(tmp_path / "m")
    assert model.basis.degree == 2
    assert_array_equal(
        np.asarray(transformer.transform(X)),
        np.asarray(BasisTransformer(SplineBasis()).fit(X).transform(X)),
    )


def test_a_model_travels_with_its_preparation(tmp_path):
    frame = pd.DataFrame(
        {"x": np.arange(20.0) ** 1.5, "c": ["a", "b"] * 10, "y": np.arange(20.0) % 7}
    )
    preparation = TablePreparation.learn(frame, "y")
    model = LinearRegression().fit(preparation.prepare(frame).X, frame["y"])
    save({"preparation": preparation, "model": model}, tmp_path / "m.credo")
    copy = load(tmp_path / "m.credo")
    new = pd.DataFrame({"c": ["b", "z"], "x": [4.0, None]})
    assert_array_equal(
        copy["model"].predict(copy["preparation"].prepare(new).X),
        model.predict(preparation.prepare(new).X),
    )


def test_the_fingerprint_of_a_model_is_in_its_file(tmp_path):
    model = LinearRegression().fit(X, Y)
    model.fingerprint_ = "ab" * 32
    save(model, tmp_path / "m.credo")
    assert model_file_info(tmp_path / "m.credo").fingerprint == "ab" * 32


@pytest.mark.parametrize("name", ["predict", "__class__", "a b"])
def test_a_file_cannot_replace_what_a_class_defines(name, tmp_path):
    model = LinearRegression().fit(X, Y)
    vars(model)[name] = "shadow"
    save(model, tmp_path / "m.credo")
    with pytest.raises(ModelFileError, match=f"found '{name}'"):
        load(tmp_path / "m.credo")


def test_a_model_with_a_part_of_another_library_is_refused_when_saved(tmp_path):
    model = ModelAverage([("a", LinearRegression()), ("b", pd.Series([1.0]))])
    with pytest.raises(
        ModelFileError, match=r"ModelAverage\.estimators\[1\]\[1\] must be .*Series"
    ):
        save(model, tmp_path / "m.credo")

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from credo.data import ModelFileError, TablePreparation, load, load_set, model_file_info, save
from credo.data.model_file.type_check import fits, fitted_types
from credo.decisions import HingeMargin
from credo.distributions import Gamma
from credo.families import NormalInverseGamma
from credo.features import PolynomialBasis, RadialBasis, SplineBasis
from credo.models import (
    AdaBoost,
    BaselineRegressor,
    BasisTransformer,
    DecisionStump,
    EvidenceSearch,
    GaussianClassConditional,
    LinearRegression,
    ModelAverage,
    NaiveBayes,
    NearestNeighborsClassifier,
    NearestNeighborsRegressor,
    RegularizedRisk,
    Stack,
)
from resealing import edited, storable_classes, unseal
from rooms import every_example, named

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
    Stack([("linear", LinearRegression()), ("spline", LinearRegression(SplineBasis()))], cv=3),
    EvidenceSearch(LinearRegression(), {"basis": [SplineBasis(4), SplineBasis(6)]}, cv=3),
    NearestNeighborsRegressor(),
    NearestNeighborsRegressor(weights="gaussian"),
    BaselineRegressor(),
    BaselineRegressor(NormalInverseGamma(0.0, 0.1, 1.0, 1.0)),
]
SINGLE = ("BaselineRegressor",)
"""Models of one output only."""


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
    assert_array_equal(*[getattr(m, "log_evidence_", np.nan) for m in (copy, model)])
    assert copy.feature_names_in_.tolist() == list(X.columns)
    assert model_file_info(tmp_path / "m.credo").class_name == type(model).__name__


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("example", every_example("models"), ids=named)
def test_every_estimator_of_the_room_is_loaded_as_it_was_saved(example, tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 5, size=(60, 2)).astype(float)
    target = rows @ [1.0, -0.5] + rng.normal(size=60)
    rows = example.arguments.get("X", rows)
    if is_classifier(example.it):
        target = (target > 1.0).astype(int)
    model = clone(example.it).fit(rows, target)
    save(model, tmp_path / "m.credo")
    copy = load(tmp_path / "m.credo")
    for verb in ("predict", "predict_proba", "transform"):
        if hasattr(model, verb):
            assert_array_equal(getattr(copy, verb)(rows), getattr(model, verb)(rows))
    for name, hint in fitted_types(type(model)).items():
        if hasattr(model, name):
            assert fits(getattr(copy, name), hint)


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
    new = pd.DataFrame({"c": ["b", "z"], "x": [4.0, 7.5]})
    assert_array_equal(
        copy["model"].predict(copy["preparation"].prepare(new).X),
        model.predict(preparation.prepare(new).X),
    )


def test_the_fingerprint_of_a_model_is_in_its_file(tmp_path):
    model = LinearRegression().fit(X, Y)
    model.fingerprint_ = "ab" * 32
    save(model, tmp_path / "m.credo")
    assert model_file_info(tmp_path / "m.credo").fingerprint == "ab" * 32


@pytest.mark.parametrize("name", ["predict", "__class__", "a b", "note_"])
def test_an_attribute_that_fitting_did_not_give_is_refused_when_saved(name, tmp_path):
    model = LinearRegression().fit(X, Y)
    vars(model)[name] = "shadow"
    with pytest.raises(ModelFileError, match=f"found the attribute '{name}'; delete it"):
        save(model, tmp_path / "m.credo")


@pytest.mark.parametrize("model", [*MODELS, BasisTransformer(SplineBasis())], ids=str)
@pytest.mark.parametrize("is_wide", [False, True])
def test_the_list_of_fitted_attributes_is_what_fitting_gives(model, is_wide):
    y = np.column_stack([Y, Y**2]) if is_wide and type(model).__name__ not in SINGLE else Y
    fitted = clone(model).fit(X, y)
    given = set(vars(fitted)) - set(fitted.get_params(deep=False))
    listed = fitted_types(type(model))
    absent = {"fingerprint_", "_sklearn_output_config"} | (
        set() if is_classifier(model) else {"classes_"}
    )
    if isinstance(model, ModelAverage):
        assert fitted.criterion_ == "evidence"
        absent |= {"log_scores_"}
    assert given == set(listed) - absent
    for name in given:
        assert fits(getattr(fitted, name), listed[name]), name


def test_every_registered_estimator_has_a_list():
    estimators = [cls for cls in storable_classes().values() if hasattr(cls, "get_params")]
    assert len(estimators) >= 18
    for cls in estimators:
        assert {"n_features_in_", "feature_names_in_", "fingerprint_"} < set(fitted_types(cls))


def test_a_transformer_keeps_the_kind_of_frame_it_gives(tmp_path):
    save(BasisTransformer().fit(X).set_output(transform="pandas"), tmp_path / "m.credo")
    assert isinstance(load(tmp_path / "m.credo").transform(X), pd.DataFrame)


def test_a_model_with_a_part_of_another_library_is_refused_when_saved(tmp_path):
    model = ModelAverage([("a", LinearRegression()), ("b", pd.Series([1.0]))])
    with pytest.raises(
        ModelFileError, match=r"ModelAverage\.estimators\[1\]\[1\] must be .*Series"
    ):
        save(model, tmp_path / "m.credo")


EDITS = [
    (("value", "fitted"), {"hook_": 1}, "must hold what fitting gives; found 'hook_'"),
    (("value", "fitted"), {"predict": 1}, "must hold what fitting gives; found 'predict'"),
    (("value", "fitted"), {"posterior_": 5}, "LinearRegression.posterior_ .* found 5"),
    (("value", "fitted"), {"basis_": "os"}, "LinearRegression.basis_ .* found 'os'"),
    (("value", "fitted"), {"coef_": [1.0]}, "LinearRegression.coef_ .* found a list"),
    (("value", "fitted"), {"n_features_in_": 6.0}, "n_features_in_ .* found 6.0"),
    (("value", "fitted"), {"log_evidence_": None}, "log_evidence_ .* found None"),
    (
        ("value", "settings"),
        {"weight_precision": {"$": "dict", "items": {}}},
        "LinearRegression.weight_precision .* found a dict",
    ),
    (("value", "settings"), {"fit_intercept": "yes"}, "fit_intercept .* found 'yes'"),
    (("value", "settings"), {"basis": 3}, "LinearRegression.basis .* found 3"),
    ((), {"class": "ModelAverage"}, "the ModelAverage that its head names; found a LinearReg"),
    ((), {"class": {}}, "that its head names; found a LinearRegression"),
    ((), {"fingerprint": [1]}, "text as fingerprint"),
]


@pytest.mark.parametrize(("places", "changes", "part"), EDITS, ids=lambda v: str(v)[:40])
def test_an_edited_estimator_is_refused_though_its_checksums_hold(
    places, changes, part, tmp_path
):
    save(LinearRegression().fit(X, Y), tmp_path / "m.credo")
    load(edited(tmp_path / "m.credo"))
    with pytest.raises(ModelFileError, match=part):
        load(edited(tmp_path / "m.credo", *places, **changes))


NEIGHBORS = [
    NearestNeighborsClassifier(),
    NearestNeighborsClassifier(3),
    NearestNeighborsClassifier(weights="gaussian"),
]


@pytest.mark.parametrize("model", NEIGHBORS, ids=str)
@pytest.mark.parametrize("labels", [["low", "high"], [0, 1]], ids=str)
def test_a_loaded_neighbor_search_answers_though_its_tree_was_not_saved(
    model, labels, tmp_path
):
    y = np.array(labels)[(np.median(Y) > Y).astype(int)]
    fitted = clone(model).fit(X, y)
    save(fitted, tmp_path / "m.credo")
    held = unseal(tmp_path / "m.credo")[0]["value"]["fitted"]["neighborhood_"]["fields"]
    assert set(held) == {"points", "weight", "center", "scale"}
    copy = load(tmp_path / "m.credo")
    assert_array_equal(copy.predict_proba(X), fitted.predict_proba(X))
    assert_array_equal(copy.predict(X), fitted.predict(X))
    given = set(vars(fitted)) - set(fitted.get_params(deep=False))
    assert given == set(fitted_types(NearestNeighborsClassifier)) - {"fingerprint_"}
    for name in given:
        assert fits(vars(fitted)[name], fitted_types(NearestNeighborsClassifier)[name]), name


CONDITIONALS = [
    GaussianClassConditional(),
    GaussianClassConditional("tied", "map"),
    GaussianClassConditional("diagonal", "exact", class_probability=[0.3, 0.7]),
    GaussianClassConditional("spherical"),
    GaussianClassConditional("full", "ml", variance_floor=1e-3),
]


@pytest.mark.parametrize("model", CONDITIONALS, ids=str)
@pytest.mark.parametrize("has_gaps", [False, True])
def test_a_loaded_class_conditional_model_answers_as_the_saved_one(model, has_gaps, tmp_path):
    x, y = X.to_numpy(dtype=float), np.array(["low", "high"])[(np.median(Y) > Y).astype(int)]
    if has_gaps:
        x[::7, 2] = np.nan
    fitted = clone(model).fit(pd.DataFrame(x, columns=X.columns), y)
    save(fitted, tmp_path / "m.credo")
    copy = load(tmp_path / "m.credo")
    assert_array_equal(copy.predict_proba(X), fitted.predict_proba(X))
    assert_array_equal(copy.log_prob(X), fitted.log_prob(X))
    given = set(vars(fitted)) - set(fitted.get_params(deep=False))
    assert given == set(fitted_types(GaussianClassConditional)) - {"fingerprint_"}
    for name in given:
        assert fits(vars(fitted)[name], fitted_types(GaussianClassConditional)[name]), name


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayes(),
        NaiveBayes(inference="ml"),
        NaiveBayes({"steps": "counts"}, "map", normal_prior=NormalInverseGamma(0, 1, 1, 1)),
    ],
    ids=str,
)
def test_a_loaded_naive_bayes_answers_as_the_saved_one_and_goes_on_learning(model, tmp_path):
    x = X.assign(site=np.where(np.arange(len(X)) % 3, "north", None), steps=np.arange(len(X)))
    x["code"] = (np.arange(len(X)) % 4).astype(object)
    x["is_old"] = np.arange(len(X)) % 5 == 0
    y = np.array(["low", "high"])[(np.median(Y) > Y).astype(int)]
    fitted = clone(model).fit(x[:200], y[:200])
    save(fitted, tmp_path / "m.credo")
    copy = load(tmp_path / "m.credo")
    assert_array_equal(copy.predict_proba(x), fitted.predict_proba(x))
    for part in (copy, fitted):
        part.partial_fit(x[200:].assign(site="island"), y[200:])
    assert_array_equal(copy.log_prob(x), fitted.log_prob(x))
    given = set(vars(fitted)) - set(fitted.get_params(deep=False))
    assert given == set(fitted_types(NaiveBayes)) - {"fingerprint_"}
    for name in given:
        assert fits(vars(fitted)[name], fitted_types(NaiveBayes)[name]), name


SCORES = [
    DecisionStump(),
    AdaBoost(20),
    AdaBoost(20, validation_share=0.3),
    AdaBoost(3, DecisionStump()),
    RegularizedRisk(),
    RegularizedRisk(HingeMargin(), SplineBasis(4)),
    RegularizedRisk("zero_one", costs=(1.0, 2.0)),
]


@pytest.mark.parametrize("model", SCORES, ids=str)
@pytest.mark.parametrize("labels", [["low", "high"], [0, 1]], ids=str)
def test_a_loaded_vote_or_score_answers_as_the_saved_one(model, labels, tmp_path):
    fitted = clone(model).fit(X, np.array(labels)[(np.median(Y) > Y).astype(int)])
    save(fitted, tmp_path / "m.credo")
    copy = load(tmp_path / "m.credo")
    verb = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    assert_array_equal(getattr(copy, verb)(X), getattr(fitted, verb)(X))
    assert_array_equal(copy.predict(X), fitted.predict(X))
    given = set(vars(fitted)) - set(fitted.get_params(deep=False))
    listed = fitted_types(type(model))
    assert given == set(listed) - {"fingerprint_"}
    for name in given:
        assert fits(vars(fitted)[name], listed[name]), name


def test_a_weak_learner_of_another_library_is_refused_when_saved(tmp_path):
    model = AdaBoost(2, DecisionTreeClassifier(max_depth=1)).fit(X, np.median(Y) > Y)
    with pytest.raises(ModelFileError, match=r"AdaBoost\.weak_learner must .* DecisionTree"):
        save(model, tmp_path / "m.credo")


def test_an_average_by_held_out_rows_is_saved_with_its_scores(tmp_path):
    models = {"line": LinearRegression(), "near": NearestNeighborsRegressor(n_neighbors=5)}
    average = ModelAverage(models, cv=3).fit(X, Y)
    assert average.criterion_ == "log_score"
    save(average, tmp_path / "m.credo")
    copy = load(tmp_path / "m.credo")
    assert_array_equal(copy.predict(X), average.predict(X))
    assert_array_equal(copy.log_scores_, average.log_scores_)
    assert copy.cv == 3

import dataclasses
import os
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from credo import TableClassifier, TableRegressor
from credo.data import ModelFileError, load, model_file_info, save
from credo.data.model_file import pipeline as known
from credo.data.model_file.codec import Decoder, Encoder
from credo.features import PolynomialBasis, SplineBasis
from credo.models import (
    BasisTransformer,
    GaussianClassConditional,
    LinearRegression,
    LogisticRegression,
    ModelAverage,
    NaiveBayes,
)
from resealing import seal, unseal

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(40, 3)) * [1.0, 100.0, 1e-3], columns=["a", "b", "c"])
Y = X["a"] + 1e3 * X["c"] + 0.1 * RNG.normal(size=40)
K = np.where(Y > 0, "high", "low")
GAPPY = X.mask(RNG.random(X.shape) < 0.2)
TRANSFORMERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    StandardScaler(with_mean=False, with_std=False, copy=False),
    MinMaxScaler(),
    MinMaxScaler((-3.0, 2), clip=True),
    MaxAbsScaler(),
    RobustScaler(),
    RobustScaler(with_centering=False, quantile_range=(10.0, 90.0)),
    RobustScaler(with_scaling=False),
    RobustScaler(unit_variance=True),
    PolynomialFeatures(),
    PolynomialFeatures((2, 3), interaction_only=True, include_bias=False),
    PolynomialFeatures(3, order="F"),
    PCA(),
    PCA(2, whiten=True, random_state=3),
    PCA(0.9, svd_solver="full"),
    PCA("mle"),
    SimpleImputer(),
    SimpleImputer(strategy="median", add_indicator=True),
    SimpleImputer(strategy="most_frequent"),
    SimpleImputer(strategy="constant", fill_value=-1.5),
    SimpleImputer(strategy="constant", add_indicator=True, keep_empty_features=True),
    BasisTransformer(SplineBasis(4)),
    Pipeline([("inner", StandardScaler()), ("basis", BasisTransformer(PolynomialBasis(2)))]),
]


def rows_for(transformer, gappy=GAPPY, whole=X):
    return gappy if isinstance(transformer, SimpleImputer) else whole


def again(value, tmp_path):
    save(value, tmp_path / "m.credo")
    return load(tmp_path / "m.credo")


def through_tree(value):
    encoder = Encoder()
    tree = encoder.encode(value)
    return Decoder([array.copy() for array in encoder.arrays]).decode(tree)


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=repr)
@pytest.mark.parametrize("kind", ["frame", "array", "float32"])
def test_a_pipeline_predicts_as_before(transformer, kind, tmp_path):
    rows = rows_for(transformer)
    rows = rows if kind == "frame" else rows.to_numpy("f8" if kind == "array" else "f4")
    pipeline = Pipeline([("step", clone(transformer)), ("model", LinearRegression())])
    pipeline.fit(rows, Y)
    loaded = again(pipeline, tmp_path)
    assert repr(loaded) == repr(pipeline)
    assert_array_equal(loaded.predict(rows), pipeline.predict(rows))
    assert_array_equal(
        loaded[-1].predict_dist(loaded[:-1].transform(rows)).interval(0.9),
        pipeline[-1].predict_dist(pipeline[:-1].transform(rows)).interval(0.9),
    )
    names = pipeline[0].get_feature_names_out()
    assert list(loaded[0].get_feature_names_out()) == list(names)
    assert hasattr(loaded, "feature_names_in_") == (kind == "frame")


@pytest.mark.parametrize("transformer", TRANSFORMERS[:-2], ids=repr)
def test_every_public_attribute_of_a_step_comes_back(transformer):
    rows = rows_for(transformer)
    fitted = clone(transformer).fit(rows)
    loaded = through_tree(fitted)
    for name, value in vars(fitted).items():
        if name.endswith("_") and not name.startswith("_") and name != "indicator_":
            np.testing.assert_equal(
                np.asarray(getattr(loaded, name)).tolist(), np.asarray(value).tolist(), name
            )
    if hasattr(fitted, "inverse_transform") and getattr(fitted, "add_indicator", True):
        given_rows = np.asarray(fitted.transform(rows))
        assert_array_equal(
            loaded.inverse_transform(given_rows), fitted.inverse_transform(given_rows)
        )


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    steps=st.lists(
        st.sampled_from([t for t in TRANSFORMERS if "mle" not in repr(t)]), max_size=2
    ),
    shown=arrays(np.float64, (7, 3), elements=st.floats(-100, 100)),
)
def test_any_row_of_known_steps_transforms_as_before(steps, shown):
    named = [(f"s{i}", clone(step)) for i, step in enumerate(steps)]
    pipeline = Pipeline([*named, ("last", "passthrough")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pipeline.fit(shown)
        except ValueError:
            return
        loaded = through_tree(pipeline)
        new = shown[::-1] * 0.5 + 1.0
        # Equal arrays at other places in memory: products may round differently.
        assert_allclose(loaded.transform(new), pipeline.transform(new), 1e-12, 1e-12)


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=repr)
def test_a_pipeline_that_was_never_fitted_comes_back_to_be_fitted(transformer, tmp_path):
    pipeline = make_pipeline(clone(transformer), "passthrough", None, LinearRegression())
    loaded = again(pipeline, tmp_path)
    rows = rows_for(transformer)
    assert repr(loaded) == repr(pipeline)
    assert_array_equal(loaded.fit(rows, Y).predict(rows), pipeline.fit(rows, Y).predict(rows))


def test_the_best_pipeline_of_a_search_comes_back(tmp_path):
    pipeline = Pipeline(
        [("scale", StandardScaler()), ("pca", PCA()), ("model", LogisticRegression())]
    )
    search = GridSearchCV(pipeline, {"pca__n_components": [1, 2, 3]}, cv=3).fit(X, K)
    loaded = again(search.best_estimator_, tmp_path)
    assert loaded.get_params()["pca__n_components"] == search.best_params_["pca__n_components"]
    assert_array_equal(loaded.predict_proba(X), search.predict_proba(X))
    assert_array_equal(loaded.classes_, ["high", "low"])
    assert model_file_info(tmp_path / "m.credo").class_name == "Pipeline"


@pytest.mark.parametrize(
    ("model", "outcome"), [(TableRegressor(models=("linear",)), Y), (TableClassifier(3), K)]
)
def test_models_of_tables_are_known_steps(model, outcome, tmp_path):
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), clone(model))
    pipeline.set_output(transform="pandas").fit(GAPPY, outcome)
    loaded = again(pipeline, tmp_path)
    assert isinstance(loaded[:-1].transform(GAPPY), pd.DataFrame)
    assert list(loaded.feature_names_in_) == ["a", "b", "c"]
    assert_array_equal(loaded.predict(GAPPY), pipeline.predict(GAPPY))


def test_a_pipeline_that_gives_frames_comes_back_unfitted(tmp_path):
    pipeline = make_pipeline(BasisTransformer(SplineBasis(4)), StandardScaler())
    loaded = again(pipeline.set_output(transform="pandas"), tmp_path)
    pd.testing.assert_frame_equal(loaded.fit_transform(X), pipeline.fit_transform(X))


def test_a_pipeline_may_be_of_a_table_model_alone(tmp_path):
    frame = X.assign(site=np.where(X["b"] > 0, "u", "v"))
    pipeline = make_pipeline(None, TableRegressor(models=("linear",))).fit(frame, Y)
    assert_array_equal(again(pipeline, tmp_path).predict(frame), pipeline.predict(frame))


def test_pipelines_may_be_members_of_an_average(tmp_path):
    members = [
        ("a", make_pipeline(StandardScaler(), LinearRegression())),
        ("b", LinearRegression()),
    ]
    loaded = again(members, tmp_path)
    assert repr(loaded) == repr(members)
    average = ModelAverage([("a", LinearRegression()), ("b", LinearRegression())])
    pipeline = make_pipeline(RobustScaler(), average).fit(X, Y)
    assert_array_equal(again(pipeline, tmp_path).predict(X), pipeline.predict(X))


def test_counts_that_zeros_make_impossible_are_tried_on_rows_like_those_seen(tmp_path):
    counts = pd.DataFrame(RNG.integers(3, 9, size=(40, 2)), columns=["m", "n"])
    pipeline = make_pipeline(MinMaxScaler((0, 4)), NaiveBayes("counts")).fit(counts, K)
    assert_array_equal(again(pipeline, tmp_path).predict(counts), pipeline.predict(counts))


def test_imputers_of_whole_numbers_keep_their_type(tmp_path):
    rows = np.array([[1, -1], [3, 4], [1, 4]])
    imputer = SimpleImputer(missing_values=-1, strategy="constant", fill_value=7).fit(rows)
    loaded = again(imputer, tmp_path)
    assert loaded.transform(rows).dtype == imputer.transform(rows).dtype == rows.dtype
    assert_array_equal(loaded.transform(rows), [[1, 7], [3, 4], [1, 4]])


def test_a_column_without_values_is_left_out_as_before(tmp_path):
    rows = GAPPY.assign(b=np.nan)
    pipeline = make_pipeline(SimpleImputer(), LinearRegression())
    with pytest.warns(UserWarning, match="without any observed"):
        expected = pipeline.fit(rows, Y).predict(rows)
    loaded = again(pipeline, tmp_path)
    with pytest.warns(UserWarning, match="without any observed"):
        assert_array_equal(loaded.predict(rows), expected)


def test_a_scaler_goes_on_learning_as_before(tmp_path):
    scaler = StandardScaler().fit(GAPPY)
    loaded = again(scaler, tmp_path)
    assert_array_equal(loaded.partial_fit(X).mean_, scaler.partial_fit(X).mean_)
    assert_array_equal(loaded.n_samples_seen_, scaler.n_samples_seen_)


class Own(StandardScaler):
    pass


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (RandomForestRegressor(), "RandomForestRegressor"),
        (FunctionTransformer(), "FunctionTransformer"),
        (FeatureUnion([("a", PCA())]), "FeatureUnion"),
        (Own(), "Own"),
        (make_pipeline(PCA(), RandomForestRegressor()), "RandomForestRegressor"),
    ],
    ids=repr,
)
def test_an_unknown_step_is_refused_before_anything_is_written(step, name, tmp_path):
    said = (
        rf"^Pipeline must consist of steps that model files know; found a {name} as step "
        r"'\w+'; use an estimator or transformer of credo, 'passthrough', or of scikit-learn "
        r"Pipeline, StandardScaler, .*, SimpleImputer\.$"
    )
    with pytest.raises(ModelFileError, match=said):
        save(Pipeline([("scale", StandardScaler()), ("odd", step)]), tmp_path / "m.credo")
    assert os.listdir(tmp_path) == []


class Namesake:
    pass


def test_a_class_of_the_same_name_is_no_known_step():
    Namesake.__name__ = "PCA"
    with pytest.raises(ModelFileError, match="found an object of class PCA"):
        Encoder().encode(Namesake())


def broken(scaler):
    scaler.fit(X).scale_[0] = np.nan
    return scaler


@pytest.mark.parametrize(
    ("pipeline", "said"),
    [
        (make_pipeline(PCA(), memory="cache"), "Pipeline.memory .* found 'cache'"),
        (make_pipeline(PCA(random_state=np.random.RandomState(0))), "PCA.random_state"),
        (make_pipeline(SimpleImputer(missing_values=None)), "SimpleImputer.missing_values"),
        (make_pipeline(SimpleImputer(strategy=np.max)), "SimpleImputer.strategy"),
        (make_pipeline(PolynomialFeatures(65)), "PolynomialFeatures.degree .* found 65"),
        (make_pipeline(StandardScaler().fit(X), LinearRegression()), "found 1 of 2"),
        (make_pipeline(LinearRegression(), LinearRegression()), "such as transform"),
        (
            make_pipeline(broken(MinMaxScaler())),
            "MinMaxScaler.scale_ .* shape .3,., entries from nan to nan",
        ),
        (Pipeline([("a__b", PCA())]), "without '__'"),
        (
            make_pipeline(SimpleImputer(strategy="most_frequent").fit([["a"], ["b"]])),
            "SimpleImputer.statistics_",
        ),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_a_step_cannot_keep_is_refused_before_anything_is_written(
    pipeline, said, tmp_path
):
    with pytest.raises(ModelFileError, match=rf"Pipeline\S* must .*{said}.*; change that step"):
        save(pipeline, tmp_path / "m.credo")
    assert os.listdir(tmp_path) == []


def test_a_setting_that_files_do_not_know_must_be_at_its_default(monkeypatch):
    step = known.KNOWN_STEPS["RobustScaler"]
    fewer = {name: part for name, part in step.settings.items() if name != "unit_variance"}
    shorter = dataclasses.replace(step, settings=fewer)
    monkeypatch.setattr(known, "KNOWN_STEPS", {**known.KNOWN_STEPS, "RobustScaler": shorter})
    assert repr(through_tree(RobustScaler())) == "RobustScaler()"
    with pytest.raises(
        ModelFileError, match=r"leave unit_variance .* found 'True'; set it to F"
    ):
        through_tree(RobustScaler(unit_variance=True))


PIPELINES = {
    "standard": make_pipeline(StandardScaler(), PolynomialFeatures(2), LinearRegression()),
    "minmax": make_pipeline(MinMaxScaler(), MaxAbsScaler(), GaussianClassConditional()),
    "robust": make_pipeline(RobustScaler(), PCA(2, whiten=True), LinearRegression()),
    "imputer": make_pipeline(SimpleImputer(add_indicator=True), LinearRegression()),
    "nested": make_pipeline(make_pipeline(PCA(2), "passthrough"), LinearRegression()),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return a function from the name of a pipeline to its file, fitted once."""
    folder = tmp_path_factory.mktemp("pipelines")

    def file(name):
        path = folder / f"{name}.credo"
        if not path.exists():
            outcome = Y if isinstance(PIPELINES[name][-1], LinearRegression) else K
            save(clone(PIPELINES[name]).fit(rows_for(PIPELINES[name][0]), outcome), path)
        return path

    return file


def step_tree(document, place):
    return document["value"]["settings"]["steps"][place]["items"][1]


def changed(file, place, part, change):
    """Return a copy of a file in which a part of a step is changed, checksums right."""
    document, arrays = unseal(file)
    tree = step_tree(document, place)
    kind = "fitted" if part in tree["fitted"] else "settings"
    node = tree[kind][part]
    if isinstance(node, dict) and node.get("$") == "array":
        arrays[node["place"]] = change(arrays[node["place"]])
    else:
        tree[kind][part] = change(node)
    return seal(file.with_name("changed.credo"), document, arrays)


def entry(value):
    def change(array):
        array = array.copy()
        array.flat[0] = value
        return array

    return change


def to(value):
    return lambda _: value


NAN = {"$": "float", "value": "nan"}
CHANGES = [
    ("standard", 0, "mean_", entry(np.nan)),
    ("standard", 0, "mean_", entry(np.inf)),
    ("standard", 0, "mean_", entry(1e308)),
    ("standard", 0, "mean_", lambda a: a[:-1]),
    ("standard", 0, "mean_", lambda a: a[None]),
    ("standard", 0, "mean_", lambda a: a.astype("U5")),
    ("standard", 0, "mean_", lambda a: a > 0),
    ("standard", 0, "scale_", entry(0.0)),
    ("standard", 0, "scale_", entry(-1.0)),
    ("standard", 0, "scale_", entry(1e-320)),
    ("standard", 0, "var_", entry(-1.0)),
    ("standard", 0, "n_samples_seen_", to(-1)),
    ("standard", 0, "n_samples_seen_", to(NAN)),
    ("standard", 0, "n_features_in_", to(4)),
    ("standard", 0, "n_features_in_", to(10**400)),
    ("standard", 0, "n_features_in_", to("3")),
    ("standard", 0, "with_mean", to("yes")),
    ("standard", 0, "with_mean", to(1)),
    ("standard", 1, "degree", to(3)),
    ("standard", 1, "degree", to(-1)),
    ("standard", 1, "degree", to(10**400)),
    ("standard", 1, "degree", to({"$": "tuple", "items": [2, 1]})),
    ("standard", 1, "include_bias", to(False)),
    ("standard", 1, "n_features_in_", to(10_000_000)),
    ("standard", 1, "order", to("K")),
    ("minmax", 0, "feature_range", to({"$": "tuple", "items": [1.0, 0.0]})),
    ("minmax", 0, "feature_range", to({"$": "tuple", "items": [0.0, NAN]})),
    ("minmax", 0, "feature_range", to([0.0, 1.0])),
    ("minmax", 0, "scale_", entry(-1.0)),
    ("minmax", 0, "min_", entry(np.nan)),
    ("minmax", 0, "data_min_", entry(np.inf)),
    ("minmax", 1, "scale_", entry(0.0)),
    ("minmax", 1, "max_abs_", entry(np.nan)),
    ("minmax", 1, "clip", to(None)),
    ("robust", 0, "center_", lambda a: a[::2]),
    ("robust", 0, "scale_", entry(np.inf)),
    ("robust", 0, "quantile_range", to({"$": "tuple", "items": [-5.0, 101.0]})),
    ("robust", 1, "components_", lambda a: a.T.copy()),
    ("robust", 1, "components_", lambda a: a[:1]),
    ("robust", 1, "components_", entry(2.0)),
    ("robust", 1, "components_", entry(np.nan)),
    ("robust", 1, "explained_variance_", entry(-1.0)),
    ("robust", 1, "explained_variance_", entry(np.nan)),
    ("robust", 1, "n_components", to(-1)),
    ("robust", 1, "n_components", to("best")),
    ("robust", 1, "svd_solver", to("os.system")),
    ("robust", 1, "random_state", to(-1)),
    ("imputer", 0, "statistics_", entry(np.nan)),
    ("imputer", 0, "statistics_", entry(np.inf)),
    ("imputer", 0, "statistics_", lambda a: a[:-1]),
    ("imputer", 0, "indicator_", to([0, 3])),
    ("imputer", 0, "indicator_", to([-1])),
    ("imputer", 0, "indicator_", to([0])),
    ("imputer", 0, "dtype", to("O")),
    ("imputer", 0, "dtype", to("int64")),
    ("imputer", 0, "strategy", to("eval")),
    ("imputer", 0, "fill_value", to("x")),
    ("imputer", 0, "add_indicator", to(False)),
    ("nested", 0, "steps", to([])),
    ("nested", 0, "steps", to([{"$": "tuple", "items": ["pca", 5]}])),
    ("nested", 0, "steps", to([{"$": "tuple", "items": ["pca", "drop"]}])),
    ("nested", 0, "steps", to([{"$": "tuple", "items": ["pca", None]}])),
    ("nested", 0, "steps", lambda steps: [steps[0], steps[0]]),
    ("nested", 0, "memory", to("cache")),
    ("nested", 0, "verbose", to(3)),
]


@pytest.mark.parametrize(
    ("name", "place", "part", "change"),
    CHANGES,
    ids=[f"{n}-{q}-{p}-{i}" for i, (n, q, p, _) in enumerate(CHANGES)],
)
def test_steps_whose_parts_are_out_of_range_or_do_not_agree_are_refused(
    name, place, part, change, saved
):
    file = saved(name)
    load(changed(file, place, part, lambda value: value))
    with pytest.raises(ModelFileError, match=r"^changed\.credo must [^\n]*$"):
        load(changed(file, place, part, change))


def every_part(name, document):
    """Yield the place of all that is set or was learned of the known steps.

    Another mark of gaps makes another model, which refuses the gaps of these rows.
    """
    for place in range(len(PIPELINES[name]) - 1):
        tree = step_tree(document, place)
        for kind in ("settings", "fitted"):
            for part in sorted(set(tree[kind]) - {"missing_values"}):
                yield place, kind, part


ODD = (None, -1, 10**400, "x", NAN, {"$": "tuple", "items": []})


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_with_an_odd_or_lost_part_is_refused_or_predicts_numbers(name, saved):
    rows = rows_for(PIPELINES[name][0])
    places = list(every_part(name, unseal(saved(name))[0]))
    n_refused = 0
    for place, kind, part in places:
        for odd in (*ODD, "lost"):
            document, arrays = unseal(saved(name))
            tree = step_tree(document, place)
            if odd == "lost":
                del tree[kind][part]
            else:
                tree[kind][part] = odd
            path = seal(saved(name).with_name("odd.credo"), document, arrays)
            try:
                model = load(path)
            except ModelFileError:
                n_refused += 1
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                found = model.predict(rows)
            assert found.dtype.kind != "f" or np.isfinite(found).all(), (part, odd)
    assert n_refused > 3 * len(places)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("RandomForestRegressor", "known steps only; found 'RandomForestRegressor'"),
        ("os.system", "known steps only; found 'os.system'"),
        (["PCA"], "known steps only"),
        ("LinearRegression", "known steps only; found 'LinearRegression'"),
        ("MinMaxScaler", "must give MinMaxScaler what it has"),
    ],
)
def test_a_file_cannot_name_another_class_as_a_step(value, said, saved):
    document, arrays = unseal(saved("standard"))
    step_tree(document, 0)["class"] = value
    with pytest.raises(ModelFileError, match=said):
        load(seal(saved("standard").with_name("named.credo"), document, arrays))


def test_steps_in_another_order_are_refused(saved):
    document, arrays = unseal(saved("standard"))
    document["value"]["settings"]["steps"].reverse()
    with pytest.raises(ModelFileError, match="such as transform"):
        load(seal(saved("standard").with_name("order.credo"), document, arrays))


def test_a_pipeline_of_which_a_step_forgot_everything_is_refused(saved):
    document, arrays = unseal(saved("standard"))
    step_tree(document, 1)["fitted"] = {}
    with pytest.raises(ModelFileError, match="all fitted, or none; found 2 of 3"):
        load(seal(saved("standard").with_name("forgot.credo"), document, arrays))


def test_a_setting_newer_than_the_installed_scikit_learn_must_be_as_before(monkeypatch):
    tree = Encoder().encode(MaxAbsScaler())
    older = {"copy": True}
    monkeypatch.setattr(known.KnownStep, "parameters", lambda _: older)
    step = known.KNOWN_STEPS["MaxAbsScaler"]
    assert known.built_step(step, {**tree["settings"], "clip": False}, {}).copy
    with pytest.raises(ModelFileError, match="installed scikit-learn has; found clip"):
        known.built_step(step, {**tree["settings"], "clip": True}, {})

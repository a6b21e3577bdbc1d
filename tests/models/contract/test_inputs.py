import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import get_tags

from credo.features import PolynomialBasis, SplineBasis
from credo.models import (
    AdaBoost,
    BaselineClassifier,
    BaselineRegressor,
    DecisionStump,
    EvidenceSearch,
    GaussianClassConditional,
    LeastSquaresClassifier,
    LinearRegression,
    LogisticRegression,
    ModelAverage,
    NaiveBayes,
    NearestNeighborsClassifier,
    NearestNeighborsRegressor,
    Perceptron,
    RegularizedRisk,
    Stack,
    VotedPerceptron,
)

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.5], [3.0, 0.5]])
Y = np.array([0, 1, 0, 1])
MODELS = [LogisticRegression(), LinearRegression(), GaussianClassConditional(), NaiveBayes()]
PAIRS = [("one", LogisticRegression()), ("two", LogisticRegression(weight_precision=1.0))]


@pytest.mark.parametrize("model", [*MODELS, ModelAverage(PAIRS), Stack(PAIRS, cv=2)])
def test_columns_of_the_same_name_are_named(model):
    frame = pd.DataFrame(X, columns=["age", "age"])
    with pytest.raises(ValueError, match=r"names of their own; found \['age'\] more than once"):
        model.fit(frame, Y)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("model", MODELS[:3])
def test_columns_of_text_are_named_with_what_to_do_about_them(model, kind):
    frame = kind({"age": X[:, 0], "travel": ["train", "car", "train", "foot"]})
    name = type(model).__name__
    words = rf"must hold numbers for {name}; found text in columns \['travel'\].*OneHotEncoder"
    with pytest.raises(ValueError, match=words):
        model.fit(frame, Y)


def test_text_in_an_array_is_refused_and_classifiers_have_an_alternative():
    text = np.array([["train"], ["car"], ["train"], ["foot"]])
    with pytest.raises(ValueError, match=r"found text\. .* does, or use NaiveBayes"):
        LogisticRegression().fit(text, Y)
    with pytest.raises(ValueError, match=r"found text\. .*OneHotEncoder does\.$"):
        LinearRegression().fit(text, Y)


def test_text_as_the_outcome_of_a_regression_is_told_of_y():
    with pytest.raises(
        ValueError, match="y must hold numbers for LinearRegression; found text"
    ):
        LinearRegression().fit(X, ["no", "yes", "no", "yes"])


@pytest.mark.parametrize(
    "model", [LogisticRegression(), NearestNeighborsClassifier(1), NaiveBayes()]
)
@pytest.mark.parametrize("y", [[0.0, 1.0, np.nan, 1.0], pd.Series(["no", "yes", None, "no"])])
def test_rows_without_a_class_are_told_of_y(model, y):
    message = (
        r"y must have a class in every row.*; found NaN or None.*\. Leave out these rows, or "
        r"use GaussianClassConditional, which learns from unlabeled rows\.$"
    )
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_rows_without_an_outcome_are_told_of_y():
    with pytest.raises(ValueError, match="y must have a number in every row"):
        LinearRegression().fit(X, [0.0, 1.0, np.nan, 1.0])


ESTIMATORS = {
    "regressor": [
        LinearRegression(),
        BaselineRegressor(),
        NearestNeighborsRegressor(),
        ModelAverage(
            [("line", LinearRegression()), ("curve", LinearRegression(SplineBasis(4)))]
        ),
        Stack([("line", LinearRegression()), ("mean", BaselineRegressor())], cv=3),
        EvidenceSearch(LinearRegression(), {"inference": ["exact"]}, cv=3),
    ],
    "classifier": [
        LogisticRegression(),
        BaselineClassifier(),
        GaussianClassConditional(),
        NaiveBayes(),
        LeastSquaresClassifier(),
        Perceptron(),
        VotedPerceptron(),
        DecisionStump(),
        AdaBoost(3),
        RegularizedRisk(),
        NearestNeighborsClassifier(),
        ModelAverage(PAIRS),
        Stack([("logistic", LogisticRegression()), ("bayes", NaiveBayes())], cv=3),
        EvidenceSearch(LogisticRegression(), {"inference": ["map"]}, cv=3),
    ],
}
EVERY = [(kind, model) for kind, models in ESTIMATORS.items() for model in models]
NAMES = [f"{type(model).__name__} {kind}" for kind, model in EVERY]
every_estimator = pytest.mark.parametrize(("kind", "model"), EVERY, ids=NAMES)


def rows(kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(24, 2))
    y = x[:, 0] + 0.4 * rng.normal(size=24)
    return x, (x[:, 0] > 0).astype(int) if kind == "classifier" else y


@every_estimator
def test_what_is_masked_is_missing(kind, model):
    x, y = rows(kind)
    hidden, gaps = np.ma.array(x, mask=False), x.copy()
    hidden[3, 1], gaps[3, 1] = np.ma.masked, np.nan
    if not get_tags(model).input_tags.allow_nan:
        with pytest.raises(ValueError, match=r"must have a number in every cell.*found NaN"):
            clone(model).fit(hidden, y)
        return
    found, expected = clone(model).fit(hidden, y), clone(model).fit(gaps, y)
    assert_array_equal(found.predict_proba(hidden), expected.predict_proba(gaps))
    assert not np.array_equal(found.predict_proba(hidden), expected.predict_proba(x))


@every_estimator
def test_a_masked_outcome_is_missing(kind, model):
    x, y = rows(kind)
    hidden = np.ma.array(y, mask=np.arange(24) == 5)
    if isinstance(model, GaussianClassConditional):
        unknown = np.where(np.arange(24) == 5, np.nan, y)
        found, expected = clone(model).fit(x, hidden), clone(model).fit(x, unknown)
        assert_array_equal(found.predict_proba(x), expected.predict_proba(x))
        return
    with pytest.raises(ValueError, match=r"y must have a (class|number) in every row"):
        clone(model).fit(x, hidden)
    clone(model).fit(np.ma.array(x), np.ma.array(y))


@every_estimator
def test_no_score_rests_on_masked_outcomes_or_weights(kind, model):
    x, y = rows(kind)
    hidden = np.ma.array(y, mask=np.arange(24) == 5)
    fitted = clone(model).fit(x, y)
    assert fitted.score(x, np.ma.array(y)) == fitted.score(x, y)
    with pytest.raises(ValueError, match=r"y must have a (class|number) in every row to score"):
        fitted.score(x, hidden)
    weight = np.ma.array(np.ones(24), mask=np.arange(24) == 5)
    with pytest.raises(ValueError, match="sample_weight must be a finite number"):
        fitted.score(x, y, weight)


@every_estimator
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (
            np.full(24, 1e308),
            r"sample_weight must add up to at most 1e\+20.*a sum of inf",
        ),
        ([10**400] + [1] * 23, "numbers must be below 1.8e308"),
        (np.ma.array(np.ones(24), mask=np.arange(24) == 2), "sample_weight must be a finite"),
    ],
    ids=["huge", "400 digits", "masked"],
)
def test_weights_that_cannot_be_added_are_refused(kind, model, weight, words):
    with pytest.raises(ValueError, match=words):
        clone(model).fit(*rows(kind), sample_weight=weight)


@every_estimator
def test_numbers_that_cannot_be_squared_are_refused_before_any_work(kind, model):
    x, y = rows(kind)
    far, long = x.copy(), x.astype(object)
    far[3, 1], long[3, 1] = 1.7e308, 10**400
    with pytest.raises(ValueError, match=r"X must hold .* within 1e\+140 .* found 1\.7e\+308"):
        clone(model).fit(far, y)
    with pytest.raises(ValueError, match="must hold numbers"):
        clone(model).fit(long, y)
    if kind == "regressor":
        with pytest.raises(ValueError, match=r"y must hold .* within 1e\+140"):
            clone(model).fit(x, 1e300 * y)
        long_outcome = y.astype(object)
        long_outcome[0] = 10**400
        with pytest.raises(ValueError, match=r"numbers must be below|must hold numbers within"):
            clone(model).fit(x, long_outcome)
    else:
        labels = np.array([10**400 if label else 3 for label in y], dtype=object)
        with pytest.raises(ValueError, match="labels that are text, truth values or whole"):
            clone(model).fit(x, labels)


@every_estimator
def test_times_are_not_taken_as_numbers(kind, model):
    x, y = rows(kind)
    days = np.datetime64("2020-01-01") + (100 * x).astype("timedelta64[D]")
    mixed = pd.DataFrame(x).assign(day=pd.to_datetime(days[:, 0]))
    for times in (days, days - days[0], [list(row) for row in days], pd.DataFrame(days), mixed):
        with pytest.raises(ValueError, match="X must hold numbers; found dates or durations"):
            clone(model).fit(times, y)
    if kind == "regressor":
        with pytest.raises(ValueError, match="y must hold numbers; found dates or durations"):
            clone(model).fit(x, days[:, 0])


@every_estimator
@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame])
def test_the_order_of_bytes_does_not_matter(kind, model, container):
    x, y = rows(kind)
    plain = clone(model).fit(x, y)
    foreign = clone(model).fit(container(x.astype(">f8")), y.astype(y.dtype.newbyteorder(">")))
    new = container(x.astype(">f8"))
    assert_allclose(foreign.predict(new), plain.predict(x), rtol=1e-9)


@pytest.mark.parametrize("combine", [ModelAverage, Stack, lambda pairs: pairs[1][1]])
def test_one_column_of_outcomes_is_as_good_as_none(combine):
    x, y = rows("regressor")
    pairs = [("line", LinearRegression()), ("mean", BaselineRegressor())]
    plain = combine(pairs).fit(x, y)
    with pytest.warns(DataConversionWarning):
        column = combine(pairs).fit(x, y[:, None])
    assert_array_equal(column.predict(x), plain.predict(x))


def test_rows_too_far_off_for_a_line_are_refused():
    x, y = rows("regressor")
    model = LinearRegression().fit(x, y)
    assert np.isfinite(model.predict_dist([[1e130, 0.0]]).std()).all()
    with pytest.raises(ValueError, match=r"X must hold numbers within 1e\+140"):
        model.predict_dist([[1e200, 0.0]])
    curve = LinearRegression(PolynomialBasis(3)).fit(x, y)
    with pytest.raises(ValueError, match=r"the basis of X must hold numbers within 1e\+140"):
        curve.predict_dist([[1e120, 0.0]])


ALL_KINDS = [*MODELS, NearestNeighborsClassifier(2), Stack(PAIRS, cv=2), ModelAverage(PAIRS)]


@pytest.mark.parametrize("model", ALL_KINDS)
def test_a_frame_of_floats_is_checked_as_any_other_input(model):
    frame = pd.DataFrame(X, columns=["age", "dose"])
    fitted = clone(model).fit(frame, Y)
    mixed = frame.assign(age=frame["age"].astype(np.int64))
    assert_array_equal(fitted.predict(frame), clone(model).fit(X, Y).predict(X))
    assert_array_equal(fitted.predict(frame), fitted.predict(mixed))
    with pytest.raises(ValueError, match="in the same order as they were in fit"):
        fitted.predict(frame[["dose", "age"]])
    with pytest.raises(ValueError, match="Feature names unseen at fit time"):
        fitted.predict(frame.rename(columns={"dose": "weight"}))
    if not isinstance(model, NaiveBayes | GaussianClassConditional):
        with pytest.raises(ValueError, match="must have a number in every cell"):
            fitted.predict(frame.replace(1.0, np.nan))
    with pytest.raises(ValueError, match=r"infinity|finite"):
        fitted.predict(frame.replace(1.0, np.inf))


def test_a_wide_frame_of_floats_is_not_asked_for_the_type_of_each_column(monkeypatch):
    frame = pd.DataFrame(X, columns=["age", "dose"])
    fitted = LinearRegression().fit(frame, Y)
    asked = []
    monkeypatch.setattr(
        "sklearn.utils.validation._pandas_dtype_needs_early_conversion",
        lambda dtype: asked.append(dtype),
    )
    fitted.predict(frame)
    assert asked == []
    fitted.predict(frame.astype(np.float32))
    assert len(asked) == 2


@every_estimator
def test_columns_or_rows_by_name_are_no_table(kind, model):
    x, y = rows(kind)
    columns = {"a": x[:, 0], "b": x[:, 1]}
    by_row = [dict(zip("ab", row, strict=True)) for row in x.tolist()]
    fitted = clone(model).fit(x, y)
    for given, found in ((columns, "a dict"), ({0: x[0]}, "a dict"), (by_row, "rows that are")):
        with pytest.raises(ValueError, match=f"X must be a table or an array; found {found}"):
            clone(model).fit(given, y[: len(given)])
        with pytest.raises(ValueError, match=f"X must be a table or an array; found {found}"):
            fitted.predict(given)


def test_a_sparse_matrix_that_is_a_dict_of_its_entries_is_told_of_sparse_data():
    x, y = rows("regressor")
    with pytest.raises(TypeError, match="Sparse data was passed"):
        LinearRegression().fit(sparse.dok_array(x), y)

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.class_weight import compute_sample_weight

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
from credo.models.contract.inputs import (
    MISSING,
    class_labels,
    design,
    first_labeled_rows,
    fitted_design,
    label_codes,
    labeled_chunk,
    more_labeled_rows,
    placed_basis,
    require_basis,
    require_precision,
    term_names,
    weighted_by_class,
)

""""""


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


@pytest.mark.parametrize("value", ["ard", -1.0, 0, float("inf"), None])
def test_a_precision_is_a_positive_number_or_one_of_the_named_choices(value):
    with pytest.raises(ValueError, match=r"a positive number or one of \('evidence',\); found"):
        require_precision("weight_precision", value, ("evidence",))


def test_numbers_and_named_choices_are_precisions():
    for value in (0.5, 3, "evidence"):
        require_precision("weight_precision", value, ("evidence",))


def test_an_unknown_word_as_the_precision_of_an_estimator_is_told_what_may_stand_there():
    with pytest.raises(ValueError, match="weight_precision must be a positive number or"):
        LogisticRegression(weight_precision="ard").fit([[0.0], [1.0], [2.0]], [0, 1, 0])


CLASSES = np.array(["a", "b", "c"])
CODES = np.array([0, 0, 0, 1, 2, 2])


def test_no_class_weight_leaves_the_rows_as_they_are():
    weight = np.array([1.0, 2.0, 0.5, 1.0, 0.0, 3.0])
    assert weighted_by_class(None, CLASSES, CODES, weight) is weight


def test_a_mapping_multiplies_the_rows_of_the_classes_it_names():
    weight = np.array([1.0, 2.0, 0.5, 1.0, 0.0, 3.0])
    found = weighted_by_class({"a": 2.0, "c": 0.5}, CLASSES, CODES, weight)
    np.testing.assert_allclose(found, [2.0, 4.0, 1.0, 1.0, 0.0, 1.5])


def test_balanced_rows_weigh_as_scikit_learn_has_it():
    found = weighted_by_class("balanced", CLASSES, CODES, np.ones(6))
    np.testing.assert_allclose(found, compute_sample_weight("balanced", CODES))


def test_balanced_classes_have_equal_totals_and_keep_the_total_of_all():
    weight = np.array([1.0, 2.0, 0.5, 1.0, 0.0, 3.0])
    found = weighted_by_class("balanced", CLASSES, CODES, weight)
    np.testing.assert_allclose(np.bincount(CODES, found), weight.sum() / 3)


def test_a_class_without_weight_gets_none_when_balanced():
    weight = np.array([1.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    found = weighted_by_class("balanced", CLASSES, CODES, weight)
    np.testing.assert_allclose(np.bincount(CODES, found), [2.5, 0.0, 2.5])


def test_numbers_and_truth_values_name_classes():
    codes, weight = np.array([0, 1]), np.ones(2)
    assert weighted_by_class({1: 3.0}, np.array([0, 1]), codes, weight).tolist() == [1.0, 3.0]
    found = weighted_by_class({True: 3.0}, np.array([False, True]), codes, weight)
    assert found.tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("even", "must be None, 'balanced' or a mapping.*'even'"),
        ([1.0, 2.0, 3.0], "must be None, 'balanced' or a mapping"),
        ({"d": 1.0}, r"classes of y.*found \['d'\]"),
        ({"a": -1.0}, "found {'a': -1.0}"),
        ({"a": float("nan")}, "finite weights of 0 or more"),
        ({"a": float("inf")}, "finite weights of 0 or more"),
    ],
)
def test_what_is_no_weight_of_a_class_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        weighted_by_class(wrong, CLASSES, CODES, np.ones(6))


CLASS_LABEL_NAMES = ["no", "yes", "yes", "no"]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (CLASS_LABEL_NAMES, ["no", "yes"]),
        ([0, 1, 1, 0], [0, 1]),
        ([-1, 1, 1, -1], [-1, 1]),
        ([1, 2, 2, 1], [1, 2]),
        ([1.0, 2.0, 2.0, 1.0], [1.0, 2.0]),
        ([False, True, True, False], [False, True]),
        (pd.Series(CLASS_LABEL_NAMES), ["no", "yes"]),
        (pd.Categorical(CLASS_LABEL_NAMES), ["no", "yes"]),
        (np.array(CLASS_LABEL_NAMES, dtype=object), ["no", "yes"]),
        (pd.Series(CLASS_LABEL_NAMES, dtype="string"), ["no", "yes"]),
        (pd.Series(pd.Categorical(CLASS_LABEL_NAMES, categories=["yes", "no"])), ["no", "yes"]),
        (np.array([False, True, True, False], dtype=object), [False, True]),
        (np.array([3, 200, 200, 3], dtype=np.uint8), [3, 200]),
        (np.array([-128, 127, 127, -128], dtype=np.int8), [-128, 127]),
        (np.array([1, 2**64 - 1, 2**64 - 1, 1], dtype=np.uint64), [1, 2**64 - 1]),
        (np.array([-(2**62), 2**62, 2**62, -(2**62)]), [-(2**62), 2**62]),
        (np.array([2**53, 2**53 + 1, 2**53 + 1, 2**53]), [2**53, 2**53 + 1]),
        (np.array([1, 2, 2, 1], dtype=">i4"), [1, 2]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_every_coding_of_the_labels_gives_the_same_codes(labels, classes):
    found, codes = class_labels(labels)
    assert found.tolist() == classes
    assert codes.tolist() == [0, 1, 1, 0]
    assert label_codes(labels, found).tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.uint16, np.uint64])
def test_whole_numbers_are_coded_as_sorting_codes_them(dtype):
    rng = np.random.default_rng(0)
    low, high = (0, 1) if dtype is bool else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    labels = rng.choice(np.array([low, low // 3, 0, 1, high // 3, high], dtype), 200)
    expected, expected_codes = np.unique(labels, return_inverse=True)
    classes, codes = class_labels(labels)
    assert classes.dtype == labels.dtype
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(codes, expected_codes)
    np.testing.assert_array_equal(label_codes(labels, classes), expected_codes)


@pytest.mark.parametrize("gap", [None, float("nan")])
def test_a_label_that_is_missing_has_a_code_of_its_own_or_is_refused(gap):
    labels = np.array(["b", gap, "a"], dtype=object)
    classes, codes = class_labels(labels, allow_missing=True)
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == [1, MISSING, 0]
    assert label_codes(labels, classes, allow_missing=True).tolist() == [1, MISSING, 0]
    with pytest.raises(ValueError, match=r"must have a class in every row.* 1 of 3 rows"):
        class_labels(labels)
    with pytest.raises(ValueError, match=r"must have a class in every row.* 1 of 3 rows"):
        label_codes(labels, classes)


def test_a_gap_leaves_numbers_and_truth_values_what_they_were():
    classes, codes = class_labels(np.array([3, None, -1], dtype=object), allow_missing=True)
    assert (classes.dtype.kind, codes.tolist()) == ("i", [1, MISSING, 0])
    classes, codes = class_labels(pd.Series([True, None, False]), allow_missing=True)
    assert (classes.dtype.kind, codes.tolist()) == ("b", [1, MISSING, 0])
    classes, codes = class_labels([2.0, float("nan"), 1.0], allow_missing=True)
    assert (classes.tolist(), codes.tolist()) == ([1.0, 2.0], [1, MISSING, 0])


def test_text_beside_numbers_is_refused():
    with pytest.raises(ValueError, match=r"labels of one kind; found text beside \['int'\]"):
        class_labels(np.array(["a", 1, "a"], dtype=object))


def test_a_label_never_seen_is_refused_by_name():
    with pytest.raises(ValueError, match=r"\['a', 'b'\]; found \['c'\]"):
        label_codes(["a", "c"], np.array(["a", "b"]))
    with pytest.raises(ValueError, match=r"\[1, 2\]; found \[1.5, 3.0\]"):
        label_codes([1.5, 1.0, 3.0], np.array([1, 2]))


def test_a_class_without_weight_stays_a_class_if_two_others_weigh():
    classes, codes = class_labels(["a", "b", "c"], weight=[1.0, 0.0, 2.0])
    assert (classes.tolist(), codes.tolist()) == (["a", "b", "c"], [0, 1, 2])


def test_one_class_is_refused_also_where_the_other_weighs_nothing():
    with pytest.raises(ValueError, match="at least 2 classes"):
        class_labels(["a", "a"])
    with pytest.raises(ValueError, match=r"found 1 class, \['a'\]"):
        class_labels(["a", "b"], weight=[1.0, 0.0])


def test_measurements_are_not_taken_for_classes():
    with pytest.raises(ValueError, match="Unknown label type"):
        class_labels([0.5, 1.2, 3.1])


def test_a_first_chunk_is_coded_among_all_classes_that_will_come():
    classes, codes = class_labels(["b", "b"], classes=["c", "b", "a", "b"])
    assert (classes.tolist(), codes.tolist()) == (["a", "b", "c"], [1, 1])
    with pytest.raises(ValueError, match=r"\['a', 'b'\]; found \['c'\]"):
        class_labels(["c"], classes=["a", "b"])


TRAINING_ROWS_X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])


class Learner(BaseEstimator):
    """Nothing but a place for classes and features."""


def test_a_first_call_sets_classes_and_features_and_codes_the_rows():
    learner = Learner()
    frame = pd.DataFrame(TRAINING_ROWS_X, columns=["a", "b"])
    rows = first_labeled_rows(learner, frame, ["yes", "no", "yes"], [1.0, 0.5, 2.0])
    assert learner.classes_.tolist() == ["no", "yes"]
    assert learner.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(rows.x, TRAINING_ROWS_X)
    assert rows.code.tolist() == [1, 0, 1]
    assert rows.weight.tolist() == [1.0, 0.5, 2.0]


def test_labels_in_a_column_are_taken_with_one_warning():
    with pytest.warns(DataConversionWarning) as told:
        rows = first_labeled_rows(Learner(), TRAINING_ROWS_X, [["b"], ["a"], ["b"]], None)
    assert rows.code.tolist() == [1, 0, 1]
    assert len(told) == 1


def test_later_rows_are_coded_by_the_classes_known_and_must_have_the_same_columns():
    learner = Learner()
    first_labeled_rows(learner, TRAINING_ROWS_X, ["b", "a", "c"], None)
    rows = more_labeled_rows(learner, TRAINING_ROWS_X[:2], ["c", "b"], None)
    assert rows.code.tolist() == [2, 1]
    assert rows.weight.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"found \['z'\]"):
        more_labeled_rows(learner, TRAINING_ROWS_X[:1], ["z"], None)
    with pytest.raises(ValueError, match="1 features"):
        more_labeled_rows(learner, TRAINING_ROWS_X[:2, :1], ["c", "b"], None)


def test_the_first_chunk_must_name_all_classes_and_later_ones_need_not():
    learner = Learner()
    with pytest.raises(ValueError, match="classes must be given on the first call"):
        labeled_chunk(learner, TRAINING_ROWS_X, ["b", "b", "b"], None, None)
    rows = labeled_chunk(learner, TRAINING_ROWS_X, ["b", "b", "b"], ["a", "b"], None)
    assert rows.code.tolist() == [1, 1, 1]
    learner.statistics_ = "something"
    assert labeled_chunk(learner, TRAINING_ROWS_X[:1], ["a"], None, None).code.tolist() == [0]


@pytest.mark.parametrize("weight", [[-1.0, 1.0, 1.0], [1.0, np.nan, 1.0], [1.0, 1.0]])
def test_weights_that_are_none_are_refused(weight):
    with pytest.raises(ValueError, match="weight"):
        first_labeled_rows(Learner(), TRAINING_ROWS_X, ["a", "b", "a"], weight)


AGES = np.array([[1.0], [3.0], [7.0]])


class Fitted(BaseEstimator):
    """What the design of a fitted model is read from."""

    def __init__(self, basis=None):
        self.basis = basis

    def fit(self, frame):
        self.feature_names_in_ = np.array(frame.columns, dtype=object)
        self.n_features_in_ = frame.shape[1]
        self.basis_ = placed_basis(self.basis, frame.to_numpy())
        self.coef_ = np.zeros(1)
        return self


def test_without_a_basis_the_design_is_the_inputs():
    assert placed_basis(None, AGES) is None
    assert design(None, AGES) is AGES


def test_rows_without_weight_do_not_place_a_basis():
    x = np.linspace(0.0, 1.0, 11)[:, None]
    far = np.append(x, [[50.0]], axis=0)
    weight = np.append(np.ones(11), 0.0)
    found = placed_basis(SplineBasis(4), far, weight)
    expected = placed_basis(SplineBasis(4), x)
    np.testing.assert_allclose(design(found, x), design(expected, x))


def test_new_rows_and_terms_go_through_the_placed_basis():
    frame = pd.DataFrame(AGES, columns=["age"])
    model = Fitted(PolynomialBasis(2)).fit(frame)
    np.testing.assert_allclose(fitted_design(model, frame), np.hstack([AGES, AGES**2]))
    assert term_names(model) == ["age", "age^2"]
    assert term_names(Fitted().fit(frame)) == ["age"]


def test_what_is_no_basis_is_refused_and_so_are_questions_before_the_fit():
    with pytest.raises(TypeError, match=r"basis must be None or a basis.*found 'spline'"):
        require_basis("spline")
    with pytest.raises(TypeError, match=r"found <class"):
        placed_basis(SplineBasis, AGES)
    with pytest.raises(NotFittedError):
        fitted_design(Fitted(), AGES)

import numpy as np
import pandas as pd
import polars as pl
import pytest

from credo.models import (
    GaussianClassConditional,
    LinearRegression,
    LogisticRegression,
    ModelAverage,
    NaiveBayes,
    NearestNeighborsClassifier,
    Stack,
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


@pytest.mark.parametrize("model", [LogisticRegression(), NearestNeighborsClassifier(1)])
@pytest.mark.parametrize("y", [[0.0, 1.0, np.nan, 1.0], pd.Series(["no", "yes", None, "no"])])
def test_rows_without_a_class_are_told_of_y(model, y):
    with pytest.raises(ValueError, match=r"y must have a class in every row.*Leave out"):
        model.fit(X, y)


def test_rows_without_an_outcome_are_told_of_y():
    with pytest.raises(ValueError, match="y must have a number in every row"):
        LinearRegression().fit(X, [0.0, 1.0, np.nan, 1.0])

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning

from credo.models.contract.training_rows import (
    first_labeled_rows,
    labeled_chunk,
    more_labeled_rows,
)

X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])


class Learner(BaseEstimator):
    """Nothing but a place for classes and features."""


def test_a_first_call_sets_classes_and_features_and_codes_the_rows():
    learner = Learner()
    frame = pd.DataFrame(X, columns=["a", "b"])
    rows = first_labeled_rows(learner, frame, ["yes", "no", "yes"], [1.0, 0.5, 2.0])
    assert learner.classes_.tolist() == ["no", "yes"]
    assert learner.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(rows.x, X)
    assert rows.code.tolist() == [1, 0, 1]
    assert rows.weight.tolist() == [1.0, 0.5, 2.0]


def test_labels_in_a_column_are_taken_with_one_warning():
    with pytest.warns(DataConversionWarning) as told:
        rows = first_labeled_rows(Learner(), X, [["b"], ["a"], ["b"]], None)
    assert rows.code.tolist() == [1, 0, 1]
    assert len(told) == 1


def test_later_rows_are_coded_by_the_classes_known_and_must_have_the_same_columns():
    learner = Learner()
    first_labeled_rows(learner, X, ["b", "a", "c"], None)
    rows = more_labeled_rows(learner, X[:2], ["c", "b"], None)
    assert rows.code.tolist() == [2, 1]
    assert rows.weight.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"found \['z'\]"):
        more_labeled_rows(learner, X[:1], ["z"], None)
    with pytest.raises(ValueError, match="1 features"):
        more_labeled_rows(learner, X[:2, :1], ["c", "b"], None)


def test_the_first_chunk_must_name_all_classes_and_later_ones_need_not():
    learner = Learner()
    with pytest.raises(ValueError, match="classes must be given on the first call"):
        labeled_chunk(learner, X, ["b", "b", "b"], None, None)
    rows = labeled_chunk(learner, X, ["b", "b", "b"], ["a", "b"], None)
    assert rows.code.tolist() == [1, 1, 1]
    learner.statistics_ = "something"
    assert labeled_chunk(learner, X[:1], ["a"], None, None).code.tolist() == [0]


@pytest.mark.parametrize("weight", [[-1.0, 1.0, 1.0], [1.0, np.nan, 1.0], [1.0, 1.0]])
def test_weights_that_are_none_are_refused(weight):
    with pytest.raises(ValueError, match="weight"):
        first_labeled_rows(Learner(), X, ["a", "b", "a"], weight)

import numpy as np
import pandas as pd
import pytest

from credo.models.label import MISSING, class_labels, label_codes

NAMES = ["no", "yes", "yes", "no"]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (NAMES, ["no", "yes"]),
        ([0, 1, 1, 0], [0, 1]),
        ([-1, 1, 1, -1], [-1, 1]),
        ([1, 2, 2, 1], [1, 2]),
        ([1.0, 2.0, 2.0, 1.0], [1.0, 2.0]),
        ([False, True, True, False], [False, True]),
        (pd.Series(NAMES), ["no", "yes"]),
        (pd.Categorical(NAMES), ["no", "yes"]),
        (np.array(NAMES, dtype=object), ["no", "yes"]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_every_coding_of_the_labels_gives_the_same_codes(labels, classes):
    found, codes = class_labels(labels)
    assert found.tolist() == classes
    assert codes.tolist() == [0, 1, 1, 0]
    assert label_codes(labels, found).tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("gap", [None, float("nan")])
def test_a_label_that_is_missing_has_a_code_of_its_own_or_is_refused(gap):
    labels = np.array(["b", gap, "a"], dtype=object)
    classes, codes = class_labels(labels, allow_missing=True)
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == [1, MISSING, 0]
    assert label_codes(labels, classes, allow_missing=True).tolist() == [1, MISSING, 0]
    with pytest.raises(ValueError, match=r"must have a class in every row.* 1 of 3 rows"):
        class_labels(labels)


def test_a_label_never_seen_is_refused_by_name():
    with pytest.raises(ValueError, match=r"\['a', 'b'\]; found \['c'\]"):
        label_codes(["a", "c"], np.array(["a", "b"]))


def test_one_class_is_refused_also_where_the_other_weighs_nothing():
    with pytest.raises(ValueError, match="at least 2 classes"):
        class_labels(["a", "a"])
    with pytest.raises(ValueError, match=r"found 1 class, \['a'\]"):
        class_labels(["a", "b"], weight=[1.0, 0.0])


def test_measurements_are_not_taken_for_classes():
    with pytest.raises(ValueError, match="Unknown label type"):
        class_labels([0.5, 1.2, 3.1])

import numpy as np
import pandas as pd
import pytest

from credo.models.contract.class_label import MISSING, class_labels, label_codes

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
        (pd.Series(NAMES, dtype="string"), ["no", "yes"]),
        (pd.Series(pd.Categorical(NAMES, categories=["yes", "no"])), ["no", "yes"]),
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

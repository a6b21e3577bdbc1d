import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight

from credo.models.contract.class_weight import weighted_by_class

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

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from credo.decisions import LossMatrix, decide

DOCTOR = LossMatrix(
    [[0, 1], [10, 0], [1.5, 1.5]], ["sick", "healthy"], ["say sick", "say healthy", "defer"]
)


def test_the_risks_of_the_doctor_are_those_counted_by_hand():
    assert_allclose(DOCTOR.conditional_risk([0.2, 0.8]), [0.8, 2.0, 1.5])


def test_zero_one_risk_is_the_probability_of_another_class():
    probability = np.random.default_rng(0).dirichlet(np.ones(4), size=20)
    costs = LossMatrix.zero_one(["a", "b", "c", "d"])
    assert_allclose(costs.conditional_risk(probability), 1.0 - probability)


def test_risk_is_the_double_sum_over_classes():
    rng = np.random.default_rng(1)
    costs = LossMatrix(rng.normal(size=(5, 3)), [1, 2, 3], list("abcde"))
    p = rng.dirichlet(np.ones(3), size=(2, 4))
    found = costs.conditional_risk(p)
    for index in np.ndindex(2, 4):
        for a in range(5):
            expected = sum(costs.loss[a, j] * p[index][j] for j in range(3))
            assert_allclose(found[index][a], expected)


def test_an_added_action_has_the_losses_given():
    costs = LossMatrix.zero_one([0, 1]).with_action("ask a human", [0.3, 0.1]).with_reject(0.2)
    assert costs.actions.tolist() == [0, 1, "ask a human", "reject"]
    assert_allclose(costs.loss[2:], [[0.3, 0.1], [0.2, 0.2]])


def test_columns_are_reordered_by_label():
    moved = DOCTOR.aligned(["healthy", "sick"])
    assert_allclose(moved.conditional_risk([0.8, 0.2]), [0.8, 2.0, 1.5])
    assert moved.actions.tolist() == DOCTOR.actions.tolist()


def test_a_table_goes_out_and_comes_back():
    back = LossMatrix.from_frame(DOCTOR.to_frame())
    assert back.actions.tolist() == DOCTOR.actions.tolist()
    assert back.labels.tolist() == DOCTOR.labels.tolist()
    assert_allclose(back.loss, DOCTOR.loss)


def test_names_of_a_file_stand_for_the_classes_that_they_spell():
    frame = pd.DataFrame({"1": [5.0, 0.0], "0": [0.0, 1.0]}, index=["0", "call"])
    costs = LossMatrix.from_frame(frame, labels=np.array([0, 1]))
    assert costs.labels.tolist() == [1, 0]
    assert costs.actions.tolist() == [0, "call"]
    from_floats = LossMatrix.from_frame(frame, labels=[0.0, 1.0])
    assert from_floats.labels.tolist() == [1.0, 0.0]


def test_text_in_the_table_of_losses_is_refused():
    frame = pd.DataFrame({"action": ["a", "b"], "x": [0, 1], "y": [1, 0]})
    with pytest.raises(ValueError, match=r"must hold numbers only; found .* index_col=0"):
        LossMatrix.from_frame(frame)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 1]], ["a", "b"]), r"one row for each of 2 actions .* found shape \(1, 2\)"),
        (([[0, 1, 2], [1, 0, 2]], ["a", "b"]), r"of 2 classes; found shape \(2, 3\)"),
        (([[0, 1], [1, 0]], ["a", "b"], ["x", "y", "z"]), r"each of 3 actions"),
        (([[0, np.nan], [1, 0]], ["a", "b"]), r"loss must be finite; found nan at index"),
        (([[0, np.inf], [1, 0]], ["a", "b"]), r"loss must be finite; found inf"),
        (([[0, 1], [1, 0]], ["a", "a"]), r"labels must be distinct .* found \['a'\] twice"),
        (([[0, 1], [1, 0]], ["a", "b"], ["x", "x"]), r"actions must be distinct .* \['x'\]"),
        (([[0, 1]], ["a", "b"], ["x"]), r"at least 2 actions and 2 classes; found 1 and 2"),
    ],
)
def test_a_matrix_that_is_no_loss_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        LossMatrix(*arguments)


def test_labels_that_do_not_match_are_listed():
    with pytest.raises(ValueError, match=r"no loss for \['well'\] .* unknown \['healthy'\]"):
        DOCTOR.aligned(["well", "sick"])


@pytest.mark.parametrize(
    ("probability", "message"),
    [
        ([0.5, 0.4], "sum of the probabilities of a row must be 1; found 0.9"),
        ([[0.5, 0.5], [0.9, 0.3]], "must be 1; found 1.2 at index 1"),
        ([1.2, -0.2], r"probability must be in \[0, 1\]; found -0.2"),
        ([np.nan, 1.0], r"probability must be in \[0, 1\]; found nan"),
        ([0.2, 0.3, 0.5], r"one column for each of 2 classes, .*; found shape \(3,\)"),
        (0.3, r"found shape \(\)"),
    ],
)
def test_what_are_no_probabilities_is_refused(probability, message):
    with pytest.raises(ValueError, match=message):
        DOCTOR.conditional_risk(probability)


def test_probabilities_in_single_precision_are_accepted():
    p = np.random.default_rng(2).dirichlet(np.ones(2), size=100).astype(np.float32)
    assert len(decide(p, DOCTOR)) == 100


def test_an_action_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match=r"one for each of 2 classes; found shape \(3,\)"):
        DOCTOR.with_action("pray", [1, 2, 3])

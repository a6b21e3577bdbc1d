import pickle

import pytest

from credo.inference.engine.error import ImpossibleFindings, InferenceTooLarge


def test_states_that_contradict_each_other_have_probability_zero():
    error = ImpossibleFindings({"rain": "no", "wet": True})
    assert "rain='no', wet=True has probability zero. Correct" in str(error)
    assert "far out" not in str(error)


def test_a_value_that_is_only_far_out_is_not_called_impossible_outright():
    # Under a normal no finite value is; but the log density of 1e155 is below every number.
    error = ImpossibleFindings({"size": 1e155})
    assert "has probability zero, or lies so far out that its density has no log" in str(error)


@pytest.mark.parametrize("conflict", [{"a": 1}, {"x": 2.5}, {}])
def test_the_error_survives_pickling(conflict):
    again = pickle.loads(pickle.dumps(ImpossibleFindings(conflict)))
    assert again.conflict == conflict
    assert str(again) == str(ImpossibleFindings(conflict))


def test_what_a_plan_needs_and_may_take_is_told_in_units_that_fit():
    text = str(InferenceTooLarge(3, 900, 15_800, 2_000))
    assert "must fit 2 kB; found" in text
    assert "needs 15.8 kB" in text
    assert InferenceTooLarge(3, 900, 15_800, 2_000).excess == (
        "a plan of width 3 with 900 cells that needs 15.8 kB where 2 kB may be taken"
    )

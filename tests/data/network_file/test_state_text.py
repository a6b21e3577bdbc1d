import pytest

from credo.data.network_file.state_text import state_of
from credo.graphs.variable import UnknownState, Variable


@pytest.mark.parametrize(
    ("states", "text", "state"),
    [
        (("1", "2"), "1", "1"),
        ((1, 2), "1", 1),
        ((1, 2), " 2 ", 2),
        ((0.5, 1.5), "0.50", 0.5),
        ((False, True), "true", True),
        ((False, True), "FALSE", False),
        (("true", "false"), "true", "true"),
        ((None, "some"), "None", None),
        ((0, 1), "1.0", 1),
    ],
)
def test_text_stands_for_the_state_that_is_written_so(states, text, state):
    found = state_of(Variable("v", states), text)
    assert found == state
    assert type(found) is type(state)


def test_small_letters_stand_for_truth_values_only():
    with pytest.raises(UnknownState, match="Did you mean 'Yes'"):
        state_of(Variable("v", ("Yes", "No")), "yes")


def test_a_truth_value_is_not_a_number():
    with pytest.raises(UnknownState):
        state_of(Variable("v", (False, "x")), "zero")


def test_a_real_variable_takes_a_number():
    assert state_of(Variable("height"), "-1e3") == -1000.0
    for text in ("tall", "nan", "inf"):
        with pytest.raises(ValueError, match="height must be given a finite number"):
            state_of(Variable("height"), text)

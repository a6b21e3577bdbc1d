import pytest

from credo.graphs import UnknownState, UnknownVariable, Variable


def test_integer_states_are_labels_not_positions():
    level = Variable("level", (2, 0, 1))
    assert [level.index(state) for state in (0, 1, 2)] == [1, 2, 0]


def test_labels_keep_their_type():
    mixed = Variable("mixed", (1, "1", 2.5, None))
    assert mixed.labels == (1, "1", 2.5, None)
    assert mixed.index("1") == 1
    assert mixed.index(None) == 3


def test_a_misspelled_state_meets_the_nearest_one():
    with pytest.raises(UnknownState, match=r"one of \['low', 'high'\]; found 'hihg'.*'high'"):
        Variable("grade", ("low", "high")).index("hihg")


def test_long_lists_of_states_are_cut():
    with pytest.raises(UnknownState, match="and 92 more"):
        Variable("day", tuple(range(100))).index(200)


@pytest.mark.parametrize("states", [(), ("a", "a")])
def test_states_must_be_distinct_and_some(states):
    with pytest.raises(ValueError, match="distinct and at least one"):
        Variable("x", states)


def test_real_variables_have_no_states():
    height = Variable("height")
    assert not height.is_discrete
    with pytest.raises(TypeError, match="height must be discrete"):
        _ = height.n_states


def test_the_message_of_an_unknown_variable_has_no_quotes_around_it():
    assert str(UnknownVariable("variable must be known.")) == "variable must be known."

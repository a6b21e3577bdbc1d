import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from credo.distributions import Gamma, Normal
from credo.graphs import (
    ConditionalTable,
    Deterministic,
    LinearGaussian,
    NoisyMax,
    NoisyOr,
    Probit,
    Variable,
    bind,
    states_of,
)

A = Variable("a", (False, True))
B = Variable("b", ("low", "high"))


@pytest.mark.parametrize(
    ("spec", "states"),
    [
        ([0.3, 0.7], (False, True)),
        (np.full((2, 2, 3), 1 / 3), (0, 1, 2)),
        ({"sun": 0.5, "fog": 0.2, "rain": 0.3}, ("sun", "fog", "rain")),
        ({True: 0.2, False: 0.8}, (False, True)),
        ({"x": {"b": 1.0}, "y": {"b": 0.5, "a": 0.5}}, ("b", "a")),
        ({"x": [0.1, 0.2, 0.7]}, (0, 1, 2)),
        (pd.Series([0.4, 0.6], index=["u", "v"]), ("u", "v")),
        (pd.DataFrame({"a": [False, True], "u": [0.5, 0.1], "v": [0.5, 0.9]}), ("u", "v")),
        (NoisyOr({"a": 0.5}), (False, True)),
        (NoisyMax({"a": {False: {"none": 1.0, "some": 0.0}}}), ("none", "some")),
        (Deterministic("or"), (False, True)),
        (LinearGaussian(), None),
        (Normal(0.0, 1.0), None),
        (ConditionalTable(B, [], [0.5, 0.5]), ("low", "high")),
        ({"dry": Probit(1.0, below=True), "wet": Probit(2.0, below=True)}, (False, True)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_states_are_those_the_spec_speaks_of(spec, states):
    assert states_of(spec) == states


def test_states_of_frames_are_the_columns_of_no_parent():
    frame = pd.DataFrame({"a": [0, 1], "u": [1, 0], "v": [0, 1]})
    assert states_of(frame, [Variable("a", (0, 1))]) == ("u", "v")
    long = pd.DataFrame({"a": [0, 0, 1], "b": ["x", "y", "x"], "p": [0.5, 0.5, 1.0]})
    assert states_of(long, [Variable("a", (0, 1))], "b") == ("x", "y")


def test_states_of_a_function_are_its_values_in_order():
    die = Variable("die", (6, 2, 4))
    assert states_of(Deterministic("sum"), [die, A]) == (2, 3, 4, 5, 6, 7)
    assert states_of(Deterministic(lambda n: "big" if n > 3 else "small"), [die]) == (
        "big",
        "small",
    )


def test_arrays_and_dictionaries_bind_to_the_same_table():
    rows = {False: {"high": 0.9, "low": 0.1}, True: {"low": 0.6, "high": 0.4}}
    array = bind([[0.1, 0.9], [0.6, 0.4]], B, [A])
    assert_allclose(bind(rows, B, [A]).probability, array.probability)


def test_specs_bind_themselves():
    table = bind(NoisyOr({"a": 0.25}, leak=0.5), Variable("c", (False, True)), [A]).table()
    assert_allclose(table.table(), [[0.5, 0.5], [0.375, 0.625]])


def test_dictionary_of_linear_gaussians_goes_by_setting():
    x = Variable("x")
    node = bind({"high": LinearGaussian(5.0), "low": LinearGaussian(1.0)}, x, [B])
    assert_allclose(node.mean({"b": np.array([0, 1])}), [1.0, 5.0])


def test_a_normal_distribution_is_a_root_that_exact_inference_can_use():
    node = bind(Normal(2.0, 3.0), Variable("x"), [])
    assert_allclose(node.log_prob({"x": [1.0]}), Normal(2.0, 3.0).log_prob(1.0))
    assert (node.intercept, node.scale) == (2.0, 3.0)


def test_other_distributions_are_roots_too():
    node = bind(Gamma(2.0, 1.0), Variable("x"), [])
    assert_allclose(node.log_prob({"x": np.array([1.5])}), Gamma(2.0, 1.0).log_prob(1.5))


def test_a_conditional_of_other_variables_is_refused():
    table = ConditionalTable(B, [A], [[0.5, 0.5], [0.1, 0.9]])
    assert bind(table, B, [A]) is table
    with pytest.raises(
        ValueError, match=r"must be about \['b'\].*found one about \['b', 'a'\]"
    ):
        bind(table, B, [])


def test_what_is_no_table_is_told_what_is():
    with pytest.raises(ValueError, match="table of b must be an array, a dictionary"):
        bind("certain", B, [])
    with pytest.raises(ValueError, match="Give every setting of the parents one row"):
        bind([[0.5, 0.5], [1.0]], B, [A])


def test_a_single_number_is_shown_how_to_write_both():
    with pytest.raises(ValueError, match=r"found the number 0.2. Write \[0.8, 0.2\]"):
        bind(0.2, A, [])


@pytest.mark.parametrize(
    "spec", [[[0.5, 0.5]], {1.0: [0.5, 0.5]}, NoisyOr({"x": 0.5}), Deterministic("or")], ids=str
)
def test_real_parents_are_sent_to_probit_or_bins(spec):
    with pytest.raises(ValueError, match=r"real-valued \['x'\]. Use Probit or Logit, or cut"):
        bind(spec, A, [Variable("x")])


def test_a_table_of_a_real_variable_is_refused():
    with pytest.raises(ValueError, match="x must have states to have a table"):
        bind([0.5, 0.5], Variable("x"), [])


def test_a_root_may_be_a_series_or_a_frame_of_cells():
    series = pd.Series({"lo": 0.4, "hi": 0.6})
    frame = pd.DataFrame({"q": ["hi", "lo"], "p": [0.6, 0.4]})
    q = Variable("q", ("lo", "hi"))
    assert states_of(series) == ("lo", "hi")
    for spec in (series, frame):
        assert bind(spec, q, []).probability.tolist() == [0.4, 0.6]

from dataclasses import dataclass
from types import MappingProxyType

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from mutants.change import negated, scaled
from numpy.testing import assert_allclose, assert_array_equal


@dataclass(frozen=True)
class Pair:
    name: str
    value: float

    def __post_init__(self):
        if self.value < 0:
            raise ValueError("value must not be negative")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (2.0, -2.0),
        (3, -3),
        (True, False),
        ([1.0, ("a", 2.0)], [-1.0, ("a", -2.0)]),
        ({"a": 1.5}, {"a": -1.5}),
        (MappingProxyType({"a": 1.5}), {"a": -1.5}),
        (Pair("x", 2.0), Pair.__new__(Pair)),
    ],
)
def test_numbers_are_negated_wherever_they_are(right, wrong):
    found = negated()(right)
    if isinstance(right, Pair):
        assert (found.name, found.value) == ("x", -2.0)
        assert right.value == 2.0
    else:
        assert found == wrong


def test_real_numbers_are_scaled_and_counts_and_truths_stay():
    change = scaled()
    assert_allclose(change(np.array([1.0, -2.0])), [1.001, -2.002])
    assert change.n_changed == 1
    assert change(3) == 3
    assert change(True) is True
    assert change.n_changed == 1


def test_arrays_of_truths_are_turned_and_texts_stay():
    assert_array_equal(negated()(np.array([True, False])), [False, True])
    change = negated()
    assert change("text") == "text"
    assert change.n_changed == 0


def test_tables_keep_their_labels():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}, index=["i", "j"])
    found = negated()(frame)
    pd.testing.assert_frame_equal(found, frame.assign(a=[-1.0, -2.0]))
    series = pd.Series([0.25, 0.75], ["u", "v"], name="p")
    pd.testing.assert_series_equal(scaled()(series), series * 1.001)


def test_dictionaries_with_attributes_stay_what_they_are():
    class Marginals(dict):
        log_prob = 0.0

    right = Marginals(a=0.25)
    right.log_prob = -2.0
    found = scaled()(right)
    assert isinstance(found, Marginals)
    assert_allclose([found["a"], found.log_prob], [0.25025, -2.002])
    assert (right["a"], right.log_prob) == (0.25, -2.0)


def test_functions_that_are_answers_answer_wrongly():
    def double(x):
        return 2.0 * x

    assert negated()(double)(3.0) == -6.0


def test_lines_of_figures_are_moved():
    figure, axes = plt.subplots()
    (line,) = axes.plot([0.0, 1.0], [2.0, 3.0])
    negated()(figure)
    assert_allclose(line.get_ydata(), [-2.0, -3.0])
    plt.close(figure)

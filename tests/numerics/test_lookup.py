import numpy as np
import pytest

from credo.numerics.lookup import ABSENT, places


@pytest.mark.parametrize(
    ("values", "names", "expected"),
    [
        (["b", "z", "a", "aa"], ["b", "a", "c"], [0, ABSENT, 1, ABSENT]),
        ([3, -7, 99, 0], [99, 3, -7], [1, 2, 0, ABSENT]),
        ([0.5, np.nan, 1.0], [1.0, 0.5], [1, ABSENT, 0]),
        ([True, False], [False, True], [1, 0]),
        ([2**53 + 1], [2**53, 2**53 + 2], [ABSENT]),
        ([], [1, 2], []),
    ],
)
def test_each_value_finds_its_own_place_or_none(values, names, expected):
    assert places(np.array(values), np.array(names)).tolist() == expected


def test_places_keep_the_shape_of_the_values():
    rng = np.random.default_rng(0)
    names, values = rng.permutation(30), rng.integers(40, size=(4, 5))
    found = places(values, names)
    assert found.shape == (4, 5)
    for value, place in zip(values.ravel(), found.ravel(), strict=True):
        assert (names[place] == value) if place != ABSENT else (value not in names)

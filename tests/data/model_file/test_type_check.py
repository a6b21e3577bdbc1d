from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from credo.data.model_file.type_check import declared_types, fits
from credo.distributions import Gamma, Normal
from resealing import storable_classes

Floats = NDArray[np.float64]


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (float, [1, 1.5, np.float64(2), np.array(3.0), np.int8(1)], [True, "1", None, [1.0]]),
        (int, [1, np.int64(2)], [1.0, True, "1"]),
        (bool, [True, np.False_], [1, None]),
        (str, ["", np.str_("a")], [1, None, b"a"]),
        (float | str | Gamma, [1.0, "a", Gamma(1.0, 1.0)], [{}, None, Normal(0.0, 1.0)]),
        (Floats, [np.zeros((2, 2)), np.arange(3), 1.5], [[1.0], np.array(["a"]), "a", None]),
        (Floats | None, [None, np.zeros(1)], ["a"]),
        (NDArray[Any], [np.array(["a"]), np.zeros(1)], ["a", None]),
        (tuple[str, ...], [(), ("a", "b")], [["a"], ("a", 1), "ab"]),
        (tuple[str, int], [("a", 1)], [("a",), ("a", 1, 2), (1, "a")]),
        (list[tuple[str, Any]], [[("a", object)]], [[("a",)], [(1, 2)], ()]),
        (dict[str, float], [{"a": 1.0}], [{"a": "b"}, {1: 1.0}, []]),
        (Literal["a", "b"], ["a"], ["c", 1, None, np.zeros(2)]),
        (Any, [1, None, object], []),
        (ArrayLike, [1.0, [1.0], np.zeros(2)], []),
    ],
    ids=str,
)
def test_values_fit_exactly_the_types_they_are_of(hint, good, bad):
    assert all(fits(value, hint) for value in good)
    assert not any(fits(value, hint) for value in bad)


@pytest.mark.parametrize("cls", storable_classes().values())
def test_the_types_of_every_registered_class_can_be_read(cls):
    if not hasattr(cls, "__members__"):
        assert set(getattr(cls, "__dataclass_fields__", ())) <= set(declared_types(cls))

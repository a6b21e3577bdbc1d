import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV

from credo.data import Column, ModelFileError, TablePreparation, TableSchema, load_set
from credo.data.model_file.codec import MAX_DEPTH, Decoder, Encoder
from credo.models import LinearRegression

NUMBER_TYPES = ["f2", "<f4", "f8", ">f8", "i1", "i2", "i4", "i8", "u1", "u8", "?"]


def through_json(value):
    encoder = Encoder()
    tree = json.loads(json.dumps(encoder.encode(value), allow_nan=False))
    return Decoder(encoder.arrays).decode(tree)


def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        is_equal = np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        return a.dtype == b.dtype and a.shape == b.shape and is_equal
    if isinstance(a, float | np.floating):
        return (math.isnan(a) and math.isnan(b)) or (a == b and np.signbit(a) == np.signbit(b))
    return bool(a == b)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -(2**70),
        1.0,
        -0.0,
        5e-324,
        math.pi,
        math.inf,
        -math.inf,
        math.nan,
        "",
        "ünï \ud800 \0",
        [],
        (),
        {},
        {"$": "tuple", "items": [1]},
        [1, (2.0, [None, ("x",)])],
        np.float64(math.nan),
        np.float32(0.1),
        np.float16(-math.inf),
        np.int64(-5),
        np.uint64(2**64 - 1),
        np.bool_(True),
        np.str_("text"),
        np.array(3.0),
        np.zeros((0, 3)),
        np.array(["a", "long text"]),
        np.array([["a", "b"], ["c", ""]], dtype=object),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        Column("x", "number"),
        TableSchema((Column("x", "id", "why"),)),
    ],
    ids=repr,
)
def test_each_type_comes_back_as_it_was(value):
    assert same(through_json(value), value)


@pytest.mark.parametrize("dtype", NUMBER_TYPES)
def test_arrays_keep_their_dtype(dtype):
    value = np.arange(4).astype(dtype).reshape(2, 2)
    assert same(through_json(value), value)


leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.floats()
    | st.text()
    | st.floats(width=32).map(np.float32)
    | st.integers(-128, 127).map(np.int8)
    | arrays(st.sampled_from(NUMBER_TYPES), array_shapes(min_dims=0, max_dims=4, max_side=3))
)
trees = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None)
@given(trees)
def test_nested_values_come_back_as_they_were(value):
    assert same(through_json(value), value)


def test_an_array_used_twice_is_stored_once_and_stays_shared():
    array = np.arange(3.0)
    encoder = Encoder()
    tree = encoder.encode([array, {"again": array}])
    assert len(encoder.arrays) == 1
    first, second = Decoder(encoder.arrays).decode(tree)
    assert first is second["again"]


def test_a_preparation_comes_back_and_prepares_alike():
    concrete = load_set("concrete")
    learned = TablePreparation.learn(concrete, "strength")
    again = through_json(learned)
    assert again == learned
    assert_array_equal(again.prepare(concrete).X, learned.prepare(concrete).X)


class Stranger:
    pass


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({"a": [1, Stranger()]}, "value.a[1] must be"),
        ({"a": {1: 2}}, "value.a must be .* the key 1"),
        (np.array([None, 1]), "dtype object"),
        (np.array(["2024"], dtype="M8[D]"), "dtype datetime64"),
        (np.zeros(2, dtype=complex), "dtype complex128"),
        (np.zeros(2, dtype="f8,i4"), "an array of dtype"),
        (np.zeros((1,) * 5), "5 dimensions"),
        (np.complex128(1j), "a scalar of dtype complex128"),
        (1j, "class complex"),
        ({1, 2}, "class set"),
        (2**2000, "class int"),
        (lambda: 0, "class function"),
        (np.ma.masked_array([1.0]), "class MaskedArray"),
    ],
)
def test_what_cannot_be_stored_is_refused_with_its_place(value, part):
    with pytest.raises(ModelFileError, match=part.replace("[", r"\[")):
        Encoder().encode(value)


def test_of_a_search_the_best_estimator_is_to_be_saved():
    search = GridSearchCV(LinearRegression(), {"weight_precision": [1.0, 2.0]}, cv=2)
    search.fit(np.arange(8.0)[:, None], np.sin(np.arange(8.0)))
    with pytest.raises(
        ModelFileError, match="GridSearchCV; save its `best_estimator_` instead"
    ):
        Encoder().encode(search)
    Encoder().encode(search.best_estimator_)


def test_a_value_that_holds_itself_is_refused():
    loop = []
    loop.append(loop)
    with pytest.raises(ModelFileError, match=f"deeper than {MAX_DEPTH}"):
        Encoder().encode(loop)


COLUMN = {"$": "value", "class": "Column", "fields": {"name": "x", "kind": "id", "note": ""}}


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"a": 1},
        {"$": "pickle", "value": ""},
        {"$": "__class__"},
        {"$": ["tuple"], "items": []},
        {"$": "tuple", "items": [], "more": 1},
        {"$": "tuple", "items": 3},
        {"$": "dict", "items": []},
        {"$": "array", "place": 7},
        {"$": "array", "place": -1},
        {"$": "array", "place": True},
        {"$": "text", "shape": [1], "items": [5]},
        {"$": "scalar", "dtype": "O", "value": 1},
        {"$": "scalar", "dtype": "f8,f8", "value": 1},
        {"$": "scalar", "dtype": "float64", "value": "x"},
        {**COLUMN, "class": "os.system"},
        {**COLUMN, "class": "credo.data.table.preparation.Column"},
        {**COLUMN, "class": ["Column"]},
        {**COLUMN, "fields": {"name": "x", "kind": "id"}},
        {**COLUMN, "fields": {**COLUMN["fields"], "extra": 1}},
        {"$": "estimator", "class": "Column", "settings": {}, "fitted": {}},
        {"$": "member", "class": "Column", "name": "x"},
    ],
    ids=repr,
)
def test_trees_that_save_would_not_write_are_refused(tree):
    with pytest.raises(ModelFileError):
        Decoder([np.zeros(2)]).decode(tree)


def test_deep_trees_are_refused():
    tree = []
    for _ in range(MAX_DEPTH + 1):
        tree = [tree]
    with pytest.raises(ModelFileError, match="nest deeper"):
        Decoder([]).decode(tree)

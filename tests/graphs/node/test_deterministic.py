from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.graphs import Deterministic, UnknownState, Variable
from naive import summed_product

BINARY = (False, True)


TRUTH = {"or": any, "and": all, "xor": lambda s: sum(s) % 2 == 1, "count": sum}


@pytest.mark.parametrize("name", TRUTH)
def test_functions_of_truth_values_are_what_they_say(name):
    parents = [Variable(f"p{i}", BINARY) for i in range(5)]
    spec = Deterministic(name)
    child = Variable("child", spec.child_states(parents))
    table = spec.bind(child, parents).table().table()
    for setting in product(BINARY, repeat=5):
        row = table[tuple(map(int, setting))]
        assert row.sum() == 1.0
        assert row[child.index(TRUTH[name](setting))] == 1.0


@pytest.mark.parametrize(("name", "function"), [("max", max), ("min", min), ("sum", sum)])
def test_functions_of_numbers_are_what_they_say(name, function):
    parents = [Variable("a", (3, 1)), Variable("b", (0, 2, 5)), Variable("c", (1, 4))]
    spec = Deterministic(name)
    child = Variable("child", spec.child_states(parents))
    table = spec.bind(child, parents).table()
    for setting in product(*(p.labels for p in parents)):
        row = table.restrict(dict(zip("abc", setting, strict=True))).table()
        assert_array_equal(row, np.eye(child.n_states)[child.index(function(setting))])


@pytest.mark.parametrize("name", ["or", "and", "xor", "count", "max", "min", "sum"])
@pytest.mark.parametrize("n", [1, 2, 6])
def test_chain_is_the_whole_table(name, n):
    parents = [Variable(f"p{i}", BINARY) for i in range(n)]
    spec = Deterministic(name)
    node = spec.bind(Variable("child", spec.child_states(parents)), parents)
    keep = [*(p.name for p in parents), "child"]
    assert_array_equal(summed_product(node.factors(), keep), node.table().table())


def test_forty_parents_stay_small():
    parents = [Variable(f"p{i}", BINARY) for i in range(40)]
    node = Deterministic("or").bind(Variable("any", BINARY), parents)
    assert sum(f.values.size for f in node.factors()) == 4 + 39 * 8
    spec = Deterministic("count")
    counted = spec.bind(Variable("n", spec.child_states(parents)), parents)
    assert max(f.values.size for f in counted.factors()) == 40 * 2 * 41
    with pytest.raises(MemoryError, match="Use factors"):
        node.table()


def test_a_function_of_labels_is_a_node():
    height, width = Variable("height", ("low", "high")), Variable("width", (1, 2, 3))
    shape = Variable("shape", ("flat", "square", "tall"))

    def name(h, w):
        return "flat" if h == "low" else ("tall" if w == 1 else "square")

    table = Deterministic(name).bind(shape, [height, width]).table().table()
    wanted = [[[1, 0, 0]] * 3, [[0, 0, 1], [0, 1, 0], [0, 1, 0]]]
    assert_array_equal(table, wanted)


def test_rows_are_certain():
    parents = [Variable("a", ("yes", "no")), Variable("b", ("yes", "no"))]
    node = Deterministic("and").bind(Variable("both", ("no", "yes")), parents)
    rows = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 1, 0, 1])}
    assert_array_equal(node.sample(rows, 4, np.random.default_rng(0)), [1, 0, 0, 0])
    found = node.log_prob({**rows, "both": np.array([1, 1, 0, 0])})
    assert_array_equal(found, [0.0, -np.inf, 0.0, 0.0])
    assert node.n_parameters == 0


def test_drawing_a_constant_fills_the_column():
    node = Deterministic(lambda: "always").bind(Variable("c", ("never", "always")), [])
    assert_array_equal(node.sample({}, 3, np.random.default_rng(0)), [1, 1, 1])
    assert_allclose(node.table().table(), [0.0, 1.0])


def test_values_that_are_no_state_of_the_child_are_named():
    parents = [Variable("a", (1, 2)), Variable("b", (1, 2))]
    with pytest.raises(UnknownState, match=r"state of total must be one of .* found 4"):
        Deterministic("sum").bind(Variable("total", (2, 3)), parents)


def test_unknown_functions_meet_the_nearest_one():
    with pytest.raises(ValueError, match="Did you mean 'count'"):
        Deterministic("counts")


def test_named_functions_need_a_parent():
    with pytest.raises(ValueError, match="the 'or' of its parents must have one; found none"):
        Deterministic("or").bind(Variable("c", BINARY), [])


@pytest.mark.parametrize("function", [lambda a: a, lambda a, b, c: a])
def test_a_function_of_another_number_of_parents_is_refused(function):
    parents = [Variable("a", BINARY), Variable("b", BINARY)]
    with pytest.raises(ValueError, match=r"take the states of its parents \['a', 'b'\].*Give"):
        Deterministic(function).child_states(parents)


def test_functions_that_do_not_tell_their_arguments_are_called():
    parents = [Variable("a", (1, 2)), Variable("b", (1, 3))]
    assert Deterministic(max).child_states(parents) == (1, 2, 3)

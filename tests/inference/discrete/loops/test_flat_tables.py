import numpy as np
import pytest
from numpy.testing import assert_array_equal

from credo.inference.discrete.loops.flat_tables import flat_tables, log_densities, walk


def test_a_cell_is_found_from_states_and_strides():
    rng = np.random.default_rng(0)
    values = [rng.random((2, 3, 4)), rng.random((4, 1, 2))]
    net = flat_tables([2, 3, 4, 1], [(0, 1, 2), (2, 3, 0)], values)
    states = np.array([[i, j, k, 0] for i in range(2) for j in range(3) for k in range(4)])
    expected = [np.log(values[0][i, j, k] * values[1][k, 0, i]) for i, j, k, _ in states]
    np.testing.assert_allclose(log_densities(net, states), expected)


def test_a_variable_of_one_state_has_no_edges():
    net = flat_tables([1, 2], [(0, 1), (0,)], [np.ones((1, 2)), np.ones(1)])
    assert net.edge_variable.tolist() == [1]
    assert net.edge_start.tolist() == [0, 1, 1]
    assert walk(net).tables.tolist() == [0]


def test_slots_list_the_edges_of_each_variable():
    net = flat_tables([2, 2, 2], [(2, 0), (1, 2), (2,)], [np.ones((2, 2))] * 2 + [np.ones(2)])
    of_two = net.slot_edge[net.slot_start[2] : net.slot_start[3]]
    assert_array_equal(net.edge_table[of_two], [0, 1, 2])
    assert_array_equal(net.edge_variable[of_two], 2)


@pytest.mark.parametrize(
    ("scopes", "is_forest"),
    [
        ([(0, 1), (1, 2), (0,), (3,)], True),
        ([(0, 1), (1, 2), (2, 0)], False),
        ([(0, 1), (1, 0)], False),
        ([(0, 1, 2), (2, 3)], True),
        ([], True),
    ],
)
def test_a_walk_knows_a_forest(scopes, is_forest):
    net = flat_tables([2] * 4, scopes, [np.ones([2] * len(s)) for s in scopes])
    order = walk(net)
    assert order.is_forest is is_forest
    assert sorted(order.variables.tolist()) == [0, 1, 2, 3]
    assert sorted(order.tables.tolist()) == list(range(len(scopes)))


def test_in_a_walk_each_table_touches_an_earlier_variable():
    rng = np.random.default_rng(1)
    scopes = [(i, int(rng.integers(i))) for i in range(1, 30)]
    rng.shuffle(scopes)
    scopes = [tuple(s) for s in scopes]
    order = walk(flat_tables([2] * 30, scopes, [np.ones((2, 2))] * 29))
    known = {0}
    for t in order.tables:
        assert known & set(scopes[t])
        known |= set(scopes[t])


def test_zeros_are_known():
    assert flat_tables([2], [(0,)], [np.array([0.0, 1.0])]).has_zeros
    assert not flat_tables([2], [(0,)], [np.array([1e-300, 1.0])]).has_zeros

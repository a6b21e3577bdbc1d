import numpy as np
import pytest

from credo.inference.discrete.approximate.flat_problem import is_connected
from credo.inference.discrete.loops.flat_tables import flat_tables


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (np.ones((2, 2)), True),
        (np.array([[0.0, 1.0], [1.0, 1.0]]), True),
        (np.eye(2), False),
        (np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), True),
        (np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), False),
    ],
)
def test_joint_states_are_connected_if_single_changes_lead_everywhere(table, expected):
    assert is_connected(flat_tables(table.shape, [(0, 1)], [table])) is expected


def test_an_exclusive_or_parts_its_states():
    parity = np.indices((2, 2, 2)).sum(axis=0) % 2 == 0
    net = flat_tables([2, 2, 2], [(0, 1, 2)], [parity.astype(float)])
    assert is_connected(net) is False
    softened = np.where(parity, 1.0, 1e-9)
    assert is_connected(flat_tables([2, 2, 2], [(0, 1, 2)], [softened])) is True


def test_too_many_joint_states_are_left_open():
    net = flat_tables([2] * 40, [(0, 1)], [np.eye(2)])
    assert is_connected(net) is None

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.plots.layout.layer_squeeze import needed_width, squeezed_positions
from credo.plots.layout.layered import untangled
from credo.plots.layout.layers import proper_layers


def fan(n):
    """A root with children in two layers, the lower ones past the upper ones."""
    parents = {"root": [], **{f"v{i}": ["root"] for i in range(n)}}
    layer = {"root": 0, **{f"v{i}": 1 + i % 2 for i in range(n)}}
    return untangled(proper_layers(parents, layer))


@pytest.mark.parametrize("spare", [0.0, 3.0])
def test_nodes_keep_their_order_their_room_and_the_width(spare):
    layers = fan(12)
    room = np.where(np.arange(len(layers.above)) < layers.n_boxes, 1.0, 0.2)
    most = needed_width(layers, room) + spare
    x = squeezed_positions(layers, room, most)
    assert (x - room / 2).min() > -1e-9
    assert (x + room / 2).max() < most + 1e-9
    for row in layers.rows:
        nodes = list(row)
        apart = np.diff(x[nodes]) - (room[nodes][1:] + room[nodes][:-1]) / 2
        assert (apart > -1e-9).all()


def test_a_chain_with_place_enough_is_straight():
    parents = {"a": [], "b": ["a"], "c": ["b"]}
    layers = proper_layers(parents, {"a": 0, "b": 1, "c": 2})
    x = squeezed_positions(layers, np.ones(3), 5.0)
    assert_allclose(x, x[0])


def test_the_needed_width_is_that_of_the_widest_layer():
    layers = proper_layers({"a": [], "b": ["a"], "c": ["a"]}, {"a": 0, "b": 1, "c": 1})
    assert needed_width(layers, np.array([1.5, 1.0, 1.0])) == 2.0

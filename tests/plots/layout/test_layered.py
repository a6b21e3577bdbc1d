""""""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from credo.plots.layout.layered import (
    layered_layout,
    needed_width,
    proper_layers,
    squeezed_positions,
    untangled,
)


@st.composite
def acyclic(draw):
    """Parents of a random acyclic graph, and a size for each box."""
    n = draw(st.integers(1, 14))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    share = draw(st.sampled_from([0.05, 0.2, 0.5]))
    parents = {f"v{j}": [f"v{i}" for i in range(j) if rng.random() < share] for j in range(n)}
    size = {name: (rng.uniform(0.4, 2.0), rng.uniform(0.3, 1.5)) for name in parents}
    return parents, size


def overlaps(layout, a, b):
    (ax, ay), (bx, by) = layout.center[a], layout.center[b]
    (aw, ah), (bw, bh) = layout.size[a], layout.size[b]
    return abs(ax - bx) < (aw + bw) / 2 - 1e-9 and abs(ay - by) < (ah + bh) / 2 - 1e-9


def inside(layout, name, points, margin=1e-6):
    left, top, width, height = layout.box(name)
    x, y = points.T
    across = (x > left + margin) & (x < left + width - margin)
    return across & (y > top + margin) & (y < top + height - margin)


@settings(max_examples=80, deadline=None)
@given(acyclic())
def test_no_two_boxes_overlap(drawn):
    parents, size = drawn
    layout = layered_layout(parents, size)
    names = list(parents)
    assert set(layout.center) == set(names)
    for i, a in enumerate(names):
        assert not any(overlaps(layout, a, b) for b in names[:i])


@settings(max_examples=80, deadline=None)
@given(acyclic())
def test_no_edge_runs_through_a_box(drawn):
    layout = layered_layout(*drawn)
    for edge in layout.curves:
        points = layout.points(edge, 40)
        for name in layout.center:
            assert not inside(layout, name, points).any(), (edge, name)


@settings(max_examples=50, deadline=None)
@given(acyclic())
def test_edges_run_down_from_the_parent_s_lower_side_to_the_child_s_upper_side(drawn):
    parents, size = drawn
    layout = layered_layout(parents, size)
    assert set(layout.curves) == {(p, child) for child in parents for p in parents[child]}
    for (parent, child), control in layout.curves.items():
        left, top, width, height = layout.box(parent)
        assert control[0, 1] == pytest.approx(top + height)
        assert left < control[0, 0] < left + width
        left, top, width, _ = layout.box(child)
        assert control[-1, 1] == pytest.approx(top)
        assert left < control[-1, 0] < left + width
        assert (np.diff(layout.points((parent, child))[:, 1]) > -1e-9).all()


@settings(max_examples=50, deadline=None)
@given(acyclic())
def test_everything_is_inside_the_stated_width_and_height(drawn):
    layout = layered_layout(*drawn)
    for name in layout.center:
        left, top, width, height = layout.box(name)
        assert left >= -1e-9
        assert top >= -1e-9
        assert left + width <= layout.width + 1e-9
        assert top + height <= layout.height + 1e-9


def test_the_same_graph_gives_the_same_layout():
    parents = {f"v{j}": [f"v{i}" for i in range(j) if (i * j) % 3 == 1] for j in range(20)}
    size = dict.fromkeys(parents, (1.0, 0.5))
    one, two = layered_layout(parents, size), layered_layout(parents, size)
    assert one.center == two.center
    assert all((one.curves[edge] == two.curves[edge]).all() for edge in one.curves)


def test_a_chain_is_a_straight_line_down():
    parents = {"a": [], "b": ["a"], "c": ["b"], "d": ["c"]}
    layout = layered_layout(parents, dict.fromkeys(parents, (1.0, 0.5)), gap=(0.2, 0.4))
    assert {x for x, _ in layout.center.values()} == {0.5}
    heights = [y for _, y in layout.center.values()]
    assert [low - high for high, low in pairwise(heights)] == pytest.approx([0.9] * 3)


def test_a_long_edge_is_straight_beside_the_boxes_it_passes():
    parents = {"a": [], "b": ["a"], "c": ["b"], "d": ["c"], "e": ["d", "a"]}
    layout = layered_layout(parents, dict.fromkeys(parents, (1.0, 0.5)))
    points = layout.points(("a", "e"))
    left, top, width, height = layout.box("c")
    passing = points[(points[:, 1] > top) & (points[:, 1] < top + height)]
    assert len(passing) > 0
    assert np.ptp(passing[:, 0]) == pytest.approx(0.0, abs=1e-9)
    assert not left < passing[0, 0] < left + width


def test_parts_without_an_edge_between_them_stand_apart():
    parents = {"a": [], "b": ["a"], "c": [], "d": ["c"], "e": []}
    layout = layered_layout(parents, dict.fromkeys(parents, (1.0, 0.5)))
    assert layout.center["a"][0] == layout.center["b"][0]
    assert layout.center["c"][0] == layout.center["d"][0]
    assert abs(layout.center["a"][0] - layout.center["c"][0]) > 1.0


def test_a_hundred_children_do_not_stand_in_one_row():
    parents = {"root": [], **{f"leaf{i}": ["root"] for i in range(100)}}
    layout = layered_layout(parents, dict.fromkeys(parents, (1.5, 0.8)))
    assert len({y for _, y in layout.center.values()}) > 3
    assert layout.width < 60


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

from itertools import pairwise

import pytest

from credo.plots.layout.layered import APART, INSET, spread_ports


def test_a_single_edge_runs_straight_where_it_can():
    assert spread_ports({"e": 5.2}, center=5.0, width=2.0) == {"e": 5.2}


def test_an_edge_from_far_aside_stays_away_from_the_corner():
    (place,) = spread_ports({"e": 99.0}, center=0.0, width=2.0).values()
    assert 0.0 < place < 1.0 - INSET


def test_edges_keep_the_order_of_their_other_ends_and_a_distance():
    ports = spread_ports({"c": 3.0, "a": -1.0, "b": 0.0}, center=0.0, width=2.0)
    assert list(ports) == ["a", "b", "c"]
    assert [b - a for a, b in pairwise(ports.values())] == pytest.approx([APART] * 2)


def test_many_edges_share_the_width_of_the_box():
    ports = spread_ports({i: float(i) for i in range(40)}, center=0.0, width=1.0)
    assert min(ports.values()) == pytest.approx(-0.5 + INSET)
    assert max(ports.values()) == pytest.approx(0.5 - INSET)

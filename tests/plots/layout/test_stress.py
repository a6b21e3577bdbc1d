import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.plots.layout.stress import stress_layout


def grid(n_rows, n_columns):
    cells = [(i, j) for i in range(n_rows) for j in range(n_columns)]
    steps = ((0, 1), (1, 0), (0, -1), (-1, 0))
    return {
        f"{i}.{j}": [f"{i + a}.{j + b}" for a, b in steps if (i + a, j + b) in cells]
        for i, j in cells
    }


def random_neighbors(n, share, seed):
    rng = np.random.default_rng(seed)
    joined = np.triu(rng.random((n, n)) < share, 1)
    joined = joined | joined.T
    return {f"v{i}": [f"v{j}" for j in np.flatnonzero(joined[i])] for i in range(n)}


def gaps(layout):
    """Free space between every two boxes, along the axis where they are further apart."""
    centers = np.array(list(layout.center.values()))
    halves = np.array([layout.size[name] for name in layout.center]) / 2
    away = np.abs(centers[:, None] - centers) - halves[:, None] - halves
    return away.max(axis=2)[np.triu_indices(len(centers), 1)]


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 15), st.sampled_from([0.1, 0.3, 0.8]), st.integers(0, 1000))
def test_no_two_boxes_are_nearer_than_the_gap(n, share, seed):
    rng = np.random.default_rng(seed)
    neighbors = random_neighbors(n, share, seed)
    size = {name: (rng.uniform(0.5, 2.0), rng.uniform(0.3, 1.0)) for name in neighbors}
    assert gaps(stress_layout(neighbors, size, gap=0.35)).min() > 0.35 - 1e-6


def test_a_grid_is_drawn_as_a_grid():
    neighbors = grid(4, 6)
    layout = stress_layout(neighbors, dict.fromkeys(neighbors, (1.0, 1.0)))
    place = {name: np.array(center) for name, center in layout.center.items()}
    joined = [np.linalg.norm(place[a] - place[b]) for a in neighbors for b in neighbors[a]]
    across = [np.linalg.norm(place[f"{i}.0"] - place[f"{i}.5"]) for i in range(4)]
    assert max(joined) < 1.5 * min(joined)
    assert min(across) > 4.0 * np.mean(joined)


def test_a_chain_is_drawn_in_its_order():
    n = 8
    neighbors = {f"v{i}": [f"v{j}" for j in (i - 1, i + 1) if 0 <= j < n] for i in range(n)}
    layout = stress_layout(neighbors, dict.fromkeys(neighbors, (1.0, 0.5)))
    x = [layout.center[f"v{i}"][0] for i in range(n)]
    assert x == sorted(x)


def test_edges_end_at_the_borders_of_their_boxes():
    neighbors = grid(2, 3)
    layout = stress_layout(neighbors, dict.fromkeys(neighbors, (1.0, 0.6)))
    assert len(layout.curves) == 7
    for (a, b), control in layout.curves.items():
        for name, end in ((a, control[0]), (b, control[-1])):
            away = np.abs(end - layout.center[name]) - np.array(layout.size[name]) / 2
            assert away.max() == pytest.approx(0.0, abs=0.02)


def test_an_edge_bows_around_a_box_in_its_way():
    neighbors = {"a": ["b", "c"], "b": ["a", "c"], "c": ["a", "b"]}
    for name in "xyz":
        neighbors[name] = ["a"]
        neighbors["a"].append(name)
    layout = stress_layout(neighbors, dict.fromkeys(neighbors, (1.0, 0.6)))
    for edge in layout.curves:
        points = layout.points(edge, 100)
        for name in set(neighbors) - set(edge):
            away = np.abs(points - layout.center[name]) - np.array(layout.size[name]) / 2
            assert (away.max(axis=1) > 0).all()


def test_a_graph_without_edges_is_a_block_of_boxes():
    neighbors = {f"v{i}": [] for i in range(12)}
    layout = stress_layout(neighbors, dict.fromkeys(neighbors, (1.0, 1.0)))
    assert layout.width < 8
    assert gaps(layout).min() > 0


def test_rows_and_columns_of_a_grid_are_exactly_level_and_plumb():
    neighbors = grid(3, 4)
    layout = stress_layout(neighbors, dict.fromkeys(neighbors, (1.2, 0.6)))
    assert len({x for x, _ in layout.center.values()}) in (3, 4)
    assert len({y for _, y in layout.center.values()}) in (3, 4)

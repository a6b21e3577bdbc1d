from itertools import combinations

import numpy as np
import pytest

from credo.plots.layout.layered import n_crossings, proper_layers, untangled


def crossings_by_pairs(layers):
    """Count crossings by looking at every two edges of every two layers."""
    place = layers.places()
    total = 0
    for row in layers.rows:
        edges = [(place[up], place[low]) for up in row for low in layers.below[up]]
        total += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(edges, 2))
    return total


def two_rows(n, share, seed):
    rng = np.random.default_rng(seed)
    parents = {f"t{i}": [] for i in range(n)}
    parents |= {f"b{j}": [f"t{i}" for i in range(n) if rng.random() < share] for j in range(n)}
    return proper_layers(parents, {name: int(name[0] == "b") for name in parents})


@pytest.mark.parametrize("seed", range(5))
def test_crossings_are_those_counted_pair_by_pair(seed):
    layers = two_rows(12, 0.3, seed)
    assert n_crossings(layers) == crossings_by_pairs(layers) > 0


@pytest.mark.parametrize("seed", range(5))
def test_untangling_never_adds_crossings_and_keeps_the_layers(seed):
    layers = two_rows(12, 0.3, seed)
    better = untangled(layers)
    assert n_crossings(better) < n_crossings(layers)
    assert [sorted(row) for row in better.rows] == [sorted(row) for row in layers.rows]


def test_a_tree_in_any_order_is_drawn_without_a_crossing():
    rng = np.random.default_rng(3)
    names = [f"v{i}" for i in range(63)]
    parent = {names[i]: [names[(i - 1) // 2]] if i else [] for i in range(63)}
    layer = {names[i]: int(np.log2(i + 1)) for i in range(63)}
    mixed = [names[i] for i in rng.permutation(63)]
    layers = proper_layers({name: parent[name] for name in mixed}, layer)
    assert n_crossings(layers) > 0
    assert n_crossings(untangled(layers)) == 0


def test_a_ladder_whose_sides_were_mixed_up_is_untangled():
    parents = {"a0": [], "b0": []}
    for i in range(1, 10):
        both = [f"a{i}", f"b{i}"]
        for name in both if i % 3 else both[::-1]:
            parents[name] = [f"{name[0]}{i - 1}"]
    layers = proper_layers(parents, {name: int(name[1:]) for name in parents})
    assert n_crossings(layers) > 0
    assert n_crossings(untangled(layers)) == 0

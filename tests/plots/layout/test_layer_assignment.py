from itertools import product

import numpy as np
import pytest

from credo.plots.layout.layered import layers_of_least_length, narrowed_layers


def random_parents(n, seed):
    rng = np.random.default_rng(seed)
    return {f"v{j}": [f"v{i}" for i in range(j) if rng.random() < 0.4] for j in range(n)}


def length(parents, layer):
    return sum(layer[child] - layer[parent] for child in parents for parent in parents[child])


def is_downward(parents, layer):
    return all(layer[child] > layer[p] for child in parents for p in parents[child])


@pytest.mark.parametrize("seed", range(8))
def test_no_assignment_of_layers_is_shorter(seed):
    parents = random_parents(6, seed)
    found = layers_of_least_length(parents)
    assert is_downward(parents, found)
    every = (dict(zip(parents, rows, strict=True)) for rows in product(range(6), repeat=6))
    shortest = min(length(parents, layer) for layer in every if is_downward(parents, layer))
    assert length(parents, found) == shortest


def test_the_first_layer_is_zero():
    assert min(layers_of_least_length(random_parents(9, 1)).values()) == 0


@pytest.mark.parametrize("seed", range(4))
def test_narrowed_layers_hold_their_width_and_stay_downward(seed):
    parents = random_parents(12, seed)
    width = {name: 1.0 + (i % 3) for i, name in enumerate(parents)}
    narrow = narrowed_layers(parents, layers_of_least_length(parents), width, 4.0)
    assert is_downward(parents, narrow)
    for place in set(narrow.values()):
        assert sum(width[name] for name in parents if narrow[name] == place) <= 4.0


def test_layers_that_are_narrow_enough_are_left_alone():
    parents = random_parents(10, 2)
    layer = layers_of_least_length(parents)
    assert narrowed_layers(parents, layer, dict.fromkeys(parents, 1.0), 100.0) == layer

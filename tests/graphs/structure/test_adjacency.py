import networkx
import numpy as np
import pytest

from credo.graphs.structure.adjacency import connected_parts


@pytest.mark.parametrize("seed", range(5))
def test_parts_are_those_of_networkx_in_the_order_of_the_mapping(seed):
    rng = np.random.default_rng(seed)
    graph = networkx.gnp_random_graph(20, 0.06, seed=seed)
    names = [f"v{i}" for i in rng.permutation(20)]
    neighbors = {name: [f"v{j}" for j in graph[int(name[1:])]] for name in names}
    parts = connected_parts(neighbors)
    expected = {
        frozenset(f"v{i}" for i in part) for part in networkx.connected_components(graph)
    }
    assert {frozenset(part) for part in parts} == expected
    assert [part[0] for part in parts] == sorted((p[0] for p in parts), key=names.index)
    for part in parts:
        assert part == sorted(part, key=names.index)

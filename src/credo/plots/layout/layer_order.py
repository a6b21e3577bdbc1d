"""The order of the nodes in each layer, such that few edges cross.

Layers are sorted by the middle of each node's neighbors, downward and upward in turn, and
neighbors change places where that undoes crossings [gansner1993]_.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from credo.plots.layout.layers import Layers

__all__ = ["n_crossings", "untangled"]

SWEEPS = 24
# Large graphs get fewer sweeps: their pictures are read for their parts.
LARGE = 2000
LARGE_SWEEPS = 8
SWAP_ROUNDS = 4


def untangled(layers: Layers) -> Layers:
    """Return the layers in an order of few crossings; the same order for the same layers."""
    n_sweeps = SWEEPS if len(layers.above) < LARGE else LARGE_SWEEPS
    starts = [
        _walked(layers, layers.below, layers.rows),
        _walked(layers, layers.above, layers.rows[::-1]),
    ]
    found = [_swept(start, n_sweeps) for start in starts]
    return min(found, key=n_crossings)


def n_crossings(layers: Layers) -> int:
    """Return how many pairs of edges cross.

    Examples
    --------
    >>> from credo.plots.layout.layers import proper_layers
    >>> parents = {"a": [], "b": [], "c": ["b"], "d": ["a"]}
    >>> n_crossings(proper_layers(parents, {"a": 0, "b": 0, "c": 1, "d": 1}))
    1
    """
    place = layers.places()
    total = 0
    for row in layers.rows[:-1]:
        met: list[int] = []
        for node in row:
            ends = sorted(place[end] for end in layers.below[node])
            total += sum(len(met) - bisect_left(met, end + 1) for end in ends)
            for end in ends:
                insort(met, end)
    return total


def _walked(
    layers: Layers, onward: Sequence[Sequence[int]], rows: Sequence[Sequence[int]]
) -> Layers:
    """Return the layers in the order in which a walk in depth meets their nodes."""
    met: dict[int, int] = {}
    for start in (node for row in rows for node in row):
        ahead = [start]
        while ahead:
            node = ahead.pop()
            if node not in met:
                met[node] = len(met)
                ahead.extend(reversed(onward[node]))
    return layers.ordered([sorted(row, key=met.__getitem__) for row in layers.rows])


def _swept(layers: Layers, n_sweeps: int) -> Layers:
    best, fewest = layers, n_crossings(layers)
    stale = 0
    for sweep in range(n_sweeps):
        layers = _exchanged(_sorted(layers, sweep))
        crossings = n_crossings(layers)
        stale += 1
        if crossings < fewest:
            best, fewest, stale = layers, crossings, 0
        if fewest == 0 or stale > 6:
            break
    return best


def _sorted(layers: Layers, sweep: int) -> Layers:
    """Return the layers sorted downward or upward by the middle of each node's neighbors."""
    is_down = sweep % 2 == 0
    neighbors = layers.above if is_down else layers.below
    rows = [list(row) for row in layers.rows]
    place = [float(i) for i in layers.places()]
    middle = _median if sweep % 4 < 2 else _mean
    for i in range(len(rows)) if is_down else reversed(range(len(rows))):
        key = {v: middle([place[w] for w in neighbors[v]], place[v]) for v in rows[i]}
        # Ties are left alone in half of the sweeps and reversed in the others.
        row = rows[i] if sweep % 8 < 4 else rows[i][::-1]
        rows[i] = sorted(row, key=key.__getitem__)
        for j, node in enumerate(rows[i]):
            place[node] = float(j)
    return layers.ordered(rows)


def _median(places: list[float], own: float) -> float:
    """Return the median of some places, weighted to the closer side if they are even."""
    places.sort()
    n = len(places)
    if n == 0:
        return own
    if n % 2 == 1:
        return places[n // 2]
    if n == 2:
        return 0.5 * (places[0] + places[1])
    left, right = places[n // 2 - 1] - places[0], places[-1] - places[n // 2]
    if left + right == 0:
        return 0.5 * (places[n // 2 - 1] + places[n // 2])
    return (places[n // 2 - 1] * right + places[n // 2] * left) / (left + right)


def _mean(places: list[float], own: float) -> float:
    return sum(places) / len(places) if places else own


def _exchanged(layers: Layers) -> Layers:
    """Return the layers after neighbors have changed places wherever fewer edges cross."""
    rows = [list(row) for row in layers.rows]
    place = layers.places()
    for _ in range(SWAP_ROUNDS):
        gains = [_exchange_row(layers, row, place) for row in rows]
        if not any(gains):
            break
    return layers.ordered(rows)


def _exchange_row(layers: Layers, row: list[int], place: list[int]) -> int:
    gain = 0
    for i in range(len(row) - 1):
        left, right = row[i], row[i + 1]
        undone = sum(
            _crossed(side[left], side[right], place) - _crossed(side[right], side[left], place)
            for side in (layers.above, layers.below)
        )
        if undone > 0:
            row[i], row[i + 1] = right, left
            place[left], place[right] = i + 1, i
            gain += undone
    return gain


def _crossed(left: Sequence[int], right: Sequence[int], place: list[int]) -> int:
    """Return the crossings between the edges of two nodes that stand side by side."""
    return sum(place[a] > place[b] for a in left for b in right)

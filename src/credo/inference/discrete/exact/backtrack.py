"""The walk back through a program: which states each sum or maximum came from, as integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from credo.inference.discrete.exact.buffers import Layout
from credo.inference.discrete.exact.contraction_tree import ContractionTree
from credo.inference.discrete.exact.operations import Schedule
from credo.inference.discrete.exact.program import cell_strides
from credo.inference.discrete.loops.contraction import IndexPool, StepColumn

__all__ = ["write_trace"]

Integers = NDArray[np.int64]


def write_trace(
    plan: Schedule, tree: ContractionTree, place: Layout, n_states: Sequence[int], one: int
) -> tuple[Integers, NDArray[np.int32]]:
    """Return the steps of a walk from the roots down, and their offsets.

    Each step knows the variables above it and finds those that were summed out at its node.

    Parameters
    ----------
    one
        Where in the fixed memory the one lies that stands for a missing table.
    """
    writer = _Writer(plan, place, n_states, one)
    read = {value.leaf: i for i, value in enumerate(plan.values) if value.leaf is not None}
    steps = []
    for node in reversed(tree.nodes):
        if node.gone:
            children = [i for i in (node.left, node.right) if i is not None]
            leaves = [tree.nodes[i].leaf for i in children]
            operands = [
                plan.node_value[i] if leaf is None else read[leaf]
                for i, leaf in zip(children, leaves, strict=True)
            ]
            steps.append(writer.step(operands, node.gone))
    rows = np.array(steps, dtype=np.int64).reshape(len(steps), len(StepColumn))
    return rows, writer.pool.array()


@dataclass
class _Writer:
    plan: Schedule
    place: Layout
    n_states: Sequence[int]
    one: int
    pool: IndexPool = field(default_factory=IndexPool)

    def step(self, operands: list[int | None], gone: frozenset[int]) -> Integers:
        values, step = self.plan.values, np.zeros(len(StepColumn), dtype=np.int64)
        strides: list[dict[int, int]] = [{}, {}]
        step[StepColumn.X] = step[StepColumn.Y] = self.one
        present = [i for i in operands if i is not None]
        for at, value in enumerate(present):
            strides[at] = cell_strides(values[value].scope, self.n_states)
            step[StepColumn.X + at] = self.place.offset[value]
            step[StepColumn.X_MOVES + at] = values[value].moves
        left, right = strides
        known = sorted((left.keys() | right.keys()) - gone)
        kept = np.array([(i, left.get(i, 0), right.get(i, 0)) for i in known], dtype=np.int32)
        step[StepColumn.N_KEPT] = len(known)
        step[StepColumn.KEPT] = self.pool.add(("kept", kept.tobytes()), kept.ravel())
        new = sorted(gone)
        axes = [(self.n_states[i], left.get(i, 0), right.get(i, 0)) for i in new]
        step[StepColumn.N_SUM] = prod(axis[0] for axis in axes)
        step[StepColumn.SUM] = self.pool.offsets(axes)
        place = cell_strides(new, self.n_states)
        found = np.array([(i, place[i], self.n_states[i]) for i in new], dtype=np.int32)
        step[StepColumn.N_GONE] = len(new)
        step[StepColumn.GONE] = self.pool.add(("gone", found.tobytes()), found.ravel())
        return step

"""Places in memory for the tables of a run, used again once a table has had its last use."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from credo.inference.discrete.exact.operations import Move, Output, Schedule

__all__ = ["Layout", "layout"]


@dataclass(frozen=True)
class Layout:
    """Where each value of a schedule lies.

    Attributes
    ----------
    offset
        First cell of each value, in the moving or in the fixed memory; -1 for what is never
        used.
    moving_cells, fixed_cells
        Sizes of the two memories.
    """

    offset: tuple[int, ...]
    moving_cells: int
    fixed_cells: int


@dataclass
class _Space:
    """Free intervals, sorted, in a memory that grows when none is large enough."""

    size: int = 0
    free: list[tuple[int, int]] = field(default_factory=list)

    def take(self, cells: int) -> int:
        fitting = [(length, start) for start, length in self.free if length >= cells]
        if not fitting:
            return self._grow(cells)
        length, start = min(fitting)
        self.free.remove((start, length))
        if length > cells:
            insort(self.free, (start + cells, length - cells))
        return start

    def _grow(self, cells: int) -> int:
        start = self.size
        if self.free and sum(self.free[-1]) == self.size:
            start = self.free.pop()[0]
        self.size = start + cells
        return start

    def give(self, start: int, cells: int) -> None:
        insort(self.free, (start, cells))
        at = self.free.index((start, cells))
        if at + 1 < len(self.free) and start + cells == self.free[at + 1][0]:
            cells += self.free.pop(at + 1)[1]
            self.free[at] = (start, cells)
        if at > 0 and sum(self.free[at - 1]) == start:
            before, length = self.free.pop(at - 1)
            self.free[at - 1] = (before, length + cells)


def layout(plan: Schedule, keeps_all: bool = False) -> Layout:
    """Return a place for every value.

    Parameters
    ----------
    keeps_all
        Whether computed values must survive the run, for a walk back through them.
    """
    last = _last_uses(plan)
    offset = [-1] * len(plan.values)
    fixed, moving = _Space(), _Space()
    for i, value in enumerate(plan.values):
        if value.leaf is not None and not value.moves:
            offset[i] = fixed.take(value.cells)
    for moves, space in ((False, fixed), (True, moving)):
        for time, step in enumerate(plan.steps):
            if isinstance(step, Move) and plan.values[step.z].moves == moves:
                offset[step.z] = space.take(plan.values[step.z].cells)
            if not keeps_all:
                _release(plan, step, time, last, moves, space, offset)
    return Layout(tuple(offset), moving.size, fixed.size)


def _last_uses(plan: Schedule) -> list[int]:
    """Return the step of each value's last use; a fixed value that a row needs has none."""
    last = [-1] * len(plan.values)
    forever = len(plan.steps)
    for time, step in enumerate(plan.steps):
        for i in _operands(step):
            stays = not plan.values[i].moves and _is_moving(plan, step)
            last[i] = forever if stays or last[i] == forever else time
    return last


def _is_moving(plan: Schedule, step: Move | Output) -> bool:
    return isinstance(step, Output) or plan.values[step.z].moves


def _operands(step: Move | Output) -> tuple[int, ...]:
    if isinstance(step, Output):
        return (step.value,)
    return tuple(i for i in (step.x, step.y) if i is not None)


def _release(
    plan: Schedule,
    step: Move | Output,
    time: int,
    last: Sequence[int],
    moves: bool,
    space: _Space,
    offset: Sequence[int],
) -> None:
    for i in set(_operands(step)):
        value = plan.values[i]
        if last[i] == time and value.moves == moves and (moves or value.leaf is None):
            space.give(offset[i], value.cells)

"""The program of an exact answer: table operations, their places in memory, and their integers.

Operations are written from a contraction tree by names only: which table is made from which
two, over which variables. Their cost is known from them, so that a plan that does not fit is
refused before an array is allocated. Buffers are used again once a table has had its last use.
The program that fused loops run is all of this as integers.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.inference.discrete.exact.contraction_tree import ContractionTree, Leaf, Node
from credo.inference.discrete.factor_problem import Table
from credo.inference.discrete.loops.contraction import Column, IndexPool, Kind
from credo.numerics.array import Array

__all__ = [
    "BufferPlan",
    "Operand",
    "Operation",
    "OperationList",
    "Program",
    "Readout",
    "Source",
    "buffer_plan",
    "cell_strides",
    "n_offsets",
    "operation_list",
    "write_program",
]


Scope = tuple[int, ...]


class Operand(NamedTuple):
    """A table that exists during a run.

    Attributes
    ----------
    scope
        Variables in the order of the axes.
    cells
        Product of their numbers of states.
    moves
        Whether it depends on the row of findings.
    leaf
        Number of the leaf it is read from; None if it is computed.
    """

    scope: Scope
    cells: int
    moves: bool
    leaf: int | None = None


class Operation(NamedTuple):
    """One operation: ``z`` is the product of ``x`` and ``y``, summed over ``gone``.

    A leaf that depends on the row is read by an operation with neither ``x`` nor ``y``.
    ``counts`` says that the scale of the result is part of the partition function.
    """

    z: int
    x: int | None = None
    y: int | None = None
    gone: Scope = ()
    takes_max: bool = False
    counts: bool = False


class Readout(NamedTuple):
    """A value to be normalized into the answer, for some variables."""

    value: int
    variables: Scope
    counts: bool = False


@dataclass
class OperationList:
    """Values, operations on them in order, and which of them are answers.

    Attributes
    ----------
    steps
        Operations and answers, in the order of a run.
    free
        Variables that no table mentions: each multiplies the partition function by its number
        of states.
    counted
        Leaves whose scale is part of the partition function.
    product_cells, product_scopes
        Cells and variables of each product before its sum, for the cost.
    node_value
        Operand that stands for each node of the tree; None if it is one.
    """

    values: list[Operand] = field(default_factory=list)
    steps: list[Operation | Readout] = field(default_factory=list)
    free: list[int] = field(default_factory=list)
    counted: set[int] = field(default_factory=set)
    product_cells: list[int] = field(default_factory=list)
    product_scopes: list[frozenset[int]] = field(default_factory=list)
    node_value: list[int | None] = field(default_factory=list)

    @property
    def cells(self) -> int:
        """Cells of all products: the number of multiplications per row."""
        return sum(self.product_cells)

    @property
    def largest(self) -> int:
        """Cells of the largest product."""
        return max(self.product_cells, default=1)

    @property
    def width(self) -> int:
        """Variables of the largest product, less one."""
        return max((len(scope) for scope in self.product_scopes), default=1) - 1


@dataclass
class _OperationWriter:
    """Adds values and operations; axes follow the order in which variables disappear."""

    tree: ContractionTree
    leaves: Sequence[Leaf]
    n_states: Sequence[int]
    rank: Sequence[int]
    counts: Sequence[bool]
    plan: OperationList = field(default_factory=OperationList)
    reads: dict[int, int] = field(default_factory=dict)

    def value(self, scope: frozenset[int], moves: bool, leaf: int | None = None) -> int:
        ordered = tuple(sorted(scope, key=self.rank.__getitem__))
        self.plan.values.append(Operand(ordered, self.cells(scope), moves, leaf))
        return len(self.plan.values) - 1

    def cells(self, scope: Iterable[int]) -> int:
        return prod([self.n_states[i] for i in scope])

    def node(self, number: int | None) -> int | None:
        """Return the value of a node, a leaf read when first asked for; None stands for one."""
        if number is None:
            return None
        leaf = self.tree.nodes[number].leaf
        if leaf is None:
            return self.plan.node_value[number]
        if leaf not in self.reads:
            known = self.leaves[leaf]
            self.reads[leaf] = self.value(known.scope, known.moves, leaf)
            if self.counts[number]:
                self.plan.counted.add(leaf)
            if known.moves:
                self.plan.steps.append(Operation(self.reads[leaf], counts=self.counts[number]))
        return self.reads[leaf]

    def product(
        self, x: int | None, y: int | None, wanted: frozenset[int], up: bool, best: bool = False
    ) -> int | None:
        """Return the value of the product summed down to ``wanted``; None stands for one."""
        if x is None:
            x, y = y, None
        if x is None:
            return None
        values = self.plan.values
        both = frozenset(values[x].scope).union(values[y].scope if y is not None else ())
        gone = both - wanted
        if y is None and not gone:
            return x
        moves = values[x].moves or (y is not None and values[y].moves)
        z = self.value(both & wanted, moves)
        ordered = tuple(sorted(gone, key=self.rank.__getitem__))
        self.plan.steps.append(Operation(z, x, y, ordered, best, counts=up))
        self.plan.product_scopes.append(both)
        self.plan.product_cells.append(self.cells(both))
        return z


def operation_list(
    tree: ContractionTree,
    leaves: Sequence[Leaf],
    n_states: Sequence[int],
    marginals_of: frozenset[int] = frozenset(),
    takes_max: frozenset[int] = frozenset(),
) -> OperationList:
    """Return the operations for the partition function and the marginals of some variables.

    Variables that the tree keeps are answered jointly.

    Parameters
    ----------
    takes_max
        Variables that are maximized rather than summed out.
    """
    writer = _OperationWriter(
        tree, leaves, n_states, _ranks(tree, len(n_states)), _counted(tree)
    )
    plan = writer.plan
    for n in range(len(tree.nodes)):
        plan.node_value.append(_upward(n, writer, takes_max))
    for root in tree.roots:
        value = writer.node(root)
        if value is not None and plan.values[value].scope:
            plan.steps.append(Readout(value, plan.values[value].scope, counts=True))
    _downward(writer, marginals_of)
    return plan


def _ranks(tree: ContractionTree, n_variables: int) -> list[int]:
    """Return numbers that sort variables by when they disappear, the last ones first.

    Those that stay come before all others; of two that go together the lower number does.
    """
    latest = n_variables * len(tree.nodes)
    rank = list(range(-latest, n_variables - latest))
    for time, node in enumerate(tree.nodes):
        for variable in node.gone:
            rank[variable] = variable - n_variables * time
    return rank


def _counted(tree: ContractionTree) -> list[bool]:
    """Return which nodes are factors of the partition function, not parts of a sum to one."""
    counts = [False] * len(tree.nodes)
    for root in tree.roots:
        counts[root] = True
    for n in range(len(tree.nodes) - 1, -1, -1):
        node = tree.nodes[n]
        counts[n] = counts[n] and not node.is_one
        for child in (node.left, node.right):
            if child is not None:
                counts[child] = counts[n]
    return counts


def _upward(n: int, writer: _OperationWriter, takes_max: frozenset[int]) -> int | None:
    node, plan = writer.tree.nodes[n], writer.plan
    if node.leaf is not None or node.is_one:
        return None
    x, y = writer.node(node.left), writer.node(node.right)
    known = [plan.values[i].scope for i in (x, y) if i is not None]
    if writer.counts[n]:
        plan.free.extend(node.gone.difference(*known))
    best = not node.gone.isdisjoint(takes_max)
    return writer.product(x, y, node.scope, writer.counts[n], best)


def _downward(writer: _OperationWriter, wanted: frozenset[int]) -> None:
    """Append the adjoint of each node that a wanted variable is read below, and the readings.

    The adjoint of a child is the adjoint of its parent times its sibling, summed down to the
    child's scope; a marginal is the product of a value and its adjoint, summed down to one
    variable.
    """
    nodes = writer.tree.nodes
    readings = _readings(writer, wanted)
    asked = _needed_nodes(nodes, readings)
    adjoint: dict[int, int | None] = dict.fromkeys(writer.tree.roots)
    for n in sorted(asked, reverse=True):
        node = nodes[n]
        for child, other in ((node.left, node.right), (node.right, node.left)):
            if child is not None and (child in asked or child in readings):
                sibling = writer.node(other)
                adjoint[child] = writer.product(adjoint[n], sibling, nodes[child].scope, False)
        for child in (node.left, node.right):
            if child is not None:
                _append_readings(writer, child, readings.get(child, ()), adjoint)


def _readings(writer: _OperationWriter, wanted: frozenset[int]) -> dict[int, list[int]]:
    """Return the variables to read at each node: at the smaller child of where they go."""
    nodes = writer.tree.nodes
    places: dict[int, list[int]] = {}
    for node in nodes:
        for variable in sorted(node.gone & wanted):
            children = [i for i in (node.left, node.right) if i is not None]
            having = [i for i in children if variable in nodes[i].scope]
            place = min(having, key=lambda i: writer.cells(nodes[i].scope))
            places.setdefault(place, []).append(variable)
    return places


def _needed_nodes(nodes: Sequence[Node], readings: Mapping[int, Sequence[int]]) -> set[int]:
    """Return the nodes whose adjoint leads to a reading."""
    asked: set[int] = set()
    for n, node in enumerate(nodes):
        if any(i in asked or i in readings for i in (node.left, node.right)):
            asked.add(n)
    return asked


def _append_readings(
    writer: _OperationWriter,
    place: int,
    variables: Sequence[int],
    adjoint: Mapping[int, int | None],
) -> None:
    for variable in variables:
        only = frozenset((variable,))
        value = writer.product(writer.node(place), adjoint[place], only, False)
        if value is not None and writer.plan.values[value].scope:
            writer.plan.steps.append(Readout(value, (variable,)))


@dataclass(frozen=True)
class BufferPlan:
    """Where each value of a list of operations lies.

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


def buffer_plan(plan: OperationList, keeps_all: bool = False) -> BufferPlan:
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
            if isinstance(step, Operation) and plan.values[step.z].moves == moves:
                offset[step.z] = space.take(plan.values[step.z].cells)
            if not keeps_all:
                _release(plan, step, time, last, moves, space, offset)
    return BufferPlan(tuple(offset), moving.size, fixed.size)


def _last_uses(plan: OperationList) -> list[int]:
    """Return the step of each value's last use; a fixed value that a row needs has none."""
    last = [-1] * len(plan.values)
    forever = len(plan.steps)
    for time, step in enumerate(plan.steps):
        for i in _operands(step):
            stays = not plan.values[i].moves and _is_moving(plan, step)
            last[i] = forever if stays or last[i] == forever else time
    return last


def _is_moving(plan: OperationList, step: Operation | Readout) -> bool:
    return isinstance(step, Readout) or plan.values[step.z].moves


def _operands(step: Operation | Readout) -> tuple[int, ...]:
    if isinstance(step, Readout):
        return (step.value,)
    if step.x is None:
        return () if step.y is None else (step.y,)
    return (step.x,) if step.y is None else (step.x, step.y)


def _release(
    plan: OperationList,
    step: Operation | Readout,
    time: int,
    last: Sequence[int],
    moves: bool,
    space: _Space,
    offset: Sequence[int],
) -> None:
    operands = _operands(step)
    for i in operands if len(operands) < 2 else {*operands}:
        value = plan.values[i]
        if last[i] == time and value.moves == moves and (moves or value.leaf is None):
            space.give(offset[i], value.cells)


INNER_CELLS = 256

Integers = NDArray[np.int64]


class Source(NamedTuple):
    """What a leaf is read from: a table with some variables observed, or one given by row.

    Attributes
    ----------
    table
        The table, or None for one that is given with the rows.
    scope
        Variables of the table that are known; of one given with the rows, all its variables.
    row
        First row of a table given with the rows in the matrix of those.
    """

    table: Table | None
    scope: tuple[int, ...] = ()
    row: int = 0


@dataclass(frozen=True, eq=False)
class Program:
    """Operations as integers, the offsets they use, and the tables they start from.

    Attributes
    ----------
    fixed_steps, moving_steps
        Operations that are the same for all rows, and those that are not.
    index
        Offsets of cells.
    fixed
        Memory of tables that are the same for all rows; filled with the leaves.
    outputs
        For each answer its variables in order and its first column.
    n_outputs
        Number of columns of the answers.
    """

    fixed_steps: Integers
    moving_steps: Integers
    index: NDArray[np.int32]
    fixed: Array
    outputs: tuple[tuple[tuple[int, ...], int], ...]
    n_outputs: int

    @property
    def n_bytes(self) -> int:
        """Bytes of its arrays."""
        arrays = (self.fixed_steps, self.moving_steps, self.index, self.fixed)
        return sum(array.nbytes for array in arrays)


@dataclass
class _ProgramWriter:
    plan: OperationList
    place: BufferPlan
    n_states: Sequence[int]
    sources: Sequence[Source]
    code_row: Mapping[int, int]
    pool: IndexPool
    raw: dict[int, int]

    def strides(self, value: Operand) -> dict[int, int]:
        return cell_strides(value.scope, self.n_states)

    def contraction(self, step: Operation) -> list[int]:
        values, op = self.plan.values, [0] * len(Column)
        x, y = step.x, step.y
        if x is None or (y is not None and values[y].moves and not values[x].moves):
            x, y = y, x
        assert x is not None
        left = self.strides(values[x])
        right = self.strides(values[y]) if y is not None else {}
        kept = [
            (self.n_states[i], left.get(i, 0), right.get(i, 0)) for i in values[step.z].scope
        ]
        gone = [(self.n_states[i], left.get(i, 0), right.get(i, 0)) for i in step.gone]
        split = _split(kept)
        op[Column.KIND] = Kind.CONTRACT
        op[Column.X], op[Column.X_MOVES] = self.place.offset[x], values[x].moves
        op[Column.Y] = self.raw[-1]
        if y is not None:
            op[Column.Y], op[Column.Y_MOVES] = self.place.offset[y], values[y].moves
        for size, start, axes in (
            (Column.N_OUTER, Column.OUTER, kept[:split]),
            (Column.N_INNER, Column.INNER, kept[split:]),
            (Column.N_SUM, Column.SUM, gone),
        ):
            op[size] = prod(axis[0] for axis in axes)
            op[start] = self.pool.offsets(axes)
        op[Column.TAKES_MAX] = step.takes_max
        return op

    def reading(self, step: Operation) -> list[int]:
        value, op = self.plan.values[step.z], [0] * len(Column)
        assert value.leaf is not None
        source = self.sources[value.leaf]
        op[Column.N_OUTER], op[Column.N_INNER] = value.cells, 1
        scope = source.scope if source.table is None else source.table.scope
        by_variable = cell_strides(scope, self.n_states)
        op[Column.OUTER] = self.pool.offsets(
            [(self.n_states[i], by_variable[i]) for i in value.scope] or [(1, 0)]
        )
        if source.table is None:
            op[Column.KIND], op[Column.X] = Kind.LIKELIHOOD, source.row
            return op
        op[Column.KIND], op[Column.X] = Kind.GATHER, self.raw[value.leaf]
        pairs = [(self.code_row[i], by_variable[i]) for i in source.scope]
        op[Column.N_FIRST] = len(pairs)
        flat = np.array(pairs, dtype=np.int32).ravel()
        op[Column.FIRST] = self.pool.add(("codes", tuple(pairs)), flat)
        return op

    def operation(self, step: Operation) -> list[int]:
        op = self.reading(step) if step.x is None else self.contraction(step)
        op[Column.Z], op[Column.COUNTS] = self.place.offset[step.z], step.counts
        return op

    def output(self, step: Readout, column: int) -> list[int]:
        value, op = self.plan.values[step.value], [0] * len(Column)
        op[Column.KIND], op[Column.Z] = Kind.OUTPUT, column
        op[Column.X], op[Column.X_MOVES] = self.place.offset[step.value], value.moves
        op[Column.N_OUTER], op[Column.COUNTS] = value.cells, step.counts
        return op


def cell_strides(scope: Sequence[int], n_states: Sequence[int]) -> dict[int, int]:
    """Return how far apart neighboring states of each variable lie in a table."""
    steps, stride = {}, 1
    for variable in reversed(scope):
        steps[variable] = stride
        stride *= n_states[variable]
    return steps


def write_program(
    plan: OperationList,
    place: BufferPlan,
    n_states: Sequence[int],
    sources: Sequence[Source],
    code_row: Mapping[int, int],
) -> Program:
    """Return the program of a list of operations.

    Parameters
    ----------
    sources
        What each leaf is read from.
    code_row
        Row of each observed variable in the matrix of findings.
    """
    fixed, raw = _fixed_memory(plan, place, sources)
    writer = _ProgramWriter(plan, place, n_states, sources, code_row, IndexPool(), raw)
    still, moving, outputs, column = [], [], [], 0
    for step in plan.steps:
        if isinstance(step, Readout):
            moving.append(writer.output(step, column))
            outputs.append((plan.values[step.value].scope, column))
            column += plan.values[step.value].cells
        elif plan.values[step.z].moves:
            moving.append(writer.operation(step))
        else:
            still.append(writer.operation(step))
    return Program(
        _stacked(still), _stacked(moving), writer.pool.array(), fixed, tuple(outputs), column
    )


def n_offsets(
    plan: OperationList, n_states: Sequence[int], sources: Sequence[Source], walks: bool
) -> int:
    """Return how many offsets a plan has, before lists that are equal are merged.

    Parameters
    ----------
    walks
        Whether a walk from the roots down comes after the program.
    """
    total = 2
    for step in plan.steps:
        if isinstance(step, Readout):
            continue
        value = plan.values[step.z]
        sizes = [n_states[i] for i in value.scope]
        if value.leaf is not None:
            total += value.cells + 2 * len(sources[value.leaf].scope)
            continue
        split = _split([(size,) for size in sizes])
        gone = prod(n_states[i] for i in step.gone)
        total += 2 * (prod(sizes[:split]) + prod(sizes[split:]) + gone)
        total += (2 * gone + 3 * (len(sizes) + len(step.gone))) if walks else 0
    return total


def _fixed_memory(
    plan: OperationList, place: BufferPlan, sources: Sequence[Source]
) -> tuple[Array, dict[int, int]]:
    """Return the memory of fixed tables, and where the table behind each moving leaf lies.

    Behind the fixed values come the whole tables that moving leaves are gathered from, and a
    one that stands for a missing operand, at key -1.
    """
    raw: dict[int, int] = {}
    size = place.fixed_cells
    for value in plan.values:
        if value.leaf is not None and value.moves:
            table = sources[value.leaf].table
            if table is not None:
                raw[value.leaf] = size
                size += table.values.size
    fixed = np.zeros(size + 1)
    fixed[size] = 1.0
    raw[-1] = size
    for i, value in enumerate(plan.values):
        table = sources[value.leaf].table if value.leaf is not None else None
        if table is None or value.leaf is None:
            continue
        if value.moves:
            start = raw[value.leaf]
            fixed[start : start + table.values.size] = table.values.ravel()
        else:
            start = place.offset[i]
            order = [table.scope.index(v) for v in value.scope]
            fixed[start : start + value.cells] = table.values.transpose(order).ravel()
    return fixed, raw


def _split(axes: Sequence[tuple[int, ...]]) -> int:
    """Return how many leading axes the outer loop takes."""
    cells, at = 1, len(axes)
    while at > 0 and cells * axes[at - 1][0] <= INNER_CELLS:
        cells *= axes[at - 1][0]
        at -= 1
    return at


def _stacked(rows: list[list[int]]) -> Integers:
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(Column))

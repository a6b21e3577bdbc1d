"""The list of table operations that answers a question, before any memory is asked for.

A schedule is made from a contraction tree by names only: which table is made from which two,
over which variables. Its cost is known from it, so that a plan that does not fit is refused
before an array is allocated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from credo.inference.discrete.exact.contraction_tree import ContractionTree, Leaf, Node

__all__ = ["Move", "Output", "Schedule", "Value", "schedule"]

Scope = tuple[int, ...]


@dataclass(frozen=True)
class Value:
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


@dataclass(frozen=True)
class Move:
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


@dataclass(frozen=True)
class Output:
    """A value to be normalized into the answer, for some variables."""

    value: int
    variables: Scope
    counts: bool = False


@dataclass
class Schedule:
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
        Value that stands for each node of the tree; None if it is one.
    """

    values: list[Value] = field(default_factory=list)
    steps: list[Move | Output] = field(default_factory=list)
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
class _Writer:
    """Adds values and operations; axes follow the order in which variables disappear."""

    tree: ContractionTree
    leaves: Sequence[Leaf]
    n_states: Sequence[int]
    rank: Sequence[int]
    counts: Sequence[bool]
    plan: Schedule = field(default_factory=Schedule)
    reads: dict[int, int] = field(default_factory=dict)

    def value(self, scope: frozenset[int], moves: bool, leaf: int | None = None) -> int:
        ordered = tuple(sorted(scope, key=lambda i: (-self.rank[i], i)))
        self.plan.values.append(Value(ordered, self.cells(scope), moves, leaf))
        return len(self.plan.values) - 1

    def cells(self, scope: Iterable[int]) -> int:
        return prod(self.n_states[i] for i in scope)

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
                self.plan.steps.append(Move(self.reads[leaf], counts=self.counts[number]))
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
        ordered = tuple(sorted(gone, key=lambda i: (-self.rank[i], i)))
        self.plan.steps.append(Move(z, x, y, ordered, best, counts=up))
        self.plan.product_scopes.append(both)
        self.plan.product_cells.append(self.cells(both))
        return z


def schedule(
    tree: ContractionTree,
    leaves: Sequence[Leaf],
    n_states: Sequence[int],
    marginals_of: frozenset[int] = frozenset(),
    takes_max: frozenset[int] = frozenset(),
) -> Schedule:
    """Return the operations for the partition function and the marginals of some variables.

    Variables that the tree keeps are answered jointly.

    Parameters
    ----------
    takes_max
        Variables that are maximized rather than summed out.
    """
    writer = _Writer(tree, leaves, n_states, _ranks(tree, len(n_states)), _counted(tree))
    plan = writer.plan
    for n in range(len(tree.nodes)):
        plan.node_value.append(_upward(n, writer, takes_max))
    for root in tree.roots:
        value = writer.node(root)
        if value is not None and plan.values[value].scope:
            plan.steps.append(Output(value, plan.values[value].scope, counts=True))
    _downward(writer, marginals_of)
    return plan


def _ranks(tree: ContractionTree, n_variables: int) -> list[int]:
    """Return when each variable disappears; those that stay disappear last."""
    rank = [len(tree.nodes)] * n_variables
    for time, node in enumerate(tree.nodes):
        for variable in node.gone:
            rank[variable] = time
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


def _upward(n: int, writer: _Writer, takes_max: frozenset[int]) -> int | None:
    node, plan = writer.tree.nodes[n], writer.plan
    if node.leaf is not None or node.is_one:
        return None
    x, y = writer.node(node.left), writer.node(node.right)
    known = [plan.values[i].scope for i in (x, y) if i is not None]
    if writer.counts[n]:
        plan.free.extend(node.gone.difference(*known))
    best = not node.gone.isdisjoint(takes_max)
    return writer.product(x, y, node.scope, writer.counts[n], best)


def _downward(writer: _Writer, wanted: frozenset[int]) -> None:
    """Append the adjoint of each node that a wanted variable is read below, and the readings.

    The adjoint of a child is the adjoint of its parent times its sibling, summed down to the
    child's scope; a marginal is the product of a value and its adjoint, summed down to one
    variable.
    """
    nodes = writer.tree.nodes
    readings = _readings(writer, wanted)
    asked = _asked(nodes, readings)
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


def _readings(writer: _Writer, wanted: frozenset[int]) -> dict[int, list[int]]:
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


def _asked(nodes: Sequence[Node], readings: Mapping[int, Sequence[int]]) -> set[int]:
    """Return the nodes whose adjoint leads to a reading."""
    asked: set[int] = set()
    for n, node in enumerate(nodes):
        if any(i in asked or i in readings for i in (node.left, node.right)):
            asked.add(n)
    return asked


def _append_readings(
    writer: _Writer, place: int, variables: Sequence[int], adjoint: Mapping[int, int | None]
) -> None:
    for variable in variables:
        only = frozenset((variable,))
        value = writer.product(writer.node(place), adjoint[place], only, False)
        if value is not None and writer.plan.values[value].scope:
            writer.plan.steps.append(Output(value, (variable,)))

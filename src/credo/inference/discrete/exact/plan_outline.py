"""A question about a discrete network, and its plan by names: what an exact answer would cost.

Tables that a question does not need, those of barren nodes and of parts that the findings
separate, are pruned first. Nothing is allocated here: a plan that does not fit is known before
an array is made.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np

from credo.graphs.structure.elimination_order import elimination_order
from credo.inference.discrete.exact.buffers import Layout, layout
from credo.inference.discrete.exact.contraction_tree import (
    ContractionTree,
    Leaf,
    contraction_tree,
)
from credo.inference.discrete.exact.operations import Schedule, schedule
from credo.inference.discrete.exact.program import Source, n_offsets
from credo.inference.discrete.factor_problem import FactorProblem, Table
from credo.inference.discrete.loops.contraction import LANES

__all__ = [
    "Question",
    "Sketch",
    "connected_to",
    "sketch",
    "without_barren",
]


def without_barren(tables: Sequence[Table], wanted: Collection[int]) -> list[Table]:
    """Return the tables without conditional distributions that sum to one and tell nothing.

    A variable is barren if it is neither asked for nor known and occurs in no table but its own
    conditional distribution; removing that table may make its parents barren in turn.
    """
    homes: dict[int, set[int]] = {}
    for number, table in enumerate(tables):
        for variable in table.scope:
            homes.setdefault(variable, set()).add(number)
    child_of = {number: table.child for number, table in enumerate(tables)}
    stack = [i for i, child in child_of.items() if child is not None and child not in wanted]
    removed: set[int] = set()
    while stack:
        number = stack.pop()
        child = child_of[number]
        if number in removed or child is None or child in wanted or homes[child] != {number}:
            continue
        removed.add(number)
        for variable in tables[number].scope:
            homes[variable].discard(number)
            stack.extend(homes[variable])
    return [table for number, table in enumerate(tables) if number not in removed]


def connected_to(
    tables: Sequence[Table],
    targets: Collection[int],
    known: Collection[int],
    links: Sequence[tuple[int, ...]] = (),
) -> list[Table]:
    """Return the tables that tell something about the targets, or may forbid the findings.

    Given the known variables a network falls into parts. A part without targets changes the
    answer only if its tables are not positive everywhere: then the findings may be impossible.
    Variables may be linked by further tables, whose scopes are ``links``.
    """
    parts = _parts([*(table.scope for table in tables), *links], known)
    asked = {parts[i] for i in targets if i in parts}
    home = [next((parts[i] for i in t.scope if i not in known), None) for t in tables]
    doubtful = {
        part
        for part, table in zip(home, tables, strict=True)
        if part is not None and part not in asked and table.values.min() <= 0
    }
    needed = asked | doubtful
    return [
        table
        for part, table in zip(home, tables, strict=True)
        if part in needed or (part is None and table.values.min() <= 0)
    ]


def _parts(scopes: Sequence[tuple[int, ...]], known: Collection[int]) -> dict[int, int]:
    """Return the part of each unknown variable, named by one of its variables."""
    root: dict[int, int] = {}

    def find(variable: int) -> int:
        while root[variable] != variable:
            root[variable] = root[root[variable]]
            variable = root[variable]
        return variable

    for scope in scopes:
        free = [i for i in scope if i not in known]
        for variable in free:
            root.setdefault(variable, variable)
        for variable in free[1:]:
            root[find(variable)] = find(free[0])
    return {variable: find(variable) for variable in root}


CELLS_PER_SECOND = 7e8
SECONDS_PER_OPERATION = 1e-7
SECONDS_PER_OPERATION_IN_TILES = 2.5e-8
BYTES, OFFSET_BYTES = 8, 4


@dataclass(frozen=True)
class Question:
    """What is asked of a problem once some variables are known.

    Attributes
    ----------
    kind
        "marginals" of single variables, the "joint" table of some, the "total" (partition
        function alone), the "best" joint state, or a random "draw".
    targets
        Variables asked about; for "best" those that are maximized, the others being summed
        out. Ignored by "total" and "draw".
    observed
        Variables whose states are given, row by row.
    weighted
        Variables of each table that is given row by row, such as one for a likelihood.
    sliced
        Observed variables that nobody knows: they are fixed in turn, and the answers added up.
    """

    kind: Literal["marginals", "joint", "total", "best", "draw"]
    targets: tuple[int, ...] = ()
    observed: tuple[int, ...] = ()
    weighted: tuple[tuple[int, ...], ...] = ()
    sliced: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Sketch:
    """A plan by names only: what it would cost, before any array is made."""

    question: Question
    n_states: tuple[int, ...]
    sources: tuple[Source, ...]
    leaves: tuple[Leaf, ...]
    tree: ContractionTree
    steps: Schedule
    place: Layout
    isolated: tuple[int, ...]

    @property
    def log_constant(self) -> float:
        """Log of the scales of the tables, and of the states of variables no table has."""
        scales = [self.sources[i].table for i in sorted(self.steps.counted)]
        maximized = self.question.targets if self.question.kind == "best" else ()
        free = [i for i in (*self.steps.free, *self.isolated) if i not in maximized]
        return float(
            sum(np.log(self.n_states[i]) for i in free)
            + sum(table.log_scale for table in scales if table is not None)
        )

    @property
    def width(self) -> int:
        """Variables of the largest product, less one."""
        return self.steps.width

    @property
    def cells(self) -> int:
        """Multiplications per row of findings."""
        return self.steps.cells

    @cached_property
    def bytes(self) -> int:
        """Memory that the plan holds and takes for one row of findings, at most.

        That is its tables, the whole tables behind those that findings are read from, and the
        offsets of their cells; the operations themselves, a few hundred bytes each, are not
        counted, nor is the copy of the fixed tables in logs that rows may ask for whose range
        is beyond plain numbers.
        """
        tables = self.place.moving_cells + self.place.fixed_cells + self._raw_cells
        walks = self.question.kind in ("best", "draw")
        offsets = n_offsets(self.steps, self.n_states, self.sources, walks)
        return BYTES * tables + OFFSET_BYTES * offsets

    @property
    def seconds(self) -> float:
        """Rough time for one row of findings, one core."""
        return self.seconds_for(1, 0.0)

    def seconds_for(self, n_rows: int, max_bytes: float) -> float:
        """Return the rough time for some rows, which run in tiles if these fit the memory."""
        tile = BYTES * LANES * self.place.moving_cells
        in_tiles = n_rows >= LANES and tile <= max_bytes
        each = SECONDS_PER_OPERATION_IN_TILES if in_tiles else SECONDS_PER_OPERATION
        return n_rows * (self.cells / CELLS_PER_SECOND + len(self.steps.steps) * each)

    @property
    def _raw_cells(self) -> int:
        """Cells of the tables that findings are read from."""
        leaves = [value.leaf for value in self.steps.values if value.moves]
        tables = [self.sources[leaf].table for leaf in leaves if leaf is not None]
        return sum(table.values.size for table in tables if table is not None)


def sketch(problem: FactorProblem, question: Question, effort: float = 1.0) -> Sketch:
    """Return the plan of a question by names, with what it costs."""
    known = frozenset(question.observed)
    tables = _relevant(problem, question, known)
    sources, leaves = _leaves(tables, problem.n_states, question, known)
    targets = frozenset(question.targets)
    involved = frozenset().union(*(leaf.scope for leaf in leaves))
    kept = targets & involved if question.kind == "joint" else frozenset()
    phases = _phases(leaves, problem.n_states, question, involved - kept, effort)
    tree = contraction_tree(leaves, phases, problem.n_states, kept)
    steps = schedule(
        tree,
        leaves,
        problem.n_states,
        marginals_of=targets if question.kind == "marginals" else frozenset(),
        takes_max=targets if question.kind == "best" else frozenset(),
    )
    place = layout(steps, keeps_all=question.kind in ("best", "draw"))
    mentioned = known.union(*(t.scope for t in problem.tables), *question.weighted)
    isolated = tuple(i for i in range(len(problem.n_states)) if i not in mentioned)
    return Sketch(question, problem.n_states, sources, leaves, tree, steps, place, isolated)


def _relevant(problem: FactorProblem, question: Question, known: frozenset[int]) -> list[Table]:
    wanted = known.union(question.targets, *question.weighted)
    if question.kind in ("total", "joint", "marginals"):
        tables = without_barren(problem.tables, wanted)
    else:
        tables = list(problem.tables)
    if question.kind == "joint":
        # A part cut off by a sliced variable still tells how much each of its states weighs.
        known = known.difference(question.sliced)
        tables = connected_to(tables, frozenset(question.targets), known, question.weighted)
    return tables


def _leaves(
    tables: Sequence[Table], n_states: Sequence[int], question: Question, known: frozenset[int]
) -> tuple[tuple[Source, ...], tuple[Leaf, ...]]:
    sums = question.kind in ("marginals", "total", "joint")
    sources, leaves = [], []
    for table in tables:
        observed = tuple(i for i in table.scope if i in known)
        scope = frozenset(table.scope) - known
        child = table.child if sums and table.child in scope else None
        sources.append(Source(table, observed))
        leaves.append(Leaf(scope, bool(observed), child))
    row = 0
    for weighted in question.weighted:
        sources.append(Source(None, weighted, row))
        leaves.append(Leaf(frozenset(weighted), True))
        row += prod(n_states[i] for i in weighted)
    return tuple(sources), tuple(leaves)


def _phases(
    leaves: Sequence[Leaf],
    n_states: Sequence[int],
    question: Question,
    going: frozenset[int],
    effort: float,
) -> list[list[int]]:
    """Return the order of elimination; sums come before maxima."""
    involved = sorted(frozenset().union(*(leaf.scope for leaf in leaves)))
    place = {variable: i for i, variable in enumerate(involved)}
    neighbors: list[set[int]] = [set() for _ in involved]
    for leaf in leaves:
        group = [place[i] for i in leaf.scope]
        for i in group:
            neighbors[i].update(group)
    for i, others in enumerate(neighbors):
        others.discard(i)
    targets = question.targets if question.kind in ("best", "joint") else ()
    last = [place[i] for i in targets if i in place]
    states = [n_states[i] for i in involved]
    mixed = question.kind == "best" and 0 < len(last) < len(involved)
    waits = last if mixed or question.kind == "joint" else ()
    found = elimination_order(neighbors, states, last=waits, effort=effort)
    order = [involved[i] for i in found.order if involved[i] in going]
    if not mixed:
        return [order]
    chosen = frozenset(question.targets)
    return [[i for i in order if i not in chosen], [i for i in order if i in chosen]]

"""Exact inference in discrete networks by variable elimination, planned once per pattern.

A plan is first made by names, which gives its cost: nothing is allocated for one that does not
fit. Tables that a question does not need, those of barren nodes and of parts that the findings
separate, are pruned. The others are multiplied along a binary tree, each variable summed out as
soon as no other table has it; with all marginals wanted this is a junction tree, up and down.

What does not depend on the findings is computed when the plan is made; the rest is a flat list
of operations that a fused loop runs on eight rows of findings at a time. Values are rescaled at
every step with the logs kept, and rows whose tables span more than a product of two can hold
are run again in the log domain. For draws and most probable states the program is walked back,
to find which states each sum or maximum came from. Plans that were used lately are kept as long
as their arrays fit the memory together.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from threading import Lock
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.graphs.structure.elimination_order import found_order
from credo.inference.discrete.exact.contraction_tree import (
    ContractionTree,
    Leaf,
    contraction_tree,
)
from credo.inference.discrete.exact.program import (
    BufferPlan,
    OperationList,
    Program,
    Source,
    buffer_plan,
    cell_strides,
    n_offsets,
    operation_list,
    write_program,
)
from credo.inference.discrete.factor_problem import FactorProblem, Table
from credo.inference.discrete.loops.contraction import (
    FLOOR,
    LANES,
    IndexPool,
    Loop,
    Rows,
    StepColumn,
)
from credo.numerics.array import Array
from credo.numerics.parallel.threads import in_parts, n_cores

__all__ = [
    "Kind",
    "PlanCache",
    "PlanOutline",
    "Question",
    "Sized",
    "TableAnswer",
    "TablePlan",
    "connected_to",
    "elimination_of_whole",
    "outline",
    "without_barren",
    "write_trace",
]


def without_barren(tables: Sequence[Table], wanted: Collection[int]) -> list[Table]:
    """Return the tables without conditional distributions that sum to one and tell nothing.

    A variable is barren if it is neither asked for nor known and occurs in no table but its own
    conditional distribution; removing that table may make its parents barren in turn. What is
    left are the tables of the variables that are wanted, and of their ancestors.
    """
    own = {table.child: number for number, table in enumerate(tables)}
    needed = {number for number, table in enumerate(tables) if table.child is None}
    stack = [*wanted, *(i for number in needed for i in tables[number].scope)]
    while stack:
        number = own.get(stack.pop())
        if number is not None and number not in needed:
            needed.add(number)
            stack.extend(tables[number].scope)
    return [tables[number] for number in sorted(needed)]


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

MOST_OF = 0.75
"""Share of the variables of a problem from which its own order of elimination helps."""


Kind = Literal["marginals", "joint", "total", "best", "draw"]


class Question(NamedTuple):
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
        Observed variables without a finding: they are fixed in turn, and the answers added up.
    """

    kind: Kind
    targets: tuple[int, ...] = ()
    observed: tuple[int, ...] = ()
    weighted: tuple[tuple[int, ...], ...] = ()
    sliced: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class PlanOutline:
    """A plan by names only: what it would cost, before any array is made."""

    question: Question
    n_states: tuple[int, ...]
    sources: tuple[Source, ...]
    leaves: tuple[Leaf, ...]
    tree: ContractionTree
    steps: OperationList
    place: BufferPlan
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


def outline(
    problem: FactorProblem,
    question: Question,
    effort: float = 1.0,
    whole_order: Callable[[], Sequence[int]] | None = None,
) -> PlanOutline:
    """Return the plan of a question by names, with what it costs.

    Parameters
    ----------
    effort
        Multiplies the time of the search for an order of elimination.
    whole_order
        Gives the order of elimination of the whole problem, from which that of a question
        about most of it is sought.
    """
    known = frozenset(question.observed)
    tables = _relevant(problem, question, known)
    sources, leaves = _leaves(tables, problem.n_states, question, known)
    targets = frozenset(question.targets)
    involved = frozenset().union(*(leaf.scope for leaf in leaves))
    kept = targets & involved if question.kind == "joint" else frozenset()
    start: Sequence[int] = ()
    if whole_order is not None and len(involved) >= MOST_OF * len(problem.n_states):
        start = whole_order()
    phases = _phases(leaves, problem.n_states, question, involved - kept, effort, start)
    tree = contraction_tree(leaves, phases, problem.n_states, kept)
    steps = operation_list(
        tree,
        leaves,
        problem.n_states,
        marginals_of=targets if question.kind == "marginals" else frozenset(),
        takes_max=targets if question.kind == "best" else frozenset(),
    )
    place = buffer_plan(steps, keeps_all=question.kind in ("best", "draw"))
    mentioned = problem.mentioned.union(known, *question.weighted)
    isolated = tuple(i for i in range(len(problem.n_states)) if i not in mentioned)
    return PlanOutline(
        question, problem.n_states, sources, leaves, tree, steps, place, isolated
    )


def elimination_of_whole(problem: FactorProblem) -> tuple[int, ...]:
    """Return the order of elimination of a problem of which nothing is known."""
    involved, neighbors = _interactions([frozenset(table.scope) for table in problem.tables])
    states = [problem.n_states[i] for i in involved]
    return tuple(involved[i] for i in found_order(neighbors, states)[0])


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
    start: Sequence[int],
) -> list[list[int]]:
    """Return the order of elimination; sums come before maxima."""
    involved, neighbors = _interactions([leaf.scope for leaf in leaves])
    place = {variable: i for i, variable in enumerate(involved)}
    targets = question.targets if question.kind in ("best", "joint") else ()
    last = [place[i] for i in targets if i in place]
    states = [n_states[i] for i in involved]
    mixed = question.kind == "best" and 0 < len(last) < len(involved)
    waits = last if mixed or question.kind == "joint" else ()
    known_order = [place[i] for i in start if i in place]
    found, _ = found_order(neighbors, states, waits, effort=effort, start=known_order)
    order = [involved[i] for i in found if involved[i] in going]
    if not mixed:
        return [order]
    chosen = frozenset(question.targets)
    return [[i for i in order if i not in chosen], [i for i in order if i in chosen]]


def _interactions(scopes: Sequence[frozenset[int]]) -> tuple[list[int], list[set[int]]]:
    """Return the variables of some tables, and the places of those each shares a table with."""
    involved = sorted(frozenset().union(*scopes))
    place = {variable: i for i, variable in enumerate(involved)}
    neighbors: list[set[int]] = [set() for _ in involved]
    for scope in scopes:
        group = [place[i] for i in scope]
        for i in group:
            neighbors[i].update(group)
    for i, others in enumerate(neighbors):
        others.discard(i)
    return involved, neighbors


Integers = NDArray[np.int64]


def write_trace(
    plan: OperationList,
    tree: ContractionTree,
    place: BufferPlan,
    n_states: Sequence[int],
    one: int,
) -> tuple[Integers, NDArray[np.int32]]:
    """Return the steps of a walk from the roots down, and their offsets.

    Each step knows the variables above it and finds those that were summed out at its node.

    Parameters
    ----------
    one
        Where in the fixed memory the one lies that stands for a missing table.
    """
    writer = _TraceWriter(plan, place, n_states, one)
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
class _TraceWriter:
    plan: OperationList
    place: BufferPlan
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


FEW_ROWS = LANES // 2
"""Fewer rows than this run one at a time."""

CHANCES_AT_ONCE = 1 << 20
"""Random numbers that are made together."""

States = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TableAnswer:
    """What a plan found for each row of findings.

    Attributes
    ----------
    columns
        Normalized tables side by side, shape (n_rows, n_columns).
    log_total
        Log of the sum (or maximum) of the density over the unknown variables, (n_rows,);
        minus infinity where the findings are impossible, whose columns are NaN.
    """

    columns: Array
    log_total: Array


@dataclass(frozen=True, eq=False)
class TablePlan:
    """A question ready to be answered for any number of rows of findings.

    Attributes
    ----------
    outline
        What is asked, and the operations by names.
    max_bytes
        Memory that rows side by side may take; where less than a tile fits, they run one by
        one.
    program
        The operations as integers, with the tables that no finding changes filled in.
    log_fixed_total
        Log of the part of the partition function that no finding changes.
    is_wide
        Whether the tables that no finding changes need the log domain.

    Examples
    --------
    >>> from credo.inference.discrete.factor_problem import FactorProblem, Table
    >>> from credo.inference.discrete.exact.plan import Question, outline
    >>> prior, test = Table((0,), np.array([0.1, 0.9])), np.array([[0.8, 0.2], [0.3, 0.7]])
    >>> problem = FactorProblem((2, 2), (prior, Table((0, 1), test, child=1)))
    >>> plan = TablePlan(outline(problem, Question("marginals", targets=(0,), observed=(1,))))
    >>> answer = plan.run(np.array([[0, 1]]))
    >>> answer.columns.round(3).tolist()
    [[0.229, 0.771], [0.031, 0.969]]
    """

    outline: PlanOutline
    max_bytes: float = float("inf")
    program: Program = field(init=False)
    log_fixed_total: float = field(init=False)
    is_wide: bool = field(init=False)

    def __post_init__(self) -> None:
        made = self.outline
        rows = {variable: row for row, variable in enumerate(made.question.observed)}
        program = write_program(made.steps, made.place, made.n_states, made.sources, rows)
        total, is_wide = _run_fixed(program, program.fixed, False)
        object.__setattr__(self, "program", program)
        object.__setattr__(self, "log_fixed_total", made.log_constant + total)
        object.__setattr__(self, "is_wide", is_wide or _spans_too_much(made.sources))

    @property
    def outputs(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        """Variables, in the order of the axes, and first column of each answer."""
        return self.program.outputs

    @property
    def n_outputs(self) -> int:
        """Number of columns of the answers."""
        return self.program.n_outputs

    @property
    def n_bytes(self) -> int:
        """Bytes of the arrays it holds now; logs and walks count once they were asked for."""
        total = self.program.n_bytes
        if "_log_loop" in vars(self):
            total += self._log_loop[0].fixed.nbytes
        if "_walk" in vars(self):
            total += sum(array.nbytes for array in self._walk)
        return total

    def run(
        self,
        codes: NDArray[np.integer],
        likelihood: Array | None = None,
        is_log: bool = False,
    ) -> TableAnswer:
        """Return the answers for rows of findings.

        Parameters
        ----------
        codes
            States of the observed variables, shape (n_observed, n_rows).
        likelihood
            Likelihoods of the weighted variables, their states one below the other, shape
            (sum of n_states, n_rows).
        is_log
            Whether these are logs, which may be lower than any number has a log.
        """
        rows, logs = self._rows(codes, likelihood, is_log)
        if self.is_wide:
            rows.is_wide[:] = True
        else:
            self._run_plain(rows)
            rows.log_total[:] += self.log_fixed_total
        again = rows.is_wide if logs is None else rows.is_wide | _too_low(logs)
        if np.count_nonzero(again):
            arena = self._arena()
            for row in np.flatnonzero(again).tolist():
                self._run_log(rows, row, arena, logs)
        impossible = rows.log_total == -np.inf
        if np.count_nonzero(impossible):
            rows.columns[impossible] = np.nan
        return TableAnswer(rows.columns, rows.log_total)

    def states(
        self,
        codes: NDArray[np.integer],
        likelihood: Array | None = None,
        rng: Generator | None = None,
        n_draws: int = 1,
        is_log: bool = False,
    ) -> tuple[States, Array]:
        """Return joint states of all variables, (n_rows, n_draws, n_variables), and log totals.

        Random ones if ``rng`` is given, else the most probable one. Rows that are impossible
        and variables that were summed out have state -1.
        """
        (rows, logs), arena = self._rows(codes, likelihood, is_log), self._arena()
        found = self._known_states(rows, rng, n_draws)
        rows.is_wide[:] = self.is_wide if logs is None else self.is_wide | _too_low(logs)
        n_steps = len(self._walk[0])
        step = max(1, CHANCES_AT_ONCE // max(1, n_draws * n_steps))
        for start in range(0, len(found), step):
            part = slice(start, start + step)
            states = found[part]
            chance = None if rng is None else rng.random((len(states), n_draws, n_steps))
            self._trace(rows, part, arena, states, chance)
            for row in np.flatnonzero(rows.is_wide[part]).tolist():
                own = None if chance is None else chance[row]
                self._trace_log(rows, start + row, arena, states[row], own, logs)
        found[np.isneginf(rows.log_total)] = -1
        return found, rows.log_total

    def _known_states(self, rows: Rows, rng: Generator | None, n_draws: int) -> States:
        """Return states with those filled in that are given, or that nothing depends on."""
        made, n_rows = self.outline, len(rows.log_total)
        found = np.full((n_rows, n_draws, len(made.n_states)), -1, dtype=np.intp)
        found[:, :, list(made.question.observed)] = rows.codes.T[:, None]
        for i in made.isolated:
            size = (n_rows, n_draws)
            found[:, :, i] = 0 if rng is None else rng.integers(made.n_states[i], size=size)
        return found

    def _trace(
        self, rows: Rows, part: slice, arena: Array, states: States, chance: Array | None
    ) -> None:
        """Find the states of some rows that do not need the log domain."""
        own = rows.part(part)
        self._loop.trace_rows(Loop(*self._walk, self.program.fixed), own, arena, states, chance)
        own.log_total[:] += self.log_fixed_total

    def _trace_log(
        self,
        rows: Rows,
        row: int,
        arena: Array,
        states: States,
        chance: Array | None,
        logs: Array | None,
    ) -> None:
        self._run_log(rows, row, arena, logs)
        if rows.log_total[row] > -np.inf:
            Loop(*self._walk, self._log_loop[0].fixed).trace(arena, states, chance, True)

    def _rows(
        self, codes: NDArray[np.integer], likelihood: Array | None, is_log: bool
    ) -> tuple[Rows, Array | None]:
        """Return the rows to fill, and the logs of likelihoods if these were given."""
        given = np.ascontiguousarray(codes, dtype=np.int32)
        n = given.shape[1]
        logs = likelihood if is_log else None
        plain = likelihood if logs is None else np.exp(logs)
        # Without likelihoods no operation reads their row.
        weight = np.zeros((1, n)) if plain is None else np.ascontiguousarray(plain)
        columns = np.empty((n, self.program.n_outputs))
        return Rows(given, weight, columns, np.zeros(n), np.zeros(n, dtype=bool)), logs

    def _arena(self, n_lanes: int = 1) -> Array:
        return np.empty(max(self.outline.place.moving_cells, 1) * n_lanes)

    @cached_property
    def _walk(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        made, one = self.outline, len(self.program.fixed) - 1
        return write_trace(made.steps, made.tree, made.place, made.n_states, one)

    @cached_property
    def _loop(self) -> Loop:
        program = self.program
        return Loop(program.moving_steps, program.index, program.fixed)

    def _run_plain(self, rows: Rows) -> None:
        n_rows = len(rows.log_total)
        if n_rows < FEW_ROWS:
            self._loop.run_rows(rows, self._arena())
            return
        tile = self.outline.place.moving_cells * LANES * rows.log_total.itemsize
        if tile > self.max_bytes:
            self._loop.run_rows(rows, self._arena())
            return

        def work(start: int, stop: int) -> None:
            span = (start * LANES, min(stop * LANES, n_rows))
            self._loop.run_tiles(rows, self._arena(LANES), span)

        n_tiles = -(-n_rows // LANES)
        if tile * n_cores() > self.max_bytes:
            work(0, n_tiles)
        else:
            in_parts(work, n_tiles, n_rows * self.outline.cells)

    def _run_log(self, rows: Rows, row: int, arena: Array, logs: Array | None) -> None:
        loop, total = self._log_loop
        only = slice(row, row + 1)
        part = rows.part(only)
        with np.errstate(divide="ignore"):
            weight = np.log(part.likelihood) if logs is None else logs[:, only]
        part = part._replace(likelihood=np.ascontiguousarray(weight))
        part.log_total[:] = total
        loop.run_row(part, arena, 0, True)

    @cached_property
    def _log_loop(self) -> tuple[Loop, float]:
        """The loop on fixed tables as logs, and their log part of the partition function."""
        program = self.program
        with np.errstate(divide="ignore"):
            fixed = np.log(program.fixed)
        total, _ = _run_fixed(program, fixed, True)
        return Loop(
            program.moving_steps, program.index, fixed
        ), self.outline.log_constant + total


def _run_fixed(program: Program, fixed: Array, is_log: bool) -> tuple[float, bool]:
    """Fill the tables no finding changes; return their log total, and if they span too much."""
    none = np.ones((1, 1))
    rows = Rows(np.zeros((1, 1), np.int32), none, none, np.zeros(1), np.zeros(1, dtype=bool))
    if len(program.fixed_steps):
        Loop(program.fixed_steps, program.index, fixed).run_row(rows, fixed, 0, is_log)
    return float(rows.log_total[0]), bool(rows.is_wide[0])


def _too_low(logs: Array) -> NDArray[np.bool_]:
    """Return which rows have a likelihood that is not zero but lower than plain sums keep."""
    return np.asarray(np.any((logs > -np.inf) & (logs < np.log(FLOOR)), axis=0))


def _spans_too_much(sources: Sequence[Source]) -> bool:
    tables = [source.table.values.ravel() for source in sources if source.table is not None]
    cells = np.concatenate([np.ones(1), *tables])
    return bool(np.any((cells > 0) & (cells < FLOOR)))


class Sized(Protocol):
    """Anything that knows how much memory its arrays take."""

    @property
    def n_bytes(self) -> int:
        """Bytes of the arrays that it holds now."""
        ...


Key = TypeVar("Key", bound=Hashable)
Plan = TypeVar("Plan", bound=Sized)


class PlanCache(Generic[Key, Plan]):
    """Plans by what they answer; those unused for longest go first. Safe to share by threads.

    A plan that grows while it is kept counts with its new size when the next one is made. The
    latest plan is kept whatever it takes. A copy, and what comes out of a pickle, is empty.

    Parameters
    ----------
    max_plans
        Most plans that are kept, however small.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> cache = PlanCache(max_plans=2)
    >>> for size in (10, 20, 30):
    ...     _ = cache.put(size, SimpleNamespace(n_bytes=size), max_bytes=1000.0)
    >>> 10 in cache, 20 in cache, cache.n_bytes
    (False, True, 50)
    """

    def __init__(self, max_plans: int = 64) -> None:
        self.max_plans = max_plans
        self._plans: OrderedDict[Key, Plan] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._plans)

    def __contains__(self, key: object) -> bool:
        return key in self._plans

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.max_plans,)

    @property
    def n_bytes(self) -> int:
        """Bytes of all plans as they are now."""
        with self._lock:
            return sum(plan.n_bytes for plan in self._plans.values())

    def get(self, key: Key) -> Plan | None:
        """Return the plan of a key, now the latest, or None."""
        with self._lock:
            kept = self._plans.get(key)
            if kept is not None:
                self._plans.move_to_end(key)
            return kept

    def put(self, key: Key, plan: Plan, max_bytes: float) -> Plan:
        """Return the plan after keeping it; of two threads that made one, the first wins.

        The oldest plans go until the rest fits.
        """
        with self._lock:
            first = self._plans.setdefault(key, plan)
            self._plans.move_to_end(key)
            total = sum(kept.n_bytes for kept in self._plans.values())
            while len(self._plans) > 1 and (
                total > max_bytes or len(self._plans) > self.max_plans
            ):
                total -= self._plans.popitem(last=False)[1].n_bytes
            return first

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.inference.discrete.exact.plan import Question, outline
from credo.inference.discrete.exact.program import (
    Operand,
    Operation,
    OperationList,
    Readout,
    buffer_plan,
)
from credo.inference.discrete.factor_problem import FactorProblem, Table


def random_sketch(rng, kind):
    """Return the plan of a random question about a random network."""
    n = int(rng.integers(3, 12))
    n_states = tuple(int(k) for k in rng.integers(1, 5, size=n))
    tables = []
    for child in range(n):
        parents = [i for i in range(child) if rng.random() < 0.35]
        shape = [n_states[i] for i in (*parents, child)]
        is_conditional = rng.random() < 0.6
        values = rng.random(shape)
        tables.append(Table((*parents, child), values, 0.0, child if is_conditional else None))
    order = [int(i) for i in rng.permutation(n)]
    n_known, n_weighted = int(rng.integers(0, 3)), int(rng.integers(0, 2))
    observed = tuple(sorted(order[:n_known]))
    weighted = tuple((i,) for i in order[n_known : n_known + n_weighted])
    rest = order[n_known:]
    targets = tuple(rest if kind == "marginals" else rest[:2])
    return outline(
        FactorProblem(n_states, tuple(tables)), Question(kind, targets, observed, weighted)
    )


def operands(step):
    if isinstance(step, Readout):
        return (step.value,)
    return tuple(i for i in (step.x, step.y) if i is not None)


def collisions(steps, place):
    """Return pairs of values that share cells while both are still needed.

    The fixed memory is filled before the first row, once; the moving memory for every row.
    """
    values, found = steps.values, []
    for moves in (False, True):
        live = [
            i
            for i, v in enumerate(values)
            if not moves and v.leaf is not None and not v.moves and place.offset[i] >= 0
        ]
        size = place.moving_cells if moves else place.fixed_cells
        run = [
            (time, step)
            for time, step in enumerate(steps.steps)
            if isinstance(step, Operation) and values[step.z].moves == moves
        ]
        for time, step in run:
            live = [i for i in live if is_needed(steps, i, time)]
            cells = span(values, place, step.z)
            assert 0 <= cells[0] <= cells[1] <= size
            found += [(step.z, i) for i in live if overlap(cells, span(values, place, i))]
            live.append(step.z)
    return found


def is_needed(steps, value, time):
    """Whether a step at this time or later reads a value; a row may read fixed ones again."""
    for later, step in enumerate(steps.steps):
        if value not in operands(step):
            continue
        reads_row = isinstance(step, Readout) or steps.values[step.z].moves
        if later >= time or (reads_row and not steps.values[value].moves):
            return True
    return False


def span(values, place, value):
    start = place.offset[value]
    return start, start + values[value].cells


def overlap(first, second):
    return first[0] < second[1] and second[0] < first[1]


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["marginals", "joint", "total"]))
def test_no_two_live_tables_share_a_cell(seed, kind):
    made = random_sketch(np.random.default_rng(seed), kind)
    assert collisions(made.steps, made.place) == []


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["best", "draw"]))
def test_tables_that_a_walk_back_needs_are_never_overwritten(seed, kind):
    made = random_sketch(np.random.default_rng(seed), kind)
    for moves in (False, True):
        spans = sorted(
            span(made.steps.values, made.place, i)
            for i, v in enumerate(made.steps.values)
            if v.moves == moves and made.place.offset[i] >= 0
        )
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))


def chain(n, cells):
    """Return operations that make each table from the one before."""
    values = [Operand((), cells, True) for _ in range(n)]
    steps = [Operation(0), *(Operation(i, i - 1) for i in range(1, n)), Readout(n - 1, ())]
    return OperationList(values, steps)


def test_a_chain_of_tables_lives_in_the_memory_of_two():
    place = buffer_plan(chain(10, 7))
    assert place.moving_cells == 14
    assert place.fixed_cells == 0
    assert set(place.offset) == {0, 7}


def test_a_chain_that_is_kept_needs_the_memory_of_all():
    place = buffer_plan(chain(10, 7), keeps_all=True)
    assert place.moving_cells == 70


def test_neighboring_gaps_are_joined_for_a_larger_table():
    values = [Operand((), cells, True) for cells in (2, 3, 1, 5)]
    steps = [Operation(0), Operation(1), Operation(2, 0, 1), Operation(3, 2), Readout(3, ())]
    place = buffer_plan(OperationList(values, steps))
    assert place.offset == (0, 2, 5, 0)
    assert place.moving_cells == 6


def test_fixed_tables_that_rows_read_keep_their_place():
    values = [
        Operand((), 4, False, leaf=0),
        Operand((), 4, False),
        Operand((), 4, False),
        Operand((), 2, True),
    ]
    steps = [Operation(1, 0), Operation(2, 1), Operation(3, 1, 2), Readout(3, ())]
    place = buffer_plan(OperationList(values, steps))
    fixed = [place.offset[i] for i in range(3)]
    assert sorted(fixed) == [0, 4, 8]
    assert (place.fixed_cells, place.moving_cells) == (12, 2)


def test_a_table_that_nobody_uses_has_no_place():
    values = [Operand((), 3, True), Operand((), 3, True)]
    place = buffer_plan(OperationList(values, [Operation(0), Readout(0, ())]))
    assert place.offset == (0, -1)


@pytest.mark.parametrize("kind", ["marginals", "total"])
def test_memory_told_covers_both_parts(kind):
    made = random_sketch(np.random.default_rng(1), kind)
    assert made.bytes >= 8 * (made.place.moving_cells + made.place.fixed_cells)

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from credo.inference.discrete.loops import contraction
from credo.inference.discrete.loops.contraction import (
    FLOOR,
    LANES,
    Column,
    IndexPool,
    Kind,
    Loop,
    Rows,
    StepColumn,
)

# A small network of three variables a, b, c with 2, 3 and 4 states: a table over (a, b, c), of
# which c is known, and a likelihood of b. The program reads both, multiplies them, sums b out
# and answers about a.
N_A, N_B, N_C = 2, 3, 4


def program(pool, takes_max=False):
    """Return the operations; the fixed memory holds the table and then a one."""
    steps = np.zeros((4, len(Column)), dtype=np.int64)
    gather, read, product, output = steps
    gather[Column.KIND], gather[Column.Z], gather[Column.X] = Kind.GATHER, 0, 0
    gather[Column.N_OUTER], gather[Column.N_INNER] = N_A * N_B, 1
    gather[Column.OUTER] = pool.offsets([(N_A, N_B * N_C), (N_B, N_C)])
    gather[Column.N_FIRST], gather[Column.COUNTS] = 1, 1
    gather[Column.FIRST] = pool.add("codes", np.array([0, 1], dtype=np.int32))
    read[Column.KIND], read[Column.Z], read[Column.COUNTS] = Kind.LIKELIHOOD, 6, 1
    read[Column.N_OUTER], read[Column.N_INNER] = N_B, 1
    read[Column.OUTER] = pool.offsets([(N_B, 1)])
    product[Column.KIND], product[Column.Z] = Kind.CONTRACT, 9
    product[Column.X], product[Column.X_MOVES] = 0, 1
    product[Column.Y], product[Column.Y_MOVES] = 6, 1
    product[Column.N_OUTER], product[Column.OUTER] = 1, pool.offsets([])
    product[Column.N_INNER], product[Column.INNER] = N_A, pool.offsets([(N_A, N_B, 0)])
    product[Column.N_SUM], product[Column.SUM] = N_B, pool.offsets([(N_B, 1, 1)])
    product[Column.COUNTS], product[Column.TAKES_MAX] = 1, takes_max
    output[Column.KIND], output[Column.Z], output[Column.X] = Kind.OUTPUT, 0, 9
    output[Column.X_MOVES], output[Column.N_OUTER], output[Column.COUNTS] = 1, N_A, 1
    return steps


def problem(rng, n_rows, takes_max=False):
    table = rng.random((N_A, N_B, N_C)) * (rng.random((N_A, N_B, N_C)) < 0.8)
    pool = IndexPool()
    steps = program(pool, takes_max)
    loop = Loop(steps, pool.array(), np.append(table.ravel(), 1.0))
    rows = Rows(
        rng.integers(N_C, size=(1, n_rows)).astype(np.int32),
        rng.random((N_B, n_rows)),
        np.empty((n_rows, N_A)),
        np.zeros(n_rows),
        np.zeros(n_rows, dtype=bool),
    )
    return loop, rows, table


def expected(table, rows, row, takes_max=False):
    """Return the table of a, and the total of a row."""
    terms = table[:, :, rows.codes[0, row]] * rows.likelihood[:, row]
    best = terms.max(axis=1) if takes_max else terms.sum(axis=1)
    return best, best.sum()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 2 * LANES + 3), st.booleans())
def test_tiles_of_rows_equal_loops_over_all_cells(seed, n_rows, takes_max):
    rng = np.random.default_rng(seed)
    loop, rows, table = problem(rng, n_rows, takes_max)
    loop.run_tiles(rows, np.empty(11 * LANES), (0, n_rows))
    for row in range(n_rows):
        best, total = expected(table, rows, row, takes_max)
        with np.errstate(divide="ignore", invalid="ignore"):
            assert_allclose(rows.log_total[row], np.log(total), rtol=1e-12, atol=1e-12)
            assert_allclose(rows.columns[row], best / total, rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_single_rows_equal_loops_over_all_cells_in_both_domains(seed, takes_max, is_log):
    rng = np.random.default_rng(seed)
    loop, rows, table = problem(rng, 3, takes_max)
    wanted = [expected(table, rows, row, takes_max) for row in range(3)]
    if is_log:
        with np.errstate(divide="ignore"):
            loop = Loop(loop.steps, loop.index, np.log(loop.fixed))
            rows = rows._replace(likelihood=np.log(rows.likelihood))
    for row in (2, 0, 1):
        loop.run_row(rows, np.empty(11), row, is_log)
    for row, (best, total) in enumerate(wanted):
        with np.errstate(divide="ignore", invalid="ignore"):
            assert_allclose(rows.log_total[row], np.log(total), rtol=1e-12, atol=1e-12)
            assert_allclose(rows.columns[row], best / total, rtol=1e-12)


def test_a_span_leaves_other_rows_alone():
    loop, rows, _ = problem(np.random.default_rng(0), 20)
    rows.columns[:] = -5.0
    loop.run_tiles(rows, np.empty(11 * LANES), (LANES, 2 * LANES))
    touched = np.all(rows.columns != -5.0, axis=1)
    assert_array_equal(np.flatnonzero(touched), np.arange(LANES, 2 * LANES))
    assert_array_equal(np.flatnonzero(rows.log_total), np.arange(LANES, 2 * LANES))


@pytest.mark.parametrize("unit", [1.0, 1e-19, 1e-25, 1e19, 1e40, 1e-100])
@pytest.mark.parametrize(
    ("share", "is_flagged"),
    [(FLOOR / 1.01, True), (FLOOR * 1.01, False), (1e-150, True), (1e-61, False), (0.0, False)],
)
def test_entries_below_the_floor_of_their_table_are_flagged_and_no_others(
    unit, share, is_flagged
):
    loop, rows, _ = problem(np.random.default_rng(1), 2 * LANES)
    loop.fixed[:-1] = 1.0
    rows.likelihood[:] = unit
    rows.likelihood[0, 3] = share * unit
    wanted = [3] if is_flagged else []
    loop.run_tiles(rows, np.empty(11 * LANES), (0, 2 * LANES))
    assert_array_equal(np.flatnonzero(rows.is_wide), wanted)
    others = np.delete(np.arange(2 * LANES), 3)
    total = np.log(N_A) + np.log(unit)
    assert_allclose(rows.log_total[others], total + np.log(N_B), rtol=1e-12)
    assert_allclose(rows.log_total[3], total + np.log(N_B - 1), rtol=1e-12)
    rows.is_wide[:] = False
    for row in (2, 3):
        loop.run_row(rows, np.empty(11), row, False)
    assert_array_equal(np.flatnonzero(rows.is_wide), wanted)


@pytest.mark.parametrize("low", [1e-119, 1e-100, 1e-80])
def test_products_of_entries_at_the_floor_keep_all_their_digits(low):
    loop, rows, _ = problem(np.random.default_rng(4), LANES)
    # With a = 0 only the product of the two small entries is left.
    table = np.ones((N_A, N_B, N_C))
    table[0] = 0.0
    table[0, 0] = low
    loop.fixed[:-1] = table.ravel()
    rows.likelihood[:] = 1.0
    rows.likelihood[0] = 3.0 * low
    loop.run_tiles(rows, np.empty(11 * LANES), (0, LANES))
    shares = rows.columns[:, 0] / rows.columns[:, 1]
    exact = 3.0 * low * low / 2.0
    seen = ~rows.is_wide
    # A row is marked once the product itself lies below the floor; its digits are still there.
    assert seen.all() or exact < FLOOR
    assert_allclose(shares, exact, rtol=1e-12)


def test_all_rows_one_after_the_other_equal_tiles():
    loop, rows, _ = problem(np.random.default_rng(5), LANES + 3)
    again = rows._replace(columns=rows.columns.copy(), log_total=rows.log_total.copy())
    loop.run_tiles(rows, np.empty(11 * LANES), (0, LANES + 3))
    loop.run_rows(again, np.empty(11))
    assert_allclose(again.columns, rows.columns, rtol=1e-13)
    assert_allclose(again.log_total, rows.log_total, rtol=1e-13, atol=1e-14)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([1.0, 1e-90, 1e-200, 0.0]))
def test_plain_runs_and_compiled_ones_give_the_same_bits(seed, takes_max, tiny):
    rng = np.random.default_rng(seed)
    loop, rows, _ = problem(rng, 5, takes_max)
    rows.likelihood[rng.random(rows.likelihood.shape) < 0.3] *= tiny
    found = []
    for seconds in (0.0, np.inf):
        own = Rows(*(part.copy() for part in rows))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(contraction._plain_time, "left", seconds)
            loop.run_rows(own, np.empty(11))
            loop.run_row(own, np.empty(11), 2, False)
        found.append(own)
    for compiled, plain in zip(*found, strict=True):
        assert_array_equal(plain, compiled)


def test_plain_runs_end_when_their_time_is_spent(monkeypatch):
    loop, *_ = problem(np.random.default_rng(0), 1)
    cost = 4 * contraction.STEP_SECONDS + N_B * contraction.TERM_SECONDS
    monkeypatch.setattr(contraction._plain_time, "left", 2.5 * cost)
    assert [contraction._is_plain(loop.steps, 1) for _ in range(4)] == [1, 1, 0, 0]


def test_a_trace_of_all_rows_leaves_wide_and_impossible_ones_alone():
    loop, rows, table = problem(np.random.default_rng(6), 6, takes_max=True)
    loop.fixed[:-1] = table.ravel() + 0.01
    rows.likelihood[:, 1] = 0.0
    rows.is_wide[2] = True
    rows.likelihood[0, 4] = 1e-200
    pool = IndexPool()
    path = Loop(walk(pool), pool.array(), loop.fixed)
    states = np.full((6, 2, 2), -1)
    states[:, :, 0] = [0, 1]
    loop.trace_rows(path, rows, np.empty(11), states, None)
    assert_array_equal(rows.is_wide, [False, False, True, False, True, False])
    assert np.all(states[[1, 2, 4], :, 1] == -1)
    for row in (0, 3, 5):
        terms = (table + 0.01)[:, :, rows.codes[0, row]] * rows.likelihood[:, row]
        assert_array_equal(states[row, :, 1], terms.argmax(axis=1))


@pytest.mark.parametrize("scale", [1e-310, 5e-324])
def test_a_table_whose_maximum_has_no_inverse_is_flagged(scale):
    loop, rows, _ = problem(np.random.default_rng(2), LANES)
    loop.fixed[:-1] = 1.0
    rows.likelihood[:] = 1.0
    rows.likelihood[:, 5] = scale
    loop.run_tiles(rows, np.empty(11 * LANES), (0, LANES))
    assert_array_equal(np.flatnonzero(rows.is_wide), [5])


def walk(pool):
    """Return the step that finds b once a is known."""
    step = np.zeros((1, len(StepColumn)), dtype=np.int64)
    first = step[0]
    first[StepColumn.X], first[StepColumn.X_MOVES] = 0, 1
    first[StepColumn.Y], first[StepColumn.Y_MOVES] = 6, 1
    first[StepColumn.N_KEPT] = 1
    first[StepColumn.KEPT] = pool.add("kept", np.array([0, N_B, 0], dtype=np.int32))
    first[StepColumn.N_SUM], first[StepColumn.SUM] = N_B, pool.offsets([(N_B, 1, 1)])
    first[StepColumn.N_GONE] = 1
    first[StepColumn.GONE] = pool.add("gone", np.array([1, 1, N_B], dtype=np.int32))
    return step


@pytest.mark.parametrize("is_log", [False, True])
def test_a_walk_back_picks_the_best_state_given_what_is_known(is_log):
    rng = np.random.default_rng(3)
    table, weight = rng.random((N_A, N_B)), rng.random(N_B)
    arena = np.concatenate([table.ravel(), weight])
    arena = np.log(arena) if is_log else arena
    pool = IndexPool()
    loop = Loop(walk(pool), pool.array(), np.zeros(1))
    states = np.array([[0, -1], [1, -1]])
    loop.trace(arena, states, None, is_log)
    assert_array_equal(states[:, 1], (table * weight).argmax(axis=1))
    assert_array_equal(states[:, 0], [0, 1])


@pytest.mark.parametrize("is_log", [False, True])
def test_a_walk_back_draws_by_the_inverse_of_the_cumulative_weights(is_log):
    table, weight = np.array([[0.2, 0.0, 0.6], [1.0, 1.0, 1.0]]), np.array([1.0, 1.0, 0.5])
    with np.errstate(divide="ignore"):
        arena = np.concatenate([table.ravel(), weight])
        arena = np.log(arena) if is_log else arena
    pool = IndexPool()
    loop = Loop(walk(pool), pool.array(), np.zeros(1))
    # With a = 0 the shares are 0.4, 0 and 0.6; with a = 1 they are 0.4, 0.4 and 0.2.
    chances = [0.0, 0.39, 0.41, 0.99, 0.0, 0.39, 0.41, 0.79, 0.81, 1.0 - 1e-16]
    states = np.array([[0, -1]] * 4 + [[1, -1]] * 6)
    loop.trace(arena, states, np.array(chances)[:, None], is_log)
    assert_array_equal(states[:, 1], [0, 0, 2, 2, 0, 0, 1, 1, 2, 2])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(0, 10**6))
def test_offsets_walk_all_cells_with_the_last_axis_fastest(shape, seed):
    rng = np.random.default_rng(seed)
    strides = rng.integers(0, 20, size=(len(shape), 2))
    pool = IndexPool()
    pool.add("before", np.arange(3, dtype=np.int32))
    axes = [(n, int(s), int(t)) for n, (s, t) in zip(shape, strides, strict=True)]
    start = pool.offsets(axes)
    found = pool.array()[start : start + 2 * int(np.prod(shape))].reshape(-1, 2)
    cells = np.array(list(np.ndindex(*shape)))
    assert_array_equal(found, cells @ strides)


def test_equal_lists_are_stored_once():
    pool = IndexPool()
    first = pool.offsets([(2, 1, 3)])
    size = pool.size
    assert pool.offsets([(2, 1, 3)]) == first
    assert pool.size == size
    assert pool.offsets([(2, 3, 1)]) == size
    assert pool.add("key", np.array([7], dtype=np.int32)) == size + 4
    assert pool.add("key", np.array([8], dtype=np.int32)) == size + 4
    assert_array_equal(pool.array(), [0, 0, 1, 3, 0, 0, 3, 1, 7, 0])


def test_no_axes_have_one_cell_at_the_start():
    pool = IndexPool()
    start = pool.offsets([])
    assert_array_equal(pool.array()[start : start + 2], [0, 0])

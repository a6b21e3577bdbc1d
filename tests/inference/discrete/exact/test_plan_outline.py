import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.inference.discrete.exact.plan import TablePlan
from credo.inference.discrete.exact.plan_outline import CELLS_PER_SECOND, Question, sketch
from credo.inference.discrete.exact.slicing import slice_variables
from credo.inference.discrete.factor_problem import FactorProblem, table_of
from credo.inference.engine.error import InferenceTooLarge


def grid(n, rng):
    """Return a square grid of fair-sized random pair tables over two states."""
    tables = []
    for i in range(n * n):
        near = [i + 1] * (i % n < n - 1) + [i + n] * (i < n * (n - 1))
        tables += [table_of((i, j), rng.random((2, 2)) + 0.1) for j in near]
    return FactorProblem((2,) * n**2, tuple(tables))


def random_problem(rng, n=7):
    n_states = tuple(int(k) for k in rng.integers(2, 6, size=n))
    tables = []
    for child in range(n):
        parents = np.flatnonzero(rng.random(child) < 0.45).tolist()
        values = rng.random([n_states[i] for i in (*parents, child)]) + 0.01
        tables.append(table_of((*parents, child), values))
    return FactorProblem(n_states, tuple(tables))


def held(plan):
    """Return the bytes of tables and offsets of a plan, and of its tables for one row."""
    plan.states(np.zeros((len(plan.sketch.question.observed), 1)))
    arrays = plan.program.fixed.nbytes + plan.program.index.nbytes
    walk = plan._walk[1].nbytes if plan.sketch.question.kind in ("best", "draw") else 0
    return arrays + walk + 8 * plan.sketch.place.moving_cells


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(0, 4),
    st.sampled_from(["marginals", "total", "joint", "best", "draw"]),
)
def test_the_memory_told_is_what_a_plan_holds_or_a_little_more(seed, n_observed, kind):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    observed = tuple(sorted(rng.permutation(7)[:n_observed].tolist()))
    hidden = tuple(i for i in range(7) if i not in observed)
    targets = hidden[:2] if kind == "joint" else hidden
    plan = TablePlan(sketch(problem, Question(kind, targets, observed)))
    found, told = held(plan), plan.sketch.bytes
    # A single one stands for missing tables beside those of the layout.
    assert found <= told + 8
    assert told <= 3 * found


def test_a_table_that_findings_are_read_from_counts_whole():
    table = table_of((0, 1), np.random.default_rng(0).random((1000, 2)))
    problem = FactorProblem((1000, 2), (table,))
    made = sketch(problem, Question("marginals", (1,), (0,)))
    assert made.place.moving_cells + made.place.fixed_cells < 10
    assert made.bytes >= table.values.nbytes


def test_a_plan_that_took_logs_tells_their_memory():
    tables = [table_of((i, i + 1), np.array([[1.0, 1e-130], [0.5, 1.0]])) for i in range(5)]
    plan = TablePlan(sketch(FactorProblem((2,) * 6, tuple(tables)), Question("total")))
    before = plan.n_bytes
    plan.run(np.zeros((0, 1)))
    assert plan.n_bytes == before + plan.program.fixed.nbytes


def test_many_small_operations_take_longer_than_their_cells():
    problem = grid(8, np.random.default_rng(1))
    observed = tuple(range(0, 64, 2))
    made = sketch(problem, Question("total", (), observed))
    assert made.seconds >= 5e-8 * len(made.steps.steps)
    assert made.seconds > 10 * made.cells / CELLS_PER_SECOND


def test_rows_side_by_side_are_told_to_be_quicker_if_they_fit():
    made = sketch(grid(8, np.random.default_rng(1)), Question("total", (), (0, 9, 18)))
    tile = 64 * made.place.moving_cells
    assert made.seconds_for(80, tile - 1) == pytest.approx(80 * made.seconds)
    assert made.seconds_for(80, tile) < 80 * made.seconds
    assert made.seconds_for(7, tile) == pytest.approx(7 * made.seconds)


def test_pieces_of_little_work_each_are_refused_when_their_number_takes_too_long():
    problem = grid(8, np.random.default_rng(2))
    whole = sketch(problem, Question("total"))
    small, sliced = slice_variables(problem, whole, 0.3 * whole.bytes, 60.0)
    work = 2 ** len(sliced) * small.cells / CELLS_PER_SECOND
    with pytest.raises(InferenceTooLarge):
        slice_variables(problem, whole, 0.3 * whole.bytes, 3 * work)

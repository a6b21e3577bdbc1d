""""""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from credo.graphs import ConditionalTable, Variable
from credo.inference.discrete.exact.plan import (
    CELLS_PER_SECOND,
    PlanCache,
    Question,
    TableAnswer,
    TablePlan,
    outline,
)
from credo.inference.discrete.exact_inference import TableInference, slice_variables
from credo.inference.discrete.factor_problem import FactorProblem, Table, table_of
from credo.inference.engine.error import InferenceTooLarge
from credo.inference.engine.findings import Findings
from credo.inference.hybrid.strong_inference import HybridStructure, RowProblem
from naive import joint_of

RNG = np.random.default_rng(0)


def random_problem(rng, n=6, zeros=0.2, is_directed=True):
    """Return a random Bayesian network or Markov random field over coded variables."""
    n_states = tuple(int(k) for k in rng.integers(2, 4, size=n))
    tables = []
    for child in range(n):
        parents = [int(i) for i in np.flatnonzero(rng.random(child) < 0.45)]
        values = rng.random([n_states[i] for i in (*parents, child)])
        values = np.where(rng.random(values.shape) < zeros, 0.0, values) + 1e-3 * (zeros == 0)
        if is_directed:
            values += 1e-9 * (values.sum(axis=-1, keepdims=True) == 0)
            values /= values.sum(axis=-1, keepdims=True)
        scope = tuple(int(i) for i in rng.permutation(len(parents) + 1))
        names = [(*parents, child)[i] for i in scope]
        tables.append(
            table_of(tuple(names), values.transpose(scope), child if is_directed else None)
        )
    return FactorProblem(n_states, tuple(tables))


def findings_of(rng, problem, joint, n_observed, n_rows):
    observed = tuple(
        sorted(int(i) for i in rng.permutation(len(problem.n_states))[:n_observed])
    )
    cells = rng.choice(joint.size, size=n_rows, p=joint.ravel() / joint.sum())
    states = np.array(np.unravel_index(cells, joint.shape))
    return observed, states[list(observed)]


def sliced(joint, observed, codes):
    cell = [slice(None)] * joint.ndim
    for i, code in zip(observed, codes, strict=True):
        cell[i] = int(code)
    return joint[tuple(cell)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.integers(0, 4), st.integers(1, 20))
def test_marginals_and_totals_equal_brute_force_row_by_row(
    seed, is_directed, n_observed, n_rows
):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, is_directed=is_directed)
    joint = joint_of(problem)
    if joint.sum() == 0:
        return
    observed, codes = findings_of(rng, problem, joint, n_observed, n_rows)
    free = [i for i in range(len(problem.n_states)) if i not in observed]
    plan = TablePlan(outline(problem, Question("marginals", tuple(free), observed)))
    answer = plan.run(codes)
    assert sorted(scope for scope, _ in plan.outputs) == [(i,) for i in free]
    for row in range(n_rows):
        rest = sliced(joint, observed, codes[:, row])
        assert_allclose(answer.log_total[row], np.log(rest.sum()), rtol=0, atol=1e-12)
        for scope, column in plan.program.outputs:
            axis = free.index(scope[0])
            expected = (
                rest.sum(axis=tuple(i for i in range(rest.ndim) if i != axis)) / rest.sum()
            )
            found = answer.columns[row, column : column + len(expected)]
            assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 3))
def test_a_joint_table_of_targets_equals_brute_force(seed, is_directed, n_targets):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, zeros=0.0, is_directed=is_directed)
    joint = joint_of(problem)
    observed, codes = findings_of(rng, problem, joint, 2, 3)
    free = [i for i in range(len(problem.n_states)) if i not in observed]
    targets = tuple(free[:n_targets])
    plan = TablePlan(outline(problem, Question("joint", targets, observed)))
    answer = plan.run(codes)
    ((scope, _),) = plan.program.outputs
    for row in range(3):
        rest = sliced(joint, observed, codes[:, row])
        expected = rest.sum(axis=tuple(range(n_targets, rest.ndim))) / rest.sum()
        found = answer.columns[row].reshape([problem.n_states[i] for i in scope])
        kept = [targets.index(i) for i in scope]
        shape = [problem.n_states[i] if i in scope else 1 for i in targets]
        spread = found.transpose(np.argsort(kept)).reshape(shape) * np.ones(expected.shape)
        assert_allclose(spread / spread.sum(), expected, rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_the_best_state_is_the_largest_cell_of_the_joint(seed, is_directed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, zeros=0.0, is_directed=is_directed)
    joint = joint_of(problem)
    observed, codes = findings_of(rng, problem, joint, 2, 2)
    everything = tuple(i for i in range(len(problem.n_states)) if i not in observed)
    plan = TablePlan(outline(problem, Question("best", everything, observed)))
    states, log_total = plan.states(codes)
    for row in range(2):
        top = sliced(joint, observed, codes[:, row]).max()
        assert_allclose(log_total[row], np.log(top), atol=1e-12)
        assert_allclose(joint[tuple(states[row, 0])], top, rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_the_best_state_of_some_variables_sums_over_the_others_first(seed, n_targets):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, zeros=0.0)
    joint = joint_of(problem)
    observed, codes = findings_of(rng, problem, joint, 2, 1)
    free = [i for i in range(len(problem.n_states)) if i not in observed]
    targets = tuple(free[-n_targets:])
    plan = TablePlan(outline(problem, Question("best", targets, observed)))
    states, log_total = plan.states(codes)
    rest = sliced(joint, observed, codes[:, 0])
    table = rest.sum(axis=tuple(range(len(free) - n_targets)))
    assert_allclose(log_total[0], np.log(table.max()), atol=1e-12)
    assert_allclose(table[tuple(states[0, 0, list(targets)])], table.max(), rtol=1e-12)


def test_draws_given_findings_have_the_frequencies_of_the_posterior():
    problem = random_problem(np.random.default_rng(3), n=5, zeros=0.1)
    joint = joint_of(problem)
    observed, codes = findings_of(np.random.default_rng(4), problem, joint, 1, 1)
    plan = TablePlan(outline(problem, Question("draw", (), observed)))
    n_draws = 40_000
    states, _ = plan.states(codes, rng=np.random.default_rng(5), n_draws=n_draws)
    rest = sliced(joint, observed, codes[:, 0])
    expected = rest / rest.sum()
    free = [i for i in range(5) if i not in observed]
    count = np.zeros(expected.shape)
    np.add.at(count, tuple(states[0][:, free].T), 1.0)
    error = np.sqrt(expected * (1 - expected) / n_draws)
    assert np.all(np.abs(count / n_draws - expected) <= 5 * error + 1e-12)
    assert np.all(states[0][:, observed[0]] == codes[0, 0])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_likelihoods_tilt_the_joint_row_by_row(seed, n_rows):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, zeros=0.0)
    free = tuple(range(1, len(problem.n_states)))
    joint = joint_of(problem)
    rows = rng.random((problem.n_states[0], n_rows)) + 0.05
    plan = TablePlan(outline(problem, Question("marginals", free, (), weighted=((0,),))))
    answer = plan.run(np.zeros((0, n_rows)), rows)
    assert sorted(scope for scope, _ in plan.outputs) == [(i,) for i in free]
    for row in range(n_rows):
        tilted = joint * rows[:, row].reshape([-1] + [1] * (joint.ndim - 1))
        assert_allclose(answer.log_total[row], np.log(tilted.sum()), atol=1e-12)
        for scope, column in plan.outputs:
            others = tuple(i for i in range(joint.ndim) if i != scope[0])
            expected = tilted.sum(axis=others) / tilted.sum()
            found = answer.columns[row, column : column + len(expected)]
            assert_allclose(found, expected, rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_a_likelihood_that_is_one_hot_is_an_observation_and_a_flat_one_is_none(
    seed, is_directed
):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, zeros=0.0, is_directed=is_directed)
    free, n_states = tuple(range(1, len(problem.n_states))), problem.n_states[0]
    tilted = TablePlan(outline(problem, Question("marginals", free, (), weighted=((0,),))))
    known = TablePlan(outline(problem, Question("marginals", free, (0,))))
    unknown = TablePlan(outline(problem, Question("marginals", free)))
    hot = tilted.run(np.zeros((0, n_states)), np.eye(n_states))
    seen = known.run(np.arange(n_states)[None])
    assert_same_answers(tilted, hot, known, seen)
    flat = tilted.run(np.zeros((0, 2)), np.full((n_states, 2), 0.25))
    none = unknown.run(np.zeros((0, 2)))
    assert_allclose(flat.log_total, none.log_total + np.log(0.25), atol=1e-12)
    assert_same_answers(tilted, TableAnswer(flat.columns, none.log_total), unknown, none)


def assert_same_answers(left, found, right, expected):
    assert_allclose(found.log_total, expected.log_total, rtol=1e-12, atol=1e-12)
    places = dict(right.outputs)
    assert {scope for scope, _ in left.outputs} == set(places)
    for scope, column in left.outputs:
        size, at = left.outline.n_states[scope[0]], places[scope]
        assert_allclose(
            found.columns[:, column : column + size],
            expected.columns[:, at : at + size],
            rtol=1e-12,
        )


@pytest.mark.parametrize("kind", ["best", "draw"])
def test_rows_of_all_kinds_in_one_call_get_the_states_they_get_alone(kind):
    # Variable 0 is copied by 1, barely leans on 2, and no table has 3.
    lean = np.array([[1.0, 1e-200], [1e-200, 1.0]])
    tables = (
        table_of((0,), np.array([0.3, 0.7])),
        Table((0, 1), np.eye(2)),
        Table((0, 2), lean),
    )
    problem = FactorProblem((2, 2, 2, 3), tables)
    question = Question(kind, (0, 3) if kind == "best" else (), (1, 2), ((0,),))
    plan = TablePlan(outline(problem, question))
    codes = np.array([[0, 1, 0, 1, 0, 1], [0, 1, 1, 0, 0, 1]])
    weight = np.array([[1.0, 1.0, 1.0, 0.5, 0.0, 1e-250], [1.0, 1.0, 1.0, 0.5, 1.0, 1.0]])
    rng = np.random.default_rng(0) if kind == "draw" else None
    states, total = plan.states(codes, weight, rng, 4 if kind == "draw" else 1)
    expected = np.log([0.3, 0.7, 0.3, 0.35, 1.0, 0.7])
    expected += np.log([1.0, 1.0, 1e-200, 1e-200, 1.0, 1.0]) + (kind == "draw") * np.log(3.0)
    expected[4] = -np.inf
    assert_allclose(total, expected, rtol=1e-12)
    assert np.all(states[4] == -1)
    possible = [0, 1, 2, 3, 5]
    assert np.all(states[possible][:, :, 0] == codes[0, possible, None])
    assert np.all(states[possible][:, :, 1] == codes[0, possible, None])
    assert np.all(states[possible][:, :, 2] == codes[1, possible, None])
    assert np.all((states[possible][:, :, 3] >= 0) & (states[possible][:, :, 3] < 3))


def test_impossible_rows_have_probability_zero_and_leave_their_neighbors_alone():
    copy = Table((0, 1), np.eye(2), child=1)
    problem = FactorProblem(
        (2, 2, 2),
        (
            table_of((0,), np.array([0.3, 0.7]), 0),
            copy,
            table_of((0, 2), np.array([[0.9, 0.1], [0.2, 0.8]]), 2),
        ),
    )
    plan = TablePlan(outline(problem, Question("marginals", (2,), (0, 1))))
    answer = plan.run(np.array([[0, 1, 0, 1, 1], [0, 0, 1, 1, 1]]))
    assert np.isneginf(answer.log_total).tolist() == [False, True, True, False, False]
    assert_allclose(np.exp(answer.log_total[[0, 3]]), [0.3, 0.7])
    assert np.isnan(answer.columns[[1, 2]]).all()
    assert_allclose(answer.columns[[0, 3]], [[0.9, 0.1], [0.2, 0.8]])


def naive_bayes(n_features, ratio):
    """Return a class and features that each favor the first state by ``ratio``."""
    table = np.array([[ratio, 1.0], [1.0, ratio]]) / (1.0 + ratio)
    features = [table_of((0, i + 1), table, i + 1) for i in range(n_features)]
    return FactorProblem(
        (2,) * (n_features + 1), (table_of((0,), np.array([0.4, 0.6]), 0), *features)
    )


@pytest.mark.parametrize("n_rows", [1, 16])
def test_thousands_of_conflicting_findings_balance_out_without_underflow(n_rows):
    n_features = 4000
    problem = naive_bayes(n_features, 9.0)
    observed = tuple(range(1, n_features + 1))
    plan = TablePlan(outline(problem, Question("marginals", (0,), observed)))
    codes = np.zeros((n_features, n_rows), dtype=int)
    codes[n_features // 2 :] = 1
    answer = plan.run(codes)
    assert_allclose(answer.columns, np.tile([0.4, 0.6], (n_rows, 1)), rtol=1e-9)
    expected = n_features / 2 * (np.log(0.9) + np.log(0.1))
    assert_allclose(answer.log_total, expected, rtol=1e-12)


def test_a_chain_of_five_thousand_observed_steps_equals_the_scaled_forward_recursion():
    rng = np.random.default_rng(1)
    n, move, emit = 5000, np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([[0.8, 0.2], [0.1, 0.9]])
    tables = [table_of((0,), np.array([0.5, 0.5]), 0)]
    tables += [table_of((i - 1, i), move, i) for i in range(1, n)]
    tables += [table_of((i, n + i), emit, n + i) for i in range(n)]
    problem = FactorProblem((2,) * (2 * n), tuple(tables))
    seen = rng.integers(0, 2, size=n)
    belief, total = np.array([0.5, 0.5]), 0.0
    for i in range(n):
        belief = (belief @ move if i else belief) * emit[:, seen[i]]
        total += np.log(belief.sum())
        belief /= belief.sum()
    plan = TablePlan(outline(problem, Question("marginals", (n - 1,), tuple(range(n, 2 * n)))))
    answer = plan.run(seen[:, None])
    assert_allclose(answer.log_total[0], total, rtol=1e-12)
    assert_allclose(answer.columns[0], belief, rtol=1e-12)


def test_variables_without_a_table_multiply_the_total_by_their_states():
    problem = FactorProblem((2, 3), (Table((0,), np.array([1.0, 0.5])),))
    plan = TablePlan(outline(problem, Question("total")))
    assert_allclose(plan.run(np.zeros((0, 1))).log_total, np.log(4.5))


def grid(n, rng):
    """Return a square grid of fair-sized random pair tables over two states."""
    tables = []
    for i in range(n * n):
        near = [i + 1] * (i % n < n - 1) + [i + n] * (i < n * (n - 1))
        tables += [table_of((i, j), rng.random((2, 2)) + 0.1) for j in near]
    return FactorProblem((2,) * n**2, tuple(tables))


def random_problem_of_plan_outline(rng, n=7):
    n_states = tuple(int(k) for k in rng.integers(2, 6, size=n))
    tables = []
    for child in range(n):
        parents = np.flatnonzero(rng.random(child) < 0.45).tolist()
        values = rng.random([n_states[i] for i in (*parents, child)]) + 0.01
        tables.append(table_of((*parents, child), values))
    return FactorProblem(n_states, tuple(tables))


def held(plan):
    """Return the bytes of tables and offsets of a plan, and of its tables for one row."""
    plan.states(np.zeros((len(plan.outline.question.observed), 1)))
    arrays = plan.program.fixed.nbytes + plan.program.index.nbytes
    walk = plan._walk[1].nbytes if plan.outline.question.kind in ("best", "draw") else 0
    return arrays + walk + 8 * plan.outline.place.moving_cells


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(0, 4),
    st.sampled_from(["marginals", "total", "joint", "best", "draw"]),
)
def test_the_memory_told_is_what_a_plan_holds_or_a_little_more(seed, n_observed, kind):
    rng = np.random.default_rng(seed)
    problem = random_problem_of_plan_outline(rng)
    observed = tuple(sorted(rng.permutation(7)[:n_observed].tolist()))
    hidden = tuple(i for i in range(7) if i not in observed)
    targets = hidden[:2] if kind == "joint" else hidden
    plan = TablePlan(outline(problem, Question(kind, targets, observed)))
    found, told = held(plan), plan.outline.bytes
    # A single one stands for missing tables beside those of the plan.
    assert found <= told + 8
    assert told <= 3 * found


def test_a_table_that_findings_are_read_from_counts_whole():
    table = table_of((0, 1), np.random.default_rng(0).random((1000, 2)))
    problem = FactorProblem((1000, 2), (table,))
    made = outline(problem, Question("marginals", (1,), (0,)))
    assert made.place.moving_cells + made.place.fixed_cells < 10
    assert made.bytes >= table.values.nbytes


def test_a_plan_that_took_logs_tells_their_memory():
    tables = [table_of((i, i + 1), np.array([[1.0, 1e-130], [0.5, 1.0]])) for i in range(5)]
    plan = TablePlan(outline(FactorProblem((2,) * 6, tuple(tables)), Question("total")))
    before = plan.n_bytes
    plan.run(np.zeros((0, 1)))
    assert plan.n_bytes == before + plan.program.fixed.nbytes


def test_many_small_operations_take_longer_than_their_cells():
    problem = grid(8, np.random.default_rng(1))
    observed = tuple(range(0, 64, 2))
    made = outline(problem, Question("total", (), observed))
    assert made.seconds >= 5e-8 * len(made.steps.steps)
    assert made.seconds > 10 * made.cells / CELLS_PER_SECOND


def test_rows_side_by_side_are_told_to_be_quicker_if_they_fit():
    made = outline(grid(8, np.random.default_rng(1)), Question("total", (), (0, 9, 18)))
    tile = 64 * made.place.moving_cells
    assert made.seconds_for(80, tile - 1) == pytest.approx(80 * made.seconds)
    assert made.seconds_for(80, tile) < 80 * made.seconds
    assert made.seconds_for(7, tile) == pytest.approx(7 * made.seconds)


def test_pieces_of_little_work_each_are_refused_when_their_number_takes_too_long():
    problem = grid(8, np.random.default_rng(2))
    whole = outline(problem, Question("total"))
    small, sliced = slice_variables(problem, whole, 0.3 * whole.bytes, 60.0)
    work = 2 ** len(sliced) * small.cells / CELLS_PER_SECOND
    with pytest.raises(InferenceTooLarge):
        slice_variables(problem, whole, 0.3 * whole.bytes, 3 * work)


@dataclass
class Plan:
    n_bytes: int


def filled(sizes, max_bytes, max_plans=64):
    cache = PlanCache(max_plans)
    for key, size in enumerate(sizes):
        cache.put(key, Plan(size), max_bytes)
    return cache


def test_the_oldest_plans_go_until_the_rest_fits_the_memory():
    cache = filled([40, 30, 30], max_bytes=70)
    assert [key in cache for key in range(3)] == [False, True, True]
    assert cache.n_bytes == 60


def test_a_plan_asked_for_again_outlives_one_that_was_not():
    cache = filled([30, 30], max_bytes=70)
    assert cache.get(0) is not None
    cache.put(2, Plan(30), 70)
    assert [key in cache for key in range(3)] == [True, False, True]


def test_no_more_plans_are_kept_than_allowed_however_small():
    cache = filled([1] * 10, max_bytes=1000, max_plans=3)
    assert len(cache) == 3
    assert cache.n_bytes == 3
    assert [key in cache for key in (6, 7, 8, 9)] == [False, True, True, True]


def test_the_latest_plan_stays_even_if_it_alone_is_too_large():
    cache = filled([10, 500], max_bytes=100)
    assert (0 in cache, 1 in cache, cache.n_bytes) == (False, True, 500)


def test_a_plan_that_grew_counts_with_its_new_size_when_the_next_one_is_made():
    cache, grows = filled([30, 30], max_bytes=100), Plan(30)
    cache.put("grows", grows, 100)
    grows.n_bytes = 55
    assert cache.n_bytes == 115
    cache.put("next", Plan(5), 100)
    assert [key in cache for key in (0, 1, "grows", "next")] == [False, True, True, True]
    assert cache.n_bytes == 90


def test_of_two_plans_for_one_key_the_first_is_kept():
    cache, first = PlanCache(), Plan(5)
    assert cache.put("a", first, 100) is first
    assert cache.put("a", Plan(7), 100) is first
    assert cache.n_bytes == 5


def test_what_is_unknown_is_none_and_copies_are_empty():
    cache = filled([1, 2], max_bytes=100, max_plans=5)
    assert cache.get("other") is None
    for twin in (pickle.loads(pickle.dumps(cache)), copy.deepcopy(cache)):
        assert (len(twin), twin.n_bytes, twin.max_plans) == (0, 0, 5)


def test_threads_that_share_a_cache_leave_its_total_true():
    cache = PlanCache(max_plans=5)

    def work(seed):
        rng = np.random.default_rng(seed)
        for key in rng.integers(20, size=2000).tolist():
            if cache.get(key) is None:
                cache.put(key, Plan(key + 1), 60.0)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(cache) <= 5
    assert cache.n_bytes == sum(key + 1 for key in range(20) if key in cache)


def chain(n, rng):
    tables = [table_of((i, i + 1), rng.random((4, 4)) + 0.1) for i in range(n - 1)]
    return FactorProblem((4,) * n, tuple(tables))


def test_plans_of_many_questions_take_no_more_than_the_memory_allowed_together():
    problem = chain(12, np.random.default_rng(0))
    one = TableInference(problem)
    one.plan(Question("marginals", tuple(range(1, 12)), (0,)))
    engine = TableInference(problem, max_bytes=3.5 * one.n_bytes)
    kept = set()
    for i in range(12):
        engine.plan(Question("marginals", tuple(j for j in range(12) if j != i), (i,)))
        assert engine.n_bytes <= engine.limit
        kept.add(len(engine.plans))
    assert max(kept) < 12


def test_threads_that_ask_one_engine_get_what_one_thread_gets():
    problem = chain(8, np.random.default_rng(1))
    expected = [TableInference(problem).total(known(i))[0] for i in range(8)]
    shared = TableInference(problem)
    shared.plans.max_plans = 2
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: shared.total(known(i % 8))[0], range(160)))
    assert_allclose(found, np.tile(expected, 20), rtol=1e-12)


def known(variable):
    return Findings(1, {variable: np.array([1])})


def test_hybrid_networks_keep_their_plans_within_the_memory_too():
    variables = [Variable(f"v{i}", tuple(range(8))) for i in range(12)]
    uniform = np.full(8, 1 / 8)
    nodes = [ConditionalTable(variables[0], (), uniform)]
    for parent, child in pairwise(variables):
        nodes.append(ConditionalTable(child, (parent,), np.tile(uniform, (8, 1))))
    structure = HybridStructure(nodes, max_bytes=20_000)
    for i in range(12):
        plans = structure.discrete(nodes[: i + 1])
        plans.total(RowProblem(1, {}, ()))
        assert structure.discrete(nodes[: i + 1]) is plans
    assert len(structure._plans) < 12
    assert structure._plans.n_bytes <= 20_000

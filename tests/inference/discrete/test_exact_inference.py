import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from credo.inference.discrete import exact_inference
from credo.inference.discrete.exact.plan import Question, TablePlan, outline
from credo.inference.discrete.exact_inference import (
    SlicedPlan,
    TableInference,
    slice_variables,
)
from credo.inference.discrete.factor_problem import FactorProblem, table_of
from credo.inference.engine.error import InferenceTooLarge
from credo.inference.engine.findings import Findings
from naive import joint_of


def random_problem(rng, n=7, zeros=0.0, is_directed=False):
    """Return tables over two or three random variables each, connected in a chain at least."""
    n_states = tuple(int(k) for k in rng.integers(2, 4, size=n))
    tables = []
    for child in range(n):
        others = [i for i in range(child) if i == child - 1 or rng.random() < 0.3]
        scope = (*others, child)
        values = rng.gamma(0.7, 1.0, size=[n_states[i] for i in scope]) + 1e-3
        values = np.where(rng.random(values.shape) < zeros, 0.0, values)
        if is_directed:
            values += values.sum(axis=-1, keepdims=True) == 0
            values /= values.sum(axis=-1, keepdims=True)
        tables.append(table_of(scope, values, child if is_directed else None))
    return FactorProblem(n_states, tuple(tables))


def in_pieces(problem, question, share):
    """Return the plan of a question in pieces that take a share of the memory of the whole.

    Where no pieces are that small, the share is raised until some are.
    """
    whole = outline(problem, question)
    try:
        small, sliced = slice_variables(problem, whole, share * whole.bytes, 60.0)
    except InferenceTooLarge:
        if share > 0.85:
            raise
        return in_pieces(problem, question, share + 0.1)
    assert small.bytes <= share * whole.bytes
    return SlicedPlan(TablePlan(small), question, sliced, problem.n_states)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0.3, 0.5, 0.8]))
def test_marginals_in_pieces_equal_those_of_the_whole(seed, is_directed, share):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, zeros=0.1, is_directed=is_directed)
    question = Question("marginals", tuple(range(1, 7)), (0,))
    codes = rng.integers(problem.n_states[0], size=(1, 3))
    whole = TablePlan(outline(problem, question))
    pieces = in_pieces(problem, question, share)
    assert pieces.sliced
    expected, found = whole.run(codes), pieces.run(codes)
    assert_allclose(found.log_total, expected.log_total, rtol=1e-11, atol=1e-12)
    assert found.columns.shape == (3, pieces.n_outputs)
    places = {scope[0]: at for scope, at in pieces.outputs}
    for scope, column in whole.outputs:
        (variable,), size = scope, problem.n_states[scope[0]]
        assert_allclose(
            found.columns[:, places[variable] : places[variable] + size],
            expected.columns[:, column : column + size],
            rtol=1e-10,
            atol=1e-13,
        )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0.3, 0.5, 0.8]))
def test_joint_tables_in_pieces_equal_brute_force(seed, is_directed, share):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, is_directed=is_directed)
    targets = tuple(sorted(int(i) for i in rng.choice(7, 2, replace=False)))
    observed = tuple(i for i in (0,) if i not in targets)
    question = Question("joint", targets, observed)
    try:
        plan = in_pieces(problem, question, share)
    except InferenceTooLarge:
        return
    joint = joint_of(problem)
    codes = np.zeros((len(observed), 1), dtype=int)
    kept = joint[:1] if observed else joint
    expected = kept.sum(axis=tuple(i for i in range(7) if i not in targets))
    ((scope, _),) = plan.outputs
    found = plan.run(codes).columns[0].reshape([problem.n_states[i] for i in scope])
    found = found if scope == targets else found.T
    assert_allclose(found, expected / expected.sum(), rtol=1e-10)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from([0.3, 0.5, 0.8]))
def test_the_best_state_of_some_variables_in_pieces_equals_brute_force(seed, n_targets, share):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    targets = tuple(sorted(int(i) for i in rng.choice(7, n_targets, replace=False)))
    question = Question("best", targets)
    try:
        plan = in_pieces(problem, question, share)
    except InferenceTooLarge:
        return
    assert set(plan.sliced) <= set(targets)
    table = joint_of(problem).sum(axis=tuple(i for i in range(7) if i not in targets))
    states, total = plan.states(np.zeros((0, 1)))
    assert_allclose(total[0], np.log(table.max()), rtol=1e-10, atol=1e-12)
    assert_allclose(table[tuple(states[0, 0, list(targets)])], table.max(), rtol=1e-12)


def test_draws_in_pieces_have_the_frequencies_of_the_density():
    problem = random_problem(np.random.default_rng(0), n=4)
    joint = joint_of(problem)
    plan = in_pieces(problem, Question("draw"), 0.6)
    n = 20_000
    states, total = plan.states(np.zeros((0, 1)), rng=np.random.default_rng(1), n_draws=n)
    assert_allclose(total[0], np.log(joint.sum()), rtol=1e-12)
    count = np.zeros(joint.shape)
    np.add.at(count, tuple(states[0].T), 1.0)
    expected = joint / joint.sum()
    assert np.all(np.abs(count / n - expected) <= 5 * np.sqrt(expected * (1 - expected) / n))


def test_more_pieces_than_fit_in_one_batch_are_averaged():
    # A loop of twelve of which eleven are fixed: 2048 pieces, the first ones of little weight.
    rng = np.random.default_rng(3)
    tables = [table_of((i, (i + 1) % 12), rng.random((2, 2)) + 0.1) for i in range(12)]
    problem = FactorProblem((2,) * 12, (*tables, table_of((0,), np.array([0.02, 1.0]))))
    question, sliced = Question("marginals", tuple(range(12))), tuple(range(11))
    small = outline(problem, Question("marginals", (11,), sliced, sliced=sliced))
    plan = SlicedPlan(TablePlan(small), question, sliced, problem.n_states)
    found, whole = plan.run(np.zeros((0, 2))), TablePlan(outline(problem, question))
    expected = whole.run(np.zeros((0, 2)))
    assert_allclose(found.log_total, expected.log_total, rtol=1e-12)
    places = {scope[0]: column for scope, column in whole.outputs}
    assert len(plan.outputs) == 12
    for (variable,), column in plan.outputs:
        at = places[variable]
        assert_allclose(
            found.columns[:, column : column + 2], expected.columns[:, at : at + 2], rtol=1e-10
        )


def test_impossible_rows_stay_impossible_in_pieces():
    rng = np.random.default_rng(4)
    problem = random_problem(rng)
    tables = (*problem.tables, table_of((0,), np.eye(problem.n_states[0])[0]))
    problem = FactorProblem(problem.n_states, tables)
    plan = in_pieces(problem, Question("marginals", tuple(range(1, 7)), (0,)), 0.5)
    found = plan.run(np.array([[1, 0]]))
    assert np.isneginf(found.log_total).tolist() == [True, False]
    assert np.isnan(found.columns[0]).all()
    assert np.isfinite(found.columns[1]).all()
    states, total = plan.states(np.array([[1]]), rng=np.random.default_rng(0), n_draws=2)
    assert np.all(states == -1)
    assert total[0] == -np.inf


def test_likelihoods_tilt_every_piece():
    rng = np.random.default_rng(5)
    problem = random_problem(rng)
    question = Question("marginals", tuple(range(7)), (), ((2,),))
    plan = in_pieces(problem, question, 0.5)
    assert 2 not in plan.sliced
    weight = rng.random((problem.n_states[2], 2))
    found = plan.run(np.zeros((0, 2)), weight)
    for row in range(2):
        shape = [-1 if i == 2 else 1 for i in range(7)]
        tilted = joint_of(problem) * weight[:, row].reshape(shape)
        assert_allclose(found.log_total[row], np.log(tilted.sum()), rtol=1e-11)
        for (variable,), column in plan.outputs:
            others = tuple(i for i in range(7) if i != variable)
            size = problem.n_states[variable]
            assert_allclose(
                found.columns[row, column : column + size],
                tilted.sum(axis=others) / tilted.sum(),
                rtol=1e-10,
            )


def test_pieces_that_would_take_too_long_are_refused_with_the_cost_of_the_whole():
    problem = random_problem(np.random.default_rng(6))
    whole = outline(problem, Question("total"))
    with pytest.raises(InferenceTooLarge) as caught:
        slice_variables(problem, whole, whole.bytes / 2, 1e-12)
    assert (caught.value.cells, caught.value.bytes) == (whole.cells, whole.bytes)
    with pytest.raises(InferenceTooLarge):
        slice_variables(problem, whole, 1.0, 60.0)


def test_a_question_that_no_plan_fits_is_not_searched_for_twice(monkeypatch):
    problem = random_problem(np.random.default_rng(6))
    tables = TableInference(problem, max_bytes=1.0)
    with pytest.raises(InferenceTooLarge) as first:
        tables.plan(Question("total"))
    monkeypatch.setattr(TableInference, "outline", None)
    with pytest.raises(InferenceTooLarge) as again:
        tables.plan(Question("total"))
    assert str(again.value) == str(first.value)
    assert again.value is not first.value


def grid_problem(n, n_states=2):
    """Return tables along the edges of a square grid, which no order eliminates cheaply."""
    rng = np.random.default_rng(n)
    number = np.arange(n * n).reshape(n, n)
    pairs = [*zip(number[:, :-1].ravel(), number[:, 1:].ravel(), strict=True)]
    pairs += zip(number[:-1].ravel(), number[1:].ravel(), strict=True)
    tables = [
        table_of((int(a), int(b)), rng.uniform(0.1, 1.0, (n_states, n_states)))
        for a, b in pairs
    ]
    return FactorProblem((n_states,) * n * n, tuple(tables))


def given_states(*variables):
    return Findings(1, {i: np.array([0]) for i in variables})


def test_the_order_of_a_large_problem_is_sought_once_for_all_sets_of_findings(monkeypatch):
    sought = []
    real = exact_inference.elimination_of_whole
    monkeypatch.setattr(
        exact_inference, "elimination_of_whole", lambda p: sought.append(p) or real(p)
    )
    engine = TableInference(grid_problem(10))
    for known in ((0,), (5, 17), (99,)):
        engine.marginals(given_states(*known), [50])
    assert len(sought) == 1
    small = TableInference(grid_problem(4))
    small.marginals(given_states(0), [5])
    assert len(sought) == 1


def test_an_answer_does_not_depend_on_what_was_asked_before():
    problem = grid_problem(10)
    fresh, busy = TableInference(problem), TableInference(problem)
    busy.total(given_states(3))
    busy.marginals(given_states(40, 41), [7, 8])
    expected = fresh.marginals(given_states(0, 99), [50, 51])
    found = busy.marginals(given_states(0, 99), [50, 51])
    for i in (50, 51):
        assert found.probability[i].tobytes() == expected.probability[i].tobytes()
    assert found.log_total.tobytes() == expected.log_total.tobytes()


def test_short_and_long_searches_give_the_same_answers():
    problem = grid_problem(10)
    question = Question("marginals", tuple(range(50)), (60,))
    plans = [
        TablePlan(made)
        for made in (TableInference(problem).outline(question), outline(problem, question))
    ]
    quick, slow = (plan.run(np.array([[1]])) for plan in plans)
    place = {scope: column for scope, column in plans[1].outputs}
    for scope, column in plans[0].outputs:
        expected = slow.columns[0, place[scope] : place[scope] + 2]
        assert_allclose(quick.columns[0, column : column + 2], expected, rtol=1e-10)
    assert len(place) == 50
    assert_allclose(quick.log_total, slow.log_total, rtol=1e-12)


def test_what_does_not_fit_after_a_short_search_is_sought_longer(monkeypatch):
    """The limit lies between what the two searches find, so that only the long one fits."""
    problem, question = grid_problem(9), Question("total")
    monkeypatch.setattr(exact_inference, "SHORT_SEARCH", 0.0)
    short, long = outline(problem, question, 0.0).bytes, outline(problem, question).bytes
    assert long < short
    assert TableInference(problem, max_bytes=short).outline(question).bytes == short
    between = TableInference(problem, max_bytes=(long + short) / 2)
    assert between.outline(question).bytes == long
    assert isinstance(between.plan(question), TablePlan)


def test_many_rows_of_one_question_are_worth_a_long_search_for_an_order(monkeypatch):
    efforts = []

    def recorded(problem, question, effort=1.0, whole_order=None):
        efforts.append(effort)
        return outline(problem, question, effort, whole_order)

    monkeypatch.setattr(exact_inference, "outline", recorded)
    problem = random_problem(np.random.default_rng(0))
    n_states = problem.n_states
    rows = np.stack(np.unravel_index(np.arange(np.prod(n_states[:5])), n_states[:5]), axis=1)
    assert len(rows) >= exact_inference.MANY_ROWS
    for some in (rows[:1], rows):
        findings = Findings(len(some), {i: some[:, i] for i in range(5)})
        TableInference(problem).marginals(findings, [6])
    assert efforts == [exact_inference.SHORT_SEARCH, 1.0]

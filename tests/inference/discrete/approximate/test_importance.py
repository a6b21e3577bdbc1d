from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from credo.inference.discrete.approximate.flat_problem import NoPossibleState
from credo.inference.discrete.approximate.importance import (
    ImportanceState,
    ImportanceStep,
    TableImportance,
    Updates,
)
from credo.inference.discrete.factor_problem import FactorProblem, table_of
from credo.inference.engine.engine import ConvergenceWarning, Progress, run
from credo.numerics.status import Status
from naive import loopy_problem


def enumerated(problem):
    states = np.array(list(product(*map(range, problem.n_states))))
    density = problem.log_density(states)
    log_partition = special.logsumexp(density)
    weight = np.exp(density - log_partition)
    return log_partition, [
        np.bincount(states[:, i], weights=weight, minlength=n)
        for i, n in enumerate(problem.n_states)
    ]


@pytest.mark.parametrize("share_of_zeros", [0.0, 0.25])
@pytest.mark.parametrize("seed", range(6))
def test_marginals_and_log_partition_are_within_monte_carlo_error(seed, share_of_zeros):
    problem = loopy_problem(seed, share_of_zeros)
    log_partition, marginals = enumerated(problem)
    found = run(TableImportance(tolerance=0.01), problem, np.random.default_rng(0))
    posterior = found.posterior
    for ours, exact, error in zip(
        posterior.probability, marginals, posterior.standard_error, strict=True
    ):
        assert np.all(np.abs(ours - exact) <= 4 * error + 1e-12)
    off = abs(found.log_evidence - log_partition)
    assert off <= 4 * posterior.log_partition_error + 1e-9
    assert found.evidence_method == "importance"
    assert found.effective_draws <= posterior.n_draws * (1 + 1e-12)


def test_on_a_forest_all_weights_are_equal():
    rng = np.random.default_rng(0)
    chain = [table_of((i, i + 1), rng.random((3, 3))) for i in range(5)]
    problem = FactorProblem((3,) * 6, tuple(chain))
    found = run(TableImportance(), problem, np.random.default_rng(0))
    assert_allclose(found.log_evidence, enumerated(problem)[0], rtol=1e-10)
    assert_allclose(found.effective_draws, found.posterior.n_draws)


def test_islands_that_trap_a_gibbs_chain_are_all_visited():
    same = [table_of((i, (i + 1) % 4), np.eye(3)) for i in range(4)]
    problem = FactorProblem((3,) * 4, (*same, table_of((0,), np.array([1.0, 2.0, 5.0]))))
    found = run(TableImportance(tolerance=0.01), problem, np.random.default_rng(0))
    posterior = found.posterior
    off = np.abs(posterior.probability[3] - [1 / 8, 2 / 8, 5 / 8])
    assert np.all(off <= 4 * posterior.standard_error[3])
    assert abs(found.log_evidence - np.log(8)) <= 4 * posterior.log_partition_error + 1e-9


def test_dead_ends_count_as_draws_of_weight_zero():
    different = [table_of(pair, 1.0 - np.eye(3)) for pair in ((0, 1), (1, 2), (2, 0), (2, 3))]
    problem = FactorProblem((3,) * 4, (*different, table_of((0, 3), np.eye(3))))
    found = run(TableImportance(tolerance=0.01), problem, np.random.default_rng(0))
    assert abs(found.log_evidence - np.log(6)) <= 4 * found.posterior.log_partition_error + 1e-9


def test_standard_errors_follow_the_draws():
    problem = loopy_problem(1, 0.0)
    with pytest.warns(ConvergenceWarning):
        few = run(
            TableImportance(n_draws=1000, tolerance=0.0), problem, np.random.default_rng(0)
        )
    with pytest.warns(ConvergenceWarning):
        many = run(
            TableImportance(n_draws=16_000, tolerance=0.0), problem, np.random.default_rng(0)
        )
    assert_allclose(few.error / many.error, 4.0, rtol=0.15)


def test_a_weight_that_outweighs_all_others_does_not_promise_certainty():
    nothing, is_free = np.zeros(3), np.array([True, True, False])
    state = ImportanceState(np.zeros(0), is_free, 0, -np.inf, 0.0, 0.0, nothing, nothing)
    cell = np.array([[0, 2], [1, 2], [0, 2]])
    one = state.with_draws(np.array([0.0, -400.0, -400.0]), cell)
    assert_allclose(one.standard_error, [1.0, 1.0, 0.0])
    equal = state.with_draws(np.zeros(3), cell)
    assert_allclose(equal.standard_error[0], np.sqrt(2 / 27 + 1 / 9))


def test_sums_do_not_depend_on_the_unit_of_weights_or_the_order_of_blocks():
    rng = np.random.default_rng(0)
    nothing, is_free = np.zeros(2), np.array([True, True])
    start = ImportanceState(np.zeros(0), is_free, 0, -np.inf, 0.0, 0.0, nothing, nothing)
    weight, cell = 30 * rng.normal(size=40) - 900, rng.integers(2, size=(40, 1))
    dead = start.with_draws(np.full(5, -np.inf), cell[:5])
    assert dead.log_mean_weight == -np.inf
    whole = start.with_draws(weight, cell)
    late = dead.with_draws(weight, cell)
    assert_allclose(late.log_mean_weight, whole.log_mean_weight - np.log(45 / 40))
    assert_allclose(late.with_draws(np.full(5, -np.inf), cell[:5]).total, whole.total)
    parts = start.with_draws(weight[:9], cell[:9]).with_draws(weight[9:], cell[9:])
    other = start.with_draws(weight[9:], cell[9:]).with_draws(weight[:9], cell[:9])
    for each in (parts, other):
        assert_allclose(each.log_mean_weight, whole.log_mean_weight)
        assert_allclose(each.standard_error, whole.standard_error)
        assert_allclose(each.probability, whole.probability)


def test_contradictions_are_refused():
    tables = (table_of((0, 1), np.eye(2)), table_of((0,), np.array([1.0, 0.0])))
    contradiction = (*tables, table_of((1,), np.array([0.0, 1.0])))
    with pytest.raises(NoPossibleState):
        run(TableImportance(), FactorProblem((2, 2), contradiction), np.random.default_rng(0))


def grid(side, coupling):
    pair = np.exp(coupling * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    places = np.arange(side * side).reshape(side, side)
    edges = [*zip(places[:, :-1].ravel(), places[:, 1:].ravel(), strict=True)]
    edges += [*zip(places[:-1].ravel(), places[1:].ravel(), strict=True)]
    tables = tuple(table_of((int(i), int(j)), pair) for i, j in edges)
    return FactorProblem((2,) * (side * side), tables)


def test_a_large_grid_is_given_up_once_one_draw_has_nearly_all_weight():
    problem = grid(60, 0.4)
    engine = TableImportance(n_sweeps=2)
    with pytest.warns(ConvergenceWarning, match="hardly any weight .* Use another method"):
        found = run(engine, problem, np.random.default_rng(0))
    assert found.status is Status.WORTHLESS
    assert found.trace[-1].n_updates == found.posterior.n_draws * 3600 < 4_000_000
    assert found.effective_draws < 5


def test_rare_draws_of_a_small_network_are_waited_for():
    draws = [(1000, 1.2), (10_000, 5.0)]
    for n, worth in draws:
        step = ImportanceStep(0.0, 0.5, n, worth, 10 * n)
        assert Updates(20_000_000).status(Progress(1, step)) is None
    dead = ImportanceStep(0.0, np.inf, 10_000, 0.0, 5_000_000)
    assert Updates(20_000_000).status(Progress(1, dead)) is None
    done = ImportanceStep(0.0, 0.1, 10_000, 2000.0, 20_000_000)
    assert Updates(20_000_000).status(Progress(1, done)) is Status.MAX_DRAWS

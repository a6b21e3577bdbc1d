import warnings
from itertools import combinations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from credo.inference.discrete.approximate.belief_propagation import LoopyBeliefPropagation
from credo.inference.discrete.approximate.flat_problem import NoPossibleState
from credo.inference.discrete.factor_problem import FactorProblem, table_of
from credo.inference.engine.engine import ConvergenceWarning, run
from credo.numerics.status import Status
from naive import roof_problem

MAX = LoopyBeliefPropagation(semiring="max")


def enumerated(problem):
    """Return log partition, marginals and the largest log density, from all joint states."""
    states = np.array(list(product(*map(range, problem.n_states))))
    density = problem.log_density(states)
    log_partition = special.logsumexp(density)
    weight = np.exp(density - log_partition)
    marginals = [
        np.bincount(states[:, i], weights=weight, minlength=n)
        for i, n in enumerate(problem.n_states)
    ]
    return log_partition, marginals, density.max()


def random_problem(rng, scopes, n_states, share_of_zeros=0.0):
    tables = []
    for scope in scopes:
        values = 10 * rng.random([n_states[i] for i in scope])
        values[rng.random(values.shape) < share_of_zeros] = 0.0
        tables.append(table_of(scope, values))
    return FactorProblem(tuple(n_states), tuple(tables))


def random_forest(rng, share_of_zeros=0.0):
    n_states = rng.integers(1, 4, size=7).tolist()
    scopes = [(0, 1, 2), (2, 3), (1,), (4, 1), (5, 6), (6,)]
    return random_problem(rng, scopes, n_states, share_of_zeros)


def grid(n, coupling, rng):
    """Return binary spins on an n by n grid with random fields."""
    at = np.arange(n * n).reshape(n, n)
    left, right = (
        np.concatenate([a.ravel(), b.ravel()])
        for a, b in ((at[:, :-1], at[:-1]), (at[:, 1:], at[1:]))
    )
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    table = np.exp(coupling * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    fields = [table_of((i,), np.exp(rng.normal(size=2))) for i in range(n * n)]
    return FactorProblem((2,) * (n * n), (*fields, *(table_of(pair, table) for pair in pairs)))


@pytest.mark.parametrize("seed", range(12))
def test_on_a_forest_marginals_and_log_partition_are_exact(seed):
    problem = random_forest(np.random.default_rng(seed), 0.15 * (seed % 2))
    log_partition, marginals, _ = enumerated(problem)
    found = run(LoopyBeliefPropagation(), problem)
    assert found.evidence_method == "exact"
    assert found.error_kind == "exact"
    assert len(found.trace) == 2
    assert_allclose(found.log_evidence, log_partition, rtol=1e-12)
    for ours, exact in zip(found.posterior.probability, marginals, strict=True):
        assert_allclose(ours, exact, atol=1e-13)


@pytest.mark.parametrize("seed", range(12))
def test_on_a_forest_the_largest_product_is_the_mode(seed):
    problem = random_forest(np.random.default_rng(seed), 0.15 * (seed % 2))
    found = run(MAX, problem)
    assert_allclose(found.posterior.log_density, enumerated(problem)[2], rtol=1e-12)
    states = found.posterior.states[None]
    assert_allclose(problem.log_density(states)[0], found.posterior.log_density, rtol=1e-12)
    assert found.evidence_method == "none"


def test_the_climber_on_the_roof_is_found_exactly():
    given = roof_problem().given({3: 1, 4: 1})
    found = run(LoopyBeliefPropagation(), given)
    assert_allclose(found.posterior.probability[0][1], 0.327636754, atol=5e-10)
    assert_allclose(np.exp(found.log_evidence), 0.08738624, rtol=1e-12)
    assert [len(p) for p in found.posterior.probability] == [2, 2, 2, 1, 1]


def test_an_observed_chain_of_five_thousand_steps_does_not_underflow():
    rng = np.random.default_rng(0)
    n = 5000
    step = np.array([[0.9, 0.1], [0.3, 0.7]])
    likelihood = rng.random((n, 2)) * 1e-3
    tables = [table_of((i, i + 1), step) for i in range(n - 1)]
    problem = FactorProblem((2,) * n, tuple(tables)).weighted(dict(enumerate(likelihood)))
    forward, log_partition = likelihood[0].copy(), 0.0
    for row in likelihood[1:]:
        total = forward.sum()
        log_partition += np.log(total)
        forward = (forward / total) @ step * row
    found = run(LoopyBeliefPropagation(), problem)
    assert found.evidence_method == "exact"
    assert_allclose(found.log_evidence, log_partition + np.log(forward.sum()), rtol=1e-12)
    assert_allclose(found.posterior.probability[-1], forward / forward.sum(), rtol=1e-9)


def test_on_one_loop_the_largest_product_is_the_mode_and_marginals_are_near():
    rng = np.random.default_rng(5)
    problem = random_problem(rng, [(0, 1), (1, 2), (2, 3), (3, 0)], [2] * 4)
    log_partition, marginals, top = enumerated(problem)
    found = run(LoopyBeliefPropagation(), problem)
    assert found.evidence_method == "bethe"
    assert found.error_kind == "largest change of a message"
    assert found.error <= 1e-8
    assert abs(found.log_evidence - log_partition) < 0.05
    for ours, exact in zip(found.posterior.probability, marginals, strict=True):
        assert_allclose(ours, exact, atol=0.05)
    assert_allclose(run(MAX, problem).posterior.log_density, top)


def test_a_binary_ring_has_the_bethe_partition_of_its_largest_eigenvalue():
    # Messages around a ring are powers of one matrix; Bethe keeps its largest eigenvalue.
    table = np.array([[2.0, 0.5], [0.7, 1.5]])
    ring = [table_of((i, (i + 1) % 5), table) for i in range(5)]
    found = run(LoopyBeliefPropagation(), FactorProblem((2,) * 5, tuple(ring)))
    largest = np.abs(np.linalg.eigvals(table)).max()
    assert_allclose(found.log_evidence, 5 * np.log(largest), rtol=1e-9)


def test_a_weakly_coupled_grid_is_nearly_exact():
    problem = grid(4, 0.15, np.random.default_rng(1))
    log_partition, marginals, _ = enumerated(problem)
    found = run(LoopyBeliefPropagation(), problem)
    assert abs(found.log_evidence - log_partition) < 0.01
    for ours, exact in zip(found.posterior.probability, marginals, strict=True):
        assert_allclose(ours, exact, atol=0.005)


def test_ten_thousand_spins_settle():
    found = run(LoopyBeliefPropagation(), grid(100, 0.3, np.random.default_rng(0)))
    assert found.status is Status.CONVERGED
    assert np.isfinite(found.log_evidence)


def test_messages_that_do_not_settle_are_said_not_to():
    problem = grid(4, 1.5, np.random.default_rng(2))
    with pytest.warns(ConvergenceWarning, match="LoopyBeliefPropagation"):
        found = run(LoopyBeliefPropagation(max_steps=2), problem)
    assert found.error == found.trace[-1].change > 1e-8


def test_a_run_goes_on_from_where_it_stopped():
    problem = grid(3, 0.4, np.random.default_rng(3))
    with pytest.warns(ConvergenceWarning):
        first = run(LoopyBeliefPropagation(max_steps=3), problem)
    second = run(LoopyBeliefPropagation(), problem, state=first.state)
    whole = run(LoopyBeliefPropagation(), problem)
    assert len(second.trace) + 3 == len(whole.trace)
    assert second.log_evidence == whole.log_evidence


@pytest.mark.parametrize("engine", [LoopyBeliefPropagation(), MAX])
def test_contradictions_are_refused(engine):
    different = table_of((0, 1), 1.0 - np.eye(2))
    same = table_of((0, 1), np.eye(2))
    first, second = (table_of((i,), np.array([1.0, 0.0])) for i in range(2))
    for tables in ((different, first, second), (same, table_of((0,), np.zeros(2)))):
        with pytest.raises(NoPossibleState, match="contradict"):
            run(engine, FactorProblem((2, 2), tables))


def test_variables_without_tables_are_uniform():
    found = run(LoopyBeliefPropagation(), FactorProblem((2, 3), (table_of((0,), np.ones(2)),)))
    assert_allclose(found.posterior.probability[1], 1 / 3)
    assert_allclose(found.log_evidence, np.log(6))


def test_settings_out_of_range_are_refused():
    with pytest.raises(ValueError, match="damping must be from 0 to below 1; found 1"):
        LoopyBeliefPropagation(damping=1.0)
    with pytest.raises(ValueError, match="semiring must be 'sum' or 'max'"):
        LoopyBeliefPropagation(semiring="min")


@pytest.mark.parametrize("seed", [1, 5, 6, 9, 13])
def test_a_mode_is_possible_though_no_reading_of_the_messages_is(seed):
    rng = np.random.default_rng(seed)
    pairs = combinations(range(5), 2)
    tables = [(pair, rng.choice([0.0, 1.0], size=(3, 3), p=[0.4, 0.6])) for pair in pairs]
    problem = FactorProblem((3,) * 5, tuple(table_of(pair, t) for pair, t in tables if t.any()))
    states = np.array(list(product(range(3), repeat=5)))
    assert 0 < np.isfinite(problem.log_density(states)).sum() < 10
    engine = LoopyBeliefPropagation("max", max_steps=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = run(engine, problem).posterior
    assert np.isfinite(found.log_density)
    assert_allclose(problem.log_density(found.states[None]), found.log_density)

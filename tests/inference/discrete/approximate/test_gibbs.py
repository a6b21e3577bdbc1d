""""""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.discrete.approximate.flat_problem import NoPossibleState
from credo.inference.discrete.approximate.gibbs import (
    ReducibleChainWarning,
    TableGibbs,
    gibbs_draws,
    gibbs_draws_given,
)
from credo.inference.discrete.factor_problem import FactorProblem, table_of
from credo.inference.engine.engine import ConvergenceWarning, StandardError, run
from credo.inference.engine.findings import Findings
from naive import roof_problem


def sprinkler():
    """Return cloudy, sprinkler, rain and wet of worked example W20."""
    wet = np.array([[[1.0, 0.0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]])
    return FactorProblem(
        (2,) * 4,
        (
            table_of((0,), np.array([0.5, 0.5]), 0),
            table_of((0, 1), np.array([[0.5, 0.5], [0.9, 0.1]]), 1),
            table_of((0, 2), np.array([[0.8, 0.2], [0.2, 0.8]]), 2),
            table_of((1, 2, 3), wet, 3),
        ),
    )


def errors(found, exact):
    """Return how many standard errors the probability of each last state is off."""
    ours = np.array([p[-1] for p in found.probability[: len(exact)]])
    error = np.array([e[-1] for e in found.standard_error[: len(exact)]])
    return np.abs(ours - exact) / error


@pytest.mark.parametrize("scan", ["systematic", "random"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_wet_grass_is_explained_within_monte_carlo_error(scan, seed):
    engine = TableGibbs(scan=scan, n_draws=40_000, tolerance=0.006)
    inference = run(engine, sprinkler().given({3: 1}), np.random.default_rng(seed))
    found = inference.posterior
    assert np.all(errors(found, [414 / 719, 309 / 719, 509 / 719]) < 4)
    assert inference.error <= 0.006
    assert inference.error_kind == "largest standard error"
    assert found.is_connected
    assert found.r_hat < 1.01
    assert found.probability[3].tolist() == [1.0]


@pytest.mark.parametrize("scan", ["systematic", "random"])
def test_chains_that_start_in_the_posterior_stay_in_it(scan):
    n = 4000
    exact = np.array([0, 0.045, 0.18, 0.0495, 0, 0.324, 0.009, 0.0396]) / 0.6471
    code = np.random.default_rng(0).choice(8, size=n, p=exact)
    problem = sprinkler().given({3: 1})
    engine = TableGibbs(n_chains=n, n_draws=40, scan=scan, burn_in=0)
    start = np.column_stack([code >> 2, code >> 1 & 1, code & 1, np.zeros_like(code)])
    rng = np.random.default_rng(1)
    state = replace(engine.init(problem, rng), states=start)
    after, _ = engine.step(problem, state, rng)
    share = np.bincount(after.states @ [4, 2, 1, 0], minlength=8) / n
    assert np.all(np.abs(share - exact) <= 4 * np.sqrt(exact * (1 - exact) / n))
    assert np.any(after.states != start)


def test_the_climber_on_the_roof_is_found_within_monte_carlo_error():
    found = run(
        TableGibbs(n_draws=40_000, tolerance=0.01),
        roof_problem().given({3: 1, 4: 1}),
        np.random.default_rng(0),
    )
    assert errors(found.posterior, [0.327636754])[0] < 4
    assert found.evidence_method == "none"
    assert np.isnan(found.log_evidence)


def test_standard_errors_are_neither_far_too_small_nor_too_large():
    exact = np.array([414 / 719, 309 / 719, 509 / 719])
    problem = sprinkler().given({3: 1})
    off = []
    for seed in range(30):
        with pytest.warns(ConvergenceWarning):
            found = run(
                TableGibbs(n_draws=1000, tolerance=0.0), problem, np.random.default_rng(seed)
            )
        off.append(errors(found.posterior, exact))
    assert 0.6 < np.sqrt(np.mean(np.square(off))) < 1.4


@pytest.mark.slow
def test_effective_draws_reproduce_the_standard_error():
    inference = run(
        TableGibbs(tolerance=0.02), sprinkler().given({3: 1}), np.random.default_rng(0)
    )
    found = inference.posterior
    p = np.concatenate(found.probability[:3])
    error = np.concatenate(found.standard_error[:3])
    assert_allclose(inference.effective_draws, (p * (1 - p) / error**2).min())
    assert inference.effective_draws < found.n_draws


def test_a_run_goes_on_from_where_it_stopped():
    problem = sprinkler()
    with pytest.warns(ConvergenceWarning):
        first = run(TableGibbs(n_draws=400, tolerance=0.0), problem, np.random.default_rng(0))
    with pytest.warns(ConvergenceWarning):
        second = run(
            TableGibbs(n_draws=400, tolerance=0.0),
            problem,
            np.random.default_rng(1),
            stop=StandardError(0.0, 800),
            state=first.state,
        )
    assert second.posterior.n_draws == 2 * first.posterior.n_draws
    assert second.error < first.error


def test_the_same_seed_draws_the_same():
    a, b, other = (
        run(TableGibbs(), sprinkler(), np.random.default_rng(seed)).posterior
        for seed in (7, 7, 8)
    )
    assert_allclose(a.probability, b.probability, rtol=0)
    assert not np.allclose(a.probability[0], other.probability[0], rtol=0, atol=1e-9)


def test_islands_are_proved_and_make_the_error_infinite():
    problem = FactorProblem((2, 2), (table_of((0, 1), np.diag([0.3, 0.7])),))
    with (
        pytest.warns(ConvergenceWarning),
        pytest.warns(ReducibleChainWarning, match="do not connect"),
    ):
        inference = run(TableGibbs(n_draws=100), problem, np.random.default_rng(0))
    found = inference.posterior
    assert found.is_connected is False
    assert found.frozen == (0, 1)
    assert inference.error == np.inf


def test_islands_too_many_to_list_are_suspected_from_variables_that_never_move():
    same = [table_of((i, i + 1), np.eye(2)) for i in range(29)]
    free = [table_of((i,), np.ones(2)) for i in range(30, 40)]
    problem = FactorProblem((2,) * 40, (*same, *free))
    with pytest.warns(ReducibleChainWarning, match=r"variables \[0, 1, .*never could move"):
        inference = run(
            TableGibbs(n_draws=100, tolerance=1.0), problem, np.random.default_rng(0)
        )
    found = inference.posterior
    assert found.is_connected is None
    assert found.frozen == tuple(range(30))
    assert inference.error == np.inf


def test_a_variable_that_is_certain_is_not_frozen():
    certain = table_of((0,), np.array([0.0, 1.0]))
    free = [table_of((i, i + 1), np.array([[1.0, 2.0], [3.0, 1.0]])) for i in range(30)]
    found = run(
        TableGibbs(n_draws=100, tolerance=1.0),
        FactorProblem((2,) * 31, (certain, *free)),
        np.random.default_rng(0),
    )
    assert found.posterior.frozen == ()
    assert found.posterior.probability[0].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("scan", ["systematic", "random"])
def test_a_variable_that_moves_very_seldom_is_not_frozen(scan):
    rare = table_of((0,), np.array([1e-14, 1.0]))
    impossible = table_of((0, 1), np.array([[1.0, 1.0], [0.0, 1.0]]))
    free = [table_of((i, i + 1), np.array([[1.0, 2.0], [3.0, 1.0]])) for i in range(1, 30)]
    problem = FactorProblem((2,) * 31, (rare, impossible, *free))
    engine = TableGibbs(n_draws=100, tolerance=1.0, scan=scan)
    found = run(engine, problem, np.random.default_rng(0)).posterior
    assert found.is_connected is None
    assert found.frozen == ()


def test_a_single_chain_has_errors_but_no_comparison():
    found = run(
        TableGibbs(n_chains=1, n_draws=40_000, tolerance=0.02),
        sprinkler().given({3: 1}),
        np.random.default_rng(0),
    )
    assert np.all(errors(found.posterior, [414 / 719, 309 / 719, 509 / 719]) < 4)
    assert np.isnan(found.posterior.r_hat)


def test_contradictions_and_settings_out_of_range_are_refused():
    tables = (table_of((0, 1), np.eye(2)), table_of((0, 1), 1.0 - np.eye(2)))
    with pytest.raises(NoPossibleState):
        run(TableGibbs(), FactorProblem((2, 2), tables), np.random.default_rng(0))
    with pytest.raises(ValueError, match="n_chains must be at least 1"):
        TableGibbs(n_chains=0)
    with pytest.raises(ValueError, match="scan must be"):
        TableGibbs(scan="backward")


def triangle():
    rng = np.random.default_rng(3)
    scopes = [(0, 1), (1, 2), (0, 2)]
    sizes = (2, 3, 2)
    tables = [table_of(s, rng.uniform(0.2, 2.0, size=[sizes[i] for i in s])) for s in scopes]
    return FactorProblem(sizes, tuple(tables))


def frequencies(draws, sizes):
    cell = np.ravel_multi_index(draws.T, sizes)
    return np.bincount(cell, minlength=int(np.prod(sizes))) / len(draws)


def test_draws_have_the_joint_frequencies():
    problem = triangle()
    states = np.array(list(np.ndindex(problem.n_states)))
    density = np.exp(problem.log_density(states))
    draws = gibbs_draws(problem, 40_000, np.random.default_rng(0))
    found = frequencies(draws, problem.n_states)
    assert_allclose(found, density / density.sum(), atol=0.012)


def test_findings_are_kept_and_weigh_the_rest():
    problem = triangle()
    likelihood = np.array([[1.0, 0.2], [1.0, 0.1], [1.0, 0.9]])
    findings = Findings(2, {0: np.array([1, -1])}, {1: likelihood})
    draws = gibbs_draws_given(problem, findings, 20_000, np.random.default_rng(1))
    assert draws.shape == (2, 20_000, 3)
    assert (draws[0, :, 0] == 1).all()
    states = np.array(list(np.ndindex(problem.n_states)))
    density = np.exp(problem.log_density(states))
    first = density * (states[:, 0] == 1)
    second = density * likelihood[states[:, 1], 1]
    for row, weight in enumerate((first, second)):
        found = frequencies(draws[row], problem.n_states)
        assert_allclose(found, weight / weight.sum(), atol=0.016)


@pytest.mark.parametrize("n", [0, 1, 7, 9])
def test_as_many_draws_as_asked_for(n):
    assert gibbs_draws(triangle(), n, np.random.default_rng(0)).shape == (n, 3)

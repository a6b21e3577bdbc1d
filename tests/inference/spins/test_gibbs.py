import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.inference.engine.engine import (
    ConvergenceWarning,
    Drawn,
    Seconds,
    StandardError,
    Steps,
    run,
)
from credo.inference.spins.grid_sweep import SpinGrid
from credo.inference.spins.problem import IsingProblem, SpinChain
from credo.inference.spins.spin_engine import SpinElimination
from credo.inference.spins.sweep import SpinGraph
from credo.inference.spins.sweep_engine import IsingGibbs, spin_draws
from credo.models.spins.ising_model import lattice_edges
from credo.numerics.status import Status


def problem(shape=(4, 4), is_grid=True, coupling=0.3):
    field = 0.5 * np.random.default_rng(2).normal(size=shape)
    edges = lattice_edges(shape)
    graph = SpinGraph(edges, np.full(len(edges), coupling), field.ravel())
    return IsingProblem(graph, SpinGrid(field, coupling, False) if is_grid else None)


def worked_cycle():
    edges = np.array([[0, 1], [1, 3], [3, 2], [2, 0]])
    graph = SpinGraph(edges, np.full(4, 0.2), np.array([0.5, -0.3, 0.1, 0.8]))
    return IsingProblem(graph)


def test_the_worked_conditional_probability_is_that_of_the_loop():
    chain = SpinChain(np.ones(4, dtype=np.int8), seed=1)
    _, mean = chain.averaged(worked_cycle(), 1)
    # Node 0 is drawn first, while its neighbors 1 and 2 are still 1.
    assert_allclose((1 + mean[0]) / 2, 0.8581489351, atol=1e-10)


def test_means_of_the_worked_cycle_are_within_their_errors():
    exact = [0.4709093838, -0.0657751583, 0.3033787388, 0.6615567220]
    found = run(IsingGibbs(n_chains=8, n_draws=5000), worked_cycle(), np.random.default_rng(3))
    result = found.posterior
    assert np.all(np.abs(result.mean - exact) < 4.5 * result.standard_error)
    assert found.error < 0.01
    assert found.error_kind == "largest standard error"


@pytest.mark.parametrize("is_grid", [True, False])
def test_means_are_those_of_exact_sums_within_their_errors(is_grid):
    target = problem(is_grid=is_grid)
    exact = SpinElimination.of(target).means().mean
    found = run(IsingGibbs(n_chains=10, n_draws=2000), target, np.random.default_rng(1))
    result = found.posterior
    assert np.all(np.abs(result.mean - exact) < 4.5 * result.standard_error)
    assert found.error < 0.02


def test_standard_errors_are_as_large_as_the_errors():
    target = problem()
    exact = SpinElimination.of(target).means().mean
    ratio = [
        (answer.mean - exact) / answer.standard_error
        for seed in range(20)
        for answer in [
            run(IsingGibbs(8, 200, 50), target, np.random.default_rng(seed)).posterior
        ]
    ]
    # Taking the larger of two estimates makes them somewhat cautious, never reckless.
    assert 0.5 < np.sqrt(np.mean(np.square(ratio))) < 1.2


def test_chains_that_disagree_have_large_errors():
    # At this coupling a chain never turns over: half the chains are up and half are down.
    target = problem((12, 12), coupling=2.0)
    unbiased = IsingProblem(
        SpinGraph(target.graph.edges, target.graph.coupling, np.zeros(144)),
        SpinGrid(np.zeros((12, 12)), 2.0, False),
    )
    for n_chains, seed in ((8, 0), (2, 0), (2, 1), (2, 2)):
        engine = IsingGibbs(n_chains=n_chains, n_draws=100)
        with pytest.warns(ConvergenceWarning, match="chains of spins must agree"):
            found = run(engine, unbiased, np.random.default_rng(seed))
        assert found.error > 0.2


def test_another_rule_leaves_the_burn_in_as_it_is():
    target = problem((12, 12), coupling=0.1)
    engine = IsingGibbs(n_chains=8, n_draws=20, burn_in=40)
    usual = run(engine, target, np.random.default_rng(1))
    ruled = run(engine, target, np.random.default_rng(1), stop=Drawn(20))
    assert len(usual.trace) == len(ruled.trace) == 20 + 10
    assert_array_equal(usual.posterior.mean, ruled.posterior.mean)


def test_a_limit_of_steps_or_time_also_ends_the_burn_in():
    engine = IsingGibbs(n_draws=10, burn_in=1_000_000)
    for rule, status in (
        (Steps(3), Status.MAX_STEPS),
        (Drawn(10) | Seconds(0.0), Status.MAX_SECONDS),
    ):
        with pytest.warns(ConvergenceWarning):
            found = run(engine, problem(), np.random.default_rng(0), stop=rule)
        assert found.status is status
        assert len(found.trace) <= 3


def test_going_on_from_a_state_draws_from_the_generator_and_warms_up_no_more():
    engine = IsingGibbs(n_draws=50, burn_in=10)
    first = run(engine, problem(), np.random.default_rng(0))
    one, two = (
        run(engine, problem(), np.random.default_rng(k), stop=Drawn(100), state=first.state)
        for k in (1, 2)
    )
    assert one.state.blocks.n_blocks.tolist() == two.state.blocks.n_blocks.tolist() == [20, 20]
    assert np.any(one.posterior.mean != two.posterior.mean)


def test_spins_without_neighbors_have_no_error():
    # What a free spin would be does not depend on the draw: every batch has the same mean.
    field = np.array([0.3, 12.0, -4.0])
    free = IsingProblem(SpinGraph(np.zeros((0, 2), dtype=np.intp), np.zeros(0), field))
    result = run(IsingGibbs(n_chains=3, n_draws=70), free, np.random.default_rng(1)).posterior
    assert_allclose(result.mean, np.tanh(field), rtol=1e-14)
    assert np.all(result.standard_error < 1e-14)


def test_a_chain_goes_on_where_it_was():
    target = problem()
    chain = SpinChain.start(target, np.random.default_rng(0))
    once = chain.moved(target, 9)
    twice = chain.moved(target, 4).moved(target, 5)
    assert_array_equal(once.spins(target), twice.spins(target))


def test_the_same_seed_gives_the_same_means():
    first, again, other = (
        run(IsingGibbs(n_draws=50), problem(), np.random.default_rng(seed)).posterior.mean
        for seed in (1, 1, 2)
    )
    assert_array_equal(first, again)
    assert np.any(first != other)


def test_draws_have_the_exact_means_and_neighbor_products():
    target = problem((3, 3))
    n = 4000
    draws = spin_draws(target, n, np.random.default_rng(0)).astype(float)
    x = 2 * ((np.arange(512)[:, None] >> np.arange(9)) & 1) - 1
    p = np.exp(target.log_density(x))
    p /= p.sum()
    # Ten sweeps apart, draws at this coupling are independent for all that can be seen.
    assert np.all(np.abs(draws.mean(axis=0) - p @ x) < 4.5 / np.sqrt(n))
    i, j = target.graph.edges.T
    product = draws[:, i] * draws[:, j]
    assert np.all(np.abs(product.mean(axis=0) - p @ (x[:, i] * x[:, j])) < 4.5 / np.sqrt(n))


@pytest.mark.parametrize("settings", [{"n_chains": 1}, {"n_draws": 5}, {"burn_in": -1}])
def test_settings_that_cannot_tell_an_error_are_refused(settings):
    with pytest.raises(ValueError, match="n_chains must be at least 2"):
        IsingGibbs(**settings)


def test_an_error_can_be_asked_for_and_draws_are_worth_what_it_says():
    engine = IsingGibbs(n_chains=4, n_draws=500)
    rule = StandardError(0.03, 20_000)
    found = run(engine, problem(), np.random.default_rng(2), stop=rule)
    assert found.status is Status.CONVERGED
    assert found.trace[-1].standard_error == found.error <= 0.03
    mean, error = found.posterior.mean, found.posterior.standard_error
    assert found.effective_draws == pytest.approx(((1 - mean**2) / error**2).min())

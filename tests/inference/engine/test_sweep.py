import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.inference.discrete.approximate.flat_problem import FlatProblem
from credo.inference.discrete.approximate.gibbs import IteratedConditionalModes, TableGibbs
from credo.inference.discrete.approximate.mean_field import TableMeanField
from credo.inference.engine.engine import Drawn, run
from credo.inference.engine.sweep import GibbsState, MeanFieldState, ModeState
from credo.inference.spins.problem import small_problem
from credo.inference.spins.spin_engine import spin_tables
from credo.inference.spins.sweep_engine import IsingConditionalModes, IsingGibbs, IsingMeanField

SPINS = small_problem()
TABLES = spin_tables(SPINS)
STATES = np.array(list(np.ndindex(2, 2, 2, 2)))
CHANCE = np.exp(SPINS.log_density(2 * STATES - 1))
CHANCE /= CHANCE.sum()
MEAN = CHANCE @ (2 * STATES - 1)
"""Of four coupled spins, by enumeration."""

GIBBS = {
    "tables": (TableGibbs(n_chains=1, n_draws=2000, tolerance=0.0), TABLES),
    "spins": (IsingGibbs(n_draws=2000), SPINS),
}
ENGINES = {
    **GIBBS,
    "mean field of tables": (TableMeanField(), TABLES),
    "mean field of spins": (IsingMeanField(start="random"), SPINS),
    "modes of tables": (IteratedConditionalModes(), TABLES),
    "modes of spins": (IsingConditionalModes("random"), SPINS),
}


def rng(seed=0):
    return np.random.default_rng(seed)


def spin_means(found):
    """Return the means of the spins, from marginals or as they are."""
    if hasattr(found.posterior, "mean"):
        return found.posterior.mean
    return np.array([share[1] - share[0] for share in found.posterior.probability])


def test_tables_and_spins_state_the_same_problem():
    flat = FlatProblem.of(TABLES)
    states = flat.starts(6, rng())
    assert_allclose(flat.log_density(states), SPINS.log_density(2 * states - 1))
    mean = rng().uniform(-1, 1, 4)
    share = np.column_stack([1 - mean, 1 + mean]).ravel() / 2
    assert_allclose(flat.bound(share), SPINS.bound(mean))
    moved, change = SPINS.mean_sweep(mean, 0.3)
    same, half = flat.mean_sweep(share, 0.3)
    assert_allclose(same[1::2] - same[::2], moved)
    assert_allclose(2 * half, change)
    up, n_up = SPINS.mode_sweep((2 * states - 1).astype(np.int8))
    high, n_high = flat.mode_sweep(states)
    assert_array_equal(up, 2 * high - 1)
    assert n_up == n_high > 0
    # A state is there or not; a spin is twice as far apart.
    assert_allclose(SPINS.draw_variance(mean), 4 * flat.draw_variance(share)[::2])


@pytest.mark.filterwarnings("ignore::credo.inference.engine.engine.ConvergenceWarning")
@pytest.mark.parametrize("name", GIBBS)
def test_chains_of_a_run_have_one_account(name):
    engine, problem = GIBBS[name]
    one, four = (run(engine, problem, rng(3), chains=n) for n in (1, 4))
    assert np.all(np.abs(spin_means(four) - MEAN) < 4.5 * 2 * four.error)
    assert len(four.state.states) == 4 * len(one.state.states)
    assert_allclose(four.error, one.error / 2, rtol=0.35)
    assert_allclose(four.effective_draws, 4 * one.effective_draws, rtol=0.6)
    assert 1.0 <= four.r_hat < 1.01
    assert (one.r_hat is None) == (engine.n_chains == 1)


@pytest.mark.filterwarnings("ignore::credo.inference.engine.engine.ConvergenceWarning")
@pytest.mark.parametrize("name", ENGINES)
def test_the_number_of_workers_does_not_matter(name, two_processes):
    engine, problem = ENGINES[name]
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(2) as two:
        found = [
            run(engine, problem, rng(1), chains=3, executor=pool)
            for pool in (None, one, two, two_processes)
        ]
    assert len({pickle.dumps((one.state, one.account)) for one in found}) == 1


def test_chains_that_stop_by_their_own_errors_are_pooled_by_what_they_drew():
    engine = TableGibbs(n_chains=1, n_draws=4000, tolerance=0.006)
    found = run(engine, TABLES, rng(5), chains=4)
    n = found.state.blocks.n_blocks
    assert len(set(n.tolist())) > 1
    assert found.posterior.n_draws == n.sum() * engine.block_size
    weighted = (n[:, None] * found.state.blocks.mean).sum(axis=0) / n.sum()
    assert_allclose(np.concatenate(found.posterior.probability), weighted)
    assert found.error < 0.006


def test_a_joined_run_goes_on_with_all_its_chains():
    engine, problem = IsingGibbs(n_draws=50, burn_in=10), SPINS
    first = run(engine, problem, rng(0), chains=2)
    second = run(engine, problem, rng(1), state=first.state, stop=Drawn(100))
    assert second.state.blocks.n_blocks.tolist() == [20] * 4


def test_chains_that_stand_apart_have_an_infinite_r_hat():
    flat = FlatProblem.of(TABLES)
    state = GibbsState.start(flat, 2, rng())
    up = np.tile([0.0, 1.0], 4)
    blocks = state.blocks
    for _ in range(12):
        blocks = blocks.with_block(np.stack([up, 1 - up]))
    apart = GibbsState(state.states, blocks)
    account = apart.account(flat, "Gibbs sampling", 100)
    assert account.r_hat == np.inf
    # Two chains at 0 and 1 tell no more than two draws would, less one for their mean.
    assert account.effective_draws == pytest.approx(1.0)
    assert account.error == pytest.approx(0.5)


def test_the_best_start_of_several_runs_wins():
    flat = FlatProblem.of(TABLES)
    starts = np.stack([np.full(8, 0.5), np.tile([0.1, 0.9], 4)])
    fields = [MeanFieldState.start(flat, row[None]) for row in starts]
    both = MeanFieldState.joined(fields)
    assert both.best[1] == max(flat.bound(row) for row in starts)
    modes = [ModeState.start(flat, row[None]) for row in STATES]
    best, level = ModeState.joined(modes).best
    assert_array_equal(best, STATES[CHANCE.argmax()])
    assert_allclose(level, SPINS.log_density(2 * best - 1))

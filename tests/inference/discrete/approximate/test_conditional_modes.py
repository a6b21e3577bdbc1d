from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.discrete.approximate.gibbs import IteratedConditionalModes
from credo.inference.discrete.factor_problem import FactorProblem, table_of
from credo.inference.engine.engine import run
from credo.numerics.status import Status

SPINS = np.array([-1.0, 1.0])


def ising():
    """Return the two by two cycle of F15, each edge once."""
    pair = np.exp(0.2 * np.outer(SPINS, SPINS))
    edges = [table_of(edge, pair) for edge in ((0, 1), (1, 3), (3, 2), (2, 0))]
    fields = [table_of((i,), np.exp(f * SPINS)) for i, f in enumerate((0.5, -0.3, 0.1, 0.8))]
    return FactorProblem((2,) * 4, (*edges, *fields))


def random_problem(seed, share_of_zeros=0.0):
    rng = np.random.default_rng(seed)
    tables = []
    for scope in ((0, 1, 2), (2, 3), (3, 4, 0), (1, 4), (2,)):
        values = rng.random([3] * len(scope))
        values[rng.random(values.shape) < share_of_zeros] = 0.0
        tables.append(table_of(scope, values))
    return FactorProblem((3,) * 5, tuple(tables))


def test_the_mode_of_the_ising_cycle_is_all_up():
    found = run(IteratedConditionalModes(), ising(), np.random.default_rng(0))
    assert found.posterior.states.tolist() == [1, 1, 1, 1]
    assert_allclose(found.posterior.log_density, 1.9)
    assert found.status is Status.CONVERGED


@pytest.mark.parametrize("share_of_zeros", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_the_density_never_falls_and_ends_where_no_single_change_helps(seed, share_of_zeros):
    problem = random_problem(seed, share_of_zeros)
    found = run(IteratedConditionalModes(n_starts=1), problem, np.random.default_rng(seed))
    assert np.all(np.diff([info.objective for info in found.trace]) >= -1e-12)
    assert found.trace[-1].change == 0
    here = found.posterior.states
    assert_allclose(problem.log_density(here[None])[0], found.posterior.log_density)
    for i, state in product(range(5), range(3)):
        other = here.copy()
        other[i] = state
        assert problem.log_density(other[None])[0] <= found.posterior.log_density + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_many_starts_find_the_mode_of_a_small_problem(seed):
    problem = random_problem(seed)
    states = np.array(list(product(range(3), repeat=5)))
    found = run(IteratedConditionalModes(n_starts=100), problem, np.random.default_rng(0))
    assert_allclose(found.posterior.log_density, problem.log_density(states).max())


def test_one_start_can_end_in_a_local_optimum():
    both = FactorProblem((2, 2), (table_of((0, 1), np.array([[1.0, 0.1], [0.1, 2.0]])),))
    ends = {
        run(
            IteratedConditionalModes(1), both, np.random.default_rng(seed)
        ).posterior.log_density
        for seed in range(9)
    }
    assert_allclose(sorted(ends), [0.0, np.log(2.0)], atol=1e-12)


def test_given_states_stay():
    found = run(
        IteratedConditionalModes(), ising().given({0: 0, 3: 0}), np.random.default_rng(0)
    )
    assert found.posterior.states.tolist() == [0, 0, 0, 0]
    assert_allclose(found.posterior.log_density, -0.5 + 0.3 - 0.1 - 0.8 + 0.8)

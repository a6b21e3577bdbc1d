import numpy as np
import pytest
from numpy.testing import assert_array_equal

from credo.inference.engine.engine import run
from credo.inference.spins.problem import IsingProblem
from credo.inference.spins.sweep import SpinGraph
from credo.inference.spins.sweep_engine import IsingConditionalModes
from credo.models.spins.ising_model import lattice_edges
from credo.numerics.status import Status


def random_problem(seed, shape=(4, 4)):
    rng = np.random.default_rng(seed)
    edges = lattice_edges(shape)
    n = int(np.prod(shape))
    return IsingProblem(SpinGraph(edges, rng.normal(size=len(edges)), rng.normal(size=n)))


def test_the_worked_mode_is_found():
    edges = np.array([[0, 1], [1, 3], [3, 2], [2, 0]])
    field = np.array([0.5, -0.3, 0.1, 0.8])
    problem = IsingProblem(SpinGraph(edges, np.full(4, 0.2), field))
    answer = run(IsingConditionalModes(), problem).posterior
    assert_array_equal(answer.spins, [1, 1, 1, 1])
    assert abs(answer.log_density - 1.9) < 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_the_energy_never_rises_and_no_single_flip_lowers_it_at_the_end(seed):
    problem = random_problem(seed, (9, 8))
    engine = IsingConditionalModes("random")
    start = engine.init(problem, np.random.default_rng(seed)).log_density[0]
    result = run(engine, problem, np.random.default_rng(seed))
    levels = [float(start), *(info.objective for info in result.trace)]
    assert np.all(np.diff(levels) >= -1e-12)
    assert result.status is Status.CONVERGED
    flipped = result.posterior.spins * (1 - 2 * np.eye(72, dtype=np.int8))
    assert np.all(problem.log_density(flipped) <= result.posterior.log_density + 1e-12)


def test_of_many_starts_the_best_is_the_mode_by_enumeration():
    problem = random_problem(3)
    x = 2 * ((np.arange(2**16)[:, None] >> np.arange(16)) & 1) - 1
    best = problem.log_density(x).max()
    found = [
        run(
            IsingConditionalModes("random"), problem, np.random.default_rng(seed)
        ).posterior.log_density
        for seed in range(60)
    ]
    assert abs(max(found) - best) < 1e-10
    assert min(found) < best - 0.1

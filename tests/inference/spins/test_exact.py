import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.inference.engine.error import InferenceTooLarge
from credo.inference.spins.problem import IsingProblem
from credo.inference.spins.spin_engine import SpinElimination
from credo.inference.spins.sweep import SpinGraph
from credo.models.spins.ising_model import lattice_edges


def random_problem(shape, seed=0, periodic=False, scale=1.0):
    rng = np.random.default_rng(seed)
    edges = lattice_edges(shape, periodic)
    n = int(np.prod(shape))
    graph = SpinGraph(edges, scale * rng.normal(size=len(edges)), rng.normal(size=n))
    return IsingProblem(graph, log_constant=0.7)


def enumerated(problem):
    n = problem.n_spins
    x = 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1
    return x, problem.log_density(x)


CASES = [((4, 4), False), ((3, 4), True), ((2, 2, 3), False), ((7,), True), ((1, 1), False)]


@pytest.mark.parametrize(("shape", "periodic"), CASES)
def test_sums_means_and_modes_are_those_of_enumeration(shape, periodic):
    problem = random_problem(shape, 1, periodic)
    plan = SpinElimination.of(problem)
    x, level = enumerated(problem)
    total = np.logaddexp.reduce(level)
    inference = plan.inference()
    assert_allclose(plan.log_partition(), total)
    assert_allclose(inference.log_evidence, total)
    assert_allclose(inference.posterior.mean, np.exp(level - total) @ x, atol=1e-12)
    assert_array_equal(plan.most_probable().spins, x[level.argmax()])
    assert_allclose(plan.most_probable().log_density, level.max())


def test_the_worked_cycle_comes_out():
    edges = np.array([[0, 1], [1, 3], [3, 2], [2, 0]])
    field = np.array([0.5, -0.3, 0.1, 0.8])
    for coupling, total, means in [
        (0.2, 3.2902335863, [0.4709093838, -0.0657751583, 0.3033787388, 0.6615567220]),
        (0.4, 3.5492365648, [0.5426128632, 0.1889694732, 0.4738901015, 0.6897584299]),
    ]:
        plan = SpinElimination.of(IsingProblem(SpinGraph(edges, np.full(4, coupling), field)))
        assert_allclose(plan.log_partition(), total, atol=1e-10)
        assert_allclose(plan.means().mean, means, atol=1e-10)


@pytest.mark.parametrize("periodic", [False, True])
def test_chains_have_their_closed_form(periodic):
    n, w, h = 300, 0.7, 0.2
    edges = lattice_edges((n,), periodic)
    problem = IsingProblem(SpinGraph(edges, np.full(len(edges), w), np.full(n, h)))
    transfer = np.array(
        [[np.exp(w * a * b + h * (a + b) / 2) for b in (-1, 1)] for a in (-1, 1)]
    )
    low, high = np.linalg.eigvalsh(transfer)
    if periodic:
        expected = n * np.log(high) + np.log1p((low / high) ** n)
    else:
        power = np.linalg.matrix_power(transfer / high, n - 1)
        end = np.exp(h * np.array([-1, 1]) / 2)
        expected = (n - 1) * np.log(high) + np.log(end @ power @ end)
    plan = SpinElimination.of(problem)
    assert plan.width == (2 if periodic else 1)
    assert_allclose(plan.log_partition(), expected, rtol=1e-12)


def test_a_narrow_grid_has_the_sum_of_its_transfer_matrix():
    width, length, w = 5, 40, 0.44
    x = 2 * ((np.arange(32)[:, None] >> np.arange(5)) & 1) - 1
    inside = w * (x[:, :-1] * x[:, 1:]).sum(axis=1)
    transfer = np.exp(w * x @ x.T + inside[:, None])
    vector, log_scale = np.exp(inside), 0.0
    for _ in range(length - 1):
        vector = transfer @ vector
        log_scale += np.log(vector.max())
        vector /= vector.max()
    expected = log_scale + np.log(vector.sum())
    for shape in [(length, width), (width, length)]:
        edges = lattice_edges(shape)
        graph = SpinGraph(edges, np.full(len(edges), w), np.zeros(width * length))
        plan = SpinElimination.of(IsingProblem(graph))
        assert plan.width <= width + 1
        assert_allclose(plan.log_partition(), expected, rtol=1e-12)


def test_huge_couplings_neither_overflow_nor_vanish():
    # A frustrated triangle: whatever the spins, one edge of the three is unsatisfied.
    edges = np.array([[0, 1], [1, 2], [2, 0]])
    problem = IsingProblem(SpinGraph(edges, np.full(3, -2000.0), np.zeros(3)))
    plan = SpinElimination.of(problem)
    assert_allclose(plan.log_partition(), 2000.0 + np.log(6))
    assert_allclose(plan.means().mean, 0.0, atol=1e-12)


def test_draws_are_independent_and_exact():
    problem = random_problem((2, 3), 4, scale=0.5)
    n = 20_000
    draws = SpinElimination.of(problem).draws(n, np.random.default_rng(0))
    _, level = enumerated(problem)
    p = np.exp(level - np.logaddexp.reduce(level))
    counts = np.bincount(((draws > 0) << np.arange(6)).sum(axis=1), minlength=64)
    statistic = np.sum((counts - n * p) ** 2 / (n * p))
    assert statistic < 63 + 4.5 * np.sqrt(2 * 63)


def test_a_plan_that_keeps_too_much_is_refused_before_work():
    plan = SpinElimination.of(random_problem((60, 60)))
    with pytest.raises(InferenceTooLarge, match="width 6"):
        plan.within(1 << 26)

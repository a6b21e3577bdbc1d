"""Annealed log normalizers against exact sums, closed forms and bounds."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from credo.inference.engine.engine import ConvergenceWarning, run
from credo.inference.spins.annealing import IsingAnnealing
from credo.inference.spins.problem import IsingProblem
from credo.inference.spins.spin_engine import SpinElimination
from credo.inference.spins.sweep import SpinGraph
from credo.models.spins.ising_model import lattice_edges

QUICK = IsingAnnealing(max_updates=2e7)


def annealed(problem, engine=QUICK, seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return run(engine, problem, np.random.default_rng(seed))


def grid(shape, coupling, field=0.0, constant=0.0):
    edges = lattice_edges(shape, is_periodic=False)
    n = int(np.prod(shape))
    graph = SpinGraph(edges, np.broadcast_to(coupling, len(edges)) + 0.0, np.zeros(n) + field)
    return IsingProblem(graph, None, constant)


def rough(n, scale, seed=0):
    return scale * np.random.default_rng(seed).normal(size=n)


@pytest.mark.parametrize(
    "problem",
    [
        grid((8, 8), 0.2),
        grid((8, 8), 0.44),
        grid((8, 8), 1.0),
        grid((12, 12), 0.3),
        grid((12, 12), 0.6),
        grid((12, 12), 1.0),
        grid((10, 10), -0.5),
        grid((10, 10), rough(180, 0.5)),
        grid((10, 10), 0.5, rough(100, 1.0), constant=-7.0),
        grid((10, 10), 1.0, rough(100, 0.3)),
    ],
)
def test_the_estimate_is_the_exact_sum_up_to_its_standard_error(problem):
    found = annealed(problem)
    exact = SpinElimination.of(problem).log_partition()
    assert 0 < found.error < 0.3
    assert abs(found.log_evidence - exact) < 4 * found.error
    assert found.posterior.value <= min(exact, found.log_evidence) + 1e-9


def test_errors_over_seeds_are_as_large_as_told():
    problem = grid((6, 6), 0.4, 0.05)
    exact = SpinElimination.of(problem).log_partition()
    found = [annealed(problem, IsingAnnealing(), k) for k in range(60)]
    score = np.array([(f.log_evidence - exact) / f.error for f in found])
    assert abs(score.mean()) < 4 / np.sqrt(60)
    assert 0.7 < score.std() < 1.4


def test_a_strong_magnet_is_not_below_its_best_states():
    found = annealed(grid((30, 30), 1.0))
    two_states = 1740.0 + np.log(2.0)
    assert_allclose(found.posterior.value, two_states)
    # Single spins turned round, by the number of their neighbors, are the first excitations.
    first = 4 * np.exp(-4.0) + 112 * np.exp(-6.0) + 784 * np.exp(-8.0)
    assert two_states + first < found.log_evidence < two_states + 1.5 * first


def test_parts_that_no_edge_joins_add_up():
    one, two = grid((4, 4), 1.0), grid((3, 5), -0.8)
    edges = np.concatenate([one.graph.edges, 16 + two.graph.edges])
    coupling = np.concatenate([one.graph.coupling, two.graph.coupling])
    field = np.concatenate([np.zeros(31), [0.7]])
    found = annealed(IsingProblem(SpinGraph(edges, coupling, field)))
    parts = [SpinElimination.of(part).log_partition() for part in (one, two)]
    exact = sum(parts) + np.log(2 * np.cosh(0.7))
    assert abs(found.log_evidence - exact) < 4 * found.error


def test_spins_without_couplings_are_summed_exactly():
    free = IsingProblem(
        SpinGraph(np.empty((0, 2), np.intp), np.empty(0), rough(5, 2.0)), None, 3.0
    )
    found = annealed(free)
    assert_allclose(found.log_evidence, 3.0 + np.log(2 * np.cosh(free.graph.field)).sum())
    assert found.error == 0.0


def periodic_log_normalizer(n, m, coupling):
    """Return log Z of the n by m torus without field, n even, by Kaufman's closed form."""
    twice = 2 * coupling
    k = np.arange(1, 2 * n)
    gamma = np.arccosh(np.cosh(twice) ** 2 / np.sinh(twice) - np.cos(np.pi * k / n))
    gamma = np.concatenate([[twice + np.log(np.tanh(coupling))], gamma])
    logs, signs = [], []
    for part in (gamma[1::2], gamma[::2]):
        x = np.abs(m * part / 2)
        logs += [np.sum(x + np.log1p(np.exp(-2 * x))), np.sum(x + np.log1p(-np.exp(-2 * x)))]
        signs += [1.0, np.prod(np.sign(part))]
    total = special.logsumexp(logs, b=signs) - np.log(2)
    return total + n * m / 2 * np.log(2 * np.sinh(twice))


@pytest.mark.parametrize(("n", "coupling"), [(30, 0.3), (30, 0.44), (30, 1.0), (60, 0.6)])
def test_large_grids_have_the_closed_form_of_the_torus(n, coupling):
    edges = lattice_edges((n, n), is_periodic=True)
    graph = SpinGraph(edges, np.full(len(edges), coupling), np.zeros(n * n))
    found = annealed(IsingProblem(graph))
    exact = periodic_log_normalizer(n, n, coupling)
    assert found.posterior.value < exact
    assert abs(found.log_evidence - exact) < 4 * found.error < 0.003 * exact

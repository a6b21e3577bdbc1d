import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.engine.engine import run
from credo.inference.spins.problem import IsingProblem
from credo.inference.spins.sweep import SpinGraph
from credo.inference.spins.sweep_engine import IsingMeanField
from credo.models.spins.ising_model import lattice_edges

CYCLE = np.array([[0, 1], [1, 3], [3, 2], [2, 0]])
FIELD = np.array([0.5, -0.3, 0.1, 0.8])
ONCE = [0.5028992327, -0.0607997175, 0.3266961845, 0.6927267590]
TWICE = [0.6979097134, 0.2986143941, 0.6094196788, 0.8220844226]


def cycle(coupling):
    return IsingProblem(SpinGraph(CYCLE, np.full(4, coupling), FIELD))


def test_the_worked_fixed_point_and_its_bound_come_out():
    result = run(IsingMeanField(tolerance=1e-12), cycle(0.2))
    assert_allclose(result.posterior.mean, ONCE, atol=1e-10)
    assert_allclose(result.log_evidence, 3.2399131495, atol=1e-10)
    assert (result.evidence_method, result.error < 1e-11) == ("bound", True)


def test_counting_edges_twice_is_doubling_the_coupling():
    result = run(IsingMeanField(tolerance=1e-12), cycle(0.4))
    assert_allclose(result.posterior.mean, TWICE, atol=1e-10)
    assert_allclose(result.log_evidence, 3.3963781444, atol=1e-10)


@pytest.mark.parametrize(
    ("coupling", "mean", "bound"), [(0.2, TWICE, 3.1203368512), (0.4, ONCE, 3.3034956949)]
)
def test_fixed_points_of_the_other_convention_have_the_worked_lower_bounds(
    coupling, mean, bound
):
    assert_allclose(cycle(coupling).bound(np.array(mean)), bound, atol=1e-9)


@pytest.mark.parametrize(("start", "seed"), [("best", 0), ("random", 0), ("random", 1)])
def test_no_sweep_lowers_the_bound(start, seed):
    rng = np.random.default_rng(5)
    edges = lattice_edges((6, 7), is_periodic=True)
    problem = IsingProblem(SpinGraph(edges, rng.normal(size=len(edges)), rng.normal(size=42)))
    found = run(IsingMeanField(start=start), problem, np.random.default_rng(seed))
    bounds = [step.objective for step in found.trace]
    assert len(bounds) > 3
    assert np.all(np.diff(bounds) > -1e-10)


def test_damping_reaches_the_same_point_in_more_sweeps():
    plain = run(IsingMeanField(), cycle(0.2))
    damped = run(IsingMeanField(damping=0.5), cycle(0.2))
    assert_allclose(damped.posterior.mean, plain.posterior.mean, atol=1e-5)
    assert len(damped.trace) > len(plain.trace)


def test_independent_spins_have_the_exact_evidence():
    free = IsingProblem(SpinGraph(CYCLE, np.zeros(4), FIELD), log_constant=-2.0)
    result = run(IsingMeanField(), free)
    assert_allclose(result.log_evidence, -2.0 + np.sum(np.log(2 * np.cosh(FIELD))))
    assert_allclose(result.posterior.mean, np.tanh(FIELD))


def test_a_magnet_without_field_leaves_the_symmetric_saddle():
    edges = lattice_edges((30, 30), is_periodic=False)
    magnet = IsingProblem(SpinGraph(edges, np.ones(len(edges)), np.zeros(900)))
    result = run(IsingMeanField(), magnet)
    assert result.log_evidence > 1740.0 > 900 * np.log(2)
    assert result.log_evidence < 1742.0
    opposed = IsingProblem(SpinGraph(edges, -np.ones(len(edges)), np.zeros(900)))
    assert_allclose(run(IsingMeanField(), opposed).log_evidence, result.log_evidence, atol=1e-6)

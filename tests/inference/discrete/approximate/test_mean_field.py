""""""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from credo.inference.discrete.approximate.flat_problem import FlatProblem, NoPossibleState
from credo.inference.discrete.approximate.mean_field import TableMeanField
from credo.inference.discrete.factor_problem import FactorProblem, table_of
from credo.inference.discrete.loops.flat_tables import flat_tables, walk
from credo.inference.engine.engine import run
from credo.inference.spins.sweep_engine import IsingMeanField
from naive import loopy_problem


def flat(net):
    return FlatProblem(net, walk(net), 0.0)


SPINS = np.array([-1.0, 1.0])


def ising(weight=0.2, field=(0.5, -0.3, 0.1, 0.8)):
    """Return the two by two cycle of F15, each edge once."""
    pair = np.exp(weight * np.outer(SPINS, SPINS))
    edges = [table_of(edge, pair) for edge in ((0, 1), (1, 3), (3, 2), (2, 0))]
    return FactorProblem(
        (2,) * 4, (*edges, *(table_of((i,), np.exp(f * SPINS)) for i, f in enumerate(field)))
    )


def log_partition(problem):
    states = np.array(list(product(*map(range, problem.n_states))))
    return special.logsumexp(problem.log_density(states))


def test_the_ising_cycle_has_the_worked_fixed_point_and_bound():
    found = run(TableMeanField(), ising(), np.random.default_rng(0))
    means = [p @ SPINS for p in found.posterior.probability]
    expected = [0.5028992327, -0.0607997175, 0.3266961845, 0.6927267590]
    assert_allclose(means, expected, atol=1e-8)
    assert_allclose(found.log_evidence, 3.2399131495, atol=1e-9)
    assert_allclose(log_partition(ising()), 3.2902335863, atol=1e-9)
    assert found.evidence_method == "bound"


@pytest.mark.parametrize("share_of_zeros", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(8))
def test_the_bound_never_falls_stays_finite_and_stays_below(seed, share_of_zeros):
    problem = loopy_problem(seed, share_of_zeros)
    exact = log_partition(problem)
    found = run(TableMeanField(), problem, np.random.default_rng(0))
    bounds = np.array([info.objective for info in found.trace])
    assert np.isfinite(bounds).all()
    assert np.all(np.diff(bounds) >= -1e-12)
    assert found.log_evidence <= exact + 1e-12
    for p in found.posterior.probability:
        assert_allclose(p.sum(), 1.0)


@pytest.mark.parametrize("seed", range(4))
def test_where_there_are_zeros_the_product_keeps_clear_of_them(seed):
    problem = loopy_problem(seed, 0.3)
    found = run(TableMeanField(), problem, np.random.default_rng(0)).posterior.probability
    support = [np.flatnonzero(p).tolist() for p in found]
    assert np.isfinite(problem.log_density(np.array(list(product(*support))))).all()


def test_the_bound_of_a_deterministic_relation_is_its_best_island():
    relation = np.diag([0.2, 0.5, 0.3])
    found = run(
        TableMeanField(n_starts=20),
        FactorProblem((3, 3), (table_of((0, 1), relation),)),
        np.random.default_rng(0),
    )
    assert_allclose(found.log_evidence, np.log(0.5))
    assert_allclose(found.posterior.probability[0], [0, 1, 0])


def test_independent_variables_are_exact():
    tables = (table_of((0,), np.array([1.0, 3.0])), table_of((1,), np.array([2.0, 2.0, 4.0])))
    found = run(TableMeanField(), FactorProblem((2, 3), tables), np.random.default_rng(0))
    assert_allclose(found.log_evidence, np.log(4 * 8))
    assert_allclose(found.posterior.probability[1], [0.25, 0.25, 0.5])


def test_strong_coupling_breaks_the_symmetry_that_a_uniform_start_cannot():
    problem = ising(weight=2.0, field=(0.0,) * 4)
    uniform = run(TableMeanField(n_starts=1), problem, np.random.default_rng(0))
    several = run(TableMeanField(n_starts=5), problem, np.random.default_rng(0))
    assert_allclose(uniform.posterior.probability, 0.5)
    assert several.log_evidence > uniform.log_evidence + 1.0
    assert np.all(np.abs(np.array(several.posterior.probability) - 0.5) > 0.4)


def test_contradictions_are_refused():
    tables = (table_of((0, 1), np.eye(2)), table_of((0, 1), 1.0 - np.eye(2)))
    with pytest.raises(NoPossibleState):
        run(TableMeanField(), FactorProblem((2, 2), tables), np.random.default_rng(0))


def test_the_bound_is_expected_log_density_plus_entropy():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 3)), rng.random((3, 2))
    net = flat_tables([2, 3, 2], [(0, 1), (1, 2)], [a, b])
    q = [rng.dirichlet(np.ones(n)) for n in (2, 3, 2)]
    joint = np.einsum("i,j,k->ijk", *q)
    expected = (joint * (np.log(a)[:, :, None] + np.log(b)[None] - np.log(joint))).sum()
    assert_allclose(flat(net).bound(np.concatenate(q)), expected)


def test_an_update_maximizes_the_bound_over_one_variable():
    rng = np.random.default_rng(1)
    net = flat_tables([2, 3], [(0, 1), (1,)], [rng.random((2, 3)), rng.random(3)])
    start = np.concatenate([[0.5, 0.5], rng.dirichlet(np.ones(3))])
    after, _ = flat(net).mean_sweep(start)
    best = flat(net).bound(after)
    for _ in range(50):
        other = np.concatenate([after[:2], rng.dirichlet(np.ones(3))])
        assert flat(net).bound(other) <= best + 1e-12


def test_a_product_that_keeps_clear_of_zeros_has_a_finite_bound():
    net = flat_tables([2, 2], [(0, 1)], [np.array([[0.0, 0.3], [0.4, 0.3]])])
    assert_allclose(flat(net).bound(np.array([0.0, 1.0, 1.0, 0.0])), np.log(0.4))
    after, _ = flat(net).mean_sweep(np.array([0.0, 1.0, 1.0, 0.0]))
    assert_allclose(after, [0, 1, 4 / 7, 3 / 7])
    assert flat(net).bound(np.full(4, 0.5)) == -np.inf


def test_a_sweep_at_a_fixed_point_changes_nothing():
    net = flat_tables([2, 2], [(0,), (1,)], [np.array([0.2, 0.8]), np.array([0.5, 0.5])])
    after, _ = flat(net).mean_sweep(np.full(4, 0.5))
    assert flat(net).mean_sweep(after)[1] < 1e-15


@pytest.mark.parametrize("has_zeros", [False, True])
def test_damping_reaches_the_same_point_in_more_sweeps_and_never_lowers_the_bound(has_zeros):
    table = np.array([[0.4, 0.2], [0.3, 0.0 if has_zeros else 0.1]])
    pair = FactorProblem((2, 2), (table_of((0, 1), table),))
    rng = np.random.default_rng
    plain = run(TableMeanField(n_starts=1), pair, rng(0))
    damped = run(TableMeanField(n_starts=1, damping=0.5, tolerance=1e-10), pair, rng(0))
    assert_allclose(damped.posterior.probability, plain.posterior.probability, atol=1e-6)
    assert len(damped.trace) > len(plain.trace)
    assert np.all(np.diff([step.objective for step in damped.trace]) > -1e-12)


@pytest.mark.parametrize("damping", [-0.1, 1.0, np.nan])
def test_damping_with_which_nothing_would_move_is_refused(damping):
    for engine in (TableMeanField, IsingMeanField):
        with pytest.raises(ValueError, match="damping must be from 0 to below 1"):
            engine(damping=damping)

"""Engines of named spins against sums over all values."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.inference.engine.error import InferenceTooLarge
from credo.inference.engine.findings import Findings
from credo.inference.engine.method import ApproximationWarning
from credo.inference.spins.problem import IsingProblem
from credo.inference.spins.spin_engine import SpinApproximation, SpinEngine, spin_tables
from credo.inference.spins.sweep import SpinGraph

EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]])
COUPLING = np.array([0.5, -0.3, 0.8, 0.1, -0.6])
PROBLEM = IsingProblem(SpinGraph(EDGES, COUPLING, np.array([0.2, -0.4, 0.1, 0.3])), None, 0.7)
STATES = np.array(list(itertools.product((0, 1), repeat=4)))


def engine(**settings):
    return SpinEngine(tuple("abcd"), PROBLEM, **settings)


def test_tables_of_spins_have_their_density():
    tables = spin_tables(PROBLEM)
    assert_allclose(tables.log_density(STATES), PROBLEM.log_density(2 * STATES - 1))
    assert all(0.0 < table.values.max() <= 1.0 for table in tables.tables)


def test_what_is_left_of_the_spins_has_the_density_of_all():
    """Likelihoods become fields and constants: the sum over what is left is that of all."""
    row = Findings(
        1,
        codes={1: np.array([0])},
        likelihood={2: np.array([[0.2], [0.9]]), 3: np.array([[0.0], [0.4]])},
    )
    places, values, left = SpinApproximation(engine())._left(row)
    assert_array_equal(places, [1, 3])
    assert_array_equal(values, [-1, 1])
    weight = np.array([0.2, 0.9])[STATES[:, 2]] * np.array([0.0, 0.4])[STATES[:, 3]]
    weight = weight * (STATES[:, 1] == 0) * np.exp(PROBLEM.log_density(2 * STATES - 1))
    spins = np.array(list(itertools.product((-1, 1), repeat=2)))
    assert_allclose(np.exp(left.log_density(spins)).sum(), weight.sum(), rtol=1e-12)


def test_two_likelihoods_of_zero_are_impossible():
    row = Findings(1, likelihood={2: np.zeros((2, 1))})
    way = SpinApproximation(engine())
    assert way._left(row) is None
    named = Findings(1, likelihood={"c": np.zeros((2, 1))})
    assert way.total(named)[0][0] == -np.inf
    assert np.isnan(way.marginals(named, ["a"])[0]["a"]).all()


def test_all_spins_given_leave_nothing_to_approximate():
    row = Findings(1, codes={name: np.array([1]) for name in "abcd"})
    way = SpinApproximation(engine())
    total, account = way.total(row)
    assert_allclose(total, PROBLEM.log_density(np.ones(4)))
    assert account.is_exact
    states, density, _ = way.best(row, list("abcd"))
    assert [int(states[name][0]) for name in "abcd"] == [1, 1, 1, 1]
    assert_allclose(density, total)


def test_means_modes_and_draws_by_name_are_those_of_enumeration():
    density = np.exp(PROBLEM.log_density(2 * STATES - 1))
    share = density / density.sum()
    mean = share @ (2 * STATES - 1)
    rng = np.random.default_rng(0)
    for method in ("auto", "exact"):
        assert_allclose(engine().means(method, rng).posterior.mean, mean, rtol=1e-10)
        assert_array_equal(engine().mode(method, rng).spins, 2 * STATES[share.argmax()] - 1)
        draws = engine().spins(4000, method, rng, 10, 1)
        assert np.all(np.abs(draws.mean(axis=0) - mean) < 4.5 / np.sqrt(4000))
    assert engine().mode("conditional_modes", rng).log_density <= np.log(density.max()) + 1e-12
    with pytest.raises(ValueError, match=r"a draw must come from .* found method=\"max_flow\""):
        engine().spins(2, "max_flow", rng, 10, 1)


def test_a_limit_of_memory_refuses_exact_answers():
    small = engine(memory=8.0, seconds=1e-12)
    rng = np.random.default_rng(0)
    for ask in (
        lambda: small.means("exact", rng),
        lambda: small.mode("exact", rng),
        lambda: small.spins(2, "exact", rng, 10, 1),
    ):
        with pytest.raises(InferenceTooLarge, match=r"model\.within"):
            ask()
    with pytest.warns(ApproximationWarning, match="means of spins are averages"):
        assert small.means("auto", rng).error_kind == "largest standard error"
    with pytest.warns(ApproximationWarning, match="draws of spins come from a Gibbs chain"):
        assert small.spins(2, "auto", rng, 10, 1).shape == (2, small.problem.n_spins)

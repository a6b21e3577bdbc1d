"""Joint draws by Gibbs chains, against enumeration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.discrete.approximate.gibbs_draws import gibbs_draws, gibbs_draws_given
from credo.inference.discrete.factor_problem import FactorProblem, table_of
from credo.inference.discrete.findings import Findings


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

"""Settings of sparse processes: against those of the exact process and of plain searches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.features import SquaredExponential
from credo.inference.kernel import sparse_learning
from credo.inference.kernel.learning import ProcessProblem, RowNoise, climb, learn
from credo.inference.kernel.process import ProcessData
from credo.inference.kernel.sparse import SparseProcess
from credo.inference.kernel.sparse_learning import learn_sparse


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Let four hundred rows be many."""
    monkeypatch.setattr(sparse_learning, "EXACT_ROWS", 100)
    monkeypatch.setattr(sparse_learning, "SMALLEST_PART", 150)


def problem(kernel=None, n=400, level=None):
    rng = np.random.default_rng(1)
    x = rng.uniform(-3, 3, (n, 2))
    y = np.sin(2 * x[:, :1]) + 0.5 * x[:, 1:] + 0.2 * rng.normal(size=(n, 1))
    noise = RowNoise(np.zeros(n), np.ones(n), np.zeros(n), np.empty((n, 0)), level)
    chosen = 1.0 * SquaredExponential((1.0, 1.0)) if kernel is None else kernel
    return ProcessProblem(ProcessData(x, y, np.ones((n, 1))), chosen, noise)


def test_enough_inducing_inputs_learn_what_the_exact_process_learns():
    exact = learn(problem())
    placed, found = learn_sparse(problem(), SparseProcess(90))
    assert placed.method.inducing.shape[0] <= 90
    spread = np.sqrt(np.diagonal(exact.covariance))
    assert np.all(np.abs(found.free - exact.free) < 0.3 * spread)
    assert_allclose(found.covariance, exact.covariance, atol=0.2 * np.max(spread**2))
    assert exact.log_evidence - 1.0 < found.log_evidence < exact.log_evidence + 0.2


def test_the_bound_is_largest_at_the_settings_found():
    placed, found = learn_sparse(problem(), SparseProcess(20))
    value = placed.objective(found.free)[0]
    plain = climb(placed, found.free, 200, 1e-12)
    assert value - 0.1 < plain.value <= value
    gain = np.abs(np.diagonal(found.covariance) ** 0.5 * placed.objective(found.free)[1])
    assert gain.max() < 0.5


def test_few_inducing_inputs_keep_below_the_evidence():
    exact = learn(problem())
    few, more = (learn_sparse(problem(), SparseProcess(m))[1].value for m in (8, 30))
    assert few < more < exact.value


def test_given_inducing_inputs_stay():
    inputs = np.random.default_rng(0).uniform(-3, 3, (15, 2))
    placed, found = learn_sparse(problem(), SparseProcess(inducing=inputs))
    assert placed.method.inducing is inputs
    assert found.status.has_converged


def test_nothing_to_learn_is_the_bound_at_the_given_settings():
    kernel = SquaredExponential(1.0).hold()
    placed, found = learn_sparse(problem(kernel, level=0.04), SparseProcess(40))
    known = placed.method.log_evidence(placed.data, kernel, np.full(400, 0.04))
    assert_allclose(found.log_evidence, known)
    assert found.free.shape == (0,)

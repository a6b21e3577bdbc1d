"""Learned settings, exact and sparse: against plain searches, and each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.features import FunctionKernel, Matern52, SquaredExponential
from credo.inference.kernel import learning, search
from credo.inference.kernel.exact import ExactProcess
from credo.inference.kernel.learning import ProcessProblem, RowNoise, learn_process
from credo.inference.kernel.process import ProcessData
from credo.inference.kernel.search import climb, curvature, learn, some_rows
from credo.inference.kernel.series import SeriesProcess
from credo.inference.kernel.sparse import SparseProcess


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Let four hundred rows be many."""
    monkeypatch.setattr(learning, "EXACT_ROWS", 100)
    monkeypatch.setattr(learning, "SMALLEST_PART", 150)


def problem(kernel=None, n=400, level=None, method=None, has_prior=True):
    rng = np.random.default_rng(1)
    x = rng.uniform(-3, 3, (n, 2))
    y = np.sin(2 * x[:, :1]) + 0.5 * x[:, 1:] + 0.2 * rng.normal(size=(n, 1))
    noise = RowNoise(np.zeros(n), np.ones(n), np.zeros(n), np.empty((n, 0)), level)
    chosen = 1.0 * SquaredExponential((1.0, 1.0)) if kernel is None else kernel
    data = ProcessData(x, y, np.ones((n, 1)))
    return ProcessProblem(data, chosen, noise, method or ExactProcess(), has_prior)


def test_enough_inducing_inputs_learn_what_the_exact_process_learns():
    exact = learn(problem())
    placed, found = learn_process(problem(method=SparseProcess(90)))
    assert placed.method.inducing.shape[0] <= 90
    spread = np.sqrt(np.diagonal(exact.covariance))
    assert np.all(np.abs(found.free - exact.free) < 0.3 * spread)
    assert_allclose(found.covariance, exact.covariance, atol=0.2 * np.max(spread**2))
    assert exact.log_evidence - 1.0 < found.log_evidence < exact.log_evidence + 0.2


def test_the_bound_is_largest_at_the_settings_found():
    placed, found = learn_process(problem(method=SparseProcess(20)))
    value = placed.objective(found.free)[0]
    plain = climb(placed, found.free, None, 200, 1e-12)
    assert value - 0.1 < plain.value <= value
    gain = np.abs(np.diagonal(found.covariance) ** 0.5 * placed.objective(found.free)[1])
    assert gain.max() < 0.5


def test_few_inducing_inputs_keep_below_the_evidence():
    exact = problem()
    few, more = (learn_process(problem(method=SparseProcess(m)))[1] for m in (8, 30))
    assert few.value < more.value
    for found in (few, more):
        assert found.value < exact.log_evidence(found.free)[0]
    best = learn(exact)
    assert (
        more.value + exact.log_prior(more.free)[0] < best.value + exact.log_prior(best.free)[0]
    )


def test_given_inducing_inputs_stay():
    inputs = np.random.default_rng(0).uniform(-3, 3, (15, 2))
    placed, found = learn_process(problem(method=SparseProcess(inducing=inputs)))
    assert placed.method.inducing is inputs
    assert found.status.has_converged


def test_nothing_to_learn_is_the_bound_at_the_given_settings():
    kernel = SquaredExponential(1.0).hold()
    placed, found = learn_process(problem(kernel, level=0.04, method=SparseProcess(40)))
    known = placed.method.log_evidence(placed.data, kernel, np.full(400, 0.04))
    assert_allclose(found.log_evidence, known)
    assert found.free.shape == (0,)


def test_many_rows_are_learned_by_way_of_some(monkeypatch):
    plain = learn(problem())
    monkeypatch.setattr(search, "FEW_ROWS", 120)
    monkeypatch.setattr(search, "MANY_ROWS", 300)
    sizes = []
    evidence = ExactProcess.evidence
    monkeypatch.setattr(
        ExactProcess,
        "evidence",
        lambda self, data, *rest: sizes.append(len(data.x)) or evidence(self, data, *rest),
    )
    found = learn(problem())
    assert_allclose(found.free, plain.free, atol=1e-3)
    assert_allclose(found.log_evidence, plain.log_evidence, atol=0.02)
    assert sizes.count(120) > 0
    assert sizes.count(400) < 25


def test_differences_to_one_side_tell_the_curvature(monkeypatch):
    small = problem().taken(some_rows(problem(), 100))
    found = climb(small, small.natural, None, 200, 1e-10)
    both = curvature(small, found)
    monkeypatch.setattr(search, "FEW_ROWS", 50)
    one = curvature(small, found)
    scale = np.sqrt(np.outer(np.diagonal(both), np.diagonal(both)))
    assert_allclose(one / scale, both / scale, atol=0.02)


def test_without_a_prior_the_maximum_is_taken_for_what_is_known():
    found = learn(problem(has_prior=False))
    again = problem(has_prior=False)
    assert_allclose(found.log_evidence, again.log_evidence(found.free)[0])
    assert_allclose(again.log_evidence(found.free)[1], 0.0, atol=1e-2)
    assert not found.covariance.any()


def test_settings_of_some_rows_are_kept_for_all():
    method = SparseProcess(60, n_learning=150)
    placed, found = learn_process(problem(method=method))
    some = learn(problem().taken(some_rows(problem(), 150)))
    assert_allclose(found.free, some.free)
    assert_allclose(found.covariance, some.covariance)
    all_rows = learn(problem())
    bend = search.more_bent(problem(), np.linalg.inv(some.covariance), 150 / 400)
    volume = 0.5 * (len(bend) * np.log(2 * np.pi) - np.linalg.slogdet(bend)[1])
    assert_allclose(found.log_evidence, placed.log_density(found.free) + volume)
    assert abs(found.log_evidence - all_rows.log_evidence) < 6.0
    assert found.value < all_rows.value


def test_more_rows_bend_what_rows_say_and_not_the_prior():
    spread = problem().spread
    prior = np.diag(np.where(np.isfinite(spread), 1.0 / spread**2, 0.0))
    found = search.more_bent(problem(), prior + np.diag([1.0, 2.0, 3.0, 4.0]), 0.5)
    assert_allclose(found, prior + np.diag([2.0, 4.0, 6.0, 8.0]))
    flat = search.more_bent(problem(has_prior=False), np.eye(4), 0.25)
    assert_allclose(flat, 4.0 * np.eye(4))


class Saddle(search.SettingsProblem):
    """Two peaks at ``a = -1`` and ``a = 1``, with the natural settings on the ridge between."""

    def __init__(self, has_prior):
        self.kernel = FunctionKernel(lambda X, Z: X @ Z.T, {"a": 1.0, "b": 1.0})
        self.data = ProcessData(np.zeros((5, 2)), np.zeros((5, 1)), np.zeros((5, 0)))
        self.has_prior = has_prior

    natural = np.zeros(2)

    def log_evidence(self, free):
        a, b = free
        value = -30.0 * (a**2 - 1.0) ** 2 - 20.0 * b**2
        return value, np.array([-120.0 * a * (a**2 - 1.0), -40.0 * b])

    def taken(self, rows):
        return self


def test_a_saddle_is_left_for_a_peak():
    found = learn(Saddle(True))
    assert found.status.has_converged
    assert_allclose(np.abs(found.free), [1.0, 0.0], atol=0.01)
    # Two times thirty times four, and the prior's.
    assert_allclose(found.covariance[0, 0], 1 / 240.0, rtol=0.1)


@pytest.mark.parametrize("inference", ["map", "ml"])
def test_parts_of_a_sum_that_begin_alike_part(inference):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, (80, 1)), axis=0)
    y = 3 * np.sin(0.6 * x) + np.sin(8 * x) + 0.1 * rng.normal(size=(80, 1))
    noise = RowNoise(np.zeros(80), np.ones(80), np.zeros(80), np.empty((80, 0)))
    data = ProcessData(x, y, np.ones((80, 1)))
    ends = []
    for scales in ((1.0, 1.0), (3.0, 0.3)):
        kernel = 1.0 * SquaredExponential(scales[0]) + 1.0 * SquaredExponential(scales[1])
        part = ProcessProblem(data, kernel, noise, has_prior=inference == "map")
        ends.append(learn(part))
    assert_allclose(ends[0].value, ends[1].value, atol=1e-2)
    assert_allclose(np.exp(ends[0].free[[1, 3]]), [2.7, 0.235], rtol=0.1)


def test_a_wave_that_turns_between_rows_far_apart_is_found():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 2500.0, (5_000, 1)), axis=0)
    y = np.sin(x) + 0.2 * rng.normal(size=x.shape)
    noise = RowNoise(np.zeros(5_000), np.ones(5_000), np.zeros(5_000), np.empty((5_000, 0)))
    data = ProcessData(x, y, np.ones((5_000, 1)))
    found = learn(ProcessProblem(data, 1.0 * Matern52(1.0), noise, SeriesProcess()))
    assert 1.0 < np.exp(found.free[1]) < 4.0
    assert_allclose(np.exp(found.free[2]), 0.04, rtol=0.3)


def test_some_rows_of_one_column_hold_a_stretch_without_gaps():
    x = np.random.default_rng(0).permutation(1_000.0 * np.arange(2_000))[:, None]
    noise = RowNoise(np.zeros(2_000), np.ones(2_000), np.zeros(2_000), np.empty((2_000, 0)))
    data = ProcessData(x, x, np.empty((2_000, 0)))
    rows = some_rows(ProcessProblem(data, SquaredExponential(1.0), noise), 100)
    assert len(np.unique(rows)) == 100
    assert np.sum(np.diff(np.sort(x[rows, 0])) == 1_000.0) >= 49
    assert np.ptp(x[rows]) > 1_800_000

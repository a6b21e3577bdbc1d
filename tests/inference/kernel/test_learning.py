"""Learned settings, exact and sparse: against plain searches, and each other."""

from dataclasses import replace

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


def equal_noise(n, level=None):
    """Return noise that is the same in all rows of one output."""
    none = np.zeros((n, 1))
    return RowNoise(none, np.ones(n), none, np.empty((n, 0)), level)


def problem(kernel=None, n=400, level=None, method=None, has_prior=True):
    rng = np.random.default_rng(1)
    x = rng.uniform(-3, 3, (n, 2))
    y = np.sin(2 * x[:, :1]) + 0.5 * x[:, 1:] + 0.2 * rng.normal(size=(n, 1))
    noise = equal_noise(n, level)
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
    placed, found = learn_process(
        problem(kernel, level=np.array([0.04]), method=SparseProcess(40))
    )
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
    noise = equal_noise(80)
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
    noise = equal_noise(5_000)
    data = ProcessData(x, y, np.ones((5_000, 1)))
    found = learn(ProcessProblem(data, 1.0 * Matern52(1.0), noise, SeriesProcess()))
    assert 1.0 < np.exp(found.free[1]) < 4.0
    assert_allclose(np.exp(found.free[2]), 0.04, rtol=0.3)


def test_some_rows_of_one_column_hold_a_stretch_without_gaps():
    x = np.random.default_rng(0).permutation(1_000.0 * np.arange(2_000))[:, None]
    noise = equal_noise(2_000)
    data = ProcessData(x, x, np.empty((2_000, 0)))
    rows = some_rows(ProcessProblem(data, SquaredExponential(1.0), noise), 100)
    assert len(np.unique(rows)) == 100
    assert np.sum(np.diff(np.sort(x[rows, 0])) == 1_000.0) >= 49
    assert np.ptp(x[rows]) > 1_800_000


def several(n=25, is_own=True, n_noise=2, level=None):
    """Return a problem of three outputs, copies and known noise, and free numbers of it."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(n, 2)), rng.normal(size=(n, 3)) * [1.0, 2.0, 0.5]
    known, scatter = rng.uniform(0.0, 0.2, (n, 3)), rng.uniform(0.0, 0.1, (n, 3))
    columns = rng.normal(size=(n, n_noise))
    noise = RowNoise(known, rng.integers(1, 4, n).astype(float), scatter, columns, level)
    found = ProcessProblem(
        ProcessData(x, y, np.ones((n, 1))),
        SquaredExponential((1.0, 1.0)),
        noise,
        ExactProcess(),
        variance=1.5 if is_own else None,
    )
    return found, 0.4 * rng.normal(size=len(found.names)) - 0.2


def alone(whole, free, output):
    """Return the problem of one output by itself, and its free numbers."""
    kernel, variances, learned = whole.split(free)
    own = learned.reshape(3, -1)[output]
    noise, level = whole.noise, whole.noise.level
    part = ProcessProblem(
        replace(whole.data, y=whole.data.y[:, [output]]),
        whole.kernel if variances is None else 1.0 * whole.kernel,
        replace(
            noise,
            known=noise.known[:, [output]],
            scatter=noise.scatter[:, [output]],
            level=None if level is None else level[[output]],
        ),
        whole.method,
    )
    first = [] if variances is None else [np.log(variances[output])]
    return part, np.concatenate([first, kernel.log_parameters, own])


@pytest.mark.parametrize("is_own", [True, False])
@pytest.mark.parametrize("n_noise", [0, 2])
@pytest.mark.parametrize("level", [None, np.array([0.3, 0.1, 0.1])])
def test_outputs_are_processes_of_their_own_that_share_a_kernel(is_own, n_noise, level):
    whole, free = several(is_own=is_own, n_noise=n_noise, level=level)
    value, slope = whole.log_evidence(free)
    parts = [alone(whole, free, output) for output in range(3)]
    singles = [part.log_evidence(own) for part, own in parts]
    assert_allclose(value, sum(one for one, _ in singles), rtol=1e-12)
    n_first = int(is_own)
    by_kernel = sum(by[n_first : n_first + 2] for _, by in singles)
    by_variance = [by[0] for _, by in singles if is_own]
    by_noise = [by[n_first + 2 :] for _, by in singles]
    expected = np.concatenate([by_kernel, by_variance, *by_noise])
    assert_allclose(slope, expected, rtol=1e-10, atol=1e-10)
    new, columns = np.array([[0.3, -0.2], [2.0, 1.0]]), np.ones((2, 1))
    mean, variance = whole.belief(free).moments(new, columns)
    for output, (part, own) in enumerate(parts):
        own_mean, own_variance = part.belief(own).moments(new, columns)
        assert_allclose(mean[:, [output]], own_mean, rtol=1e-10)
        assert_allclose(variance[:, [output]], own_variance, rtol=1e-10)


@pytest.mark.parametrize("is_own", [True, False])
@pytest.mark.parametrize("method", [ExactProcess(), SparseProcess(inducing=np.eye(2))])
def test_the_gradient_of_several_outputs_is_that_of_differences(is_own, method):
    whole, free = several(is_own=is_own)
    whole = replace(whole, method=method)
    for objective in (whole.log_evidence, whole.log_prior, whole.objective):
        slope = objective(free)[1]
        for place, step in enumerate(1e-5 * np.eye(len(free))):
            ends = [objective(free + sign * step)[0] for sign in (1, -1)]
            assert_allclose(slope[place], (ends[0] - ends[1]) / 2e-5, rtol=1e-5, atol=1e-5)


def test_outputs_whose_covariance_is_the_same_share_a_factor():
    whole, _ = several(is_own=False, n_noise=0, level=np.array([0.3, 0.1, 0.1]))
    whole = replace(whole, noise=replace(whole.noise, known=np.zeros((25, 3))))
    assert sorted(group.tolist() for group in whole.groups) == [[0], [1, 2]]
    assert len(several()[0].groups) == 3


def test_settings_of_several_outputs_have_names_in_their_order():
    assert several(n_noise=1)[0].names == [
        "length_scale[0]", "length_scale[1]", "variance[0]", "variance[1]", "variance[2]",
        "noise_variance[0]", "log_noise[0,0]", "noise_variance[1]", "log_noise[1,0]",
        "noise_variance[2]", "log_noise[2,0]",
    ]  # fmt: skip

"""Inducing inputs: the bound against dense formulas, the exact process and differences."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.features import Linear, Matern52, SquaredExponential, White
from credo.inference.kernel import process, sparse
from credo.inference.kernel.exact import ExactProcess
from credo.inference.kernel.inducing import greedy_rows
from credo.inference.kernel.process import ProcessData
from credo.inference.kernel.sparse import SparseProcess
from credo.numerics import array

KERNEL = 1.7 * SquaredExponential((0.8, 1.4)) + 0.3 * Linear(0.5)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Let sixty rows come in several blocks."""
    monkeypatch.setattr(sparse, "BLOCK_ENTRIES", 200)


def problem(n=60, k=2, q=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 2))
    y = np.column_stack([np.sin(2 * x[:, 0]) + x[:, 1] + 5, np.cos(x[:, 1]) * x[:, 0] - 2])
    y = y[:, :k] + 0.3 * rng.normal(size=(n, k))
    columns = np.column_stack([np.ones(n), x[:, 0]])[:, :q]
    return ProcessData(x, y, columns), rng.uniform(0.05, 0.2, n)


def dense(data, kernel, noise, inducing):
    """The covariance of the bound, and the trace that it loses, by formulas on paper."""
    cross, own = kernel(data.x, inducing), kernel(inducing)
    nystrom = cross @ np.linalg.solve(own, cross.T)
    lost = float(np.sum((kernel.diagonal(data.x) - np.diagonal(nystrom)) / noise))
    return nystrom + np.diag(noise), lost


def dense_bound(data, kernel, noise, inducing):
    covariance, lost = dense(data, kernel, noise, inducing)
    h, total = data.columns, 0.0
    for y in data.y.T:
        s_h, s_y = np.linalg.solve(covariance, h), np.linalg.solve(covariance, y)
        information = h.T @ s_h
        b = np.linalg.solve(information, h.T @ s_y) if h.shape[1] else np.empty(0)
        at_best = stats.multivariate_normal(h @ b, covariance).logpdf(y)
        volume = 0.5 * h.shape[1] * np.log(2 * np.pi)
        total += at_best + volume - 0.5 * np.linalg.slogdet(information)[1] - 0.5 * lost
    return total


@pytest.mark.parametrize(("k", "q"), [(1, 0), (2, 0), (1, 1), (2, 2)])
def test_bound_is_the_formula_on_paper(k, q):
    data, noise = problem(k=k, q=q)
    inducing = data.x[:12]
    method = SparseProcess(inducing=inducing)
    expected = dense_bound(data, KERNEL, noise, inducing)
    assert_allclose(method.evidence(data, KERNEL, noise).value, expected, rtol=1e-8)
    assert_allclose(method.log_evidence(data, KERNEL, noise), expected, rtol=1e-8)


@pytest.mark.parametrize(("k", "q"), [(1, 0), (2, 2)])
def test_all_rows_as_inducing_inputs_are_the_exact_process(k, q):
    data, noise = problem(k=k, q=q)
    method = SparseProcess(inducing=data.x)
    found = method.evidence(data, KERNEL, noise)
    exact = ExactProcess().evidence(data, KERNEL, noise)
    assert_allclose(found.value, exact.value, atol=1e-5)
    assert_allclose(found.by_parameter, exact.by_parameter, atol=1e-4)
    assert_allclose(found.by_noise, exact.by_noise, atol=1e-4)
    X, columns = data.x[:7] + 0.3, data.columns[:7]
    belief = method.belief(data, KERNEL, noise)
    exact_belief = ExactProcess().belief(data, KERNEL, noise)
    for name in ("moments", "joint"):
        for a, b in zip(
            getattr(belief, name)(X, columns),
            getattr(exact_belief, name)(X, columns),
            strict=True,
        ):
            assert_allclose(a, b, atol=1e-6)
    for a, b in zip(belief.leave_one_out(), exact_belief.leave_one_out(), strict=True):
        assert_allclose(a, b, atol=1e-6)


def test_bound_is_below_the_evidence_and_rises_with_inducing_inputs():
    data, noise = problem()
    exact = ExactProcess().log_evidence(data, KERNEL, noise)
    bounds = [SparseProcess(m).log_evidence(data, KERNEL, noise) for m in (2, 5, 10, 20, 40)]
    assert np.all(np.diff(bounds) > 0)
    assert bounds[-1] < exact
    assert exact - bounds[-1] < 0.1 < exact - bounds[1]


@pytest.mark.parametrize("kernel", [KERNEL, 0.7 * Matern52(1.1) + White(0.05)], ids=repr)
@pytest.mark.parametrize(("k", "q"), [(1, 0), (2, 2)])
def test_gradient_by_parameters_is_that_of_differences(kernel, k, q):
    data, noise = problem(k=k, q=q)
    method = SparseProcess(inducing=data.x[::5])
    found = method.evidence(data, kernel, noise).by_parameter
    logs, step = kernel.log_parameters, 1e-5
    for place in range(len(logs)):
        shift = step * (np.arange(len(logs)) == place)
        ends = [method.log_evidence(data, kernel.at(logs + s * shift), noise) for s in (1, -1)]
        assert_allclose(found[place], (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kernel", [KERNEL, 0.7 * Matern52(1.1) + White(0.05)], ids=repr)
@pytest.mark.parametrize(("k", "q"), [(1, 0), (2, 2)])
def test_gradient_by_noise_is_that_of_differences(kernel, k, q):
    data, noise = problem(k=k, q=q)
    method = SparseProcess(inducing=data.x[::5])
    found = method.evidence(data, kernel, noise).by_noise
    for row in (0, 7, 59):
        shift = 1e-6 * (np.arange(60) == row)
        ends = [method.log_evidence(data, kernel, noise + s * shift) for s in (1, -1)]
        assert_allclose(found[row], (ends[0] - ends[1]) / 2e-6, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("k", "q"), [(1, 0), (2, 2)])
def test_predictions_are_the_formulas_on_paper(k, q):
    data, noise = problem(k=k, q=q)
    inducing = data.x[:12]
    covariance, _ = dense(data, KERNEL, noise, inducing)
    X, columns = data.x[:5] + 0.3, data.columns[:5] * [1.0, 1.2][:q]
    own = KERNEL(inducing)
    cross = KERNEL(X, inducing) @ np.linalg.solve(own, KERNEL(inducing, data.x))
    h = data.columns
    s_h, s_y = np.linalg.solve(covariance, h), np.linalg.solve(covariance, data.y)
    b = np.linalg.solve(h.T @ s_h, h.T @ s_y) if q else np.empty((0, k))
    mean = columns @ b + cross @ (s_y - s_h @ b)
    free = columns - cross @ s_h
    spread = KERNEL(X) - cross @ np.linalg.solve(covariance, cross.T)
    if q:
        spread = spread + free @ np.linalg.solve(h.T @ s_h, free.T)
    belief = SparseProcess(inducing=inducing).belief(data, KERNEL, noise)
    found, found_spread = belief.joint(X, columns)
    assert_allclose(found, mean, atol=1e-7)
    assert_allclose(found_spread, spread, atol=1e-7)
    one, variance = belief.moments(X, columns)
    assert_allclose(one, mean, atol=1e-7)
    assert_allclose(variance, np.diagonal(spread), atol=1e-7)


def test_leaving_one_out_is_learning_without_it():
    data, noise = problem()
    method = SparseProcess(inducing=data.x[::6])
    mean, variance = method.belief(data, KERNEL, noise).leave_one_out()
    for row in (0, 5, 31):
        kept = np.arange(60) != row
        part = ProcessData(data.x[kept], data.y[kept], data.columns[kept])
        belief = method.belief(part, KERNEL, noise[kept])
        one, doubt = belief.moments(data.x[[row]], data.columns[[row]])
        assert_allclose(mean[row], one[0], atol=1e-7)
        assert_allclose(variance[row], doubt[0] + noise[row], atol=1e-7)


def test_rows_that_come_later_count_as_if_they_had_been_there():
    data, noise = problem()
    method = SparseProcess(inducing=data.x[::6])
    whole = method.belief(data, KERNEL, noise)
    first = ProcessData(data.x[:40], data.y[:40], data.columns[:40])
    grown = method.belief(first, KERNEL, noise[:40]).extended(
        data.x[40:], data.y[40:], data.columns[40:], noise[40:]
    )
    assert_allclose(grown.log_evidence, whole.log_evidence)
    X, columns = data.x[:4] + 0.1, data.columns[:4]
    for a, b in zip(grown.moments(X, columns), whole.moments(X, columns), strict=True):
        assert_allclose(a, b, atol=1e-9)
    for a, b in zip(grown.leave_one_out(), whole.leave_one_out(), strict=True):
        assert_allclose(a, b, atol=1e-9)


def test_a_large_level_of_the_outcomes_does_not_matter():
    data, noise = problem(q=1)
    method = SparseProcess(inducing=data.x[::6])
    high = ProcessData(data.x, data.y + 1e7, data.columns)
    plain, lifted = (method.evidence(d, KERNEL, noise) for d in (data, high))
    assert_allclose(lifted.value, plain.value, atol=1e-4)
    assert_allclose(lifted.by_parameter, plain.by_parameter, atol=1e-4)


def test_draws_have_the_moments_of_the_posterior():
    data, noise = problem(k=1, q=1)
    belief = SparseProcess(10).belief(data, KERNEL, noise)
    X, columns = data.x[:3] + 0.2, data.columns[:3]
    draws = belief.sample(np.random.default_rng(0), X, columns, 20_000)[:, :, 0]
    mean, covariance = belief.joint(X, columns)
    assert_allclose(draws.mean(axis=0), mean[:, 0], atol=0.02)
    assert_allclose(np.cov(draws.T), covariance, atol=0.02)


def test_greedy_choice_takes_the_largest_conditional_variance():
    data, noise = problem()
    taken = greedy_rows(KERNEL, data.x, noise, 8)
    for step in range(8):
        before = taken[:step]
        cross = KERNEL(data.x, data.x[before])
        known = np.einsum("ij,ji->i", cross, np.linalg.solve(KERNEL(data.x[before]), cross.T))
        left = (KERNEL.diagonal(data.x) - known) / noise
        assert taken[step] == np.argmax(left)


def test_greedy_choice_ends_when_nothing_is_left():
    x = np.repeat([[0.0], [1.0], [2.0]], 5, axis=0)
    assert greedy_rows(SquaredExponential(1.0), x, np.ones(15), 15).tolist() == [0, 10, 5]
    assert len(greedy_rows(SquaredExponential(100.0), x, np.full(15, 0.1), 15)) < 3


def test_white_noise_in_the_kernel_is_noise_of_the_rows():
    data, noise = problem()
    inducing = data.x[::6]
    method = SparseProcess(inducing=inducing)
    inside = method.belief(data, KERNEL + White(0.3), noise)
    beside = method.belief(data, KERNEL, noise + 0.3)
    assert_allclose(inside.log_evidence, beside.log_evidence)
    X, columns = data.x[:4] + 0.1, data.columns[:4]
    assert_allclose(inside.moments(X, columns)[1], beside.moments(X, columns)[1] + 0.3)
    for a, b in zip(inside.leave_one_out(), beside.leave_one_out(), strict=True):
        assert_allclose(a, b)


def test_white_noise_within_a_product_is_noise_of_the_rows():
    data, noise = problem()
    method = SparseProcess(inducing=data.x[:5])
    inside = method.log_evidence(data, KERNEL * (Linear() + White(0.1)), noise)
    beside = noise + 0.1 * KERNEL.diagonal(data.x)
    assert_allclose(inside, method.log_evidence(data, KERNEL * Linear(), beside))


def test_white_noise_alone_is_refused():
    data, noise = problem()
    with pytest.raises(ValueError, match="must have a part that is not White"):
        SparseProcess(5).evidence(data, White(0.1), noise)


def test_rows_without_noise_are_refused():
    data, noise = problem()
    with pytest.raises(ValueError, match=r"noise of positive variance in every row; found 0\."):
        SparseProcess(5).belief(data, KERNEL, 0.0 * noise)


@pytest.mark.parametrize("n", [0, -3, 2.5, "many"])
def test_numbers_of_inducing_inputs_are_checked(n):
    with pytest.raises(ValueError, match="n_inducing must be None or a whole number"):
        SparseProcess(n)


@pytest.mark.parametrize(("n", "m"), [(20_000, 200), (3_000, 800)])
def test_memory_of_the_bound_and_its_gradient_is_known_beforehand(monkeypatch, n, m):
    monkeypatch.setattr(sparse, "BLOCK_ENTRIES", process.BLOCK_ENTRIES)
    rng = np.random.default_rng(0)
    data = ProcessData(rng.normal(size=(n, 8)), rng.normal(size=(n, 1)), np.ones((n, 1)))
    kernel = 1.0 * Matern52((2.0,) * 8)
    method = SparseProcess(m, inducing=data.x[:m])
    method.evidence(data, kernel, np.full(n, 0.1))
    array._free.clear()
    tracemalloc.start()
    method.evidence(data, kernel, np.full(n, 0.1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.4 * method.bytes_needed(n) < peak < method.bytes_needed(n)

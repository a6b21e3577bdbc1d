"""Exact Gaussian processes against worked numbers, dense formulas and other libraries."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.features import Constant, Linear, Matern32, Matern52, SquaredExponential
from credo.inference import ExactProcess, GaussianProcess
from credo.inference.kernel.process import ProcessData
from credo.numerics import array
from credo.numerics.linear.linear_algebra import NotPositiveDefinite

X4, Y4 = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[0.2], [0.9], [2.1], [2.8]])
NONE = np.empty((4, 0))
PROCESS = ExactProcess()


def case(n=30, d=3, n_columns=0, n_outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, d)), rng.normal(size=(n, n_outputs))
    columns = np.column_stack([np.ones(n), x[:, 0]])[:, :n_columns]
    kernel = 1.3 * SquaredExponential(tuple(rng.uniform(0.5, 2, d))) + 0.5 * Matern32(0.7)
    return ProcessData(x, y, columns), kernel, rng.uniform(0.1, 0.3, n)


def test_the_worked_example():
    data, noise = ProcessData(X4, Y4, NONE), np.full(4, 0.1)
    kernel = SquaredExponential(1.0)
    found = PROCESS.evidence(data, kernel, noise)
    assert_allclose(found.value, -7.0341773367, rtol=1e-10)
    assert_allclose(found.by_parameter, [2.6557474801], rtol=1e-9)
    assert_allclose(found.by_noise.sum(), -0.9190389797, rtol=1e-9)
    mean, variance = PROCESS.belief(data, kernel, noise).moments(
        np.array([[1.5], [4.0]]), np.empty((2, 0))
    )
    assert_allclose(mean[:, 0], [1.4245381062, 1.4186421395], rtol=1e-9)
    assert_allclose(variance, [0.0784453940, 0.6049681437], rtol=1e-8)


def test_a_linear_kernel_is_bayesian_linear_regression():
    kernel = 2.0 * (Linear(1.0) + Constant(1.0))
    data, noise = ProcessData(X4, Y4, NONE), np.full(4, 0.25)
    belief = PROCESS.belief(data, kernel, noise)
    mean, variance = belief.moments(np.array([[1.5], [4.0]]), np.empty((2, 0)))
    assert_allclose(mean[:, 0], [1.4947368421, 3.7052631579], rtol=1e-9)
    assert_allclose(variance, [0.0607017544, 0.3607017544], rtol=1e-8)
    assert_allclose(PROCESS.log_evidence(data, kernel, noise), -4.8393921148, rtol=1e-10)


def test_the_evidence_is_the_density_of_the_outcomes():
    data, kernel, noise = case()
    covariance = kernel(data.x) + np.diag(noise)
    expected = stats.multivariate_normal.logpdf(data.y[:, 0], np.zeros(30), covariance)
    assert_allclose(PROCESS.log_evidence(data, kernel, noise), expected, rtol=1e-12)
    assert_allclose(PROCESS.evidence(data, kernel, noise).value, expected, rtol=1e-12)


def test_a_flat_mean_is_the_limit_of_a_wide_one():
    data, kernel, noise = case(n_columns=2, n_outputs=2)
    wide = 1e6
    covariance = kernel(data.x) + np.diag(noise) + wide * data.columns @ data.columns.T
    normal = stats.multivariate_normal(np.zeros(30), covariance)
    # A density of one instead of that of a normal of this width, in two dimensions.
    expected = sum(normal.logpdf(y) + np.log(2 * np.pi * wide) for y in data.y.T)
    assert_allclose(PROCESS.log_evidence(data, kernel, noise), expected, rtol=1e-7)
    rows = np.random.default_rng(1).normal(size=(5, 3))
    columns = np.column_stack([np.ones(5), rows[:, 0]])
    mean, variance = PROCESS.belief(data, kernel, noise).moments(rows, columns)
    cross = kernel(rows, data.x) + wide * columns @ data.columns.T
    assert_allclose(mean, cross @ np.linalg.solve(covariance, data.y), rtol=1e-4, atol=1e-4)
    prior = kernel.diagonal(rows) + wide * (columns**2).sum(axis=1)
    left = prior - np.einsum("ij,ji->i", cross, np.linalg.solve(covariance, cross.T))
    assert_allclose(variance, left, rtol=1e-4)


@pytest.mark.parametrize(("n_columns", "n_outputs"), [(0, 1), (2, 3)])
def test_gradients_agree_with_differences(n_columns, n_outputs):
    data, kernel, noise = case(n_columns=n_columns, n_outputs=n_outputs)
    found = PROCESS.evidence(data, kernel, noise)
    logs, step = kernel.log_parameters, 1e-5
    ends = [(logs + h, logs - h) for h in step * np.eye(len(logs))]
    expected = [
        (
            PROCESS.log_evidence(data, kernel.at(up), noise)
            - PROCESS.log_evidence(data, kernel.at(down), noise)
        )
        / (2 * step)
        for up, down in ends
    ]
    assert_allclose(found.by_parameter, expected, rtol=1e-6, atol=1e-7)
    moved = [noise + h for h in 1e-6 * np.eye(30)[:3]]
    values = [PROCESS.log_evidence(data, kernel, v) - found.value for v in moved]
    assert_allclose(found.by_noise[:3], np.array(values) / 1e-6, rtol=1e-3, atol=1e-3)


def test_leaving_one_out_equals_learning_without_it():
    data, kernel, noise = case(n_columns=2)
    mean, variance = PROCESS.belief(data, kernel, noise).leave_one_out()
    for left in (0, 7):
        kept = np.arange(30) != left
        others = ProcessData(data.x[kept], data.y[kept], data.columns[kept])
        belief = PROCESS.belief(others, kernel, noise[kept])
        found = belief.moments(data.x[[left]], data.columns[[left]])
        assert_allclose(mean[left], found[0][0], rtol=1e-8)
        assert_allclose(variance[left], found[1][0] + noise[left], rtol=1e-8)


def test_more_rows_grow_the_factor_to_that_of_all_rows():
    data, kernel, noise = case(n_columns=1)
    first = ProcessData(data.x[:20], data.y[:20], data.columns[:20])
    grown = PROCESS.belief(first, kernel, noise[:20]).extended(
        data.x[20:], data.y[20:], data.columns[20:], noise[20:]
    )
    whole = PROCESS.belief(data, kernel, noise)
    assert_allclose(grown.lower, whole.lower, atol=1e-12)
    assert_allclose(grown.dual, whole.dual, rtol=1e-9, atol=1e-10)


def test_draws_have_the_moments_of_the_joint_distribution():
    data, kernel, noise = case(n_columns=1)
    belief = PROCESS.belief(data, kernel, noise)
    rows, columns = data.x[:3] + 0.1, np.ones((3, 1))
    draws = belief.sample(np.random.default_rng(0), rows, columns, 40_000)[:, :, 0]
    mean, covariance = belief.joint(rows, columns)
    assert_allclose(draws.mean(axis=0), mean[:, 0], atol=0.02)
    assert_allclose(np.cov(draws.T), covariance, atol=0.03)
    assert_allclose(np.diagonal(covariance), belief.moments(rows, columns)[1], rtol=1e-9)


def test_a_function_is_interpolated_without_noise_and_the_jitter_is_said():
    x = np.linspace(0.0, 1.0, 40)[:, None]
    data = ProcessData(x, np.sin(3 * x), np.empty((40, 0)))
    belief = PROCESS.belief(data, SquaredExponential(1.0), np.zeros(40))
    assert 0 < belief.jitter < 1e-6
    assert_allclose(belief.moments(x, data.columns)[0], data.y, atol=1e-4)


def test_what_has_no_factor_is_refused_in_words():
    data = ProcessData(X4, Y4, NONE)

    class Odd(SquaredExponential):
        def evaluated(self, X, Z=None):
            return -np.eye(len(X)), lambda W: np.zeros(1)

    with pytest.raises(NotPositiveDefinite, match="If rows repeat and there is no noise"):
        PROCESS.log_evidence(data, Odd(1.0), np.zeros(4))


def test_prior_functions_have_the_covariance_of_the_kernel():
    process = GaussianProcess(2.0 * SquaredExponential(0.8), mean=1.0)
    rows = np.array([[0.0], [0.5], [2.0]])
    draws = process.sample(np.random.default_rng(0), rows, 20_000)
    assert_allclose(draws.mean(axis=0), process.at(rows).mean(), atol=0.03)
    assert_allclose(np.cov(draws.T), process.at(rows).covariance(), atol=0.05)
    expected = 2.0 * np.exp(-0.5 * np.square((rows - rows.T) / 0.8))
    assert_allclose(process.at(rows).covariance(), expected, rtol=1e-12)
    normal = np.random.default_rng(0).standard_normal((1, 3))
    root = np.linalg.cholesky(expected)
    assert_allclose(draws[:1], 1.0 + normal @ root.T, rtol=1e-6)


def test_a_function_that_is_asked_for_more_stays_the_same_function():
    process = GaussianProcess(SquaredExponential(0.8))
    rng = np.random.default_rng(0)
    rows, more = np.array([[0.0], [1.0]]), np.array([[0.4]])
    ends = [process.draw(rng, rows).extended(rng, more).values for _ in range(2_000)]
    expected = process.at(np.vstack([rows, more])).covariance()
    assert_allclose(np.cov(np.array(ends).T), expected, atol=0.12)


def test_the_evidence_and_its_gradient_take_less_than_three_or_four_matrices():
    n, rng = 600, np.random.default_rng(0)
    x = rng.normal(size=(n, 8))
    data = ProcessData(x, x[:, :1], np.ones((n, 1)))
    kernels = {2.6: 1.0 * SquaredExponential((1.0,) * 8), 3.6: 1.0 * Matern52((1.0,) * 8)}
    for most, kernel in kernels.items():
        process = ExactProcess()
        process.evidence(data, kernel, np.full(n, 0.1))
        array._free.clear()
        tracemalloc.start()
        process.evidence(data, kernel, np.full(n, 0.1))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert 2 * 8 * n**2 < peak < most * 8 * n**2
        assert process.bytes_needed(n) >= peak

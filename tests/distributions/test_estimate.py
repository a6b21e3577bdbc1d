import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.distributions import (
    Beta,
    Binomial,
    Estimate,
    Exponential,
    Gamma,
    Mixture,
    MultivariateNormal,
    Normal,
    Poisson,
    StudentT,
    Uniform,
    box_muller,
    clt_interval,
    expectation,
    monte_carlo,
    polynomial_regression_data,
    root_mean_square,
    sample_covariance,
    sample_mean,
    sample_variance,
    standardize,
)


@pytest.mark.parametrize(
    "d",
    [
        Normal([0.0, 3.0], 2.0),
        StudentT(6.0, 1.0, 2.0),
        Gamma(0.3, 2.0),
        Beta(0.5, 2.0),
        Exponential(0.7),
        Uniform(-1.0, 4.0),
        Poisson([0.0, 7.5]),
        Binomial(9, 0.2),
        Mixture([0.2, 0.8], (Normal(0.0, 1e-3), Normal([1.0, 2.0], 3.0))),
    ],
    ids=lambda d: type(d).__name__,
)
def test_expectations_of_powers_are_the_moments(d):
    mean = expectation(lambda x: x, d)
    assert_allclose(mean, d.mean(), rtol=1e-9, atol=1e-12)
    assert_allclose(expectation(lambda x: (x - d.mean()) ** 2, d), d.variance(), rtol=1e-8)
    assert_allclose(expectation(np.ones_like, d), 1.0, rtol=1e-12)


def test_expectation_of_exponential_is_the_moment_generating_function():
    assert_allclose(expectation(np.exp, Normal(0.3, 0.8)), np.exp(0.3 + 0.32), rtol=1e-10)
    assert_allclose(expectation(np.exp, Poisson(2.0)), np.exp(2.0 * (np.e - 1)), rtol=1e-10)


def test_monte_carlo_error_is_honest_and_falls_with_the_root_of_n():
    d, rng = MultivariateNormal([0.0, 1.0], np.eye(2)), np.random.default_rng(0)
    runs = [monte_carlo(lambda x: (x**2).sum(axis=-1), d, rng, 400) for _ in range(300)]
    values = np.array([run.value for run in runs])
    errors = np.array([run.standard_error for run in runs])
    drawn = (d.sample(np.random.default_rng(0), 400) ** 2).sum(axis=-1)
    assert_allclose(values[0], drawn.mean())
    # E = 3; the variance of a sum of squares of N(0, 1) and N(1, 1) is 2 + 6 = 8.
    assert abs(values.mean() - 3.0) < 5 * np.sqrt(8 / 400 / 300)
    assert_allclose(errors.mean(), np.sqrt(8 / 400), rtol=0.05)
    covered = np.mean([low < 3.0 < high for low, high in (r.interval(0.9) for r in runs)])
    assert 0.83 < covered < 0.96
    more = monte_carlo(lambda x: (x**2).sum(axis=-1), d, rng, 40_000)
    assert_allclose(more.standard_error, np.sqrt(8 / 40_000), rtol=0.05)


@pytest.mark.parametrize("unit", [1.0, 2e105, 1e250, 1e-200])
def test_a_root_mean_square_keeps_its_error_in_every_unit(unit):
    errors = np.array([1.0, -2.0, 0.5, 3.0, 0.0])
    root = root_mean_square(unit * errors)
    assert_allclose(root.value, unit * np.sqrt(np.mean(errors**2)))
    slope = unit / (2 * np.sqrt(np.mean(errors**2)))
    assert_allclose(root.standard_error, slope * stats.sem(errors**2))
    assert_allclose(sample_mean(unit * errors).standard_error, unit * stats.sem(errors))
    columns = np.column_stack([unit * errors, 1e-150 * errors])
    alone = [sample_mean(column) for column in columns.T]
    together = sample_mean(columns)
    assert together.value.tolist() == [mean.value for mean in alone]
    assert together.standard_error.tolist() == [mean.standard_error for mean in alone]
    assert_allclose(root_mean_square(columns).value / [unit, 1e-150], root.value / unit)
    nothing = root_mean_square(np.zeros(4))
    assert nothing.value == nothing.standard_error == 0.0


def test_sample_moments_agree_with_numpy_for_both_divisors():
    x = np.random.default_rng(1).normal(1e6, 2.0, size=(50, 3))
    for ddof in (0, 1):
        assert_allclose(sample_variance(x, ddof), x.var(axis=0, ddof=ddof))
        assert_allclose(sample_covariance(x, ddof), np.cov(x.T, ddof=ddof))
    assert_allclose(sample_mean(x).value, x.mean(axis=0))
    assert_allclose(sample_mean(x).standard_error, stats.sem(x))
    assert np.isnan(sample_mean([3.0]).standard_error)
    with pytest.raises(ValueError, match="more than ddof=1 rows; found 1"):
        sample_variance([3.0])


def test_mean_of_uniforms_has_a_twelfth_of_the_variance_over_n():
    x = np.random.default_rng(2).uniform(size=(20_000, 10))
    assert_allclose(x.mean(axis=1).var(), 1 / 120, rtol=0.06)
    z = standardize(x.mean(axis=1), mean=0.5, std=np.sqrt(1 / 120))
    assert_allclose([z.mean(), z.std()], [0.0, 1.0], atol=0.03)


def test_standardized_values_have_mean_zero_and_variance_one():
    z = standardize(np.random.default_rng(3).gamma(2.0, size=(40, 2)))
    assert_allclose(z.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(z.var(axis=0), 1.0)


def test_means_of_uniforms_approach_the_normal_as_their_number_grows():
    rng = np.random.default_rng(4)
    gaps = []
    for n in (1, 2, 8):
        z = (rng.uniform(size=(50_000, n)).mean(axis=1) - 0.5) * np.sqrt(12 * n)
        gaps.append(stats.kstest(z, "norm").statistic)
    assert gaps[0] > 2 * gaps[1] > 2 * gaps[2]


def test_central_limit_interval_covers_a_skewed_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    low, high = np.moveaxis(clt_interval(rng.exponential(size=(100, 4000)), 0.95), -1, 0)
    assert abs(np.mean((low < 1.0) & (high > 1.0)) - 0.95) < 0.025
    few = np.array([1.0, 2.0, 4.0, 9.0])
    reach = 1.959963985 * few.std(ddof=1) / 2
    assert_allclose(clt_interval(few, 0.95), [4.0 - reach, 4.0 + reach])
    step = 1.959963985 * Estimate(np.zeros(2), np.ones(2)).standard_error
    assert_allclose(Estimate(np.zeros(2), np.ones(2)).interval(0.95)[:, 1], step)


@pytest.mark.parametrize("n", [7, 20_000])
def test_box_muller_numbers_are_standard_normal(n):
    z = box_muller(np.random.default_rng(6), n)
    assert z.shape == (n,)
    u, v = np.random.default_rng(6).uniform(size=(2, (n + 1) // 2))
    assert_allclose(z[0], np.sqrt(-2 * np.log(1 - u[0])) * np.cos(2 * np.pi * v[0]))
    assert stats.kstest(z, "norm").pvalue > 0.001
    half = n // 2
    assert abs(np.corrcoef(z[:half], z[half : 2 * half])[0, 1]) < 5 / np.sqrt(half)


def test_regression_data_have_uniform_inputs_and_noise_of_the_stated_variance():
    n, weights = 50_000, [0.5, -1.0, 0.25]
    x, y = polynomial_regression_data(np.random.default_rng(7), n, weights)
    residual = y - (0.5 - x + 0.25 * x**2)
    assert x.min() >= 0.0
    assert x.max() <= 3.0
    assert_allclose([x.mean(), x.var()], [1.5, 0.75], rtol=0.02)
    assert abs(residual.mean()) < 5 * np.sqrt(0.1 / n)
    assert_allclose(residual.std(), 0.316227766, rtol=0.02)
    assert abs(np.corrcoef(x, residual)[0, 1]) < 5 / np.sqrt(n)

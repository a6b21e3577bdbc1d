"""The density of a regression with Student-t noise: slopes, and its parts by other formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.inference.linear.student_t import StudentTRegressionProblem

RNG = np.random.default_rng(3)
X = RNG.normal(size=(9, 2)) * [1.0, 30.0] + 4.0
Y = X @ [1.0, 0.1] + RNG.standard_t(3.0, 9)


def problem(fit_intercept=True, df=None):
    return StudentTRegressionProblem.of(X, Y, np.arange(1.0, 10.0), fit_intercept, df)


@pytest.mark.parametrize("df", [None, 4.0, np.inf])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_gradient_is_that_of_the_density(fit_intercept, df):
    stated = problem(fit_intercept, df)
    n = int(sum(np.prod(shape) for shape in stated.shapes.values()))
    values, slope, none = RNG.normal(size=n), np.zeros(n), np.zeros(n)
    stated.log_density(values, slope, *stated.data)
    ends = [
        [stated.log_density(values + s * step, none, *stated.data) for s in (1.0, -1.0)]
        for step in 1e-6 * np.eye(n)
    ]
    assert_allclose(slope, np.array(ends) @ [0.5e6, -0.5e6], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("df", [None, 4.0, np.inf])
def test_the_density_is_prior_times_likelihood_of_what_values_stand_for(df):
    stated = problem(df=df)
    values = RNG.normal(size=5 if df else 6)
    found = stated.log_density(values, np.zeros(len(values)), *stated.data)
    seen, y, copies = stated.rows[:, :2], stated.rows[:, 2], stated.rows[:, 3]
    center, width = stated.place
    at, signal, n, log_ratio = stated.numbers[:4]
    ratio = (n + signal * np.exp(-log_ratio)) / (n + signal * np.exp(-values[2]))
    weights = (center[:2] + width[:2] * values[:2]) * np.sqrt(ratio)
    level = center[2] + width[2] * values[3]
    scale = np.exp(-0.5 * (values[4] + at))
    above = np.exp(values[5]) if df is None else 0.0
    noise = stats.t(2.0 + above if df is None else df, scale=scale)
    if df == np.inf:
        noise = stats.norm(scale=scale)
    expected = copies @ noise.logpdf(y - seen @ weights - level)
    prior_std = scale * np.sqrt(np.exp(values[2]) / signal)
    expected += stats.norm(scale=prior_std).logpdf(weights).sum()
    expected += stats.logistic.logpdf(values[2])
    expected += np.log(width).sum() + np.log(ratio) - stated.numbers[8] / scale**2
    if df is None:
        expected += stats.gamma(2.0, scale=10.0).logpdf(above) + values[5]
    assert_allclose(found, expected, rtol=1e-10)

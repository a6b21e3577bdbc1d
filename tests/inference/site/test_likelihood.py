import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from credo.inference.site.likelihood import (
    LogitLikelihood,
    NegativeBinomialLikelihood,
    OrderedLikelihood,
    PoissonLikelihood,
    ProbitLikelihood,
    StudentTLikelihood,
)

BINARY, COUNTS = np.array([0.0, 1.0]), np.array([0.0, 1.0, 7.0, 900.0])
CASES = [
    (LogitLikelihood(), BINARY),
    (ProbitLikelihood(), BINARY),
    (StudentTLikelihood(0.7, 3.5), np.array([-2.0, 0.1, 14.0])),
    (PoissonLikelihood(), COUNTS),
    (NegativeBinomialLikelihood(0.6), COUNTS),
    (OrderedLikelihood((-1.0, 0.4, 2.0)), np.arange(4.0)),
]
IDS = [type(likelihood).__name__ for likelihood, _ in CASES]
likelihoods = pytest.mark.parametrize(("likelihood", "y"), CASES, ids=IDS)


def grid(y, f):
    y, f = np.meshgrid(y, f)
    return y.ravel(), f.ravel()


def difference(function, at, step=1e-5):
    return (function(at + step) - function(at - step)) / (2 * step)


@likelihoods
def test_derivatives_are_those_of_the_log_probability(likelihood, y):
    y, f = grid(y, [-3.1, -0.4, 0.0, 1.3, 4.0])
    first, second, third = likelihood.derivatives(y, f)
    close = {"rtol": 1e-6, "atol": 1e-7}
    assert_allclose(first, difference(lambda x: likelihood.log_prob(y, x), f), **close)
    slopes = [lambda x, k=k: likelihood.derivatives(y, x)[k] for k in range(2)]
    assert_allclose(second, difference(slopes[0], f), **close)
    assert_allclose(third, difference(slopes[1], f), **close)


@likelihoods
def test_derivatives_by_parameters_are_those_of_the_log_probability(likelihood, y):
    y, f = grid(y, [-2.0, 0.3, 2.5])
    free = likelihood.free_parameters
    found = likelihood.parameter_derivatives(y, f)
    for j, unit in enumerate(np.eye(len(free))):
        functions = [
            lambda t, u=unit: likelihood.at(free + t * u).log_prob(y, f),
            lambda t, u=unit: likelihood.at(free + t * u).derivatives(y, f).first,
            lambda t, u=unit: likelihood.at(free + t * u).derivatives(y, f).second,
        ]
        for part, function in zip(found, functions, strict=True):
            assert_allclose(part[j], difference(function, 0.0), rtol=2e-6, atol=1e-6)


def brute(likelihood, y, mean, variance):
    """Return log of the integral, and mean and variance of its density, on a fine grid."""
    f = np.linspace(mean - 40 * variance**0.5 - 30, mean + 40 * variance**0.5 + 30, 400_001)
    logs = likelihood.log_prob(np.full(f.shape, y), f) - 0.5 * (f - mean) ** 2 / variance
    top = logs.max()
    density = np.exp(logs - top)
    total = integrate.trapezoid(density, f)
    center = integrate.trapezoid(density * f, f) / total
    spread = integrate.trapezoid(density * (f - center) ** 2, f) / total
    return top + np.log(total) - 0.5 * np.log(2 * np.pi * variance), center, spread


@likelihoods
@pytest.mark.parametrize(("mean", "variance"), [(0.3, 0.04), (-1.0, 4.0), (2.0, 60.0)])
def test_integrals_against_a_normal_match_brute_force(likelihood, y, mean, variance):
    v = np.full(len(y), variance)
    found = likelihood.tilted(y, np.full(len(y), mean), v)
    exact = np.array([brute(likelihood, value, mean, variance) for value in y])
    assert_allclose(found.log_z, exact[:, 0], rtol=1e-8, atol=1e-9)
    assert_allclose(mean + variance * found.slope, exact[:, 1], rtol=1e-6, atol=1e-7)
    assert_allclose(variance + variance**2 * found.curvature, exact[:, 2], rtol=1e-5)


@likelihoods
def test_slopes_of_the_integral_by_parameters_match_differences(likelihood, y):
    mean, variance, free = (
        np.full(len(y), 0.8),
        np.full(len(y), 2.5),
        likelihood.free_parameters,
    )
    found = likelihood.tilted_slope(y, mean, variance)
    for j, unit in enumerate(np.eye(len(free))):
        expected = difference(
            lambda t, u=unit: likelihood.at(free + t * u).tilted(y, mean, variance).log_z, 0.0
        )
        assert_allclose(found[j], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("likelihood", [LogitLikelihood(), ProbitLikelihood()], ids=IDS[:2])
def test_integrals_keep_their_digits_far_from_the_data(likelihood):
    mean, variance = np.array([-300.0, -30.0, 300.0]), np.array([100.0, 1.0, 4.0])
    found = likelihood.tilted(np.ones(3), mean, variance)
    center = [brute(likelihood, 1.0, m, v)[1] for m, v in zip(mean, variance, strict=True)]
    assert_allclose(mean + variance * found.slope, center, rtol=1e-6)
    assert np.all(found.curvature <= 0.0)


@likelihoods
def test_the_predictive_is_the_integral_of_the_likelihood(likelihood, y):
    mean, variance = 0.4, 1.7
    found = likelihood.predictive(np.array([mean]), np.array([variance]))
    exact = [brute(likelihood, value, mean, variance)[0] for value in y[:3]]
    assert_allclose([found.log_prob(value)[0] for value in y[:3]], exact, rtol=2e-3, atol=1e-6)


def test_log_probabilities_are_those_of_scipy():
    f = np.array([0.4, -1.0])
    rate = np.exp(f)
    y = np.array([3.0, 0.0])
    assert_allclose(PoissonLikelihood().log_prob(y, f), stats.poisson.logpmf(y, rate))
    found = NegativeBinomialLikelihood(0.4).log_prob(y, f)
    assert_allclose(found, stats.nbinom.logpmf(y, 2.5, 2.5 / (2.5 + rate)))
    found = StudentTLikelihood(2.0, 5.0).log_prob(y, f)
    assert_allclose(found, stats.t.logpdf(y, 5.0, f, 2.0))
    found = OrderedLikelihood((0.0,)).log_prob(np.array([1.0, 0.0]), f)
    assert_allclose(found, stats.norm.logcdf([0.4, 1.0]))


@pytest.mark.parametrize(
    ("likelihood", "y", "said"),
    [
        (LogitLikelihood(), [0, 2], "must hold 0 and 1; found"),
        (PoissonLikelihood(), [0.5], "must hold counts"),
        (StudentTLikelihood(), [np.nan], "must hold finite numbers"),
        (OrderedLikelihood((0.0, 1.0)), [3], "must hold classes 0 to 2"),
    ],
)
def test_impossible_outcomes_are_refused(likelihood, y, said):
    with pytest.raises(ValueError, match=said):
        likelihood.outcomes(y)


def test_impossible_parameters_are_refused():
    with pytest.raises(ValueError, match="cut_points must be rising"):
        OrderedLikelihood((1.0, 0.0))
    with pytest.raises(ValueError, match="scale must be"):
        StudentTLikelihood(scale=-1.0)


@likelihoods
def test_a_parabola_of_the_largest_bend_touches_outliers_from_below(likelihood, y):
    y, f = grid(y, [-2.0, 0.3, 1.5])
    bend, slope = likelihood.bend_at_most(y, f), likelihood.derivatives(y, f).first
    if likelihood.is_log_concave:
        assert_allclose(bend, -likelihood.derivatives(y, f).second)
        return
    for step in (-9.0, -1.0, -0.1, 0.1, 1.0, 9.0):
        parabola = likelihood.log_prob(y, f) + slope * step - 0.5 * bend * step**2
        assert np.all(parabola <= likelihood.log_prob(y, f + step) + 1e-12)
    assert np.all(bend > 0)


@likelihoods
def test_natural_values_follow_the_outcomes_and_their_weights(likelihood, y):
    weight = 1.0 + np.arange(len(y))
    found = likelihood.natural(y, weight)
    again = likelihood.natural(np.repeat(y, weight.astype(int)), np.ones(int(weight.sum())))
    assert_allclose(found.likelihood.free_parameters, again.likelihood.free_parameters)
    assert_allclose([found.level, found.variance], [again.level, again.variance])
    assert found.least.shape == found.likelihood.prior_spread.shape
    assert np.all(found.least <= found.likelihood.free_parameters)
    assert len(likelihood.parameter_names) == len(likelihood.free_parameters)


def test_natural_grades_have_their_shares_where_nothing_is_known():
    y = np.repeat(np.arange(3.0), [20, 50, 30])
    found = OrderedLikelihood((0.0, 1.0)).natural(y, np.ones(100))
    share = found.likelihood.predictive(np.zeros(1), np.array([found.variance])).probability
    assert_allclose(share[0], [0.2, 0.5, 0.3], atol=0.01)


def test_natural_scale_of_outliers_follows_the_unit_and_not_the_outliers():
    y = np.concatenate([np.linspace(-1.0, 1.0, 41), [50.0, 80.0]])
    one, other = (StudentTLikelihood().natural(c * y, np.ones(43)) for c in (1.0, 1e3))
    assert_allclose(other.likelihood.scale, 1e3 * one.likelihood.scale)
    assert_allclose([other.level, other.variance], [1e3 * one.level, 1e6 * one.variance])
    assert one.variance < 1.0

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, optimize

from credo.decisions import (
    AbsoluteLoss,
    AsymmetricLinearLoss,
    LinexLoss,
    PinballLoss,
    QuadraticLoss,
    ZeroOneLoss,
)
from credo.decisions.numeric_loss import log_exponential_moment
from credo.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Empirical,
    Exponential,
    Gamma,
    InverseGamma,
    Laplace,
    Lomax,
    Mixture,
    NegativeBinomial,
    Normal,
    Poisson,
    Predictive,
    StudentT,
    Uniform,
)

LOSSES = [
    QuadraticLoss(),
    AbsoluteLoss(),
    PinballLoss(0.1),
    PinballLoss(0.95),
    AsymmetricLinearLoss(under=3.0, over=0.5),
    AsymmetricLinearLoss(under=0.2, over=4.0),
    LinexLoss(0.4),
    LinexLoss(-0.3),
]
LIGHT = [
    Normal(1.5, 0.7),
    Laplace(-1.0, 1.3),
    Exponential(1.2),
    Gamma(3.0, 2.0),
    Beta(2.0, 5.0),
    Uniform(-2.0, 5.0),
    Mixture([0.3, 0.7], (Normal(-2.0, 0.5), Normal(3.0, 1.0))),
    Mixture([0.5, 0.5], (Gamma(2.0, 1.0), Laplace(0.0, 0.5))),
    Predictive(Normal(0.3, 1.1), 0.5, 0.9),
]
COUNTS = [
    Poisson(3.3),
    NegativeBinomial(2.0, 0.5),
    Binomial(7, 0.3),
    Bernoulli(0.35),
    Empirical([1.0, 2.0, 2.5, 7.0, -1.0], [0.1, 0.3, 0.2, 0.2, 0.2]),
]
HEAVY = [StudentT(4.0, 1.0, 0.8), Lomax(4.0, 2.0), InverseGamma(5.0, 3.0)]


def brute_force(loss, predictive, action):
    """Return the expected loss by adaptive integration of loss times density."""

    def integrand(y):
        density = float(predictive.prob(y))
        return density * float(loss.loss(action, y)) if density > 0 else 0.0

    low, high = (float(end) for end in predictive.support())
    cuts = [float(predictive.quantile(p)) for p in np.linspace(0.02, 0.98, 13)]
    edges = [low, *sorted([*cuts, float(action)]), high]
    parts = [
        integrate.quad(integrand, *ends, epsabs=1e-12, limit=200)[0]
        for ends in pairwise(edges)
        if ends[0] < ends[1] and ends[1] >= low and ends[0] <= high
    ]
    return sum(parts)


def name(value):
    return f"{type(value).__name__}-{str(value)[:40]}"


@pytest.mark.parametrize("predictive", LIGHT, ids=name)
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_expected_loss_of_a_density_is_its_integral(loss, predictive):
    action = float(predictive.mean()) + 0.37 * float(predictive.std())
    expected = brute_force(loss, predictive, action)
    assert_allclose(loss.expected_loss(predictive, action), expected, rtol=1e-6)


@pytest.mark.parametrize("predictive", COUNTS, ids=name)
@pytest.mark.parametrize("loss", [*LOSSES, ZeroOneLoss()], ids=name)
def test_expected_loss_of_a_count_is_its_sum(loss, predictive):
    outcomes = np.arange(-1.0, 200.0) if not isinstance(predictive, Empirical) else None
    if outcomes is None:
        outcomes, share = predictive.draws, predictive.weights
    else:
        share = predictive.prob(outcomes)
    for action in [2.0, 0.7]:
        expected = (share * loss.loss(action, outcomes)).sum()
        assert_allclose(loss.expected_loss(predictive, action), expected, rtol=1e-9)


@pytest.mark.parametrize("predictive", [*LIGHT, *COUNTS], ids=name)
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_no_action_on_a_grid_does_better(loss, predictive):
    best = loss.action(predictive)
    least = loss.expected_loss(predictive, best)
    width = 3.0 * predictive.std()
    grid = best + width * np.append(np.linspace(-1, 1, 401), [1e-3, -1e-3])
    assert (loss.expected_loss(predictive, grid) >= least - 1e-9 * (1.0 + least)).all()


@pytest.mark.parametrize("predictive", HEAVY, ids=name)
@pytest.mark.parametrize("loss", LOSSES[:6], ids=name)
def test_no_action_does_better_under_heavy_tails_either(loss, predictive):
    best = loss.action(predictive)
    least = loss.expected_loss(predictive, best)
    assert_allclose(least, brute_force(loss, predictive, float(best)), rtol=1e-5)
    grid = best + 3.0 * predictive.std() * np.linspace(-1, 1, 401)
    assert (loss.expected_loss(predictive, grid) >= least - 1e-9 * (1.0 + least)).all()


@settings(max_examples=40, deadline=None)
@given(st.floats(-5, 5), st.floats(0.1, 3), st.floats(0.1, 0.9), st.floats(0.05, 0.95))
def test_no_action_does_better_under_any_two_normals(shift, scale, weight, q):
    mixture = Mixture([weight, 1 - weight], (Normal(0.0, 1.0), Normal(shift, scale)))
    grid = np.linspace(-12, 12, 601)
    for loss in (QuadraticLoss(), AbsoluteLoss(), PinballLoss(q), LinexLoss(q - 1.0)):
        least = loss.expected_loss(mixture, loss.action(mixture))
        assert (loss.expected_loss(mixture, grid) >= least - 1e-8 * (1 + least)).all()


@pytest.mark.parametrize("predictive", COUNTS, ids=name)
def test_no_guess_is_right_more_often_than_the_mode(predictive):
    loss = ZeroOneLoss()
    least = loss.expected_loss(predictive, loss.action(predictive))
    grid = np.linspace(-2, 12, 141)
    assert (loss.expected_loss(predictive, grid) >= least - 1e-12).all()


def test_the_mode_of_a_density_is_the_best_center_of_a_small_window():
    mixture = Mixture([0.4, 0.6], (Normal(0.0, 0.3), Normal(3.0, 1.0)))
    best = ZeroOneLoss().action(mixture)
    grid = np.linspace(-2, 6, 801)
    hit = mixture.cdf(grid + 1e-4) - mixture.cdf(grid - 1e-4)
    assert mixture.cdf(best + 1e-4) - mixture.cdf(best - 1e-4) >= hit.max() - 1e-12
    assert_allclose(ZeroOneLoss().expected_loss(mixture, grid), 1.0)


def test_the_linex_action_of_a_normal_has_its_closed_form():
    loss, predictive = LinexLoss(0.8), Normal([1.0, -2.0], [0.5, 2.0])
    assert_allclose(loss.action(predictive), [1.0 - 0.4 * 0.25, -2.0 - 0.4 * 4.0])
    expected = loss.expected_loss(predictive, loss.action(predictive))
    assert_allclose(expected, 0.5 * 0.64 * np.array([0.25, 4.0]))


def test_a_small_linex_is_half_the_squared_loss():
    predictive, a = Gamma(2.0, 1.0), 1e-4
    assert_allclose(LinexLoss(a).action(predictive), predictive.mean(), rtol=1e-3)
    scaled = LinexLoss(a).expected_loss(predictive, 3.0) * 2 / a**2
    assert_allclose(scaled, QuadraticLoss().expected_loss(predictive, 3.0), rtol=1e-3)


def test_positive_linex_guesses_below_the_mean_and_negative_above():
    for predictive in LIGHT:
        assert LinexLoss(0.5).action(predictive) < predictive.mean()
        assert LinexLoss(-0.5).action(predictive) > predictive.mean()


@pytest.mark.parametrize(
    "predictive",
    [
        StudentT(8.0, 0.0, 1.0),
        Mixture([0.5, 0.5], (Normal(0.0, 1.0), StudentT(50.0, 0.0, 1.0))),
        Predictive(StudentT([5.0, 5.0], 0.0, 1.0), 0.1, 0.9),
        Laplace(0.0, 2.0),
    ],
    ids=name,
)
@pytest.mark.parametrize("a", [0.7, -0.7])
def test_a_linex_loss_that_is_infinite_for_every_action_is_refused(predictive, a):
    with pytest.raises(ValueError, match=r"must be finite .* tails too heavy .* Take a smal"):
        LinexLoss(a).action(predictive)
    assert np.isposinf(LinexLoss(a).expected_loss(predictive, 0.0)).all()


def test_tails_that_are_heavy_on_one_side_bear_the_linex_of_the_other():
    for predictive in [Lomax(3.0, 2.0), InverseGamma(3.0, 2.0)]:
        loss = LinexLoss(0.5)
        found = loss.expected_loss(predictive, 0.4)
        assert_allclose(found, brute_force(loss, predictive, 0.4), rtol=1e-6)
        with pytest.raises(ValueError, match="tails too heavy"):
            LinexLoss(-0.5).action(predictive)


def test_an_unnormalized_scale_does_not_overflow_a_bounded_moment():
    assert_allclose(log_exponential_moment(Uniform(0.0, 1e4), 1.0), 1e4 - np.log(1e4))
    assert_allclose(log_exponential_moment(Normal(1e3, 1.0), 2.0), 2002.0)


def test_without_a_mean_squared_loss_is_refused_and_absolute_loss_infinite():
    cauchy = StudentT([1.0, 3.0], 2.0, 1.0)
    with pytest.raises(ValueError, match=r"must have a mean .* found none in 1 of 2 rows"):
        QuadraticLoss().action(cauchy)
    assert_allclose(AbsoluteLoss().action(cauchy), [2.0, 2.0])
    assert np.isposinf(AbsoluteLoss().expected_loss(cauchy, 2.0)).tolist() == [True, False]


def test_the_newsvendor_stocks_the_critical_ratio():
    price, cost, salvage = 4.0, 1.0, 0.5
    demand = Gamma(9.0, 0.1)
    loss = AsymmetricLinearLoss(under=price - cost, over=cost - salvage)

    y = demand.quantile((np.arange(4000) + 0.5) / 4000)

    def mean_profit(stock):
        sold = np.minimum(stock, y)
        gain = price * sold + salvage * (stock - sold) - cost * stock
        return gain.mean()

    best = optimize.minimize_scalar(lambda s: -mean_profit(s), bounds=(1, 400)).x
    assert_allclose(loss.action(demand), best, rtol=1e-3)
    # Profit is the margin on all demand, less the loss of stocking wrongly.
    found = (price - cost) * demand.mean() - loss.expected_loss(demand, best)
    assert_allclose(found, mean_profit(best), rtol=1e-4)


def test_pinball_at_one_half_is_half_the_distance():
    y = np.linspace(-2, 2, 9)
    assert_allclose(2 * PinballLoss(0.5).loss(0.3, y), AbsoluteLoss().loss(0.3, y))


def test_the_direction_of_costs_is_as_named():
    loss = AsymmetricLinearLoss(under=3.0, over=0.5)
    assert_allclose(loss.loss([1.0, 3.0], 2.0), [3.0, 0.5])
    assert loss.action(Normal(0.0, 1.0)) > 0
    assert_allclose(PinballLoss(0.9).loss([1.0, 3.0], 2.0), [0.9, 0.1])


def test_an_extreme_ratio_keeps_its_digits():
    loss = AsymmetricLinearLoss(under=1e12, over=1.0)
    assert_allclose(loss.action(Exponential(1.0)), np.log(1e12), rtol=1e-4)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: PinballLoss(1.0), "q must be above 0 and below 1; found 1.0"),
        (lambda: PinballLoss(90), "q must be above 0"),
        (lambda: AsymmetricLinearLoss(0.0, 1.0), "under must be a positive number; found 0.0"),
        (lambda: AsymmetricLinearLoss(1.0, np.inf), "over must be a positive number"),
        (lambda: LinexLoss(0.0), "a must be finite and not zero; found 0.0"),
        (lambda: LinexLoss(np.nan), "a must be finite"),
    ],
)
def test_settings_that_are_no_loss_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()

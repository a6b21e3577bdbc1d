"""Posteriors beyond a threshold against numerical integration and closed forms."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from credo.graphs import LinearGaussian, Probit
from credo.inference.engine.error import NoExactAnswer
from credo.models.network.bayesian_network import BayesianNetwork


def moments(log_density, low, high, peak):
    """Return mean, standard deviation and log mass by quadrature."""
    level = log_density(peak)

    def integral(function):
        def weighted(x):
            return function(x) * np.exp(log_density(x) - level)

        settings = {"points": [peak], "epsabs": 0.0, "epsrel": 1e-12, "limit": 500}
        return integrate.quad(weighted, low, high, **settings)[0]

    mass = integral(lambda x: 1.0)
    mean = integral(lambda x: x) / mass
    return mean, np.sqrt(integral(lambda x: (x - mean) ** 2) / mass), np.log(mass) + level


@pytest.mark.parametrize(("scale", "low", "high"), [(0.1, -3.0, 2.0), (2.0, -6.0, 12.0)])
def test_a_finding_far_out_has_the_moments_of_quadrature(scale, low, high):
    parts = {"a": LinearGaussian(8.0), "b": Probit(0.0, scale, below=True)}
    net = BayesianNetwork("a -> b", cpts=parts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = net.query("a", given={"b": True})

    def log_density(a):
        return stats.norm.logpdf(a, 8.0, 1.0) + special.log_ndtr(-a / scale)

    peak = 0.0 if scale < 1 else 6.0
    mean, sd, log_mass = moments(log_density, low, high, peak)
    assert found.account.is_exact
    assert_allclose([found.mean(), found.std()], [mean, sd], atol=1e-7)
    assert_allclose(net.log_prob({"b": True}), log_mass, rtol=1e-9)


@pytest.mark.parametrize("side", ["below", "above"])
def test_density_and_distribution_function_are_smooth_and_exact(side):
    parts = {"a": LinearGaussian(1.0, scale=2.0), "b": Probit(0.0, 0.05, **{side: True})}
    net = BayesianNetwork("a -> b", cpts=parts)
    found = net.query("a", given={"b": True})
    sign = -1.0 if side == "below" else 1.0
    a = np.linspace(-4.0, 6.0, 401)
    log_density = stats.norm.logpdf(a, 1.0, 2.0) + special.log_ndtr(sign * a / 0.05)
    log_mass = special.log_ndtr(sign * 1.0 / np.hypot(2.0, 0.05))
    near = log_density - log_mass > -15
    assert_allclose(found.log_prob(a)[near], (log_density - log_mass)[near], atol=1e-5)
    cut = (-np.inf, -0.5) if side == "below" else (-0.5, np.inf)
    sharp = stats.truncnorm(*cut, loc=1.0, scale=2.0)
    assert_allclose(found.mean(), sharp.mean(), atol=2e-3)
    assert_allclose(found.cdf([-2.0, 1.5]), sharp.cdf([-2.0, 1.5]), atol=2e-3)


def test_noise_too_small_to_resolve_is_left_to_draws():
    parts = {"a": LinearGaussian(1.0), "b": Probit(0.0, 1e-4, below=True)}
    net = BayesianNetwork("a -> b", cpts=parts)
    assert not net.query("a", given={"b": True}).account.is_exact
    with pytest.raises(NoExactAnswer):
        net.query("a", given={"b": True}, method="exact")


def test_switches_and_other_findings_agree_with_integration():
    parts = {
        "d": {"no": 0.3, "yes": 0.7},
        "x": {"no": LinearGaussian(-1.0, scale=0.8), "yes": LinearGaussian(2.0, scale=1.5)},
        "w": LinearGaussian(0.5, {"x": 2.0}, 0.7),
        "y": LinearGaussian(0.0, {"x": -1.0}, 1.2),
        "b": Probit([-0.5, 1.0], 0.6, {"x": 1.5}),
    }
    net = BayesianNetwork("d -> x; x -> w, y, b", cpts=parts)
    given = {"y": 0.4, "b": 2}

    def log_density(state):
        p, mean, sd = {"no": (0.3, -1.0, 0.8), "yes": (0.7, 2.0, 1.5)}[state]

        def level(x):
            seen = stats.norm.logpdf(0.4, -x, 1.2) + special.log_ndtr((1.5 * x - 1.0) / 0.6)
            return np.log(p) + stats.norm.logpdf(x, mean, sd) + seen

        return level

    found = {s: moments(log_density(s), -8.0, 10.0, 0.8) for s in ("no", "yes")}
    mass = np.exp([found["no"][2], found["yes"][2]])
    share = mass / mass.sum()
    means = np.array([found["no"][0], found["yes"][0]])
    x_mean = share @ means
    x_var = share @ (np.array([found["no"][1], found["yes"][1]]) ** 2 + (means - x_mean) ** 2)
    assert_allclose(net.log_prob(given), np.log(mass.sum()), rtol=1e-9)
    assert_allclose(net.query("d", given=given), share, rtol=1e-7)
    x, w = net.query("x", given=given), net.query("w", given=given)
    assert_allclose([x.mean(), x.variance()], [x_mean, x_var], rtol=1e-6)
    expected = [0.5 + 2.0 * x_mean, 4.0 * x_var + 0.49]
    assert_allclose([w.mean(), w.variance()], expected, rtol=1e-6)
    everything = net.marginals(given)
    assert_allclose(everything["d"], share, rtol=1e-7)
    assert everything.account.is_exact


def test_a_score_between_two_thresholds_is_still_drawn():
    parts = {"a": LinearGaussian(), "b": Probit([-1.0, 1.0])}
    net = BayesianNetwork("a -> b", cpts=parts)
    assert not net.query("a", given={"b": 1}).account.is_exact

"""Simulations: a truth from the prior, data from it, the level of the truth a posteriori.

If prior, likelihood and inference agree, the level ``F(truth | data)`` is uniform [talts2018]_.
For a discrete truth it is drawn between ``F`` just below the truth and at it.
"""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from credo import BayesianNetwork, LinearRegression
from credo.distributions import Poisson
from credo.families import (
    BernoulliStatistics,
    BetaBernoulli,
    GammaPoisson,
    NormalInverseGamma,
    NormalStatistics,
    PoissonStatistics,
)
from credo.features import PolynomialBasis

__all__ = ["CASES"]

NET = BayesianNetwork(
    "cloud -> sprinkler, rain; sprinkler, rain -> wet",
    cpts={
        "cloud": [0.5, 0.5],
        "sprinkler": [[0.5, 0.5], [0.9, 0.1]],
        "rain": [[0.8, 0.2], [0.2, 0.8]],
        "wet": [[[1.0, 0.0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]],
    },
)


def coin(rng: Generator) -> float:
    """Return the level of the probability of heads after ten flips."""
    prior = BetaBernoulli(2.0, 3.0)
    truth = prior.sample(rng).probability
    flips = rng.random((10, 1)) < truth
    belief = prior.update(BernoulliStatistics.of(flips.astype(float)))
    return float(np.squeeze(belief.parameters().cdf(truth)))


def counts(rng: Generator) -> float:
    """Return the level of a rate after five counts."""
    prior = GammaPoisson(2.0, 0.5)
    truth = prior.sample(rng).rate
    rows = Poisson(truth).sample(rng, 5).reshape(5, 1)
    return float(np.squeeze(prior.update(PoissonStatistics.of(rows)).parameters().cdf(truth)))


def next_number(rng: Generator) -> float:
    """Return the level of a new number after six of unknown mean and variance."""
    prior = NormalInverseGamma([0.5], [2.0], [3.0], [4.0])
    truth = prior.sample(rng)
    rows = truth.sample(rng, 7).reshape(7, 1)
    belief = prior.update(NormalStatistics.of(rows[:6]))
    return float(np.squeeze(belief.predictive().cdf(rows[6])))


def next_outcome(rng: Generator) -> float:
    """Return the level of an outcome under a regression on a quadratic."""
    weights = rng.normal(0.0, 0.5**-0.5, 3)
    x = rng.uniform(-1.0, 1.0, 8)
    y = weights[0] + weights[1] * x + weights[2] * x**2 + 0.5 * rng.standard_normal(8)
    model = LinearRegression(
        PolynomialBasis(2), weight_precision=0.5, noise_precision=4.0, penalize_intercept=True
    )
    new = model.fit(x[:7, None], y[:7]).predict_dist(x[7:, None])
    return float(new.cdf(y[7:])[0])


def rain(rng: Generator) -> float:
    """Return the level of the state of a variable of a network, others being seen."""
    day = NET.sample(1, rng=rng).iloc[0]
    found = NET.query("rain", given={"wet": day["wet"], "cloud": day["cloud"]})
    share = rng.random()
    below = float(found[False]) if day["rain"] else 0.0
    return below + share * float(found[day["rain"]])


CASES: dict[str, tuple[Callable[[Generator], float], int]] = {
    "beta-Bernoulli, parameter": (coin, 4000),
    "gamma-Poisson, parameter": (counts, 4000),
    "normal-inverse-gamma, next number": (next_number, 4000),
    "linear regression, next outcome": (next_outcome, 2000),
    "Bayesian network, hidden variable": (rain, 4000),
}

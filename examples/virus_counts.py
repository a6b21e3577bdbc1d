"""Counts of a virus: how many have it, when only tests, hospitals and deaths are counted.

How many people are infected (A) is not seen, nor which of two variants (V) is about. Confirmed
cases, patients in hospital and deaths are counted, at rates that depend on the variant. The
variant is summed out of the density, and comes back as an average over draws. The answers are
compared with sums over all numbers of infected people.
"""

import numpy as np
from scipy.special import gammaln

import credo
from credo.distributions import Normal, Poisson
from credo.inference import Parameter

COUNTED = np.array([212.0, 31.0, 2.0])
"""Confirmed cases, patients in hospital, deaths."""

RATES = np.array([[0.21, 0.02, 0.002], [0.22, 0.03, 0.001]])
"""Share of the infected that is counted as each, for the old and for the new variant."""

NEW = 0.3
"""Probability that the new variant is about."""

LEVEL, SPREAD = np.log(1000.0), 0.5
"""Of the log of the number of infected people, before anything is counted."""


def log_joint(infected):
    """Return the log density with each variant, shape (2, ...), up to a common constant."""
    rate = RATES.reshape(2, 3, *[1] * np.ndim(infected)) * infected
    counted = COUNTED.reshape(3, *[1] * np.ndim(infected))
    log_counts = (counted * np.log(rate) - rate).sum(axis=1) - gammaln(COUNTED + 1.0).sum()
    log_size = np.log(infected)
    log_prior = -0.5 * ((log_size - LEVEL) / SPREAD) ** 2 - log_size
    log_variant = np.log([1.0 - NEW, NEW]).reshape(2, *[1] * np.ndim(infected))
    return log_counts + log_variant + log_prior


def log_density(infected):
    """Return the log density of the number of infected people, variants summed out."""
    both = log_joint(infected)
    return np.log(np.exp(both - both[0].real).sum(axis=0)) + both[0].real


found = credo.posterior(
    log_density, {"infected": Parameter(support="positive", start=1000.0)}, random_state=0
)
infected = found.draws["infected"]
each = log_joint(infected)
is_new = np.exp(each[1] - np.logaddexp(each[0], each[1]))
rng = np.random.default_rng(0)
variant = (rng.random(infected.shape) < is_new).astype(int)
deaths = Poisson(RATES[variant, 2] * infected).sample(rng)

size = np.arange(1.0, 8000.0)
grid = log_joint(size)
weight = np.exp(grid - grid.max())
weight /= weight.sum()
exact = weight.sum(axis=0) @ size, weight[1].sum(), (weight * RATES[:, 2:] * size).sum()

print(found)
print(
    f"infected {infected.mean():.0f}, new variant {is_new.mean():.3f}, deaths to come "
    f"{deaths.mean():.2f}; by sums {exact[0]:.0f}, {exact[1]:.3f}, {exact[2]:.2f}"
)
prior = Normal(LEVEL, SPREAD).interval(0.9)
print("believed before:", np.exp(prior).round(), "after:", np.quantile(infected, [0.05, 0.95]))
assert abs(infected.mean() - exact[0]) < 10.0
assert abs(is_new.mean() - exact[1]) < 0.02
assert abs(deaths.mean() - exact[2]) < 0.1

"""Two-level priors: coins of one mint, each with a bias of its own.

How biased coins are, and how much they differ, is learned from all of them: a coin that was
flipped rarely is drawn towards the others. Given the mint each coin is a beta distribution, so
that a grid over the two numbers of the mint gives the answer to compare with. A prior with the
same two numbers for ever, or none, would draw all coins alike.
"""

import numpy as np
from scipy.special import betaln, digamma

import credo
from credo.inference import Parameter

HEADS = np.array([0.0, 3.0, 9.0, 14.0, 2.0, 11.0])
FLIPS = np.array([2.0, 5.0, 20.0, 20.0, 9.0, 15.0])


def log_density(mean, strength, bias):
    """Return the log density of the mint's mean and strength and of all coins, and its slopes.

    The mean is uniform a priori; the strength, in flips, is log-normal around ten.
    """
    n, a, b = len(HEADS), mean * strength, (1.0 - mean) * strength
    heads, tails = HEADS + a - 1.0, FLIPS - HEADS + b - 1.0
    log_bias, log_rest = np.log(bias), np.log1p(-bias)
    excess = np.log(strength / 10.0)
    value = heads @ log_bias + tails @ log_rest - n * betaln(a, b)
    by_a = log_bias.sum() - n * (digamma(a) - digamma(strength))
    by_b = log_rest.sum() - n * (digamma(b) - digamma(strength))
    slopes = {
        "mean": strength * (by_a - by_b),
        "strength": mean * by_a + (1.0 - mean) * by_b - (excess + 1.0) / strength,
        "bias": heads / bias - tails / (1.0 - bias),
    }
    return value - 0.5 * excess**2 - np.log(strength), slopes


parameters = {
    "mean": Parameter(support="unit"),
    "strength": Parameter(support="positive", start=10.0),
    "bias": Parameter(len(HEADS), "unit"),
}
found = credo.posterior(log_density, parameters, inference="nuts", random_state=0)

mean, log_strength = np.meshgrid(np.linspace(0.005, 0.995, 100), np.linspace(-3.0, 8.0, 100))
a, b = mean * np.exp(log_strength), (1.0 - mean) * np.exp(log_strength)
log_grid = -0.5 * (log_strength - np.log(10.0)) ** 2
for heads, flips in zip(HEADS, FLIPS, strict=True):
    log_grid = log_grid + betaln(a + heads, b + flips - heads) - betaln(a, b)
weight = np.exp(log_grid - log_grid.max())
weight /= weight.sum()
by_grid = [
    (weight * (a + heads) / (a + b + flips)).sum()
    for heads, flips in zip(HEADS, FLIPS, strict=True)
]
shares = HEADS / FLIPS

draws = found.draws
print(found.summary().round(3).T)
print("seen shares ", shares.round(2))
print("bias        ", draws.mean("bias").round(2))
print("by the grid ", np.round(by_grid, 2))
assert abs(draws.mean("mean") - (weight * mean).sum()) < 4.0 * draws.mean_error("mean") + 0.002
assert np.all(np.abs(draws.mean("bias") - by_grid) < 4.0 * draws.mean_error("bias") + 0.002)

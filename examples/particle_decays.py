"""Decays of two kinds of particle: a mixture whose share and two levels are not known.

A detector of known resolution measures energies of decays. Which particle decayed is not seen:
it is summed out, so that the density of the share and of the two levels is smooth. Levels are
an ordered pair, without which the two particles could change names and the posterior would
have two modes. The answer is compared with sums over a grid.
"""

import numpy as np

import credo
from credo.inference import Parameter

WIDTHS = np.array([0.6, 1.0])
rng = np.random.default_rng(4)
kind = (rng.random(60) > 0.35).astype(int)
energy = rng.normal(np.array([2.0, 5.0])[kind], WIDTHS[kind])


def log_normal(level, width):
    """Return the log density of each energy for one kind of particle."""
    return -0.5 * ((energy - level) / width) ** 2 - np.log(width)


def log_density(share, levels):
    """Return the log density of the share of the first kind and the two levels, and slopes."""
    first = np.log(share) + log_normal(levels[0], WIDTHS[0])
    second = np.log1p(-share) + log_normal(levels[1], WIDTHS[1])
    both = np.logaddexp(first, second)
    is_first = np.exp(first - both)
    pull = np.stack([is_first, 1.0 - is_first]) * (energy - levels[:, None])
    slopes = {
        "share": is_first.sum() / share - (1.0 - is_first).sum() / (1.0 - share),
        "levels": pull.sum(axis=1) / WIDTHS**2 - (levels - 3.0) / 9.0,
    }
    return both.sum() - ((levels - 3.0) ** 2).sum() / 18.0, slopes


parameters = {
    "share": Parameter(support="unit"),
    "levels": Parameter(2, "ordered", start=[1.0, 6.0]),
}
found = credo.posterior(log_density, parameters, inference="nuts", random_state=0)

shares = np.linspace(0.005, 0.995, 60)
low, high = np.linspace(1.2, 2.8, 60), np.linspace(4.2, 5.8, 60)
one = np.exp(log_normal(low[:, None], WIDTHS[0]))
two = np.exp(log_normal(high[:, None], WIDTHS[1]))
log_grid = np.zeros((60, 60, 60))
for i in range(len(energy)):
    mixed = np.multiply.outer(shares, one[:, i])[:, :, None]
    log_grid += np.log(mixed + np.multiply.outer(1.0 - shares, two[:, i])[:, None, :])
log_grid -= ((low[:, None] - 3.0) ** 2 + (high - 3.0) ** 2) / 18.0
weight = np.exp(log_grid - log_grid.max())
weight /= weight.sum()
by_grid = np.array(
    [weight.sum(axis=(1, 2)) @ shares, weight.sum(axis=(0, 2)) @ low, weight.sum((0, 1)) @ high]
)

draws = found.draws
means = np.array([draws.mean("share"), *draws.mean("levels")])
errors = np.array([draws.mean_error("share"), *draws.mean_error("levels")])
print(found.summary().round(3).T)
print("means", means.round(3), "by the grid", by_grid.round(3))
assert found.diagnose().numbers["largest R-hat"] < 1.03
assert np.all(np.abs(means - by_grid) < 4.0 * errors + 0.002)

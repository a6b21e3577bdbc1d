"""Hierarchical regression: each group has a slope of its own, around one that all share.

How far slopes differ between groups, and how large the noise is, are not known. Given these
two all is normal, so that they can be summed over a grid: that is the answer to compare with.
"""

import numpy as np

import credo
from credo.distributions import MultivariateNormal
from credo.inference import Parameter

N_GROUPS, N_ROWS = 6, 8
rng = np.random.default_rng(1)
x = rng.uniform(-1.0, 1.0, (N_GROUPS, N_ROWS))
slopes = rng.normal(1.5, 0.7, N_GROUPS)
y = slopes[:, None] * x + rng.normal(0.0, 0.5, x.shape)


def log_density(slope, spread, noise, shift):
    """Return the log density and gradient; the slope of group j is slope + spread shift[j].

    Priors are normal of scale 5 for the slope, exponential of rate one for spread and noise.
    """
    rest = y - (slope + spread * shift)[:, None] * x
    by_group = (rest * x).sum(axis=1) / noise**2
    square = (rest**2).sum() / noise**2
    value = -0.5 * (square + shift @ shift + slope**2 / 25.0) - y.size * np.log(noise)
    gradient = {
        "slope": by_group.sum() - slope / 25.0,
        "spread": by_group @ shift - 1.0,
        "noise": (square - y.size) / noise - 1.0,
        "shift": spread * by_group - shift,
    }
    return value - spread - noise, gradient


parameters = {
    "slope": Parameter(),
    "spread": Parameter(support="positive"),
    "noise": Parameter(support="positive"),
    "shift": Parameter(N_GROUPS),
}
found = credo.posterior(log_density, parameters, inference="nuts", random_state=0)
draws = found.draws

weight = (x**2).sum(axis=1)
told = (x * y).sum(axis=1) / weight
grid = [(s, n) for s in np.linspace(0.02, 4.0, 100) for n in np.linspace(0.25, 0.75, 40)]
logs, slope_means = [], []
for spread, noise in grid:
    # Summed over rows, each group tells of its slope with a variance of its own.
    cover = np.diag(noise**2 / weight + spread**2)
    joint = MultivariateNormal(np.zeros(N_GROUPS), cover + 25.0)
    rest = y - told[:, None] * x
    log_rows = -0.5 * (rest**2).sum() / noise**2 - (y.size - N_GROUPS) * np.log(noise)
    logs.append(float(joint.log_prob(told)) + log_rows - spread - noise)
    slope_means.append(25.0 * np.linalg.solve(cover + 25.0, told).sum())
weight = np.exp(np.array(logs) - max(logs))
weight /= weight.sum()
by_grid = {
    "slope": weight @ slope_means,
    "spread": weight @ np.array(grid)[:, 0],
    "noise": weight @ np.array(grid)[:, 1],
}

print(found.summary().loc[list(by_grid)].round(3).T)
print("by the grid", {name: round(float(mean), 3) for name, mean in by_grid.items()})
for name, mean in by_grid.items():
    assert abs(draws.mean(name) - mean) < 4.0 * draws.mean_error(name) + 0.002
assert found.diagnose().numbers["largest R-hat"] < 1.02

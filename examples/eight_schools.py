"""Eight schools: effects of coaching that differ between schools by an amount not known.

Effects are written as ``mu + tau * eta`` with standard normal ``eta``, so that chains can
follow ``tau`` to zero. Means and spreads are compared with those of 10,000 draws by Stan in the
collection posteriordb, and measured effects with simulated ones.
"""

import numpy as np

import credo
from credo.inference import Parameter

EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
REFERENCE = {"mu": (4.4105, 3.3093), "tau": (3.6021, 3.1985)}


def log_density(mu, tau, eta):
    """Return the log density, and its gradient by name."""
    rest = (EFFECT - mu - tau * eta) / ERROR
    value = -0.5 * (rest @ rest + eta @ eta) - 0.02 * mu**2 - np.log1p(tau**2 / 25.0)
    rest = rest / ERROR
    slopes = {
        "mu": rest.sum() - 0.04 * mu,
        "tau": rest @ eta - 2.0 * tau / (25.0 + tau**2),
        "eta": tau * rest - eta,
    }
    return value, slopes


parameters = {"mu": Parameter(), "tau": Parameter(support="positive"), "eta": Parameter(8)}
found = credo.posterior(log_density, parameters, random_state=0)
draws = found.draws
effects = draws["mu"][..., None] + draws["tau"][..., None] * draws["eta"]

print(found.notes[-1])
print(found.summary().loc[["mu", "tau"]].round(2).T)
print("effects", effects.mean(axis=(0, 1)).round(1))
check = found.predictive_check(
    lambda values, rng: rng.normal(values["mu"] + values["tau"] * values["eta"], ERROR),
    EFFECT,
    random_state=0,
)
print(check)
for name, (mean, spread) in REFERENCE.items():
    error = np.hypot(draws.mean_error(name), spread / 100.0)
    assert abs(draws.mean(name) - mean) < 4.0 * error
    assert abs(draws.std(name) / spread - 1.0) < 0.15
assert check.surprises == ()

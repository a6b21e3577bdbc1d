"""A coin: the posterior of its probability of heads, and the evidence that it is bent.

Seven heads in ten flips, with a uniform prior. The posterior is Beta(8, 4), and the probability
of the flips, in the order in which they fell, is a beta function; under a fair coin it is
``2^-10``.
"""

import numpy as np

import credo
from credo.distributions import Beta
from credo.inference import Parameter

HEADS, TAILS = 7, 3


def log_density(probability):
    """Return the log of the likelihood; the prior is one."""
    return HEADS * np.log(probability) + TAILS * np.log1p(-probability)


found = credo.posterior(log_density, {"probability": Parameter(support="unit")}, random_state=0)
exact = Beta(HEADS + 1.0, TAILS + 1.0)
odds = np.exp(found.log_evidence) * 2.0 ** (HEADS + TAILS)

print(found.summary().round(3).T)
print(f"the exact mean is {float(exact.mean()):.3f}, its spread {float(exact.std()):.3f}")
print(f"odds of a bent coin to a fair one {odds:.3f}; exact {1024 / 1320:.3f}")
assert abs(found.draws.mean("probability") - exact.mean()) < 0.01
assert abs(found.draws.std("probability") - exact.std()) < 0.01
assert abs(odds - 1024 / 1320) < 0.02

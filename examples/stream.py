"""A million rows that are never in memory together, learned exactly."""

import numpy as np

from credo import LinearRegression

N_CHUNKS, CHUNK, N_FEATURES = 20, 50_000, 5

rng = np.random.default_rng(0)
weights = np.arange(1.0, N_FEATURES + 1)
model = LinearRegression()
for _ in range(N_CHUNKS):
    X = rng.standard_normal((CHUNK, N_FEATURES))
    model.partial_fit(X, X @ weights + 3.0 + 0.5 * rng.standard_normal(CHUNK))

noise = float(np.squeeze(model.noise_precision_)) ** -0.5
print("weights", model.coef_.round(4), "noise", round(noise, 4))

# A weight is known to noise / sqrt(rows) = 0.0005, and four of those are a wide margin.
assert np.abs(model.coef_ - weights).max() < 4 * 0.5 / np.sqrt(N_CHUNKS * CHUNK)
assert abs(noise - 0.5) < 0.002

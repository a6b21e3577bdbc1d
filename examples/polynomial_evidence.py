"""How many bends does a sine deserve? Ten polynomials compared by their evidence."""

import numpy as np

from credo import LinearRegression, ModelAverage
from credo.features import PolynomialBasis

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0, 1, 25))[:, None]
y = np.sin(2 * np.pi * x[:, 0]) + 0.2 * rng.standard_normal(25)

degrees = range(10)
candidates = [(str(k), LinearRegression(PolynomialBasis(k, orthogonal=True))) for k in degrees]
average = ModelAverage(candidates).fit(x, y)

for name, probability in zip(average.names_, average.probability_, strict=True):
    print(f"degree {name}: {probability:.3f} {'#' * round(50 * probability)}")

truth = np.sin(2 * np.pi * x[:, 0])
of_average = np.sqrt(np.mean((average.predict_dist(x).mean() - truth) ** 2))
of_data = np.sqrt(np.mean((y - truth) ** 2))
print(f"distance from the truth: average {of_average:.3f}, data {of_data:.3f}")

assert average.probability_[:3].sum() < 0.01, "a parabola cannot follow a sine"
assert of_average < of_data, "averaging must remove noise"

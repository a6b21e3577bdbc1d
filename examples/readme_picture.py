"""Draw the picture of the README: forty noisy points, five bases, one honest band."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from credo import LinearRegression, ModelAverage
from credo.features import PolynomialBasis, RadialBasis, SplineBasis
from credo.plots import evidence_against_complexity, predictive_band

rng = np.random.default_rng(0)
x = np.sort(np.append(rng.uniform(0, 4, 30), rng.uniform(6, 9, 10)))[:, None]
y = np.sin(x[:, 0]) + 0.3 * x[:, 0] + 0.25 * rng.standard_normal(40)

bases = {
    "line": None,
    "quadratic": PolynomialBasis(2, orthogonal=True),
    "cubic": PolynomialBasis(3, orthogonal=True),
    "spline": SplineBasis(6),
    "radial": RadialBasis(8),
}
average = ModelAverage([(name, LinearRegression(basis)) for name, basis in bases.items()])
average.fit(x, y)

figure = Figure(figsize=(10, 3.8), layout="constrained")
left, right = figure.subplots(1, 2, width_ratios=[1.7, 1])
predictive_band(average, x, y, left)
evidence_against_complexity(average.names_, average.log_evidences_, right)
target = Path(__file__).parents[1] / "docs" / "pictures" / "average.png"
figure.savefig(target, dpi=110)

inside, gap = average.predict_dist([[2.0], [5.0]]).epistemic_std
assert gap > 1.5 * inside, "the band must widen where there are no data"

"""Forecast ten years of carbon dioxide on Mauna Loa, and take the curve apart."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from credo import GaussianProcessRegressor
from credo.data import load_set
from credo.features import (
    Matern32,
    Matern52,
    Periodic,
    RationalQuadratic,
    SquaredExponential,
)
from credo.plots import component_figure, forecast_plot

table = load_set("co2")
t = (table["year"] + (table["month"] - 1) / 12).to_numpy()
co2 = table["co2"].to_numpy()

# The kernel of Rasmussen and Williams (2006), section 5.4.3, at the values in their book.
book = (
    66.0**2 * SquaredExponential(67.0)
    + 2.4**2 * SquaredExponential(90.0) * Periodic(1.3, period=1.0)
    + 0.66**2 * RationalQuadratic(1.2, shape=0.78)
    + 0.18**2 * SquaredExponential(0.134)
)
known = GaussianProcessRegressor(book.hold(), mean="zero", noise=0.19**2)
evidence = known.fit(t[:, None], co2 - co2.mean()).log_evidence_
print(f"log evidence at the values in the book: {evidence:.3f}")

# Kernels that have a state space form say much the same in time that grows with the rows.
kernel = (
    66.0**2 * Matern52(67.0)
    + 2.4**2 * Matern32(90.0) * Periodic(1.3, period=1.0).hold("period")
    + 0.66**2 * Matern32(1.2)
)
seen = t < 1992
model = GaussianProcessRegressor(kernel, method="series").fit(t[seen, None], co2[seen])
forecast = model.predict_dist(t[~seen, None])
low, high = forecast.interval(0.9).T
inside = np.mean((low <= co2[~seen]) & (co2[~seen] <= high))
error = np.sqrt(np.mean((forecast.mean() - co2[~seen]) ** 2))
print(f"{model.method_}: ten years ahead within {error:.2f} ppm, {inside:.0%} in the 90 % band")

pictures = Path(__file__).parents[1] / "docs" / "pictures"
figure = Figure(figsize=(8, 4), layout="constrained")
ax = figure.subplots()
shown = seen & (t > 1980)
forecast_plot(model, t[shown], co2[shown], t[~seen], co2[~seen], ax)
ax.set(xlabel="year", ylabel="carbon dioxide, ppm", xticks=range(1980, 2003, 5))
figure.savefig(pictures / "co2_forecast.png", dpi=110)

months = np.arange(1958, 2002, 1 / 24)
titles = {"part1": "trend, ppm", "part2": "season, ppm", "part3": "irregular, ppm"}
figure = component_figure(model, months, titles=titles)
figure.axes[-1].set_xlabel("year")
figure.savefig(pictures / "co2_parts.png", dpi=110)

assert abs(evidence + 117.023) < 0.001, evidence
assert error < 1.2, error
# In the years after Pinatubo (1991) the air held less than the trend says.
assert inside > 0.7, inside

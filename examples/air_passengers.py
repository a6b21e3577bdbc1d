"""Forecast three years of airline passengers: a trend, a season that grows, and the rest."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from credo import GaussianProcessRegressor
from credo.data import load_set
from credo.features import LinearBasis, Matern32, Matern52, Periodic
from credo.plots import component_figure, forecast_plot

table = load_set("air_passengers")
t = (table["year"] + (table["month"] - 1) / 12).to_numpy()
# On the log scale a season that grows with the level stays the same.
logs = np.log(table["passengers"].to_numpy())

kernel = (
    0.1 * Matern52(10.0)
    + 0.1 * Matern52(20.0) * Periodic(1.0, period=1.0).hold("period")
    + 0.01 * Matern32(1.0)
)
seen = t < 1958
model = GaussianProcessRegressor(kernel, mean=LinearBasis()).fit(t[seen, None], logs[seen])
forecast = model.predict_dist(t[~seen, None])
low, high = forecast.interval(0.9).T
inside = np.mean((low <= logs[~seen]) & (logs[~seen] <= high))
error = np.median(np.abs(np.expm1(forecast.mean() - logs[~seen])))
print(f"1958 to 1960: off by {error:.1%} in half of the months, {inside:.0%} in the 90 % band")

pictures = Path(__file__).parents[1] / "docs" / "pictures"
figure = Figure(figsize=(8, 4), layout="constrained")
ax = figure.subplots()
forecast_plot(model, t[seen], logs[seen], t[~seen], logs[~seen], ax)
ticks = [100, 200, 400, 800]
ax.set_yticks(np.log(ticks), map(str, ticks))
ax.set(xlabel="year", ylabel="passengers, thousands a month")
figure.savefig(pictures / "air_passengers.png", dpi=110)

titles = {
    "mean": "straight line",
    "part1": "trend around it",
    "part2": "season",
    "part3": "irregular",
}
figure = component_figure(model, np.arange(1949, 1961, 1 / 36), titles=titles)
figure.axes[-1].set_xlabel("year")
figure.savefig(pictures / "air_passengers_parts.png", dpi=110)

assert error < 0.12, error
assert inside > 0.8, inside

"""Gaussian process regression on the 20 standard splits of four sets, beside published results.

The sets are not part of the project: give the folder that holds ``concrete``, ``energy``,
``yacht`` and ``wine-quality-red``, each with ``data.csv.gz`` and ``test_index.csv.gz``::

    python -m benchmarks.gp_splits FOLDER [SET ...]

Root mean squared error and mean log density of the test rows, with standard errors over splits,
and the share of them inside 90 % intervals.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

from credo import GaussianProcessRegressor

__all__ = ["PUBLISHED", "main"]

PUBLISHED = {
    "yacht": "dropout 0.67, -1.25; ensembles 1.58, -1.18; full GP -, -0.10",
    "energy": "dropout 0.54, -1.21; ensembles 2.09, -1.38; full GP -, -0.66",
    "concrete": "dropout 4.82, -2.93; ensembles 6.03, -3.06; full GP -, -3.03",
    "wine-quality-red": "dropout 0.62, -0.93; ensembles 0.64, -0.94; full GP -, -0.95",
}
"""Root mean squared error and mean log density, as published."""


def judged(folder: Path) -> str:
    """Return what 20 fits say of their test rows."""
    rows = pd.read_csv(folder / "data.csv.gz").to_numpy(float)
    splits = pd.read_csv(folder / "test_index.csv.gz", header=None).to_numpy(int)
    X, y = rows[:, :-1], rows[:, -1]
    found = []
    began = process_time()
    for test in splits:
        train = np.setdiff1d(np.arange(len(y)), test)
        predictive = GaussianProcessRegressor().fit(X[train], y[train]).predict_dist(X[test])
        low, high = predictive.interval(0.9).T
        error = float(np.sqrt(np.mean((predictive.mean() - y[test]) ** 2)))
        density = float(predictive.log_prob(y[test]).mean())
        found.append((error, density, float(np.mean((low <= y[test]) & (y[test] <= high)))))
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / len(found) ** 0.5
    return (
        f"RMSE {mean[0]:.3f} +- {spread[0]:.3f}, log density {mean[1]:.3f} +- {spread[1]:.3f}, "
        f"inside {mean[2]:.1%}, {(process_time() - began) / len(found):.1f} processor s a fit"
    )


def main(arguments: list[str]) -> int:
    """Print a line for each set."""
    if not arguments or not Path(arguments[0]).is_dir():
        print("Skipped: give the folder of the data sets as the first argument.")
        return 0
    for name in arguments[1:] or PUBLISHED:
        print(f"{name}; published: {PUBLISHED[name]}", flush=True)
        print(f"  {judged(Path(arguments[0]) / name)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Gaussian process regression on the 20 standard splits of four sets, beside published results.

The sets are not part of the project: give the folder that holds ``concrete``, ``energy``,
``yacht`` and ``wine-quality-red``, each with ``data.csv.gz`` and ``test_index.csv.gz``::

    python -m benchmarks.gp_splits FOLDER [SET ...] [--store]

Root mean squared error and mean log density of the test rows, with standard errors over splits,
and the share of them inside 90 % intervals. ``--store`` keeps them in
``benchmarks/sets/gp_splits.json``, from which ``docs/write_sets.py`` writes a page.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.store import commit, machine
from credo import GaussianProcessRegressor

__all__ = ["FOLDER", "PUBLISHED", "compare", "keep", "main"]

FOLDER = Path(__file__).resolve().parent / "sets"

PUBLISHED: dict[str, dict[str, tuple[float, float]]] = {
    "yacht": {
        "sparse variational GP": (0.655, -0.774),
        "dropout": (0.67, -1.25),
        "ensembles": (1.58, -1.18),
    },
    "energy": {
        "sparse variational GP": (0.650, -1.084),
        "dropout": (0.54, -1.21),
        "ensembles": (2.09, -1.38),
    },
    "concrete": {
        "sparse variational GP": (5.965, -3.168),
        "dropout": (4.82, -2.93),
        "ensembles": (6.03, -3.06),
    },
    "wine-quality-red": {
        "sparse variational GP": (0.627, -0.949),
        "dropout": (0.62, -0.93),
        "ensembles": (0.64, -0.94),
    },
}
"""Root mean squared error and mean log density, as published."""


def judged(folder: Path, model: Callable[[], Any]) -> dict[str, Any]:
    """Return what 20 fits say of their test rows: means, and standard errors over splits."""
    rows = pd.read_csv(folder / "data.csv.gz").to_numpy(float)
    splits = pd.read_csv(folder / "test_index.csv.gz", header=None).to_numpy(int)
    X, y = rows[:, :-1], rows[:, -1]
    found = []
    began = process_time()
    for test in splits:
        train = np.setdiff1d(np.arange(len(y)), test)
        predictive = model().fit(X[train], y[train]).predict_dist(X[test])
        low, high = predictive.interval(0.9).T
        error = float(np.sqrt(np.mean((predictive.mean() - y[test]) ** 2)))
        density = float(predictive.log_prob(y[test]).mean())
        found.append((error, density, float(np.mean((low <= y[test]) & (y[test] <= high)))))
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / len(found) ** 0.5
    names = ("rmse", "log density", "inside")
    scores = {
        name: [round(float(m), 4), round(float(s), 4)]
        for name, m, s in zip(names, mean, spread, strict=True)
    }
    seconds = round((process_time() - began) / len(found), 2)
    shape = {"rows": len(y), "columns": X.shape[1], "splits": len(splits)}
    return {**shape, **scores, "processor seconds a fit": seconds}


def keep(name: str, found: dict[str, Any], folder: Path = FOLDER) -> None:
    """Store what was found of some sets, in place of what an earlier run found of them."""
    path = folder / f"{name}.json"
    old = json.loads(path.read_text(encoding="utf-8"))["sets"] if path.exists() else {}
    facts = {"commit": commit(), "load": machine()["load"]}
    sets = {**old, **{key: {**value, **facts} for key, value in found.items()}}
    folder.mkdir(exist_ok=True)
    path.write_text(json.dumps({"sets": sets}, indent=1) + "\n", encoding="utf-8")


def compare(
    name: str,
    model: Callable[[], Any],
    published: dict[str, dict[str, tuple[float, float]]],
    arguments: list[str],
) -> int:
    """Print a line for each set, beside what was published, and store them if asked.

    Parameters
    ----------
    name
        Of the program, and of the file that answers are stored in.
    model
        Makes the model that each split is fitted by.
    """
    parser = argparse.ArgumentParser(prog=name)
    parser.add_argument("folder", type=Path, nargs="?", help="folder of the data sets")
    parser.add_argument("sets", nargs="*", help="some of the sets")
    parser.add_argument("--store", action="store_true", help="store what was found")
    chosen = parser.parse_args(arguments)
    if chosen.folder is None or not chosen.folder.is_dir():
        print("Skipped: give the folder of the data sets as the first argument.")
        return 0
    for one in chosen.sets or published:
        found = judged(chosen.folder / one, model)
        print(f"{one}: {found}; published: {published[one]}", flush=True)
        if chosen.store:
            keep(name, {one: found})
    return 0


def main(arguments: list[str]) -> int:
    """Print a line for each set, and store them if asked."""
    return compare("gp_splits", GaussianProcessRegressor, PUBLISHED, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Gaussian process classification of published data sets, beside published errors.

The sets are not part of the project: give the folder that holds ``crabs.csv``,
``ionosphere.csv.gz``, ``pima768.csv`` and ``pima_ripley.csv``::

    python -m benchmarks.gp_sets FOLDER

Errors are of 10 folds, in percent, with the information that probabilities carry in bits per
row (the entropy of the classes less the mean log loss); of Pima as Ripley split it, errors of
332 rows after learning from 200.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from credo import GaussianProcessClassifier
from credo.features import Constant, SquaredExponential

__all__ = ["PUBLISHED", "main"]

PUBLISHED = {
    "crabs": "EP 2.0 %, 0.908 bits; Laplace 2.0 %, 0.682 bits",
    "ionosphere": "EP 8.0 %; Laplace 8.8 %; SVM 5.7 %",
    "pima768": "EP 22.6 %, 0.253 bits; Laplace 22.8 %, 0.252 bits; SVM 23.0 %",
    "pima_ripley": "GP by Monte Carlo 68, GP (MAP) 69 of 332; logistic regression 66",
}


def table(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return inputs, classes, and which rows are for training where that is given."""
    path = next(folder.glob(f"{name}.csv*"))
    frame = pd.read_csv(path)
    is_train = (frame.pop("part") == "train").to_numpy() if "part" in frame else np.empty(0)
    if name == "crabs":
        frame = frame.drop(columns="index").rename(columns={"sex": "y"})
        frame["sp"] = (frame["sp"] == "B").astype(float)
    y = frame.pop("y").to_numpy(str)
    return frame.to_numpy(float), y, is_train


def isotropic() -> object:
    """Return the kernel of the published experiments: one variance, one length scale."""
    return 1.0 * SquaredExponential(1.0) + Constant()


def judged(X: np.ndarray, y: np.ndarray, inference: str, is_own: bool) -> tuple[float, float]:
    """Return error in percent and information in bits, over 10 folds."""
    wrong, loss = 0, 0.0
    for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
        center, spread = X[train].mean(axis=0), X[train].std(axis=0)
        seen = (X - center) / np.where(spread > 0, spread, 1.0)
        model = GaussianProcessClassifier(None if is_own else isotropic(), inference)
        logs = model.fit(seen[train], y[train]).predict_log_proba(seen[test])
        code = np.searchsorted(model.classes_, y[test])
        wrong += int(np.sum(logs.argmax(axis=1) != code))
        loss -= float(logs[np.arange(len(test)), code].sum()) / np.log(2.0)
    share = np.unique(y, return_counts=True)[1] / len(y)
    entropy = float(-(share * np.log2(share)).sum())
    return 100.0 * wrong / len(y), entropy - loss / len(y)


def split(X: np.ndarray, y: np.ndarray, train: np.ndarray, inference: str, own: bool) -> int:
    """Return the number of test rows that are classed wrong."""
    seen = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    model = GaussianProcessClassifier(None if own else isotropic(), inference)
    return int(np.sum(model.fit(seen[train], y[train]).predict(seen[~train]) != y[~train]))


def main(arguments: list[str]) -> int:
    """Print a line for each set, method and kernel."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("Skipped: give the folder of the data sets as the only argument.")
        return 0
    for name, published in PUBLISHED.items():
        X, y, is_train = table(Path(arguments[0]), name)
        print(f"{name}, {len(y)} rows; published: {published}", flush=True)
        for inference in ("ep", "laplace"):
            for is_own in (False, True):
                began = perf_counter()
                kind = "own kernel" if is_own else "one scale "
                if len(is_train):
                    found = f"{split(X, y, is_train, inference, is_own)} wrong of 332"
                else:
                    error, bits = judged(X, y, inference, is_own)
                    found = f"{error:.1f} %, {bits:.3f} bits"
                seconds = perf_counter() - began
                print(f"  {inference:8} {kind} {found} ({seconds:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

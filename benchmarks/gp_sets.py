"""Gaussian process classification of published data sets, beside published errors.

The sets are not part of the project: give the folder that holds ``crabs.csv``,
``ionosphere.csv.gz``, ``pima768.csv`` and ``pima_ripley.csv``::

    python -m benchmarks.gp_sets FOLDER [SET ...] [--store]

Errors are of 10 folds, in percent, with the information that probabilities carry in bits per
row (the entropy of the classes less the mean log loss); of Pima as Ripley split it, errors of
332 rows after learning from 200. ``--store`` keeps them in ``benchmarks/sets/gp_sets.json``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from benchmarks.gp_splits import keep
from credo import GaussianProcessClassifier
from credo.features import Constant, SquaredExponential

__all__ = ["PUBLISHED", "main"]

PUBLISHED = {
    "crabs": "GP by EP 2.0 %, 0.908 bits; GP by Laplace 2.0 %, 0.682 bits",
    "ionosphere": "GP by EP 8.0 %; GP by Laplace 8.8 %; SVM 5.7 %; nearest neighbor 7.9 %",
    "pima768": "GP by EP 22.6 %, 0.253 bits; GP by Laplace 22.8 %, 0.252 bits; SVM 23.0 %",
    "pima_ripley": "GP by Monte Carlo 68, GP (MAP) 69, logistic regression 66 of 332",
}
"""Errors of others; those of processes were quoted before and not read again."""


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
    return 100.0 * wrong / len(y), float(entropy - loss / len(y))


def split(X: np.ndarray, y: np.ndarray, train: np.ndarray, inference: str, own: bool) -> int:
    """Return the number of test rows that are classed wrong."""
    seen = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    model = GaussianProcessClassifier(None if own else isotropic(), inference)
    return int(np.sum(model.fit(seen[train], y[train]).predict(seen[~train]) != y[~train]))


def found_of(X: np.ndarray, y: np.ndarray, is_train: np.ndarray) -> dict[str, Any]:
    """Return errors of each method and kernel, with what they cost."""
    found: dict[str, Any] = {"rows": len(y)}
    for inference in ("ep", "laplace"):
        for is_own in (False, True):
            began = process_time()
            if len(is_train):
                answer: dict[str, Any] = {"wrong": split(X, y, is_train, inference, is_own)}
            else:
                error, bits = judged(X, y, inference, is_own)
                answer = {"error": round(error, 2), "bits": round(bits, 3)}
            answer["processor seconds"] = round(process_time() - began, 1)
            found[f"{inference}, {'own kernel' if is_own else 'one scale'}"] = answer
    return found


def main(arguments: list[str]) -> int:
    """Print a line for each set, and store them if asked."""
    parser = argparse.ArgumentParser(prog="gp_sets", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="folder of the data sets")
    parser.add_argument("sets", nargs="*", help="some of the sets")
    parser.add_argument("--store", action="store_true", help="store what was found")
    chosen = parser.parse_args(arguments)
    if chosen.folder is None or not chosen.folder.is_dir():
        print("Skipped: give the folder of the data sets as the first argument.")
        return 0
    for name in chosen.sets or PUBLISHED:
        found = found_of(*table(chosen.folder, name))
        print(f"{name}: {found}; published: {PUBLISHED[name]}", flush=True)
        if chosen.store:
            keep("gp_sets", {name: found})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

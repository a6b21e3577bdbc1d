"""Run calibration by simulation: ``python -m calibration [--seed N] [--store]``."""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.store import commit
from scipy import stats

from calibration.cases import CASES

__all__ = ["RESULTS", "main", "uniformity"]

RESULTS = Path(__file__).resolve().parent / "results.json"
N_BINS = 20
LEAST = 1e-3
"""A smaller probability of levels as uneven as these, for one of the cases, is a fault."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all cases; return 1 if the levels of one are not uniform."""
    parser = argparse.ArgumentParser(prog="python -m calibration", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", action="store_true", help="store what was found")
    chosen = parser.parse_args(arguments)
    found = {}
    for name, rng in zip(
        CASES, np.random.default_rng(chosen.seed).spawn(len(CASES)), strict=True
    ):
        simulate, n = CASES[name]
        found[name] = uniformity(np.array([simulate(rng) for _ in range(n)]))
        print(f"{name}: {found[name]}", flush=True)
    if chosen.store:
        when = datetime.now(UTC).strftime("%Y-%m-%d")
        run = {"commit": commit(), "date": when, "seed": chosen.seed, "cases": found}
        RESULTS.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    return int(any(case["p_value"] < LEAST / len(CASES) for case in found.values()))


def uniformity(levels: np.ndarray) -> dict[str, Any]:
    """Return how probable levels as uneven as these are, by chi-square in twenty bins.

    Examples
    --------
    >>> uniformity(np.linspace(0.0, 1.0, 2001))["p_value"]
    1.0
    >>> uniformity(np.linspace(0.0, 0.9, 2001))["p_value"] < 1e-10
    True
    """
    counts, _ = np.histogram(levels, bins=N_BINS, range=(0.0, 1.0))
    p_value = float(stats.chisquare(counts).pvalue)
    return {"n": len(levels), "counts": counts.tolist(), "p_value": float(f"{p_value:.3g}")}


if __name__ == "__main__":
    sys.exit(main())

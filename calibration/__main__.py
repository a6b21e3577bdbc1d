"""Run calibration by simulation: ``python -m calibration [NAME ...] [--seed N] [--store]``.

Of named cases alone, what is stored of the others stays, each with its own commit.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.store import commit

from calibration.cases import CASES, CHAINS, ENGINES
from calibration.mixtures import MIXTURES
from credo.evaluation.laws import RankCalibration

__all__ = ["RESULTS", "main", "uniformity"]

RESULTS = Path(__file__).resolve().parent / "results.json"
N_BINS = 20
LEAST = 1e-3
"""A smaller probability of levels as uneven as these, for one of the cases, is a fault."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all cases; return 1 if the levels or ranks of one are not uniform."""
    parser = argparse.ArgumentParser(prog="python -m calibration", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="run these cases alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", action="store_true", help="store what was found")
    chosen = parser.parse_args(arguments)
    known = [*CASES, *ENGINES, *CHAINS, *MIXTURES]
    unknown = sorted(set(chosen.names) - set(known))
    if unknown:
        parser.error(f"names must be cases; found {unknown}. Choose from {known}.")
    streams = np.random.default_rng(chosen.seed).spawn(len(known))
    found: dict[str, Any] = {}
    for name, rng in zip(known, streams, strict=True):
        if name in (chosen.names or known):
            found |= _found(name, rng)
    if chosen.store:
        _store(found, chosen.seed, is_whole=not chosen.names)
    return int(any(case["p_value"] < LEAST / len(found) for case in found.values()))


def _found(name: str, rng: np.random.Generator) -> dict[str, Any]:
    """Return what one case found, by what was ranked."""
    if name in CASES:
        simulate, n = CASES[name]
        found = {name: uniformity(np.array([simulate(rng) for _ in range(n)]))}
        print(f"{name}: {found[name]}", flush=True)
        return found
    ranks = (ENGINES | CHAINS | MIXTURES)[name].ranks(rng)
    print(f"{name}: {ranks}", flush=True)
    return {f"{name}, {quantity}": _account(ranks, quantity) for quantity in ranks.names}


def _store(found: dict[str, Any], seed: int, *, is_whole: bool) -> None:
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    run = {"commit": commit(), "date": when, "seed": seed, "cases": found}
    if not is_whole:
        run = json.loads(RESULTS.read_text(encoding="utf-8"))
        own = {"commit": commit(), "seed": seed}
        run["cases"] |= {name: {**case, **own} for name, case in found.items()}
    RESULTS.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


def uniformity(levels: np.ndarray) -> dict[str, Any]:
    """Return how probable levels as uneven as these are, as ranks among 19 draws.

    Examples
    --------
    >>> round(uniformity(np.linspace(0.0, 1.0, 2001))["p_value"], 2)
    1.0
    >>> uniformity(np.linspace(0.0, 0.9, 2001))["p_value"] < 1e-10
    True
    """
    ranks = np.minimum((N_BINS * levels).astype(np.intp), N_BINS - 1)
    return _account(RankCalibration(("level",), ranks[:, None], N_BINS - 1), "level")


def _account(ranks: RankCalibration, name: str) -> dict[str, Any]:
    return {
        "n": ranks.n_simulations,
        "counts": ranks.counts(name).tolist(),
        "p_value": float(f"{ranks.p_value(name):.3g}"),
    }


if __name__ == "__main__":
    sys.exit(main())

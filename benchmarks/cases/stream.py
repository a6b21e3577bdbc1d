"""Rows that never were in memory together, through ``partial_fit``.

Each contender is a process of its own, so that its peak memory is its own.
"""

import json
import resource
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.harness import Case, Contender, Goal
from credo.models.linear.linear_regression import LinearRegression

__all__ = ["CASES", "stream"]

CHUNK = 100_000
N_FEATURES = 20
Numbers = dict[str, float]


def stream(n_samples: int) -> Numbers:
    """Return rows per second inside ``partial_fit`` and the peak memory of this process."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(N_FEATURES)
    model, seconds = LinearRegression(), 0.0
    for _ in range(n_samples // CHUNK):
        X = rng.standard_normal((CHUNK, N_FEATURES))
        y = X @ weights + rng.standard_normal(CHUNK)
        start = perf_counter()
        model.partial_fit(X, y)
        seconds += perf_counter() - start
    error = float(np.abs(model.coef_ - weights).max())
    peak = peak_megabytes()
    return {"rows per second": n_samples / seconds, "peak megabytes": peak, "error": error}


def peak_megabytes() -> float:
    """Return the largest memory this process has held."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    # On Linux ru_maxrss starts from the peak of the process that started this one.
    lines = status.read_text(encoding="utf-8").splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def in_process(n_samples: int) -> Contender:
    command = [sys.executable, "-m", "benchmarks.cases.stream", str(n_samples)]

    def run(data: None) -> Numbers:
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        numbers: Numbers = json.loads(answer.stdout)
        return numbers

    return Contender(run)


CASES = (
    Case(
        name=f"D={N_FEATURES}, chunks of {CHUNK:,} rows; seconds include making the data",
        data=lambda: None,
        contenders={"10^6 rows": in_process(10**6), "10^7 rows": in_process(10**7)},
        reference="10^6 rows",
        quality={
            "million rows per second, fitting alone": lambda data, numbers: (
                numbers["rows per second"] / 1e6
            ),
            "peak megabytes": lambda data, numbers: numbers["peak megabytes"],
            "largest weight error": lambda data, numbers: numbers["error"],
        },
        goals=(
            Goal("10^7 rows", at_most=12.0),
            Goal("10^7 rows", at_most=300.0, measure="peak megabytes"),
        ),
        repeats=2,
    ),
)


if __name__ == "__main__":
    print(json.dumps(stream(int(sys.argv[1]))))

"""Rows that never were in memory together, through ``partial_fit``.

Each contender is a process of its own, so that its peak memory is its own.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.harness import Case, Contender, Goal
from credo import PCA, GaussianMixture, KMeans
from credo.inference import ExpectationMaximization
from credo.models.linear.linear_regression import LinearRegression

__all__ = ["CASES", "stream", "stream_unlabeled"]

CHUNK = 100_000
N_FEATURES = 20
N_COLUMNS, N_GROUPS = 5, 5
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


def stream_unlabeled(name: str, n_samples: int) -> Numbers:
    """Return rows per second of a fit to rows of groups, and the peak memory."""
    centers = 4.0 * np.random.default_rng(0).standard_normal((N_GROUPS, N_COLUMNS))

    def chunks() -> Iterator[np.ndarray]:
        rng = np.random.default_rng(1)
        for _ in range(n_samples // CHUNK):
            place = centers[rng.integers(N_GROUPS, size=CHUNK)]
            yield place + rng.standard_normal((CHUNK, N_COLUMNS))

    start = perf_counter()
    if name == "PCA":
        model = PCA(2)
        for X in chunks():
            model.partial_fit(X)
        spread = np.linalg.eigvalsh(np.cov(centers.T, ddof=0))[:-3:-1] + 1.0
        error = float(np.abs(model.explained_variance_ / spread - 1.0).max())
    elif name == "KMeans":
        model = KMeans(N_GROUPS, random_state=0)
        for X in chunks():
            model.partial_fit(X)
        error = _off(model.cluster_centers_, centers)
    else:
        engine = ExpectationMaximization(1e-6, 20)
        model = GaussianMixture(N_GROUPS, inference=engine, n_restarts=2)
        model.fit_chunks(chunks)
        error = _off(model.means_, centers)
    seconds = perf_counter() - start
    peak = peak_megabytes()
    return {"rows per second": n_samples / seconds, "peak megabytes": peak, "error": error}


def _off(found: np.ndarray, centers: np.ndarray) -> float:
    """Return how far the worst center is from any that was found."""
    away = np.linalg.norm(found[:, None] - centers, axis=2)
    return float(away.min(axis=0).max())


def peak_megabytes() -> float:
    """Return the largest memory this process has held."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    # On Linux ru_maxrss starts from the peak of the process that started this one.
    lines = status.read_text(encoding="utf-8").splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def in_process(n_samples: int, name: str = "LinearRegression") -> Contender:
    command = [sys.executable, "-m", "benchmarks.cases.stream", str(n_samples), name]

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
    *(
        Case(
            name=f"{name}, D={N_COLUMNS}, {N_GROUPS} groups; seconds include making the data",
            data=lambda: None,
            contenders={
                "10^6 rows": in_process(10**6, name),
                "10^7 rows": in_process(10**7, name),
            },
            reference="10^6 rows",
            quality={
                "million rows per second, with data": lambda data, numbers: (
                    numbers["rows per second"] / 1e6
                ),
                "peak megabytes": lambda data, numbers: numbers["peak megabytes"],
                "largest error": lambda data, numbers: numbers["error"],
            },
            goals=(
                Goal("10^7 rows", at_most=450.0, measure="peak megabytes"),
                Goal("10^7 rows", at_most=0.05, measure="largest error"),
            ),
            repeats=1,
        )
        for name in ("PCA", "KMeans", "GaussianMixture")
    ),
)


if __name__ == "__main__":
    n_rows, model_name = int(sys.argv[1]), sys.argv[2]
    is_supervised = model_name == "LinearRegression"
    print(json.dumps(stream(n_rows) if is_supervised else stream_unlabeled(model_name, n_rows)))

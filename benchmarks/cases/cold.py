"""What a person waits for in a new process: import, and the whole main job."""

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import Case, Contender, Goal
from benchmarks.linear_data import linear_data

__all__ = ["CASES"]

RUNS_COMMANDS = True

N_SAMPLES, N_FEATURES = 1_000, 10


def table() -> Path:
    """Return the path of a CSV file of 1,000 rows, ten columns and a target."""
    data = linear_data(N_SAMPLES, N_FEATURES, n_test=0)
    path = Path(tempfile.mkdtemp()) / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{i}" for i in range(N_FEATURES)), "y"])
        writer.writerows([*x, y] for x, y in zip(data.X, data.y, strict=True))
    return path


def python(code: str, package: str | None = None) -> Contender:
    return Contender(lambda path: _succeed([sys.executable, "-c", code]), package)


def fit(path: Path) -> None:
    out, report = path.with_suffix(".credo"), path.with_suffix(".html")
    program = str(Path(sys.executable).with_name("credo"))
    _succeed(
        [program, "fit", str(path), "--target", "y", "--out", str(out), "--report", str(report)]
    )


def _succeed(command: list[str]) -> None:
    subprocess.run(command, capture_output=True, check=True)


CASES = (
    Case(
        name=f"new process; credo fit reads {N_SAMPLES:,} rows x {N_FEATURES} columns",
        data=table,
        contenders={
            "python alone": python("pass", "python"),
            "import numpy": python("import numpy", "numpy"),
            "import credo": python("import credo"),
            "credo fit": Contender(fit),
        },
        reference="python alone",
        goals=(
            Goal("import credo", at_most=0.2, measure="seconds"),
            Goal("credo fit", at_most=4.0, measure="seconds"),
        ),
        repeats=5,
    ),
)

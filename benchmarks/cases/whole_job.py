"""The whole main job in a new process: `credo fit` with model and report, small and large."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.harness import Case, Contender, Goal

__all__ = ["CASES"]

RUNS_COMMANDS = True

MIB = 1024.0

FIT = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], capture_output=True, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def table(n_rows: int, n_classes: int = 0) -> Path:
    """Return the path of a CSV file of numbers, categories and a date, with a few gaps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 7))
    X[:, 1] = 0.6 * X[:, 0] + 0.8 * X[:, 1]
    kind = rng.choice(["a", "b", "c", "d"], n_rows, p=[0.4, 0.3, 0.2, 0.1])
    flag = rng.choice(["yes", "no"], n_rows)
    day = rng.integers(0, 1000, n_rows)
    level = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * X[:, 2] * X[:, 3] + 0.3 * X[:, 4] ** 2
    level += 0.7 * (kind == "b") - 0.5 * (flag == "yes") + 0.001 * day
    frame = pd.DataFrame(X.round(5), columns=[f"x{i}" for i in range(7)])
    frame["kind"], frame["flag"] = kind, flag
    frame["day"] = (pd.Timestamp("2020-01-01") + pd.to_timedelta(day, unit="D")).astype(str)
    for name in ("x5", "kind"):
        frame.loc[rng.random(n_rows) < 0.02, name] = None
    if n_classes:
        pull = np.column_stack([level, -level + X[:, 3], X[:, 5] + 0.5 * X[:, 6] ** 2])
        pull = 1.2 * pull[:, :n_classes] + rng.gumbel(size=(n_rows, n_classes))
        frame["y"] = np.array(["red", "green", "blue"])[pull.argmax(axis=1)]
    else:
        frame["y"] = (level + 0.5 * rng.normal(size=n_rows)).round(5)
    return _written(frame)


def wide_table(n_rows: int, n_columns: int) -> Path:
    """Return the path of a CSV file of four classes and far more columns than rows."""
    rng = np.random.default_rng(1)
    code = np.arange(n_rows) % 4
    X = rng.normal(size=(n_rows, n_columns))
    X += rng.normal(size=(n_rows, 5)) @ rng.normal(size=(5, n_columns))
    for k in range(4):
        X[code == k, 10 * k : 10 * k + 10] += 2.0
    frame = pd.DataFrame(X.round(4), columns=[f"g{i}" for i in range(n_columns)])
    frame["y"] = np.array(["A", "B", "C", "D"])[code]
    return _written(frame)


def fit(path: Path, *more: str) -> float:
    """Run the command, and return the largest memory it held, in MiB."""
    out, report = path.with_suffix(".credo"), path.with_suffix(".html")
    program = str(Path(sys.executable).with_name("credo"))
    asked = ["fit", str(path), "--target", "y", "--out", str(out), "--report", str(report)]
    asked += more
    done = subprocess.run(
        [sys.executable, "-c", FIT, program, *asked], capture_output=True, check=True, text=True
    )
    return float(done.stdout) / MIB


def _written(frame: pd.DataFrame) -> Path:
    path = Path(tempfile.mkdtemp()) / "table.csv"
    frame.to_csv(path, index=False)
    return path


def case(
    name: str,
    data: Callable[[], Path],
    seconds: float = float("inf"),
    mebibytes: float = float("inf"),
    more: tuple[str, ...] = (),
) -> Case:
    """Return a case of one command, with what it may take."""
    goals = [
        Goal("credo fit", at_most=bound, measure=measure)
        for bound, measure in ((seconds, "seconds"), (mebibytes, "MiB"))
        if np.isfinite(bound)
    ]
    return Case(
        name=f"new process; credo fit, {name}",
        data=data,
        contenders={"credo fit": Contender(lambda path: fit(path, *more))},
        reference="credo fit",
        quality={"MiB": lambda path, peak: peak},
        goals=tuple(goals),
        repeats=2,
    )


CASES = (
    case("1,000 rows x 10 columns, a number", lambda: table(1_000), seconds=10.0),
    *(
        case(f"{name}, --fast", data, seconds=seconds, mebibytes=mebibytes, more=("--fast",))
        for name, data, seconds, mebibytes in (
            ("1,000 rows x 10 columns, a number", lambda: table(1_000), 4.0, np.inf),
            ("1,000 rows x 10 columns, three classes", lambda: table(1_000, 3), 6.0, np.inf),
            ("20,000 rows x 10 columns, a number", lambda: table(20_000), 8.0, np.inf),
            ("20,000 rows x 10 columns, two classes", lambda: table(20_000, 2), 12.0, np.inf),
            ("20,000 rows x 10 columns, three classes", lambda: table(20_000, 3), 12.0, np.inf),
            ("200,000 rows x 10 columns, a number", lambda: table(200_000), 40.0, 700.0),
        )
    ),
    case(
        "62 rows x 2,308 columns, four classes",
        lambda: wide_table(62, 2_308),
        mebibytes=1024.0,
    ),
)

"""Write docs/fuzzing.md from the last stored run of the fuzzer."""

import json
from pathlib import Path
from typing import Any

__all__ = ["page", "read_runs"]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "fuzz" / "results.json"
PAGE = ROOT / "docs" / "fuzzing.md"

INTRODUCTION = """# What was thrown at credo

<!-- Written by docs/write_fuzzing.py from fuzz/results.json. -->

`make fuzz` runs cases of odd and hostile input, each from a seed, under limits of time and
memory, in processes that may crash, and counts what came of them. A fixed short part runs
with the tests.

- **Command line**: tables with gaps, odd scales, constants, duplicates, rare classes, dates,
  mixed columns, names and words in any script, separators, quotes, gzip, Parquet and damage;
  `credo fit`, `inspect`, then `predict` on another odd table, or `compare`, or questions to a
  network. A *whole job* is one in which every command worked.
- **Model files**: files of every estimator and of both table jobs with changed numbers,
  arrays, structure or bytes, sealed with right checksums. `load` refuses, or what it gives
  must predict.
- **Network files**: BIF, XMLBIF, UAI and JSON with changed tokens, numbers or bytes; what
  loads is asked.
- **Estimators**: odd shapes, scales, types, containers and weights; fit, predict, score,
  clone, save, load.
- **Networks**: findings of every kind on small networks, against sums over the joint
  distribution.

A case worked, or was refused cleanly: exit code 2 and one sentence on the command line, a
documented exception that was raised on purpose elsewhere. Everything else is a fault.
"""


def read_runs(path: Path = RESULTS) -> list[dict[str, Any]]:
    """Return the stored runs, oldest first."""
    if not path.exists():
        return []
    return list(json.loads(path.read_text(encoding="utf-8"))["runs"])


def page(runs: list[dict[str, Any]]) -> str:
    """Return the whole Markdown page."""
    if not runs:
        return f"{INTRODUCTION}\nNo run is stored yet.\n"
    run = runs[-1]
    names = list(run["surfaces"])
    outcomes = list(run["surfaces"][names[0]]["outcomes"])
    lines = [
        INTRODUCTION,
        f"## Seed {run['seed']}, commit {run['commit']}\n",
        f"| surface | cases | whole jobs | {' | '.join(outcomes)} |",
        f"|---|{'---:|' * (len(outcomes) + 2)}",
        *(_row(name, run["surfaces"][name], outcomes) for name in names),
        "",
        f"*{_machine(run['machine'])}*\n",
    ]
    return "\n".join(lines)


def _row(name: str, tally: dict[str, Any], outcomes: list[str]) -> str:
    jobs = tally["tags"].get("whole job")
    counts = [f"{tally['outcomes'][outcome]:,}" for outcome in outcomes]
    shown = [
        name.replace("_", " "),
        f"{tally['cases']:,}",
        f"{jobs:,}" if jobs else "",
        *counts,
    ]
    return f"| {' | '.join(shown)} |"


def _machine(facts: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return f"{facts['processor']}; Python {facts['python']}, {versions}."


if __name__ == "__main__":
    PAGE.write_text(page(read_runs()), encoding="utf-8")

"""Keep outcomes by commit, together with the machine that produced them."""

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from benchmarks.harness import Outcome
from benchmarks.source import sources

__all__ = ["RESULTS", "ROOT", "commit", "machine", "record", "store"]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def store(name: str, run: dict[str, Any], folder: Path = RESULTS) -> Path:
    """Append ``run`` to the file of benchmark ``name``; one of the same commit is replaced."""
    path = folder / f"{name}.json"
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    kept = [old for old in runs if old["commit"] != run["commit"]]
    text = json.dumps({"benchmark": name, "runs": [*kept, run]}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def record(
    outcomes: Sequence[Outcome], facts: dict[str, Any], *, runs_commands: bool = False
) -> dict[str, Any]:
    """Return what is stored of one run: commit, sources, machine and outcomes, as JSON values.

    Parameters
    ----------
    outcomes
        One for each case.
    facts
        What `machine` said before the first case began.
    runs_commands
        Whether the cases start commands in new processes, which may load any file of credo.
    """
    return {
        "commit": commit(),
        "sources": sources(runs_commands=runs_commands),
        "machine": facts,
        "cases": [_plain(outcome) for outcome in outcomes],
    }


def machine() -> dict[str, Any]:
    """Return the facts on which times depend: cores, load, BLAS, versions."""
    # A pool shows itself once its library has worked.
    np.linalg.norm(np.eye(2) @ np.eye(2))
    pools = threadpool_info()
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "blas": sorted(
            {f"{p['internal_api']} {p['version']} x{p['num_threads']}" for p in pools}
        ),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "versions": {library: metadata.version(library) for library in LIBRARIES},
    }


def commit(root: Path = ROOT) -> str:
    """Return the short commit, with a plus sign if tracked files have changed since."""
    try:
        name = _git(root, "rev-parse", "--short", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no", "src")
        return f"{name}+" if changed else name
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(root: Path, *arguments: str) -> str:
    answer = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
    )
    return answer.stdout.strip()


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "unknown"


def _plain(outcome: Outcome) -> dict[str, Any]:
    plain = asdict(outcome)
    for result in plain["results"]:
        result["seconds"] = _rounded(result["seconds"])
        result["ratio"] = _rounded(result["ratio"])
    return plain


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")

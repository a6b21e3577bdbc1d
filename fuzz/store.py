"""Keep what runs have found, by commit and seed."""

import json
from pathlib import Path
from typing import Any

from benchmarks.store import machine

__all__ = ["RESULTS", "ROOT", "store"]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "fuzz" / "results.json"


def store(run: dict[str, Any], path: Path = RESULTS) -> Path:
    """Append ``run`` to the stored runs; one of the same commit and seed is replaced."""
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    key = (run["commit"], run["seed"])
    kept = [old for old in runs if (old["commit"], old["seed"]) != key]
    text = json.dumps({"runs": [*kept, {**run, "machine": machine()}]}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
    return path

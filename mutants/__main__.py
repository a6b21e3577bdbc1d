"""Run the mutation tests of the capability table: ``python -m mutants [ID ...] [--store]``.

A run is kept in ``build/mutants.json`` after every row and goes on where it was stopped; rows
whose symbol or test changed are run again. ``--store`` writes what was found to
``mutants/results.json``, where rows that were not run stay as they are.
"""

import argparse
import importlib
import json
import os
import pkgutil
import sys
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.store import commit

import credo
from mutants.trial import ROOT, has_passed, trial_of

__all__ = ["RESULTS", "done_rows", "kept_rows", "main", "store"]

TABLE = ROOT / "docs" / "capabilities.toml"
STATE = ROOT / "build" / "mutants.json"
RESULTS = ROOT / "mutants" / "results.json"

Rows = dict[str, dict[str, Any]]


def done_rows() -> Rows:
    """Return the rows of the capability table that are done, by id."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["rows"]
    return {key: row for key, row in rows.items() if row.get("done", False)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the rows that were not run yet; return 1 if a mutant survived."""
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID", help="run these rows again")
    parser.add_argument("--store", action="store_true", help="store what was found")
    parser.add_argument("--anew", action="store_true", help="forget what was run before")
    chosen = parser.parse_args(arguments)
    rows = done_rows()
    unknown = sorted(set(chosen.ids) - set(rows))
    if unknown:
        parser.error(f"ids must be rows that are done; found {unknown}. See {TABLE.name}.")
    kept = {} if chosen.anew else kept_rows(rows, STATE)
    wanted = chosen.ids or [key for key in rows if key not in kept]
    _load_everything() if wanted else None
    for key in wanted:
        trial = trial_of(rows[key]["symbol"], rows[key]["test"])
        kept[key] = {**trial.plain(), "commit": commit()}
        _tell(key, kept[key])
        _write(STATE, {"rows": kept})
    survivors = [key for key, trial in kept.items() if not has_passed(trial)]
    print(f"{len(kept) - len(survivors)} of {len(kept)} rows hold; not: {survivors}")
    if chosen.store:
        store(rows, kept, RESULTS)
        print(f"stored in {RESULTS.relative_to(ROOT)}")
    return int(bool(survivors))


def kept_rows(rows: Rows, path: Path) -> Rows:
    """Return what an earlier run found of rows that are as they were."""
    if not path.exists():
        return {}
    old = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return {key: old[key] for key, row in rows.items() if _is_same(row, old.get(key, {}))}


def _is_same(row: dict[str, Any], trial: dict[str, Any]) -> bool:
    return all(trial.get(part) == row[part] for part in ("symbol", "test"))


def _load_everything() -> None:
    """Import the package and what tests need, so that children start at once."""
    sys.path.insert(0, str(ROOT / "tests"))
    for module in pkgutil.walk_packages(credo.__path__, "credo."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in ("pandas", "scipy.stats", "sklearn.utils.estimator_checks", "hypothesis"):
        importlib.import_module(name)


def _tell(key: str, trial: dict[str, Any]) -> None:
    found = ", ".join(f"{name} {outcome}" for name, outcome in trial["outcomes"].items())
    print(f"{key}: {found or 'the test fails by itself'} ({trial['seconds']} s)", flush=True)


def store(rows: Rows, found: Rows, path: Path) -> None:
    """Write what was found of some rows; others stay, unless their symbol or test changed."""
    known = kept_rows(rows, path) | found
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    in_order = {key: known[key] for key in rows if key in known}
    _write(path, {"commit": commit(), "date": when, "seed": 0, "rows": in_order})


def _write(path: Path, what: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(what, indent=1) + "\n", encoding="utf-8")
    os.replace(temporary, path)


if __name__ == "__main__":
    sys.exit(main())

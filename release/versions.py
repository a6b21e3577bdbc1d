"""Try the lowest stated versions and the newest: ``python -m release.versions [PYTHON]``.

Two environments are made by uv: this Python with the lowest version of every direct
dependency, and another Python (a version that uv can fetch, or the path of an interpreter)
with the newest of everything. In each the wheel is tried as `release.wheel` does. What was
found is kept in ``release/versions.json`` and written to ``docs/versions.md``.
"""

import json
import platform
import re
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.store import commit

from release.wheel import ROOT, built, run, tried

__all__ = ["page", "trial"]

RESULTS = ROOT / "release" / "versions.json"
PAGE = ROOT / "docs" / "versions.md"
UV = str(Path(sys.executable).with_name("uv"))

INTRODUCTION = """# Versions that were tried

<!-- Written by `make versions` from release/versions.json. -->

Each column is an environment into which the wheel was installed, without the source, and in
which the demo, a query, the blocks of the README (every printed digit) and the examples of the
public names were run.
"""


def main(newest: str = "3.14") -> None:
    """Try both environments, store what was found, and write the page."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = built(Path(folder))
        runs = [
            trial(wheel, "lowest-direct", sys.executable, Path(folder)),
            trial(wheel, "highest", newest, Path(folder)),
        ]
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    found = {
        "commit": commit(),
        "date": when,
        "system": f"{platform.system()} {platform.machine()}",
        "runs": runs,
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(found), encoding="utf-8")


def trial(wheel: Path, resolution: str, python: str, folder: Path) -> dict[str, Any]:
    """Return the versions in a new environment, and what trying the wheel there said."""
    environment = folder / resolution
    inside = environment / "bin" / "python"
    listed = folder / f"{resolution}.txt"
    run([UV, "venv", "--quiet", "--python", python, environment])
    project = ROOT / "pyproject.toml"
    options = ["--extra", "parquet", "--resolution", resolution, "--python", inside]
    run([UV, "pip", "compile", "--quiet", project, *options, "-o", listed])
    run([UV, "pip", "install", "--quiet", "--python", inside, "-r", listed])
    run([UV, "pip", "install", "--quiet", "--python", inside, "--no-deps", wheel])
    versions = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", listed.read_text(), flags=re.M))
    said = tried(inside, folder)
    print(f"{resolution}: {said}")
    known = run([inside, "-c", "import platform; print(platform.python_version())"]).strip()
    return {"resolution": resolution, "python": known, "versions": versions, "said": said}


def page(found: dict[str, Any]) -> str:
    """Return the whole Markdown page."""
    runs = found["runs"]
    names = sorted(set.intersection(*(set(run["versions"]) for run in runs)) & _direct())
    heads = " | ".join(f"{run['resolution']}" for run in runs)
    rows = [
        f"| {name} | {' | '.join(run['versions'][name] for run in runs)} |" for name in names
    ]
    return "\n".join(
        [
            INTRODUCTION,
            f"Commit {found['commit']}, {found['date']}, {found['system']}.",
            "",
            f"| | {heads} |",
            f"|---|{'---|' * len(runs)}",
            f"| Python | {' | '.join(run['python'] for run in runs)} |",
            *rows,
            f"| found | {' | '.join(run['said'] for run in runs)} |",
            "",
        ]
    )


def _direct() -> set[str]:
    """Return the names that ``pyproject.toml`` states a lowest version of."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return set(re.findall(r'"([\w-]+)>=', text))


if __name__ == "__main__":
    main(*sys.argv[1:])

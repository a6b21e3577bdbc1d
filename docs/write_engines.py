"""Write docs/engines_compared.md: how far engines are from the truth, and what they cost."""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

__all__ = ["page", "read_models"]

PAGE = ROOT / "docs" / "engines_compared.md"
STORED = ROOT / "benchmarks" / "sets" / "engines.json"
ENGINES = {"laplace": "Laplace", "ep": "EP", "variational": "variational", "nuts": "NUTS"}
UNITS = {"probability": "of a probability", "sd": "of a mean, in posterior sds"}

INTRODUCTION = """# Engines compared

<!-- Written by docs/write_engines.py from benchmarks/sets/engines.json. -->

How far each engine is from the exact answer, a sum over a grid, or from that of a run of the
no-U-turn engine that is many times as long; and CPU seconds of a fit, all that is compiled
being compiled. Errors are the largest over what is asked. Draws have errors of their own, and
so have long runs: where NUTS is as far from a long run as another engine, the two cannot be
told apart here. Laplace stands for what is built on it: of Student-t noise its draws are
resampled by importance ratios, and settings of processes are weighted draws around the best.
An engine that a model does not have is left open.

`python -m benchmarks.engines --store` runs it again.
"""


def read_models(path: Path = STORED) -> dict[str, Any]:
    """Return what is stored of the models."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found["sets"]


def page(models: dict[str, Any]) -> str:
    """Return the whole Markdown page."""
    head = ["model", "judged by", "largest error", *ENGINES.values(), "commit", "load"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name, model in models.items():
        cells = [_cell(model["engines"].get(engine)) for engine in ENGINES]
        facts = [model["commit"], f"{model['load']:g}"]
        row = [name, model["judge"], UNITS[model["unit"]], *cells, *facts]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join([INTRODUCTION, *lines, ""])


def _cell(found: list[float] | None) -> str:
    return "" if found is None else f"{found[0]:.4f} in {found[1]:.3f} s"


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(read_models()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

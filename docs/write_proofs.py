"""Write docs/proofs.md from the stored run of the mutation tests."""

import json
from pathlib import Path
from typing import Any

__all__ = ["page"]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "mutants" / "results.json"
PAGE = ROOT / "docs" / "proofs.md"
MUTANTS = ("raises", "negated", "scaled")

INTRODUCTION = """# Do the tests prove it?

<!-- Written by docs/write_proofs.py from mutants/results.json. -->

Each row of [the capability table](capabilities.md) that is done names a symbol and a test. A
test that would pass whatever the symbol did proves nothing. So for each row the named test is
run three more times, with a symbol that

- **raises** whenever it is used,
- gives every answer **negated** (truth values turned),
- gives every real number **scaled** by 1.001 (counts and truth values stay).

Each time the test must fail; with a symbol replaced in the same way that answers rightly, it
must pass. What is changed is what the symbol hands out: the result of a
function or method; of a class, the results of its public methods, properties and operators, and
the public attributes that the test reads. Numbers are found in arrays, tables, containers,
dataclasses and lines of figures. Some answers hold none: a graph or a label cannot be scaled,
and is said to have *no number to change*. And some questions have the same answer at another
scale: a threshold, its noise and its coefficients, all scaled, give the same probability. Such
a mutant lives by right, and stands in the list all the same.
"""


def page(run: dict[str, Any]) -> str:
    """Return the whole Markdown page."""
    rows = run["rows"]
    held = [key for key, trial in rows.items() if _holds(trial)]
    return "\n".join(
        [
            INTRODUCTION,
            f"**{len(held)} of {len(rows)} rows hold** "
            f"(commit {run['commit']}, {run['date']}; the commit at which a row was run is",
            "stored with it; `make long` runs all again).",
            "",
            *_counts(rows),
            *_survivors({key: trial for key, trial in rows.items() if key not in held}),
            "## All rows",
            "",
            "| id | symbol | raises | negated | scaled | changed |",
            "|---|---|---|---|---|---|",
            *(_line(key, trial) for key, trial in rows.items()),
            "",
        ]
    )


def _holds(trial: dict[str, Any]) -> bool:
    return trial["passes"] and "survived" not in trial["outcomes"].values()


def _counts(rows: dict[str, Any]) -> list[str]:
    kinds = ("caught", "no number to change", "survived", "ended the process", "not run")
    lines = [f"| mutant | {' | '.join(kinds)} |", f"|---|{'---:|' * len(kinds)}"]
    for mutant in MUTANTS:
        outcomes = [trial["outcomes"].get(mutant, "not run") for trial in rows.values()]
        lines.append(f"| {mutant} | {' | '.join(str(outcomes.count(k)) for k in kinds)} |")
    return [*lines, ""]


def _survivors(rows: dict[str, Any]) -> list[str]:
    if not rows:
        return []
    lines = ["## Rows whose test lets a mutant live", "", "| id | symbol | test | lives |"]
    lines.append("|---|---|---|---|")
    for key, trial in rows.items():
        lives = [m for m, outcome in trial["outcomes"].items() if outcome == "survived"]
        name = trial["test"].partition("::")[2]
        lines.append(f"| {key} | `{trial['symbol']}` | `{name}` | {', '.join(lives)} |")
    return [*lines, ""]


def _line(key: str, trial: dict[str, Any]) -> str:
    outcomes = " | ".join(trial["outcomes"].get(mutant, "not run") for mutant in MUTANTS)
    changed = trial["changed"]
    said = ", ".join(f"`{name}`" for name in changed[:3])
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    return f"| {key} | `{trial['symbol']}` | {outcomes} | {said}{more} |"


def main() -> None:
    """Write the page."""
    run = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(page(run), encoding="utf-8")


if __name__ == "__main__":
    main()

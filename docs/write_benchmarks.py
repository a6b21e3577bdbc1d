"""Write docs/benchmarks.md from the last stored run of each benchmark."""

import json
import runpy
from pathlib import Path
from statistics import geometric_mean
from typing import Any

__all__ = ["page", "read_results"]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"

INTRODUCTION = """# Benchmarks

<!-- Written by docs/write_benchmarks.py from benchmarks/results. -->

Every number below was stored by `make bench`, which runs the contenders alternately on the same
data and keeps the smallest time of each. Ratios compare within one run on one machine, and mean
more than seconds. A plus sign after a commit says that the code had changed since; load is the
number of processes that wanted to run when the benchmark began.
"""

is_stale = runpy.run_path(str(ROOT / "benchmarks" / "source.py"))["is_stale"]

STALE = (
    "**Older than the code it measures:** run `python -m benchmarks` again for new numbers.\n"
)


def read_results(folder: Path = RESULTS) -> list[dict[str, Any]]:
    """Return the stored benchmarks in the order of their names."""
    files = sorted(folder.glob("*.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in files]


def page(benchmarks: list[dict[str, Any]], root: Path = ROOT) -> str:
    """Return the whole Markdown page; runs older than the code they measured are marked."""
    parts = [INTRODUCTION]
    for benchmark in benchmarks:
        run = benchmark["runs"][-1]
        parts.append(f"## {benchmark['benchmark']}\n")
        if "pairs" in run:
            parts.append(_before_after(run))
            continue
        parts.extend(_case(case, benchmark["runs"]) for case in run["cases"])
        parts.append(f"*{_machine(run)}*\n")
        if is_stale(run, root):
            parts.append(STALE)
    return "\n".join(parts)


def _case(case: dict[str, Any], runs: list[dict[str, Any]]) -> str:
    measures = list(case["results"][0]["quality"])
    columns = ["contender", "seconds", f"times {case['reference']}", *measures]
    lines = [
        f"**{case['case']}**\n",
        f"| {' | '.join(columns)} |",
        f"|---|{'---:|' * (len(columns) - 1)}",
        *(_row(result, measures) for result in case["results"]),
        "",
        *(
            f"Goal: {goal}; {'reached' if is_reached else '**missed**'}.\n"
            for goal, is_reached in case["goals"].items()
        ),
        *(
            f"Not installed, so not run: {name}{_last(case, name, runs)}.\n"
            for name in case["absent"]
        ),
    ]
    return "\n".join(lines)


def _last(case: dict[str, Any], name: str, runs: list[dict[str, Any]]) -> str:
    """Return what a contender that is absent took when it last took part, if it ever did."""
    for run in reversed(runs):
        for old in run.get("cases", ()):
            took = [r["ratio"] for r in old["results"] if r["contender"] == name]
            if old["case"] == case["case"] and took:
                own = f"{took[0]:.2f} times {old['reference']}"
                return f" (at commit {run['commit']}, load {run['machine']['load']}, {own})"
    return ""


def _before_after(run: dict[str, Any]) -> str:
    """Return the table of a comparison of two commits, which no later change makes stale."""
    both = [pair for pair in run["pairs"] if not pair["problem"]]
    ratios = [pair["after"] / pair["before"] for pair in both]
    lines = [
        f"**Seconds at {run['before']} and at {run['commit']}, which ran by turns**\n",
        "| benchmark | case | contender | before | after | ratio | runs |",
        f"|---|---|---|{'---:|' * 4}",
        *(
            f"| {pair['benchmark']} | {pair['case']} | {pair['contender']} "
            f"| {pair['before']:.3g} | {pair['after']:.3g} | {ratio:.2f} | {pair['runs']} |"
            for pair, ratio in zip(both, ratios, strict=True)
        ),
        f"\nThe geometric mean of the ratios is {geometric_mean(ratios):.3f}, "
        f"the largest {max(ratios):.3f}.\n",
        f"*{_machine(run)}*\n",
    ]
    return "\n".join(lines)


def _row(result: dict[str, Any], measures: list[str]) -> str:
    numbers = [f"{result['seconds']:.3g}", f"{result['ratio']:.2f}"]
    quality = [_number(result["quality"][measure]) for measure in measures]
    cells = [f"{result['contender']} {result['version']}", *numbers, *quality]
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    return f"{value:.2f}" if abs(value) >= 1000 else f"{value:.4g}"


def _machine(run: dict[str, Any]) -> str:
    facts = run["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return (
        f"Commit {run['commit']}; {facts['processor']}, {facts['cores']} cores, "
        f"{', '.join(facts['blas'])}, load {facts['load']}; "
        f"Python {facts['python']}, {versions}."
    )


if __name__ == "__main__":
    PAGE.write_text(page(read_results()), encoding="utf-8")

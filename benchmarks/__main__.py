"""Run benchmarks: ``python -m benchmarks [name ...] [--list] [--dry]``."""

import argparse
import os
from importlib import import_module
from pkgutil import iter_modules

from rich.console import Console
from rich.table import Table

from benchmarks import cases
from benchmarks.harness import Outcome, run_case
from benchmarks.store import machine, record, store

__all__ = ["main", "table"]


def main(arguments: list[str] | None = None) -> None:
    """Run the named benchmarks, or all of them; print each table and store its numbers."""
    names = sorted(module.name for module in iter_modules(cases.__path__))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of {', '.join(names)}")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--dry", action="store_true", help="do not store the results")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.names) - set(names))
    if unknown:
        parser.error(f"names must be benchmarks; found {unknown}. Choose from {names}.")
    if chosen.list:
        print("\n".join(names))
        return
    for name in chosen.names or names:
        run(name, is_stored=not chosen.dry)


def run(name: str, *, is_stored: bool) -> None:
    """Run one benchmark, print its tables, and store its numbers if asked to.

    Commands it starts find compiled modules, as where pip installed them.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    console = Console()
    facts = machine()
    outcomes = []
    module = import_module(f"benchmarks.cases.{name}")
    for case in module.CASES:
        with console.status(f"{name}: {case.name}"):
            outcomes.append(run_case(case))
        console.print(table(name, outcomes[-1]))
    if is_stored:
        found = record(outcomes, facts, runs_commands=getattr(module, "RUNS_COMMANDS", False))
        console.print(f"stored in {store(name, found).name}")


def table(name: str, outcome: Outcome) -> Table:
    """Return a table for people: seconds, ratio to the reference, quality, goals."""
    goals = [f"{g}: {'reached' if ok else 'MISSED'}" for g, ok in outcome.goals.items()]
    absent = [f"not installed, not run: {other}" for other in outcome.absent]
    shown = Table(title=f"{name}: {outcome.case}", caption="\n".join([*goals, *absent]))
    measures = list(outcome.results[0].quality)
    shown.add_column("contender", no_wrap=True)
    for column in ["seconds", f"times {outcome.reference}", *measures]:
        shown.add_column(column, justify="right")
    for r in outcome.results:
        quality = [_number(r.quality[measure]) for measure in measures]
        shown.add_row(
            f"{r.contender} {r.version}", f"{r.seconds:.4g}", f"{r.ratio:.2f}", *quality
        )
    return shown


def _number(value: float) -> str:
    return f"{value:.2f}" if abs(value) >= 1000 else f"{value:.4g}"


if __name__ == "__main__":
    main()

"""Run the fuzzer: ``python -m fuzz [--surface NAME] [--seed N] [--case N] [--store]``."""

import argparse
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from benchmarks.store import commit

from fuzz import surfaces
from fuzz.campaign import Campaign, Goal
from fuzz.outcome import FAULTS, WHOLE_JOB, Outcome, Verdict
from fuzz.store import ROOT, store
from fuzz.worker import Surface, verdicts

__all__ = ["GOALS", "main", "surface_named"]

GOALS = {
    "command_line": Goal(2_000, WHOLE_JOB),
    "estimators": Goal(24_000),
    "model_files": Goal(44_000),
    "network_files": Goal(20_000),
    "networks": Goal(10_000),
}
"""What a whole run counts: jobs on the command line, 98,000 cases of files and estimators."""


def surface_named(name: str) -> Surface:
    """Return the surface of a module in `fuzz.surfaces`."""
    found = import_module(f"fuzz.surfaces.{name}").SURFACE
    if not isinstance(found, Surface):
        raise TypeError(f"SURFACE of {name} must be a Surface; found {type(found).__name__}.")
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one case, or go on with a whole run, or store what a run has found."""
    names = sorted(module.name for module in iter_modules(surfaces.__path__))
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--surface", action="append", choices=names, help="all by default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="run this case alone and keep its files")
    parser.add_argument("--cases", type=int, help="of each surface, instead of a whole run")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after these")
    parser.add_argument("--state", type=Path, help="file from which a run goes on")
    parser.add_argument("--store", action="store_true", help="store what the run has found")
    chosen = parser.parse_args(arguments)
    wanted = [surface_named(name) for name in chosen.surface or names]
    if chosen.case is not None:
        for surface in wanted:
            _run_alone(surface, chosen.seed, chosen.case)
        return
    state = chosen.state or ROOT / "build" / "fuzz" / f"seed-{chosen.seed}.json"
    campaign = Campaign.resumed(chosen.seed, commit(), state)
    if chosen.store:
        print(f"stored in {store(campaign.plain()).name}")
        return
    goals = GOALS if chosen.cases is None else dict.fromkeys(names, Goal(chosen.cases))
    campaign.run(wanted, goals, _tell, chosen.minutes)
    _summarize(campaign)


def _run_alone(surface: Surface, seed: int, case: int) -> None:
    folder = tempfile.mkdtemp(prefix="fuzz-case-")
    prepared = surface.prepare()
    for _, verdict in verdicts(surface, prepared, seed, [case], Path(folder)):
        print(f"{surface.name} {case}: {verdict.outcome}; {verdict.kind}; {verdict.detail}")
    print(f"its files are in {folder}/{case}")


def _tell(name: str, case: int, verdict: Verdict) -> None:
    has_warned = verdict.outcome is Outcome.WORKED and verdict.detail
    if verdict.outcome in FAULTS or has_warned:
        print(f"{name} {case}: {verdict.outcome}; {verdict.kind}; {verdict.detail}", flush=True)


def _summarize(campaign: Campaign) -> None:
    for name, tally in sorted(campaign.tallies.items()):
        counts = ", ".join(f"{n} {outcome}" for outcome, n in tally.outcomes.items() if n)
        tags = ", ".join(f"{n} {tag}" for tag, n in tally.tags.items() if tag == WHOLE_JOB)
        print(f"{name}: {tally.n_cases} cases in {tally.seconds:.0f} s: {counts}; {tags}")


if __name__ == "__main__":
    main()

"""A run of many cases over all surfaces: what is done next, what is counted, what is kept."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from fuzz.outcome import FAULTS, Outcome, Verdict
from fuzz.worker import Surface, verdicts

__all__ = ["Campaign", "Goal", "Tally"]

MOST_FAULTS = 300
"""Faults that are described; the others are only counted."""


@dataclass
class Tally:
    """What came of the cases of one surface so far."""

    n_cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    kinds: dict[str, Counter[str]] = field(default_factory=dict)
    tags: Counter[str] = field(default_factory=Counter)
    faults: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, case: int, verdict: Verdict) -> None:
        """Count one case."""
        self.n_cases += 1
        self.outcomes[verdict.outcome] += 1
        self.kinds.setdefault(verdict.kind, Counter())[verdict.outcome] += 1
        self.tags.update(verdict.tags)
        if verdict.outcome in FAULTS and len(self.faults) < MOST_FAULTS:
            self.faults.append(
                {
                    "case": case,
                    "outcome": verdict.outcome,
                    "kind": verdict.kind,
                    "detail": verdict.detail,
                }
            )

    @property
    def n_faults(self) -> int:
        """Number of cases that ended as none should."""
        return sum(self.outcomes[outcome] for outcome in FAULTS)

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "cases": self.n_cases,
            "seconds": round(self.seconds, 1),
            "outcomes": {str(o): self.outcomes[o] for o in Outcome},
            "kinds": {kind: dict(counts) for kind, counts in sorted(self.kinds.items())},
            "tags": dict(self.tags),
            "faults": self.faults,
        }

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Tally":
        """Return the tally that `plain` wrote."""
        return cls(
            plain["cases"],
            Counter(plain["outcomes"]),
            {kind: Counter(counts) for kind, counts in plain["kinds"].items()},
            Counter(plain["tags"]),
            list(plain["faults"]),
            plain["seconds"],
        )


@dataclass(frozen=True)
class Goal:
    """How many cases of a surface are wanted, or how many with a tag."""

    number: int
    tag: str | None = None

    def share(self, tally: Tally) -> float:
        """Return how much of the goal is reached, from 0 on."""
        found = tally.n_cases if self.tag is None else tally.tags[self.tag]
        return found / self.number if self.number else 1.0


@dataclass
class Campaign:
    """Cases of one seed on one commit, kept in a file after every batch.

    Attributes
    ----------
    state
        File from which a run that was stopped goes on.
    """

    seed: int
    commit: str
    state: Path
    tallies: dict[str, Tally] = field(default_factory=dict)

    @classmethod
    def resumed(cls, seed: int, commit: str, state: Path) -> "Campaign":
        """Return the campaign in ``state``, or a new one if there is no such file."""
        if not state.exists():
            return cls(seed, commit, state)
        plain = json.loads(state.read_text(encoding="utf-8"))
        if (plain["seed"], plain["commit"]) != (seed, commit):
            raise ValueError(
                f"{state} must be of seed {seed} and commit {commit} to be resumed; found seed "
                f"{plain['seed']} and commit {plain['commit']}. Move the file away, or name "
                "another with --state."
            )
        tallies = {name: Tally.of(tally) for name, tally in plain["surfaces"].items()}
        return cls(seed, commit, state, tallies)

    def run(
        self,
        surfaces: Sequence[Surface],
        goals: Mapping[str, Goal],
        tell: Callable[[str, int, Verdict], None],
        minutes: float = float("inf"),
    ) -> None:
        """Run batches, always of the surface furthest from its goal, until all are met."""
        end = perf_counter() + 60 * minutes
        prepared = {surface.name: surface.prepare() for surface in surfaces}
        while perf_counter() < end:
            left = [s for s in surfaces if goals[s.name].share(self.tally(s.name)) < 1.0]
            if not left:
                return
            nearest = min(left, key=lambda s: goals[s.name].share(self.tally(s.name)))
            self._run_batch(nearest, prepared[nearest.name], goals[nearest.name], tell)
            self.keep()

    def _run_batch(
        self,
        surface: Surface,
        prepared: Any,
        goal: Goal,
        tell: Callable[[str, int, Verdict], None],
    ) -> None:
        tally, start = self.tally(surface.name), perf_counter()
        n = surface.limits.batch
        if goal.tag is None:
            n = min(n, goal.number - tally.n_cases)
        cases = range(tally.n_cases, tally.n_cases + n)
        for case, verdict in verdicts(surface, prepared, self.seed, cases):
            tally.add(case, verdict)
            tell(surface.name, case, verdict)
        tally.seconds += perf_counter() - start

    def tally(self, name: str) -> Tally:
        """Return the tally of a surface."""
        return self.tallies.setdefault(name, Tally())

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values."""
        surfaces = {name: tally.plain() for name, tally in sorted(self.tallies.items())}
        return {"commit": self.commit, "seed": self.seed, "surfaces": surfaces}

    def keep(self) -> None:
        """Write the state, all of it or nothing."""
        self.state.parent.mkdir(parents=True, exist_ok=True)
        part = self.state.with_suffix(".part")
        part.write_text(json.dumps(self.plain(), indent=1) + "\n", encoding="utf-8")
        part.replace(self.state)

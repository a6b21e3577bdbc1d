"""Run contenders alternately on the same data and keep the best time of each.

A case makes its data once. Every repeat runs all contenders one after the other, so that a
machine that slows down slows all of them; the smallest time of each is kept, because noise
only ever adds. Quality is measured on the last answer, outside the clock.
"""

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from gc import collect
from importlib import metadata
from math import isfinite
from time import perf_counter, sleep
from typing import Any

__all__ = ["Case", "Contender", "Goal", "Outcome", "Result", "run_case"]

Quality = Callable[[Any, Any], float]


PAUSE = 0.05
"""Seconds between two runs."""


@dataclass(frozen=True)
class Contender:
    """Something that answers a case.

    Attributes
    ----------
    run
        Called with the data of the case; what it returns is its answer.
    package
        Distribution that must be installed, and whose version is stored, or "python"; None
        for credo.
    share
        Part of the work of the case that one run does. Its time is divided by this, so that a
        slow contender may answer a few rows of many; its name should say so.
    """

    run: Callable[[Any], Any]
    package: str | None = None
    share: float = 1.0

    @property
    def version(self) -> str | None:
        """Installed version, or None if the package is absent."""
        if self.package == "python":
            return platform.python_version()
        try:
            return metadata.version(self.package or "credo-bayes")
        except metadata.PackageNotFoundError:
            return None


@dataclass(frozen=True)
class Goal:
    """A range that a number of one contender should lie in.

    Attributes
    ----------
    measure
        "ratio" (to the reference's time), "seconds", or the name of a quality.
    """

    contender: str
    at_least: float = float("-inf")
    at_most: float = float("inf")
    measure: str = "ratio"

    def is_reached(self, result: "Result") -> bool:
        """Say whether ``result`` lies in the range of the goal."""
        measured = {"ratio": result.ratio, "seconds": result.seconds} | result.quality
        return self.at_least <= measured[self.measure] <= self.at_most

    def __str__(self) -> str:
        bounds = [("at least", self.at_least), ("at most", self.at_most)]
        words = [f"{word} {bound:g}" for word, bound in bounds if isfinite(bound)]
        return f"{self.measure} of {self.contender} {' and '.join(words)}"


@dataclass(frozen=True)
class Case:
    """One question asked of several contenders.

    Attributes
    ----------
    name
        Says what the data are, with their size.
    data
        Makes the data; called once, outside the clock.
    contenders
        By name, in the order of the table.
    reference
        Name of the contender by whose time the others are divided.
    quality
        Numbers that say how good an answer is, from (data, answer).
    goals
        What the project promises.
    repeats
        How often each contender runs.
    """

    name: str
    data: Callable[[], Any]
    contenders: Mapping[str, Contender]
    reference: str = "credo"
    quality: Mapping[str, Quality] = field(default_factory=dict)
    goals: tuple[Goal, ...] = ()
    repeats: int = 5


@dataclass(frozen=True)
class Result:
    """What one contender achieved on one case."""

    contender: str
    version: str
    seconds: float
    ratio: float
    quality: dict[str, float]


@dataclass(frozen=True)
class Outcome:
    """Everything learned from one case.

    Attributes
    ----------
    absent
        Contenders that were not installed.
    goals
        Each goal, in words, with whether it was reached; goals of absent contenders are
        left out.
    """

    case: str
    reference: str
    results: tuple[Result, ...]
    absent: tuple[str, ...]
    goals: dict[str, bool]


def run_case(case: Case, clock: Callable[[], float] = perf_counter) -> Outcome:
    """Return the outcome of ``case``; contenders whose package is absent are only named."""
    absent = tuple(name for name, c in case.contenders.items() if c.version is None)
    present = {name: c for name, c in case.contenders.items() if name not in absent}
    if case.reference not in present:
        raise ValueError(
            f"the reference must be a contender that is installed; found '{case.reference}' "
            f"for {case.name}. Choose one of {sorted(present)}."
        )
    data = case.data()
    seconds, answers = _timed(present, data, case.repeats, clock)
    results = tuple(
        Result(
            contender=name,
            version=str(contender.version),
            seconds=seconds[name],
            ratio=seconds[name] / seconds[case.reference],
            quality={key: float(f(data, answers[name])) for key, f in case.quality.items()},
        )
        for name, contender in present.items()
    )
    found = {r.contender: r for r in results}
    goals = {
        str(g): g.is_reached(found[g.contender]) for g in case.goals if g.contender in found
    }
    return Outcome(case.name, case.reference, results, absent, goals)


def _timed(
    contenders: Mapping[str, Contender], data: Any, repeats: int, clock: Callable[[], float]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the smallest time and the last answer of each contender."""
    best = dict.fromkeys(contenders, float("inf"))
    answers: dict[str, Any] = {}
    for _ in range(repeats):
        for name, contender in contenders.items():
            answers.pop(name, None)
            collect()
            # Threads of the contender before wait for more work, and keep cores busy by it.
            sleep(PAUSE if repeats > 1 else 0.0)
            start = clock()
            answers[name] = contender.run(data)
            best[name] = min(best[name], (clock() - start) / contender.share)
    return best, answers

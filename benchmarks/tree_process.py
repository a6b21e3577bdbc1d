"""Time the contenders of one source tree, one run whenever `before_after` asks for it.

This file is run by its path, with another tree on the path of modules: harness, cases and
credo are those of that tree, whatever stands beside this file.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from gc import collect
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time
from types import ModuleType
from typing import Any, TextIO


def processor_time() -> float:
    """Return the seconds that processors have worked for this process and those it started."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


CLOCKS = {"wall": perf_counter, "processor": processor_time}

BRIEF = 0.1
"""Seconds for which a run is repeated, its least time kept; a longer one is not."""


def main(path: str, clock: str) -> None:
    """Write the contenders of each case, then the seconds of each run that is asked for."""
    # What contenders and their processes read and write must not mix with these two.
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    stage = Stage(CLOCKS[clock])
    _answer(answers, stage.contenders, Path(path))
    for line in requests:
        _answer(answers, stage.seconds, *json.loads(line))


def benchmark(path: Path) -> ModuleType:
    """Return the tree's module of this name, or the one of ``path`` if the tree has none."""
    cases = import_module("benchmarks.cases")
    cases.__path__ = [*cases.__path__, str(path.parent)]
    return import_module(f"benchmarks.cases.{path.stem}")


class Stage:
    """The cases of a benchmark, and the data of the one that runs now."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._cases: dict[str, Any] = {}
        self._ready: str | None = None
        self._data: Any = None

    def contenders(self, path: Path) -> dict[str, list[str]]:
        """Load a benchmark, and return the contenders of each case that are credo itself."""
        self._cases = {case.name: case for case in benchmark(path).CASES}
        return {
            name: [key for key, contender in case.contenders.items() if not contender.package]
            for name, case in self._cases.items()
        }

    def seconds(self, case: str, contender: str) -> float:
        """Return the time of one run, or the least of several brief ones."""
        if self._ready != case:
            self._make_data(case)
        try:
            return self._least(self._cases[case].contenders[contender])
        except StopIteration:
            # Some data serve a number of runs and are used up.
            self._make_data(case)
            return self._least(self._cases[case].contenders[contender])

    def _make_data(self, case: str) -> None:
        # Those of the case before are let go first.
        self._ready = self._data = None
        self._data = self._cases[case].data()
        self._ready = case

    def _least(self, contender: Any) -> float:
        found: list[float] = []
        while sum(found) < BRIEF:
            collect()
            start = self._clock()
            try:
                contender.run(self._data)
            except StopIteration:
                if not found:
                    raise
                break
            found.append(self._clock() - start)
        return min(found) / float(contender.share)


def _answer(answers: TextIO, work: Callable[..., Any], *arguments: Any) -> None:
    """Write what ``work`` returns as a line of JSON, or why it failed as a string."""
    try:
        found = work(*arguments)
    except Exception as error:
        # What failed commands say names folders of this machine, which nobody else has.
        is_command = isinstance(error, subprocess.CalledProcessError)
        found = type(error).__name__ + ("" if is_command else f": {error}")
    print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

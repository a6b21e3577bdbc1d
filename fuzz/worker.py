"""Cases in forked processes under limits: what ends a process ends one case, not the run.

The parent imports and compiles once, then forks for every batch. A process that hangs is ended
by a timer of its own, which counts its processor time, so that a busy machine is no hang.
"""

import faulthandler
import json
import os
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from fuzz.outcome import Outcome, Verdict

__all__ = ["Limits", "Surface", "case_random", "verdicts"]

HANG_SIGNALS = (signal.SIGPROF, signal.SIGALRM, signal.SIGXCPU)
WAITING = 20
"""Seconds of the clock that a case may take for each second of processor time it may."""


@dataclass(frozen=True)
class Limits:
    """What one case may take.

    Attributes
    ----------
    seconds
        Processor time of a case.
    n_bytes
        Address space beyond what the parent holds.
    batch
        Cases that one process runs.
    """

    seconds: float = 20.0
    n_bytes: int = 2 << 30
    batch: int = 50


@dataclass(frozen=True)
class Surface:
    """A kind of input, and what is done with it.

    Attributes
    ----------
    prepare
        Makes what all cases share, and runs what must be compiled; called once.
    run
        Runs one case from what was prepared, a source of randomness and an empty folder.
    """

    name: str
    prepare: Callable[[], Any]
    run: Callable[[Any, Random, Path], Verdict]
    limits: Limits = Limits()


def case_random(surface: str, seed: int, case: int) -> Random:
    """Return the source of randomness of one case; it depends on nothing else."""
    return Random(f"{surface} {seed} {case}")


def verdicts(
    surface: Surface,
    prepared: Any,
    seed: int,
    cases: Sequence[int],
    kept: Path | None = None,
) -> Iterator[tuple[int, Verdict]]:
    """Yield what came of each case, in order; a process that ends early is followed by another.

    Parameters
    ----------
    kept
        Folder in which the files of the cases stay; by default they are removed.
    """
    waiting = list(cases)
    while waiting:
        batch = waiting[: surface.limits.batch]
        n_told = 0
        with nullcontext(kept) if kept else tempfile.TemporaryDirectory() as folder:
            for case, verdict in _forked(surface, prepared, seed, batch, Path(folder)):
                n_told += 1
                yield case, verdict
        waiting = waiting[n_told:]


def _forked(
    surface: Surface, prepared: Any, seed: int, cases: Sequence[int], folder: Path
) -> Iterator[tuple[int, Verdict]]:
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _run_batch(surface, prepared, seed, cases, folder, writing)
    os.close(writing)
    n_told = 0
    with os.fdopen(reading, encoding="utf-8") as answers:
        for case, answer in zip(cases, answers, strict=False):
            n_told += 1
            told = json.loads(answer)
            yield case, Verdict(Outcome(told[0]), told[1], tuple(told[2]), told[3])
    _, status = os.waitpid(child, 0)
    if n_told < len(cases):
        trail = folder / "trail"
        seen = trail.read_text(encoding="utf-8", errors="replace") if trail.exists() else ""
        yield cases[n_told], _ended(status, seen)


def _ended(status: int, trail: str) -> Verdict:
    """Return what came of the case during which a process ended."""
    places = [line.strip() for line in trail.splitlines() if "File " in line]
    told = " < ".join(places[:12])[:800]
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = signal.Signals(number).name
        if number in HANG_SIGNALS:
            return Verdict(Outcome.HANG, name, detail=told)
        if number == signal.SIGKILL:
            return Verdict(Outcome.MEMORY, name, detail=told)
        return Verdict(Outcome.CRASH, name, detail=told)
    return Verdict(Outcome.CRASH, f"exit {os.WEXITSTATUS(status)}", detail=told or trail[-800:])


def _run_batch(
    surface: Surface,
    prepared: Any,
    seed: int,
    cases: Sequence[int],
    folder: Path,
    writing: int,
) -> None:
    """Run cases and tell of each; this is the child, and does not return."""
    trail = (folder / "trail").open("w", encoding="utf-8")
    try:
        _quiet()
        _warn_as_a_new_interpreter()
        _limit(surface.limits)
        faulthandler.enable(trail)
        for number in HANG_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
            faulthandler.register(number, trail, chain=True)
        with os.fdopen(writing, "w", encoding="utf-8") as answers:
            for case in cases:
                place = folder / str(case)
                place.mkdir()
                os.chdir(place)
                _start_timers(surface.limits.seconds)
                verdict = surface.run(prepared, case_random(surface.name, seed, case), place)
                _start_timers(0)
                told = (verdict.outcome, verdict.kind, verdict.tags, verdict.detail[:800])
                answers.write(json.dumps(told) + "\n")
                answers.flush()
        os._exit(0)
    except BaseException:
        traceback.print_exc(file=trail)
        trail.flush()
    finally:
        os._exit(99)


def _quiet() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    for stream in (1, 2):
        os.dup2(nothing, stream)


def _warn_as_a_new_interpreter() -> None:
    warnings.resetwarnings()
    for quiet in (
        DeprecationWarning,
        PendingDeprecationWarning,
        ImportWarning,
        ResourceWarning,
    ):
        warnings.simplefilter("ignore", quiet)


def _limit(limits: Limits) -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    held = pages * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + limits.n_bytes, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, resource.RLIM_INFINITY))


def _start_timers(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, WAITING * seconds)

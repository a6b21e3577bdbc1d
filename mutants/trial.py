"""Run a test in a process of its own, with a symbol that is right, raises or is wrong."""

import contextlib
import io
import json
import os
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from mutants.change import Change, negated, scaled, unchanged
from mutants.symbol import break_symbol

__all__ = ["MUTANTS", "Trial", "has_passed", "trial_of", "verdict"]

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 300
"""Seconds of processor time that a test may take."""

PATIENCE = 900.0
"""Seconds of wall time after which a child that says nothing is killed."""

MUTANTS: dict[str, Callable[[], Change | None]] = {
    "raises": lambda: None,
    "negated": negated,
    "scaled": scaled,
}

CONTROL = "unchanged"
"""The symbol is replaced as for a mutant, and answers rightly: the test must pass."""

CAUGHT, SURVIVED = "caught", "survived"
NOTHING = "no number to change"
ENDED = "ended the process"


@dataclass
class Trial:
    """What a row of the capability table was found to be worth."""

    symbol: str
    test: str
    passes: bool = False
    outcomes: dict[str, str] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def plain(self) -> dict[str, Any]:
        """Return JSON values."""
        return {**asdict(self), "seconds": round(self.seconds, 1)}


def trial_of(symbol: str, test: str) -> Trial:
    """Run a test with its symbol right, then with each mutant of it."""
    start = time.monotonic()
    trial = Trial(symbol, test)
    trial.passes, _ = _apart(symbol, test, CONTROL)
    for name in MUTANTS if trial.passes else ():
        passed, told = _apart(symbol, test, name)
        trial.outcomes[name] = (
            verdict(name, passed, told.get("n_changed", 0)) if told else ENDED
        )
        trial.changed = told.get("names", trial.changed)
        if name == "raises" and passed:
            break
    trial.seconds = time.monotonic() - start
    return trial


def verdict(mutant: str, passed: bool, n_changed: int) -> str:
    """Return what became of a mutant."""
    if not passed:
        return CAUGHT
    return SURVIVED if n_changed or mutant == "raises" else NOTHING


def has_passed(trial: dict[str, Any]) -> bool:
    """Say whether the test passes, and no mutant whose answers differ does."""
    return trial["passes"] and SURVIVED not in trial["outcomes"].values()


def _apart(symbol: str, test: str, mutant: str) -> tuple[bool, dict[str, Any]]:
    """Run the test in a child, and return whether it passed and what the child says."""
    ours, theirs = Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        ours.close()
        _run(symbol, test, mutant, theirs)
    theirs.close()
    if not ours.poll(PATIENCE):
        os.kill(child, signal.SIGKILL)
    with contextlib.suppress(EOFError):
        told = json.loads(ours.recv())
        os.waitpid(child, 0)
        return told["passed"], told
    os.waitpid(child, 0)
    return False, {}


def _run(symbol: str, test: str, mutant: str, pipe: Connection) -> None:
    """Run the test, say what came of it, and end the process."""
    told: dict[str, Any] = {"passed": False}
    with contextlib.suppress(BaseException):
        os.chdir(ROOT)
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        change = unchanged() if mutant == CONTROL else MUTANTS[mutant]()
        told["names"] = break_symbol(symbol, change)
        told["passed"] = _passes(test)
        told["n_changed"] = change.n_changed if change else 0
    pipe.send(json.dumps(told))
    os._exit(0)


def _passes(test: str) -> bool:
    # Shrinking a failing example would take minutes and tell nothing here.
    settings.register_profile(
        "mutants",
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = pytest.main(
            [test, *options, "--assert=plain", "--tb=no", "--hypothesis-profile=mutants"]
        )
    return code == 0

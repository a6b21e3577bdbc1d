"""Whatever a case does to its process, the run goes on and says what it was."""

import ctypes
import os
import time
from pathlib import Path

import numpy as np
import pytest
from fuzz.outcome import Fault, Outcome, Verdict, judged, require_finite
from fuzz.worker import Limits, Surface, case_random, verdicts

from credo import LinearRegression
from credo.data.error import ModelFileError


def worked():
    return Verdict(Outcome.WORKED, "plain")


def spin():
    while True:
        pass


def surface_of(*acts, **limits):
    """Return a surface whose case number i does the i-th act."""

    def run(prepared, random, folder):
        return acts[int(folder.name)]()

    return Surface("acts", lambda: None, run, Limits(**limits))


def outcomes(surface, n):
    return [verdict.outcome for _, verdict in verdicts(surface, None, 0, range(n))]


def test_a_case_that_ends_its_process_is_one_fault_and_the_others_run():
    surface = surface_of(worked, lambda: ctypes.string_at(0), worked, os.abort, worked)
    expected = [Outcome.WORKED, Outcome.CRASH, Outcome.WORKED, Outcome.CRASH, Outcome.WORKED]
    assert outcomes(surface, 5) == expected


def test_cases_that_spin_or_wait_beyond_their_limit_are_hangs(monkeypatch):
    monkeypatch.setattr("fuzz.worker.WAITING", 3)
    surface = surface_of(spin, lambda: time.sleep(60), worked, seconds=0.2)
    assert outcomes(surface, 3) == [Outcome.HANG, Outcome.HANG, Outcome.WORKED]


def test_where_a_case_hung_is_told():
    ((_, verdict),) = verdicts(surface_of(spin, seconds=0.2), None, 0, [0])
    assert "in spin" in verdict.detail


def test_a_case_that_takes_more_memory_than_allowed_is_told_apart():
    def take():
        return judged("large", lambda: (str(np.ones(1 << 28).sum()),), ())

    assert outcomes(surface_of(take, worked, n_bytes=1 << 28), 2) == [
        Outcome.MEMORY,
        Outcome.WORKED,
    ]


def test_a_case_has_a_folder_of_its_own_that_is_gone_afterwards():
    def write():
        Path("file").write_text("x", encoding="utf-8")
        return Verdict(Outcome.WORKED, str(Path("file").resolve()))

    found = [Path(v.kind) for _, v in verdicts(surface_of(write, write), None, 0, range(2))]
    assert found[0].parent.name == "0"
    assert found[1].parent.name == "1"
    assert not any(path.exists() for path in found)


def test_a_case_depends_on_its_surface_seed_and_number_alone():
    draws = {case_random(*key).random() for key in (("a", 1, 2), ("b", 1, 2), ("a", 2, 1))}
    assert len(draws) == 3
    assert case_random("a", 1, 2).random() == case_random("a", 1, 2).random()


def raised(error):
    raise error


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (lambda: ("a tag",), Outcome.WORKED),
        (lambda: raised(Fault(Outcome.WRONG, "off by one")), Outcome.WRONG),
        (lambda: require_finite([1.0, np.nan], "predict"), Outcome.SILENT),
        (lambda: raised(ValueError("not by credo")), Outcome.TRACEBACK),
        (lambda: LinearRegression().fit([[1.0]], ["x"]), Outcome.REFUSED),
        (
            lambda: LinearRegression(inference="odd").fit([[1.0], [2.0]], [1, 2]),
            Outcome.REFUSED,
        ),
        (lambda: np.zeros((2, 3)) @ np.zeros((2, 3)), Outcome.TRACEBACK),
        (lambda: raised(MemoryError()), Outcome.MEMORY),
        (lambda: {}["absent"], Outcome.TRACEBACK),
    ],
)
def test_what_a_case_raises_tells_its_outcome(work, expected):
    assert judged("kind", work, (ValueError, TypeError)).outcome is expected


def test_only_the_documented_refusals_are_clean():
    def work():
        return LinearRegression(inference="odd").fit([[1.0], [2.0]], [1, 2])

    assert judged("kind", work, (ModelFileError,)).outcome is Outcome.TRACEBACK

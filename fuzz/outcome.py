"""What can come of a case, and how it is told from what the case raised."""

import linecache
import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType

import numpy as np
import sklearn
from numpy.typing import ArrayLike

import credo

__all__ = ["FAULTS", "WHOLE_JOB", "Fault", "Outcome", "Verdict", "judged", "require_finite"]


class Outcome(StrEnum):
    """What came of a case."""

    WORKED = "worked"
    REFUSED = "refused cleanly"
    TRACEBACK = "traceback"
    CRASH = "crash"
    HANG = "hang"
    MEMORY = "out of memory"
    SILENT = "silent NaN"
    WRONG = "wrong answer"
    LEFT_OVER = "left-over file"


FAULTS = frozenset(Outcome) - {Outcome.WORKED, Outcome.REFUSED}
"""Outcomes that must not be."""

WHOLE_JOB = "whole job"
"""Tag of a case in which every command worked."""


@dataclass(frozen=True)
class Verdict:
    """What came of a case, of what kind the case was, and what was seen.

    Attributes
    ----------
    tags
        Words that are counted besides the outcome, such as "whole job".
    detail
        The refusal, the end of the traceback, or the warnings of a case that worked.
    """

    outcome: Outcome
    kind: str
    tags: tuple[str, ...] = ()
    detail: str = ""


class Fault(AssertionError):
    """Something seen in an answer that must not be there."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome = outcome


def judged(
    kind: str, work: Callable[[], tuple[str, ...]], refusals: tuple[type[Exception], ...]
) -> Verdict:
    """Return what came of ``work``, which gives the tags of its case.

    Only an exception of ``refusals`` that credo or scikit-learn raised on purpose refuses
    cleanly: one that a line of theirs ran into by accident is a traceback, whatever its type.
    """
    try:
        return Verdict(Outcome.WORKED, kind, work())
    except Fault as fault:
        return Verdict(fault.outcome, kind, detail=str(fault))
    except refusals as error:
        if _is_deliberate(error):
            return Verdict(Outcome.REFUSED, kind, detail=_line(error))
        return Verdict(Outcome.TRACEBACK, kind, detail=_end_of_traceback(error))
    except MemoryError as error:
        return Verdict(Outcome.MEMORY, kind, detail=_end_of_traceback(error))
    except Exception as error:
        return Verdict(Outcome.TRACEBACK, kind, detail=_end_of_traceback(error))


def require_finite(values: ArrayLike, what: str) -> None:
    """Raise a `Fault` unless all numbers are finite."""
    array = np.asarray(values)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        n_bad = int((~np.isfinite(array)).sum())
        raise Fault(Outcome.SILENT, f"{what} has {n_bad} of {array.size} not finite")


_HOMES = tuple(str(Path(str(package.__file__)).parent) for package in (credo, sklearn))
_RAISED = re.compile(r"\s*raise\b")


def _is_deliberate(error: BaseException) -> bool:
    place = _innermost(error.__traceback__)
    if place is None:
        return False
    file, line = place.tb_frame.f_code.co_filename, place.tb_lineno
    # scikit-learn lets NumPy say what cannot be a number, from the line that converts.
    if file.startswith(_HOMES[1]):
        return "utils" in file or bool(_RAISED.match(linecache.getline(file, line)))
    return file.startswith(_HOMES[0]) and bool(_RAISED.match(linecache.getline(file, line)))


def _innermost(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


def _end_of_traceback(error: BaseException) -> str:
    places = traceback.extract_tb(error.__traceback__)[-4:]
    told = [f"{Path(place.filename).name}:{place.lineno} {place.name}" for place in places]
    return " < ".join([_line(error), *reversed(told)])

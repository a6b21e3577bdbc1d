"""Why an iteration ended: one list for engines and for searches of a minimum."""

from enum import Enum
from typing import Self

__all__ = ["Status"]


class Status(Enum):
    """Why an iteration ended.

    Attributes
    ----------
    has_converged
        Whether it ended because it had arrived.

    Examples
    --------
    >>> Status.COMPLETE.has_converged, Status.MAX_DRAWS.has_converged
    (True, False)
    """

    has_converged: bool

    CONVERGED = "converged", True
    COMPLETE = "drew what was asked for", True
    GRADIENT_SMALL = "gradient below tolerance", True
    VALUE_STEADY = "change of the value below tolerance", True
    PARAMETERS_STEADY = "change of the parameters below tolerance", True
    ROOT_FOUND = "function zero within tolerance", True
    MAX_STEPS = "reached max_steps", False
    MAX_DRAWS = "reached the most draws", False
    WORTHLESS = "found draws of hardly any weight", False
    MAX_SECONDS = "reached max_seconds", False
    INTERRUPTED = "was interrupted", False
    STUCK = "found no better step", False
    NO_DESCENT = "no step along the direction lowers the value", False
    DIVERGED = "value is no longer finite", False

    def __new__(cls, text: str, has_converged: bool) -> Self:
        """Return a member whose value is its text."""
        member = object.__new__(cls)
        member._value_ = text
        member.has_converged = has_converged
        return member

"""Warnings that point at the line of the caller, however deep in the package they arise."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

__all__ = ["warn_user"]

PASSED_THROUGH = ("credo", "functools", "contextlib", "sklearn", "joblib")
"""Packages whose frames stand between the caller and a warning.

This one, its wrappers, and scikit-learn with its workers, which fit a model inside a pipeline.
"""


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line outside the package.

    A fixed ``stacklevel`` would be right for one way through the package only.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("answers must be exact; found an estimate.", UserWarning)
    >>> str(caught[0].message)
    'answers must be exact; found an estimate.'
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_inside(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_inside(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] in PASSED_THROUGH

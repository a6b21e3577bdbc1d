"""The warning that an answer is approximate although an exact one was tried."""

from __future__ import annotations

import warnings

from credo.inference.table_ladder import ApproximationWarning

__all__ = ["warn_approximate"]


def warn_approximate(what: str) -> None:
    """Warn that ``what`` holds, and tell how to ask for an error instead."""
    warnings.warn(
        f'{what}. Pass method="exact" where it can be chosen to get an error instead.',
        ApproximationWarning,
        stacklevel=5,
    )

"""How far a job is, for whoever waits for it."""

from collections.abc import Callable

__all__ = ["Progress", "silent", "unheard"]

Progress = Callable[[float, str], None]
"""Called with the share of the work that is done, and what comes next."""


def silent(share: float, step: str) -> None:
    """Do nothing, for work that shows no progress."""


def unheard(judged: object) -> None:
    """Do nothing with what was judged."""

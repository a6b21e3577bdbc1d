"""How far a job is, for whoever waits for it."""

from collections.abc import Callable

__all__ = ["Progress", "silent", "unheard"]

Progress = Callable[[float, str], None]
"""Told the share of the work that is done, and what comes next."""


def silent(share: float, step: str) -> None:
    """Tell nobody."""


def unheard(judged: object) -> None:
    """Tell nobody what was judged."""

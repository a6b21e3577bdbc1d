"""Progress in lines of text, for a job that nobody watches in a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from credo.study.progress import Progress

__all__ = ["spoken_progress"]

QUIET_SECONDS = 10.0
"""A job that is done by then says nothing."""

REPEAT_SECONDS = 30.0
"""How long a job may stay silent later."""


@contextmanager
def spoken_progress(
    say: Callable[[str], object],
    quiet: float = QUIET_SECONDS,
    repeat: float = REPEAT_SECONDS,
) -> Iterator[Progress]:
    """Yield what a job tells its progress to; lines are said once it takes long.

    Parameters
    ----------
    say
        Takes each line.
    quiet, repeat
        Seconds until the first line, and between later ones.

    Examples
    --------
    >>> with spoken_progress(print) as tell:
    ...     tell(0.5, "fitting")
    """
    start, step, is_done = time.monotonic(), ["starting"], Event()

    def speak() -> None:
        wait = quiet
        while not is_done.wait(wait):
            say(f"still {step[0]} after {time.monotonic() - start:.0f} s ...")
            wait = repeat

    def tell(share: float, what: str) -> None:
        step[0] = what

    speaker = Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield tell
    finally:
        is_done.set()
        speaker.join()

"""Files that a command writes must not be those it reads."""

from __future__ import annotations

from pathlib import Path

from credo.data.error import OutputError

__all__ = ["require_apart"]


def require_apart(out: Path, *taken: Path | None) -> None:
    """Raise an `OutputError` if ``out`` is one of the files that are read."""
    if out.resolve() in {path.resolve() for path in taken if path is not None}:
        raise OutputError(
            f"{out} must not be written over; found it in use as another file of this "
            "command; choose another path."
        )

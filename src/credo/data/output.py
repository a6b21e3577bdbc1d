"""Files out, whole or not at all."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from credo.data.error import OutputError

__all__ = ["atomic_file", "require_apart", "require_writable"]


def require_writable(path: str | PathLike[str]) -> None:
    """Raise an `OutputError` unless a file can be written at ``path``; call it before work.

    Examples
    --------
    >>> require_writable("no_such_folder/report.html")
    Traceback (most recent call last):
    credo.data.error.OutputError: no_such_folder/report.html must be in a folder that exists;
    found no folder 'no_such_folder'; create it, or choose another path.
    """
    path = Path(path)
    folder = path.parent
    if not folder.is_dir():
        raise OutputError(
            f"{path} must be in a folder that exists; found no folder '{folder}'; create it, "
            "or choose another path."
        )
    if path.is_dir():
        raise OutputError(f"{path} must be a file name; found a folder; add a file name to it.")
    if not os.access(folder, os.W_OK):
        raise _not_writable(path, "no permission to write in its folder")


def require_apart(out: Path, *taken: Path | None) -> None:
    """Raise an `OutputError` if ``out`` is one of the files that are read."""
    if out.resolve() in {path.resolve() for path in taken if path is not None}:
        raise OutputError(
            f"{out} must not be written over; found it in use as another file of this "
            "command; choose another path."
        )


@contextlib.contextmanager
def atomic_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a binary file that appears at ``path`` only once everything is in it.

    The content goes to a new file in the same folder, is forced to the disk, and takes the
    place of ``path`` in one step. If anything fails, ``path`` is as it was.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    path = Path(path)
    require_writable(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise _not_writable(path, error.strerror or str(error)) from error
    finally:
        part.unlink(missing_ok=True)


def _not_writable(path: Path, reason: str) -> OutputError:
    return OutputError(
        f"{path} must be writable; found that it is not ({reason}); free the place, or choose "
        "another path."
    )

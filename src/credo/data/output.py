"""Files out, whole or not at all; what is no regular file is written into, never replaced."""

import contextlib
import io
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from credo.data.error import OutputError

if sys.platform != "win32":
    import fcntl

__all__ = ["atomic_file", "require_apart", "require_writable"]

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_HAS_LOCKS = sys.platform != "win32"
_PART_END = ".credo-part"
_PART = re.compile(rf"\..+\.[0-9a-f]{{8}}{re.escape(_PART_END)}", re.DOTALL)


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
    if _is_stream(path):
        if not os.access(path, os.W_OK):
            raise _not_writable(path, "no permission to write into it")
        return
    target = _target(path)
    if not target.parent.is_dir():
        raise _not_writable(path, f"it is a link into a folder that is absent, {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise _not_writable(path, "no permission to write in its folder")


def require_apart(out: Path, *taken: Path | None) -> None:
    """Raise an `OutputError` if ``out`` is one of the files that are read."""
    if os.path.realpath(out) in {os.path.realpath(path) for path in taken if path is not None}:
        raise OutputError(
            f"{out} must not be written over; found it in use as another file of this "
            "command; choose another path."
        )


@contextlib.contextmanager
def atomic_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a binary file that appears at ``path`` only once everything is in it.

    The content goes to a new file in the same folder, is forced to the disk, and takes the
    place of ``path`` in one step, with the permissions that ``path`` had. If anything fails,
    ``path`` is as it was. A link stays one: what it points to is replaced. Into a pipe or a
    character device, such as ``/dev/null``, the content is written once it is whole.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    path = Path(path)
    require_writable(path)
    try:
        if _is_stream(path):
            content = io.BytesIO()
            yield content
            with open(os.open(path, os.O_WRONLY), "wb") as stream:
                stream.write(content.getbuffer())
        else:
            with _replacement(_target(path)) as file:
                yield file
    except OSError as error:
        raise _not_writable(path, error.strerror or str(error)) from error


@contextlib.contextmanager
def _replacement(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file beside a regular one, which takes its place at the end."""
    _remove_left_over(path.parent)
    mode = stat.S_IMODE(path.stat().st_mode) & 0o777 if path.exists() else None
    descriptor, part = _new_part(path, 0o666 if mode is None else 0o600)
    with open(descriptor, "wb") as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if mode is not None:
                part.chmod(mode)
            if not _HAS_LOCKS:
                file.close()
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)


def _new_part(path: Path, mode: int) -> tuple[int, Path]:
    """Return a new file, locked while it is open, so that no other run takes it away."""
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_PART_END}")
        descriptor = os.open(part, _NEW, mode)
        if not _is_swept(descriptor, part):
            return descriptor, part
        os.close(descriptor)


def _is_swept(descriptor: int, part: Path) -> bool:
    """Whether another run takes a new part away, or has done so; lock it if not."""
    if _HAS_LOCKS:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            # In a folder whose files cannot be locked nobody sweeps either.
            return False
    return not part.exists()


def _remove_left_over(folder: Path) -> None:
    """Delete the parts that killed runs left in a folder; a running writer's is locked."""
    if not _HAS_LOCKS or not os.access(folder, os.R_OK):
        return
    for name in os.listdir(folder):
        if _PART.fullmatch(name):
            with contextlib.suppress(OSError):
                _remove_unlocked(folder / name)


def _remove_unlocked(part: Path) -> None:
    """Delete a part; raise an `OSError` if another process has its lock."""
    descriptor = os.open(part, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()
    finally:
        os.close(descriptor)


def _is_stream(path: Path) -> bool:
    """Whether ``path`` leads to a pipe or a character device; refuse disks and sockets."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _not_writable(path, error.strerror or str(error)) from error
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise OutputError(
            f"{path} must be a file, a pipe or a character device; found a "
            f"{'disk' if stat.S_ISBLK(mode) else 'socket'}; choose another path."
        )
    return not stat.S_ISREG(mode)


def _target(path: Path) -> Path:
    """Return the file that ``path`` leads to; the path itself unless it is a link."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _not_writable(path: Path, reason: str) -> OutputError:
    return OutputError(
        f"{path} must be writable; found that it is not ({reason}); free the place, or choose "
        "another path."
    )

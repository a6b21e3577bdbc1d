"""The bytes of a file of a network, plain or compressed, and the name in what goes wrong."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from credo.data.error import DataError, NetworkFileError, OutputError
from credo.data.output import atomic_file
from credo.data.packed import UnpackedTooLarge, unpacked

__all__ = ["named_damage", "named_fault", "network_content", "text_of", "write_content"]

LARGEST_CONTENT = 1 << 28
"""Bytes that a file may unpack to; as words they take some thirty times that."""


@contextmanager
def named_damage(path: str | PathLike[str]) -> Iterator[None]:
    """Turn whatever a damaged or hostile file makes a reader raise into one exception."""
    try:
        with named_fault(path):
            yield
    except DataError:
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise NetworkFileError(
            f"{Path(path).name}: the file must hold a network that can be read; found that it "
            f"cannot ({reason}). Copy or save it again."
        ) from error


@contextmanager
def named_fault(path: str | PathLike[str]) -> Iterator[None]:
    """Name the file in every error about what it says."""
    try:
        yield
    except OutputError:
        raise
    except (DataError, ValueError, KeyError) as error:
        raise NetworkFileError(f"{Path(path).name}: {error}") from error


def network_content(path: str | PathLike[str]) -> bytes:
    """Return the content of a file, unpacked if its name ends in ``.gz``."""
    path = Path(path)
    try:
        content = path.read_bytes()
        return unpacked(content, LARGEST_CONTENT) if path.suffix.lower() == ".gz" else content
    except UnpackedTooLarge as error:
        raise NetworkFileError(
            f"the file {error}. Unpack it yourself if you trust it."
        ) from error
    except FileNotFoundError as error:
        raise NetworkFileError("the file must be there; found none. Check the path.") from error
    except IsADirectoryError as error:
        raise NetworkFileError(
            "the path must be that of a file; found a folder. Add the name of the file."
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise NetworkFileError(
            f"the file must be whole and compressed by gzip; found that it is not ({error}). "
            "If the file was cut, copy it again; if it is plain, take .gz off its name."
        ) from error
    except OSError as error:
        raise NetworkFileError(
            f"the file must be readable; found that it is not ({error.strerror}). Check its "
            "permissions."
        ) from error


def text_of(content: bytes) -> str:
    """Return the text; where it is not UTF-8, Latin-1 is what old programs wrote."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def write_content(path: str | PathLike[str], text: str) -> None:
    """Write a text, compressed if the name ends in ``.gz``; all of it or nothing."""
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        raise NetworkFileError(
            "names and states must be text that files can hold; found half a character, "
            f"{error.object[error.start]!r}. Rename it."
        ) from error
    if Path(path).suffix.lower() == ".gz":
        # Without a date, equal networks are equal bytes.
        content = gzip.compress(content, mtime=0)
    with atomic_file(path) as file:
        file.write(content)

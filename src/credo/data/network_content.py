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

__all__ = ["named_fault", "network_content", "text_of", "write_content"]

LARGEST_CONTENT = 1 << 30
"""Bytes that a file may unpack to."""


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
        if path.suffix.lower() != ".gz":
            return path.read_bytes()
        with gzip.open(path) as file:
            content = file.read(LARGEST_CONTENT + 1)
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
    if len(content) > LARGEST_CONTENT:
        raise NetworkFileError(
            f"the file must unpack to at most {LARGEST_CONTENT} bytes; found more. Unpack it "
            "yourself if you trust it."
        )
    return content


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

"""Bytes that gzip has packed, taken out up to a limit."""

import gzip
import io

from credo.data.error import DataError

__all__ = ["UnpackedTooLarge", "unpacked"]


class UnpackedTooLarge(DataError):
    """A packed file that holds more than the limit."""


def unpacked(raw: bytes, largest: int) -> bytes:
    """Return what a gzip file holds, of which no more than the limit is ever unpacked.

    Raises
    ------
    UnpackedTooLarge
        If it holds more; the message is the middle of a sentence.

    Examples
    --------
    >>> unpacked(gzip.compress(b"1,2"), 3)
    b'1,2'
    """
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise UnpackedTooLarge(f"must unpack to at most {largest:,} bytes; found more")
    return content

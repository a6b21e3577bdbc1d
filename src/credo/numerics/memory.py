"""How much memory a computation may take."""

from __future__ import annotations

import os

__all__ = ["available_bytes", "bytes_of", "bytes_text"]

UNKNOWN = 4 << 30
"""Assumed where the system does not tell."""

UNITS = {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


def available_bytes() -> int:
    """Return the memory that is free now."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return UNKNOWN


def bytes_of(size: float | str) -> float:
    """Return a size in bytes; a text such as "12GB" names its unit.

    Examples
    --------
    >>> bytes_of("1.5 GB")
    1500000000.0
    """
    if isinstance(size, int | float):
        return float(size)
    text = size.strip().upper()
    number = text.rstrip("BKMGT ")
    unit = text[len(number) :].strip() or "B"
    try:
        return float(number) * UNITS[unit]
    except (KeyError, ValueError) as error:
        raise ValueError(
            f'a size of memory must be bytes or a text such as "4GB"; found {size!r}. '
            f"Units are {', '.join(UNITS)}."
        ) from error


def bytes_text(n_bytes: float) -> str:
    """Return a size of memory in the unit in which it is easy to read.

    Examples
    --------
    >>> bytes_text(640), bytes_text(15_800), bytes_text(1.25e9)
    ('640 bytes', '15.8 kB', '1.25 GB')
    """
    size = float(n_bytes)
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if abs(size) < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.0f} PB"

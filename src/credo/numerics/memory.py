"""How much memory a computation may take."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

__all__ = ["USUAL_BYTES", "bytes_of", "bytes_text", "spare_bytes"]

USUAL_BYTES = 2 << 30
"""Memory that one answer may take where nothing else is said: the same on every machine."""

RESERVE = 1 << 26
"""Memory that is left for all else that a process does."""

UNITS = {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}

PROCESS = Path("/proc/self")
GROUPS = Path("/sys/fs/cgroup")

_ULIMITS = {"Max address space": "VmSize", "Max data size": "VmData"}
_GROUP_FILES = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def spare_bytes(process: Path = PROCESS, groups: Path = GROUPS) -> float:
    """Return the memory that this process may still take; infinite if nothing limits it.

    Limits are those of ``ulimit`` and of the control groups (versions 1 and 2) that the
    process is in, such as a container's; a system that does not tell has none.

    Parameters
    ----------
    process, groups
        Folders in which the system tells of the process and of control groups.
    """
    spares = [*_under_ulimits(process), *_in_groups(process, groups)]
    return max(min(spares, default=math.inf) - RESERVE, 0.0)


def _under_ulimits(process: Path) -> Iterator[float]:
    """Yield what each limit of the process leaves."""
    used = dict(line.partition(":")[::2] for line in _lines(process / "status"))
    for line in _lines(process / "limits"):
        for name, counter in _ULIMITS.items():
            limit = line.removeprefix(name).split()[:1] if line.startswith(name) else []
            if limit and limit[0].isdigit() and counter in used:
                yield float(limit[0]) - 1024 * float(used[counter].split()[0])


def _in_groups(process: Path, groups: Path) -> Iterator[float]:
    """Yield what each control group of the process leaves, up to the outermost."""
    for line in _lines(process / "cgroup"):
        _, kinds, place = (*line.split(":", 2), "", "")[:3]
        if kinds and "memory" not in kinds.split(","):
            continue
        root = groups / "memory" if kinds else groups
        folder = root / place.strip("/")
        for group in (folder, *folder.parents):
            yield from _left_in(group)
            if group == root:
                break


def _left_in(group: Path) -> Iterator[float]:
    for limit_file, usage_file in _GROUP_FILES:
        limit, usage = (_lines(group / name)[:1] for name in (limit_file, usage_file))
        if limit and usage and limit[0].isdigit():
            # The cache of files that are no longer in use is given back when memory is short.
            parts = dict(line.partition(" ")[::2] for line in _lines(group / "memory.stat"))
            yield float(limit[0]) - float(usage[0]) + float(parts.get("inactive_file", 0))


def _lines(path: Path) -> list[str]:
    """Return the lines of a file, none if the system has no such file."""
    try:
        return path.read_text().splitlines()
    except (OSError, ValueError):
        return []


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

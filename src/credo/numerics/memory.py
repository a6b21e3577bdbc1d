"""How much memory a computation may take, and memory that is used over and over."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from credo.numerics.array import Array

__all__ = ["USUAL_BYTES", "bytes_of", "bytes_text", "spare_bytes", "work_array"]

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


KEPT_BYTES = 1 << 26
"""Memory of work arrays that is kept for the next ones."""

SMALLEST_KEPT = 1 << 18
"""Size in bytes below which new memory is as quick."""

_free: dict[int, list[Array]] = {}


def work_array(shape: tuple[int, ...]) -> Array:
    """Return an array of numbers that are not set, in memory that was used before if it can.

    To a system, memory that was given back is new: it is filled with zeros page by page, which
    takes longer than simple sums over it. What large work arrays leave is kept for the next
    ones of the same size, up to `KEPT_BYTES`.

    Examples
    --------
    >>> work_array((2, 3)).shape
    (2, 3)
    """
    size = math.prod(shape)
    if 8 * size < SMALLEST_KEPT:
        return np.empty(shape)
    return np.asarray(_Lease(size)).reshape(shape)


class _Lease:
    """Memory that goes back to be used again when nothing refers to it any more."""

    def __init__(self, size: int) -> None:
        try:
            self._memory = _free[size].pop()
        except (KeyError, IndexError):
            self._memory = np.empty(size)

    @property
    def __array_interface__(self) -> Any:
        return self._memory.__array_interface__

    def __del__(self) -> None:
        kept = sum(8 * size * len(left) for size, left in list(_free.items()))
        if kept + self._memory.nbytes <= KEPT_BYTES:
            _free.setdefault(self._memory.size, []).append(self._memory)
        elif not _free.get(self._memory.size):
            # Sizes of the past make room for those of now.
            _free.clear()

"""Checkpoints: snapshots of a long run in files, from which a run that was killed goes on.

A file is written whole or not at all, runs no code when it is opened, and holds all that a
chain needs to go on to the same bits: its state, its trace, and its place in the stream of
random numbers. The engines of logistic regression, which end in seconds, cannot be kept: their
states hold all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from credo.data.error import ModelFileError
from credo.data.model_file.model_file import load, save
from credo.inference.engine.engine import Snapshot

__all__ = ["CheckpointFile"]


@dataclass(frozen=True)
class CheckpointFile:
    """Where a run keeps snapshots of its chains, one file for each.

    Parameters
    ----------
    path
        File of the first chain, by convention ending in ``.credo``; those of others have the
        number of the chain before the ending. Delete them to begin anew.
    seconds
        Time between snapshots of a chain; the last one is always kept.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from credo.inference import FactorProblem, TableImportance, run
    >>> free = FactorProblem((2, 3), ())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = CheckpointFile(f"{folder}/run.credo", seconds=0.0)
    ...     first, again = (
    ...         run(TableImportance(), free, np.random.default_rng(seed), checkpoint=kept)
    ...         for seed in (0, 1)
    ...     )
    >>> first.trace == again.trace
    True
    """

    path: str | PathLike[str]
    seconds: float = 30.0

    def load(self, chain: int) -> Snapshot | None:
        """Return what was kept of a chain; None if nothing was.

        Raises
        ------
        ModelFileError
            If the file holds anything but a snapshot.
        """
        place = self._place(chain)
        if not place.exists():
            return None
        try:
            found = load(place)
        except ModelFileError as error:
            raise ModelFileError(
                f"{place} must be a whole snapshot of a run; found that it cannot be read "
                f"({error}); delete it to begin anew."
            ) from error
        if not isinstance(found, Snapshot) or not _has_stream(found):
            raise ModelFileError(
                f"{place} must hold a snapshot of a run; found a {type(found).__name__}; "
                "choose another file, or delete it to begin anew."
            )
        return found

    def is_due(self, seconds: float) -> bool:
        """Return whether so much time after the last snapshot another is taken."""
        return seconds >= self.seconds

    def save(self, chain: int, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the last one.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        save(snapshot, self._place(chain))

    def _place(self, chain: int) -> Path:
        path = Path(self.path)
        return path if not chain else path.with_name(f"{path.stem}.{chain}{path.suffix}")


def _has_stream(snapshot: Snapshot) -> bool:
    """Return whether the place in the stream of random numbers can be read."""
    try:
        return snapshot.rng is not None
    except (KeyError, TypeError, ValueError):
        return False

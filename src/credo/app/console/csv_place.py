"""Where tables of answers go as CSV: a file, or standard output."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api import types

from credo.data.error import OutputError
from credo.data.output import atomic_file, require_apart, require_writable

__all__ = ["CsvPlace"]

_FORMULA = re.compile(r"[=+\-@\t\r]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class CsvPlace:
    """A file, or standard output if there is none.

    Attributes
    ----------
    path
        The file.
    quotes_formulas
        Whether to put ``'`` before names and cells of text that start with ``=``, ``+``,
        ``-``, ``@``, a tab or a carriage return, which spreadsheets take for formulas.

    Examples
    --------
    >>> frame = pd.DataFrame({"=x": ["@a", "b"], "n": [-1.5, 2.0]})
    >>> CsvPlace(quotes_formulas=True).write(frame, n_digits=3)
    '=x,n
    '@a,-1.5
    b,2
    """

    path: Path | None = None
    quotes_formulas: bool = False

    def require_free(self, *taken: Path | None) -> None:
        """Raise an `OutputError` if the file cannot be written, or is one that is read."""
        if self.path is not None:
            require_writable(self.path)
            require_apart(self.path, *taken)
        elif getattr(sys.stdout, "name", None) == os.devnull:
            raise OutputError(
                "standard output must be open to take the table; found that it is closed; name "
                "a file with `out`."
            )

    def write(self, frame: pd.DataFrame, n_digits: int) -> None:
        """Write a table; a terminal is shown the codes of control characters instead."""
        if self.quotes_formulas:
            frame = _with_quotes(frame)
        text = frame.to_csv(index=False, float_format=f"%.{n_digits}g", lineterminator="\n")
        if self.path is not None:
            with atomic_file(self.path) as file:
                file.write(text.encode(errors="backslashreplace"))
            return
        if sys.stdout.isatty():
            text = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
        sys.stdout.write(text)


def _with_quotes(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            _quoted(name): part if types.is_numeric_dtype(part.dtype) else part.map(_quoted)
            for name, part in frame.items()
        }
    )


def _quoted(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value

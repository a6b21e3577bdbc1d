"""What the ``data`` room raises: each message is one sentence for the person with the file."""

import re

__all__ = [
    "DataError",
    "ModelFileError",
    "NetworkFileError",
    "OutputError",
    "TableError",
    "shortened",
]


MOST_QUOTED = 80
"""Characters of a cell or name that a message quotes."""

# Short quotes are met as well, so that the end of one is never taken for the start of another.
_QUOTE = re.compile(r"""(?<!\w)(?:'[^'\n]*+'|"[^"\n]*+")""")


def shortened(message: str) -> str:
    """Return a message in which what is quoted has at most 80 characters.

    Examples
    --------
    >>> len(shortened(f"found the text {'9' * 40_000!r} on line 13"))
    108
    """
    return _QUOTE.sub(_cut, message)


def _cut(quote: re.Match[str]) -> str:
    text = quote[0]
    return text if len(text) <= MOST_QUOTED + 2 else f"{text[: MOST_QUOTED - 2]}...{text[-1]}"


class DataError(ValueError):
    """A file or table that cannot be used; catch this one to answer for the whole room."""


class TableError(DataError):
    """A table that breaks a rule; the message says which, what was found and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


class ModelFileError(DataError):
    """A ``.credo`` file that is damaged, hostile, or of another version."""


class NetworkFileError(DataError):
    """A file of a network that is damaged or says what no network can be; names the line."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


class OutputError(DataError):
    """A place where a file cannot be written."""

"""What the ``data`` room raises: each message is one sentence for the person with the file.

A message names an argument in backticks, as a caller in Python writes it: ``leave out `loss```,
``pass `task='regression'```. Whoever lets people write it otherwise translates these words.
"""

from credo.numerics.quotation import short_quotes

__all__ = ["DataError", "ModelFileError", "NetworkFileError", "OutputError", "TableError"]


class DataError(ValueError):
    """A file or table that cannot be used; catch this one to answer for the whole room."""

    def __init__(self, message: str) -> None:
        super().__init__(short_quotes(message))


class TableError(DataError):
    """A table that breaks a rule; the message says which, what was found and what to do."""


class ModelFileError(DataError):
    """A ``.credo`` file that is damaged, hostile, or of another version."""


class NetworkFileError(DataError):
    """A file of a network that is damaged or says what no network can be; names the line."""


class OutputError(DataError):
    """A place where a file cannot be written."""

"""What messages quote: of a long text no more than can be read at a glance."""

from __future__ import annotations

import re

__all__ = ["MOST_QUOTED", "quote", "short_quotes"]

MOST_QUOTED = 80
"""Characters of a cell or name that a message quotes."""

# Short quotes are met as well, so that the end of one is never taken for the start of another.
_QUOTE = re.compile(r"""(?<!\w)(?:'[^'\n]*+'|"[^"\n]*+")""")


def quote(value: object) -> str:
    """Return a value as it is written in code, each text in it of at most 80 characters.

    Examples
    --------
    >>> quote(["red", "green"])
    "['red', 'green']"
    >>> len(quote("9" * 40_000))
    82
    """
    return short_quotes(repr(value))


def short_quotes(message: str) -> str:
    """Return a message in which what is quoted has at most 80 characters.

    Examples
    --------
    >>> len(short_quotes(f"found the text {'9' * 40_000!r} on line 13"))
    108
    """
    return _QUOTE.sub(_cut, message)


def _cut(text: re.Match[str]) -> str:
    found = text[0]
    return (
        found if len(found) <= MOST_QUOTED + 2 else f"{found[: MOST_QUOTED - 2]}...{found[-1]}"
    )

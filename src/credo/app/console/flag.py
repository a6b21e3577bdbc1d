"""Arguments in sentences, as options of the command line.

The rooms below name arguments in backticks, as Python has them. This is the one place where
they become what is typed in a shell.
"""

from __future__ import annotations

import re
import shlex

__all__ = ["with_flags"]

_QUOTED = r"""'(?:[^'\\\n]|\\.)*+'|"(?:[^"\\\n]|\\.)*+\""""
# What is quoted is met as well: backticks in the name of a column are no argument.
_ARGUMENT = re.compile(rf"(?<!\w)(?:{_QUOTED})|`(?P<name>[a-z_]+)(?:=(?P<value>{_QUOTED}))?`")


def with_flags(sentence: str) -> str:
    """Return a sentence in which each argument is an option of the command line.

    Examples
    --------
    >>> with_flags("leave out `loss`, or pass a smaller `test_share`")
    'leave out --loss, or pass a smaller --test-share'
    >>> with_flags("found '`loss`'; pass `target='the age'`")
    "found '`loss`'; pass --target 'the age'"
    """
    return _ARGUMENT.sub(_flag, sentence)


def _flag(found: re.Match[str]) -> str:
    if found["name"] is None:
        return found[0]
    flag = f"--{found['name'].replace('_', '-')}"
    return f"{flag} {shlex.quote(found['value'][1:-1])}" if found["value"] else flag

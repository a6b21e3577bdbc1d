"""Commands in which one option may be followed by several values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from typer.core import TyperCommand

__all__ = ["ManyValues", "spread_values"]

ASSIGNMENTS = ("--given", "--do")
NAMES = ("--of",)


class ManyValues(TyperCommand):
    """A command that takes ``--given a=1 b=2`` as ``--given a=1 --given b=2``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments after every value has its own option."""
        return list(super().parse_args(ctx, spread_values(args)))


def spread_values(
    arguments: Sequence[str],
    assignments: Collection[str] = ASSIGNMENTS,
    names: Collection[str] = NAMES,
) -> list[str]:
    """Return arguments in which each value of an option has the option before it.

    Words with an equals sign follow an option of ``assignments``. Plain words follow an option
    of ``names``, if an argument came before it: ``--of lung asia.bif`` asks for one variable.

    Examples
    --------
    >>> spread_values(["asia.bif", "--given", "smoke=yes", "dysp=yes", "--of", "lung", "tub"])
    ['asia.bif', '--given', 'smoke=yes', '--given', 'dysp=yes', '--of', 'lung', '--of', 'tub']
    >>> spread_values(["--given", "smoke=yes", "asia.bif"])
    ['--given', 'smoke=yes', 'asia.bif']
    >>> spread_values(["--given=smoke=yes", "dysp=yes"])
    ['--given=smoke=yes', '--given', 'dysp=yes']
    """
    spread: list[str] = []
    option, n_values, has_argument = "", 0, False
    for word in arguments:
        if word.startswith("--"):
            option, sign, _ = word.partition("=")
            n_values = len(sign)
            spread.append(word)
            continue
        is_more = n_values > 0 and (
            (option in assignments and "=" in word) or (option in names and has_argument)
        )
        spread += [option, word] if is_more else [word]
        has_argument |= not is_more and (not option or n_values > 0)
        n_values += 1
    return spread

"""How an answer was found: exactly or not, by which method, and how far off it may be."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from credo.numerics.warning import warn_user

__all__ = ["Account", "ApproximationWarning", "warn_approximate", "worst"]


class ApproximationWarning(UserWarning):
    """An answer is approximate because an exact one does not fit."""


@dataclass(frozen=True)
class Account:
    """How an answer was found.

    Attributes
    ----------
    method
        Name of the method.
    is_exact
        Whether the answer is exact up to rounding.
    error
        Size of the error in the sense of ``error_kind``; zero if exact.
    error_kind
        What ``error`` measures.
    effective_draws
        Independent draws that random ones are worth, the fewest of any row; None if nothing
        was drawn.

    Examples
    --------
    >>> Account("mean field", False, 0.1, "largest change of a marginal").attrs()["error"]
    0.1
    """

    method: str = "exact"
    is_exact: bool = True
    error: float = 0.0
    error_kind: str = "exact"
    effective_draws: float | None = None

    def attrs(self) -> dict[Hashable, Any]:
        """Return the account as attributes of a labelled answer, without what is None."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def worse(self, other: Account) -> Account:
        """Return the account of two answers taken together."""
        mine, theirs = (not self.is_exact, self.error), (not other.is_exact, other.error)
        return other if theirs > mine else self


def worst(accounts: Sequence[Account]) -> Account:
    """Return the account of several answers taken together; of none, the exact one."""
    if not accounts:
        return Account()
    found = accounts[0]
    for account in accounts[1:]:
        found = found.worse(account)
    return found


def warn_approximate(what: str) -> None:
    """Warn that ``what`` holds, and tell how to ask for an error instead."""
    warn_user(
        f'{what}. Pass method="exact" where it can be chosen to get an error instead.',
        ApproximationWarning,
    )

"""Gaps in the columns of a table, and what was done about them, in sentences."""

from collections.abc import Sequence
from typing import NamedTuple

from credo.data.column_name import quoted

__all__ = ["Gap", "gap_note"]


class Gap(NamedTuple):
    """Missing values of a column.

    Attributes
    ----------
    name, n
        The column, and how many of its values are missing.
    alone, together
        What was done, said of this column and of several; those whose gaps were treated
        alike have the same words.
    """

    name: str
    n: int
    alone: str
    together: str


def gap_note(gaps: Sequence[Gap]) -> str:
    """Return one sentence on gaps that were treated alike.

    Examples
    --------
    >>> dose = Gap("dose", 1, "filled with 3", "filled with the means")
    >>> gap_note([dose])
    "1 missing value of 'dose' was filled with 3."
    >>> gap_note([dose, Gap("age", 2, "filled with 40", "filled with the means")])
    "3 missing values in 2 columns ('dose', 'age') were filled with the means."
    """
    n = sum(gap.n for gap in gaps)
    if len(gaps) == 1:
        what = "1 missing value" if n == 1 else f"{n:,} missing values"
        return f"{what} of {gaps[0].name!r} {'was' if n == 1 else 'were'} {gaps[0].alone}."
    names = quoted(gap.name for gap in gaps)
    return f"{n:,} missing values in {len(gaps)} columns ({names}) were {gaps[0].together}."

"""Gaps in the columns of a table: what they mean, and what was done about them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.data.table.column_name import quoted
from credo.families.categorical import CategoricalStatistics, DirichletCategorical
from credo.families.normal import NormalInverseGamma, NormalStatistics

__all__ = ["Gap", "gap_evidence", "gap_note"]


class Gap(NamedTuple):
    """Missing values of a column.

    Attributes
    ----------
    name, n
        The column, and how many of its values are missing.
    fate
        What was done about them.
    """

    name: str
    n: int
    fate: str


def gap_note(gaps: Sequence[Gap], where: str = "") -> str:
    """Return one sentence on gaps that were treated alike.

    Parameters
    ----------
    where
        Which rows have them, after a blank; empty if all that there are.

    Examples
    --------
    >>> dose = Gap("dose", 1, "averaged over")
    >>> gap_note([dose])
    "1 missing value of 'dose' was averaged over."
    >>> gap_note([dose, Gap("age", 2, "averaged over")])
    "3 missing values in 2 columns ('dose', 'age') were averaged over."
    >>> gap_note([dose], " in the training rows")
    "1 missing value of 'dose' in the training rows was averaged over."
    """
    n = sum(gap.n for gap in gaps)
    if len(gaps) == 1:
        what = "1 missing value" if n == 1 else f"{n:,} missing values"
        verb = "was" if n == 1 else "were"
        return f"{what} of {gaps[0].name!r}{where} {verb} {gaps[0].fate}."
    names = quoted(gap.name for gap in gaps)
    what = f"{n:,} missing values in {len(gaps)} columns ({names}){where}"
    return f"{what} were {gaps[0].fate}."


def gap_evidence(is_missing: NDArray[np.bool_], y: NDArray[Any]) -> float:
    """Return the log evidence that outcomes are others where a value is missing.

    Outcomes of rows with and without the value in two distributions, above all in one: normal
    ones of numbers, frequencies of classes.

    Examples
    --------
    >>> y = np.array(["a", "b"] * 20)
    >>> gap_evidence(y == "b", y) > 5, gap_evidence(np.arange(40) < 20, y) < 0
    (True, True)
    """
    parts = (is_missing, ~is_missing)
    if np.issubdtype(y.dtype, np.number):
        numbers = [NormalStatistics.of(y[part, None]) for part in (slice(None), *parts)]
        belief = NormalInverseGamma.weak(numbers[0])
        whole, apart, other = (float(belief.log_evidence(part).sum()) for part in numbers)
    else:
        labels, codes = np.unique(y, return_inverse=True)
        counts = [
            CategoricalStatistics(
                np.bincount(codes[part], minlength=len(labels)).astype(np.float64)
            )
            for part in (slice(None), *parts)
        ]
        shares = DirichletCategorical(np.ones(len(labels)))
        whole, apart, other = (float(shares.log_evidence(part)) for part in counts)
    return apart + other - whole

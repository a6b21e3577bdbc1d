"""Laws of additive statistics: they pool, forget and weigh rows as counting would."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from credo.evaluation.laws.broken import NotApplicable, expect, expect_close, run
from credo.numerics.array import Array, as_float

__all__ = ["STATISTICS_LAWS", "Summary", "check_statistics", "same"]


def check_statistics(
    statistics: Any, rows: ArrayLike, settings: Mapping[str, Any] | None = None
) -> list[str]:
    """Check the laws of additive statistics alone; return the names of the laws that were run.

    Parameters
    ----------
    statistics
        The class whose ``of(rows, weight)`` summarizes rows; ``by_group`` is checked if it
        is there.
    rows
        At least six rows of data from the support of the family, none missing.
    settings
        Further arguments of ``of`` and ``by_group``, such as ``n_states``.

    Raises
    ------
    LawBroken
        With the law, what was expected and what was found.

    Examples
    --------
    >>> from credo.families import NormalStatistics
    >>> len(check_statistics(NormalStatistics, np.arange(14.0).reshape(7, 2)))
    10
    """
    return run(STATISTICS_LAWS, Summary(statistics, as_float(rows), settings or {}))


@dataclass(frozen=True)
class Summary:
    """Statistics and the rows to try them on."""

    statistics: Any
    rows: Array
    settings: Mapping[str, Any]

    @cached_property
    def weight(self) -> Array:
        """Uneven weights, one per row."""
        return as_float(0.25 + (np.arange(len(self.rows)) * 0.618) % 1.0)

    def of(self, rows: Array, weight: ArrayLike = 1.0) -> Any:
        """Return the statistics of rows."""
        return self.statistics.of(rows, weight, **self.settings)

    @cached_property
    def parts(self) -> tuple[Any, Any]:
        """Statistics of the first third and of the rest, with uneven weights."""
        cut = len(self.rows) // 3
        first = self.of(self.rows[:cut], self.weight[:cut])
        return first, self.of(self.rows[cut:], self.weight[cut:])

    @cached_property
    def total(self) -> Any:
        """Statistics of all rows, with uneven weights."""
        return self.of(self.rows, self.weight)


def same(law: str, found: Any, expected: Any, atol: float = 1e-9) -> None:
    """Break the law unless two values of one type have equal fields."""
    for part in fields(expected):
        one, two = getattr(found, part.name), getattr(expected, part.name)
        where = f"{law} ({type(expected).__name__}.{part.name})"
        if isinstance(two, tuple) and any(map(is_dataclass, two)):
            expect(where, len(one) == len(two), f"{len(two)} parts", len(one))
            for first, second in zip(one, two, strict=True):
                same(law, first, second, atol)
            continue
        if isinstance(two, tuple):
            expect(where, one == two, str(two), one)
            continue
        if is_dataclass(two):
            expect(where, type(one) is type(two), type(two).__name__, type(one).__name__)
            same(law, one, two, atol)
            continue
        # A mean of values that cancel is as exact as the values, not as itself.
        size = float(np.abs(two).max(initial=0.0))
        expect_close(where, one, two, rtol=1e-7, atol=atol * (1.0 + size))


def nothing_is_the_identity(case: Summary) -> None:
    """Check that adding no rows changes nothing."""
    law = "statistics of no rows change nothing"
    nothing = case.of(case.rows[:0])
    same(law, nothing + case.total, case.total)
    same(law, case.total + nothing, case.total)


def addition_pools(case: Summary) -> None:
    """Statistics of pooled rows are the sum of statistics."""
    first, second = case.parts
    same("statistics of pooled rows are the sum of statistics", first + second, case.total)


def addition_commutes(case: Summary) -> None:
    """Check that ``a + b = b + a``."""
    first, second = case.parts
    same("a + b = b + a", first + second, second + first)


def row_order_is_irrelevant(case: Summary) -> None:
    """Rows are exchangeable."""
    backward = case.of(case.rows[::-1], case.weight[::-1])
    same("the order of rows is irrelevant", backward, case.total)


def subtraction_forgets(case: Summary) -> None:
    """Check that ``a + b - b = a``."""
    first, second = case.parts
    same("a + b - b = a", first + second - second, first, atol=1e-8)
    same("a - a + b = b", first - first + second, second)


def weight_two_is_the_row_twice(case: Summary) -> None:
    """Check that a weight counts copies of a row."""
    twice = case.of(np.concatenate([case.rows, case.rows]))
    same("a weight of two is the row twice", case.of(case.rows, 2.0), twice)


def weight_zero_is_absent(case: Summary) -> None:
    """Check that a row without weight was not seen."""
    weight = (np.arange(len(case.rows)) % 2).astype(np.float64)
    same("a row of weight zero is absent", case.of(case.rows, weight), case.of(case.rows[1::2]))


def missing_is_absent(case: Summary) -> None:
    """Check that a NaN carries no weight, and tells nothing about other features."""
    law = "a missing value is an absent value"
    rows = case.rows.copy()
    rows[::2, 0] = np.nan
    try:
        found = case.of(rows, case.weight)
    except ValueError as refusal:
        raise NotApplicable from refusal
    if not getattr(found, "batch_shape", ()):
        # Features that are summarized together have no statistics of their own to compare.
        raise NotApplicable
    kept = ~np.isnan(rows[:, 0])
    same(law, found[0], case.of(rows[kept][:, [0]], case.weight[kept])[0])
    for j in range(1, rows.shape[1]):
        same(law, found[j], case.of(rows[:, [j]], case.weight)[0])


def groups_are_separate(case: Summary) -> None:
    """``by_group`` equals one call per group, with and without rows in it."""
    if not hasattr(case.statistics, "by_group"):
        raise NotApplicable
    label = np.arange(len(case.rows)) % 3
    label[label == 1] = 3
    grouped = case.statistics.by_group(case.rows, label, 4, case.weight, **case.settings)
    for group in range(4):
        alone = case.of(case.rows[label == group], case.weight[label == group])
        # Few rows may be kept in another form than many; with all rows added, forms agree.
        law = "by_group equals one summary per group"
        same(law, grouped[group] + case.total, alone + case.total)
    plain = case.statistics.by_group(case.rows, label, 4, **case.settings)
    law = "without weights every row counts once, in groups as well"
    same(law, plain[0] + case.total, case.of(case.rows[label == 0]) + case.total)
    if hasattr(grouped, "pooled"):
        same("groups pool to the whole", grouped.pooled(), case.total)


def shares_are_weights(case: Summary) -> None:
    """``by_share`` equals one summary per component; whole shares are groups."""
    if not hasattr(case.statistics, "by_share"):
        raise NotApplicable
    share = np.stack([case.weight, 2.0 - case.weight, 0.0 * case.weight], axis=1)
    shared = case.statistics.by_share(case.rows, share, **case.settings)
    law = "by_share equals one summary per component"
    for component in range(3):
        alone = case.of(case.rows, share[:, component])
        same(law, shared[component] + case.total, alone + case.total)
    label = np.arange(len(case.rows)) % 3
    whole = np.where(label[:, None] == np.arange(3), case.weight[:, None], 0.0)
    shared = case.statistics.by_share(case.rows, whole, **case.settings)
    for component in range(3):
        alone = case.of(case.rows[label == component], case.weight[label == component])
        law = "by_share of whole rows equals by_group"
        same(law, shared[component] + case.total, alone + case.total)


STATISTICS_LAWS: tuple[Callable[[Summary], None], ...] = (
    nothing_is_the_identity,
    addition_pools,
    addition_commutes,
    row_order_is_irrelevant,
    subtraction_forgets,
    weight_two_is_the_row_twice,
    weight_zero_is_absent,
    missing_is_absent,
    groups_are_separate,
    shares_are_weights,
)

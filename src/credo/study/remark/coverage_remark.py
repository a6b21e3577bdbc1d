"""Sentences on the intervals: how many test rows they held, and where they hold too few."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from credo.data.table.column_name import quoted
from credo.distributions.predictive import Predictive
from credo.study.remark.remark import Finding
from credo.study.result.chance import chance_range, verdict
from credo.study.result.held_out import HeldOut
from credo.study.result.result import JudgedRegression
from credo.study.result.wording import count, percent
from credo.validation.scores import is_covered

__all__ = ["FEWEST_FOR_SHARES", "FEW_TEST_ROWS", "coverage_findings"]

FEW_TEST_ROWS = 30
"""With fewer test rows nearly any share of hits may be chance."""

FEWEST_FOR_SHARES = 10
"""With fewer, one row changes a share of them by more than a tenth: none is shown large."""

CLOSE = 0.8
"""A count of hits is close to the promise inside this central part of what chance gives."""

MIDDLE = 0.5


def coverage_findings(result: JudgedRegression) -> Iterator[Finding]:
    """Yield what the test rows say of the intervals, as a whole and in parts."""
    held_out, level = result.held_out, result.settings.coverage
    is_hit = is_covered(held_out.y, held_out.predictive, level)
    yield _whole(is_hit, level)
    if not verdict(is_hit, level):
        yield from _shape(held_out)
    yield from _ends(held_out, is_hit, level)
    if held_out.has_gap.any():
        yield _with_gaps(held_out, is_hit, level)


def _whole(is_hit: NDArray[np.bool_], level: float) -> Finding:
    n_rows, n_hits = len(is_hit), int(is_hit.sum())
    said = f"{percent(level)} intervals held {_share(is_hit)} test rows"
    wrong = verdict(is_hit, level)
    if wrong:
        return Finding("caution", f"Intervals are too {wrong}: {said}, unlikely by chance.")
    if n_rows < FEW_TEST_ROWS:
        return Finding("fact", f"{said}, too few rows to judge the intervals by.")
    low, high = chance_range(n_rows, level)
    least, most = chance_range(n_rows, level, CLOSE)
    allowed = f"chance allows {low:,} to {high:,}"
    if least <= n_hits <= most:
        return Finding("good", f"{said}, close to what they promise ({allowed}).")
    return Finding("fact", f"{said}, which does not contradict them ({allowed}).")


def _shape(held_out: HeldOut[Predictive]) -> Iterator[Finding]:
    middle = is_covered(held_out.y, held_out.predictive, MIDDLE)
    wrong = verdict(middle, MIDDLE)
    if wrong:
        size = "smaller" if wrong == "wide" else "larger"
        yield Finding(
            "caution",
            "Errors are not shaped like the normal noise that the candidates assume: "
            f"{percent(middle.mean())} of the test rows are in their {percent(MIDDLE)} "
            f"interval, so that most errors are {size} than the intervals suggest.",
        )


def _ends(
    held_out: HeldOut[Predictive], is_hit: NDArray[np.bool_], level: float
) -> Iterator[Finding]:
    is_high = held_out.predictive.mean() > np.median(held_out.predictive.mean())
    low, high = (verdict(is_hit[rows], level) for rows in (~is_high, is_high))
    if low != high:
        ends = [
            f"too {wrong} where predictions are {where}"
            for wrong, where in ((low, "low"), (high, "high"))
            if wrong
        ]
        yield Finding(
            "caution",
            f"The noise is not the same everywhere, as the candidates assume: intervals are "
            f"{' and '.join(ends)}.",
        )


def _with_gaps(
    held_out: HeldOut[Predictive], is_hit: NDArray[np.bool_], level: float
) -> Finding:
    """Say apart what the intervals held where inputs were known and where they were not."""
    gappy, known = is_hit[held_out.has_gap], is_hit[~held_out.has_gap]
    others = f", and {_share(known)} others" if len(known) else ""
    said = (
        f"{percent(level)} intervals held {_share(gappy)} test rows with gaps "
        f"({quoted(held_out.gap_columns)}){others}"
    )
    wrong = verdict(gappy, level)
    if wrong and wrong != verdict(known, level):
        return Finding(
            "caution", f"Where inputs are missing intervals are too {wrong}: {said}."
        )
    if len(gappy) < FEW_TEST_ROWS:
        return Finding(
            "fact",
            f"Intervals include not knowing a missing input; {count(len(gappy), 'test row')} "
            f"with gaps cannot tell how well: {said}.",
        )
    return Finding("fact", f"Intervals include not knowing a missing input: {said}.")


def _share(is_hit: NDArray[np.bool_]) -> str:
    return f"{int(is_hit.sum()):,} of {len(is_hit):,} ({percent(is_hit.mean())})"

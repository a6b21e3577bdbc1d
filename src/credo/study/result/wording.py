"""Numbers as people read them in a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from credo.plots.wording import probability
from credo.study.candidates.slate import AVERAGE
from credo.study.counting import count
from credo.study.result.table_model import CandidateScore, ClassScore

__all__ = [
    "class_score_cells",
    "count",
    "decimals",
    "listed",
    "number",
    "percent",
    "plus_minus",
    "score_cells",
    "spread",
]


def number(value: float, digits: int = 3) -> str:
    """Return ``value`` with ``digits`` significant digits and no needless exponent.

    Examples
    --------
    >>> number(16.7189), number(10234.6), number(0.000123456), number(0.0)
    ('16.7', '10,235', '0.000123', '0')
    """
    if not math.isfinite(value):
        return str(value)
    size = math.floor(math.log10(abs(value))) if value else 0
    if -5 < size < digits:
        text = f"{value:.{digits - 1 - size}f}"
        return (
            text.rstrip("0").rstrip(".") if size < digits - 1 and value == int(value) else text
        )
    return f"{value:,.0f}" if 0 <= size < 9 else f"{value:.{digits - 1}e}"


def percent(share: float) -> str:
    """Return a share in percent, nearly all or nothing not rounded to it; NaN is a dash.

    Examples
    --------
    >>> percent(0.914), percent(0.99996), percent(1e-5), percent(0.0)
    ('91 %', 'over 99 %', 'under 1 %', '0 %')
    """
    if math.isnan(share):
        return "-"
    if 0.995 <= share < 1:
        return "over 99 %"
    if 0 < share < 0.005:
        return "under 1 %"
    return f"{100 * share:.0f} %"


def decimals(value: float, digits: int) -> str:
    """Return a value to ``digits`` decimals; what rounds to zero has no sign.

    Examples
    --------
    >>> decimals(-0.0048, 3), decimals(-0.0048, 2)
    ('-0.005', '0.00')
    """
    return f"{value:z.{digits}f}"


def plus_minus(value: float, error: float, digits: int = 2) -> str:
    """Return a value with its standard error, both to the same decimals; no number is a dash.

    Examples
    --------
    >>> plus_minus(-3.0512, 0.0432), plus_minus(float("-inf"), float("nan"))
    ('-3.05 ± 0.04', '-')
    """
    if not math.isfinite(value):
        return "-"
    if abs(value) >= 1000 or math.isnan(error):
        return number(value)
    return f"{decimals(value, digits)} ± {decimals(error, digits)}"


def listed(parts: Sequence[str]) -> str:
    """Return parts as an enumeration.

    Examples
    --------
    >>> listed(["age", "dose", "sex"]), listed(["age"])
    ('age, dose and sex', 'age')
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def spread(value: float, low: float, high: float, is_share: bool = False) -> str:
    """Return a value with the ends of its interval; NaN is a dash.

    Examples
    --------
    >>> spread(0.8123, 0.741, 0.867), spread(0.123, 0.08, 0.172, is_share=True)
    ('0.81 (0.74 to 0.87)', '12.3 % (8 to 17)')
    """
    if math.isnan(value):
        return "-"
    if is_share:
        return f"{100 * value:.1f} % ({100 * low:.0f} to {100 * high:.0f})"
    return f"{decimals(value, 2)} ({decimals(low, 2)} to {decimals(high, 2)})"


def class_score_cells(score: ClassScore, whole: str, digits: int = 3) -> tuple[str, ...]:
    """Return a row of the table: name, weight, log scores, error and Matthews' correlation.

    Parameters
    ----------
    whole
        Name of the mixture of all, which has no weight.
    digits
        Decimals of the log scores.
    """
    return (
        score.name,
        "" if score.name == whole else probability(score.weight),
        plus_minus(score.cv_log_score, score.cv_log_score_error, digits),
        plus_minus(score.log_score, score.log_score_error, digits),
        spread(score.error_rate, score.error_low, score.error_high, is_share=True),
        spread(score.mcc, score.mcc_low, score.mcc_high),
    )


def _evidence(value: float) -> str:
    return "none" if np.isnan(value) else f"{value:,.{int(abs(value) < 10_000)}f}"


def score_cells(score: CandidateScore) -> tuple[str, ...]:
    """Return a row of the table: name, evidence, probability, weight and scores."""
    is_average = score.name == AVERAGE
    return (
        score.name,
        _evidence(score.log_evidence),
        "" if is_average else probability(score.probability),
        "" if is_average else probability(score.cv_weight),
        plus_minus(score.cv_log_score, score.cv_log_score_error),
        plus_minus(score.log_score, score.log_score_error),
        number(score.rmse),
        percent(score.coverage).replace("over ", ">").replace("under ", "<"),
    )

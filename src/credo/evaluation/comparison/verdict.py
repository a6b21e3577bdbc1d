"""What may be said of two models: better, practically equal, or not distinguishable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.numerics.array import Array, as_float

__all__ = ["Contrast", "Kind", "Verdict", "holm", "judge", "percent", "rounded_count"]

Kind = Literal["better", "practically equal", "not distinguishable"]

# Beyond this many times the rows at hand, a number of rows is no advice any more.
HOPELESS = 1000.0

FEWEST_FOLDS = 5
"""With fewer, the spread of a difference is too little known to reckon rows from it."""

TELL_APART = "to tell them apart"
CALL_EQUAL = "to call them practically equal"


def holm(p_values: ArrayLike) -> Array:
    """Return p-values adjusted so that one false claim among all has the stated chance.

    The smallest is multiplied by the number of tests, the next by one less, and so on, in
    rising order [holm1979]_.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    values = as_float(p_values)
    order = np.argsort(values, kind="stable")
    adjusted = np.empty_like(values)
    steps = np.arange(len(values), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps * values[order]), 1.0)
    return adjusted


@dataclass(frozen=True)
class Contrast:
    """A difference of two models in one score, before anything is said about it.

    Attributes
    ----------
    first, second
        Names of the models.
    estimate
        Score of the first minus score of the second, higher being better.
    scale, df
        Spread of what is believed of the difference: Student-t around the estimate; normal
        for infinite ``df``.
    p_value
        Two-sided, that there is no difference.
    rope
        Difference that does not matter in practice.
    """

    first: str
    second: str
    estimate: float
    scale: float
    df: float
    p_value: float
    rope: float

    def leading(self) -> Contrast:
        """Return the same with the better of the two as the first."""
        if self.estimate >= 0:
            return self
        return Contrast(
            self.second,
            self.first,
            -self.estimate,
            self.scale,
            self.df,
            self.p_value,
            self.rope,
        )

    def cdf(self, x: float) -> float:
        """Return the probability of a difference not above ``x``."""
        if self.scale == 0:
            return float(x >= self.estimate)
        return float(special.stdtr(self._df, (x - self.estimate) / self.scale))

    def reach(self, coverage: float) -> float:
        """Return the half-width of the central interval."""
        return float(self.scale * special.stdtrit(self._df, 0.5 + 0.5 * coverage))

    @property
    def equal_probability(self) -> float:
        """Probability that the difference does not matter."""
        if self.scale == 0:
            return float(abs(self.estimate) <= self.rope)
        return self.cdf(self.rope) - self.cdf(-self.rope)

    @property
    def _df(self) -> float:
        # Student's t with so many degrees of freedom is the normal to all digits shown.
        return min(self.df, 1e10)


@dataclass(frozen=True)
class Verdict:
    """What may be said of two models by one score.

    Attributes
    ----------
    first, second
        Names; the first has the better score, whether or not that means anything.
    by
        The score: "log_score", "accuracy", "rmse", "mae" or "evidence".
    kind
        "better", "practically equal" or "not distinguishable".
    probability
        That the first is better, after allowing for the number of pairs.
    equal_probability
        That the two differ by no more than what matters, for this pair alone; NaN by
        evidence.
    difference, low, high
        How much better, and its interval (for this pair alone); by evidence the difference
        of log evidences, without interval.
    n_rows, needed_rows
        Rows at hand, and about how many would bring a verdict if the difference seen is the
        true one; NaN where there is a verdict, or fewer than `FEWEST_FOLDS` folds to tell its
        spread by, infinite where there would be none.
    sentence
        All this in words.
    """

    first: str
    second: str
    by: str
    kind: Kind
    probability: float
    equal_probability: float
    difference: float
    low: float
    high: float
    n_rows: int
    needed_rows: float
    sentence: str

    def __str__(self) -> str:
        """Return the verdict in words."""
        return self.sentence


def judge(
    contrasts: Sequence[Contrast], by: str, n_rows: int, level: float = 0.95
) -> tuple[Verdict, ...]:
    """Return one verdict for each pair, honest about how many pairs were looked at.

    "Better" is said if the two-sided p-value, adjusted by `holm`, is at most ``1 - level``: if
    all models were equal, it would be said of any pair in at most that share of data sets.
    "Practically equal" is said if the difference is negligible with probability ``level``, of
    each pair by itself.

    Examples
    --------
    >>> pair = Contrast("A", "B", estimate=0.02, scale=0.02, df=9.0, p_value=0.34, rope=0.01)
    >>> (verdict,) = judge([pair], "log_score", n_rows=300)
    >>> verdict.kind, verdict.sentence.split("; ")[1]
    ('not distinguishable', 'about 1,600 would be needed to tell them apart')
    """
    adjusted = holm([c.p_value for c in contrasts])
    return tuple(
        _verdict(contrast.leading(), by, float(p), len(contrasts), n_rows, level)
        for contrast, p in zip(contrasts, adjusted, strict=True)
    )


def percent(probability: float) -> str:
    """Return a probability in percent, never rounded to certainty.

    Examples
    --------
    >>> percent(0.97), percent(0.9981), percent(0.99997)
    ('97 %', '99.8 %', 'above 99.9 %')
    """
    if probability > 0.999:
        return "above 99.9 %"
    return f"{100 * probability:.3g} %" if probability > 0.99 else f"{100 * probability:.0f} %"


def rounded_count(count: float) -> str:
    """Return a count to two digits, with separators.

    Examples
    --------
    >>> rounded_count(4137.0)
    '4,200'
    """
    digits = max(int(np.floor(np.log10(max(count, 1.0)))) - 1, 0)
    return f"{int(np.ceil(count / 10**digits)) * 10**digits:,}"


def _verdict(
    contrast: Contrast, by: str, p: float, n_pairs: int, n_rows: int, level: float
) -> Verdict:
    equal = contrast.equal_probability
    kind: Kind = "not distinguishable"
    if equal >= level:
        kind = "practically equal"
    elif p <= 1 - level:
        kind = "better"
    needed, sentence = np.nan, _sentence(contrast, kind, 1 - 0.5 * p)
    if kind == "not distinguishable":
        needed, advice = _advice(contrast, n_pairs, n_rows, level)
        pair = f"{contrast.first} and {contrast.second}"
        sentence = f"{pair} are not distinguishable with {n_rows:,} rows; {advice}"
    reach = contrast.reach(level)
    ends = contrast.estimate - reach, contrast.estimate + reach
    return Verdict(
        contrast.first,
        contrast.second,
        by,
        kind,
        1 - 0.5 * p,
        equal,
        contrast.estimate,
        *ends,
        n_rows,
        needed,
        sentence,
    )


def _needed(contrast: Contrast, n_pairs: int, n_rows: int, level: float) -> tuple[float, str]:
    """Return the rows with which there would be a verdict, and what that would be.

    The difference seen would be found, or be seen to be negligible. The spread falls with the
    root of the number of rows.
    """
    gaps = {TELL_APART: (contrast.estimate, contrast.reach(1 - (1 - level) / n_pairs))}
    if contrast.rope > contrast.estimate:
        gaps[CALL_EQUAL] = contrast.rope - contrast.estimate, contrast.reach(level)
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = {aim: n_rows * float(np.square(np.divide(r, g))) for aim, (g, r) in gaps.items()}
    aim = min(rows, key=lambda name: rows[name])
    return max(rows[aim], n_rows + 1.0), aim


def _sentence(contrast: Contrast, kind: Kind, probability: float) -> str:
    """Return the verdict on a pair that has one in words."""
    first, second = contrast.first, contrast.second
    if kind == "better":
        return f"{first} is better than {second}: {percent(probability)}"
    return (
        f"{first} and {second} are practically equal (within {contrast.rope:g}: "
        f"{percent(contrast.equal_probability)})"
    )


def _advice(contrast: Contrast, n_pairs: int, n_rows: int, level: float) -> tuple[float, str]:
    """Return how many rows would bring a pair a verdict, and that in words."""
    n_folds = contrast.df + 1
    if n_folds < FEWEST_FOLDS:
        return np.nan, f"{n_folds:.0f} folds are too few to say how many would be needed"
    needed, aim = _needed(contrast, n_pairs, n_rows, level)
    if needed > HOPELESS * n_rows:
        most = rounded_count(HOPELESS * n_rows)
        return needed, f"more than {most} would be needed for a verdict"
    return needed, f"about {rounded_count(needed)} would be needed {aim}"

"""Whether two models differ, from the differences of their scores on folds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.parameter import probability
from credo.evaluation.comparison.difference import Difference
from credo.numerics.array import Array, as_float

__all__ = [
    "OptimisticTestWarning",
    "PracticalDifference",
    "corrected_resampled_t",
    "correlated_t",
    "five_by_two_f",
    "paired_t",
]


class OptimisticTestWarning(UserWarning):
    """A test was used that claims differences more often than it says."""


def paired_t(differences: ArrayLike, coverage: float = 0.95) -> Difference:
    """Return the paired t-test over folds, ``mean +- t_(n-1) std / sqrt(n)``.

    Folds share training rows, so that their differences are not independent as this test
    takes them to be; it finds differences where there are none, and says so in a warning. Use
    `corrected_resampled_t` or `correlated_t`.

    Parameters
    ----------
    differences
        Score of the first minus score of the second on each fold, shape (n_folds,).

    Examples
    --------
    >>> d = [0.02, -0.01, 0.03, 0.0, 0.01, 0.02, 0.04, -0.02, 0.01, 0.03]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", OptimisticTestWarning)
    ...     found = paired_t(d)
    >>> round(found.estimate, 3), round(found.p_value, 4)
    (0.013, 0.0575)
    """
    warnings.warn(
        "a paired t-test needs independent differences; those of folds share training rows, "
        "so that it finds differences too easily. Use corrected_resampled_t or correlated_t.",
        OptimisticTestWarning,
        stacklevel=2,
    )
    return _t_test(_folds(differences), 0.0, coverage, "paired t")


def corrected_resampled_t(
    differences: ArrayLike, test_share: float, coverage: float = 0.95
) -> Difference:
    """Return the t-test whose variance allows for shared training rows [nadeau2003]_.

    ``mean +- t_(n-1) std sqrt(1 / n + test_share / (1 - test_share))``.

    Parameters
    ----------
    differences
        Score of the first minus score of the second on each test part, shape (n,).
    test_share
        Part of all rows that is tested each time: ``1 / k`` in k-fold cross-validation.

    Examples
    --------
    >>> d = [0.02, -0.01, 0.03, 0.0, 0.01, 0.02, 0.04, -0.02, 0.01, 0.03]
    >>> round(corrected_resampled_t(d, test_share=0.1).p_value, 3)
    0.168
    """
    share = _test_share(test_share)
    return _t_test(_folds(differences), share / (1 - share), coverage, "corrected t")


def five_by_two_f(differences: ArrayLike) -> Difference:
    """Return the F-test on five halvings of the data, each half tested once [alpaydin1999]_.

    ``F = sum d_ij^2 / (2 sum s_i^2)`` with 10 and 5 degrees of freedom, where ``s_i^2`` is the
    scatter of the two differences of halving i. It has no interval.

    Parameters
    ----------
    differences
        Score of the first minus score of the second, shape (5, 2).

    Examples
    --------
    >>> d = [[0.10, 0.08], [0.09, 0.11], [0.07, 0.10], [0.12, 0.09], [0.10, 0.10]]
    >>> round(five_by_two_f(d).p_value, 4)
    0.0005
    """
    pairs = as_float(differences)
    if pairs.shape != (5, 2) or not np.isfinite(pairs).all():
        raise ValueError(
            "differences must be finite, of shape (5, 2): five halvings, both halves tested; "
            f"found shape {pairs.shape}. Repeat two-fold cross-validation five times."
        )
    scatter = ((pairs - pairs.mean(axis=1, keepdims=True)) ** 2).sum()
    total = (pairs**2).sum()
    ratio = total / (2 * scatter) if scatter else (np.inf if total else 0.0)
    p_value = float(special.fdtrc(10, 5, ratio)) if np.isfinite(ratio) else 0.0
    estimate = float(pairs.mean())
    sentence = f"mean difference {estimate:+.3g} over 5 x 2 folds (F = {ratio:.3g}, p = "
    return Difference(
        estimate,
        np.nan,
        np.nan,
        np.nan,
        0.95,
        p_value,
        p_value / 2,
        "5x2cv F",
        sentence + f"{p_value:.2g}).",
    )


@dataclass(frozen=True)
class PracticalDifference:
    """Probability that the first is worse, practically equal, or better than the second.

    Attributes
    ----------
    estimate
        Mean difference, first minus second.
    low, high
        Ends of the central posterior interval of the given coverage.
    coverage
        Probability of the interval.
    left, rope, right
        Probability that the difference lies below, within and above ``+-width``.
    positive
        Probability that it lies above zero.
    width
        Difference that does not matter in practice.
    scale, df
        Scale and degrees of freedom of the Student-t posterior around ``estimate``.
    """

    estimate: float
    low: float
    high: float
    coverage: float
    left: float
    rope: float
    right: float
    positive: float
    width: float
    scale: float
    df: float

    @property
    def sentence(self) -> str:
        """The three probabilities in words."""
        return (
            f"the first is better by more than {self.width:g}: {self.right:.1%}, practically "
            f"equal: {self.rope:.1%}, worse by more: {self.left:.1%}."
        ).replace("%", " %")

    def __str__(self) -> str:
        """Return the three probabilities in words."""
        return self.sentence


def correlated_t(
    differences: ArrayLike,
    rope: float = 0.01,
    correlation: float | None = None,
    coverage: float = 0.95,
) -> PracticalDifference:
    """Return the Bayesian correlated t-test over folds [corani2015]_ [benavoli2017]_.

    Under a flat prior the mean difference has a Student-t posterior with ``n - 1`` degrees of
    freedom and scale ``std sqrt(1 / n + r / (1 - r))``, where ``r`` is the correlation of the
    differences that shared training rows cause.

    Parameters
    ----------
    differences
        Score of the first minus score of the second on each fold, higher scores being
        better, shape (n_folds,).
    rope
        Region of practical equivalence: differences up to this do not matter.
    correlation
        Of the differences; ``1 / n_folds`` if None, as the part that is tested.

    Examples
    --------
    >>> d = [0.02, -0.01, 0.03, 0.0, 0.01, 0.02, 0.04, -0.02, 0.01, 0.03]
    >>> found = correlated_t(d, rope=0.01)
    >>> round(found.left, 3), round(found.rope, 3), round(found.right, 3)
    (0.013, 0.356, 0.631)
    """
    values = _folds(differences)
    r = _test_share(1.0 / len(values) if correlation is None else correlation)
    if not rope >= 0:
        raise ValueError(f"rope must not be negative; found {rope:g}. Pass a width or 0.")
    df, center = len(values) - 1.0, float(values.mean())
    scale = float(values.std(ddof=1) * np.sqrt(1 / len(values) + r / (1 - r)))
    reach = scale * _t_reach(df, coverage)
    left, at_most_zero = (_t_cdf(e - center, scale, df) for e in (-rope, 0.0))
    right = _t_cdf(center - rope, scale, df)
    if scale == 0 and abs(center) <= rope:
        left = right = 0.0
    positive = 0.5 if scale == 0 and center == 0 else 1.0 - at_most_zero
    return PracticalDifference(
        center,
        center - reach,
        center + reach,
        coverage,
        left,
        max(1.0 - left - right, 0.0),
        right,
        positive,
        rope,
        scale,
        df,
    )


def _t_test(values: Array, overlap: float, coverage: float, method: str) -> Difference:
    """Return the t-test with variance ``(1 / n + overlap) s^2``."""
    n, center = len(values), float(values.mean())
    error = float(values.std(ddof=1) * np.sqrt(1 / n + overlap))
    reach = error * _t_reach(n - 1.0, coverage)
    tail = 0.5 if center == 0 else _t_cdf(-abs(center), error, n - 1.0)
    sentence = (
        f"mean difference {center:+.3g} ({coverage:.0%} interval {center - reach:+.3g} to "
        f"{center + reach:+.3g}, {method} over {n} folds, p = {2 * tail:.2g})."
    ).replace("%", " %")
    ends = (center - reach, center + reach)
    return Difference(center, error, *ends, coverage, 2 * tail, tail, method, sentence)


def _t_reach(df: float, coverage: float) -> float:
    return float(special.stdtrit(df, 0.5 + 0.5 * probability("coverage", coverage)))


def _t_cdf(x: float, scale: float, df: float) -> float:
    if scale == 0:
        return float(x >= 0)
    return float(special.stdtr(df, x / scale))


def _folds(differences: ArrayLike) -> Array:
    values = as_float(differences)
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
        raise ValueError(
            "differences must be one finite number for each of at least 2 folds; found "
            f"{values.tolist() if values.size < 12 else f'shape {values.shape}'}. A score of "
            "minus infinity has no difference: leave that model out."
        )
    return values


def _test_share(share: float) -> float:
    if not 0 <= share < 1:
        raise ValueError(
            "the part of rows that is tested must be from 0 to below 1; found "
            f"{share:g}. Pass 1 / n_folds."
        )
    return float(share)

"""Whether two models differ: by error rates on rows, or by scores on folds of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.parameter import count, probability
from credo.numerics.array import Array, as_float

__all__ = [
    "Difference",
    "OptimisticTestWarning",
    "PracticalDifference",
    "corrected_resampled_t",
    "correlated_t",
    "five_by_two_f",
    "independent_difference",
    "needed_rows",
    "needed_test_rows",
    "paired_difference",
    "paired_t",
]

# The normal approximation of a count is poor while hits or misses are fewer than this.
FEW = 5


@dataclass(frozen=True)
class Difference:
    """How far the first of two differs from the second, and how sure that is.

    Attributes
    ----------
    estimate
        First minus second.
    standard_error
        Of the estimate; NaN where the method has none.
    low, high
        Ends of the interval of the given coverage.
    coverage
        Probability with which such intervals hold the true difference.
    p_value
        Probability, if there is no difference, of one at least as large as this, either way.
    one_sided_p_value
        The same for a difference in the direction that was seen.
    method
        How it was found.
    sentence
        The answer in words.
    """

    estimate: float
    standard_error: float
    low: float
    high: float
    coverage: float
    p_value: float
    one_sided_p_value: float
    method: str
    sentence: str

    @property
    def is_real(self) -> bool:
        """Whether the two-sided test rejects that there is no difference."""
        return self.p_value < 1.0 - self.coverage

    def __str__(self) -> str:
        """Return the answer in words."""
        return self.sentence


def independent_difference(
    n_errors: tuple[int, int],
    n: tuple[int, int],
    coverage: float = 0.95,
    method: str = "auto",
    names: tuple[str, str] = ("the first", "the second"),
) -> Difference:
    """Return the difference of two error rates on test sets of their own.

    Parameters
    ----------
    n_errors, n
        Number of errors and of test rows, of each of the two.
    method
        "normal": ``d +- z sqrt(e1 (1 - e1) / n1 + e2 (1 - e2) / n2)``. "newcombe": from the
        two Wilson intervals, with a pooled test; honest for few errors as well. "auto": the
        first if both have at least 5 errors and 5 successes.

    Examples
    --------
    >>> found = independent_difference((18, 18), (100, 150))
    >>> round(found.estimate, 2), round(found.one_sided_p_value, 4)
    (0.06, 0.0994)
    >>> print(found.sentence[:55])
    18.0 % against 12.0 % errors: difference +6.0 % (95 % i
    """
    errors, rows = count("n_errors", n_errors), count("n", n)
    if errors.shape != (2,) or rows.shape != (2,) or (errors > rows).any() or not rows.all():
        raise ValueError(
            "n_errors and n must be two counts each, errors not above rows, rows at least 1; "
            f"found {errors.tolist()} errors in {rows.tolist()} rows. Pass counts, not rates."
        )
    if method not in ("auto", "normal", "newcombe"):
        raise ValueError(
            f"method must be 'auto', 'normal' or 'newcombe'; found {method!r}. Use 'auto'."
        )
    is_many = min(errors.min(), (rows - errors).min()) >= FEW
    is_normal = method == "normal" or (method == "auto" and is_many)
    rate = errors / rows
    estimate = float(rate[0] - rate[1])
    error = float(np.sqrt((rate * (1 - rate) / rows).sum()))
    reach = float(special.ndtri(0.5 + 0.5 * probability("coverage", coverage)))
    if is_normal:
        z, ends = _ratio(estimate, error), (estimate - reach * error, estimate + reach * error)
    else:
        pooled = errors.sum() / rows.sum()
        z = _ratio(estimate, float(np.sqrt(pooled * (1 - pooled) * (1 / rows).sum())))
        ends = _newcombe(rate, rows, reach)
    tail = float(special.ndtr(-abs(z)))
    lead = f"{rate[0]:.1%} against {rate[1]:.1%} errors".replace("%", " %")
    return Difference(
        estimate,
        error,
        *ends,
        coverage,
        2 * tail,
        tail,
        "normal" if is_normal else "newcombe",
        _rate_words(lead, estimate, ends, coverage, 2 * tail, names),
    )


def paired_difference(
    is_error_first: ArrayLike,
    is_error_second: ArrayLike,
    coverage: float = 0.95,
    exact: bool = False,
    names: tuple[str, str] = ("the first", "the second"),
) -> Difference:
    """Return the difference of two error rates on the same test rows (McNemar).

    Only rows that one got right and the other wrong tell them apart: of ``k`` such rows, half
    would go either way if there were no difference, which is a binomial test. The interval is
    Bonett and Price's [bonett2012]_, which is honest for few rows.

    Parameters
    ----------
    is_error_first, is_error_second
        Whether each row was an error, shape (n,).
    exact
        Whether the p-value is the exact one, which never exceeds its level but is often far
        below it, instead of the mid-p value, which counts the observed table by half.

    Examples
    --------
    >>> first, second = [True] * 9 + [False] * 31, [False] * 7 + [True] * 3 + [False] * 30
    >>> found = paired_difference(first, second)
    >>> round(found.estimate, 3), round(found.p_value, 3)
    (0.15, 0.039)
    """
    one, two = (np.asarray(e, dtype=bool) for e in (is_error_first, is_error_second))
    if one.ndim != 1 or one.shape != two.shape or not len(one):
        raise ValueError(
            "is_error_first and is_error_second must be truths of the same rows, at least one; "
            f"found shapes {one.shape} and {two.shape}. Pass predicted != true of each."
        )
    n, only_one, only_two = len(one), int((one & ~two).sum()), int((two & ~one).sum())
    estimate = (only_one - only_two) / n
    discordant = only_one + only_two
    error = float(np.sqrt(max(discordant - n * estimate**2, 0.0))) / n
    reach = float(special.ndtri(0.5 + 0.5 * probability("coverage", coverage)))
    ends = _bonett_price(only_one, only_two, n, reach)
    tail = _binomial_tail(min(only_one, only_two), discordant, exact)
    p_value = min(2 * tail, 1.0)
    lead = f"{one.mean():.1%} against {two.mean():.1%} errors".replace("%", " %")
    return Difference(
        estimate,
        error,
        *ends,
        coverage,
        p_value,
        min(tail, 1.0),
        "mcnemar exact" if exact else "mcnemar mid-p",
        _rate_words(lead, estimate, ends, coverage, p_value, names),
    )


def needed_rows(
    estimate: float, row_variance: float, coverage: float = 0.95, power: float = 0.5
) -> float:
    """Return above how many rows a difference of this size would be distinguished from none.

    ``((z_coverage + z_power) / estimate)^2 row_variance``, where the variance of the
    difference over n rows is ``row_variance / n``. At a power of one half, the default, this
    is where an interval around just this difference begins to exclude zero.

    Examples
    --------
    >>> round(needed_rows(0.001, 0.019 * 0.981 + 0.018 * 0.982), 1)
    139502.6
    """
    if not row_variance >= 0:
        raise ValueError(
            f"row_variance must not be negative; found {row_variance:g}. Pass a variance."
        )
    tail = 0.5 + 0.5 * probability("coverage", coverage)
    reach = float(special.ndtri(tail) + special.ndtri(probability("power", power)))
    return reach**2 * row_variance / estimate**2 if estimate else np.inf


def needed_test_rows(
    error_rates: tuple[float, float],
    coverage: float = 0.95,
    one_sided: bool = False,
    power: float = 0.5,
) -> float:
    """Return above how many rows in each of two test sets these error rates would differ.

    Examples
    --------
    >>> round(needed_test_rows((0.019, 0.018), one_sided=True), 1)
    98251.8
    """
    first, second = probability("error_rates", np.asarray(error_rates, dtype=np.float64))
    variance = first * (1 - first) + second * (1 - second)
    wanted = 2 * coverage - 1 if one_sided else coverage
    return needed_rows(float(first - second), float(variance), wanted, power)


def _ratio(estimate: float, error: float) -> float:
    if error == 0:
        return 0.0 if estimate == 0 else np.copysign(np.inf, estimate)
    return estimate / error


def _newcombe(rate: np.ndarray, rows: np.ndarray, reach: float) -> tuple[float, float]:
    """Return the ends of Newcombe's interval, from the Wilson interval of each rate."""
    square = reach**2
    center = (rate + square / (2 * rows)) / (1 + square / rows)
    half = reach * np.sqrt(rate * (1 - rate) / rows + square / (4 * rows**2))
    half = half / (1 + square / rows)
    low, high = center - half, center + half
    estimate = rate[0] - rate[1]
    below = np.hypot(rate[0] - low[0], high[1] - rate[1])
    above = np.hypot(high[0] - rate[0], rate[1] - low[1])
    return float(estimate - below), float(estimate + above)


def _bonett_price(only_one: int, only_two: int, n: int, reach: float) -> tuple[float, float]:
    first, second = (only_one + 1) / (n + 2), (only_two + 1) / (n + 2)
    center = first - second
    half = reach * np.sqrt((first + second - center**2) / (n + 2))
    return max(float(center - half), -1.0), min(float(center + half), 1.0)


def _binomial_tail(fewer: int, n: int, exact: bool) -> float:
    """Return the chance of at most ``fewer`` heads in ``n`` tosses, the last counted half."""
    tail = float(special.bdtr(fewer, n, 0.5))
    if exact:
        return tail
    below = float(special.bdtr(fewer - 1, n, 0.5)) if fewer else 0.0
    return 0.5 * (tail + below)


def _rate_words(
    lead: str,
    estimate: float,
    ends: tuple[float, float],
    coverage: float,
    p_value: float,
    names: tuple[str, str],
) -> str:
    span = f"{coverage:.0%} interval {ends[0]:+.1%} to {ends[1]:+.1%}".replace("%", " %")
    better = names[1] if estimate > 0 else names[0]
    verdict = f"{better} is better" if p_value < 1 - coverage else "not distinguishable"
    size = f"{estimate:+.1%}".replace("%", " %")
    return f"{lead}: difference {size} ({span}), {verdict} (p = {p_value:.2g})."


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

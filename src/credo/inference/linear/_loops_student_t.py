"""The log posterior of a linear regression with Student-t noise, row by row.

Arrays are C-contiguous float64.
"""

import math

import numpy as np

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["log_posterior"]


@compiled_part()
def digamma(x: float) -> float:
    """Return the slope of the log of the gamma function, by its asymptotic series."""
    total = 0.0
    while x < 8.0:
        total -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y / 240.0)))
    return total + math.log(x) - 0.5 / x - series


@compiled(fastmath={"reassoc", "contract"})
def log_posterior(
    values: Array, gradient: Array, rows: Array, place: Array, numbers: Array
) -> float:
    """Return the log of prior times likelihood of whitened unknowns, and write its gradient.

    Parameters
    ----------
    values
        Whitened weights (m,); then log ratio of prior variance to noise, if there are columns;
        intercept, if there is one; log noise precision; log of degrees of freedom above two, if
        unknown.
    rows
        Columns, outcome and weight of each row, shape (n, m + 2).
    place
        Center and width of each weight, and of the intercept as the last, shape (2, m + 1).
    numbers
        Center of the log noise precision; signal of the rows; their number; log ratio at which
        weights have their center and width; whether there is an intercept; degrees of freedom,
        zero if unknown and infinite for normal noise; shape and rate of the gamma prior of
        those above two; half the variance below which noise is hardly looked for.
    """
    n, m = rows.shape[0], rows.shape[1] - 2
    at = m
    total = 0.0
    log_ratio, scale, share, prior = 0.0, 1.0, 0.0, 0.0
    if m > 0:
        log_ratio = values[at]
        at += 1
        here = numbers[2] + numbers[1] * math.exp(-numbers[3])
        there = numbers[1] * math.exp(-log_ratio)
        scale = math.sqrt(here / (numbers[2] + there))
        share = there / (numbers[2] + there)
        prior = there
        total -= math.log1p(math.exp(-abs(log_ratio))) * 2.0 + abs(log_ratio)
    offset, by_offset = 0.0, at
    if numbers[4] > 0.0:
        offset = place[0, m] + place[1, m] * values[at]
        total += math.log(place[1, m])
        at += 1
    by_noise = at
    log_noise = numbers[0] + values[at]
    at += 1
    noise = math.exp(log_noise)
    total -= numbers[8] * noise
    df, above = numbers[5], 0.0
    if df == 0.0:
        above = math.exp(values[at])
        df = 2.0 + above
        total += numbers[6] * values[at] - numbers[7] * above
        total += numbers[6] * math.log(numbers[7]) - math.lgamma(numbers[6])
    weight = np.zeros(m)
    slope = np.zeros(m)
    squares, volume = 0.0, 0.0
    for j in range(m):
        weight[j] = (place[0, j] + place[1, j] * values[j]) * scale
        squares += weight[j] * weight[j]
        volume += math.log(place[1, j] * scale)
    total += volume + 0.5 * m * (math.log(prior * noise / (2.0 * math.pi)) if m > 0 else 0.0)
    total -= 0.5 * prior * noise * squares
    of_offset, of_noise, of_df, count = 0.0, 0.0, 0.0, 0.0
    is_normal = math.isinf(df)
    for r in range(n):
        residual = rows[r, m] - offset
        for j in range(m):
            residual -= weight[j] * rows[r, j]
        copies = rows[r, m + 1]
        count += copies
        square = residual * residual * noise
        if is_normal:
            total -= 0.5 * copies * square
            pull = copies
        else:
            tail = math.log1p(square / df)
            total -= 0.5 * copies * (df + 1.0) * tail
            pull = copies * (df + 1.0) / (df + square)
            of_df -= 0.5 * copies * tail
            of_df += 0.5 * pull * square / df
        of_noise -= 0.5 * pull * square
        pull *= noise * residual
        of_offset += pull
        for j in range(m):
            slope[j] += pull * rows[r, j]
    if is_normal:
        total += 0.5 * count * (log_noise - math.log(2.0 * math.pi))
    else:
        half = 0.5 * (df + 1.0)
        total += count * (math.lgamma(half) - math.lgamma(0.5 * df))
        total += 0.5 * count * (log_noise - math.log(math.pi * df))
        of_df += 0.5 * count * (digamma(half) - digamma(0.5 * df) - 1.0 / df)
    by_ratio = 0.5 * m * share
    for j in range(m):
        by_value = slope[j] - prior * noise * weight[j]
        gradient[j] = by_value * place[1, j] * scale
        by_ratio += 0.5 * by_value * weight[j] * share
    if m > 0:
        by_ratio += 0.5 * prior * noise * squares - 0.5 * m - math.tanh(0.5 * log_ratio)
        gradient[m] = by_ratio
    if numbers[4] > 0.0:
        gradient[by_offset] = of_offset * place[1, m]
    of_noise -= noise * (numbers[8] + 0.5 * prior * squares)
    gradient[by_noise] = of_noise + 0.5 * count + 0.5 * m
    if numbers[5] == 0.0:
        gradient[at] = of_df * above + numbers[6] - numbers[7] * above
    return float(total)

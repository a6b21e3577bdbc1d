"""One pass over labeled rows: loss and gradient of the softmax likelihood, log posterior.

Arrays are C-contiguous float64, except classes, which are intp and known to be in range.
"""

import math

import numpy as np
from numba import prange
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled
from credo.numerics.array import Array

__all__ = ["log_posterior", "loss_and_gradient"]


@compiled(parallel=True, fastmath={"reassoc", "contract"})
def loss_and_gradient(
    x: Array, code: NDArray[np.intp], weight: Array, center: Array, slope: Array, offset: Array
) -> tuple[Array, Array, Array]:
    """Return loss (c,), gradient (c, K - 1, m) and sum of residuals (c, K - 1) of chunks.

    Scores of a row are ``slope (x - center) + offset`` for all classes but the first, whose
    score is zero. The chunks do not depend on the number of threads, so that neither do the
    sums.
    """
    n, m = x.shape
    n_others = slope.shape[0]
    size = max(256, (n + 255) // 256)
    n_chunks = (n + size - 1) // size
    loss = np.zeros(n_chunks)
    gradient = np.zeros((n_chunks, n_others, m))
    residuals = np.zeros((n_chunks, n_others))
    for chunk in prange(n_chunks):
        seen = np.empty(m)
        score = np.empty(n_others)
        for i in range(chunk * size, min((chunk + 1) * size, n)):
            for j in range(m):
                seen[j] = x[i, j] - center[j]
            top = 0.0
            for k in range(n_others):
                s = offset[k]
                for j in range(m):
                    s += slope[k, j] * seen[j]
                score[k] = s
                top = max(top, s)
            chosen = score[code[i] - 1] if code[i] > 0 else 0.0
            total = math.exp(-top) if top > 0.0 else 1.0
            for k in range(n_others):
                score[k] = math.exp(score[k] - top)
                total += score[k]
            loss[chunk] += weight[i] * (math.log(total) + top - chosen)
            for k in range(n_others):
                r = weight[i] * (score[k] / total - (1.0 if k == code[i] - 1 else 0.0))
                residuals[chunk, k] += r
                for j in range(m):
                    gradient[chunk, k, j] += r * seen[j]
    return loss, gradient, residuals


@compiled(fastmath={"reassoc", "contract"})
def log_posterior(
    values: Array,
    gradient: Array,
    rows: Array,
    code: NDArray[np.intp],
    weight: Array,
    against_first: Array,
    place: Array,
    numbers: Array,
) -> float:
    """Return the log posterior density of whitened parameters, and write its gradient.

    Weights are scaled at each precision as a quadratic likelihood scales their width, so that
    the precision does not set it.

    Parameters
    ----------
    values
        Whitened parameters (J m,), and after them the log precision if that is unknown.
    rows
        With a column for the intercept, shape (n, m).
    against_first
        Scores of all classes but the first, less its own, from J numbers, shape (K - 1, J).
    place
        Center and width of each parameter at a precision; for weights how much the likelihood
        bends there, for intercepts their own prior precision; shape (3, J m).
    numbers
        The log of that precision, and the log signal of the rows.
    """
    n, m = rows.shape
    n_others, n_codes = against_first.shape
    d = n_codes * m
    is_learned = values.size > d
    log_precision = values[d] if is_learned else numbers[0]
    here, precision = math.exp(numbers[0]), math.exp(log_precision)
    parameters = np.empty((n_codes, m))
    slope = np.zeros((n_codes, m))
    log_volume = 0.0
    for j in range(n_codes):
        for i in range(m):
            at = j * m + i
            parameters[j, i] = place[0, at] + place[1, at] * values[at]
            if is_learned and i < m - 1:
                ratio = (place[2, at] + here) / (place[2, at] + precision)
                parameters[j, i] *= math.sqrt(ratio)
                log_volume += 0.5 * math.log(ratio)
    total = 0.0
    numbers_of_row = np.empty(n_codes)
    score = np.empty(n_others)
    for r in range(n):
        for j in range(n_codes):
            s = 0.0
            for i in range(m):
                s += parameters[j, i] * rows[r, i]
            numbers_of_row[j] = s
        top = 0.0
        for k in range(n_others):
            s = 0.0
            for j in range(n_codes):
                s += against_first[k, j] * numbers_of_row[j]
            score[k] = s
            top = max(top, s)
        chosen = score[code[r] - 1] if code[r] > 0 else 0.0
        share = math.exp(-top) if top > 0.0 else 1.0
        for k in range(n_others):
            score[k] = math.exp(score[k] - top)
            share += score[k]
        total -= weight[r] * (math.log(share) + top - chosen)
        for j in range(n_codes):
            s = 0.0
            for k in range(n_others):
                is_own = 1.0 if k == code[r] - 1 else 0.0
                s += against_first[k, j] * (is_own - score[k] / share)
            s *= weight[r]
            for i in range(m):
                slope[j, i] += s * rows[r, i]
    by_precision = 0.0
    for j in range(n_codes):
        for i in range(m):
            at = j * m + i
            is_weight = i < m - 1
            prior = precision if is_weight else place[2, at]
            x = parameters[j, i]
            total -= 0.5 * prior * x * x
            by_value = slope[j, i] - prior * x
            gradient[at] = by_value * place[1, at]
            if is_learned and is_weight:
                ratio = (place[2, at] + here) / (place[2, at] + precision)
                gradient[at] *= math.sqrt(ratio)
                share = precision / (place[2, at] + precision)
                by_precision += 0.5 * (1.0 - prior * x * x - share - by_value * x * share)
    if is_learned:
        t = numbers[1] - log_precision
        total += 0.5 * n_codes * (m - 1) * log_precision + log_volume
        total -= math.log1p(math.exp(-abs(t))) * 2.0 + abs(t)
        gradient[d] = by_precision + math.tanh(0.5 * t)
    return total

"""One pass over labeled rows: loss and gradient of the softmax likelihood.

Arrays are C-contiguous float64, except classes, which are intp and known to be in range.
"""

import math

import numpy as np
from numba import prange
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled
from credo.numerics.array import Array

__all__ = ["loss_and_gradient"]


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

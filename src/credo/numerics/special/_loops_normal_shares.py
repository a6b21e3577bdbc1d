"""Shares of rows among normals, block by block without a return to the interpreter.

Blocks are small enough for their features to stay in the nearest cache between two products.
"""

import numpy as np

from credo.numerics._loops_compilation import compiled
from credo.numerics.array import Array
from credo.numerics.special._loops_exponential import LANES, fast_exp

__all__ = ["feature_sums"]

BLOCK = 256


@compiled(fastmath=LANES)
def feature_sums(
    x: Array,
    weight: Array,
    origin: Array,
    unit: Array,
    terms: Array,
    farthest: float,
    sums: Array,
) -> float:
    """Add to ``sums`` those of features by the shares of rows; return the sum of logs.

    Features are 1, columns in units about the origin, and their products, or their squares
    alone if there are no more terms; ``terms @ features`` is minus twice the log densities.

    Parameters
    ----------
    weight
        Of each row; empty if all are one.
    farthest
        Minus twice the log of a share that is as good as none.
    """
    n, d = x.shape
    k, n_features = terms.shape
    is_full = n_features > 2 * d + 1
    # Memory of one size, made here, so that loops take all lanes: nothing else can be in it.
    features = np.ones((n_features, BLOCK))
    squares = np.empty((k, BLOCK))
    least, total, own = np.empty(BLOCK), np.empty(BLOCK), np.ones(BLOCK)
    log_total = 0.0
    for start in range(0, n, BLOCK):
        if weight.size or n - start < BLOCK:
            # A last block is filled up with copies of the last row that do not count.
            for i in range(BLOCK):
                is_row = start + i < n
                own[i] = (weight[start + i] if weight.size else 1.0) if is_row else 0.0
        for j in range(d):
            column, center, scale = features[1 + j], origin[j], 1.0 / unit[j]
            for i in range(BLOCK):
                column[i] = (x[min(start + i, n - 1), j] - center) * scale
        place = 1 + d
        for j in range(d):
            left = features[1 + j]
            for m in range(j, d if is_full else j + 1):
                right, product = features[1 + m], features[place]
                for i in range(BLOCK):
                    product[i] = left[i] * right[i]
                place += 1
        np.dot(terms, features, squares)
        least[:] = squares[0]
        for c in range(1, k):
            row = squares[c]
            for i in range(BLOCK):
                least[i] = min(least[i], row[i])
        total[:] = 0.0
        for c in range(k):
            row = squares[c]
            for i in range(BLOCK):
                away = row[i] - least[i]
                found = fast_exp(-0.5 * min(away, farthest))
                row[i] = found if away <= farthest else 0.0
            for i in range(BLOCK):
                total[i] += row[i]
        for i in range(BLOCK):
            log_total += own[i] * (np.log(total[i]) - 0.5 * least[i])
            total[i] = own[i] / total[i]
        for c in range(k):
            row = squares[c]
            for i in range(BLOCK):
                row[i] *= total[i]
        sums += np.dot(squares, features.T)
    return log_total

"""Weights of the evidence on the covariance matrix, written over its inverse in one pass."""

from credo.numerics._loops_compilation import compiled
from credo.numerics.array import Array

__all__ = ["weigh_inverse"]


@compiled(fastmath={"contract", "reassoc", "nsz"})
def weigh_inverse(inverse: Array, plus: Array, n_outputs: float) -> None:
    """Replace the upper triangle of an inverse by ``P P' - n_outputs A``, counted twice.

    With weights twice as large above the diagonal and zero below it, sums over all pairs of
    rows of a symmetric matrix are those of the symmetric weights.

    Parameters
    ----------
    inverse
        ``A``, C-contiguous, shape (n, n); what stands below its diagonal is not read.
    plus
        ``P'``, C-contiguous, shape (r, n).
    """
    n, rank = len(inverse), len(plus)
    for i in range(n):
        row = inverse[i]
        for j in range(i):
            row[j] = 0.0
        for j in range(i, n):
            row[j] *= -2.0 * n_outputs
        for r in range(rank):
            own = 2.0 * plus[r, i]
            other = plus[r]
            for j in range(i, n):
                row[j] += own * other[j]
        row[i] *= 0.5

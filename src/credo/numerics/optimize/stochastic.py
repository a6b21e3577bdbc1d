"""Descent by gradients of a part of the rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from credo.numerics.array import Array, as_float

__all__ = ["adam_epochs"]

FORGET_MEAN, FORGET_SQUARE, TINY = 0.9, 0.999, 1e-8


def adam_epochs(
    gradient: Callable[[Array, NDArray[np.intp]], Array],
    start: ArrayLike,
    n_rows: int,
    rng: Generator,
    batch: int = 256,
    step: float = 3e-3,
) -> Iterator[Array]:
    """Yield parameters after each pass over the rows in batches, by Adam [kingma2015]_.

    Each parameter moves by the mean of recent gradients over the root of the mean of their
    squares, times a step that falls with the root of the number of passes. The sequence does
    not end: `early_stop` says which to take.

    Parameters
    ----------
    gradient
        Of the mean loss of rows, from parameters (d,) and the numbers of the rows.
    n_rows
        Rows that there are.
    batch
        Rows of one step.
    step
        Length of a step of each parameter in the first pass.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=400) + 2.0
    >>> epochs = adam_epochs(lambda w, i: w - x[i].mean(), [0.0], 400, np.random.default_rng(1),
    ...                      batch=40, step=0.1)
    >>> *_, last = (next(epochs) for _ in range(40))
    >>> bool(abs(last[0] - x.mean()) < 0.1)
    True
    """
    w = as_float(start).copy()
    mean, square = np.zeros_like(w), np.zeros_like(w)
    n_steps, n_passes = 0, 0
    while True:
        order = rng.permutation(n_rows)
        n_passes += 1
        length = step / np.sqrt(n_passes)
        for begin in range(0, n_rows, batch):
            slope = gradient(w, order[begin : begin + batch])
            n_steps += 1
            mean = FORGET_MEAN * mean + (1.0 - FORGET_MEAN) * slope
            square = FORGET_SQUARE * square + (1.0 - FORGET_SQUARE) * slope**2
            # Both averages begin at zero, and are divided by the share they have seen.
            first = mean / (1.0 - FORGET_MEAN**n_steps)
            second = square / (1.0 - FORGET_SQUARE**n_steps)
            w = w - length * first / (np.sqrt(second) + TINY)
        yield w

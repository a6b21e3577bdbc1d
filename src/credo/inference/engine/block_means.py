"""The standard error of averages of Markov chains, from the means of successive blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np

from credo.numerics.array import Array
from credo.numerics.form import Form

__all__ = ["BlockMeans"]

# The spread of the means of a few chains is itself rough; only a spread that chance does not
# explain replaces the estimate from blocks.
SUSPICIOUS_SPREAD = 4.0


@dataclass(frozen=True, eq=False)
class BlockMeans:
    """Moments of the block means of some chains; nothing grows with the number of blocks.

    Attributes
    ----------
    n_blocks
        Blocks so far.
    mean, scatter
        Mean of the blocks of each chain and sum of squares about it, shape (n_chains, ...).
    first, last
        First and last block.
    products
        Sum of the products of successive blocks, each less the first one.

    Examples
    --------
    >>> blocks = BlockMeans.empty((1, 1))
    >>> for value in (0.0, 1.0, 0.0, 1.0):
    ...     blocks = blocks.with_block(np.array([[value]]))
    >>> float(blocks.mean[0, 0]), round(float(blocks.standard_error[0]), 4)
    (0.5, 0.2887)
    """

    n_blocks: int
    mean: Annotated[Array, Form("...")]
    scatter: Annotated[Array, Form("...")]
    first: Annotated[Array, Form("...")]
    last: Annotated[Array, Form("...")]
    products: Annotated[Array, Form("...")]

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> Self:
        """Return no blocks."""
        nothing = np.zeros(shape)
        return cls(0, nothing, nothing, nothing, nothing, nothing)

    def with_block(self, block: Array) -> Self:
        """Return the moments with one more block per chain [welford1962]_."""
        n = self.n_blocks + 1
        shift = block - self.mean
        mean = self.mean + shift / n
        first = self.first if self.n_blocks else block
        last = self.last if self.n_blocks else block
        scatter = self.scatter + shift * (block - mean)
        products = self.products + (last - first) * (block - first)
        return type(self)(n, mean, scatter, first, block, products)

    @property
    def within(self) -> Array:
        """Variance of the mean of one chain, as its blocks tell, averaged over chains.

        The covariance of neighboring blocks counts where it is positive, which makes up for
        blocks that are short for the memory of the chain.
        """
        n, mean = self.n_blocks, self.mean - self.first
        variance = self.scatter.mean(axis=0) / (n - 1)
        inner = 2 * n * mean - (self.last - self.first)
        lagged = (self.products - mean * inner + (n - 1) * mean**2).mean(axis=0) / (n - 1)
        return np.asarray((variance + 2 * np.maximum(lagged, 0.0)) / n)

    @property
    def between(self) -> Array:
        """Variance of the means of the chains; zero for a single chain."""
        if len(self.mean) == 1:
            return np.zeros(self.mean.shape[1:])
        return np.asarray(self.mean.var(axis=0, ddof=1))

    @property
    def standard_error(self) -> Array:
        """Standard error of the mean of all chains; infinite with less than two blocks.

        Chains that are further apart than their blocks explain tell the error themselves.
        """
        if self.n_blocks < 2:
            return np.full(self.mean.shape[1:], np.inf)
        within, between = self.within, self.between
        is_apart = between > SUSPICIOUS_SPREAD * within
        return np.sqrt(np.where(is_apart, between, within) / len(self.mean))

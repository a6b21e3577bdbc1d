"""The standard error of averages of Markov chains, from the means of successive blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray

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
        Blocks of each chain so far, shape (n_chains,).
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
    >>> float(blocks.pooled[0]), round(float(blocks.standard_error[0]), 4)
    (0.5, 0.2887)
    """

    n_blocks: Annotated[NDArray[np.intp], Form("c", 0)]
    mean: Annotated[Array, Form("...")]
    scatter: Annotated[Array, Form("...")]
    first: Annotated[Array, Form("...")]
    last: Annotated[Array, Form("...")]
    products: Annotated[Array, Form("...")]

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> Self:
        """Return no blocks."""
        nothing = np.zeros(shape)
        n_blocks = np.zeros(shape[0], dtype=np.intp)
        return cls(n_blocks, nothing, nothing, nothing, nothing, nothing)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the chains of several side by side, of any numbers of blocks."""
        names = [part.name for part in fields(cls)]
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))

    def with_block(self, block: Array) -> Self:
        """Return the moments with one more block per chain [welford1962]_."""
        before = self._n
        shift = block - self.mean
        mean = self.mean + shift / (before + 1)
        first = np.where(before > 0, self.first, block)
        last = np.where(before > 0, self.last, block)
        scatter = self.scatter + shift * (block - mean)
        products = self.products + (last - first) * (block - first)
        return type(self)(self.n_blocks + 1, mean, scatter, first, block, products)

    @property
    def pooled(self) -> Array:
        """Mean of all blocks of all chains."""
        return np.asarray((self._share * self.mean).sum(axis=0))

    @property
    def within(self) -> Array:
        """Variance of the mean of a chain of average length, as the blocks of all tell.

        The covariance of neighboring blocks counts where it is positive, which makes up for
        blocks that are short for the memory of the chain.
        """
        n, mean = self._n, self.mean - self.first
        inner = 2 * n * mean - (self.last - self.first)
        lagged = self.products - mean * inner + (n - 1) * mean**2
        n_pairs = np.maximum(self.n_blocks - 1, 0).sum()
        variance, lagged = self.scatter.sum(axis=0) / n_pairs, lagged.sum(axis=0) / n_pairs
        return np.asarray((variance + 2 * np.maximum(lagged, 0.0)) / self.n_blocks.mean())

    @property
    def between(self) -> Array:
        """Variance of the means of the chains; zero for a single chain."""
        n_chains = len(self.mean)
        if n_chains == 1:
            return np.zeros(self.mean.shape[1:])
        spread = (self._share * (self.mean - self.pooled) ** 2).sum(axis=0)
        return np.asarray(spread * n_chains / (n_chains - 1))

    @property
    def standard_error(self) -> Array:
        """Standard error of the mean of all blocks; infinite without two of one chain.

        Chains that are further apart than their blocks explain tell the error themselves.
        """
        if self.n_blocks.max(initial=0) < 2:
            return np.full(self.mean.shape[1:], np.inf)
        within, between = self.within, self.between
        is_apart = between > SUSPICIOUS_SPREAD * within
        return np.sqrt(np.where(is_apart, between, within) / len(self.mean))

    @property
    def _n(self) -> NDArray[np.intp]:
        """Blocks of each chain, along the axes of the means."""
        return self.n_blocks.reshape(-1, *[1] * (self.mean.ndim - 1))

    @property
    def _share(self) -> Array:
        """Share of each chain in all blocks; equal shares while there are none."""
        total = self.n_blocks.sum()
        return self._n / total if total else np.full(self._n.shape, 1.0 / len(self.mean))

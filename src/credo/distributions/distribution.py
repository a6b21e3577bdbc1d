"""What every probability distribution can do."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from credo.distributions.parameter import Batched
from credo.numerics.array import Array

__all__ = ["Distribution"]


@dataclass(frozen=True, eq=False)
class Distribution(Batched, ABC):
    """A probability distribution, or a batch of independent ones, as an immutable value.

    Parameters may be numbers or arrays; they broadcast to ``batch_shape``, and every answer
    has that shape. ``d[i]`` picks entries of the batch, ``len(d)`` counts its rows.
    """

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one outcome: () for a number, (d,) for a vector."""
        return ()

    @property
    def is_discrete(self) -> bool:
        """Whether single outcomes have positive probability."""
        return False

    @abstractmethod
    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density, or log probability if discrete; -inf off the support."""

    def prob(self, x: ArrayLike) -> Array:
        """Return the density, or the probability if discrete."""
        return np.exp(self.log_prob(x))

    def sample(self, rng: Generator, n: int | None = None) -> NDArray[Any]:
        """Return random outcomes, shape (n, *batch, *event); without ``n`` just one set."""
        if not isinstance(rng, Generator):
            raise TypeError(
                "sample needs a numpy Generator first, so that draws can be repeated; found "
                f"{rng!r}. Write sample(np.random.default_rng(0), n)."
            )
        leading = () if n is None else (n,)
        return self._draw(rng, leading + self.batch_shape)

    @abstractmethod
    def mean(self) -> Array:
        """Return the expectation, shape (*batch, *event); NaN where there is none."""

    @abstractmethod
    def variance(self) -> Array:
        """Return the variance of each coordinate, shape (*batch, *event)."""

    def std(self) -> Array:
        """Return the standard deviation of each coordinate."""
        return np.sqrt(self.variance())

    @abstractmethod
    def mode(self) -> NDArray[Any]:
        """Return the most probable outcome.

        Of equally probable counts or labels the first. NaN for a density without a peak of
        its own: one that is flat, or infinite at both ends.
        """

    @abstractmethod
    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""

    def kl(self, other: "Distribution") -> Array:
        """Return the divergence ``E[log self - log other]`` under ``self``, in nats.

        Zero only for equal distributions, infinite where ``other`` rules out what ``self``
        allows, and not symmetric.

        Raises
        ------
        TypeError
            If the pair has no closed form.
        """
        if type(self) is type(other):
            return self._kl(other)
        raise TypeError(
            f"kl needs two distributions of one family; found {type(self).__name__} and "
            f"{type(other).__name__}. Estimate it as the mean of p.log_prob(x) - q.log_prob(x) "
            "over draws x of p."
        )

    @abstractmethod
    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return draws of shape (*shape, *event); ``shape`` ends in the batch shape."""

    def _kl(self, other: Self) -> Array:
        raise TypeError(
            f"kl between two {type(self).__name__} has no closed form. Estimate it as the mean "
            "of p.log_prob(x) - q.log_prob(x) over draws x of p."
        )

    def _full(self, values: ArrayLike) -> Array:
        """Return an answer that depends on some parameters only, one for each of the batch."""
        return np.array(np.broadcast_to(values, self.batch_shape))

"""The posterior of a real variable as weighted draws, with an account of how good it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from credo.distributions.distribution import Distribution
from credo.distributions.empirical import Empirical
from credo.inference.engine.account import Account
from credo.numerics.array import Array

__all__ = ["DrawnDistribution", "DrawnRows"]


@dataclass(frozen=True, eq=False)
class DrawnDistribution(Empirical):
    """An `Empirical` distribution that says how its draws were made.

    Attributes
    ----------
    account
        Method, error and effective draws.

    Examples
    --------
    >>> account = Account("likelihood weighting", False, 0.01, "largest standard error", 9000.0)
    >>> found = DrawnDistribution([1.0, 2.0, 4.0], [0.5, 0.25, 0.25], account)
    >>> float(found.mean()), found.account.effective_draws
    (2.0, 9000.0)
    """

    _shared: ClassVar[frozenset[str]] = frozenset({"account"})

    account: Account

    def __init__(self, draws: ArrayLike, weights: ArrayLike, account: Account) -> None:
        super().__init__(draws, weights)
        object.__setattr__(self, "account", account)


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Posterior of a real variable in each row, known through weighted draws.

    Attributes
    ----------
    mean, variance
        Shape (n_rows,); NaN in rows that no draw agrees with.
    distribution
        Returns the draws of one row; they are made again, not kept.
    """

    mean: Array
    variance: Array
    distribution: Callable[[int], Distribution]

    def total_mean(self) -> Array:
        """Return the mean, shape (n_rows,)."""
        return self.mean

    def total_variance(self) -> Array:
        """Return the variance, shape (n_rows,)."""
        return self.variance

    def mixture(self, row: int | None = None) -> Distribution:
        """Return the draws of one row, the first by default."""
        return self.distribution(row or 0)

"""The exact posterior of a real variable, with the account that every answer carries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from credo.distributions.distribution import Distribution
from credo.distributions.empirical import Empirical
from credo.distributions.mixture import Mixture
from credo.distributions.normal import Normal
from credo.inference.engine.account import Account
from credo.models.network.value.drawn_distribution import DrawnDistribution

__all__ = ["ExactMixture", "ExactNormal", "with_account"]


@dataclass(frozen=True, eq=False)
class ExactNormal(Normal):
    """A `Normal` that says how it was found.

    Attributes
    ----------
    account
        Method and error.
    """

    _shared: ClassVar[frozenset[str]] = frozenset({"account"})

    account: Account

    def __init__(self, loc: ArrayLike, scale: ArrayLike, account: Account) -> None:
        object.__setattr__(self, "account", account)
        super().__init__(loc, scale)

    def __repr__(self) -> str:
        return repr(Normal(self.loc, self.scale))


@dataclass(frozen=True, eq=False)
class ExactMixture(Mixture):
    """A `Mixture` that says how it was found.

    Attributes
    ----------
    account
        Method and error.
    """

    _shared: ClassVar[frozenset[str]] = frozenset({"account"})

    account: Account

    def __init__(
        self, weights: ArrayLike, components: Sequence[Distribution], account: Account
    ) -> None:
        object.__setattr__(self, "account", account)
        super().__init__(weights, components)

    def __repr__(self) -> str:
        return repr(Mixture(self.weights, self.components))


def with_account(found: Distribution, account: Account) -> Distribution:
    """Return the posterior of a real variable with the account of how it was found.

    Examples
    --------
    >>> with_account(Normal(0.0, 1.0), Account()).account.is_exact
    True
    """
    if isinstance(found, DrawnDistribution):
        return found
    if isinstance(found, Normal):
        return ExactNormal(found.loc, found.scale, account)
    if isinstance(found, Mixture):
        return ExactMixture(found.weights, found.components, account)
    if isinstance(found, Empirical):
        return DrawnDistribution(found.draws, found.weights, account)
    return found

"""The distribution of unseen outcomes, with the two sources of its spread kept apart."""

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from credo import distributions
from credo.distributions.distribution import Distribution
from credo.distributions.parameter import non_negative
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array
from credo.numerics.markup import MOST_ROWS, html_page, html_table, short_number

__all__ = ["Predictive"]


@dataclass(frozen=True, eq=False)
class Predictive(Univariate):
    """What a model says about outcomes it has not seen; it answers as its ``marginal`` does.

    Attributes
    ----------
    marginal
        Distribution of the outcome, one entry per row.
    epistemic_std
        Standard deviation that more data would remove: not knowing the parameters.
    aleatoric_std
        Standard deviation that stays: the noise of the outcome itself.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> p = Predictive(Normal([1.0], [0.5]), epistemic_std=[0.3], aleatoric_std=[0.4])
    >>> p.interval(0.9).round(3), p.epistemic_std
    (array([[0.178, 1.822]]), array([0.3]))
    """

    marginal: Univariate
    epistemic_std: Array
    aleatoric_std: Array

    def __init__(
        self, marginal: Univariate, epistemic_std: ArrayLike, aleatoric_std: ArrayLike
    ) -> None:
        advice = "Pass standard deviations."
        self._set(
            marginal=marginal,
            epistemic_std=_spread("epistemic_std", epistemic_std, advice),
            aleatoric_std=_spread("aleatoric_std", aleatoric_std, advice),
        )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        normal = distributions.Normal
        return cls(normal([0.0, 1.0], 5.0), 3.0, 4.0), cls(normal(1.0, 1.0), 0.6, 0.8)

    @classmethod
    def mixed(cls, weights: ArrayLike, parts: Sequence[Self]) -> Self:
        """Return the mixture of predictives; where they disagree is part of the doubt.

        Parameters
        ----------
        weights
            Weight of each part, shape (K,), or (*batch, K) for one set per row.
        parts
            What each of K models says of the same rows.

        Examples
        --------
        >>> Normal = distributions.Normal
        >>> parts = [Predictive(Normal(mean, 1.0), 0.0, 1.0) for mean in (-3.0, 3.0)]
        >>> float(Predictive.mixed([0.5, 0.5], parts).epistemic_std)
        3.0
        """
        shares = np.asarray(weights)
        mixture = distributions.Mixture(shares, [part.marginal for part in parts])
        mean = mixture.mean()
        noise = [part.aleatoric_std**2 for part in parts]
        doubt = [part.epistemic_std**2 + (part.mean() - mean) ** 2 for part in parts]
        return cls(mixture, _root_mean(shares, doubt), _root_mean(shares, noise))

    @property
    def is_discrete(self) -> bool:
        """Whether single outcomes have positive probability."""
        return self.marginal.is_discrete

    def support(self) -> tuple[Array, Array]:
        """Return the smallest and largest outcome."""
        return self.marginal.support()

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log predictive density of each outcome."""
        return self.marginal.log_prob(self._paired(x))

    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome not above ``x``."""
        return self.marginal.cdf(self._paired(x))

    def survival(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome above ``x``."""
        return self.marginal.survival(self._paired(x))

    def quantile(self, p: ArrayLike) -> Array:
        """Return the smallest outcome whose `cdf` reaches ``p``."""
        return self.marginal.quantile(p)

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the outcome that is exceeded with probability ``p``."""
        return self.marginal.upper_quantile(p)

    def mean(self) -> Array:
        """Return the predictive mean, the Bayes action under squared loss."""
        return self.marginal.mean()

    def variance(self) -> Array:
        """Return the predictive variance, both sources together."""
        return self.marginal.variance()

    def mode(self) -> NDArray[Any]:
        """Return the most probable outcome."""
        return self.marginal.mode()

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        return self.marginal.entropy()

    def expected_distance(self, y: ArrayLike) -> Array:
        """Return the expected absolute error of the guess ``y``."""
        return self.marginal.expected_distance(self._paired(y))

    def mean_difference(self) -> Array:
        """Return the expected distance of two independent outcomes."""
        return self.marginal.mean_difference()

    def _repr_html_(self) -> str:
        """Return the first rows as a table, as notebooks show them, and what all rows say."""
        shown = self[:MOST_ROWS] if self.batch_shape else self
        low, high = (np.ravel(end) for end in np.moveaxis(shown.interval(0.9), -1, 0))
        parts = [np.ravel(shown.mean()), np.ravel(shown.std()), low, high]
        spreads = (shown.epistemic_std, shown.aleatoric_std)
        parts += [np.ravel(np.broadcast_to(s, shown.batch_shape)) for s in spreads]
        places = [", ".join(map(str, place)) for place in np.ndindex(shown.batch_shape)]
        rows = [
            [place, *map(short_number, numbers)]
            for place, *numbers in zip(places, *parts, strict=True)
        ][:MOST_ROWS]
        headings = ["row", "mean", "std", "5 %", "95 %", "epistemic std", "aleatoric std"]
        title = f"{type(self).__name__} ({type(self.marginal).__name__})"
        return html_page(title, html_table(headings, rows), lines=self._summary(len(rows)))

    def _summary(self, n_shown: int) -> list[str]:
        """Return what all rows say in words, where not all of them are shown."""
        n = int(np.prod(self.batch_shape))
        if n <= n_shown:
            return []
        ends = [
            f"{name} from {short_number(float(np.min(values)))} to "
            f"{short_number(float(np.max(values)))}"
            for name, values in (("means", self.mean()), ("standard deviations", self.std()))
        ]
        return [f"{n_shown} of {n:,} predictions are shown; all have {' and '.join(ends)}."]

    def kl(self, other: Distribution) -> Array:
        """Return the divergence of the marginals."""
        return self.marginal.kl(other.marginal if isinstance(other, Predictive) else other)

    def _paired(self, x: ArrayLike) -> ArrayLike:
        """Refuse a list of outcomes beside a column of predictions, which would be crossed.

        A model fitted to ``y`` of shape (n, 1) predicts a column too, as scikit-learn's do.
        """
        n = len(x) if isinstance(x, Sized) and np.ndim(x) == 1 else 0
        if n > 1 and self.batch_shape == (n, 1):
            raise ValueError(
                f"outcomes must have the shape of the predictions, {self.batch_shape}; found "
                f"({n},), which would pair each outcome with every prediction. Pass "
                "y[:, None], or y[None, :] if all pairs are meant."
            )
        return x

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return self.marginal._draw(rng, shape)


def _root_mean(weights: Array, values: Sequence[Array]) -> Array:
    """Return the root of a weighted mean; what has no weight may be infinite."""
    shares = np.moveaxis(weights, -1, 0)
    return np.asarray(
        np.sqrt(sum(w * np.where(w > 0, v, 0.0) for w, v in zip(shares, values, strict=True)))
    )


def _spread(name: str, values: ArrayLike, advice: str) -> Array:
    """Return standard deviations, where infinite means a variance that does not exist."""
    array = np.asarray(values, dtype=np.float64)
    non_negative(name, np.where(np.isposinf(array), 0.0, array), advice)
    return array

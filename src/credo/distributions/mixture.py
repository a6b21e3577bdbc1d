"""Mixtures of distributions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import special

from credo.distributions.categorical import random_index
from credo.distributions.distribution import Distribution
from credo.distributions.empirical import Empirical
from credo.distributions.normal import Normal
from credo.distributions.parameter import simplex
from credo.distributions.quadrature import NEGLIGIBLE, integers_between, panels
from credo.distributions.search import first_integer, golden_maximum, increasing_root
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float
from credo.numerics.special.log_domain import log_sum_exp

__all__ = ["Alternatives", "Mixture"]

# Integrals over outcomes use hundreds of nodes per row; this many rows at a time fit a cache.
ROWS_AT_ONCE = 1024
PAIR_ORDER = 5


@dataclass(frozen=True, eq=False)
class Mixture(Univariate):
    """One of several distributions, chosen at random: ``p(x) = sum_k weights_k p_k(x)``.

    Distribution function, quantiles, intervals and scores exist where the components have
    them, that is for components of one number; vectors may be mixed as well.

    Attributes
    ----------
    weights
        Non-negative, summing to one; shape (K,), or (*batch, K) for one set per row.
    components
        K distributions of one event shape whose batch shapes broadcast. A component that is a
        mixture itself is replaced by its own components.

    Examples
    --------
    >>> both = Mixture([0.5, 0.5], (Normal(-1.0, 1.0), Normal(1.0, 1.0)))
    >>> float(both.mean()), float(both.variance()), float(both.quantile(0.5))
    (0.0, 2.0, 0.0)
    """

    weights: Array
    components: tuple[Distribution, ...]
    _event_dims: ClassVar[dict[str, int]] = {"weights": 1}

    def __init__(self, weights: ArrayLike, components: Sequence[Distribution]) -> None:
        shares, parts = simplex("weights", weights), tuple(components)
        if shares.shape[-1] != len(parts) or not parts:
            raise ValueError(
                "weights must have one entry per component along the last axis; found "
                f"{shares.shape[-1]} weights and {len(parts)} components. Pass weights of "
                "shape (K,) or (*batch, K)."
            )
        kinds = {(part.event_shape, part.is_discrete) for part in parts}
        if len(kinds) > 1:
            raise ValueError(
                "components must share one event shape and be all discrete or all continuous; "
                f"found {sorted(map(str, kinds))}. Mix densities with densities only."
            )
        shares, parts = _flat(shares, parts)
        self._set(weights=shares, components=parts)
        if self._pooled is None:
            _refuse_fractions(parts)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return (cls([0.3, 0.7], (Normal([-1.0, 0.0], 1.0), Normal(3.0, 0.5))),)

    @cached_property
    def _pooled(self) -> Empirical | None:
        """All draws as one set, where the components are draws with common weights."""
        draws = [part for part in self.components if isinstance(part, Empirical)]
        if len(draws) < len(self.components) or self.weights.ndim > 1:
            return None
        wide = [part._spread_to(self.batch_shape) for part in draws]
        shares = [w * part.weights for w, part in zip(self.weights, wide, strict=True)]
        return Empirical(np.concatenate([p.draws for p in wide]), np.concatenate(shares))

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one outcome."""
        return self.components[0].event_shape

    @property
    def is_discrete(self) -> bool:
        """Whether single outcomes have positive probability."""
        return self.components[0].is_discrete

    def support(self) -> tuple[Array, Array]:
        """Return the smallest and largest outcome of any component that has weight."""
        low, high = self._full(np.inf), self._full(-np.inf)
        for k, part in enumerate(self._univariate()):
            is_used, (least, most) = self.weights[..., k] > 0, part.support()
            low = np.where(is_used, np.minimum(low, least), low)
            high = np.where(is_used, np.maximum(high, most), high)
        return low, high

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log of the weighted sum of densities."""
        terms = np.stack(np.broadcast_arrays(*(part.log_prob(x) for part in self.components)))
        return log_sum_exp(terms, axis=0, weights=self._leading_weights(terms.ndim))

    def responsibility(self, x: ArrayLike) -> Array:
        """Return the probability of each component given an outcome, shape (..., K)."""
        terms = np.stack(
            np.broadcast_arrays(*(part.log_prob(x) for part in self.components)), axis=-1
        )
        with np.errstate(divide="ignore"):
            return np.asarray(special.softmax(terms + np.log(self.weights), axis=-1))

    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome not above ``x``."""
        return self._average([part.cdf(x) for part in self._univariate()])

    def survival(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome above ``x``, without cancellation."""
        return self._average([part.survival(x) for part in self._univariate()])

    def quantile(self, p: ArrayLike) -> Array:
        """Return the smallest outcome whose `cdf` reaches ``p``."""
        if self._pooled is not None:
            return self._pooled.quantile(p)
        ends = [part.quantile(p) for part in self._univariate()]
        return self._invert(p, ends, Mixture.cdf, 1.0)

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the outcome that is exceeded with probability ``p``, however small."""
        if self._pooled is not None:
            return self._pooled.upper_quantile(p)
        ends = [part.upper_quantile(p) for part in self._univariate()]
        return self._invert(p, ends, Mixture.survival, -1.0)

    def mean(self) -> Array:
        """Return the weighted mean of the component means."""
        return self._average([part.mean() for part in self.components], self.event_shape)

    def variance(self) -> Array:
        """Return the variance within components plus that between their means."""
        center = self.mean()
        second = [part.variance() + (part.mean() - center) ** 2 for part in self.components]
        return self._average(second, self.event_shape)

    def covariance(self) -> Array:
        """Return the covariance matrix of a mixture of vectors, within plus between."""
        center = self.mean()
        shifts = [part.mean() - center for part in self.components]
        second = [
            cast(Any, part).covariance() + s[..., :, None] * s[..., None, :]
            for part, s in zip(self.components, shifts, strict=True)
        ]
        return self._average(second, self.event_shape * 2)

    def expected_distance(self, y: ArrayLike) -> Array:
        """Return ``E|X - y|``, the expected absolute error of the guess ``y``."""
        return self._average([part.expected_distance(y) for part in self._univariate()])

    def expectation(self, function: Callable[[Array], ArrayLike], order: int = 8) -> Array:
        """Return the mean of ``function`` of the outcome, component by component."""
        parts = [part._spread_to(self.batch_shape) for part in self._univariate()]
        return self._average([part.expectation(function, order) for part in parts])

    def mean_difference(self) -> Array:
        """Return ``E|X - X'|``: exact for normal components and draws, else by quadrature."""
        if self._pooled is not None:
            return self._pooled.mean_difference()
        if self.is_discrete:
            return self._by_rows(Univariate.mean_difference)
        return self._by_rows(Mixture._mean_pair_distance)

    def _mean_pair_distance(self) -> Array:
        parts = [part._spread_to(self.batch_shape) for part in self._univariate()]
        total: Array = np.zeros(self.batch_shape)
        for k, a in enumerate(parts):
            for j, b in enumerate(parts[: k + 1]):
                share = self.weights[..., k] * self.weights[..., j]
                distance = a.mean_difference() if j == k else 2.0 * _mean_distance(a, b)
                total = total + share * np.where(share > 0, distance, 0.0)
        return total

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob`` by sum or quadrature; one number only."""
        if self._pooled is not None:
            return self._pooled.entropy()
        self._univariate()
        return self._by_rows(Univariate.entropy)

    def mode(self) -> NDArray[Any]:
        """Return the most probable outcome.

        For discrete outcomes by enumeration between the modes of the components; for densities
        by a search that starts from a grid finer than any component, and so finds the
        highest peak; for vectors the best among the modes of the components, which is close
        when they are well apart.
        """
        if self._pooled is not None:
            return self._pooled.mode()
        peaks = np.stack(np.broadcast_arrays(*(part.mode() for part in self.components)))
        if self.event_shape:
            return self._best(peaks)
        if self.is_discrete:
            return self._best(integers_between(peaks.min(axis=0), peaks.max(axis=0)))
        return self._by_rows(lambda rows: rows._highest_peak())

    def _highest_peak(self) -> Array:
        nodes, _ = self._outcomes()
        best = self.log_prob(nodes).argmax(axis=0)[None]
        last = len(nodes) - 1
        low = np.take_along_axis(nodes, np.maximum(best - 1, 0), axis=0)[0]
        high = np.take_along_axis(nodes, np.minimum(best + 1, last), axis=0)[0]
        peaks = [self._full(part.mode()) for part in self.components]
        return self._best(np.stack([golden_maximum(self.log_prob, low, high), *peaks]))

    def _best(self, candidates: Array) -> Array:
        """Return the most probable of candidates along the first axis, (n, *batch, *event)."""
        full = np.broadcast_to(
            candidates, (len(candidates), *self.batch_shape, *self.event_shape)
        )
        log_prob = self.log_prob(full)
        winner = np.where(np.isnan(log_prob), -np.inf, log_prob).argmax(axis=0)
        index = winner.reshape(1, *winner.shape, *[1] * len(self.event_shape))
        return np.asarray(np.take_along_axis(full, index, axis=0)[0])

    def _outcomes(self) -> tuple[Array, Array]:
        if not self.is_discrete:
            return panels(self._edges(), order=6)
        nodes = integers_between(self.quantile(NEGLIGIBLE), self.upper_quantile(NEGLIGIBLE))
        return nodes, np.ones_like(nodes)

    def _edges(self) -> Array:
        parts = [part._spread_to(self.batch_shape)._edges() for part in self._univariate()]
        wide = [np.broadcast_to(e, (len(e), *self.batch_shape)) for e in parts]
        return np.sort(np.concatenate(wide), axis=0)

    def _by_rows(self, answer: Callable[["Mixture"], Array]) -> Array:
        """Return an answer per row, computed for a limited number of rows at a time."""
        if not self.batch_shape or len(self) <= ROWS_AT_ONCE:
            return answer(self)
        starts = range(0, len(self), ROWS_AT_ONCE)
        return np.concatenate([answer(self[i : i + ROWS_AT_ONCE]) for i in starts])

    def _invert(
        self, p: ArrayLike, ends: Sequence[Array], mass: "TailMass", direction: float
    ) -> Array:
        """Return where a tail probability is ``p``, between the answers of the components."""
        shape = np.broadcast_shapes(np.shape(p), self.batch_shape)
        wide = [np.broadcast_to(end, shape) for end in ends]
        low, high = np.min(wide, axis=0), np.max(wide, axis=0)
        level = np.broadcast_to(as_float(p), shape)
        if self.is_discrete:
            return self._at_ends(
                first_integer(lambda x: direction * (mass(self, x) - level), low, high),
                level,
                direction,
            )
        size = np.prod(self.batch_shape, dtype=int)
        row = np.broadcast_to(np.arange(size).reshape(self.batch_shape), shape).ravel()
        flat, flat_level = self._flat(), level.ravel()

        # In logs Newton's method is as quick in the tails as in the middle.
        def log_ratio(x: Array, active: NDArray[np.intp]) -> tuple[Array, Array]:
            rows = flat[row[active]] if self.batch_shape else flat
            tail = mass(rows, x)
            return direction * np.log(tail / flat_level[active]), rows.prob(x) / tail

        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found = increasing_root(log_ratio, low.ravel(), high.ravel()).reshape(shape)
        return self._at_ends(found, level, direction)

    def _at_ends(self, found: Array, level: Array, direction: float) -> Array:
        """Return ``found``, but at levels zero and one the ends of the support."""
        zero, one = self.support() if direction > 0 else self.support()[::-1]
        return np.where(level == 0, zero, np.where(level == 1, one, found))

    def _average(self, values: Sequence[Array], event: tuple[int, ...] = ()) -> Array:
        """Return the weighted mean over components of arrays that broadcast over the batch."""
        total: Array = np.zeros(self.batch_shape + event)
        for k, value in enumerate(values):
            share = self.weights[..., k].reshape(self.weights.shape[:-1] + (1,) * len(event))
            # A component without weight says nothing, not even where its moment is infinite.
            total = total + share * np.where(share > 0, value, 0.0)
        return total

    def _leading_weights(self, ndim: int) -> Array:
        """Return the weights with the component axis first, ready for (K, ..., *batch)."""
        shares = np.moveaxis(self.weights, -1, 0)
        return shares.reshape(shares.shape[:1] + (1,) * (ndim - shares.ndim) + shares.shape[1:])

    def _univariate(self) -> tuple[Univariate, ...]:
        if all(isinstance(part, Univariate) for part in self.components):
            return cast(tuple[Univariate, ...], self.components)
        raise TypeError(
            "distribution functions and quantiles need components of one number; found "
            f"{type(self.components[0]).__name__}. Take a marginal first."
        )

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        choice = random_index(rng, self.weights, shape)
        choice = choice.reshape(shape + (1,) * len(self.event_shape))
        first, *others = (part._spread_to(self.batch_shape) for part in self.components)
        answer = first._draw(rng, shape)
        for k, part in enumerate(others, start=1):
            chosen = choice == k
            if chosen.any():
                answer = np.where(chosen, part._draw(rng, shape), answer)
        return np.asarray(answer)


@dataclass(frozen=True, eq=False)
class Alternatives(Distribution):
    """Distributions of one family, and a last one of another, side by side as a batch.

    Attributes
    ----------
    rows
        Distributions of vectors, batch shape (K,), or of independent numbers, (K, d).
    background
        A distribution of vectors, of one entry.
    """

    rows: Distribution
    background: Distribution
    _shared: ClassVar[frozenset[str]] = frozenset(["background"])

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one row."""
        return self.background.event_shape

    @cached_property
    def batch_shape(self) -> tuple[int, ...]:
        """As many entries as there are distributions."""
        return (int(self.rows.batch_shape[0]) + 1,)

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density of rows (..., 1, d) in each entry, (..., K)."""
        value = as_float(x)
        own, other = self.rows.log_prob(value), self.background.log_prob(value)
        if not self.rows.event_shape:
            own = own.sum(axis=-1)
        other = np.broadcast_to(other, (*own.shape[:-1], 1))
        return np.concatenate([own, other], axis=-1)

    def mean(self) -> Array:
        """Return the mean of each entry, shape (K, d)."""
        return self._joined(self.rows.mean(), self.background.mean())

    def variance(self) -> Array:
        """Return the variances of each entry, shape (K, d)."""
        return self._joined(self.rows.variance(), self.background.variance())

    def mode(self) -> Array:
        """Return the mode of each entry, shape (K, d)."""
        return self._joined(self.rows.mode(), self.background.mode())

    def entropy(self) -> Array:
        """Return the entropy of each entry, shape (K,)."""
        own = self.rows.entropy()
        total = own if self.rows.event_shape else own.sum(axis=-1)
        return np.append(total, self.background.entropy())

    def _joined(self, own: Array, other: Array) -> Array:
        return np.concatenate([own, np.broadcast_to(other, (1, own.shape[-1]))])

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        n = shape[:-1]
        own = self.rows._draw(rng, n + self.rows.batch_shape)
        other = self.background._draw(rng, n + self.background.batch_shape)
        return np.concatenate([own, np.asarray(other)[..., None, :]], axis=-2)


TailMass = Callable[[Mixture, Array], Array]


def _flat(
    weights: Array, components: tuple[Distribution, ...]
) -> tuple[Array, tuple[Distribution, ...]]:
    """Return weights and components with those of mixtures among the components instead."""
    if not any(isinstance(part, Mixture) for part in components):
        return weights, components
    shares: list[Array] = []
    parts: list[Distribution] = []
    for k, part in enumerate(components):
        own = part.weights if isinstance(part, Mixture) else np.ones(1)
        shares.append(weights[..., k, None] * own)
        parts += part.components if isinstance(part, Mixture) else [part]
    batch = np.broadcast_shapes(*(share.shape[:-1] for share in shares))
    wide = [np.broadcast_to(share, (*batch, share.shape[-1])) for share in shares]
    return np.concatenate(wide, axis=-1), tuple(parts)


def _refuse_fractions(parts: tuple[Distribution, ...]) -> None:
    """Refuse draws between the whole numbers that other discrete components live on."""
    draws = [part.draws for part in parts if isinstance(part, Empirical)]
    if any((values != np.floor(values)).any() for values in draws):
        raise ValueError(
            "draws mixed with other discrete components, or with weights per row, must be "
            "whole numbers; found fractions. Mix Empirical with Empirical by weights of "
            "shape (K,), or smooth the draws first."
        )


def _mean_distance(a: Univariate, b: Univariate) -> Array:
    """Return ``E|X - Y|`` for independent variables of equal batch shape."""
    if isinstance(a, Normal) and isinstance(b, Normal):
        return Normal(a.loc - b.loc, np.hypot(a.scale, b.scale)).expected_distance(0.0)
    # The distance from a wide variable is smooth at the scale of a narrow one.
    is_narrow = _half_width(a) <= _half_width(b)
    answer = np.empty(a.batch_shape)
    for rows, inner, outer in ((is_narrow, a, b), (~is_narrow, b, a)):
        if rows.any():
            distance = outer[rows].expected_distance
            answer[rows] = inner[rows].expectation(distance, PAIR_ORDER)
    return answer


def _half_width(d: Univariate) -> Array:
    return d._full(d.upper_quantile(0.25) - d.quantile(0.25))

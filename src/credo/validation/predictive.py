"""The predictive distribution of any fitted estimator, whoever wrote it and however wrapped.

A target that was transformed has the distribution of a monotone function of a known variable.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.distributions.categorical import Categorical
from credo.distributions.predictive import Predictive
from credo.distributions.quadrature import tail_levels
from credo.distributions.search import golden_maximum
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float
from credo.validation.outcome import class_codes

__all__ = [
    "Change",
    "ChangedVariable",
    "HasPredictive",
    "class_probability",
    "has_predictive",
    "predict_dist",
    "predictive_of",
]

# Probability that may be lost to values that no target is transformed into, unmentioned.
MOST_UNREACHABLE = 1e-3

# Probabilities in single precision sum to one no better than this.
ROUNDING = 1e-5


@runtime_checkable
class HasPredictive(Protocol):
    """A model with a predictive distribution."""

    def predict_dist(self, X: Any) -> Any:
        """Return the distribution of the outcome, one entry per row."""


def predict_dist(obj: Any, X: ArrayLike) -> Any:
    """Return the predictive distribution of a fitted object, one entry per row.

    Reaches through `Pipeline`, `GridSearchCV` and its relatives, and
    `TransformedTargetRegressor`, whose change of variable is carried out exactly where the
    transformer can be undone; a warning tells if predictions lie elsewhere. A classifier
    without ``predict_dist`` is heard through ``predict_proba``.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from credo.models import LinearRegression
    >>> x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.2, 0.9, 2.1, 2.8])
    >>> model = make_pipeline(StandardScaler(), LinearRegression()).fit(x, y)
    >>> predict_dist(model, [[1.5]]).interval(0.9).round(2)
    array([[1.08, 1.92]])
    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"])
    >>> predict_dist(model, [[0.5], [3.5]]).mode().tolist()
    ['low', 'high']
    """
    if hasattr(obj, "predict_dist"):
        return obj.predict_dist(X)
    if hasattr(obj, "steps"):
        return predict_dist(obj.steps[-1][1], obj[:-1].transform(X) if len(obj) > 1 else X)
    if _is_search(obj):
        check_is_fitted(obj)
        return predict_dist(obj.best_estimator_, X)
    if _is_transformed(obj):
        check_is_fitted(obj)
        return _back_transformed(obj, X)
    if hasattr(obj, "predict_proba") and hasattr(obj, "classes_"):
        return _heard_through_proba(obj, X)
    raise TypeError(
        "predict_dist needs a model that has a predictive distribution; found "
        f"{type(obj).__name__}. Use a credo estimator or a classifier with predict_proba, "
        "alone, in a Pipeline, in a search or in a TransformedTargetRegressor."
    )


predictive_of = predict_dist
"""`predict_dist`, by the name that it has in `credo.evaluation`."""


def has_predictive(obj: Any) -> bool:
    """Return whether `predict_dist` has an answer for an object, once it is fitted.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression, Perceptron
    >>> has_predictive(LogisticRegression()), has_predictive(Perceptron())
    (True, False)
    """
    if hasattr(obj, "predict_dist") or hasattr(obj, "predict_proba"):
        return True
    if hasattr(obj, "steps"):
        return has_predictive(obj.steps[-1][1])
    if _is_search(obj):
        return has_predictive(getattr(obj, "best_estimator_", obj.estimator))
    return _is_transformed(obj) and has_predictive(getattr(obj, "regressor_", obj.regressor))


def class_probability(obj: Any, X: Any, classes: NDArray[Any]) -> Array:
    """Return a classifier's probabilities of ``classes``, shape (n, K); 0 for those not seen.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"])
    >>> class_probability(model, [[0.5]], np.array(["high", "low", "middle"])).round(3)
    array([[0., 1., 0.]])
    """
    predictive = predict_dist(obj, X)
    found: Array = predictive.probability
    if np.array_equal(predictive.labels, classes):
        return found
    probability = np.zeros((len(found), len(classes)))
    probability[:, class_codes(predictive.labels, classes)] = found
    return probability


def _is_search(obj: Any) -> bool:
    is_of_scikit_learn = _is_a(obj, "sklearn.model_selection._search", "BaseSearchCV")
    return is_of_scikit_learn or hasattr(obj, "best_estimator_")


def _is_transformed(obj: Any) -> bool:
    return _is_a(obj, "sklearn.compose", "TransformedTargetRegressor")


def _heard_through_proba(classifier: Any, X: ArrayLike) -> Categorical:
    probability = as_float(classifier.predict_proba(X))
    total = probability.sum(axis=-1, keepdims=True)
    is_close = np.abs(total - 1.0) <= ROUNDING
    return Categorical(
        np.where(is_close, probability / total, probability), classifier.classes_
    )


def _is_a(obj: Any, module: str, name: str) -> bool:
    """Return whether an object is of a class, without loading what no one has loaded yet."""
    return isinstance(obj, getattr(sys.modules.get(module), name, ()))


def _back_transformed(obj: Any, X: ArrayLike) -> Predictive:
    inner: Predictive = predict_dist(obj.regressor_, X)
    if len(inner.batch_shape) > 1:
        raise ValueError(
            "predict_dist through TransformedTargetRegressor needs one output; found "
            f"{inner.batch_shape[1]}. Fit one regressor per output."
        )

    transformer = obj.transformer_
    forward, inverse = _column(transformer.transform), _column(transformer.inverse_transform)
    moved = ChangedVariable(inner.marginal, forward, inverse)
    _warn_of_unreachable(float(moved.unreachable().max(initial=0.0)))
    # The noise and the doubt are stretched alike, to first order in their size.
    total = np.sqrt(inner.epistemic_std**2 + inner.aleatoric_std**2)
    stretch = moved.std() / total
    return Predictive(moved, stretch * inner.epistemic_std, stretch * inner.aleatoric_std)


def _column(change: Callable[[Any], Any]) -> Change:
    """Return a transformer's change of any array, NaN where the transformer has no answer."""

    def apply(values: Array) -> Array:
        answer = np.full(values.shape, np.nan)
        finite = np.isfinite(values)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            # NaN says it; transformers warn of it once more, whatever the error state is.
            warnings.simplefilter("ignore")
            answer[finite] = _changed(change, values[finite])
        return answer

    return apply


def _changed(change: Callable[[Any], Any], values: Array) -> Array:
    if not values.size:
        return values
    try:
        return np.asarray(change(values.reshape(-1, 1)), dtype=np.float64).ravel()
    except ValueError:
        # Some transformers refuse all values for the sake of one; halving finds the culprits.
        if values.size == 1:
            return np.array([np.nan])
        half = values.size // 2
        return np.append(_changed(change, values[:half]), _changed(change, values[half:]))


def _warn_of_unreachable(mass: float) -> None:
    if mass > MOST_UNREACHABLE:
        warnings.warn(
            "predictions should lie where the transformer of the target can be undone; found "
            f"up to {mass:.2g} of their probability elsewhere, which is left out. Use a "
            "transformer that reaches every number, such as a logarithm or StandardScaler.",
            stacklevel=4,
        )


Change = Callable[[Array], Array]

TOLERANCE = 1e-6
# Differences that give the slope of a change, in units of the quartiles of its base.
STEP = 1e-3
# Stands for infinity where a transformer takes finite numbers only.
ENORMOUS = 1e300
# Where the image ends, moments leave out at least this probability.
TRIMMED = 1e-9
DEPTHS = np.concatenate([np.linspace(np.log(2.0), 5.0, 60), np.linspace(6.0, 40.0, 18)])


class Image(NamedTuple):
    """The interval of ``z`` that the change reaches, and its value at some ``z`` inside."""

    low: float
    high: float
    is_increasing: bool
    inside: float


@dataclass(frozen=True, eq=False)
class ChangedVariable(Univariate):
    """Distribution of ``inverse(z)``, monotone in ``z``, whose distribution is known.

    Where ``forward`` does not reach every ``z``, as the square root reaches no negative
    number, the distribution of ``z`` is that given a ``z`` within reach; `unreachable` is the
    probability that this leaves out. Where outcomes grow without bound towards such an end,
    as those of a power transformer may, moments hold outcomes fixed within ten times that
    probability of the end: without this they would be infinite.
    """

    base: Univariate
    forward: Change
    inverse: Change
    _shared: ClassVar[frozenset[str]] = frozenset({"forward", "inverse"})

    def __init__(self, base: Univariate, forward: Change, inverse: Change) -> None:
        self._set(base=base, forward=forward, inverse=inverse)

    def unreachable(self) -> Array:
        """Return the probability under the base of values that no outcome is changed into."""
        below, above = self._left_out
        return self._full(below + above)

    def support(self) -> tuple[Array, Array]:
        """Return the outcomes at both ends of the image."""
        return self._full(self.quantile(0.0)), self._full(self.upper_quantile(0.0))

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log density, -inf for outcomes that cannot be; slopes by differences."""
        points = self._spread(x)
        z, is_possible = self._locate(points)
        inner = self.base.log_prob(z) - np.log1p(-self.unreachable())
        with np.errstate(divide="ignore"):
            density = inner - np.log(np.abs(self._stretch(z)))
        return np.where(is_possible, density, np.where(np.isnan(points), np.nan, -np.inf))

    def cdf(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome not above ``x``."""
        return self._tail(x, of_cdf=True)

    def survival(self, x: ArrayLike) -> Array:
        """Return the probability of an outcome above ``x``, without cancellation."""
        return self._tail(x, of_cdf=False)

    def quantile(self, p: ArrayLike) -> Array:
        """Return the outcome whose `cdf` is ``p``."""
        return self._at_level(as_float(p), from_low=self._image.is_increasing)

    def upper_quantile(self, p: ArrayLike) -> Array:
        """Return the outcome that is exceeded with probability ``p``."""
        return self._at_level(as_float(p), from_low=not self._image.is_increasing)

    def mean(self) -> Array:
        """Return the expectation, by quadrature over the quantiles."""
        return self._average(lambda y: y)

    def variance(self) -> Array:
        """Return the variance, by quadrature over the quantiles."""
        mean = self.mean()
        return self._average(lambda y: (y - mean) ** 2)

    def mode(self) -> Array:
        """Return the most probable outcome, by a search between quantiles of the base."""
        levels = np.exp(-DEPTHS).reshape(-1, *[1] * len(self.batch_shape))
        grid = np.concatenate(
            [self._level_of_base(levels, True)[::-1], self._level_of_base(levels, False)]
        )
        grid = np.array(np.broadcast_to(grid, (len(grid), *self.batch_shape)))
        best = _finite_or_lowest(self.log_prob(self.inverse(grid))).argmax(axis=0)[None]
        low = np.take_along_axis(grid, np.maximum(best - 1, 0), axis=0)[0]
        high = np.take_along_axis(grid, np.minimum(best + 1, len(grid) - 1), axis=0)[0]

        def height(z: Array) -> Array:
            return _finite_or_lowest(self.log_prob(self.inverse(z)))

        rough = np.take_along_axis(grid, best, axis=0)[0]
        fine = golden_maximum(height, low, high)
        # A density with jumps can be higher on the grid than where the search ends.
        return self.inverse(np.where(height(fine) >= height(rough), fine, rough))

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, by quadrature over the quantiles."""
        return self._average(lambda y: -self.log_prob(y))

    @cached_property
    def _image(self) -> Image:
        z = self._candidates()
        reached = z[self._is_reached(z)]
        if z.size and not reached.size:
            raise ValueError(
                "the change of variable must undo its inverse where predictions lie; found no "
                "such prediction. Check that inverse_func undoes func, or use a transformer "
                "that reaches every number."
            )
        if not z.size:
            return Image(-np.inf, np.inf, True, 0.0)
        low, high = float(reached[0]), float(reached[-1])
        ends = [low, high] if high > low else [low, low + TOLERANCE]
        first, last = self.inverse(np.array(ends))
        return Image(
            -np.inf if low == z[0] else self._edge(low, z[z < low].max()),
            np.inf if high == z[-1] else self._edge(high, z[z > high].min()),
            bool(last >= first),
            float(self.inverse(np.array([np.median(reached)]))[0]),
        )

    def _candidates(self) -> Array:
        """Return values of the base, from one far tail to the other, in increasing order."""
        levels = np.exp(-np.append(DEPTHS, 100.0)).reshape(-1, *[1] * len(self.batch_shape))
        both = [self.base.quantile(levels), self.base.upper_quantile(levels)]
        rows = np.concatenate(both)
        if not rows.size:
            return rows.ravel()
        # The extremes over rows at each level are enough to bracket where the image ends.
        found = np.quantile(rows.reshape(2 * len(levels), -1), [0.0, 0.5, 1.0], axis=1)
        return np.unique(found[np.isfinite(found)])

    def _is_reached(self, z: Array) -> NDArray[np.bool_]:
        quartiles = self.base.upper_quantile(0.25) - self.base.quantile(0.25)
        size = np.maximum(np.max(quartiles, initial=0.0), np.abs(z))
        back = self.forward(self.inverse(z))
        return np.asarray(np.abs(back - z) <= TOLERANCE * size)

    def _edge(self, inside: float, outside: float) -> float:
        """Return the last value within reach, between one that is and one that is not."""
        for _ in range(12):
            grid = np.linspace(inside, outside, 34)
            good = np.append(self._strictly_reached(grid[:-1]), False)
            good[0] = True
            last = int(np.flatnonzero(good)[-1])
            inside, outside = float(grid[last]), float(grid[last + 1])
        return inside

    def _strictly_reached(self, z: Array) -> NDArray[np.bool_]:
        back = self.forward(self.inverse(z))
        return np.asarray(np.abs(back - z) <= 1e-9 * np.maximum(1e-3, np.abs(z)))

    @cached_property
    def _left_out(self) -> tuple[Array, Array]:
        """Probability of the base below and above the image."""
        return self.base.cdf(self._image.low), self.base.survival(self._image.high)

    def _locate(self, points: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return the value of the base at each outcome, and whether there is one."""
        z, image = self.forward(points), self._image
        back = self.inverse(z)
        size = np.maximum(np.abs(points), np.abs(image.inside))
        with np.errstate(invalid="ignore"):
            is_close = np.abs(back - points) <= TOLERANCE * size
        is_possible = np.isfinite(z) & (z >= image.low) & (z <= image.high) & is_close
        return np.where(is_possible, z, 0.0), is_possible

    def _stretch(self, z: Array) -> Array:
        """Return the slope of the inverse, from one side next to the ends of the image."""
        step = STEP * (self.base.upper_quantile(0.25) - self.base.quantile(0.25))

        def moved(n_steps: int) -> Array:
            there = z + n_steps * step
            is_inside = (there >= self._image.low) & (there <= self._image.high)
            return np.where(is_inside, self.inverse(there), np.nan)

        here, near = self.inverse(z), moved(1) - moved(-1)
        slope = (8.0 * near - moved(2) + moved(-2)) / (12.0 * step)
        for other in (near / (2.0 * step), (moved(1) - here) / step, (here - moved(-1)) / step):
            slope = np.where(np.isfinite(slope), slope, other)
        return slope

    def _tail(self, x: ArrayLike, of_cdf: bool) -> Array:
        points = self._spread(x)
        z, is_possible = self._locate(points)
        below, above = self._left_out
        if of_cdf == self._image.is_increasing:
            part = self.base.cdf(z) - below
        else:
            part = self.base.survival(z) - above
        share = np.clip(part / (1.0 - below - above), 0.0, 1.0)
        # Outside of the image everything lies on one side.
        is_above = (points >= self._image.inside) == of_cdf
        outside = np.where(np.isnan(points), np.nan, np.where(is_above, 1.0, 0.0))
        return np.where(is_possible, share, outside)

    def _at_level(self, p: Array, from_low: bool) -> Array:
        z = self._level_of_base(p, from_low)
        if not np.isinf(z).any():
            return self.inverse(z)
        least, most = self._limits
        return np.where(np.isinf(z), np.where(z < 0, least, most), self.inverse(z))

    @cached_property
    def _limits(self) -> tuple[float, float]:
        """Limits of the outcome as the base goes to minus infinity and to infinity."""
        sign = 1.0 if self._image.is_increasing else -1.0
        ends = self.inverse(np.array([-ENORMOUS, ENORMOUS]))
        unbounded = np.array([-sign, sign]) * np.inf
        is_bounded = np.abs(ends) < np.sqrt(ENORMOUS)
        least, most = np.where(is_bounded, ends, unbounded)
        return float(least), float(most)

    def _level_of_base(self, p: Array, from_low: bool) -> Array:
        """Return where the base, given the image, has ``p`` on one side of it."""
        below, above = self._left_out
        inside = 1.0 - below - above
        if from_low:
            z = self.base.quantile(below + p * inside)
        else:
            z = self.base.upper_quantile(above + p * inside)
        return np.clip(z, self._image.low, self._image.high)

    def _spread(self, x: ArrayLike) -> Array:
        points = as_float(x)
        return np.array(
            np.broadcast_to(points, np.broadcast_shapes(points.shape, self.batch_shape))
        )

    def _average(self, function: Change) -> Array:
        levels, weights = tail_levels()
        levels = levels.reshape(-1, *[1] * len(self.batch_shape))
        total: Array = np.zeros(self.batch_shape)
        for from_low, left_out in zip((True, False), self._left_out, strict=True):
            trimmed = self._trimmed(left_out, from_low)
            kept = np.where(left_out > 0, np.maximum(levels, trimmed), levels)
            values = function(self._at_level(kept, from_low))
            total = total + np.einsum("i...,i->...", values, weights)
        return total

    def _trimmed(self, left_out: Array, from_low: bool) -> Array:
        """Return the probability next to an end of the image that moments leave out."""
        wide = np.clip(10.0 * left_out, TRIMMED, 0.05)
        levels = (np.asarray(TRIMMED), wide, np.asarray(0.5))
        last, near, middle = (self._at_level(level, from_low) for level in levels)
        has_pole = np.abs(last - middle) > 10.0 * np.abs(near - middle)
        return np.where(has_pole, wide, TRIMMED)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> Array:
        if np.any(self.unreachable() > 0):
            return self.quantile(rng.uniform(size=shape))
        return self.inverse(np.asarray(self.base._draw(rng, shape), dtype=np.float64))


def _finite_or_lowest(values: Array) -> Array:
    return np.where(np.isnan(values), -np.inf, values)

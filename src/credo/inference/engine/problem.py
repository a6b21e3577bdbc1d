"""Problems: what engines solve, and all that they see of a model.

=====================  ==================================================================
`ConjugateProblem`     a prior and statistics; solved in closed form
`LatentProblem`        data with a hidden part, by expected statistics under a belief
`LogDensity`           a log density and its gradient, of named parameters with supports
`BatchedDensity`       a log density without a gradient, of many values at once
`PointDensity`         what both of them are to an engine that needs no gradient
`CurvedProblem`        minus a log density, with its gradient and its Hessian
`SweepProblem`         variables that sweeps change one by one given the others
``FactorProblem``      a product of tables, in `credo.inference.discrete`
=====================  ==================================================================

A model states one of these; an engine serves every model that states its problem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.engine.draws import Draws
from credo.inference.engine.engine import EXACT, Inference
from credo.numerics.array import Array, as_float
from credo.numerics.quotation import quote
from credo.numerics.special.bijection import Bijection, support_table

__all__ = [
    "BatchedDensity",
    "ConjugateProblem",
    "CurvedProblem",
    "Expectation",
    "LatentProblem",
    "LogDensity",
    "Parameters",
    "PointDensity",
    "SweepProblem",
]

N_PROBES = 3
"""Points at which densities are compared."""


@dataclass(frozen=True, eq=False)
class ConjugateProblem:
    """A prior belief and the statistics of data that update it.

    Attributes
    ----------
    prior
        A belief with ``update`` and ``log_evidence``.
    statistics
        What it is updated by.

    Examples
    --------
    >>> from credo.families import BernoulliStatistics, BetaBernoulli
    >>> tosses = BernoulliStatistics.of([[1], [0], [1]])
    >>> found = ConjugateProblem(BetaBernoulli(1.0, 1.0), tosses).solution()
    >>> found.is_exact, round(float(np.exp(found.log_evidence)), 6)  # 1 / 12
    (True, 0.083333)
    """

    prior: Any
    statistics: Any

    def solution(self) -> Inference:
        """Return the posterior and the evidence, both exact: no engine is needed."""
        log_evidence = float(np.sum(self.prior.log_evidence(self.statistics)))
        posterior = self.prior.update(self.statistics)
        return Inference(posterior, log_evidence, "exact", account=EXACT)


@dataclass(frozen=True, eq=False)
class Expectation:
    """What the hidden part looks like under a belief.

    Attributes
    ----------
    statistics
        Expected statistics of the completed data.
    log_normalizer
        Sum over rows of the log normalizer of the distribution of their hidden part.
    """

    statistics: Any
    log_normalizer: float


class LatentProblem(Protocol):
    """Data with a hidden part, seen through beliefs (or parameters) and expected statistics."""

    @property
    def size(self) -> float:
        """Total weight of the rows; the tolerance of the engine is in nats per row."""
        ...

    @property
    def evidence_method(self) -> str:
        """What the objective is: "bound" for beliefs, "none" for parameters."""
        ...

    def start(self) -> Any:
        """Return the belief to start from."""
        ...

    def expect(self, belief: Any) -> Expectation:
        """Return expected statistics under a belief: the E step."""
        ...

    def update(self, statistics: Any) -> Any:
        """Return the belief after expected statistics: the M step."""
        ...

    def penalty(self, belief: Any) -> float:
        """Return the divergence of a belief from the prior; zero for parameters."""
        ...


class CurvedProblem(Protocol):
    """Minus a log posterior density ``E`` of parameters of shape (d,), with derivatives."""

    @property
    def start(self) -> Array:
        """Parameters to start from."""
        ...

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return ``E`` and its gradient (d,)."""
        ...

    def derivatives(self, parameters: Array) -> tuple[float, Array, Array]:
        """Return ``E``, its gradient (d,) and its curvature (d, d)."""
        ...


class SweepProblem(Protocol):
    """A density of variables with few values each, moved one by one given the others.

    Joint states have shape (n, n_variables). Engines average moments: functions of single
    variables that say all of their distributions, such as the probability of each state. The
    moments of independent variables, shape (n_moments,), are a distribution in mean field.
    """

    @property
    def n_moments(self) -> int:
        """Number of moments of all variables together."""
        ...

    def starts(self, n: int, rng: Generator) -> NDArray[Any]:
        """Return joint states of positive density that lie apart."""
        ...

    def log_density(self, states: NDArray[Any]) -> Array:
        """Return the log density of each joint state, not normalized."""
        ...

    def draw_sweeps(
        self, states: NDArray[Any], n_sweeps: int, rng: Generator
    ) -> tuple[NDArray[Any], Array]:
        """Return chains after sweeps of draws, and the average moments of each chain."""
        ...

    def draw_variance(self, moments: Array) -> Array:
        """Return the variance of what one draw says of each moment."""
        ...

    def mode_sweep(self, states: NDArray[Any]) -> tuple[NDArray[Any], int]:
        """Return states with each variable in turn at its likeliest, and how many moved."""
        ...

    def mean_sweep(self, moments: Array, damping: float) -> tuple[Array, float]:
        """Return independent variables after each became the best in turn, and the change.

        ``damping`` is the share of the old moments that stays.
        """
        ...

    def bound(self, moments: Array) -> float:
        """Return the lower bound of the log normalizer that independent variables give."""
        ...


@dataclass(frozen=True)
class Parameters:
    """Named parameters, each with a shape and a support, as one vector of free numbers.

    Attributes
    ----------
    supports
        A bijection for each name: `credo.numerics.special.bijection` has those of real and
        positive numbers, intervals, probabilities, rising numbers and covariances.

    Examples
    --------
    >>> from credo.numerics.special.bijection import positive, real
    >>> parameters = Parameters({"level": real(2), "scale": positive()})
    >>> parameters.n_free
    3
    >>> parameters.constrain(np.array([1.0, 2.0, 0.0]))["scale"]
    array(1.)
    """

    supports: Mapping[str, Bijection]

    def __post_init__(self) -> None:
        if not self.supports or not all(
            hasattr(support, "constrain") for support in self.supports.values()
        ):
            raise ValueError(
                "supports must be a bijection for each of at least one name; found "
                f"{quote(dict(self.supports))}. Write Parameters({{'level': real()}})."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(self.supports)

    @cached_property
    def table(self) -> Array | None:
        """What compiled loops must know of the supports; None if they do not know one."""
        return support_table(self.supports.values())

    @cached_property
    def n_free(self) -> int:
        """Free numbers of all parameters together."""
        return sum(support.n_free for support in self.supports.values())

    def constrain(self, free: Array) -> dict[str, Array]:
        """Return the values, (..., *shape) each, of free numbers, shape (..., n_free)."""
        return {name: support.constrain(free[..., part]) for name, support, part in self._parts}

    def free(self, values: Mapping[str, Any]) -> Array:
        """Return the free numbers of values inside their supports.

        Raises
        ------
        ValueError
            If a parameter is absent or unknown, or lies outside its support.
        """
        if set(values) != set(self.supports):
            raise ValueError(
                f"values must be given for {list(self.supports)}; found {list(values)}. Name "
                "each parameter once."
            )
        parts = []
        for name, support, _ in self._parts:
            with np.errstate(invalid="ignore", divide="ignore"):
                part = support.free(as_float(values[name]))
            if not np.all(np.isfinite(part)):
                raise ValueError(
                    f"{name} must lie inside its support, {support}; found a value at its "
                    "border or outside. Move it inside."
                )
            parts.append(part)
        return np.concatenate(parts, axis=-1)

    def log_jacobian(self, free: Array) -> Array:
        """Return the log of the volume of values per volume of free numbers, shape (...)."""
        logs = [support.log_jacobian(free[..., part]) for _, support, part in self._parts]
        return np.asarray(sum(logs))

    def jacobian_slope(self, free: Array) -> Array:
        """Return the gradient of ``log_jacobian``, shape (..., n_free)."""
        slopes = [support.jacobian_slope(free[..., part]) for _, support, part in self._parts]
        return np.concatenate(slopes, axis=-1)

    def pull_back(self, free: Array, gradient: Mapping[str, Array]) -> Array:
        """Return the gradient by the free numbers from those by the values."""
        parts = [
            support.pull_back(free[..., part], as_float(gradient[name]))
            for name, support, part in self._parts
        ]
        return np.concatenate(parts, axis=-1)

    def label(self, i: int) -> str:
        """Return the name of what a free number moves, with its place if there are several.

        Examples
        --------
        >>> from credo.numerics.special.bijection import real
        >>> Parameters({"level": real(), "slope": real(2)}).label(2)
        'slope[1]'
        """
        name, support, part = next(p for p in self._parts if p[2].start <= i < p[2].stop)
        if not support.shape:
            return name
        if support.n_free != int(np.prod(support.shape)):
            return f"free number {i - part.start} of {name}"
        return name + str([int(k) for k in np.unravel_index(i - part.start, support.shape)])

    @property
    def block(self) -> NDArray[np.intp]:
        """Which parameter each free number belongs to, counted from 0, shape (n_free,)."""
        sizes = [support.n_free for support in self.supports.values()]
        return np.repeat(np.arange(len(sizes)), sizes)

    def draws(self, free: Array) -> Draws:
        """Return draws by name from free ones, shape (n_chains, n_draws, n_free)."""
        return Draws(self.constrain(free))

    @cached_property
    def _parts(self) -> list[tuple[str, Bijection, slice]]:
        ends = np.cumsum([0, *(support.n_free for support in self.supports.values())]).tolist()
        return [
            (name, support, slice(*place))
            for (name, support), place in zip(
                self.supports.items(), pairwise(ends), strict=True
            )
        ]


Density = Callable[[dict[str, Array]], tuple[float, Mapping[str, Array]]]


@dataclass(frozen=True, eq=False)
class LogDensity:
    """A log density of named parameters, seen by engines as a density of free numbers.

    The density of the free numbers ``u`` is ``p(x(u)) |dx / du|``. As a `CurvedProblem` it is
    minus its log; the curvature is the difference of gradients.

    Attributes
    ----------
    parameters
        Names, shapes and supports.
    density
        From values by name, the log density (not normalized) and its gradient by each value.
    guess
        Free numbers to start from; zeros by default.

    Examples
    --------
    >>> from credo.inference import LaplaceApproximation, run
    >>> from credo.numerics.special.bijection import positive
    >>> def gamma(values):
    ...     x = values["rate"]
    ...     return float(2.0 * np.log(x) - 4.0 * x), {"rate": 2.0 / x - 4.0}
    >>> problem = LogDensity(Parameters({"rate": positive()}), gamma)
    >>> mode = run(LaplaceApproximation(), problem).posterior.mean()
    >>> round(float(problem.parameters.constrain(mode)["rate"]), 4)  # shape over rate
    0.75
    """

    parameters: Parameters
    density: Density
    guess: Array | None = field(default=None)

    def __post_init__(self) -> None:
        _require_guess(self.parameters, self.guess)

    @cached_property
    def start(self) -> Array:
        """Free numbers to start from."""
        return np.zeros(self.parameters.n_free) if self.guess is None else self.guess

    @cached_property
    def probed(self) -> Array:
        """Log densities at a few points around the start, which tell densities apart."""
        shift = np.random.default_rng(0).uniform(-1.0, 1.0, (N_PROBES, self.parameters.n_free))
        with np.errstate(all="ignore"):
            return self.log_densities(self.start + shift)

    def log_density(self, free: Array) -> float:
        """Return the log density of free numbers, shape (n_free,)."""
        return self.log_density_and_gradient(free)[0]

    def log_density_and_gradient(self, free: Array) -> tuple[float, Array]:
        """Return the log density of free numbers and its gradient, shape (n_free,)."""
        value, by_value = self._checked(self.density(self.parameters.constrain(free)))
        gradient = self.parameters.pull_back(free, by_value)
        total = float(value) + float(self.parameters.log_jacobian(free))
        return total, gradient + self.parameters.jacobian_slope(free)

    def log_densities(self, free: Array) -> Array:
        """Return the log density of each row of free numbers, shape (n, n_free).

        A density that has a method ``many`` is asked for all values at once, without slopes.
        """
        values = self.parameters.constrain(free)
        many = getattr(self.density, "many", self._each)
        return np.asarray(many(values) + self.parameters.log_jacobian(free))

    def _each(self, values: Mapping[str, Array]) -> Array:
        rows = range(len(next(iter(values.values()))))
        asked = ({name: x[i] for name, x in values.items()} for i in rows)
        return np.array([self._checked(self.density(row))[0] for row in asked])

    def _checked(self, answer: Any) -> tuple[float, Mapping[str, Array]]:
        """Return what the density gave, if that is a number and a gradient by each name."""
        is_pair = isinstance(answer, tuple) and len(answer) == 2
        if not is_pair or set(answer[1]) != set(self.parameters.names):
            raise ValueError(
                "density must return its log and a gradient by each of "
                f"{list(self.parameters.names)}; found {quote(answer)}. Return both."
            )
        return float(answer[0]), answer[1]

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return minus the log density of free numbers, and its gradient."""
        value, gradient = self.log_density_and_gradient(parameters)
        return -value, -gradient

    def derivatives(self, parameters: Array) -> tuple[float, Array, Array]:
        """Return minus the log density, its gradient, and its curvature by differences."""
        value, gradient = self.value_and_gradient(parameters)
        curvature = np.empty((len(parameters), len(parameters)))
        for i, x in enumerate(parameters.tolist()):
            # The cube root of the rounding error balances it with the error of the formula.
            step = 6e-6 * max(1.0, abs(x))
            ends = [parameters.copy(), parameters.copy()]
            ends[0][i], ends[1][i] = x - step, x + step
            low, high = (self.value_and_gradient(end)[1] for end in ends)
            curvature[i] = (high - low) / (ends[1][i] - ends[0][i])
        return value, gradient, 0.5 * (curvature + curvature.T)


class PointDensity(Protocol):
    """A log density of free numbers, shape (n_free,) each, seen through its values alone."""

    @property
    def parameters(self) -> Parameters:
        """Names, shapes and supports."""
        ...

    @property
    def start(self) -> Array:
        """Free numbers to start from."""
        ...

    def log_densities(self, free: Array) -> Array:
        """Return the log density of each row of free numbers, shape (n, n_free)."""
        ...


@dataclass(frozen=True, eq=False)
class BatchedDensity:
    """A log density of named parameters without a gradient, of many values at once.

    Attributes
    ----------
    parameters
        Names, shapes and supports.
    density
        From values by name, shape (n, *shape) each, the log density of each, shape (n,), not
        normalized.
    guess
        Free numbers to start from; zeros by default.

    Examples
    --------
    >>> from credo.numerics.special.bijection import positive
    >>> rate = BatchedDensity(Parameters({"x": positive()}), lambda values: -values["x"])
    >>> rate.log_densities(np.array([[0.0], [1.0]])).round(4)  # log x is added
    array([-1.    , -1.7183])
    """

    parameters: Parameters
    density: Callable[[dict[str, Array]], Array]
    guess: Array | None = field(default=None)

    def __post_init__(self) -> None:
        _require_guess(self.parameters, self.guess)

    @cached_property
    def start(self) -> Array:
        """Free numbers to start from."""
        return np.zeros(self.parameters.n_free) if self.guess is None else self.guess

    def log_densities(self, free: Array) -> Array:
        """Return the log density of each row of free numbers, shape (n, n_free)."""
        found = as_float(self.density(self.parameters.constrain(free)))
        if found.shape != (len(free),):
            raise ValueError(
                f"density must return one log density for each of {len(free)} values; found "
                f"the shape {found.shape}. Sum over the axes of a value, not over values."
            )
        return found + self.parameters.log_jacobian(free)


def _require_guess(parameters: Parameters, guess: Array | None) -> None:
    if guess is not None and np.shape(guess) != (parameters.n_free,):
        raise ValueError(
            f"guess must hold the {parameters.n_free} free numbers of "
            f"{list(parameters.names)}; found shape {np.shape(guess)}. Write "
            "parameters.free(values)."
        )

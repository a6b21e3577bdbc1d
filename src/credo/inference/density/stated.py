"""Densities that people state as plain functions: how they are called, and their gradients.

A function is called with the parameters by keyword if its arguments have their names, and else
with one dictionary of arrays by name; data follow. Its gradient is written by hand, found by
complex steps or finite differences, which need one or two calls for each number, or by JAX.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.exceptions import ComplexWarning
from numpy.typing import ArrayLike

from credo.inference.density.compiled import CompiledDensity
from credo.inference.density.trajectory import BadDensity
from credo.inference.engine.problem import LogDensity, Parameters
from credo.numerics.array import Array, as_float
from credo.numerics.optimize.difference import check_gradient
from credo.numerics.quotation import quote
from credo.numerics.special.bijection import (
    Bijection,
    Covariance,
    Interval,
    Ordered,
    Simplex,
)

__all__ = ["Parameter", "StatedDensity", "stated_problem"]

Values = dict[str, Array]

SUPPORTS = ("real", "positive", "unit", "simplex", "ordered", "covariance")

MOST_DIFFERENCES = 100
"""Numbers up to which a gradient is found by differences."""

WRONG = 1e-3
"""Relative error above which a gradient is wrong, and not merely rounded."""

GRADIENTS = {
    "own": "written by hand",
    "complex": "by complex steps, one call of the density for each number",
    "differences": "by finite differences, two calls of the density for each number",
    "jax": "by JAX",
    "compiled": "compiled",
}


@dataclass(frozen=True, eq=False)
class Parameter:
    """What a parameter of a density is: its shape, where it may lie, where to start.

    Attributes
    ----------
    shape
        Shape of the array; () for a number.
    support
        "real", "positive", "unit" (between 0 and 1), a pair of ends of which one may be
        infinite, "simplex" (probabilities that sum to one), "ordered" (rising numbers),
        "covariance" (a positive definite matrix), or a bijection of one's own.
    start
        Value inside the support near which searches and chains begin.

    Examples
    --------
    >>> Parameter(3, "positive").bijection
    Interval(low=0.0, high=inf, shape=(3,))
    >>> Parameter(support=(-1.0, 1.0)).bijection
    Interval(low=-1.0, high=1.0, shape=())
    """

    shape: int | tuple[int, ...] = ()
    support: str | tuple[float, float] | Bijection = "real"
    start: ArrayLike | None = field(default=None)

    def __post_init__(self) -> None:
        whole = (self.shape,) if isinstance(self.shape, int | np.integer) else tuple(self.shape)
        if not all(isinstance(n, int | np.integer) and n >= 1 for n in whole):
            raise ValueError(
                f"shape must be whole numbers of at least 1, or (); found {self.shape!r}. "
                "Write Parameter(3) for three numbers."
            )
        object.__setattr__(self, "shape", tuple(int(n) for n in whole))
        found = self.bijection
        if found.shape != self.shape:
            raise ValueError(
                f"shape must be that of the support, {found.shape}; found {self.shape}. A "
                "simplex and rising numbers have one axis, a covariance two equal ones."
            )

    @cached_property
    def bijection(self) -> Bijection:
        """The one-to-one function of free numbers that the support stands for."""
        shape: Any = self.shape
        if isinstance(self.support, tuple) and len(self.support) == 2:
            return Interval(float(self.support[0]), float(self.support[1]), shape)
        if not isinstance(self.support, str):
            if hasattr(self.support, "constrain"):
                return self.support
            raise _unknown_support(self.support)
        ends = {"real": (-np.inf, np.inf), "positive": (0.0, np.inf), "unit": (0.0, 1.0)}
        if self.support in ends:
            return Interval(*ends[self.support], shape)
        kinds: dict[str, Any] = {
            "simplex": Simplex,
            "ordered": Ordered,
            "covariance": Covariance,
        }
        if self.support not in kinds:
            raise _unknown_support(self.support)
        bounded: Bijection = kinds[self.support](shape[0] if shape else 1)
        return bounded


def _unknown_support(support: object) -> ValueError:
    return ValueError(
        f"support must be one of {SUPPORTS}, a pair of ends or a bijection; found "
        f"{quote(support)}. Write Parameter(support=(0.0, 10.0)) for numbers between two ends."
    )


@dataclass(frozen=True, eq=False)
class StatedDensity:
    """A function of people as the density of a `LogDensity`: values in, value and gradient out.

    Attributes
    ----------
    parameters
        Names, shapes and supports.
    function
        The log density, or that and its gradient.
    data
        What it is given besides.
    gradient
        "own" if the function returns it, a function of the same arguments, "complex",
        "differences" or "jax".
    """

    parameters: Parameters
    function: Callable[..., Any]
    data: Any
    gradient: str | Callable[..., Any]

    def __call__(self, values: Values) -> tuple[float, Mapping[str, Array]]:
        """Return the log density and its gradient by each parameter."""
        return self._answer(values)

    def many(self, values: Values) -> Array:
        """Return log densities alone, of values with an axis of points before their own."""
        n = len(next(iter(values.values())))
        rows = ({name: x[i] for name, x in values.items()} for i in range(n))
        found = [self._call(row) for row in rows]
        return np.array([each[0] for each in found] if self.gradient == "own" else found, float)

    @cached_property
    def _call(self) -> Callable[[Values], Any]:
        return _call(self.function, self.parameters.names, self.data)

    @cached_property
    def _answer(self) -> Callable[[Values], tuple[float, Mapping[str, Array]]]:
        call = self._call
        if callable(self.gradient):
            slope = _call(self.gradient, self.parameters.names, self.data)
            return lambda values: (call(values), self._by_name(slope(values)))
        if self.gradient == "own":
            return self._own(call)
        if self.gradient == "jax":
            return _by_jax(call)
        by = _by_complex_steps if self.gradient == "complex" else _by_differences
        return lambda values: by(call, values, self.parameters)

    def _own(
        self, call: Callable[[Values], Any]
    ) -> Callable[[Values], tuple[float, Mapping[str, Array]]]:
        def answer(values: Values) -> tuple[float, Mapping[str, Array]]:
            value, gradient = call(values)
            return value, self._by_name(gradient)

        return answer

    def _by_name(self, gradient: Any) -> Mapping[str, Array]:
        """Return a gradient by name; of a single parameter it may be given as it is."""
        if isinstance(gradient, Mapping):
            return gradient
        names = self.parameters.names
        if len(names) == 1:
            return {names[0]: gradient}
        if isinstance(gradient, tuple | list) and len(gradient) == len(names):
            return dict(zip(names, gradient, strict=True))
        raise BadDensity(
            f"a gradient must be a dictionary of arrays for {list(names)}; found "
            f"{quote(gradient)}. Return one entry for each parameter."
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone."""
        names = ("parameters", "function", "data", "gradient")
        return {name: getattr(self, name) for name in names}


def _call(
    function: Callable[..., Any], names: Sequence[str], data: Any
) -> Callable[[Values], Any]:
    """Return a function of values by name that calls another in the way it is written."""
    try:
        arguments = set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        arguments = set()
    if not set(names) <= arguments:
        return function if data is None else lambda values: function(values, data)
    if data is None:
        return lambda values: function(**values)
    if "data" in arguments:
        return lambda values: function(data=data, **values)
    if not isinstance(data, Mapping):
        raise ValueError(
            f"data must be taken by an argument of that name, or be a dictionary; found "
            f"{quote(data)} for a function of {sorted(arguments)}. Name an argument data."
        )
    return lambda values: function(**data, **values)


def _by_jax(call: Callable[[Values], Any]) -> Callable[[Values], Any]:
    try:
        jax = import_module("jax")
    except ImportError as error:
        raise ImportError(
            'gradient "jax" must find JAX installed; found no module of that name. Install '
            "jax, or leave the gradient out."
        ) from error
    jax.config.update("jax_enable_x64", True)
    both = jax.jit(jax.value_and_grad(call))

    def answer(values: Values) -> Any:
        value, gradient = both(dict(values))
        return float(value), {name: np.asarray(x) for name, x in gradient.items()}

    return answer


def _by_complex_steps(
    call: Callable[[Values], Any], values: Values, parameters: Parameters
) -> tuple[float, Values]:
    """Return the value, and imaginary parts of values a tiny imaginary step away."""
    gradient = {}
    for name, x in values.items():
        slope = np.empty(x.shape)
        for place in np.ndindex(x.shape):
            moved = x.astype(complex)
            size = 1e-30 * max(1.0, abs(float(x[place])))
            moved[place] += 1j * size
            slope[place] = complex(call({**values, name: moved})).imag / size
        gradient[name] = slope
    return float(call(values)), gradient


def _by_differences(
    call: Callable[[Values], Any], values: Values, parameters: Parameters
) -> tuple[float, Values]:
    """Return the value, and central differences that stay inside the supports."""
    gradient = {}
    for name, x in values.items():
        slope = np.empty(x.shape)
        for place in np.ndindex(x.shape):
            size = _step(float(x[place]), parameters.supports[name])
            ends = [x.copy(), x.copy()]
            ends[0][place] -= size
            ends[1][place] += size
            low, high = (float(call({**values, name: end})) for end in ends)
            slope[place] = (high - low) / (ends[1][place] - ends[0][place])
        gradient[name] = slope
    return float(call(values)), gradient


def _step(x: float, support: Bijection) -> float:
    size = 6e-6 * max(1.0, abs(x))
    if isinstance(support, Simplex):
        return min(size, 1e-3 * x) if x > 0.0 else size
    if isinstance(support, Interval):
        # Relative to the distance from an end a density has the digits it has elsewhere.
        near = min(x - support.low, support.high - x)
        return min(size, 1e-4 * near) if near > 0.0 else size
    return size


def stated_problem(
    log_density: Any, parameters: Mapping[str, Any], data: Any
) -> tuple[LogDensity, str]:
    """Return the problem that a function states, and how its gradient is found.

    Parameters
    ----------
    log_density
        A function of the parameters, which returns the log density or a pair of that and the
        gradient; a pair of two functions; a pair of a function and "complex", "differences" or
        "jax"; or a function compiled by numba as in `CompiledDensity`.

    Raises
    ------
    BadDensity
        If what it returns at the start is no number, or the gradient is wrong.
    """
    named = _checked_parameters(parameters)
    stated = Parameters({name: parameter.bijection for name, parameter in named.items()})
    guess = _guess(named, stated)
    function, gradient = _parts(log_density)
    if _is_compiled(function):
        density = CompiledDensity(stated, function, _arrays(data))
        problem = LogDensity(stated, density, guess)
        check_density(problem)
        return problem, GRADIENTS["compiled"]
    _require_apart(stated, data)
    if gradient is None:
        gradient = _gradient_of(stated, function, data, guess)
    problem = LogDensity(stated, StatedDensity(stated, function, data, gradient), guess)
    check_density(problem)
    return problem, GRADIENTS["own" if callable(gradient) else gradient]


def _checked_parameters(parameters: Any) -> dict[str, Parameter]:
    pairs = list(parameters.items()) if isinstance(parameters, Mapping) else list(parameters)
    is_right = all(
        isinstance(pair, tuple)
        and len(pair) == 2
        and isinstance(pair[0], str)
        and isinstance(pair[1], Parameter)
        for pair in pairs
    )
    if not pairs or not is_right:
        raise TypeError(
            f"parameters must be a Parameter for each name; found {quote(parameters)}. Write "
            "{'level': Parameter(), 'scale': Parameter(support='positive')}."
        )
    labels = [
        label
        for name, parameter in pairs
        for label in {name, *(name + str(list(k)) for k in np.ndindex(parameter.shape) if k)}
    ]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise ValueError(
            f"names of parameters must not overlap; found {twice} more than once, counting "
            "entries of arrays. Rename one of them."
        )
    return dict(pairs)


def _require_apart(parameters: Parameters, data: Any) -> None:
    both = sorted(set(parameters.names) & set(data)) if isinstance(data, Mapping) else []
    if both:
        raise ValueError(
            f"names of parameters and data must not overlap; found {both} in both. Rename one."
        )


def _guess(named: Mapping[str, Parameter], stated: Parameters) -> Array | None:
    """Return the free numbers of the starts that were given, and zeros for others."""
    if all(parameter.start is None for parameter in named.values()):
        return None
    middle = stated.constrain(np.zeros(stated.n_free))
    values = {}
    for name, parameter in named.items():
        value = middle[name] if parameter.start is None else as_float(parameter.start)
        if value.shape != parameter.shape:
            raise ValueError(
                f"start of {name} must have shape {parameter.shape}; found {value.shape}. "
                "Give a value of the parameter."
            )
        values[name] = value
    return stated.free(values)


def _parts(log_density: Any) -> tuple[Any, Any]:
    """Return a function, and its gradient if that is given or named."""
    pair = log_density if isinstance(log_density, tuple) else (log_density, None)
    by_name = ("complex", "differences", "jax")
    is_right = (
        len(pair) == 2
        and (callable(pair[0]) or hasattr(pair[0], "address"))
        and (pair[1] is None or callable(pair[1]) or pair[1] in by_name)
    )
    if not is_right:
        raise TypeError(
            "log_density must be a function, or a pair of a function and its gradient, a "
            f"function or one of {by_name}; found {quote(log_density)}. Pass a function of the "
            "parameters."
        )
    return pair


def _is_compiled(function: Any) -> bool:
    """Return whether a function writes its gradient to an array, in machine code."""
    if hasattr(function, "address"):
        return True
    written: Any = getattr(function, "py_func", None)
    if written is None:
        return False
    return list(inspect.signature(written).parameters)[:2] == ["values", "gradient"]


def _arrays(data: Any) -> tuple[Any, ...]:
    if data is None:
        return ()
    if isinstance(data, Mapping):
        return tuple(np.asarray(x) for x in data.values())
    if isinstance(data, tuple | list):
        return tuple(np.asarray(x) for x in data)
    return (np.asarray(data),)


def _gradient_of(
    parameters: Parameters, function: Callable[..., Any], data: Any, guess: Array | None
) -> str:
    """Return how to find the gradient of a function that comes without one."""
    free = np.zeros(parameters.n_free) if guess is None else guess
    values = parameters.constrain(free)
    with np.errstate(all="ignore"):
        found = _call(function, parameters.names, data)(values)
    if isinstance(found, tuple) and len(found) == 2:
        return "own"
    _require_number(found)
    n = int(sum(x.size for x in values.values()))
    if n > MOST_DIFFERENCES:
        raise BadDensity(
            f"a density of more than {MOST_DIFFERENCES} numbers must come with its gradient; "
            f"found {n} and none. Return (value, gradient), pass a pair of functions, or "
            '(log_density, "jax").'
        )
    return "complex" if _takes_complex(parameters, function, data, free) else "differences"


def _takes_complex(
    parameters: Parameters, function: Callable[..., Any], data: Any, free: Array
) -> bool:
    """Return whether complex steps give what differences give."""
    values = parameters.constrain(free)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error", ComplexWarning)
            slopes = [
                StatedDensity(parameters, function, data, kind)(values)[1]
                for kind in ("complex", "differences")
            ]
    except (TypeError, ValueError, ComplexWarning, AttributeError, np.linalg.LinAlgError):
        return False
    given, expected = (
        np.concatenate([np.ravel(slope[name]) for name in parameters.names]) for slope in slopes
    )
    size = np.abs(expected).max(initial=0.0)
    return bool(np.all(np.abs(given - expected) <= 1e-4 * size + 1e-8))


def check_density(problem: LogDensity) -> None:
    """Refuse a density whose answer has the wrong form, or whose gradient is wrong.

    The gradient is compared with differences near the start, where the density is positive.

    Raises
    ------
    BadDensity
        With the component that is wrong.
    """
    rng = np.random.default_rng(0)
    for width in (0.1, 0.5, 1.0, 2.0):
        free = problem.start + rng.uniform(-width, width, problem.parameters.n_free)
        with np.errstate(all="ignore"):
            values = problem.parameters.constrain(free)
            _require_form(problem, values)
            value, slope = problem.log_density_and_gradient(free)
            if not np.isfinite(value) or not np.isfinite(slope).all():
                continue
            report = check_gradient(
                problem.log_density,
                lambda x: problem.log_density_and_gradient(x)[1],
                free,
                tolerance=np.inf,
            )
        if report.error > WRONG:
            label = problem.parameters.label(report.index[0])
            raise BadDensity(
                "a gradient must be that of its log density; found, by the free number of "
                f"{label}, {report.given:.6g} where differences say {report.expected:.6g}. "
                f"Correct the derivative by {label.split('[')[0]}."
            )
        return


def _require_form(problem: LogDensity, values: Values) -> None:
    """Refuse an answer that is no number with a gradient of the shapes of the values."""
    answer: Any = problem.density(values)
    value, gradient = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, {})
    _require_number(value)
    wrong = {
        name: np.shape(gradient[name]) if name in gradient else "nothing"
        for name, x in values.items()
        if name not in gradient or np.shape(gradient[name]) != x.shape
    }
    for name, found in wrong.items():
        raise BadDensity(
            f"the gradient by {name} must have the shape of {name}, {values[name].shape}; "
            f"found {found}. Return one derivative for each number."
        )


def _require_number(value: Any) -> None:
    if np.shape(value) != () or not np.isrealobj(value):
        raise BadDensity(
            f"log_density must return one real number; found {quote(value)}. Sum over rows."
        )

"""Densities compiled by numba, which engines follow without leaving machine code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.inference.engine.problem import Parameters
from credo.numerics.array import Array

__all__ = ["CompiledDensity"]


@dataclass(frozen=True, eq=False)
class CompiledDensity:
    """A compiled function as the density of a `LogDensity`.

    Attributes
    ----------
    parameters
        Names, shapes and supports.
    function
        ``function(values, gradient, *data)``, compiled by ``numba.njit``: all values one after
        the other, in the order of the parameters, and an array of the same length to which it
        writes the gradient; it returns the log density. Or a C function, by ``numba.cfunc``,
        ``double (double *values, double *gradient, void *data)``.
    data
        Arrays that are handed on; of a C function at most one.

    Examples
    --------
    >>> import numba
    >>> from credo.inference import LogDensity, NoUTurnSampling, run
    >>> from credo.numerics.special.bijection import real
    >>> @numba.njit
    ... def normal(values, gradient, level):
    ...     total = 0.0
    ...     for i in range(values.size):
    ...         gradient[i] = level[i] - values[i]
    ...         total -= 0.5 * gradient[i] ** 2
    ...     return total
    >>> parameters = Parameters({"x": real(2)})
    >>> density = CompiledDensity(parameters, normal, (np.array([1.0, 5.0]),))
    >>> density({"x": np.zeros(2)})
    (-13.0, {'x': array([1., 5.])})
    >>> problem = LogDensity(parameters, density)
    >>> found = run(NoUTurnSampling(), problem, np.random.default_rng(0))
    >>> found.posterior.mean("x").round()
    array([1., 5.])
    """

    parameters: Parameters
    function: Any
    data: tuple[NDArray[Any], ...] = ()

    def __post_init__(self) -> None:
        is_c = hasattr(self.function, "address")
        if is_c and len(self.data) > 1:
            raise ValueError(
                f"data of a C function must be one array; found {len(self.data)}. Join them, "
                "or compile the density by numba.njit."
            )
        object.__setattr__(self, "data", tuple(np.ascontiguousarray(x) for x in self.data))

    def __call__(self, values: Mapping[str, Array]) -> tuple[float, dict[str, Array]]:
        """Return the log density and its gradient by each parameter."""
        flat = np.concatenate([np.ravel(values[name]) for name in self.parameters.names])
        slopes = np.zeros(len(flat))
        value = self._value(flat, slopes)
        shapes = {name: s.shape for name, s in self.parameters.supports.items()}
        ends = np.cumsum([np.prod(shape, dtype=np.intp) for shape in shapes.values()])
        parts = np.split(slopes, ends[:-1])
        gradient = {
            name: part.reshape(shape)
            for (name, shape), part in zip(shapes.items(), parts, strict=True)
        }
        return float(value), gradient

    def many(self, values: Mapping[str, Array]) -> Array:
        """Return log densities alone, of values with an axis of points before their own."""
        rows = np.column_stack([x.reshape(len(x), -1) for x in values.values()])
        slopes = np.zeros(rows.shape[1])
        return np.array([self._value(row, slopes) for row in np.ascontiguousarray(rows)])

    def _value(self, flat: Array, slopes: Array) -> float:
        if not hasattr(self.function, "address"):
            return float(self.function(flat, slopes, *self.data))
        kind = self.function.ctypes.argtypes[0]
        places = [x.ctypes.data_as(kind) for x in (flat, slopes)]
        return float(self.function.ctypes(*places, self._address_of_data))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: addresses are those of one process."""
        return {name: getattr(self, name) for name in ("parameters", "function", "data")}

    @cached_property
    def pointer(self) -> tuple[int, int]:
        """The addresses of the C function and of its data."""
        if hasattr(self.function, "address"):
            return int(self.function.address), self._address_of_data or 0
        return int(self._compiled.address), int(self._words.ctypes.data)

    @cached_property
    def _compiled(self) -> Any:
        from credo.inference.density import _loops_pointer  # noqa: PLC0415

        shapes = [support.shape for support in self.parameters.supports.values()]
        n_values = int(sum(np.prod(shape, dtype=np.intp) for shape in shapes))
        return _loops_pointer.as_c_function(self.function, self.data, n_values)

    @cached_property
    def _words(self) -> NDArray[np.int64]:
        from credo.inference.density import _loops_pointer  # noqa: PLC0415

        return _loops_pointer.words_of(self.data)

    @property
    def _address_of_data(self) -> int | None:
        return int(self.data[0].ctypes.data) if self.data else None

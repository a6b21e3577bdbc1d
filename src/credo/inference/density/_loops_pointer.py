"""Compiled densities as C functions, of which an engine needs to know no more than an address.

The C function is ``double (double *values, double *gradient, void *data)``. Data of a density
written with numba are arrays: ``data`` points to words, for each array its address and the
lengths of its axes.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array
from numpy.typing import NDArray

__all__ = ["as_c_function", "unpacking", "words_of"]

# numba tells type checkers about little of itself.
_intrinsic: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic
_typeof: Any = numba.typeof
_cfunc: Any = numba.cfunc
_carray: Any = getattr(numba, "carray")  # noqa: B009
_types: Any = types
_ir: Any = getattr(cgutils, "ir")  # noqa: B009
_populate: Any = populate_array


def words_of(arrays: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return addresses and lengths of arrays, one after the other."""
    words = [part for array in arrays for part in (array.ctypes.data, *array.shape)]
    return np.array([*words, 0], dtype=np.int64)


def as_c_function(function: Any, arrays: Sequence[NDArray[Any]], n_values: int) -> Any:
    """Return a C function around a compiled ``function(values, gradient, *arrays)``."""
    return _c_function(function, tuple(_typeof(array) for array in arrays), n_values)


@cache
def _c_function(function: Any, kinds: tuple[Any, ...], n_values: int) -> Any:
    pointer = _types.CPointer(types.float64)
    signature = types.float64(pointer, pointer, _types.CPointer(types.int64))
    unpacked = unpacking(kinds)

    def density(values: Any, gradient: Any, words: Any) -> Any:
        return function(
            _carray(values, (n_values,)), _carray(gradient, (n_values,)), *unpacked(words)
        )

    return _cfunc(signature, error_model="numpy")(density)


def unpacking(kinds: Sequence[Any]) -> Callable[..., Any]:
    """Return a function, for compiled ones alone, from words to a tuple of arrays.

    Words are a pointer to them, or its address as a number. The arrays own nothing: who holds
    the words must hold them as well.
    """

    @_intrinsic
    def unpacked(typing_context: Any, words: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = arguments[0]
            if isinstance(words, _types.Integer):
                pointer = builder.inttoptr(pointer, _ir.IntType(64).as_pointer())
            read = _words(context, builder, pointer)
            found = [_array(context, builder, kind, read) for kind in kinds]
            return context.make_tuple(builder, signature.return_type, found)

        return _types.Tuple(list(kinds))(words), generate

    return unpacked


def _words(context: Any, builder: Any, pointer: Any) -> Callable[[], Any]:
    """Return a function that reads the next word each time it is called."""
    place = iter(range(10**6))

    def read() -> Any:
        at = context.get_constant(types.int64, next(place))
        return builder.load(builder.gep(pointer, [at]))

    return read


def _array(context: Any, builder: Any, kind: Any, read: Callable[[], Any]) -> Any:
    """Return an array of which the next words tell the place and the shape."""
    array = context.make_array(kind)(context, builder)
    data = builder.inttoptr(read(), array.data.type)
    shape = [read() for _ in range(kind.ndim)]
    size = context.get_constant(
        types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype))
    )
    strides: list[Any] = []
    stride = size
    for length in reversed(shape):
        strides.insert(0, stride)
        stride = builder.mul(stride, length)
    _populate(array, data, shape, strides, size, None)
    return array._getvalue()

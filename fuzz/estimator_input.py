"""Inputs of estimators: odd shapes, scales and types, in every container people pass."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["CONTAINERS", "EstimatorInput", "estimator_input"]

Matrix = NDArray[np.float64]
SCALES = (1.0, 1.0, 1.0, 1e-3, 1e3, 1e-8, 1e8, 1e-30, 1e30, 1e-70, 1e70, 1e-300, 1e300)
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, 1e308, -1e308, 1e-320)


@dataclass(frozen=True)
class EstimatorInput:
    """Rows as plain numbers, and the outcome and weights that go with them.

    Attributes
    ----------
    is_plain
        Whether nothing about the numbers is extreme, so that a fit must succeed.
    """

    X: Matrix
    y: NDArray[Any]
    weight: Matrix | None
    is_plain: bool


def estimator_input(random: Random, *, has_classes: bool) -> EstimatorInput:
    """Return rows, an outcome and sometimes weights."""
    rng = np.random.default_rng(random.getrandbits(64))
    n, d = random.choice((1, 2, 3, 5, 8, 8, 13, 13, 20, 40)), random.choice((1, 1, 2, 3, 5, 12))
    X = rng.normal(size=(n, d))
    signal = X[:, 0] + random.choice((0.0, 0.3, 3.0)) * rng.normal(size=n)
    change = random.choice((_as_is, _as_is, _scaled, _shifted, _rounded, _repeated, _special))
    with np.errstate(all="ignore"):
        X = change(random, X)
        y = _classes(random, signal) if has_classes else _numbers(random, signal)
    weight = _weights(random, rng, n) if random.random() < 0.3 else None
    plain = change in (_as_is, _rounded) and n >= 8 and weight is None
    return EstimatorInput(X, y, weight, plain)


CONTAINERS: Mapping[str, Callable[[Matrix], Any]] = {
    "array": lambda X: X,
    "fortran": np.asfortranarray,
    "view": lambda X: np.repeat(X, 2, axis=0)[::2],
    "reversed": lambda X: X[::-1][::-1],
    "read-only": lambda X: _read_only(X),
    "list": lambda X: X.tolist(),
    "tuple": lambda X: tuple(map(tuple, X)),
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "longdouble": lambda X: X.astype(np.longdouble),
    "big-endian": lambda X: X.astype(">f8"),
    "object": lambda X: X.astype(object),
    "integers": lambda X: np.clip(np.nan_to_num(X), -1e9, 1e9).astype(np.int64),
    "small integers": lambda X: np.clip(np.nan_to_num(X), -100, 100).astype(np.int8),
    "truth values": lambda X: X > 0,
    "text": lambda X: X.astype("U"),
    "complex": lambda X: X.astype(complex),
    "pandas": lambda X: pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]),
    "pandas, numbered": lambda X: pd.DataFrame(X),
    "pandas, odd index": lambda X: pd.DataFrame(X, index=["row"] * len(X)),
    "pandas, nullable": lambda X: pd.DataFrame(X).convert_dtypes(),
    "polars": lambda X: pl.DataFrame(X, schema=[f"c{i}" for i in range(X.shape[1])]),
    "csr": sparse.csr_matrix,
    "csc array": sparse.csc_array,
    "masked": lambda X: np.ma.masked_array(X, mask=False),
    "masked in part": lambda X: np.ma.masked_array(X, mask=X > 0),
    "matrix of one row": lambda X: X[:1],
    "one axis": lambda X: X[:, 0],
    "three axes": lambda X: X[None],
    "dates": lambda X: np.zeros(X.shape, "datetime64[D]"),
    "bytes": lambda X: X.astype("S"),
    "dict": lambda X: {"x": X[:, 0]},
    "None": lambda X: None,
}
"""Ways to pass the same numbers; the last ones hold something else."""


def _read_only(X: Matrix) -> Matrix:
    X = X.copy()
    X.flags.writeable = False
    return X


def _as_is(random: Random, X: Matrix) -> Matrix:
    return X


def _scaled(random: Random, X: Matrix) -> Matrix:
    return X * [random.choice(SCALES) for _ in range(X.shape[1])]


def _shifted(random: Random, X: Matrix) -> Matrix:
    return X + random.choice((1e3, 1e8, 1e15, -1e30))


def _rounded(random: Random, X: Matrix) -> Matrix:
    return np.round(X)


def _repeated(random: Random, X: Matrix) -> Matrix:
    X = X.copy()
    X[:, random.randrange(X.shape[1])] = random.choice((0.0, 1.0, X[0, 0], X[:, 0]))
    return X[[random.randrange(len(X)) for _ in X]] if random.random() < 0.5 else X


def _special(random: Random, X: Matrix) -> Matrix:
    X = X.copy()
    X[random.randrange(len(X)), random.randrange(X.shape[1])] = random.choice(SPECIAL)
    return X


def _classes(random: Random, signal: Matrix) -> NDArray[Any]:
    n_classes = random.choice((1, 2, 2, 2, 2, 2, 2, 3, 3, 5, 20))
    codes = np.clip(((signal + 2) / 4 * n_classes).astype(int), 0, n_classes - 1)
    if len(codes) >= n_classes and random.random() < 0.9:
        codes[:n_classes] = np.arange(n_classes)
    labels = random.choice(
        (
            np.arange(n_classes),
            np.arange(n_classes) * 2.0 - 1,
            np.array([f"class {i}" for i in range(n_classes)]),
            np.array([f"k{i}" for i in range(n_classes)], dtype=object),
            np.arange(n_classes) - 10**12,
        )
    )
    return np.asarray(labels[codes])


def _numbers(random: Random, signal: Matrix) -> NDArray[Any]:
    y = signal * random.choice(SCALES)
    makes: tuple[Callable[[], Any], ...] = (
        lambda: y,
        lambda: y,
        lambda: y,
        lambda: y.astype(np.float32),
        lambda: y[:, None],
        lambda: np.column_stack([y, -y]),
        lambda: np.full_like(y, 3.0),
        lambda: np.round(y).astype(object),
        lambda: y.astype(">f8"),
        lambda: np.where(np.arange(len(y)) == 0, random.choice(SPECIAL), y),
    )
    return np.asarray(random.choice(makes)())


def _weights(random: Random, rng: np.random.Generator, n: int) -> Matrix:
    weight = rng.random(n) * random.choice((1.0, 1e-300, 1e-8, 1e8, 1e300, 1e308))
    if random.random() < 0.3:
        weight[rng.random(n) < 0.5] = 0.0
    if random.random() < 0.1:
        weight[0] = random.choice((-1.0, np.nan, np.inf))
    return weight

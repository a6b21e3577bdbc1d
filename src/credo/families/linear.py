"""Additive statistics of linear-Gaussian regression, in two forms.

While there are fewer rows than columns the rows themselves are the smallest statistic, and
``+`` stacks them; from then on it is the centered second-moment matrix of inputs and
outputs side by side. Both forms pool, forget and weigh rows in the same way, so that no
caller asks which one it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions.normal import Normal
from credo.families.rows import as_label, group_rows
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.form import MAX_FEATURES, Form
from credo.numerics.linear.moments import Moments

__all__ = ["LinearResponse", "LinearStatistics", "OutputLast"]


@dataclass(frozen=True, eq=False)
class LinearResponse:
    """Outputs that are normal around a linear function with known weights.

    Attributes
    ----------
    weights
        Shape (d,), or (n, d) for n such responses.
    noise_precision
        Inverse variance around the line, shape () or (n,).
    """

    weights: Annotated[Array, Form("... d")]
    noise_precision: Annotated[Array, Form("...", 0.0)]

    def given(self, x: ArrayLike) -> Normal:
        """Return the distribution of the output at one row ``x`` (d,) or at each of (m, d)."""
        rows = as_float(x)
        scale = 1 / np.sqrt(as_float(self.noise_precision))
        return Normal(self.weights @ rows.T, scale[..., None] if rows.ndim > 1 else scale)

    def log_prob(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the log density of outputs ``y`` at rows ``x``."""
        return self.given(x).log_prob(y)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows kept as they are: inputs, outputs and weights."""

    x: Annotated[Array, Form("n d")]
    y: Annotated[Array, Form("n k")]
    weight: Annotated[Array, Form("n", 0.0)]

    def __add__(self, other: Rows) -> Rows:
        return Rows(
            np.concatenate([self.x, other.x]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.weight, other.weight]),
        )

    def __sub__(self, other: Rows) -> Rows:
        places: dict[bytes, list[int]] = {}
        for i, row in enumerate(np.hstack([self.x, self.y])):
            places.setdefault(row.tobytes(), []).append(i)
        weight = self.weight.copy()
        for row, amount in zip(np.hstack([other.x, other.y]), other.weight, strict=True):
            _take(weight, places.get(row.tobytes(), []), float(amount))
        kept = weight > 0
        return Rows(self.x[kept], self.y[kept], weight[kept])


@dataclass(frozen=True, eq=False)
class LinearStatistics:
    """All that linear regression needs of its data: rows, or their moments.

    Attributes
    ----------
    n_features
        Number of input columns d; the output columns follow them.
    form
        `Rows` while there are fewer than d of them, else the joint `Moments`.

    Examples
    --------
    >>> x, t = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.2, 0.9, 2.1, 2.8])
    >>> total = LinearStatistics.of(x, t)
    >>> half = total - LinearStatistics.of(x[:2], t[:2])
    >>> float(half.weight), half.x_mean
    (2.0, array([2.5]))
    """

    n_features: Annotated[int, Form(low=0, high=MAX_FEATURES)]
    form: Rows | Moments

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        rows = np.random.default_rng(0).normal(size=(7, 2)) @ [[2.0, 0.6], [0.6, 1.0]]
        return (Example(OutputLast.of(rows), statistics=OutputLast, rows=rows),)

    def __post_init__(self) -> None:
        # One NaN among many rows makes their summary NaN, so that no extra pass is needed.
        form = self.form
        held = [form.x, form.y] if isinstance(form, Rows) else [form.scatter]
        if not all(np.isfinite(part).all() for part in held):
            raise ValueError(
                "x and y must be finite for linear regression; found NaN or infinity. Pairwise "
                "moments are neither conjugate nor positive semi-definite: fill or drop first."
            )

    @classmethod
    def of(
        cls, x: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None
    ) -> LinearStatistics:
        """Summarize rows ``x`` (n, d) with outputs ``y`` (n,) or (n, k); NaN is refused."""
        inputs, outputs, w = _checked(x, y, weight)
        return cls._summary(inputs, outputs, w)

    @classmethod
    def by_group(
        cls,
        x: ArrayLike,
        y: ArrayLike,
        label: ArrayLike,
        k: int,
        weight: ArrayLike | None = None,
    ) -> tuple[LinearStatistics, ...]:
        """Return the statistics of each of ``k`` groups; every row is read once."""
        inputs, outputs, w = _checked(x, y, weight)
        labels = as_label(label, len(inputs), k)
        return tuple(cls._summary(inputs, outputs, w, group) for group in group_rows(labels, k))

    @classmethod
    def _summary(
        cls, x: Array, y: Array, weight: Array | None, rows: NDArray[np.intp] | None = None
    ) -> LinearStatistics:
        """Summarize all rows, or the given ones, in the smaller of the two forms."""
        n_rows, d = len(x) if rows is None else len(rows), x.shape[1]
        if n_rows >= d:
            return cls(d, Moments.of([x, y], weight, rows))
        chosen: Any = slice(None) if rows is None else rows
        filled = np.ones(len(x)) if weight is None else weight
        return cls(d, Rows(x[chosen], y[chosen], filled[chosen]))

    def __add__(self, other: LinearStatistics) -> LinearStatistics:
        a, b = self.form, other.form
        if isinstance(a, Rows) and isinstance(b, Rows):
            if len(a.x) + len(b.x) < self.n_features:
                return LinearStatistics(self.n_features, a + b)
            a = a + b
            return LinearStatistics(self.n_features, Moments.of([a.x, a.y], a.weight))
        return LinearStatistics(self.n_features, self.moments + other.moments)

    def __sub__(self, other: LinearStatistics) -> LinearStatistics:
        a, b = self.form, other.form
        if isinstance(a, Rows) and isinstance(b, Rows):
            return LinearStatistics(self.n_features, a - b)
        return LinearStatistics(self.n_features, self.moments - other.moments)

    def maximum_likelihood(self) -> LinearResponse:
        """Return least squares through the origin, with the noise of its residuals.

        Add a column of ones for an intercept. Needs one output.
        """
        gram, cross = self.products()
        weights = as_float(np.linalg.lstsq(gram, cross, rcond=None)[0])
        return LinearResponse(weights, as_float(self.weight / self.residual(weights)))

    def products(self) -> tuple[Array, Array]:
        """Return ``X^T X`` and ``X^T y`` about zero, for statistics of one output."""
        if self.n_outputs != 1:
            raise ValueError(
                f"statistics must have one output here; found {self.n_outputs}. "
                "Keep one belief per output."
            )
        joint = self.moments.about_zero()
        return joint[: self.n_features, : self.n_features], joint[: self.n_features, -1]

    def residual(self, weights: Array) -> float:
        """Return the sum of squared residuals of one output under given weights."""
        signed = np.append(-weights, 1.0)
        # Centered moments first: squares about zero would cancel.
        spread = max(float(signed @ self.moments.scatter @ signed), 0.0)
        return spread + self.weight * float(signed @ self.moments.mean) ** 2

    @cached_property
    def moments(self) -> Moments:
        """The joint moments of inputs and outputs, whichever form is held."""
        if isinstance(self.form, Moments):
            return self.form
        return Moments.of([self.form.x, self.form.y], self.form.weight)

    @property
    def n_outputs(self) -> int:
        """Number of output columns."""
        if isinstance(self.form, Rows):
            return int(self.form.y.shape[1])
        return len(self.form.mean) - self.n_features

    @property
    def weight(self) -> float:
        """Sum of the row weights; a weight of two is a row given twice."""
        return (
            float(self.form.weight.sum()) if isinstance(self.form, Rows) else self.form.weight
        )

    @cached_property
    def x_mean(self) -> Array:
        """Weighted mean of the inputs, shape (d,)."""
        if isinstance(self.form, Rows):
            return np.asarray(self.form.weight @ self.form.x / max(self.weight, 1e-300))
        return self.form.mean[: self.n_features]

    @cached_property
    def y_mean(self) -> Array:
        """Weighted mean of the outputs, shape (k,)."""
        if isinstance(self.form, Rows):
            return np.asarray(self.form.weight @ self.form.y / max(self.weight, 1e-300))
        return self.form.mean[self.n_features :]

    @cached_property
    def x_scatter_diagonal(self) -> Array:
        """Centered sum of squares of each input, shape (d,)."""
        if isinstance(self.form, Rows):
            return np.asarray(self.form.weight @ (self.form.x - self.x_mean) ** 2)
        return np.maximum(np.diagonal(self.form.scatter)[: self.n_features], 0.0)

    @cached_property
    def y_scatter_diagonal(self) -> Array:
        """Centered sum of squares of each output, shape (k,)."""
        if isinstance(self.form, Rows):
            return np.asarray(self.form.weight @ (self.form.y - self.y_mean) ** 2)
        return np.maximum(np.diagonal(self.form.scatter)[self.n_features :], 0.0)


def _checked(
    x: ArrayLike, y: ArrayLike, weight: ArrayLike | None
) -> tuple[Array, Array, Array | None]:
    inputs, outputs = as_float(x), as_float(y)
    outputs = outputs[:, None] if outputs.ndim == 1 else outputs
    if len(inputs) != len(outputs):
        raise ValueError(
            f"x and y must have as many rows as each other; found {len(inputs)} and "
            f"{len(outputs)}. Pass one output row for each input row."
        )
    w = None if weight is None else np.broadcast_to(as_float(weight), (len(inputs),))
    return inputs, outputs, w


def _take(weight: Array, places: list[int], amount: float) -> None:
    """Lower the weights at equal rows by ``amount`` in all."""
    for i in places:
        taken = min(float(weight[i]), amount)
        weight[i] -= taken
        amount -= taken
    if amount > 1e-9:
        raise ValueError(
            "only rows that were added can be forgotten; found a row that is not there, or "
            "with less weight. Subtract statistics of rows that are part of the total."
        )


class OutputLast:
    """Statistics of rows whose last column is the output, which is how laws pass data.

    A column of ones is put before the inputs.
    """

    @staticmethod
    def of(rows: Array, weight: ArrayLike = 1.0) -> LinearStatistics:
        """Return the statistics of all rows."""
        return LinearStatistics.of(OutputLast._inputs(rows), rows[:, -1], weight)

    @staticmethod
    def by_group(
        rows: Array, label: ArrayLike, k: int, weight: ArrayLike = 1.0
    ) -> tuple[LinearStatistics, ...]:
        """Return the statistics of each group."""
        inputs = OutputLast._inputs(rows)
        return LinearStatistics.by_group(inputs, rows[:, -1], label, k, weight)

    @staticmethod
    def read(function: Callable[[Array, Array], Array], row: Array) -> Array:
        """Return a function of inputs and output at one row."""
        return np.squeeze(function(OutputLast._inputs(row[None])[0], row[-1]))

    @staticmethod
    def _inputs(rows: Array) -> Array:
        return np.hstack([np.ones((len(rows), 1)), rows[:, :-1]])

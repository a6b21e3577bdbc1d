"""Rows whose columns belong to several families, side by side and independent.

``p(x | parameters) = product over parts of p(x[columns] | parameters of the part)``; and what
is believed about the parts is independent. Statistics and updates are those of the parts,
evidence, log densities and divergences their sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from credo.distributions.independent_columns import (
    Columns,
    IndependentColumns,
    as_columns,
    leading_shape,
)
from credo.distributions.student_t import StudentT
from credo.families.belief import Belief
from credo.families.categorical import DirichletCategorical
from credo.families.known import Known
from credo.families.multivariate_normal import NormalInverseWishart
from credo.families.normal import NormalInverseGamma
from credo.families.poisson import GammaPoisson
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example

__all__ = ["Product", "ProductStatistics", "Summarized"]


@dataclass(frozen=True, eq=False)
class ProductStatistics:
    """Statistics of each part of a product; made by `Product.statistics_of`.

    ``a + b`` pools, ``a - b`` forgets, and ``s[i]`` picks a group of ``by_group``.

    Attributes
    ----------
    parts
        Statistics of each part, in the order of the belief.
    """

    parts: tuple[Any, ...]

    def __add__(self, other: ProductStatistics) -> ProductStatistics:
        pairs = zip(self.parts, other.parts, strict=True)
        return ProductStatistics(tuple(a + b for a, b in pairs))

    def __sub__(self, other: ProductStatistics) -> ProductStatistics:
        pairs = zip(self.parts, other.parts, strict=True)
        return ProductStatistics(tuple(a - b for a, b in pairs))

    def __getitem__(self, index: Any) -> ProductStatistics:
        return ProductStatistics(tuple(part[index] for part in self.parts))

    def pooled(self) -> ProductStatistics:
        """Return the statistics of all groups together."""
        return ProductStatistics(tuple(part.pooled() for part in self.parts))


@dataclass(frozen=True, eq=False)
class Product(Belief):
    """Belief about rows whose parts are independent, each of a family of its own.

    Gaps: a missing number says nothing about the part that it is of. Statistics of vectors need
    complete ones; gaps in normal vectors are hidden values of a `LatentClassProblem`.

    Attributes
    ----------
    parts
        Beliefs about numbers, batch shape (..., n_columns), or about vectors, (...).
    columns
        The columns of each part; every column of a row is in one part.

    Examples
    --------
    >>> prior = Product.by_column({
    ...     (0, 2): NormalInverseGamma(0.0, 1.0, 1.0, 1.0),
    ...     1: GammaPoisson(2.0, 1.0),
    ... })
    >>> seen = prior.statistics_of([[0.3, 4, 1.0], [0.1, 2, np.nan]])
    >>> posterior = prior.update(seen)
    >>> posterior.parts[1].mean().rate.round(3), posterior.mean().mean().round(3)
    (array([2.667]), array([0.133, 2.667, 0.5  ]))
    """

    parts: tuple[Belief, ...]
    columns: Columns
    _is_joint: ClassVar[bool] = True
    _shared: ClassVar[frozenset[str]] = frozenset(["columns"])

    def __init__(self, parts: Sequence[Belief], columns: Sequence[Any]) -> None:
        places = as_columns(columns, len(parts))
        own = [
            () if part.is_joint else (len(c),) for part, c in zip(parts, places, strict=True)
        ]
        batch = leading_shape(parts, own)
        wide = [part.spread((*batch, *shape)) for part, shape in zip(parts, own, strict=True)]
        self._set(parts=tuple(wide), columns=places)

    @classmethod
    def by_column(cls, families: Mapping[Any, Belief]) -> Self:
        """Return the product of beliefs, each about the column or columns that it is named by.

        Examples
        --------
        >>> counts = GammaPoisson(1.0, 1.0)
        >>> Product.by_column({1: counts, (0, 2): counts}).columns
        ((1,), (0, 2))
        """
        return cls(tuple(families.values()), tuple(families))

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        rng = np.random.default_rng(0)
        rows = np.column_stack(
            [rng.normal(size=(7, 2)), rng.poisson(3.0, 7), np.arange(7) % 3, rng.normal(size=7)]
        )
        mixed = cls.by_column(
            {
                (0, 4): NormalInverseGamma([0.3, -1.0], 0.7, 1.5, 2.0),
                2: GammaPoisson(2.5, 1.3),
                3: DirichletCategorical([0.5, 1.0, 2.5]),
                1: Known(StudentT(4.0, 0.0, 1.0)),
            }
        )
        joint = cls.by_column(
            {
                (0, 1): NormalInverseWishart([0.3, -1.0], 0.7, 4.5, [[2.0, 0.6], [0.6, 1.0]]),
                (2,): GammaPoisson(2.5, 1.3),
            }
        )
        return tuple(
            Example(
                prior,
                statistics=Summarized(prior),
                rows=rows[:, :n_columns],
                maximum_likelihood=False,
            )
            for prior, n_columns in ((mixed, 5), (joint, 3))
        )

    def statistics_of(self, x: ArrayLike, weight: ArrayLike = 1.0) -> ProductStatistics:
        """Return the statistics of rows (n, d), part by part."""
        return self._summary(x, lambda part, rows: part.statistics_of(rows, weight))

    def statistics_by_group(
        self, x: ArrayLike, label: ArrayLike, k: int, weight: ArrayLike = 1.0
    ) -> ProductStatistics:
        """Return the statistics of each of ``k`` groups of rows, in one pass for each part."""
        return self._summary(
            x, lambda part, rows: part.statistics_by_group(rows, label, k, weight)
        )

    def statistics_by_share(self, x: ArrayLike, share: ArrayLike) -> ProductStatistics:
        """Return the statistics of components in which every row has a share (n, K)."""
        return self._summary(x, lambda part, rows: part.statistics_by_share(rows, share))

    def update(self, statistics: ProductStatistics) -> Product:
        """Return the posterior; updating by parts equals updating by their sum."""
        parts: Any = self.parts
        pairs = zip(parts, statistics.parts, strict=True)
        return Product([part.update(seen) for part, seen in pairs], self.columns)

    def maximum_likelihood(self, statistics: ProductStatistics) -> IndependentColumns:
        """Return the observation distribution of largest likelihood, part by part."""
        pairs = zip(self.parts, statistics.parts, strict=True)
        parts = [part.maximum_likelihood(seen) for part, seen in pairs]
        return IndependentColumns(parts, self.columns)

    def mean(self) -> IndependentColumns:
        """Return the observation distribution at the expected parameters of each part."""
        return self._observation(lambda part: part.mean())

    def mode(self) -> IndependentColumns:
        """Return the observation distribution at the most probable parameters."""
        return self._observation(lambda part: part.mode())

    def log_density_at(self, observation: IndependentColumns) -> Array:
        """Return the log density of the parameters of all parts together."""
        return self._sum(lambda part, i: part.log_density_at(observation.parts[i]))

    def sample(self, rng: np.random.Generator, n: int | None = None) -> IndependentColumns:
        """Return the observation distribution at ``n`` draws of the parameters."""
        return self._observation(lambda part: part.sample(rng, n))

    def predictive(self) -> IndependentColumns:
        """Return the distribution of the next row."""
        return self._observation(lambda part: part.predictive())

    def log_evidence(self, statistics: ProductStatistics) -> Array:
        """Return the log density of the summarized data, all parts together."""
        return self._sum(lambda part, i: part.log_evidence(statistics.parts[i]))

    def expected_log_density(self, x: ArrayLike) -> Array:
        """Return the mean over this belief of ``log p(row | parameters)``; gaps add nothing."""
        rows = as_float(x)
        return self._sum(
            lambda part, i: part.expected_log_density(rows[..., list(self.columns[i])])
        )

    def kl(self, other: Product) -> Array:
        """Return the divergence of ``other`` from this belief, in nats."""
        return self._sum(lambda part, i: part.kl(other.parts[i]))

    def spread(self, shape: Sequence[int]) -> Product:
        """Return the same belief with the given batch shape, one copy for each entry."""
        if tuple(shape) == self.batch_shape:
            return self
        wide = [part.spread((*shape, *self._own(part))) for part in self.parts]
        return Product(wide, self.columns)

    def _own(self, part: Belief) -> tuple[int, ...]:
        """Return the axis of columns that a part has in its batch."""
        return () if part.is_joint else part.batch_shape[-1:]

    def _summary(
        self, x: ArrayLike, summary: Callable[[Belief, Array], Any]
    ) -> ProductStatistics:
        rows = as_float(x)
        n_columns = sum(len(columns) for columns in self.columns)
        if rows.ndim != 2 or rows.shape[1] != n_columns:
            raise ValueError(
                f"rows must have the {n_columns} columns that the parts name; found shape "
                f"{rows.shape}. Give every column to one part."
            )
        pairs = zip(self.parts, self.columns, strict=True)
        return ProductStatistics(
            tuple(summary(part, rows[:, list(columns)]) for part, columns in pairs)
        )

    def _observation(self, distribution: Callable[[Any], Any]) -> IndependentColumns:
        return IndependentColumns([distribution(part) for part in self.parts], self.columns)

    def _sum(self, values: Callable[[Any, int], Array]) -> Array:
        terms = [part.row_total(values(part, i)) for i, part in enumerate(self.parts)]
        return np.asarray(sum(terms))

    def _shapes(self, name: str) -> list[tuple[int, ...]]:
        if name in self._shared:
            return []
        return [
            part.batch_shape[: len(part.batch_shape) - len(self._own(part))]
            for part in self.parts
        ]

    def _take(self, name: str, index: tuple[Any, ...]) -> Any:
        if name in self._shared:
            return self.columns
        is_open = any(i is Ellipsis for i in index)
        return tuple(
            part[(*index, *(slice(None),) * (len(self._own(part)) * is_open))]
            for part in self.parts
        )


@dataclass(frozen=True)
class Summarized:
    """Statistics as a belief makes them, for laws that ask for ``of`` and ``by_group``."""

    belief: Any

    def of(self, x: ArrayLike, weight: ArrayLike = 1.0) -> Any:
        """Return the statistics of rows."""
        return self.belief.statistics_of(x, weight)

    def by_group(self, x: ArrayLike, label: ArrayLike, k: int, weight: ArrayLike = 1.0) -> Any:
        """Return the statistics of each group."""
        return self.belief.statistics_by_group(x, label, k, weight)

    def by_share(self, x: ArrayLike, share: ArrayLike) -> Any:
        """Return the statistics of components in which every row has a share."""
        return self.belief.statistics_by_share(x, share)

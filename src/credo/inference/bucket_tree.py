"""Elimination of discrete variables one by one, kept so that it can be walked back."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.row_table import RowProblem, RowTable, spread
from credo.numerics.array import Array
from credo.numerics.log_domain import log_sum_exp

__all__ = ["Bucket", "BucketOrder", "BucketTree", "bucket_order"]

Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Bucket:
    """The product of all tables that a variable occurred in when it was eliminated.

    Attributes
    ----------
    scope
        Neighbors at that time, then the variable itself.
    log_values
        Log of the product, shape (n_rows or 1, *sizes).
    message
        The product without its variable, a table over the neighbors.
    """

    scope: tuple[str, ...]
    log_values: Array
    message: RowTable


@dataclass(frozen=True, eq=False)
class BucketTree:
    """All buckets of a `RowProblem`, in the order of elimination.

    Attributes
    ----------
    buckets
        Their messages flow forward, to the bucket of the first neighbor eliminated later.
    log_total
        Log of the sum, or of the maximum, over all variables, shape (n_rows,).
    """

    problem: RowProblem
    buckets: tuple[Bucket, ...]
    log_total: Array

    @classmethod
    def of(
        cls,
        problem: RowProblem,
        together: Sequence[tuple[str, ...]] = (),
        maximized: Collection[str] = (),
    ) -> BucketTree:
        """Return the tree: variables are summed out, then some of them maximized over.

        Parameters
        ----------
        together
            Groups of variables that shall share a bucket, so that their joint can be read.
        maximized
            Names of the variables to maximize over, after all others are summed out.
        """
        tables, buckets = list(problem.tables), []
        scopes = [*(table.scope for table in tables), *together]
        for name in bucket_order(problem.n_states, scopes, last=maximized).order:
            inside = [table for table in tables if name in table.scope]
            groups = [group for group in together if name in group]
            near = _neighbors(name, inside, groups)
            bucket = _bucket(name, inside, near, problem, name in maximized)
            # What is left of a group stays together in the message.
            together = [group for group in together if name not in group]
            buckets.append(bucket)
            tables = [table for table in tables if name not in table.scope] + [bucket.message]
        total = sum((table.log_values for table in tables), problem.log_constant)
        return cls(problem, tuple(buckets), np.broadcast_to(total, problem.n_rows))

    def log_beliefs(self) -> list[Array]:
        """Return the log marginal of every bucket's scope, not normalized."""
        beliefs: list[Array] = [bucket.log_values for bucket in self.buckets]
        home = {bucket.scope[-1]: i for i, bucket in enumerate(self.buckets)}
        for i in reversed(range(len(self.buckets))):
            bucket = self.buckets[i]
            neighbors = bucket.scope[:-1]
            if not neighbors:
                continue
            later = min(home[name] for name in neighbors)
            known = _marginal(beliefs[later], self.buckets[later].scope, neighbors)
            with np.errstate(invalid="ignore"):
                change = known - bucket.message.log_values
            # Zero over zero: the neighbors cannot be so, whatever this variable is.
            change = np.where(np.isneginf(known), -np.inf, change)
            beliefs[i] = bucket.log_values + change[..., None]
        return beliefs

    def log_joints(self, groups: Sequence[tuple[str, ...]]) -> list[Array]:
        """Return the normalized log joint of each group, shape (n_rows, *sizes).

        Groups must have been asked for as ``together``, or have one variable. Rows that are
        impossible become NaN.
        """
        beliefs = self.log_beliefs()
        found = []
        for group in groups:
            i = next(i for i, b in enumerate(self.buckets) if set(group) <= set(b.scope))
            table = _marginal(beliefs[i], self.buckets[i].scope, group)
            total = log_sum_exp(table, axis=tuple(range(1, table.ndim)), keepdims=True)
            total = np.where(np.isneginf(total), np.nan, total)
            possible = np.where(np.isneginf(self.log_total), np.nan, 0.0)
            shape = (self.problem.n_rows, *table.shape[1:])
            row = possible.reshape(-1, *[1] * len(group))
            found.append(np.broadcast_to(table - total, shape) + row)
        return found

    def sample(self, rows: Codes, rng: Generator) -> dict[str, Codes]:
        """Return draws of all variables, one for each entry of ``rows``."""
        noise = {b.scope[-1]: rng.gumbel(size=(len(rows), _last(b))) for b in self.buckets}
        return self._walked_back(self.buckets, rows, noise)

    def assignment(self, maximized: Collection[str]) -> dict[str, Codes]:
        """Return the states of the maximized variables that reach the maximum."""
        # They were eliminated last, so that none of their buckets holds another variable.
        buckets = [bucket for bucket in self.buckets if bucket.scope[-1] in maximized]
        return self._walked_back(buckets, np.arange(self.problem.n_rows), {})

    @staticmethod
    def _walked_back(
        buckets: Sequence[Bucket], rows: Codes, noise: Mapping[str, Array]
    ) -> dict[str, Codes]:
        # The largest of log weights plus Gumbel noise is a draw in proportion to the weights.
        codes: dict[str, Codes] = {}
        for bucket in reversed(buckets):
            row = rows if len(bucket.log_values) > 1 else np.zeros_like(rows)
            cell = bucket.log_values[(row, *(codes[name] for name in bucket.scope[:-1]))]
            name = bucket.scope[-1]
            codes[name] = np.argmax(cell + noise.get(name, 0.0), axis=-1)
        return codes


class BucketOrder(NamedTuple):
    """An order of elimination, the cells of all its buckets, and the most neighbors."""

    order: list[str]
    cells: int
    width: int


def bucket_order(
    n_states: Mapping[str, int],
    scopes: Iterable[tuple[str, ...]],
    last: Collection[str] = (),
) -> BucketOrder:
    """Return the order that always takes the smallest bucket next.

    Parameters
    ----------
    last
        Names of variables that come after all others.

    Examples
    --------
    >>> bucket_order({"a": 2, "b": 3, "c": 2}, [("a", "b"), ("b", "c")])
    BucketOrder(order=['a', 'b', 'c'], cells=14, width=1)
    """
    near: dict[str, set[str]] = {name: set() for name in n_states}
    for scope in scopes:
        for name in scope:
            near[name].update(scope)
            near[name].discard(name)
    sizes = {name: _size(name, near, n_states) for name in near}
    order: list[str] = []
    cells, width = 0, 0
    while sizes:
        name = min(sizes, key=lambda n: (n in last, sizes[n]))
        cells += sizes.pop(name)
        neighbors = near.pop(name)
        width = max(width, len(neighbors))
        for other in neighbors:
            near[other] |= neighbors
            near[other] -= {name, other}
            sizes[other] = _size(other, near, n_states)
        order.append(name)
    return BucketOrder(order, cells, width)


def _size(name: str, near: Mapping[str, set[str]], n_states: Mapping[str, int]) -> int:
    return n_states[name] * math.prod(n_states[other] for other in near[name])


def _neighbors(
    name: str, tables: Sequence[RowTable], groups: Sequence[tuple[str, ...]]
) -> tuple[str, ...]:
    scopes = [*(table.scope for table in tables), *groups]
    # A dictionary keeps the order of first appearance, a set would not.
    return tuple(dict.fromkeys(n for scope in scopes for n in scope if n != name))


def _bucket(
    name: str,
    tables: Sequence[RowTable],
    neighbors: tuple[str, ...],
    problem: RowProblem,
    is_max: bool,
) -> Bucket:
    scope = (*neighbors, name)
    product = np.zeros((1, *(problem.n_states[n] for n in scope)))
    for table in tables:
        product = product + spread(table.log_values, table.scope, scope)
    reduced = product.max(axis=-1) if is_max else log_sum_exp(product, axis=-1)
    return Bucket(scope, product, RowTable(neighbors, reduced))


def _marginal(log_values: Array, scope: tuple[str, ...], wanted: Sequence[str]) -> Array:
    dropped = tuple(1 + i for i, name in enumerate(scope) if name not in wanted)
    left = [name for name in scope if name in wanted]
    table = log_sum_exp(log_values, axis=dropped) if dropped else log_values
    return np.asarray(table.transpose(0, *(1 + left.index(name) for name in wanted)))


def _last(bucket: Bucket) -> int:
    return int(bucket.log_values.shape[-1])

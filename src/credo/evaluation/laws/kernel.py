"""Laws of kernels: symmetric, positive semidefinite, closed, with the gradient they claim."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credo.evaluation.laws.broken import expect, expect_close, run
from credo.numerics.array import Array

__all__ = ["check_kernel"]

N_ROWS = 30


def check_kernel(kernel: Any, n_columns: int = 2, n_categories: int = 0) -> list[str]:
    """Check the laws of a kernel; return the names of the laws that were run.

    Parameters
    ----------
    kernel
        A kernel of so many columns.
    n_columns
        How many columns it is tried on.
    n_categories
        How many categories each column has; 0 for columns of numbers.

    Raises
    ------
    LawBroken
        With the law, what was expected and what was found.

    Examples
    --------
    >>> from credo.features import SquaredExponential
    >>> "the_matrix_is_positive_semidefinite" in check_kernel(SquaredExponential(1.0))
    True
    """
    return run(LAWS, _Tried(kernel, n_columns, n_categories))


@dataclass(frozen=True)
class _Tried:
    """A kernel with the rows that it is tried on."""

    it: Any
    n_columns: int
    n_categories: int

    def rows(self, seed: int, n: int = N_ROWS) -> Array:
        """Return rows of numbers, or of categories."""
        rng = np.random.default_rng(seed)
        shape = (n, self.n_columns)
        if self.n_categories:
            return rng.integers(self.n_categories, size=shape).astype(float)
        return rng.normal(size=shape)

    @cached_property
    def x(self) -> Array:
        """Rows."""
        return self.rows(0)

    @cached_property
    def matrix(self) -> Array:
        """The Gram matrix of the rows."""
        return np.asarray(self.it(self.x))


def the_matrix_is_symmetric(case: _Tried) -> None:
    """``k(x, z) = k(z, x)``."""
    expect_close("the matrix is symmetric", case.matrix, case.matrix.T, rtol=1e-12)
    other = case.rows(1, 7)
    law = "k(x, z) = k(z, x)"
    expect_close(law, case.it(case.x, other), case.it(other, case.x).T, rtol=1e-12)


def the_matrix_is_positive_semidefinite(case: _Tried) -> None:
    """No eigenvalue is negative, on rows near and far."""
    for scale in (0.1, 1.0, 10.0):
        rows = case.x if case.n_categories else scale * case.x
        matrix = case.it(rows)
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        is_valid = smallest > -1e-9 * float(np.trace(matrix))
        law = "the matrix is positive semidefinite"
        expect(law, is_valid, "no negative eigenvalue", smallest)


def the_diagonal_agrees(case: _Tried) -> None:
    """``diagonal`` is the diagonal of the matrix."""
    found = case.it.diagonal(case.x)
    expect_close("the diagonal agrees", found, np.diagonal(case.matrix), rtol=1e-10)


def each_pair_is_treated_alone(case: _Tried) -> None:
    """Rows beside a pair of rows do not change its entry."""
    other = case.rows(1, 7)
    found = case.it(case.x[[4, 2]], other[[5]])
    expect_close("each pair is alone", found, case.it(case.x, other)[[4, 2]][:, [5]], rtol=1e-9)


def the_pullback_is_the_gradient(case: _Tried) -> None:
    """Weights pulled back agree with central differences."""
    W = np.random.default_rng(2).normal(size=case.matrix.shape)
    expected = _differences(case, lambda kernel: float(np.vdot(W, kernel(case.x))))
    found = case.it.pullback(W, case.x)
    size = float(np.abs(W * case.matrix).sum())
    expect_close("the pull-back is the gradient", found, expected, rtol=1e-6, atol=1e-8 * size)


def the_pullback_of_other_rows_is_the_gradient(case: _Tried) -> None:
    """So does that of a matrix of two sets of rows, and of the diagonal."""
    other = case.rows(1, 7)
    W = np.random.default_rng(3).normal(size=(len(case.x), 7))
    expected = _differences(case, lambda kernel: float(np.vdot(W, kernel(case.x, other))))
    found = case.it.evaluated(case.x, other)[1](W)
    law = "the pull-back of two sets of rows is the gradient"
    expect_close(law, found, expected, rtol=1e-6, atol=1e-6)
    w = W[:, 0]
    expected = _differences(case, lambda kernel: float(w @ kernel.diagonal(case.x)))
    found = case.it.evaluated_diagonal(case.x)[1](w)
    law = "the pull-back of the diagonal is the gradient"
    expect_close(law, found, expected, rtol=1e-6, atol=1e-6)


def its_own_parameters_change_nothing(case: _Tried) -> None:
    """At its own parameters the kernel is the same; names are different."""
    same = case.it.at(case.it.log_parameters)
    law = "the kernel at its own parameters is the same"
    expect_close(law, same(case.x), case.matrix, rtol=1e-10)
    names = [parameter.name for parameter in case.it.parameters]
    expect("names differ", len(set(names)) == len(names), "different names", names)


def sums_and_products_are_kernels(case: _Tried) -> None:
    """Adding, multiplying and choosing columns do so to the matrices."""
    k, K = case.it, case.matrix
    expect_close("a sum is the sum of matrices", (k + k)(case.x), K + K, rtol=1e-12)
    expect_close("a product is that of entries", (k * k)(case.x), K * K, rtol=1e-12)
    expect_close("a multiple is that of the matrix", (2.5 * k)(case.x), 2.5 * K, rtol=1e-12)
    wide = np.column_stack([np.zeros(len(case.x)), case.x])
    chosen = k.on(range(1, case.n_columns + 1))
    expect_close("columns can be chosen", chosen(wide), K, rtol=1e-12)


def _differences(case: _Tried, value: Any, step: float = 1e-5) -> Array:
    logs = case.it.log_parameters
    ends = [(case.it.at(logs + h), case.it.at(logs - h)) for h in step * np.eye(len(logs))]
    return np.array([(value(up) - value(down)) / (2 * step) for up, down in ends])


LAWS = (
    the_matrix_is_symmetric,
    the_matrix_is_positive_semidefinite,
    the_diagonal_agrees,
    each_pair_is_treated_alone,
    the_pullback_is_the_gradient,
    the_pullback_of_other_rows_is_the_gradient,
    its_own_parameters_change_nothing,
    sums_and_products_are_kernels,
)

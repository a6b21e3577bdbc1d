"""Rows as a perceptron sees them: distinct, standardized, with a column for the intercept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from credo.inference.margin.perceptron import Codes, distinct_labeled_rows
from credo.models.contract.inputs import LabeledRows
from credo.numerics.array import Array, is_constant

__all__ = ["MarginRows"]


@dataclass(frozen=True, eq=False)
class MarginRows:
    """Distinct rows in units of their spread, a column of ones last.

    Attributes
    ----------
    x, code, weight
        Rows (n, d + 1), class and total weight of each.
    center, scale
        Mean and standard deviation of the columns, shape (d,).
    """

    x: Array
    code: Codes
    weight: Array
    center: Array
    scale: Array

    @classmethod
    def of(cls, design: Array, rows: LabeledRows) -> Self:
        """Return the rows of a design, each standardized by weighted mean and spread."""
        x, code, weight = distinct_labeled_rows(design, rows.code, rows.weight)
        share = weight / weight.sum()
        center = share @ x
        spread = np.sqrt(share @ (x - center) ** 2)
        # A column whose spread is rounding error is constant, and says nothing.
        scale = np.where(is_constant(center, spread), np.inf, spread)
        scaled = (x - center) / scale
        return cls(np.column_stack([scaled, np.ones(len(x))]), code, weight, center, scale)

    def in_data_units(self, coef: Array) -> tuple[Array, Array]:
        """Return weights (..., d) and intercepts (...) for the columns as they came."""
        weights = coef[..., :-1] / self.scale
        return weights, np.asarray(coef[..., -1] - weights @ self.center)

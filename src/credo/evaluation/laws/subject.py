"""A distribution under test, with the draws, points and integrals that laws speak of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator

from credo.evaluation.laws.broken import NotApplicable
from credo.numerics.array import Array

__all__ = ["LEVELS", "N_DRAWS", "Subject"]

N_DRAWS = 20_000
LEVELS = np.array([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])
TAIL = 1e-12


@dataclass(frozen=True)
class Subject:
    """A distribution under test, and draws from it."""

    it: Any
    rng: Generator
    other: Any | None

    @cached_property
    def draws(self) -> Any:
        """Draws along the first axis."""
        return self.it.sample(self.rng, N_DRAWS)

    @property
    def is_numeric(self) -> bool:
        """Whether outcomes are numbers, or vectors of them."""
        return bool(np.issubdtype(self.draws.dtype, np.number))

    def require_steps_of_one(self) -> None:
        """Leave the law out if outcomes are discrete, but not whole numbers."""
        if self.it.is_discrete and not np.array_equal(self.draws, np.floor(self.draws)):
            raise NotApplicable

    @cached_property
    def points(self) -> Array:
        """Outcomes at several levels, shape (n_levels, *batch)."""
        self.require("quantile")
        return np.asarray(self.it.quantile(self.spread(LEVELS)))

    def spread(self, values: Array) -> Array:
        """Return values along a new first axis, ready to broadcast over the batch."""
        return values.reshape(-1, *(1,) * len(self.it.batch_shape))

    def require(self, *names: str) -> None:
        """Leave the law out unless the distribution has these methods."""
        try:
            ready = all(hasattr(self.it, name) for name in names)
            if ready and "quantile" in names:
                self.it.quantile(0.5)
        except (TypeError, NotImplementedError, AttributeError):
            ready = False
        if not ready or not self.is_numeric:
            raise NotApplicable

    def integral(self, f: Callable[[Array], Array], cuts: Array | None = None) -> Array:
        """Return the sum or integral of ``f`` over (nearly) all outcomes, for the batch."""
        self.require_steps_of_one()
        low, high = self.it.quantile(TAIL), self.it.upper_quantile(TAIL)
        if self.it.is_discrete:
            n = int(np.max(high - low)) + 1
            x = low + self.spread(np.arange(n, dtype=np.float64))
            return np.asarray(np.where(x <= high, f(x), 0.0).sum(axis=0))
        return self._panels(f, low, high, cuts)

    def _panels(
        self, f: Callable[[Array], Array], low: Array, high: Array, cuts: Array | None
    ) -> Array:
        """Return the integral by Gauss-Legendre on panels that follow the quantiles."""
        levels = np.concatenate([np.logspace(-11.5, -1, 64), np.linspace(0.11, 0.5, 40)])
        edges = [
            low[None],
            self.it.quantile(self.spread(levels)),
            self.it.upper_quantile(self.spread(levels[::-1])),
            high[None],
        ]
        if cuts is not None:
            edges.append(np.broadcast_to(cuts, low.shape)[None])
        edge = np.sort(np.clip(np.concatenate(edges), low, high), axis=0)
        unit, unit_weights = np.polynomial.legendre.leggauss(12)
        node, weight = (v.reshape(-1, *(1,) * edge.ndim) for v in (unit, unit_weights))
        half = 0.5 * np.diff(edge, axis=0)
        x = edge[:-1] + half * (1.0 + node)
        return np.asarray((half * weight * f(x)).sum(axis=(0, 1)))

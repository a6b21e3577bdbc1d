"""What an engine of a network must answer, whatever kind of variables the network has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.distributions.distribution import Distribution
from credo.inference.discrete.findings import Findings
from credo.inference.engine.account import Account
from credo.inference.engine.method import Method
from credo.models.network.value.network_answer import PlanReport
from credo.numerics.array import Array

__all__ = ["Answers", "RealMarginal"]


class RealMarginal(Protocol):
    """Posterior of a real variable in each row of findings."""

    def total_mean(self) -> Array:
        """Return the mean, shape (n_rows,)."""
        ...

    def total_variance(self) -> Array:
        """Return the variance, shape (n_rows,)."""
        ...

    def mixture(self, row: int | None = None) -> Distribution:
        """Return the distribution of one row."""
        ...


class Answers(Protocol):
    """Questions by name, about rows of findings.

    Marginals are by name: of a discrete variable (n_rows, n_states), of a real one a
    `RealMarginal`. Log totals are minus infinity in rows that are proven impossible, and NaN
    where the method does not tell them.
    """

    def marginals(
        self, findings: Findings[str], names: Sequence[str], method: Method
    ) -> tuple[dict[str, Any], Array, Account]:
        """Return marginals by name, log totals of the findings, and how they were found."""
        ...

    def joint(
        self, findings: Findings[str], names: Sequence[str], method: Method
    ) -> tuple[Any, Array, Account]:
        """Return the joint distribution of several variables in every row."""
        ...

    def total(self, findings: Findings[str], method: Method) -> tuple[Array, Account]:
        """Return the log of the sum of the density over all that is unknown, row by row."""
        ...

    def best(
        self, findings: Findings[str], names: Sequence[str], method: Method
    ) -> tuple[dict[str, NDArray[np.intp]], Array, Account]:
        """Return the most probable states of some discrete variables, jointly."""
        ...

    def draws(
        self, findings: Findings[str], n_draws: int, rng: Generator
    ) -> tuple[dict[str, NDArray[Any]], Array]:
        """Return random states or values given each row, (n_rows, n_draws) by name."""
        ...

    def conflict(self, findings: Findings[str]) -> list[str]:
        """Return the names of a smallest part of one row of findings that is impossible."""
        ...

    def report(self, names: Sequence[str], observed: Sequence[str]) -> PlanReport:
        """Return what exact marginals of some variables would cost given others."""
        ...

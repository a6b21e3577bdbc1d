"""The joint posterior of several variables of which some are real, labelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

from credo.graphs.variable import Variable
from credo.inference.engine.account import Account
from credo.models.network.value.network_answer import (
    check_draws,
    labelled,
    labelled_rows,
    value_column,
)
from credo.numerics.array import Array

__all__ = ["JointAnswer", "JointRows"]

Draw = Callable[[int, Generator], dict[str, NDArray[Any]]]


@dataclass(frozen=True, eq=False)
class JointRows:
    """Joint posterior of discrete and real variables in each row, without labels.

    Attributes
    ----------
    table
        Probability of the states of the discrete ones, shape (n_rows, *n_states).
    mean, covariance
        Of the ``d`` real ones, shapes (n_rows, d) and (n_rows, d, d).
    draw
        Returns draws of all variables by name, each of shape (n_rows, n).
    """

    table: Array
    mean: Array
    covariance: Array
    draw: Draw


@dataclass(frozen=True, eq=False)
class JointAnswer:
    """What is known of several variables together, some of them real.

    Attributes
    ----------
    variables
        The variables asked about.
    account
        How the answer was found.
    total
        Log total of the findings, minus infinity in rows that are impossible.
    """

    variables: tuple[Variable, ...]
    rows: JointRows
    account: Account
    total: Array
    index: pd.Index[Any] | None = None

    @property
    def probability(self) -> Any:
        """Joint probability of the discrete variables, a Series; rows of a table of findings.

        None if all variables asked about are real.
        """
        discrete = [v for v in self.variables if v.is_discrete]
        if not discrete:
            return None
        if self.index is None:
            return labelled(discrete, self.rows.table[0], self.account)
        return labelled_rows(discrete, self.rows.table, self.total, self.index, self.account)

    def mean(self) -> Any:
        """Return the means of the real variables, a Series; one row per row of findings."""
        frame = pd.DataFrame(self.rows.mean, columns=self._real, index=self.index)
        return frame.iloc[0].rename(None) if self.index is None else frame

    def covariance(self) -> pd.DataFrame:
        """Return the covariance of the real variables, labelled by name on both sides.

        For a table of findings one such block per row, under a first level of the index.
        """
        names, blocks = self._real, self.rows.covariance
        if self.index is None:
            return pd.DataFrame(blocks[0], index=names, columns=names)
        labels = pd.MultiIndex.from_product([self.index, names])
        return pd.DataFrame(blocks.reshape(-1, len(names)), index=labels, columns=names)

    def sample(self, n: int, rng: Generator | int | None = None) -> pd.DataFrame:
        """Return ``n`` joint draws, one row each.

        Raises
        ------
        ValueError
            If the answer is about a table of findings, or ``n`` is no whole number.
        """
        if self.index is not None:
            raise ValueError(
                "findings must be a dictionary to draw from their joint posterior; found a "
                "table. Ask about one row."
            )
        check_draws(n)
        drawn = self.rows.draw(n, np.random.default_rng(rng))
        return pd.concat([value_column(v, drawn[v.name][0]) for v in self.variables], axis=1)

    @property
    def _real(self) -> list[str]:
        return [v.name for v in self.variables if not v.is_discrete]

    def __repr__(self) -> str:
        names = ", ".join(v.name for v in self.variables)
        return f"JointAnswer({names}; {self.account.method})"

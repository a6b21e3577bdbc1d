"""Answers of an undirected network; draws come from chains where exact ones do not fit."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.approximate.gibbs_draws import gibbs_draws_given
from credo.inference.discrete.findings import MISSING, Findings
from credo.inference.engine.account import warn_approximate
from credo.inference.engine.error import InferenceTooLarge
from credo.models.network.answer.table_answers import TableAnswers
from credo.numerics.array import Array

__all__ = ["FieldAnswers"]


class FieldAnswers(TableAnswers):
    """The questions of a network without arrows, which has no order to draw along."""

    def draws(
        self, findings: Findings[str], n_draws: int, rng: Generator
    ) -> tuple[dict[str, NDArray[np.intp]], Array]:
        """Return random states given each row, exact ones wherever they fit, else Gibbs."""
        try:
            return super().draws(findings, n_draws, rng)
        except InferenceTooLarge:
            warn_approximate("draws come from Gibbs chains, for exact ones do not fit")
        problem = self.ladder.exact.problem
        states = gibbs_draws_given(problem, findings.numbered(self.numbers), n_draws, rng)
        by_name = {name: states[:, :, number] for name, number in self.numbers.items()}
        return by_name, np.where((states == MISSING).any(axis=(1, 2)), -np.inf, 0.0)

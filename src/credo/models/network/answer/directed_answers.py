"""Answers of a Bayesian network: exact wherever that is possible, else by weighted draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.findings import Findings
from credo.inference.engine.account import Account, warn_approximate
from credo.inference.engine.error import (
    AnswerTooLarge,
    InferenceTooLarge,
    NoExactAnswer,
)
from credo.inference.engine.method import Method, engine_of
from credo.inference.hybrid.likelihood_weighting import ConditionalProblem, LikelihoodWeighting
from credo.models.network.answer.answers import Answers
from credo.models.network.answer.weighted_answers import WeightedAnswers
from credo.models.network.value.network_answer import PlanReport
from credo.numerics.array import Array

__all__ = ["DirectedAnswers"]

Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class DirectedAnswers:
    """Two ways to answer: the first wherever it can, the second by name or where it cannot.

    Attributes
    ----------
    exact
        Answers by tables, or by tables and normals.
    weighted
        Answers by likelihood weighting, which every network allows.
    """

    exact: Answers
    weighted: WeightedAnswers

    def marginals(
        self, findings: Findings[str], names: Sequence[str], method: Method
    ) -> tuple[dict[str, Any], Array, Account]:
        """Return marginals by name, log totals of the findings, and how they were found."""
        return self._chosen(method, "marginals", lambda a: a.marginals(findings, names, method))

    def joint(
        self, findings: Findings[str], names: Sequence[str], method: Method
    ) -> tuple[Any, Array, Account]:
        """Return the joint distribution of several variables in every row."""
        return self._chosen(method, "marginals", lambda a: a.joint(findings, names, method))

    def total(self, findings: Findings[str], method: Method) -> tuple[Array, Account]:
        """Return the log probability or density of the findings, row by row."""
        return self._chosen(method, "total", lambda a: a.total(findings, method))

    def best(
        self, findings: Findings[str], names: Sequence[str], method: Method
    ) -> tuple[dict[str, NDArray[np.intp]], Array, Account]:
        """Return the most probable states of some discrete variables, jointly."""
        return self._chosen(method, "mode", lambda a: a.best(findings, names, method))

    def draws(
        self, findings: Findings[str], n_draws: int, rng: Generator
    ) -> tuple[dict[str, NDArray[Any]], Array]:
        """Return random states or values given each row, (n_rows, n_draws) by name."""
        return self._chosen("auto", "marginals", lambda a: a.draws(findings, n_draws, rng))

    def conflict(self, findings: Findings[str]) -> list[str]:
        """Return the names of a smallest part of one row of findings that is impossible."""
        return self.exact.conflict(findings)

    def report(self, names: Sequence[str], observed: Sequence[str]) -> PlanReport:
        """Return what exact marginals would cost; of draws if there is no exact answer."""
        return self._chosen("auto", "marginals", lambda a: a.report(names, observed))

    def _chosen(
        self, method: Method, question: str, answer: Callable[[Answers], Answer]
    ) -> Answer:
        engine = engine_of(method, question)
        if getattr(engine, "problem", None) is ConditionalProblem:
            return answer(self.weighted.by(cast(LikelihoodWeighting, engine)))
        try:
            return answer(self.exact)
        except NoExactAnswer:
            if method != "auto":
                raise
        except InferenceTooLarge as error:
            if method != "auto" or isinstance(error, AnswerTooLarge):
                raise
            warn_approximate(f"the answer comes from weighted draws: {error.excess}")
        return answer(self.weighted)

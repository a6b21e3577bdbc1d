"""Answers of a discrete network by names of variables, found on its coded problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.auto import TableLadder
from credo.inference.discrete.conflict import conflict
from credo.inference.discrete.exact.plan_outline import Question
from credo.inference.discrete.exact_inference import TableInference
from credo.inference.discrete.factor_problem import FactorProblem
from credo.inference.discrete.findings import Findings
from credo.inference.engine.account import Account
from credo.inference.engine.method import Method
from credo.models.network.value.limits import Limits
from credo.models.network.value.network_answer import PlanReport
from credo.numerics.array import Array

__all__ = ["TableAnswers"]


@dataclass(frozen=True, eq=False)
class TableAnswers:
    """The questions of a network, put to its problem.

    Attributes
    ----------
    numbers
        Number of each named variable in the problem; auxiliary ones have no name.
    ladder
        Engines, exact and approximate.
    """

    numbers: dict[str, int]
    ladder: TableLadder

    @classmethod
    def of(cls, numbers: Mapping[str, int], problem: FactorProblem, limits: Limits) -> Self:
        """Return the answers about a problem, with no plan compiled yet."""
        exact = TableInference(problem, limits.memory, limits.seconds)
        auxiliary = frozenset(range(len(problem.n_states))) - frozenset(numbers.values())
        return cls(dict(numbers), TableLadder(exact, auxiliary))

    def marginals(
        self, findings: Findings[str], names: Sequence[str], method: Method
    ) -> tuple[dict[str, Array], Array, Account]:
        """Return marginals by name, (n_rows, n_states) each, log totals and the account."""
        targets = [self.numbers[name] for name in names]
        found, account = self.ladder.marginals(findings.numbered(self.numbers), targets, method)
        by_name = {name: found.probability[self.numbers[name]] for name in names}
        return by_name, found.log_total, account

    def joint(
        self, findings: Findings[str], names: Sequence[str], method: Method
    ) -> tuple[Array, Array, Account]:
        """Return the joint tables of some variables, (n_rows, *n_states)."""
        targets = [self.numbers[name] for name in names]
        return self.ladder.joint(findings.numbered(self.numbers), targets, method)

    def total(self, findings: Findings[str], method: Method) -> tuple[Array, Account]:
        """Return the log of the sum over all that is unknown, row by row."""
        return self.ladder.total(findings.numbered(self.numbers), method)

    def best(
        self, findings: Findings[str], names: Sequence[str], method: Method
    ) -> tuple[dict[str, NDArray[np.intp]], Array, Account]:
        """Return the most probable states of some variables jointly, and their log total."""
        targets = [self.numbers[name] for name in names]
        states, total, account = self.ladder.best(
            findings.numbered(self.numbers), targets, method
        )
        return {name: states[:, self.numbers[name]] for name in names}, total, account

    def draws(
        self, findings: Findings[str], n_draws: int, rng: Generator
    ) -> tuple[dict[str, NDArray[np.intp]], Array]:
        """Return random states given each row, (n_rows, n_draws) by name, and log totals."""
        states, total = self.ladder.exact.draws(findings.numbered(self.numbers), n_draws, rng)
        return {name: states[:, :, number] for name, number in self.numbers.items()}, total

    def conflict(self, findings: Findings[str]) -> list[str]:
        """Return the names of a smallest part of one row of findings that is impossible."""
        found = conflict(self.ladder.exact, findings.numbered(self.numbers))
        return [name for name, number in self.numbers.items() if number in found]

    def report(self, names: Sequence[str], observed: Sequence[str]) -> PlanReport:
        """Return what exact marginals of some variables would cost given others."""
        known = tuple(sorted(self.numbers[name] for name in observed))
        targets = tuple(i for i in (self.numbers[n] for n in names) if i not in known)
        made = self.ladder.exact.sketch(Question("marginals", targets, known))
        fits = made.bytes <= self.ladder.exact.limit
        return PlanReport(made.width, made.cells, made.bytes, made.seconds, fits)

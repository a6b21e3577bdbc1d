"""Weighted draws for rows of findings about a Bayesian network."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.graphs.node.conditional import Conditional
from credo.graphs.structure.directed import DirectedGraph
from credo.inference.discrete.findings import MISSING, Findings
from credo.inference.engine.draw_account import DrawTally
from credo.inference.engine.engine import ConvergenceWarning, run
from credo.inference.engine.weighted_draws import WeightedDraws, ZeroWeights
from credo.inference.hybrid.likelihood_weighting import ConditionalProblem, LikelihoodWeighting
from credo.numerics.warning import warn_caller

__all__ = ["RowDraws"]

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RowDraws:
    """Likelihood weighting, one run for each different row.

    Attributes
    ----------
    nodes
        Conditional distributions by name.
    engine
        Settings of the draws; their seed is fixed, so that equal rows have equal answers.
    """

    nodes: dict[str, Conditional]
    engine: LikelihoodWeighting = field(default_factory=LikelihoodWeighting)

    def each(
        self, findings: Findings[str], keep: Sequence[str], tally: DrawTally
    ) -> Iterator[tuple[Rows, WeightedDraws]]:
        """Yield rows that know the same, and their draws; rows no draw agrees with are not."""
        for rows in _equal_rows(findings):
            draws = self.of_row(findings.take(rows[:1]), keep)
            if draws is not None:
                tally.effective.append(draws.effective_draws)
                yield rows, draws

    def of_row(self, row: Findings[str], keep: Sequence[str] | None) -> WeightedDraws | None:
        """Return the draws of a single row, of all variables if ``keep`` is None.

        None if no draw agrees with what is known.
        """
        return self._run(self._problem(row, keep))

    def picked(
        self, row: Findings[str], n: int, rng: Generator
    ) -> tuple[Mapping[str, NDArray[Any]], float] | None:
        """Return ``n`` draws of a single row of equal weight, and the log total.

        With nothing known they are drawn cause by cause and exact; else they are picked from
        weighted draws in proportion to the weights. None if no draw agrees.
        """
        problem = self._problem(row, None)
        if not problem.given and not problem.likelihood:
            return problem.draw(n, rng).columns, 0.0
        draws = self._run(problem)
        if draws is None:
            return None
        if draws.effective_draws < n:
            warn_caller(
                f"draws must be worth as many independent ones to be taken as such; found "
                f"{n} picked from weighted ones worth {draws.effective_draws:.0f}. Expect "
                "repeated rows, or draw fewer.",
                ConvergenceWarning,
            )
        return draws.resampled(n, rng), draws.log_evidence

    def relevant(self, names: Sequence[str]) -> list[Conditional]:
        """Return the nodes that some descend from, and these themselves."""
        parents = {n: [p.name for p in c.parents] for n, c in self.nodes.items()}
        inside = {*names, *DirectedGraph(parents).ancestors(names)}
        return [node for name, node in self.nodes.items() if name in inside]

    def _problem(self, row: Findings[str], keep: Sequence[str] | None) -> ConditionalProblem:
        """Return what is known in a single row, as a problem of its relevant nodes."""
        given = {n: int(codes[0]) for n, codes in row.codes.items() if codes[0] != MISSING}
        values = {n: float(v[0]) for n, v in row.values.items() if not np.isnan(v[0])}
        likelihood = {n: table[:, 0] for n, table in row.likelihood.items()}
        names = [*given, *values, *likelihood, *(self.nodes if keep is None else keep)]
        return ConditionalProblem(self.relevant(names), {**given, **values}, likelihood, keep)

    def _run(self, problem: ConditionalProblem) -> WeightedDraws | None:
        _check_weighable(problem)
        if not problem.given and not problem.likelihood and not problem.keep:
            return WeightedDraws({}, np.zeros(self.engine.n_draws))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                found: WeightedDraws = run(self.engine, problem).posterior
            except ZeroWeights:
                return None
        return found


def _check_weighable(problem: ConditionalProblem) -> None:
    """Refuse findings about nodes that can only be drawn from."""
    for node in problem.conditionals:
        name = node.child.name
        if name in problem.given and not hasattr(node, "log_prob"):
            raise ValueError(
                f"a node that is given must tell the density of a value; found {name}, a "
                f"{type(node).__name__} that can only be drawn from. Give it a log_prob, or "
                "give another variable."
            )


def _equal_rows(findings: Findings[str]) -> list[Rows]:
    """Return the rows in groups that know the same."""
    numbers = [*findings.codes.values(), *findings.values.values()]
    numbers += [line for table in findings.likelihood.values() for line in table]
    if not numbers or not findings.n_rows:
        return [np.arange(findings.n_rows)] if findings.n_rows else []
    # Missing values are unlike each other; a number that nobody gives makes them equal.
    table = np.nan_to_num(np.array(numbers, dtype=np.float64), nan=-np.inf)
    _, group = np.unique(table, axis=1, return_inverse=True)
    return [np.flatnonzero(group.ravel() == at) for at in range(int(group.max()) + 1)]

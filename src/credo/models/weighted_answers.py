"""Answers of any Bayesian network by likelihood weighting, with the effective draws told."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.distributions.distribution import Distribution
from credo.graphs.conditional import Conditional
from credo.graphs.directed import DirectedGraph
from credo.graphs.set_node import SetNode
from credo.graphs.variable import Variable
from credo.inference.engine import ConvergenceWarning, run
from credo.inference.likelihood_weighting import ConditionalProblem, LikelihoodWeighting
from credo.inference.table_ladder import Account
from credo.inference.weighted_draws import WeightedDraws, ZeroWeights
from credo.models.drawn_distribution import DrawnDistribution, DrawnRows
from credo.models.findings import MISSING, Findings
from credo.models.joint_answer import JointRows
from credo.models.network_answer import PlanReport
from credo.numerics.array import Array

__all__ = ["WeightedAnswers"]

MOST_CELLS = 1 << 24
"""Cells that a joint table of draws may have."""

BYTES_PER_DRAW = 8
DRAWS_PER_SECOND = 3e7

Rows = NDArray[np.intp]


@dataclass(eq=False)
class _Tally:
    """Effective draws and errors of the rows so far."""

    effective: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)

    def account(self, tolerance: float) -> Account:
        """Return the account; warn if some row is known worse than asked for."""
        effective = min(self.effective, default=float("inf"))
        if 0 < effective < (0.5 / tolerance) ** 2 * (1 - 1e-9):
            warnings.warn(
                f"likelihood weighting must reach a standard error of {tolerance:.2g}; found "
                f"draws worth only {effective:.0f} independent ones. Read the error told with "
                "the answer, or give less.",
                ConvergenceWarning,
                stacklevel=6,
            )
        error = max(self.errors, default=0.0)
        name = "likelihood weighting"
        return Account(name, False, error, "largest standard error", effective)


@dataclass(frozen=True, eq=False)
class WeightedAnswers:
    """The questions of a Bayesian network of any nodes, answered by weighted draws.

    The error told with an answer is a standard error: of a probability, or of the mean of a
    real variable in units of its standard deviation. Draws have a fixed seed, so the same
    question has the same answer.

    Attributes
    ----------
    nodes
        Conditional distributions by name; those cut off from their causes are `SetNode`.
    engine
        Settings of the draws.
    """

    nodes: dict[str, Conditional]
    engine: LikelihoodWeighting = field(default_factory=LikelihoodWeighting)

    @classmethod
    def of(
        cls, conditionals: Mapping[str, Conditional], cut: frozenset[str]
    ) -> WeightedAnswers:
        """Return the answers of a network in which some nodes are set from outside."""
        return cls({n: SetNode(c.child) if n in cut else c for n, c in conditionals.items()})

    def marginals(
        self, findings: Findings, names: Sequence[str], method: str
    ) -> tuple[dict[str, Any], Array, Account]:
        """Return tables of discrete variables, `DrawnRows` of real ones, and log totals."""
        _check(method)
        n, total, tally = findings.n_rows, np.full(findings.n_rows, -np.inf), _Tally()
        parts = {name: np.full((n, self._width(name)), np.nan) for name in names}
        for rows, draws in self._drawn(findings, names, tally):
            total[rows] = draws.log_evidence
            for name in names:
                parts[name][rows], error = self._summary(draws, name)
                tally.errors.append(error)
        account = tally.account(self.engine.tolerance)
        real = [name for name in names if not self._variable(name).is_discrete]
        drawn = {name: self._drawn_rows(findings, name, parts[name], account) for name in real}
        return {**parts, **drawn}, total, account

    def joint(
        self, findings: Findings, names: Sequence[str], method: str
    ) -> tuple[Any, Array, Account]:
        """Return the joint table, or `JointRows` if a variable is real."""
        _check(method)
        discrete = [name for name in names if self._variable(name).is_discrete]
        real = [name for name in names if name not in discrete]
        shape = tuple(self._variable(name).n_states for name in discrete)
        _check_cells(shape)
        n, d, tally = findings.n_rows, len(real), _Tally()
        table, total = np.full((n, *shape), np.nan), np.full(n, -np.inf)
        mean, covariance = np.full((n, d), np.nan), np.full((n, d, d), np.nan)
        for rows, draws in self._drawn(findings, names, tally):
            total[rows] = draws.log_evidence
            table[rows], error = draws.joint(discrete, shape)
            mean[rows], covariance[rows] = draws.moments(real)
            tally.errors.append(error)
        account = tally.account(self.engine.tolerance)
        if not real:
            return table, total, account
        found = JointRows(
            table, mean, covariance, lambda m, rng: self.draws(findings, m, rng)[0]
        )
        return found, total, account

    def total(self, findings: Findings, method: str) -> tuple[Array, Account]:
        """Return the log of the mean weight, row by row; its error is that of the log."""
        _check(method)
        total, tally = np.full(findings.n_rows, -np.inf), _Tally()
        for rows, draws in self._drawn(findings, (), tally):
            total[rows] = draws.log_evidence
            tally.errors.append(draws.log_evidence_error)
        return total, tally.account(self.engine.tolerance)

    def best(
        self, findings: Findings, names: Sequence[str], method: str
    ) -> tuple[dict[str, NDArray[np.intp]], Array, Account]:
        """Return the joint states of some discrete variables that weigh most."""
        _check(method)
        total, tally = np.full(findings.n_rows, -np.inf), _Tally()
        states = {name: np.full(findings.n_rows, MISSING, dtype=np.intp) for name in names}
        for rows, draws in self._drawn(findings, names, tally):
            found, share, error = draws.heaviest(names)
            total[rows] = draws.log_evidence + np.log(share)
            tally.errors.append(error)
            for name, state in found.items():
                states[name][rows] = state
        return states, total, tally.account(self.engine.tolerance)

    def draws(
        self, findings: Findings, n_draws: int, rng: Generator
    ) -> tuple[dict[str, NDArray[Any]], Array]:
        """Return draws of all variables, (n_rows, n_draws) by name.

        With nothing known they are drawn cause by cause and exact; else they are picked from
        weighted draws in proportion to the weights, and may repeat.
        """
        shape, total = (findings.n_rows, n_draws), np.full(findings.n_rows, -np.inf)
        found: dict[str, NDArray[Any]] = {
            name: np.full(shape, MISSING, np.intp)
            if node.child.is_discrete
            else np.full(shape, np.nan)
            for name, node in self.nodes.items()
        }
        for row in range(findings.n_rows):
            picked = self._picked(findings.take(np.array([row])), n_draws, rng)
            if picked is not None:
                columns, total[row] = picked
                for name, column in columns.items():
                    found[name][row] = column
        return found, total

    def conflict(self, findings: Findings) -> list[str]:
        """Refuse: that no draw agreed does not prove that none can."""
        raise ZeroWeights(self.engine.n_draws)

    def report(self, names: Sequence[str], observed: Sequence[str]) -> PlanReport:
        """Return the cost of the most draws that one row may take."""
        n_nodes = len(self._relevant([*names, *observed]))
        cells = n_nodes * self.engine.n_draws
        return PlanReport(0, cells, BYTES_PER_DRAW * cells, cells / DRAWS_PER_SECOND, True)

    def _variable(self, name: str) -> Variable:
        return self.nodes[name].child

    def _width(self, name: str) -> int:
        """Return the columns of a summary: one per state, or mean and variance."""
        variable = self._variable(name)
        return variable.n_states if variable.is_discrete else 2

    def _relevant(self, names: Sequence[str]) -> list[Conditional]:
        """Return the nodes that some descend from, and these themselves."""
        parents = {n: [p.name for p in c.parents] for n, c in self.nodes.items()}
        inside = {*names, *DirectedGraph(parents).ancestors(names)}
        return [node for name, node in self.nodes.items() if name in inside]

    def _problem(self, row: Findings, keep: Sequence[str] | None) -> ConditionalProblem:
        """Return what is known in a single row, as a problem of its relevant nodes."""
        given = {n: int(codes[0]) for n, codes in row.codes.items() if codes[0] != MISSING}
        values = {n: float(v[0]) for n, v in row.values.items() if not np.isnan(v[0])}
        hints = {n: weight[:, 0] for n, weight in row.weights.items()}
        names = [*given, *values, *hints, *(self.nodes if keep is None else keep)]
        return ConditionalProblem(self._relevant(names), {**given, **values}, hints, keep)

    def _drawn(
        self, findings: Findings, keep: Sequence[str], tally: _Tally
    ) -> Iterator[tuple[Rows, WeightedDraws]]:
        """Yield rows that know the same, and their draws; rows no draw agrees with are not."""
        for rows in _equal_rows(findings):
            draws = self._run(self._problem(findings.take(rows[:1]), keep))
            if draws is not None:
                tally.effective.append(draws.effective_draws)
                yield rows, draws
            else:
                tally.errors.append(float("inf"))

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

    def _picked(
        self, row: Findings, n: int, rng: Generator
    ) -> tuple[Mapping[str, NDArray[Any]], float] | None:
        problem = self._problem(row, None)
        if not problem.given and not problem.likelihood:
            return problem.draw(n, rng).columns, 0.0
        draws = self._run(problem)
        if draws is None:
            return None
        if draws.effective_draws < n:
            warnings.warn(
                f"draws must be worth as many independent ones to be taken as such; found "
                f"{n} picked from weighted ones worth {draws.effective_draws:.0f}. Expect "
                "repeated rows, or draw fewer.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return draws.resampled(n, rng), draws.log_evidence

    def _summary(self, draws: WeightedDraws, name: str) -> tuple[Array, float]:
        """Return probabilities, or mean and variance, and the largest standard error."""
        column, variable = draws.columns[name], self._variable(name)
        if variable.is_discrete:
            share = draws.probability(name, variable.n_states)
            errors = [draws.mean(column == k)[1] for k in range(variable.n_states)]
            return share, max(errors)
        if np.ptp(column) == 0.0:
            return np.array([column[0], 0.0]), 0.0
        mean, error = draws.mean(column)
        variance = draws.mean((column - mean) ** 2)[0]
        return np.array([mean, variance]), float(error / np.sqrt(variance))

    def _drawn_rows(
        self, findings: Findings, name: str, moments: Array, account: Account
    ) -> DrawnRows:
        def distribution(row: int) -> Distribution:
            problem = self._problem(findings.take(np.array([row])), [name])
            draws = self._run(problem)
            if draws is None:
                raise ZeroWeights(self.engine.n_draws)
            return DrawnDistribution(draws.columns[name], draws.weight, account)

        return DrawnRows(moments[:, 0], moments[:, 1], distribution)


def _check(method: str) -> None:
    if method not in ("auto", "likelihood_weighting"):
        raise ValueError(
            'method must be "auto", "exact" or "likelihood_weighting" for a network with real '
            f"variables; found {method!r}. Leave it out for an exact answer wherever one fits."
        )


def _check_cells(shape: tuple[int, ...]) -> None:
    if prod(shape) > MOST_CELLS:
        raise ValueError(
            f"a joint table of draws must have at most {MOST_CELLS:,} cells; found "
            f"{prod(shape):,}. Ask for fewer variables at once, or for marginals."
        )


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


def _equal_rows(findings: Findings) -> list[Rows]:
    """Return the rows in groups that know the same."""
    numbers = [*findings.codes.values(), *findings.values.values()]
    numbers += [weight for table in findings.weights.values() for weight in table]
    if not numbers or not findings.n_rows:
        return [np.arange(findings.n_rows)] if findings.n_rows else []
    # Missing values are unlike each other; a number that nobody gives makes them equal.
    table = np.nan_to_num(np.array(numbers, dtype=np.float64), nan=-np.inf)
    _, group = np.unique(table, axis=1, return_inverse=True)
    return [np.flatnonzero(group.ravel() == at) for at in range(int(group.max()) + 1)]

"""Answers of Bayesian networks with nodes of any kind, by likelihood weighting.

Any Bayesian network can be asked by weighted draws, whose answers come with their effective
draws. A node that is set from outside (an intervention) is cut off from its causes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.distributions.distribution import Distribution
from credo.distributions.empirical import Empirical
from credo.graphs.node.conditional import Conditional, Values
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.variable import Variable
from credo.inference.engine.engine import Account, ConvergenceWarning, run
from credo.inference.engine.error import InferenceTooLarge, NoExactAnswer
from credo.inference.engine.findings import MISSING, Findings
from credo.inference.engine.network import ExactEngine, PlanReport
from credo.inference.engine.weighted_draws import DrawAccount, WeightedDraws, ZeroWeights
from credo.inference.hybrid.likelihood_weighting import ConditionalProblem, LikelihoodWeighting
from credo.inference.hybrid.real_rows import DrawnRows, JointRows
from credo.numerics.array import Array
from credo.numerics.warning import warn_user

__all__ = ["DrawEngine", "InterventionNode", "RowDraws"]


Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RowDraws:
    """Likelihood weighting, one run for each different row.

    Attributes
    ----------
    nodes
        Conditional distributions by name.
    engine
        Settings of the draws. Random numbers belong to what a row knows, so that equal rows
        have equal answers and others independent ones.
    """

    nodes: dict[str, Conditional]
    engine: LikelihoodWeighting = field(default_factory=LikelihoodWeighting)

    def each(
        self, findings: Findings[str], keep: Sequence[str], draw_account: DrawAccount
    ) -> Iterator[tuple[Rows, WeightedDraws]]:
        """Yield rows that know the same, and their draws; rows no draw agrees with are not."""
        for rows in _equal_rows(findings):
            draws = self.of_row(findings.take(rows[:1]), keep)
            if draws is not None:
                draw_account.effective.append(draws.effective_draws)
                yield rows, draws

    def of_row(self, row: Findings[str], keep: Sequence[str] | None) -> WeightedDraws | None:
        """Return the draws of a single row, of all variables if ``keep`` is None.

        None if no draw agrees with what is known.
        """
        return self._run(self._problem(row, keep), row.stream())

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
        draws = self._run(problem, rng)
        if draws is None:
            return None
        if draws.effective_draws < n:
            warn_user(
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

    def _run(self, problem: ConditionalProblem, rng: Generator) -> WeightedDraws | None:
        _check_weighable(problem)
        if not problem.given and not problem.likelihood and not problem.keep:
            return WeightedDraws({}, np.zeros(self.engine.n_draws))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                found: WeightedDraws = run(self.engine, problem, rng).posterior
            except ZeroWeights:
                return None
        return found


def _check_weighable(problem: ConditionalProblem) -> None:
    """Refuse findings about nodes that can only be drawn from."""
    for node in problem.conditionals:
        name = node.child.name
        if name in problem.given and not hasattr(node, "log_prob"):
            raise ValueError(
                f"a node that is given must have the density of a value; found {name}, a "
                f"{type(node).__name__} that can only be drawn from. Give it a log_prob, or "
                "give another variable."
            )


def _equal_rows(findings: Findings[str]) -> list[Rows]:
    """Return the rows in groups that know the same."""
    numbers = [*findings.codes.values(), *findings.values.values()]
    numbers += [line for table in findings.likelihood.values() for line in table]
    if not numbers or not findings.n_rows:
        return [np.arange(findings.n_rows)] if findings.n_rows else []
    # Missing values are unlike each other; a number that is never given makes them equal.
    table = np.nan_to_num(np.array(numbers, dtype=np.float64), nan=-np.inf)
    _, group = np.unique(table, axis=1, return_inverse=True)
    return [np.flatnonzero(group.ravel() == at) for at in range(int(group.max()) + 1)]


MOST_CELLS = 1 << 24
"""Cells that a joint table of draws may have."""

BYTES_PER_DRAW = 8
DRAWS_PER_SECOND = 3e7


@dataclass(frozen=True, eq=False)
class DrawEngine:
    """The questions of a Bayesian network of any nodes, answered by weighted draws.

    The error that comes with an answer is a standard error: of a probability, or of the mean of
    a real variable in units of its standard deviation. The same question has the same answer.

    Attributes
    ----------
    rows
        Draws for rows of findings; nodes cut off from their causes are `InterventionNode`.
    exact
        Asked whether rows that no draw agrees with are impossible, which draws cannot show.
    """

    rows: RowDraws
    exact: ExactEngine

    problem = ConditionalProblem
    questions = ("marginals", "total", "mode", "draws")

    @classmethod
    def of(
        cls, conditionals: Mapping[str, Conditional], cut: frozenset[str], exact: ExactEngine
    ) -> DrawEngine:
        """Return the answers of a network in which some nodes are set from outside."""
        nodes = {
            n: InterventionNode(c.child) if n in cut else c for n, c in conditionals.items()
        }
        return cls(RowDraws(nodes), exact)

    def note(self, question: str) -> str:
        """Return what to say where it answers in place of a plan that does not fit."""
        return "the answer comes from weighted draws"

    def by(self, engine: LikelihoodWeighting) -> DrawEngine:
        """Return the same answers by draws with other settings."""
        return replace(self, rows=replace(self.rows, engine=engine))

    def after(self, error: InferenceTooLarge | NoExactAnswer) -> DrawEngine:
        """Return the same answers, whatever exact ones were refused for."""
        return self

    def marginals(
        self, findings: Findings[str], names: Sequence[str]
    ) -> tuple[dict[str, Any], Array, Account]:
        """Return tables of discrete variables, `DrawnRows` of real ones, and log totals."""
        n, total, draw_account = (
            findings.n_rows,
            np.full(findings.n_rows, np.nan),
            DrawAccount(),
        )
        parts = {name: np.full((n, self._width(name)), np.nan) for name in names}
        for rows, draws in self.rows.each(findings, names, draw_account):
            total[rows] = draws.log_evidence
            for name in names:
                parts[name][rows], error = self._summary(draws, name)
                draw_account.errors.append(error)
        total = self._proven_totals(findings, total, draw_account)
        account = draw_account.account(self.rows.engine.tolerance)
        real = [name for name in names if not self._variable(name).is_discrete]
        drawn = {name: self._drawn_rows(findings, name, parts[name]) for name in real}
        return {**parts, **drawn}, total, account

    def joint(
        self, findings: Findings[str], names: Sequence[str]
    ) -> tuple[Any, Array, Account]:
        """Return the joint table, or `JointRows` if a variable is real."""
        discrete = [name for name in names if self._variable(name).is_discrete]
        real = [name for name in names if name not in discrete]
        shape = tuple(self._variable(name).n_states for name in discrete)
        _check_cells(shape)
        n, d, draw_account = findings.n_rows, len(real), DrawAccount()
        table, total = np.full((n, *shape), np.nan), np.full(n, np.nan)
        mean, covariance = np.full((n, d), np.nan), np.full((n, d, d), np.nan)
        for rows, draws in self.rows.each(findings, names, draw_account):
            total[rows] = draws.log_evidence
            table[rows], error = draws.joint(discrete, shape)
            mean[rows], covariance[rows] = draws.moments(real)
            draw_account.errors.append(error)
        total = self._proven_totals(findings, total, draw_account)
        account = draw_account.account(self.rows.engine.tolerance)
        if not real:
            return table, total, account
        found = JointRows(
            table, mean, covariance, lambda m, rng: self.draws(findings, m, rng)[0]
        )
        return found, total, account

    def total(self, findings: Findings[str]) -> tuple[Array, Account]:
        """Return the log of the mean weight, row by row; its error is that of the log."""
        total, draw_account = np.full(findings.n_rows, np.nan), DrawAccount()
        for rows, draws in self.rows.each(findings, (), draw_account):
            total[rows] = draws.log_evidence
            draw_account.errors.append(draws.log_evidence_error)
        total = self._proven_totals(findings, total, draw_account)
        return total, draw_account.account(self.rows.engine.tolerance)

    def best(
        self, findings: Findings[str], names: Sequence[str]
    ) -> tuple[dict[str, NDArray[np.intp]], Array, Account]:
        """Return the joint states of some discrete variables that weigh most."""
        total, draw_account = np.full(findings.n_rows, np.nan), DrawAccount()
        states = {name: np.full(findings.n_rows, MISSING, dtype=np.intp) for name in names}
        for rows, draws in self.rows.each(findings, names, draw_account):
            found, share, error = draws.heaviest(names)
            total[rows] = draws.log_evidence + np.log(share)
            draw_account.errors.append(error)
            for name, state in found.items():
                states[name][rows] = state
        total = self._proven_totals(findings, total, draw_account)
        return states, total, draw_account.account(self.rows.engine.tolerance)

    def draws(
        self, findings: Findings[str], n_draws: int, rng: Generator
    ) -> tuple[dict[str, NDArray[Any]], Array]:
        """Return draws of all variables, (n_rows, n_draws) by name.

        With nothing known they are exact; else picked by weight, so that they may repeat.
        """
        shape, total = (findings.n_rows, n_draws), np.full(findings.n_rows, np.nan)
        found: dict[str, NDArray[Any]] = {
            name: np.full(shape, MISSING, np.intp)
            if node.child.is_discrete
            else np.full(shape, np.nan)
            for name, node in self.rows.nodes.items()
        }
        for row in range(findings.n_rows):
            picked = self.rows.picked(findings.take(np.array([row])), n_draws, rng)
            if picked is not None:
                columns, total[row] = picked
                for name, column in columns.items():
                    found[name][row] = column
        return found, self._proven_totals(findings, total, DrawAccount())

    def report(self, names: Sequence[str], observed: Sequence[str]) -> PlanReport:
        """Return the cost of the most draws that one row may take."""
        n_nodes = len(self.rows.relevant([*names, *observed]))
        cells = n_nodes * self.rows.engine.n_draws
        seconds = cells / DRAWS_PER_SECOND
        return PlanReport(0, cells, BYTES_PER_DRAW * cells, seconds, True, is_exact=False)

    def _proven_totals(
        self, findings: Findings[str], total: Array, draw_account: DrawAccount
    ) -> Array:
        """Return log totals, minus infinity in rows that are impossible rather than rare.

        A row that no draw agrees with stays NaN with a warning unless that is proven; alone it
        is an error.
        """
        rows = np.flatnonzero(np.isnan(total))
        if not rows.size:
            return total
        total[rows] = np.where(self._is_impossible(findings.take(rows)), -np.inf, np.nan)
        unanswered = np.flatnonzero(np.isnan(total)).tolist()
        if unanswered and findings.index is None:
            raise ZeroWeights(self.rows.engine.n_draws)
        if unanswered:
            draw_account.effective.append(0.0)
            warn_user(
                f"some draw must agree with each row; found none for {len(unanswered)} rows, "
                f"such as {unanswered[:8]}. Their answers are NaN: give less there, or use an "
                "exact method.",
                ConvergenceWarning,
            )
        return total

    def _is_impossible(self, findings: Findings[str]) -> NDArray[np.bool_]:
        """Return which rows exact inference proves impossible; none where it does not fit."""
        try:
            return np.isneginf(self.exact.total(findings)[0])
        except (InferenceTooLarge, NoExactAnswer):
            return np.zeros(findings.n_rows, dtype=np.bool_)

    def _variable(self, name: str) -> Variable:
        return self.rows.nodes[name].child

    def _width(self, name: str) -> int:
        """Return the columns of a summary: one per state, or mean and variance."""
        variable = self._variable(name)
        return variable.n_states if variable.is_discrete else 2

    def _summary(self, draws: WeightedDraws, name: str) -> tuple[Array, float]:
        """Return probabilities, or mean and variance, and the largest standard error."""
        variable = self._variable(name)
        if variable.is_discrete:
            return draws.joint([name], (variable.n_states,))
        mean, variance, error = draws.spread(name)
        return np.array([mean, variance]), error

    def _drawn_rows(self, findings: Findings[str], name: str, moments: Array) -> DrawnRows:
        def distribution(row: int) -> Distribution:
            draws = self.rows.of_row(findings.take(np.array([row])), [name])
            if draws is None:
                raise ZeroWeights(self.rows.engine.n_draws)
            return Empirical(draws.columns[name], draws.weight)

        return DrawnRows(moments[:, 0], moments[:, 1], distribution)


def _check_cells(shape: tuple[int, ...]) -> None:
    if prod(shape) > MOST_CELLS:
        raise ValueError(
            f"a joint table of draws must have at most {MOST_CELLS:,} cells; found "
            f"{prod(shape):,}. Ask for fewer variables at once, or for marginals."
        )


@dataclass(frozen=True)
class InterventionNode:
    """A variable without parents whose value is an intervention, and so tells nothing.

    Examples
    --------
    >>> InterventionNode(Variable("dose")).log_prob({"dose": np.array([1.0, 5.0])})
    array([0., 0.])
    """

    child: Variable
    parents: tuple[Variable, ...] = ()
    n_parameters: int = 0

    def log_prob(self, values: Values) -> Array:
        """Return zeros: whoever sets a variable does not observe it."""
        return np.zeros(len(values[self.child.name]))

    def sample(self, values: Values, n: int, rng: Generator) -> Array:
        """Refuse, since the value comes from outside."""
        raise ValueError(
            f"{self.child.name} must be set to be cut off from its causes; found no value. "
            "Pass it in do."
        )

"""Engines of networks: questions by name, answered by tables or by likelihood weighting.

A discrete network is asked as a coded problem of tables. Any Bayesian network can be asked by
weighted draws, whose answers come with their effective draws. A Bayesian network is asked
exactly wherever that is possible, else by draws. A node that is set from outside (an
intervention) is cut off from its causes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Protocol, Self, TypeVar, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.distributions.distribution import Distribution
from credo.graphs.node.conditional import Conditional, Values
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.variable import Variable
from credo.inference.discrete.auto import AutoInference
from credo.inference.discrete.conflict import conflict
from credo.inference.discrete.exact.plan import Question
from credo.inference.discrete.exact_inference import TableInference
from credo.inference.discrete.factor_problem import FactorProblem
from credo.inference.discrete.findings import MISSING, Findings
from credo.inference.engine.engine import Account, ConvergenceWarning, run
from credo.inference.engine.error import (
    AnswerTooLarge,
    InferenceTooLarge,
    NoExactAnswer,
)
from credo.inference.engine.method import Method, engine_of, warn_approximate
from credo.inference.engine.weighted_draws import DrawAccount, WeightedDraws, ZeroWeights
from credo.inference.hybrid.likelihood_weighting import ConditionalProblem, LikelihoodWeighting
from credo.models.network.value.limits import Limits
from credo.models.network.value.network_answer import (
    DrawnDistribution,
    DrawnRows,
    JointRows,
    PlanReport,
)
from credo.numerics.array import Array
from credo.numerics.warning import warn_user

__all__ = [
    "DirectedEngine",
    "DiscreteEngine",
    "DrawEngine",
    "InterventionNode",
    "NetworkEngine",
    "RowDraws",
]


class NetworkEngine(Protocol):
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

    def repeated(self, name: str, states: Mapping[str, int]) -> Array | None:
        """Return the exact distribution of one variable given states, if its plan is kept.

        None if there is no such plan, or what is given is impossible.
        """
        ...

    def conflict(self, findings: Findings[str]) -> list[str]:
        """Return the names of a smallest part of one row of findings that is impossible."""
        ...

    def report(self, names: Sequence[str], observed: Sequence[str]) -> PlanReport:
        """Return what exact marginals of some variables would cost given others."""
        ...


@dataclass(frozen=True, eq=False)
class DiscreteEngine:
    """The questions of a network, put to its problem.

    Attributes
    ----------
    numbers
        Number of each named variable in the problem; auxiliary ones have no name.
    auto
        Engines, exact and approximate.
    """

    numbers: dict[str, int]
    auto: AutoInference

    @classmethod
    def of(cls, numbers: Mapping[str, int], problem: FactorProblem, limits: Limits) -> Self:
        """Return the answers about a problem, with no plan compiled yet."""
        exact = TableInference(problem, limits.memory, limits.seconds)
        auxiliary = frozenset(range(len(problem.n_states))) - frozenset(numbers.values())
        return cls(dict(numbers), AutoInference(exact, auxiliary))

    def marginals(
        self, findings: Findings[str], names: Sequence[str], method: Method
    ) -> tuple[dict[str, Array], Array, Account]:
        """Return marginals by name, (n_rows, n_states) each, log totals and the account."""
        targets = [self.numbers[name] for name in names]
        found, account = self.auto.marginals(findings.numbered(self.numbers), targets, method)
        by_name = {name: found.probability[self.numbers[name]] for name in names}
        return by_name, found.log_total, account

    def joint(
        self, findings: Findings[str], names: Sequence[str], method: Method
    ) -> tuple[Array, Array, Account]:
        """Return the joint tables of some variables, (n_rows, *n_states)."""
        targets = [self.numbers[name] for name in names]
        return self.auto.joint(findings.numbered(self.numbers), targets, method)

    def total(self, findings: Findings[str], method: Method) -> tuple[Array, Account]:
        """Return the log of the sum over all that is unknown, row by row."""
        return self.auto.total(findings.numbered(self.numbers), method)

    def best(
        self, findings: Findings[str], names: Sequence[str], method: Method
    ) -> tuple[dict[str, NDArray[np.intp]], Array, Account]:
        """Return the most probable states of some variables jointly, and their log total."""
        targets = [self.numbers[name] for name in names]
        states, total, account = self.auto.best(
            findings.numbered(self.numbers), targets, method
        )
        return {name: states[:, self.numbers[name]] for name in names}, total, account

    def draws(
        self, findings: Findings[str], n_draws: int, rng: Generator
    ) -> tuple[dict[str, NDArray[np.intp]], Array]:
        """Return random states given each row, (n_rows, n_draws) by name, and log totals."""
        states, total = self.auto.exact.draws(findings.numbered(self.numbers), n_draws, rng)
        return {name: states[:, :, number] for name, number in self.numbers.items()}, total

    def repeated(self, name: str, states: Mapping[str, int]) -> Array | None:
        """Return the distribution of one variable given states, if its plan is kept."""
        known = {self.numbers[other]: state for other, state in states.items()}
        return self.auto.exact.repeated(self.numbers[name], known)

    def conflict(self, findings: Findings[str]) -> list[str]:
        """Return the names of a smallest part of one row of findings that is impossible."""
        found = conflict(self.auto.exact, findings.numbered(self.numbers))
        return [name for name, number in self.numbers.items() if number in found]

    def report(self, names: Sequence[str], observed: Sequence[str]) -> PlanReport:
        """Return what exact marginals of some variables would cost given others."""
        known = tuple(sorted(self.numbers[name] for name in observed))
        targets = tuple(i for i in (self.numbers[n] for n in names) if i not in known)
        made = self.auto.exact.outline(Question("marginals", targets, known))
        fits = made.bytes <= self.auto.exact.limit
        return PlanReport(made.width, made.cells, made.bytes, made.seconds, fits)


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
    exact: NetworkEngine

    @classmethod
    def of(
        cls, conditionals: Mapping[str, Conditional], cut: frozenset[str], exact: NetworkEngine
    ) -> DrawEngine:
        """Return the answers of a network in which some nodes are set from outside."""
        nodes = {
            n: InterventionNode(c.child) if n in cut else c for n, c in conditionals.items()
        }
        return cls(RowDraws(nodes), exact)

    def by(self, engine: LikelihoodWeighting) -> DrawEngine:
        """Return the same answers by draws with other settings."""
        return replace(self, rows=replace(self.rows, engine=engine))

    def marginals(
        self, findings: Findings[str], names: Sequence[str], method: Method
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
        drawn = {name: self._drawn_rows(findings, name, parts[name], account) for name in real}
        return {**parts, **drawn}, total, account

    def joint(
        self, findings: Findings[str], names: Sequence[str], method: Method
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

    def total(self, findings: Findings[str], method: Method) -> tuple[Array, Account]:
        """Return the log of the mean weight, row by row; its error is that of the log."""
        total, draw_account = np.full(findings.n_rows, np.nan), DrawAccount()
        for rows, draws in self.rows.each(findings, (), draw_account):
            total[rows] = draws.log_evidence
            draw_account.errors.append(draws.log_evidence_error)
        total = self._proven_totals(findings, total, draw_account)
        return total, draw_account.account(self.rows.engine.tolerance)

    def best(
        self, findings: Findings[str], names: Sequence[str], method: Method
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

    def repeated(self, name: str, states: Mapping[str, int]) -> Array | None:
        """Return None: draws have no plan."""
        return None

    def conflict(self, findings: Findings[str]) -> list[str]:
        """Refuse: that no draw agreed does not prove that none can."""
        raise ZeroWeights(self.rows.engine.n_draws)

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
            return np.isneginf(self.exact.total(findings, "exact")[0])
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

    def _drawn_rows(
        self, findings: Findings[str], name: str, moments: Array, account: Account
    ) -> DrawnRows:
        def distribution(row: int) -> Distribution:
            draws = self.rows.of_row(findings.take(np.array([row])), [name])
            if draws is None:
                raise ZeroWeights(self.rows.engine.n_draws)
            return DrawnDistribution(draws.columns[name], draws.weight, account)

        return DrawnRows(moments[:, 0], moments[:, 1], distribution)


def _check_cells(shape: tuple[int, ...]) -> None:
    if prod(shape) > MOST_CELLS:
        raise ValueError(
            f"a joint table of draws must have at most {MOST_CELLS:,} cells; found "
            f"{prod(shape):,}. Ask for fewer variables at once, or for marginals."
        )


Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class DirectedEngine:
    """Two ways to answer: the first wherever it can, the second by name or where it cannot.

    Attributes
    ----------
    exact
        Answers by tables, or by tables and normals.
    weighted
        Answers by likelihood weighting, which every network allows.
    """

    exact: NetworkEngine
    weighted: DrawEngine

    def marginals(
        self, findings: Findings[str], names: Sequence[str], method: Method
    ) -> tuple[dict[str, Any], Array, Account]:
        """Return marginals by name, log totals of the findings, and how they were found."""
        return self._exact_or_weighted(
            method, "marginals", lambda a: a.marginals(findings, names, method)
        )

    def joint(
        self, findings: Findings[str], names: Sequence[str], method: Method
    ) -> tuple[Any, Array, Account]:
        """Return the joint distribution of several variables in every row."""
        return self._exact_or_weighted(
            method, "marginals", lambda a: a.joint(findings, names, method)
        )

    def total(self, findings: Findings[str], method: Method) -> tuple[Array, Account]:
        """Return the log probability or density of the findings, row by row."""
        return self._exact_or_weighted(method, "total", lambda a: a.total(findings, method))

    def best(
        self, findings: Findings[str], names: Sequence[str], method: Method
    ) -> tuple[dict[str, NDArray[np.intp]], Array, Account]:
        """Return the most probable states of some discrete variables, jointly."""
        return self._exact_or_weighted(
            method, "mode", lambda a: a.best(findings, names, method)
        )

    def draws(
        self, findings: Findings[str], n_draws: int, rng: Generator
    ) -> tuple[dict[str, NDArray[Any]], Array]:
        """Return random states or values given each row, (n_rows, n_draws) by name."""
        return self._exact_or_weighted(
            "auto", "marginals", lambda a: a.draws(findings, n_draws, rng)
        )

    def repeated(self, name: str, states: Mapping[str, int]) -> Array | None:
        """Return the exact distribution of one variable given states, if its plan is kept."""
        return self.exact.repeated(name, states)

    def conflict(self, findings: Findings[str]) -> list[str]:
        """Return the names of a smallest part of one row of findings that is impossible."""
        return self.exact.conflict(findings)

    def report(self, names: Sequence[str], observed: Sequence[str]) -> PlanReport:
        """Return what exact marginals would cost; of draws if there is no exact answer."""
        return self._exact_or_weighted("auto", "marginals", lambda a: a.report(names, observed))

    def _exact_or_weighted(
        self, method: Method, question: str, answer: Callable[[NetworkEngine], Answer]
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

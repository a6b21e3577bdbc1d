"""Likelihood weighting: draw every node after its parents, and weigh by what is given.

A node that is given is not drawn: it keeps its value, and the draw is weighted by the
probability or density of that value [fung1990]_. Nodes may be of any kind that can be drawn
from and evaluated, discrete or real. With nothing given this is ancestral sampling, and all
weights are one.

Any Bayesian network can be asked by such draws, whose answers come with their effective draws.
A node that is set from outside (an intervention) is cut off from its causes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo import graphs
from credo.distributions.distribution import Distribution
from credo.distributions.empirical import Empirical
from credo.graphs.node.conditional import Conditional, Values
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.variable import UnknownVariable, Variable, nearest
from credo.inference.engine.engine import (
    Account,
    ConvergenceWarning,
    Inference,
    StandardError,
    WeightStep,
    run,
)
from credo.inference.engine.error import InferenceTooLarge, NoExactAnswer
from credo.inference.engine.findings import MISSING, Findings
from credo.inference.engine.network import ExactEngine, PlanReport
from credo.inference.engine.weighted_draws import DrawAccount, WeightedDraws, ZeroWeights
from credo.inference.hybrid.real_rows import DrawnRows, JointRows
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.quotation import quote
from credo.numerics.warning import warn_user

__all__ = [
    "ConditionalProblem",
    "DrawEngine",
    "DrawnState",
    "InterventionNode",
    "LikelihoodWeighting",
    "RowDraws",
    "ancestral_sample",
]


Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class ConditionalProblem:
    """The nodes of a Bayesian network, and what is known about some of them.

    Attributes
    ----------
    conditionals
        One conditional distribution per variable, in any order.
    given
        Known values by name: the position of a state, or a real number.
    likelihood
        Likelihood of each state of discrete variables that are known uncertainly, by name.
    keep
        Names of the variables whose draws are kept; None keeps all.
    """

    conditionals: Sequence[Conditional]
    given: Mapping[str, float] = field(default_factory=dict)
    likelihood: Mapping[str, Array] = field(default_factory=dict)
    keep: Sequence[str] | None = None

    def __post_init__(self) -> None:
        names = list(self._by_name)
        for name in (*self.given, *self.likelihood, *(self.keep or ())):
            if name not in self._by_name:
                raise UnknownVariable(
                    f"variable must be one of {names}; found {name!r}.{nearest(name, names)}"
                )
        for name, value in self.given.items():
            _check_value(self._by_name[name].child, value)

    @cached_property
    def ordered(self) -> tuple[Conditional, ...]:
        """The nodes, each after its parents."""
        parents = {name: [p.name for p in c.parents] for name, c in self._by_name.items()}
        return tuple(self._by_name[name] for name in DirectedGraph(parents).order())

    def draw(self, n: int, rng: Generator) -> WeightedDraws:
        """Return ``n`` draws with their weights.

        Examples
        --------
        >>> from credo.graphs.node.conditional_table import ConditionalTable
        >>> rain, wet = Variable("rain", (False, True)), Variable("wet", (False, True))
        >>> nodes = [ConditionalTable(rain, [], [0.8, 0.2]),
        ...          ConditionalTable(wet, [rain], [[0.9, 0.1], [0.2, 0.8]])]
        >>> problem = ConditionalProblem(nodes, given={"wet": 1})
        >>> draws = problem.draw(20_000, np.random.default_rng(0))
        >>> draws.probability("rain", 2).round(2)  # 0.16 / 0.24 for rain
        array([0.33, 0.67])
        """
        columns: Columns = {}
        log_weight = np.zeros(n)
        with np.errstate(divide="ignore"):
            for node in self.ordered:
                name = node.child.name
                if name in self.given:
                    columns[name] = _constant(node.child, self.given[name], n)
                    log_weight += node.log_prob(columns)
                else:
                    columns[name] = node.sample(columns, n, rng)
                if name in self.likelihood:
                    log_weight += np.log(self.likelihood[name])[columns[name]]
        kept = columns if self.keep is None else {name: columns[name] for name in self.keep}
        return WeightedDraws(kept, log_weight)

    @cached_property
    def _by_name(self) -> dict[str, Conditional]:
        return {node.child.name: node for node in self.conditionals}


@dataclass(frozen=True, eq=False)
class DrawnState:
    """Blocks of draws so far."""

    blocks: tuple[WeightedDraws, ...]

    @property
    def effective_draws(self) -> float:
        """Equally weighted draws that all blocks together would be worth."""
        log_weight = [block.log_weight for block in self.blocks]
        return WeightedDraws({}, np.concatenate([*log_weight])).effective_draws


@dataclass(frozen=True)
class LikelihoodWeighting:
    """Draw blocks until no probability can have a standard error above the tolerance.

    That bound is ``0.5 / sqrt(effective draws)``, reached by a probability of one half.

    Attributes
    ----------
    n_draws
        Most draws in all.
    block_size
        Draws per step.
    tolerance
        Standard error at which enough has been drawn.
    """

    n_draws: int = 200_000
    block_size: int = 10_000
    tolerance: float = 0.005

    name = "likelihood_weighting"
    title = "likelihood weighting"
    answers = ("marginals", "total", "mode")
    problem = ConditionalProblem
    is_random: ClassVar[bool] = True

    @property
    def stop(self) -> StandardError:
        """The standard error is small enough, or all draws are taken."""
        return StandardError(self.tolerance, self.n_draws)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return values for laws to check; names of methods stand for the first."""
        rain, _, wet = (node for node in graphs.ConditionalTable.examples())
        problem = ConditionalProblem([rain, wet], given={"wet": 2})
        return (Example(cls(), problem=problem),)

    def init(self, problem: ConditionalProblem, rng: Generator) -> DrawnState:
        """Return no draws."""
        return DrawnState(())

    def step(
        self, problem: ConditionalProblem, state: DrawnState, rng: Generator
    ) -> tuple[DrawnState, WeightStep]:
        """Draw one more block; report its share of the log evidence and the bound."""
        block = problem.draw(self.block_size, rng)
        after = DrawnState((*state.blocks, block))
        effective = after.effective_draws
        n_draws = sum(part.n_draws for part in after.blocks)
        return after, WeightStep(block.log_evidence, _bound(effective), n_draws, effective)

    def joined(self, problem: ConditionalProblem, states: Sequence[DrawnState]) -> DrawnState:
        """Return the blocks of several chains together."""
        return DrawnState(tuple(block for state in states for block in state.blocks))

    def posterior(self, problem: ConditionalProblem, state: DrawnState) -> Inference:
        """Return all draws, and the log probability of what is given.

        Raises
        ------
        ZeroWeights
            If no draw agrees with what is given.
        """
        draws = WeightedDraws.pooled(state.blocks)
        if not draws.effective_draws:
            raise ZeroWeights(draws.n_draws)
        worth = draws.effective_draws
        account = Account(self.title, False, _bound(worth), "largest standard error", worth)
        return Inference(draws, draws.log_evidence, "importance", account=account)


def _bound(effective: float) -> float:
    """Return the largest standard error that a probability can have."""
    return float(0.5 / np.sqrt(effective)) if effective else float("inf")


def ancestral_sample(conditionals: Sequence[Conditional], n: int, rng: Generator) -> Columns:
    """Return ``n`` joint draws of a network, every node drawn after its parents.

    Examples
    --------
    >>> from credo.graphs.node.conditional_table import ConditionalTable
    >>> coin = Variable("coin", ("heads", "tails"))
    >>> node = ConditionalTable(coin, [], [0.0, 1.0])
    >>> ancestral_sample([node], 3, np.random.default_rng(0))["coin"]
    array([1, 1, 1])
    """
    return dict(ConditionalProblem(conditionals).draw(n, rng).columns)


def _constant(variable: Variable, value: float, n: int) -> NDArray[Any]:
    return np.full(n, value, dtype=np.intp if variable.is_discrete else np.float64)


def _check_value(variable: Variable, value: float) -> None:
    if variable.is_discrete:
        if value not in range(variable.n_states):
            raise ValueError(
                f"given {variable.name} must be a position from 0 to {variable.n_states - 1}; "
                f"found {quote(value)}. Look the state up with Variable.index."
            )
    elif not np.isfinite(value):
        raise ValueError(
            f"given {variable.name} must be a finite number; found {quote(value)}. Leave it "
            "out if it is not known."
        )


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

"""Exact inference in networks of discrete and conditionally linear-Gaussian variables.

Real variables are integrated out before discrete ones are summed, a strong order
[lauritzen1992]_: connected real variables become one table over the discrete variables that
their parameters depend on, and what is left is discrete. The cost is exponential in the number
of discrete variables around connected real ones, for every exact method; it is found without
allocating anything.

Of a network only what a question needs is kept. A threshold node is a table once the real
variables of its score are integrated out; some of the tables that are left differ from row to
row.

A finding about one probit threshold node cuts off its score ``z = coefficients . parents +
scale * noise``, itself a normal node. Given the other findings ``z`` is a mixture of normals,
and given its value all is conditionally Gaussian: one integral over ``z`` is left, which a
quadrature over panels no wider than the noise does to many digits, however far out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from credo.distributions.quadrature import panels
from credo.graphs.factor import Factor
from credo.graphs.node.conditional import Conditional, DiscreteConditional
from credo.graphs.node.linear_gaussian import GaussianNode
from credo.graphs.node.threshold import ThresholdNode, log_shares
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.variable import Variable
from credo.inference.discrete.exact.plan import Kind, PlanCache, PlanOutline, Question
from credo.inference.discrete.exact_inference import Plan, TableInference
from credo.inference.discrete.factor_problem import FactorProblem, Table
from credo.inference.engine.error import InferenceTooLarge, NoExactAnswer, require_memory
from credo.inference.engine.findings import Findings, check_known
from credo.inference.hybrid.real_component import (
    IntegratedComponent,
    RealComponent,
    joined_moments,
    real_components,
)
from credo.inference.hybrid.real_posterior import HybridPosterior, RealPosterior
from credo.inference.hybrid.row_factor import RowTable, gathered, spread
from credo.numerics.array import Array
from credo.numerics.memory import USUAL_BYTES

__all__ = [
    "HybridInference",
    "HybridStructure",
    "RowInference",
    "RowProblem",
    "Solved",
    "is_conditional_gaussian",
    "is_integrable",
    "n_shared_rows",
    "posterior_beyond",
    "posterior_cost",
    "score_node",
    "threshold_table",
]

Homes = Mapping[str, IntegratedComponent]


def threshold_table(node: ThresholdNode, homes: Homes, findings: Findings[str]) -> RowTable:
    """Return the probability of the child's states given findings and settings.

    Given a setting the score is normal, so that the mean over it is a normal distribution
    function for a probit, and an integral over one variable for a logit. It is exact if no
    other threshold depends on the same hidden real variables.

    Parameters
    ----------
    homes
        Component of every hidden real parent, by name.
    """
    own = [v.name for v in node.discrete_parents]
    coefficients, left = gathered(node.coefficients, own, findings.codes, n_trailing=1)
    thresholds, _ = gathered(node.thresholds, own, findings.codes, n_trailing=1)
    scale, _ = gathered(node.scale, own, findings.codes)
    linked = [name for part in homes.values() for name in part.scope]
    scope = tuple(dict.fromkeys([*left, *linked]))
    unit = spread(scale, left, scope)
    mean, variance = _score(node, spread(coefficients, left, scope), homes, findings, scope)
    edges = (spread(thresholds, left, scope) - mean[..., None]) / unit[..., None]
    shares = log_shares(edges, np.sqrt(variance) / unit, node.link)
    return _placed(node, shares[..., np.argsort(node.order)], scope, findings)


def _score(
    node: ThresholdNode,
    coefficients: Array,
    homes: Homes,
    findings: Findings[str],
    scope: tuple[str, ...],
) -> tuple[Array, Array]:
    """Return mean and variance of the score for each row and setting of the scope."""
    mean = np.zeros((findings.n_rows, *[1] * len(scope)))
    variance = np.zeros_like(mean)
    weight = {p.name: coefficients[..., j] for j, p in enumerate(node.real_parents)}
    for name, slope in weight.items():
        if name not in homes:
            column = findings.values[name].reshape(-1, *[1] * len(scope))
            mean = mean + slope * column
            continue
        part = homes[name]
        mean = mean + slope * spread(part.mean_of(name), part.scope, scope)
        for other in [n for n, home in homes.items() if home is part]:
            product = spread(part.covariance_of(name, other), part.scope, scope)
            variance = variance + slope * weight[other] * product
    return mean, np.broadcast_to(variance, mean.shape)


def _placed(
    node: ThresholdNode, table: Array, scope: tuple[str, ...], findings: Findings[str]
) -> RowTable:
    """Return the table with its last axis, the child, where it belongs."""
    name = node.child.name
    if name in findings.codes:
        codes = findings.codes[name].reshape(-1, *[1] * (table.ndim - 1))
        return RowTable(scope, np.take_along_axis(table, codes, axis=-1)[..., 0])
    if name not in scope:
        return RowTable((*scope, name), table)
    # The child also chooses parameters below it: its own state is that of the setting.
    rest, axis = tuple(n for n in scope if n != name), 1 + scope.index(name)
    return RowTable((*rest, name), np.diagonal(table, axis1=axis, axis2=-1))


Names = Collection[str]
CELLS_AT_ONCE = 1 << 23
"""Cells of the tables of a block of rows."""

LARGEST = 1 << 27


@dataclass(frozen=True, eq=False)
class Solved:
    """Integrated real components of the relevant part of a network, and what is discrete.

    Attributes
    ----------
    components
        Real variables, in groups that share no hidden one.
    problem
        States that are given, and the tables that the components leave.
    discrete
        Plans for what all rows share.
    """

    components: tuple[IntegratedComponent, ...]
    problem: RowProblem
    discrete: RowInference

    def home(self, name: str) -> IntegratedComponent:
        """Return the component that a hidden real variable belongs to."""
        return next(part for part in self.components if name in part.hidden)


class HybridStructure:
    """Nodes of a hybrid network, and which of them matter for what.

    Parameters
    ----------
    conditionals
        One per variable, of any kind; only those that matter must allow exact algebra.
    max_bytes
        Memory that one row may take; 1 GiB by default.
    """

    def __init__(
        self, conditionals: Sequence[Conditional], max_bytes: float | None = None
    ) -> None:
        self.max_bytes = max_bytes
        self.max_cells = LARGEST if max_bytes is None else max_bytes / 8
        self._plans: PlanCache[tuple[str, ...], RowInference] = PlanCache()
        self.conditionals = {c.child.name: c for c in conditionals}
        self.factors = {
            name: node.factors()
            for name, node in self.conditionals.items()
            if not isinstance(node, GaussianNode) and isinstance(node, DiscreteConditional)
        }
        self.graph = DirectedGraph(
            {name: [p.name for p in c.parents] for name, c in self.conditionals.items()}
        )
        known = [v for c in conditionals for v in (*c.parents, c.child)]
        self._variables = {variable.name: variable for variable in known}

    @cached_property
    def is_exact(self) -> bool:
        """Whether no question at all has an obstacle."""
        others = [name for name in self.conditionals if name not in self.factors]
        return all(isinstance(self.conditionals[name], GaussianNode) for name in others)

    def variable(self, name: str) -> Variable:
        """Return the variable of this name, which may be a parent that is no node itself."""
        return self._variables[name]

    def relevant(self, given: Names, keep: Names) -> list[Conditional]:
        """Return the nodes that findings and targets descend from, and these themselves."""
        wanted = list(dict.fromkeys([*given, *keep]))
        inside = {*wanted, *self.graph.ancestors(wanted)}
        return [c for name, c in self.conditionals.items() if name in inside]

    def groups(self, given: Names, targets: Sequence[str]) -> list[list[str]]:
        """Return targets that are answered together.

        Real variables that no finding descends from come apart unless they depend on the same
        discrete variables: together they could link what none of them links alone.
        """
        inside = {c.child.name for c in self.relevant(given, ())}
        near = [n for n in targets if n in inside or self.variable(n).is_discrete]
        far: dict[frozenset[str], list[str]] = {}
        for name in targets:
            if name not in near:
                far.setdefault(self._switches(name), []).append(name)
        return [near] * bool(near) + list(far.values())

    def batches(self, groups: list[list[str]]) -> list[list[list[str]]]:
        """Return the groups in batches that leave the same tables.

        Without thresholds only findings leave tables, the same ones whatever is asked.
        """
        return [groups] if self.is_exact else [[group] for group in groups]

    def _switches(self, name: str) -> frozenset[str]:
        """Return the discrete variables that choose parameters above a real variable."""
        above = [self.conditionals.get(n) for n in (name, *self.graph.ancestors(name))]
        nodes = [node for node in above if isinstance(node, GaussianNode)]
        return frozenset(v.name for node in nodes for v in node.discrete_parents)

    def obstacles(self, codes: Names, values: Names, keep: Names, shaped: Names) -> list[str]:
        """Return the nodes that stand in the way of an exact answer.

        Those are nodes of other kinds; thresholds on hidden real variables that another
        threshold depends on too; and thresholds on those whose posterior is asked for.

        Parameters
        ----------
        codes, values
            Names of given discrete and real variables.
        keep
            Names of variables that are asked for.
        shaped
            Names of real variables that must be normal given the states of discrete ones.
        """
        if self.is_exact:
            return []
        relevant = self.relevant([*codes, *values], keep)
        thresholds = [c for c in relevant if isinstance(c, ThresholdNode)]
        found = [c.child.name for c in relevant if not _has_algebra(c)]
        for part in real_components(_gaussian(relevant), frozenset(values)):
            on = [c.child.name for c in thresholds if _hidden_parents(c, part.hidden)]
            if len(on) > 1 or any(name in part.hidden for name in shaped):
                found += on
        return list(dict.fromkeys(found))

    def blocks(
        self, findings: Findings[str], groups: Sequence[Sequence[str]]
    ) -> Iterable[Findings[str]]:
        """Yield the findings in blocks of rows whose tables fit the memory."""
        cells = sum(self.cells(findings, group) for group in groups)
        step = max(1, CELLS_AT_ONCE // cells)
        for start in range(0, max(1, findings.n_rows), step):
            yield findings.take(slice(start, start + step))

    def cells(self, findings: Findings[str], keep: Sequence[str]) -> int:
        """Return the numbers that must be kept for each row, at least one.

        Those that all rows share, the factors of each setting, are not counted.

        Raises
        ------
        InferenceTooLarge
            If a single row does not fit the memory.
        """
        relevant = self.relevant(findings.names, keep)
        width, cells, shared = self.cost(relevant, findings.codes, findings.settled)
        if cells + shared > self.max_cells:
            needed = cells + shared
            raise InferenceTooLarge(width, needed, 8 * needed, 8.0 * self.max_cells)
        require_memory("an exact plan", 8 * (cells + shared))
        return cells

    def cost(
        self, relevant: Sequence[Conditional], codes: Names, values: Names
    ) -> tuple[int, int, int]:
        """Return the width of the largest row table, and the numbers kept per row and once."""
        parts = real_components(_gaussian(relevant), values)
        scopes = [part.discrete for part in parts] + _threshold_scopes(relevant, parts)
        scopes = [tuple(v for v in scope if v.name not in codes) for scope in scopes]
        real = [(part.n_settings(codes), len(part.nodes)) for part in parts]
        per_row = sum(math.prod(v.n_states for v in scope) for scope in scopes)
        per_row += sum(n_settings * m for n_settings, m in real)
        shared = sum(n_settings * m**2 for n_settings, m in real)
        return max([0, *(len(scope) - 1 for scope in scopes)]), max(1, per_row), shared

    def table_scopes(
        self, relevant: Sequence[Conditional], codes: Names, values: Names, partly: Names = ()
    ) -> list[tuple[str, ...]]:
        """Return the hidden discrete variables of each row table that will be made.

        Parameters
        ----------
        partly
            Names of real variables that only some rows know.
        """
        parts = real_components(_gaussian(relevant), values)
        made = [p for p in parts if len(p.nodes) > len(p.hidden) or {*p.hidden} & {*partly}]
        scopes = [part.discrete for part in made] + _threshold_scopes(relevant, parts)
        named = [tuple(v.name for v in scope if v.name not in codes) for scope in scopes]
        return [scope for scope in named if scope]

    def solved(self, findings: Findings[str], keep: Sequence[str]) -> Solved:
        """Return the discrete problem that findings and targets leave."""
        check_known(findings, self.is_exact)
        relevant = self.relevant(findings.names, keep)
        parts = real_components(_gaussian(relevant), findings.settled)
        n_rows, codes = findings.n_rows, findings.codes
        done = tuple(part.integrated(n_rows, codes, findings.values) for part in parts)
        tables = [
            RowTable(integral.scope, integral.log_density)
            for part, integral in zip(parts, done, strict=True)
            # Where every equation has a hidden variable of its own the integral is one.
            if len(part.nodes) > len(part.hidden) or integral.given
        ]
        for node in relevant:
            if isinstance(node, ThresholdNode):
                tables.append(threshold_table(node, _homes(node, done), findings))
        for name, likelihood in findings.likelihood.items():
            with np.errstate(divide="ignore"):
                tables.append(RowTable((name,), np.log(likelihood.T)))
        return Solved(done, RowProblem(n_rows, codes, tuple(tables)), self.discrete(relevant))

    def discrete(self, relevant: Sequence[Conditional]) -> RowInference:
        """Return the plans of the relevant tables, made when first asked for."""
        nodes = [node for node in relevant if node.child.is_discrete]
        key = tuple(node.child.name for node in nodes)
        limit = self.max_bytes or USUAL_BYTES
        known = self._plans.get(key)
        if known is not None:
            return known
        factors = [f for name in key for f in self.factors.get(name, ())]
        variables = [node.child for node in nodes]
        made = RowInference(factors, variables, self.max_bytes)
        return self._plans.put(key, made, limit)


def _threshold_scopes(
    relevant: Sequence[Conditional], parts: Sequence[RealComponent]
) -> list[tuple[Variable, ...]]:
    """Return the discrete variables of the table that each threshold becomes."""
    scopes = []
    for node in relevant:
        if isinstance(node, ThresholdNode):
            near = [part for part in parts if _hidden_parents(node, part.hidden)]
            linked = [v for part in near for v in part.discrete]
            scopes.append(tuple(dict.fromkeys((node.child, *node.discrete_parents, *linked))))
    return scopes


def _gaussian(nodes: Iterable[Conditional]) -> list[GaussianNode]:
    return [node for node in nodes if isinstance(node, GaussianNode)]


def _has_algebra(node: Conditional) -> bool:
    kinds = (GaussianNode, ThresholdNode, DiscreteConditional)
    return isinstance(node, kinds)


def _hidden_parents(node: ThresholdNode, hidden: Sequence[str]) -> list[str]:
    return [p.name for p in node.real_parents if p.name in hidden]


def _homes(
    node: ThresholdNode, parts: Sequence[IntegratedComponent]
) -> dict[str, IntegratedComponent]:
    return {name: part for part in parts for name in _hidden_parents(node, part.hidden)}


Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RowProblem:
    """What is known in each row, as states and as tables of the row's own.

    Attributes
    ----------
    n_rows
        Number of rows.
    codes
        Positions of given states by name, each of shape (n_rows,).
    tables
        Further factors of the density of each row.
    """

    n_rows: int
    codes: Mapping[str, Codes]
    tables: tuple[RowTable, ...]

    @property
    def scopes(self) -> tuple[tuple[str, ...], ...]:
        """Variables of the tables that have any."""
        return tuple(table.scope for table in self.tables if table.scope)

    def log_likelihood(self) -> tuple[Array, Array]:
        """Return the tables one below the other, (n_cells, n_rows), and the log of their units.

        Every table has maximum one in every row, so that nothing overflows.
        """
        unit, blocks = np.zeros(self.n_rows), []
        for table in self.tables:
            shape = table.log_values.shape
            flat = table.log_values.reshape(shape[0], prod(shape[1:]))
            top = flat.max(axis=1)
            unit = unit + top
            if table.scope:
                scaled = flat - np.where(np.isneginf(top), 0.0, top)[:, None]
                blocks.append(np.broadcast_to(scaled.T, (flat.shape[1], self.n_rows)))
        return np.concatenate([np.zeros((0, self.n_rows)), *blocks]), unit


class RowInference:
    """Compiled plans for tables that all rows share, and the tables of each row.

    Parameters
    ----------
    factors
        What all rows share; the last variable of each is distributed given the others.
    variables
        Discrete variables that occur in tables of rows.
    max_bytes
        Memory that a plan may take.
    """

    def __init__(
        self, factors: Sequence[Factor], variables: Sequence[Variable], max_bytes: float | None
    ) -> None:
        named = {v.name: v for factor in factors for v in factor.variables}
        named |= {v.name: v for v in variables}
        self.numbers = {name: i for i, name in enumerate(named)}
        tables = []
        for factor in factors:
            scope = tuple(self.numbers[name] for name in factor.names)
            tables.append(Table(scope, factor.values, factor.log_scale, scope[-1]))
        n_states = tuple(variable.n_states for variable in named.values())
        self.exact = TableInference(FactorProblem(n_states, tuple(tables)), max_bytes)

    @property
    def n_bytes(self) -> int:
        """Bytes of its tables and of the plans that are kept."""
        tables = self.exact.problem.tables
        return self.exact.n_bytes + sum(table.values.nbytes for table in tables)

    def outline(
        self,
        kind: Kind,
        targets: Sequence[str],
        known: Sequence[str],
        scopes: Sequence[tuple[str, ...]],
    ) -> PlanOutline:
        """Return the plan of a question by names, with what it costs."""
        return self.exact.outline(self._question(kind, targets, known, scopes))

    def total(self, problem: RowProblem) -> Array:
        """Return the log of the sum over all hidden variables, shape (n_rows,)."""
        return self._run("total", (), problem)[2]

    def joints(
        self, problem: RowProblem, groups: Sequence[tuple[str, ...]]
    ) -> tuple[dict[tuple[str, ...], Array], Array]:
        """Return the joint table of each group, (n_rows, *sizes), and the log totals.

        Impossible rows are NaN. A group without variables is certain.
        """
        alone = [group[0] for group in groups if len(group) == 1]
        plan, columns, total = self._run("marginals" if alone else "total", alone, problem)
        possible = np.where(np.isneginf(total), np.nan, 1.0)
        found: dict[tuple[str, ...], Array] = {}
        starts = {scope[0]: at for scope, at in plan.outputs}
        for group in groups:
            if len(group) > 1:
                table = self._joint(problem, group)
            elif group:
                at = starts[self.numbers[group[0]]]
                table = columns[:, at : at + self._sizes(group)[0]]
            else:
                table = np.ones(problem.n_rows)
            found[group] = table * possible.reshape(-1, *[1] * len(group))
        return found, total

    def best(self, problem: RowProblem, names: Sequence[str]) -> tuple[dict[str, Codes], Array]:
        """Return the states of some variables that are most probable, the others summed out."""
        question, codes, logs, unit = self._coded_question("best", names, problem)
        states, total = self.exact.plan(question).states(codes, logs, is_log=True)
        found = {name: states[:, 0, self.numbers[name]] for name in names}
        return found, total + unit

    def draws(
        self, problem: RowProblem, n: int, rng: Generator
    ) -> tuple[dict[str, Codes], Array]:
        """Return ``n`` draws of all variables for each row, (n_rows, n) by name."""
        question, codes, logs, unit = self._coded_question("draw", (), problem)
        states, total = self.exact.plan(question).states(codes, logs, rng, n, is_log=True)
        return {name: states[:, :, i] for name, i in self.numbers.items()}, total + unit

    def _joint(self, problem: RowProblem, group: tuple[str, ...]) -> Array:
        plan, columns, _ = self._run("joint", group, problem)
        order = plan.outputs[0][0]
        sizes = [self.exact.problem.n_states[i] for i in order]
        table = columns.reshape(problem.n_rows, *sizes)
        axes = [1 + order.index(self.numbers[name]) for name in group]
        return np.asarray(table.transpose(0, *axes))

    def _run(
        self, kind: Kind, targets: Sequence[str], problem: RowProblem
    ) -> tuple[Plan, Array, Array]:
        question, codes, logs, unit = self._coded_question(kind, targets, problem)
        plan = self.exact.plan(question)
        answer = plan.run(codes, logs, is_log=True)
        return plan, answer.columns, answer.log_total + unit

    def _coded_question(
        self, kind: Kind, targets: Sequence[str], problem: RowProblem
    ) -> tuple[Question, Codes, Array | None, Array]:
        known = [name for name in problem.codes if name in self.numbers]
        codes = np.array([problem.codes[name] for name in known], dtype=np.intp)
        logs, unit = problem.log_likelihood()
        question = self._question(kind, targets, known, problem.scopes)
        shaped = codes.reshape(len(known), problem.n_rows)
        return question, shaped, logs if len(logs) else None, unit

    def _question(
        self,
        kind: Kind,
        targets: Sequence[str],
        known: Sequence[str],
        scopes: Sequence[tuple[str, ...]],
    ) -> Question:
        place = self.numbers
        weighted = tuple(tuple(place[name] for name in scope) for scope in scopes)
        asked = tuple(place[name] for name in targets)
        return Question(kind, asked, tuple(place[name] for name in known), weighted)

    def _sizes(self, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.exact.problem.n_states[self.numbers[name]] for name in names)


Posteriors = dict[str, Array | RealPosterior]
Solve = Callable[[Findings[str], Sequence[str]], tuple[Posteriors, Array]]

_ORDER = 6
_NEGLIGIBLE = 1e-18
_FEWEST_PANELS, _MOST_PANELS = 40, 1024
# What is left out at the ends has a share of e^-38 of what is left in.
_DEPTH = 38.0


def is_integrable(node: object, findings: Findings[str]) -> bool:
    """Return whether all rows say that a probit score was below, or above, all thresholds."""
    if not isinstance(node, ThresholdNode) or node.link != "probit" or node.discrete_parents:
        return False
    codes = findings.codes.get(node.child.name, np.array([-1]))
    return bool(np.isin(codes, [node.order[0], node.order[-1]]).all())


def score_node(node: ThresholdNode) -> GaussianNode:
    """Return the score of a threshold with its noise, as a normal node."""
    score = Variable(f"score of {node.child.name}")
    return GaussianNode(score, node.parents, np.zeros(()), node.coefficients, node.scale)


def posterior_beyond(
    node: ThresholdNode, findings: Findings[str], targets: Sequence[str], solve: Solve
) -> tuple[Posteriors, Array]:
    """Return the posterior of each target and the log density of one row of findings.

    Parameters
    ----------
    solve
        Gives both for a network in which `score_node` stands in the place of ``node``.
    """
    score, rest = f"score of {node.child.name}", findings.without([node.child.name])
    found, log_prob = solve(rest, [score])
    prior = found[score]
    if not isinstance(prior, RealPosterior) or np.isneginf(log_prob[0]):
        return solve(rest, targets)
    is_low = findings.codes[node.child.name][0] == node.order[0]
    nodes, share, log_mass = _cut(prior, node, bool(is_low))
    rows = rest.take(np.zeros(len(nodes), dtype=np.intp))
    known = Findings(rows.n_rows, rows.codes, rows.likelihood, {**rows.values, score: nodes})
    parts, _ = solve(known, targets)
    mixed = {name: _mixed(part, share) for name, part in parts.items()}
    return mixed, log_prob + log_mass


def _cut(prior: RealPosterior, node: ThresholdNode, is_low: bool) -> tuple[Array, Array, float]:
    """Return nodes and shares for means over a cut mixture, and the log of what is left.

    What lies above the last threshold is mirrored, so that every cut keeps the lower tail.

    Raises
    ------
    NoExactAnswer
        If the noise is so small beside the score that its density would need too many nodes.
    """
    sign, threshold = (1.0, node.thresholds[0]) if is_low else (-1.0, -node.thresholds[-1])
    used = prior.weight[0] > 0
    mean, sd = sign * prior.mean[0, used], np.sqrt(prior.variance[0, used])
    edge = (threshold - mean) / sd
    log_left = special.log_ndtr(edge)
    log_share = np.log(prior.weight[0, used]) + log_left
    log_mass = float(special.logsumexp(log_share))
    low = special.ndtri_exp(log_left - _DEPTH)
    high = np.minimum(edge, np.sqrt(2.0 * _DEPTH))
    # Panels of two standard deviations of the noise leave no gaps in the mixture of normals.
    n_panels = int(np.max((high - low) * sd) / (2.0 * float(node.scale))) + _FEWEST_PANELS
    if n_panels > _MOST_PANELS:
        raise NoExactAnswer([node.child.name])
    standard, weights = panels(np.linspace(low, high, n_panels + 1), _ORDER)
    log_normal = -0.5 * standard**2 - 0.5 * np.log(2.0 * np.pi)
    share = np.exp(log_share - log_mass - log_left + log_normal) * weights
    kept = share > _NEGLIGIBLE
    nodes = sign * (mean + sd * standard)
    return nodes[kept], share[kept] / share[kept].sum(), log_mass


def _mixed(part: Array | RealPosterior, share: Array) -> Array | RealPosterior:
    """Return the mixture of posteriors in all rows, as one row."""
    if not isinstance(part, RealPosterior):
        return (share @ part)[None]
    weight = share[:, None] * part.weight
    columns = (np.broadcast_to(c, weight.shape) for c in (part.mean, part.variance))
    return RealPosterior(weight.reshape(1, -1), *(c.reshape(1, -1) for c in columns))


Scope = tuple[str, ...]

# About what it takes to integrate real variables out, and to ask one more plan.
SECONDS_PER_CELL = 7e-8
SECONDS_PER_GROUP = 4e-4

SHARED_CELLS = 1 << 14
"""Cells of one row up to which rows with different gaps share a plan."""

CELLS_OF_SHARED_ROWS = 1 << 24
"""Cells of all rows that share a plan."""

EQUATIONS_OF_GAPS = 6


def posterior_cost(
    structure: HybridStructure, given: Names, targets: Sequence[str]
) -> tuple[int, int, int, float, bool]:
    """Return width, cells, bytes and rough seconds of marginals, and whether they fit.

    Parameters
    ----------
    given
        Names of the variables that are known in every row.
    targets
        Names of the variables asked for; those known cost nothing.
    """
    codes, values = _discrete_and_real(structure, given)
    groups = structure.groups(given, targets) or [[]]
    parts = [structure.relevant(given, group) for group in groups]
    costs = [structure.cost(part, codes, values) for part in parts]
    cells = [per_row + shared for _, per_row, shared in costs]
    width, own = max(width for width, _, _ in costs), sum(cells)
    seconds = SECONDS_PER_GROUP * (1 + len(groups)) + SECONDS_PER_CELL * own
    if max(cells) > structure.max_cells:
        return width, own, 8 * own, seconds, False
    made = [
        s for batch in structure.batches(groups) for s in _sketches(structure, given, batch)
    ]
    n_bytes = max(outline.bytes for outline in made)
    return (
        max(width, *(outline.width for outline in made)),
        own + sum(outline.cells for outline in made),
        8 * own + n_bytes,
        seconds + sum(outline.seconds for outline in made),
        n_bytes <= structure.discrete(parts[0]).exact.limit,
    )


def n_shared_rows(structure: HybridStructure, settled: Names, names: Names) -> int:
    """Return how many rows with different gaps are best answered together; zero if none.

    Then what only some rows know counts as hidden. Thresholds do not allow it, for what is
    hidden may be an obstacle; and it must not cost more than a plan for each pattern.

    Parameters
    ----------
    settled
        Names of variables that every row knows.
    names
        Names of variables that some row knows.
    """
    if len(settled) == len(names) or not structure.is_exact:
        return 0
    relevant = structure.relevant(names, ())
    codes, values = _discrete_and_real(structure, settled)
    _, per_row, shared = structure.cost(relevant, codes, values)
    if per_row + shared > SHARED_CELLS:
        return 0
    plans = structure.discrete(relevant)
    some = [name for name in names if name in plans.numbers and name not in codes]
    known = [name for name in codes if name in plans.numbers]
    scopes = structure.table_scopes(relevant, codes, values, names)
    if plans.outline("marginals", some, known, scopes).cells > SHARED_CELLS:
        return 0
    # Each pattern of gaps has factors of its own, with an equation more per known variable.
    factors = EQUATIONS_OF_GAPS * shared
    n_partly = sum(not structure.variable(n).is_discrete for n in names if n not in settled)
    is_few = factors << n_partly <= CELLS_OF_SHARED_ROWS
    return CELLS_OF_SHARED_ROWS // (per_row if is_few else per_row + factors)


def _sketches(
    structure: HybridStructure, given: Names, batch: Sequence[Sequence[str]]
) -> list[PlanOutline]:
    """Return the plans of the discrete part for groups of targets that are asked together."""
    codes, values = _discrete_and_real(structure, given)
    tables = structure.table_scopes(structure.relevant(given, batch[0]), codes, values)
    asked: dict[Scope, None] = {}
    for group in batch:
        homes = _mixture_scopes(structure.relevant(given, group), codes, values)
        hidden = [name for name in group if name not in given]
        asked |= dict.fromkeys(homes.get(name, (name,)) for name in hidden)
    plans = structure.discrete(structure.relevant(given, [n for g in batch for n in g]))
    known = [name for name in codes if name in plans.numbers]
    alone = [scope[0] for scope in asked if len(scope) == 1]
    several = [scope for scope in asked if len(scope) > 1]
    made = [plans.outline("marginals" if alone else "total", alone, known, tables)]
    return made + [plans.outline("joint", scope, known, tables) for scope in several]


def _mixture_scopes(
    relevant: Sequence[Conditional], codes: Names, values: Names
) -> dict[str, Scope]:
    """Return the discrete variables that each hidden real variable is a mixture over."""
    nodes = [node for node in relevant if isinstance(node, GaussianNode)]
    parts = real_components(nodes, values)
    return {
        name: tuple(v.name for v in part.discrete if v.name not in codes)
        for part in parts
        for name in part.hidden
    }


def _discrete_and_real(structure: HybridStructure, given: Names) -> tuple[list[str], list[str]]:
    """Return the names of discrete and of real variables."""
    codes = [name for name in given if structure.variable(name).is_discrete]
    return codes, [name for name in given if name not in codes]


def is_conditional_gaussian(conditionals: Iterable[Conditional]) -> bool:
    """Return whether all answers are exact: tables, and normals linear in real parents.

    A discrete variable with a real parent is not such, nor is a distribution of another kind;
    then `HybridInference.obstacles` tells which answers are exact nevertheless.
    """
    exact = (GaussianNode, DiscreteConditional)
    return all(isinstance(conditional, exact) for conditional in conditionals)


class HybridInference:
    """A network of discrete tables and linear-Gaussian nodes, and its exact answers.

    States must be given in every row or in none; what rows know of a state without certainty
    is a likelihood. Values may have gaps, unless there are thresholds. Rows that are
    impossible have log density minus infinity and marginals NaN.

    Parameters
    ----------
    conditionals
        One per variable: discrete ones, and `GaussianNode`. A `ThresholdNode` is answered
        exactly where its score is normal given the rest; other kinds only where they do not
        matter for what is asked.
    max_bytes
        Memory that one row may take; 1 GiB by default.

    Examples
    --------
    >>> from credo.graphs import ConditionalLinearGaussian, ConditionalTable
    >>> from credo.graphs import LinearGaussian, Variable
    >>> from credo.inference.engine.findings import Findings
    >>> kind, size = Variable("kind", ("small", "large")), Variable("size")
    >>> spec = ConditionalLinearGaussian(
    ...     {"small": LinearGaussian(1.0), "large": LinearGaussian(3.0)})
    >>> prior = ConditionalTable(kind, (), [0.5, 0.5])
    >>> problem = HybridInference([prior, spec.bind(size, [kind])])
    >>> findings = Findings.of(values={"size": [2.0, 3.0]})
    >>> problem.marginals(findings, ["kind"])["kind"].round(4)
    array([[0.5   , 0.5   ],
           [0.1192, 0.8808]])
    """

    def __init__(
        self, conditionals: Sequence[Conditional], max_bytes: float | None = None
    ) -> None:
        self.structure = HybridStructure(conditionals, max_bytes)

    def obstacles(self, given: Collection[str], targets: Collection[str]) -> list[str]:
        """Return the nodes that keep marginals from being exact; none in most networks.

        A threshold is no obstacle where its real parents are given, or where no other
        threshold depends on the same hidden ones and no real target is linked to them. Nodes
        that neither findings nor targets descend from never are. A single probit that is an
        obstacle is integrated by `posterior` nevertheless, if it is given and leads nowhere.
        """
        codes = [n for n in given if self.structure.variable(n).is_discrete]
        values = [n for n in given if n not in codes]
        found = self.structure.obstacles(codes, values, (), ())
        # One by one: what only other targets descend from sums to one.
        for name in targets:
            shaped = [] if self.structure.variable(name).is_discrete else [name]
            found += self.structure.obstacles(codes, values, [name], shaped)
        return list(dict.fromkeys(found))

    def cost(
        self, given: Collection[str], targets: Sequence[str]
    ) -> tuple[int, int, int, float, bool]:
        """Return width, cells, bytes and rough seconds of one row, and whether it fits."""
        return posterior_cost(self.structure, given, targets)

    def n_shared(self, findings: Findings[str]) -> int:
        """Return how many rows with different gaps are best answered together."""
        return n_shared_rows(self.structure, findings.settled, findings.names)

    def log_prob(self, findings: Findings[str]) -> Array:
        """Return the log probability or density of the findings, shape (n_rows,)."""
        self._refuse_inexact(findings, (), ())
        parts = [np.zeros(0)]
        for block in self.structure.blocks(findings, [()]):
            solved = self.structure.solved(block, ())
            parts.append(solved.discrete.total(solved.problem))
        return np.concatenate(parts)

    def marginals(
        self, findings: Findings[str], targets: Sequence[str]
    ) -> dict[str, Array | RealPosterior]:
        """Return the posterior of each target.

        Returns
        -------
        dict
            Of a discrete variable its probabilities, shape (n_rows, n_states); of a real one a
            `RealPosterior`, a mixture of normals over the settings of discrete variables.
        """
        return self.posterior(findings, targets)[0]

    def posterior(
        self, findings: Findings[str], targets: Sequence[str]
    ) -> tuple[dict[str, Array | RealPosterior], Array]:
        """Return `marginals` and `log_prob` of the same findings, in one pass."""
        obstacles = self.obstacles(findings.names, targets)
        if len(obstacles) == 1 and self._is_integrable(obstacles[0], findings):
            return self._beyond(obstacles[0], findings, targets)
        _refuse(obstacles)
        if not targets:
            return {}, self.log_prob(findings)
        groups = self.structure.groups(findings.names, targets)
        found: dict[str, Array | RealPosterior] = {}
        for batch in self.structure.batches(groups):
            blocks = [self._marginals(b, batch) for b in self.structure.blocks(findings, batch)]
            found |= {n: _stacked([block[n] for block, _ in blocks]) for n in blocks[0][0]}
            # Targets add factors that sum to one, so every batch has the same total.
            log_prob = np.concatenate([total for _, total in blocks])
        return {name: found[name] for name in targets}, log_prob

    def joint(self, findings: Findings[str], targets: Sequence[str]) -> HybridPosterior:
        """Return the joint posterior of several variables, real and discrete, none given."""
        _refuse_given(targets, findings)
        self._refuse_inexact(findings, targets, targets)
        self.structure.cells(findings, targets)
        solved = self.structure.solved(findings, targets)
        real = [name for name in targets if not self.structure.variable(name).is_discrete]
        homes = [solved.home(name) for name in real]
        scopes = [part.scope for part in homes]
        asked = [name for name in targets if name not in real]
        names = tuple(dict.fromkeys([*asked, *(n for scope in scopes for n in scope)]))
        found, _ = solved.discrete.joints(solved.problem, [names])
        weight = found[names]
        mean, covariance = joined_moments(real, homes, names, weight.shape)
        discrete = tuple(self.structure.variable(name) for name in names)
        return HybridPosterior(discrete, tuple(real), weight, mean, covariance)

    def most_probable(
        self,
        findings: Findings[str],
        variables: Collection[str] | None = None,
    ) -> tuple[dict[str, NDArray[np.intp]], Array]:
        """Return the most probable states of hidden discrete variables, jointly.

        Real variables that are not given are integrated out.

        Parameters
        ----------
        variables
            Names of the variables asked for; the others are summed out. All if None.

        Returns
        -------
        tuple
            Positions of states by name, each of shape (n_rows,); and the log density of these
            states together with the findings, minus infinity in impossible rows.
        """
        nodes = self.structure.conditionals
        discrete = [name for name, node in nodes.items() if node.child.is_discrete]
        asked = discrete if variables is None else list(variables)
        names = [name for name in asked if name not in findings.codes]
        self._refuse_inexact(findings, names, ())
        self.structure.cells(findings, names)
        solved = self.structure.solved(findings, names)
        return solved.discrete.best(solved.problem, names)

    def sample(
        self,
        findings: Findings[str],
        n: int,
        rng: Generator,
    ) -> dict[str, NDArray[Any]]:
        """Return ``n`` exact draws of all variables for each row, each of shape (n_rows, n).

        Draws of discrete variables are positions of states; given ones are repeated.
        """
        self._refuse_inexact(findings, (), list(self.structure.conditionals))
        self.structure.cells(findings, ())
        nodes, solved = self.structure.conditionals, self.structure.solved(findings, ())
        rows = np.repeat(np.arange(findings.n_rows), n)
        known = {**findings.codes, **findings.values}
        settled = {name: column for name, column in known.items() if findings.is_known(name)}
        columns: dict[str, NDArray[Any]] = {name: c[rows] for name, c in settled.items()}
        drawn, log_prob = solved.discrete.draws(solved.problem, n, rng)
        _refuse_impossible(log_prob)
        columns |= {name: codes.reshape(-1) for name, codes in drawn.items()}
        for part in solved.components:
            columns |= part.sample(rows, tuple(columns[name] for name in part.scope), rng)
        for name in self.structure.graph.order():
            if name not in columns:
                columns[name] = nodes[name].sample(columns, len(rows), rng)
        return {name: columns[name].reshape(-1, n) for name in nodes}

    def _refuse_inexact(
        self, findings: Findings[str], keep: Collection[str], shaped: Collection[str]
    ) -> None:
        given = [*findings.codes, *findings.likelihood]
        _refuse(self.structure.obstacles(given, list(findings.values), keep, shaped))

    def _is_integrable(self, name: str, findings: Findings[str]) -> bool:
        """Return whether one integral over a score makes marginals exact."""
        node = self.structure.conditionals[name]
        return is_integrable(node, findings) and not self.structure.graph.children(name)

    def _beyond(
        self, name: str, findings: Findings[str], targets: Sequence[str]
    ) -> tuple[dict[str, Array | RealPosterior], Array]:
        """Return marginals once a threshold tells on which side of it a score is."""
        nodes = dict(self.structure.conditionals)
        node = nodes.pop(name)
        assert isinstance(node, ThresholdNode)
        inner = HybridInference([*nodes.values(), score_node(node)], self.structure.max_bytes)
        asked = [target for target in targets if target != name]
        rows = [
            posterior_beyond(node, findings.row(k), asked, inner.posterior)
            for k in range(findings.n_rows)
        ]
        found = {n: _stacked([parts[n] for parts, _ in rows]) for n in asked}
        if name in targets:
            found[name] = np.eye(node.child.n_states)[findings.codes[name]]
        return found, np.concatenate([total for _, total in rows])

    def _marginals(
        self, findings: Findings[str], batch: Sequence[Sequence[str]]
    ) -> tuple[dict[str, Array | RealPosterior], Array]:
        """Return the posteriors of groups of targets, and the log density of the findings."""
        solved = {
            name: part for group in batch for name, part in self._by_target(findings, group)
        }
        scopes = {name: self._scope(name, part, findings) for name, part in solved.items()}
        plans = self.structure.discrete(self.structure.relevant(findings.names, list(solved)))
        problem = next(iter(solved.values())).problem
        joints, log_prob = plans.joints(problem, list(dict.fromkeys(scopes.values())))
        found = {
            name: self._marginal(name, part, findings, joints[scopes[name]])
            for name, part in solved.items()
        }
        return found, log_prob

    def _by_target(
        self, findings: Findings[str], group: Sequence[str]
    ) -> list[tuple[str, Solved]]:
        solved = self.structure.solved(findings, group)
        return [(name, solved) for name in group]

    def _scope(self, name: str, solved: Solved, findings: Findings[str]) -> tuple[str, ...]:
        """Return the discrete variables whose joint states a posterior is a mixture over."""
        if self.structure.variable(name).is_discrete:
            return () if name in findings.codes else (name,)
        return () if findings.is_known(name) else solved.home(name).scope

    def _marginal(
        self, name: str, solved: Solved, findings: Findings[str], joint: Array
    ) -> Array | RealPosterior:
        variable = self.structure.variable(name)
        weight = joint.reshape(len(joint), np.prod(joint.shape[1:], dtype=np.intp))
        if name in findings.codes:
            return np.asarray(np.eye(variable.n_states)[findings.codes[name]] * weight)
        if variable.is_discrete:
            return weight
        if findings.is_known(name):
            value = findings.values[name][:, None]
            return RealPosterior(weight, value, np.zeros_like(value))
        part = solved.home(name)
        mean = part.mean_of(name).reshape(weight.shape)
        variance = part.covariance_of(name, name).reshape(weight.shape)
        return RealPosterior(weight, mean, variance)


def _refuse(obstacles: Sequence[str]) -> None:
    if obstacles:
        raise NoExactAnswer(obstacles)


def _refuse_given(targets: Sequence[str], findings: Findings[str]) -> None:
    given = [name for name in targets if findings.is_known(name)]
    if given:
        raise ValueError(
            f"targets must be hidden to have a joint posterior; found {given} given. "
            "Leave them out of the targets."
        )


def _refuse_impossible(log_prob: Array) -> None:
    impossible = np.flatnonzero(np.isneginf(log_prob))
    if impossible.size:
        raise ValueError(
            "findings must be possible to draw given them; found probability zero in row "
            f"{impossible[0]} ({impossible.size} of {log_prob.size} rows), or values so far "
            "out that their density has no log. Check them and their units."
        )


def _stacked(parts: Sequence[Array | RealPosterior]) -> Array | RealPosterior:
    real = [part for part in parts if isinstance(part, RealPosterior)]
    if real:
        return RealPosterior.concatenated(real)
    return np.concatenate([part for part in parts if not isinstance(part, RealPosterior)])

"""What of a hybrid network a question needs, with its real variables integrated out.

A threshold node is a table once the real variables of its score are integrated out. What is
left is discrete, with tables some of which differ from row to row.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.graphs.factor import Factor
from credo.graphs.node.conditional import Conditional, DiscreteConditional
from credo.graphs.node.linear_gaussian import GaussianNode
from credo.graphs.node.threshold import ThresholdNode, log_shares
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.variable import Variable
from credo.inference.discrete.exact.plan import PlanCache, PlanOutline, Question
from credo.inference.discrete.exact_inference import Plan, TableInference
from credo.inference.discrete.factor_problem import FactorProblem, Table
from credo.inference.engine.error import InferenceTooLarge, require_memory
from credo.inference.engine.findings import Findings, check_known
from credo.inference.hybrid.real_component import (
    IntegratedComponent,
    RealComponent,
    real_components,
)
from credo.inference.hybrid.row_factor import RowTable, gathered, spread
from credo.numerics.array import Array
from credo.numerics.memory import USUAL_BYTES

__all__ = ["HybridStructure", "RowInference", "RowProblem", "Solved", "threshold_table"]


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
Kind = Literal["marginals", "joint", "total", "best", "draw"]


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

"""Answers of networks with real variables by exact inference, row by row of any findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.graphs.node.conditional import Conditional
from credo.graphs.variable import Variable
from credo.inference.discrete.conflict import smallest_conflict
from credo.inference.discrete.table_engine import require_joint
from credo.inference.engine.engine import EXACT, Account
from credo.inference.engine.error import NoExactAnswer
from credo.inference.engine.findings import MISSING, Findings, FindingsGroup
from credo.inference.engine.network import PlanReport
from credo.inference.hybrid.gaussian_network import GaussianNetwork, is_linear_gaussian
from credo.inference.hybrid.real_posterior import HybridPosterior
from credo.inference.hybrid.real_rows import JointRows, KnownReal, RealPart, RealRows
from credo.inference.hybrid.strong_inference import HybridInference
from credo.numerics.array import Array
from credo.numerics.memory import USUAL_BYTES

__all__ = ["HybridEngine"]


Rows = NDArray[np.intp]

FEW_NODES = 32
"""Linear-Gaussian nodes that dense algebra serves better than sparse, all gaps at once."""


@dataclass(frozen=True, eq=False)
class HybridEngine:
    """The questions of a network with real variables, put to an exact engine.

    Attributes
    ----------
    variables
        All variables by name.
    engine
        Exact inference; it does not know nodes that were cut off from their causes.
    inside
        Names that the engine knows.
    limit
        Bytes that a joint table may take.
    """

    variables: dict[str, Variable]
    engine: HybridInference | GaussianNetwork
    inside: frozenset[str]
    limit: float = USUAL_BYTES

    @classmethod
    def of(
        cls,
        variables: Mapping[str, Variable],
        conditionals: Sequence[Conditional],
        memory: float | None = None,
    ) -> HybridEngine:
        """Return the answers of a network; variables without a conditional must be set."""
        names = [v.name for c in conditionals for v in (c.child, *c.parents)]
        if len(conditionals) > FEW_NODES and is_linear_gaussian(conditionals):
            return cls(dict(variables), GaussianNetwork(conditionals), frozenset(names))
        problem = HybridInference(conditionals, memory)
        limit = memory or USUAL_BYTES
        return cls(dict(variables), problem, frozenset(names), limit)

    def marginals(
        self, findings: Findings[str], names: Sequence[str]
    ) -> tuple[dict[str, Any], Array, Account]:
        """Return tables of discrete variables, `RealRows` of real ones, and log totals."""
        total = np.empty(findings.n_rows)
        tables = {n: np.empty((findings.n_rows, self._n(n))) for n in self._discrete(names)}
        parts: dict[str, list[RealPart]] = {n: [] for n in names if n not in tables}
        for group in self._groups(findings):
            free = self._unknown(names, group)
            found, log_prob = self._posteriors_and_total(group, free)
            total[group.rows] = log_prob[group.place]
            for name in names:
                if name not in tables:
                    parts[name] += _real_parts(name, group, found, findings, total)
                elif name in found:
                    tables[name][group.rows] = found[name][group.place]
                else:
                    tables[name][group.rows] = self._certain(name, group, findings, total)
        real = {n: RealRows(findings.n_rows, tuple(some)) for n, some in parts.items()}
        return {**tables, **real}, total, EXACT

    def joint(
        self, findings: Findings[str], names: Sequence[str]
    ) -> tuple[Any, Array, Account]:
        """Return the joint table, or `JointRows` if a variable is real."""
        discrete = self._discrete(names)
        if len(names) == len(discrete) == 1:
            tables, total, account = self.marginals(findings, names)
            return tables[names[0]], total, account
        real = [name for name in names if name not in discrete]
        n, d = findings.n_rows, len(real)
        shape = tuple(self._n(name) for name in discrete)
        require_joint(shape, n, self.limit)
        table = np.empty((n, *shape))
        mean, covariance, total = np.empty((n, d)), np.empty((n, d, d)), np.empty(n)
        for group in self._groups(findings):
            total[group.rows] = self.engine.log_prob(group.known)[group.place]
            free = self._unknown(names, group)
            found = self._posterior(group, free)
            table[group.rows] = self._with_known(discrete, free, group, found, findings)
            mean[group.rows], covariance[group.rows] = _moments(
                real, free, group, found, findings
            )
        impossible = np.isneginf(total)
        for part in (table, mean, covariance):
            part[impossible] = np.nan
        if not real:
            return table, total, EXACT
        rows = JointRows(
            table, mean, covariance, lambda m, rng: self.draws(findings, m, rng)[0]
        )
        return rows, total, EXACT

    def total(self, findings: Findings[str]) -> tuple[Array, Account]:
        """Return the log density of the findings, row by row."""
        total = np.empty(findings.n_rows)
        for group in self._groups(findings):
            total[group.rows] = self.engine.log_prob(group.known)[group.place]
        return total, EXACT

    def best(
        self, findings: Findings[str], names: Sequence[str]
    ) -> tuple[dict[str, NDArray[np.intp]], Array, Account]:
        """Return the most probable states of some variables, all others integrated out."""
        total = np.empty(findings.n_rows)
        states = {name: np.full(findings.n_rows, MISSING, dtype=np.intp) for name in names}
        for group in self._groups(findings):
            found, log_total = self._best(group, self._unknown(names, group))
            total[group.rows] = log_total[group.place]
            for name in names:
                states[name][group.rows] = (
                    found[name][group.place]
                    if name in found
                    else findings.codes[name][group.rows]
                )
        for column in states.values():
            column[np.isneginf(total)] = MISSING
        return states, total, EXACT

    def draws(
        self, findings: Findings[str], n_draws: int, rng: Generator
    ) -> tuple[dict[str, NDArray[Any]], Array]:
        """Return draws of all variables, (n_rows, n_draws) by name; none in impossible rows."""
        total, _ = self.total(findings)
        shape = (findings.n_rows, n_draws)
        found: dict[str, NDArray[Any]] = {
            name: np.full(shape, MISSING, np.intp) if v.is_discrete else np.full(shape, np.nan)
            for name, v in self.variables.items()
        }
        possible = np.flatnonzero(~np.isneginf(total))
        some = findings.take(possible)
        for group in self._groups(some):
            drawn = self.engine.sample(group.known.take(group.place), n_draws, rng)
            for name in self.variables:
                found[name][possible[group.rows]] = (
                    drawn[name] if name in drawn else _column(some, name)[group.rows][:, None]
                )
        return found, total

    def repeated(self, name: str, states: Mapping[str, int]) -> Array | None:
        """Return None: plans with real variables answer the long way."""
        return None

    def conflict(self, findings: Findings[str]) -> list[str]:
        """Return the names of a smallest part of one row of findings that is impossible."""
        everything = sorted(findings.names)

        def log_totals(order: Sequence[str], sizes: Sequence[int]) -> Array:
            parts = [findings.without([*order[n:]]) for n in sizes]
            return np.array([self.total(part)[0][0] for part in parts])

        return smallest_conflict(everything, log_totals)

    def report(self, names: Sequence[str], observed: Sequence[str]) -> PlanReport:
        """Return what exact marginals of some variables would cost given others."""
        known = [name for name in observed if name in self.inside]
        targets = [name for name in names if name not in observed]
        if isinstance(self.engine, HybridInference):
            obstacles = self.engine.obstacles(known, targets)
            if obstacles:
                raise NoExactAnswer(obstacles)
        return PlanReport(*self.engine.cost(known, targets))

    def _n(self, name: str) -> int:
        return self.variables[name].n_states

    def _discrete(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if self.variables[name].is_discrete]

    def _groups(self, findings: Findings[str]) -> Iterator[FindingsGroup[str]]:
        """Yield groups of rows with equal findings; those about barren nodes are dropped."""
        kept = findings.without([name for name in findings.names if name not in self.inside])
        discrete = self._discrete([*self.variables])
        n_states = {name: self._n(name) for name in discrete}
        return kept.groups(n_states, self.engine.n_shared(kept))

    def _unknown(self, names: Sequence[str], group: FindingsGroup[str]) -> list[str]:
        """Return the names that some row of the group does not know."""
        known = group.known.settled
        return [name for name in names if name in self.inside and name not in known]

    def _posteriors_and_total(
        self, group: FindingsGroup[str], names: list[str]
    ) -> tuple[Mapping[str, Any], Array]:
        """Return the posteriors of hidden variables, and the log density of what is known."""
        return self.engine.posterior(group.known, names)

    def _posterior(self, group: FindingsGroup[str], names: Sequence[str]) -> HybridPosterior:
        if names:
            return self.engine.joint(group.known, names)
        n = group.known.n_rows
        return HybridPosterior((), (), np.ones(n), np.zeros((n, 0)), np.zeros((n, 0, 0)))

    def _best(
        self, group: FindingsGroup[str], names: list[str]
    ) -> tuple[dict[str, Rows], Array]:
        """Return the best states of hidden variables, and the log density with them."""
        if not names or isinstance(self.engine, GaussianNetwork):
            return {}, self.engine.log_prob(group.known)
        return self.engine.most_probable(group.known, names)

    def _certain(
        self, name: str, group: FindingsGroup[str], findings: Findings[str], total: Array
    ) -> Array:
        """Return all probability at the given state; NaN in impossible rows."""
        table = np.eye(self._n(name))[findings.codes[name][group.rows]]
        table[np.isneginf(total[group.rows])] = np.nan
        return np.asarray(table)

    def _with_known(
        self,
        names: Sequence[str],
        free: Sequence[str],
        group: FindingsGroup[str],
        found: HybridPosterior,
        findings: Findings[str],
    ) -> Array:
        """Return the joint table with an axis for each given variable, zero off its state."""
        table = found.table([name for name in names if name in free])[group.place]
        for axis, name in enumerate(names, start=1):
            if name not in free:
                certain = np.eye(self._n(name))[findings.codes[name][group.rows]]
                shape = [len(certain)] + [1] * table.ndim
                shape[axis] = self._n(name)
                table = np.expand_dims(table, axis) * certain.reshape(shape)
        return table


def _column(findings: Findings[str], name: str) -> NDArray[Any]:
    return findings.codes[name] if name in findings.codes else findings.values[name]


def _real_parts(
    name: str,
    group: FindingsGroup[str],
    found: Mapping[str, Any],
    findings: Findings[str],
    total: Array,
) -> list[RealPart]:
    """Return the posterior of a real variable: where it is hidden, and where it is known."""
    rows, nothing = group.rows, np.full(len(group.rows), np.nan)
    values = findings.values[name][rows] if name in findings.values else nothing
    known = ~np.isnan(values)
    parts = []
    if name in found:
        parts.append(RealPart(rows[~known], group.place[~known], found[name]))
    if known.any():
        kept = np.where(np.isneginf(total[rows]), np.nan, values)[known]
        parts.append(RealPart(rows[known], np.arange(len(kept)), KnownReal(kept)))
    return parts


def _moments(
    names: Sequence[str],
    free: Sequence[str],
    group: FindingsGroup[str],
    found: HybridPosterior,
    findings: Findings[str],
) -> tuple[Array, Array]:
    """Return means and covariances of real variables; given ones do not vary."""
    n, d = len(group.rows), len(names)
    mean, covariance = np.zeros((n, d)), np.zeros((n, d, d))
    at = [i for i, name in enumerate(names) if name in free]
    if at:
        mean[:, at] = found.total_mean()[group.place]
        covariance[np.ix_(range(n), at, at)] = found.total_covariance()[group.place]
    for i, name in enumerate(names):
        if name not in free:
            mean[:, i] = findings.values[name][group.rows]
    return mean, covariance

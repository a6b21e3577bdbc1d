"""Answers of networks with real variables by exact inference, row by row of any findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.graphs.conditional import Conditional
from credo.graphs.variable import Variable
from credo.inference.gaussian_network import GaussianNetwork, is_linear_gaussian
from credo.inference.hybrid import HybridProblem
from credo.inference.real_posterior import HybridPosterior
from credo.inference.table_conflict import smallest_conflict
from credo.inference.table_ladder import Account
from credo.inference.table_plan_error import NoExactAnswer
from credo.models.findings import MISSING, Findings
from credo.models.joint_answer import JointRows
from credo.models.known_rows import KnownRows, known_rows
from credo.models.limits import Limits
from credo.models.network_answer import PlanReport
from credo.models.real_rows import KnownReal, RealPart, RealRows
from credo.numerics.array import Array

__all__ = ["HybridAnswers"]

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class HybridAnswers:
    """The questions of a network with real variables, put to an exact engine.

    Attributes
    ----------
    variables
        All variables by name.
    engine
        Exact inference; it does not know nodes that were cut off from their causes.
    inside
        Names that the engine knows.
    """

    variables: dict[str, Variable]
    engine: HybridProblem | GaussianNetwork
    inside: frozenset[str]

    @classmethod
    def of(
        cls,
        variables: Mapping[str, Variable],
        conditionals: Sequence[Conditional],
        limits: Limits,
    ) -> HybridAnswers:
        """Return the answers of a network; variables without a conditional must be set."""
        names = [v.name for c in conditionals for v in (c.child, *c.parents)]
        is_whole = len(conditionals) == len(variables)
        is_gaussian = is_whole and is_linear_gaussian(conditionals)
        if is_gaussian:
            return cls(dict(variables), GaussianNetwork(conditionals), frozenset(names))
        problem = HybridProblem(conditionals, limits.memory)
        return cls(dict(variables), problem, frozenset(names))

    def marginals(
        self, findings: Findings, names: Sequence[str], method: str
    ) -> tuple[dict[str, Any], Array, Account]:
        """Return tables of discrete variables, `RealRows` of real ones, and log totals."""
        _check(method)
        total = np.empty(findings.n_rows)
        tables = {n: np.empty((findings.n_rows, self._n(n))) for n in self._discrete(names)}
        parts: dict[str, list[RealPart]] = {n: [] for n in names if n not in tables}
        for pattern in known_rows(findings, self.inside):
            free = [name for name in names if not pattern.has(name)]
            found, log_prob = self._asked(pattern, free)
            total[pattern.rows] = log_prob[pattern.place]
            for name in names:
                if name not in tables:
                    parts[name].append(_real_part(name, pattern, found, total))
                elif name in found:
                    tables[name][pattern.rows] = found[name][pattern.place]
                else:
                    tables[name][pattern.rows] = self._certain(name, pattern, total)
        real = {n: RealRows(findings.n_rows, tuple(some)) for n, some in parts.items()}
        return {**tables, **real}, total, Account()

    def joint(
        self, findings: Findings, names: Sequence[str], method: str
    ) -> tuple[Any, Array, Account]:
        """Return the joint table, or `JointRows` if a variable is real."""
        _check(method)
        discrete = self._discrete(names)
        if len(names) == len(discrete) == 1:
            tables, total, account = self.marginals(findings, names, method)
            return tables[names[0]], total, account
        real = [name for name in names if name not in discrete]
        n, d = findings.n_rows, len(real)
        table = np.empty((n, *(self._n(name) for name in discrete)))
        mean, covariance, total = np.empty((n, d)), np.empty((n, d, d)), np.empty(n)
        for pattern in known_rows(findings, self.inside):
            total[pattern.rows] = self._log_prob(pattern)
            found = self._posterior(pattern, [m for m in names if not pattern.has(m)])
            table[pattern.rows] = self._with_known(discrete, pattern, found, total)
            mean[pattern.rows], covariance[pattern.rows] = _moments(real, pattern, found, total)
        if not real:
            return table, total, Account()
        rows = JointRows(
            table, mean, covariance, lambda m, rng: self.draws(findings, m, rng)[0]
        )
        return rows, total, Account()

    def total(self, findings: Findings, method: str) -> tuple[Array, Account]:
        """Return the log density of the findings, row by row."""
        _check(method)
        total = np.empty(findings.n_rows)
        for pattern in known_rows(findings, self.inside):
            total[pattern.rows] = self._log_prob(pattern)
        return total, Account()

    def best(
        self, findings: Findings, names: Sequence[str], method: str
    ) -> tuple[dict[str, NDArray[np.intp]], Array, Account]:
        """Return the most probable states of some variables, all others integrated out."""
        _check(method)
        total = np.empty(findings.n_rows)
        states = {name: np.full(findings.n_rows, MISSING, dtype=np.intp) for name in names}
        for pattern in known_rows(findings, self.inside):
            free = [name for name in names if name not in pattern.known.codes]
            found, log_total = self._best(pattern, free)
            total[pattern.rows] = log_total[pattern.place]
            for name in names:
                given = pattern.known.codes.get(name)
                states[name][pattern.rows] = (
                    found[name][pattern.place] if given is None else given
                )
        for column in states.values():
            column[np.isneginf(total)] = MISSING
        return states, total, Account()

    def draws(
        self, findings: Findings, n_draws: int, rng: Generator
    ) -> tuple[dict[str, NDArray[Any]], Array]:
        """Return draws of all variables, (n_rows, n_draws) by name; none in impossible rows."""
        total, _ = self.total(findings, "exact")
        shape = (findings.n_rows, n_draws)
        found: dict[str, NDArray[Any]] = {
            name: np.full(shape, MISSING, np.intp) if v.is_discrete else np.full(shape, np.nan)
            for name, v in self.variables.items()
        }
        possible = np.flatnonzero(~np.isneginf(total))
        for pattern in known_rows(findings.take(possible), self.inside):
            rows = possible[pattern.rows]
            # Where nothing is known one row stands for all, but each needs its own draws.
            n_each = n_draws if pattern.told.names else n_draws * len(rows)
            told = pattern.told
            drawn = self.engine.sample(told.codes, told.values, n_each, rng, *pattern.hints)
            given = {**pattern.known.codes, **pattern.known.values}
            for name in self.variables:
                column = given[name][:, None] if name in given else drawn[name]
                found[name][rows] = column if name in given else column.reshape(-1, n_draws)
        return found, total

    def conflict(self, findings: Findings) -> list[str]:
        """Return the names of a smallest part of one row of findings that is impossible."""
        everything = sorted(findings.names)

        def log_totals(order: Sequence[str], sizes: Sequence[int]) -> Array:
            parts = [findings.without([*order[n:]]) for n in sizes]
            return np.array([self.total(part, "exact")[0][0] for part in parts])

        return smallest_conflict(everything, log_totals)

    def report(self, names: Sequence[str], observed: Sequence[str]) -> PlanReport:
        """Return what exact marginals of some variables would cost given others."""
        known = [name for name in observed if name in self.inside]
        targets = [name for name in names if name not in observed]
        if isinstance(self.engine, HybridProblem):
            obstacles = self.engine.obstacles(known, targets)
            if obstacles:
                raise NoExactAnswer(obstacles)
        return PlanReport(*self.engine.cost(known, targets))

    def _n(self, name: str) -> int:
        return self.variables[name].n_states

    def _discrete(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if self.variables[name].is_discrete]

    def _log_prob(self, pattern: KnownRows) -> Array:
        return np.asarray(self._log_probs(pattern)[pattern.place])

    def _log_probs(self, pattern: KnownRows) -> Array:
        told = pattern.told
        return self.engine.log_prob(told.codes, told.values, *pattern.hints)

    def _asked(self, pattern: KnownRows, names: list[str]) -> tuple[Mapping[str, Any], Array]:
        """Return the posteriors of hidden variables, and the log density of what is known."""
        told = pattern.told
        return self.engine.posterior(told.codes, told.values, names, *pattern.hints)

    def _posterior(self, pattern: KnownRows, names: Sequence[str]) -> HybridPosterior:
        told = pattern.told
        if names:
            return self.engine.joint(told.codes, told.values, names, *pattern.hints)
        n = max(told.n_rows, 1)
        return HybridPosterior((), (), np.ones(n), np.zeros((n, 0)), np.zeros((n, 0, 0)))

    def _best(self, pattern: KnownRows, names: list[str]) -> tuple[dict[str, Rows], Array]:
        """Return the best states of hidden variables, and the log density with them."""
        if not names or isinstance(self.engine, GaussianNetwork):
            return {}, self._log_probs(pattern)
        told = pattern.told
        hints = pattern.hints[0] if pattern.hints else None
        return self.engine.most_probable(told.codes, told.values, hints, names)

    def _certain(self, name: str, pattern: KnownRows, total: Array) -> Array:
        """Return all probability at the given state; NaN in impossible rows."""
        table = np.eye(self._n(name))[pattern.known.codes[name]]
        table[np.isneginf(total[pattern.rows])] = np.nan
        return np.asarray(table)

    def _with_known(
        self, names: Sequence[str], pattern: KnownRows, found: HybridPosterior, total: Array
    ) -> Array:
        """Return the joint table with an axis for each given variable, zero off its state."""
        free = [name for name in names if name not in pattern.known.codes]
        table = found.table(free)[pattern.place]
        for axis, name in enumerate(names, start=1):
            if name in pattern.known.codes:
                certain = self._certain(name, pattern, total)
                shape = [len(certain)] + [1] * table.ndim
                shape[axis] = self._n(name)
                table = np.expand_dims(table, axis) * certain.reshape(shape)
        return table


def _real_part(
    name: str, pattern: KnownRows, found: Mapping[str, Any], total: Array
) -> RealPart:
    if name in found:
        return RealPart(pattern.rows, pattern.place, found[name])
    impossible = np.isneginf(total[pattern.rows])
    values = np.where(impossible, np.nan, pattern.known.values[name])
    return RealPart(pattern.rows, np.arange(len(values)), KnownReal(values))


def _moments(
    names: Sequence[str], pattern: KnownRows, found: HybridPosterior, total: Array
) -> tuple[Array, Array]:
    """Return means and covariances of real variables; given ones do not vary."""
    possible = np.where(np.isneginf(total[pattern.rows]), np.nan, 0.0)
    mean = np.tile(possible[:, None], len(names))
    covariance = np.tile(possible[:, None, None], (len(names), len(names)))
    free = [i for i, name in enumerate(names) if not pattern.has(name)]
    if free:
        inside = np.ix_(range(len(mean)), free, free)
        mean[:, free] = found.total_mean()[pattern.place]
        covariance[inside] = found.total_covariance()[pattern.place]
    for i, name in enumerate(names):
        if pattern.has(name):
            mean[:, i] += pattern.known.values[name]
    return mean, covariance


def _check(method: str) -> None:
    if method not in ("auto", "exact"):
        raise ValueError(
            'method must be "auto", "exact" or "likelihood_weighting" for a network with real '
            f"variables; found {method!r}. Leave it out for an exact answer wherever one fits."
        )

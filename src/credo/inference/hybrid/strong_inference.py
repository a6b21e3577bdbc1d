"""Exact inference in networks of discrete and conditionally linear-Gaussian variables.

Real variables are integrated out before discrete ones are summed, a strong order
[lauritzen1992]_: connected real variables become one table over the discrete variables that
their parameters depend on, and what is left is discrete. The cost is exponential in the number
of discrete variables around connected real ones, for every exact method.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.graphs.node.conditional import Conditional, DiscreteConditional
from credo.graphs.node.gaussian_node import GaussianNode
from credo.graphs.node.threshold_node import ThresholdNode
from credo.inference.discrete.findings import Findings
from credo.inference.engine.error import NoExactAnswer
from credo.inference.hybrid.cost import n_shared_rows, posterior_cost
from credo.inference.hybrid.real_component import joined_moments
from credo.inference.hybrid.real_posterior import HybridPosterior, RealPosterior
from credo.inference.hybrid.structure import HybridStructure, Solved
from credo.inference.hybrid.threshold_integral import (
    is_integrable,
    posterior_beyond,
    score_node,
)
from credo.numerics.array import Array

__all__ = ["HybridProblem", "is_conditional_gaussian"]


def is_conditional_gaussian(conditionals: Iterable[Conditional]) -> bool:
    """Return whether all answers are exact: tables, and normals linear in real parents.

    A discrete variable with a real parent is not such, nor is a distribution of another kind;
    then `HybridProblem.obstacles` tells which answers are exact nevertheless.
    """
    exact = (GaussianNode, DiscreteConditional)
    return all(isinstance(conditional, exact) for conditional in conditionals)


class HybridProblem:
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
    >>> from credo.inference.discrete.findings import Findings
    >>> kind, size = Variable("kind", ("small", "large")), Variable("size")
    >>> spec = ConditionalLinearGaussian(
    ...     {"small": LinearGaussian(1.0), "large": LinearGaussian(3.0)})
    >>> prior = ConditionalTable(kind, (), [0.5, 0.5])
    >>> problem = HybridProblem([prior, spec.bind(size, [kind])])
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
        inner = HybridProblem([*nodes.values(), score_node(node)], self.structure.max_bytes)
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

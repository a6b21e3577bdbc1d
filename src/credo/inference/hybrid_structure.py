"""What of a hybrid network a question needs, with its real variables integrated out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from credo.graphs.conditional import Conditional, DiscreteConditional
from credo.graphs.directed import DirectedGraph
from credo.graphs.gaussian_node import GaussianNode
from credo.graphs.variable import Variable
from credo.inference.bucket_tree import bucket_order
from credo.inference.hybrid_findings import HybridFindings
from credo.inference.real_component import (
    IntegratedComponent,
    RealComponent,
    real_components,
)
from credo.inference.row_table import RowProblem, RowTable, gathered
from credo.inference.table_plan_error import InferenceTooLarge

__all__ = ["HybridStructure", "Solved"]

CELLS_AT_ONCE = 1 << 22
LARGEST = 1 << 27


@dataclass(frozen=True, eq=False)
class Solved:
    """Integrated real components of the relevant part of a network, and what is discrete.

    Attributes
    ----------
    components
        Real variables, in groups that share no hidden one.
    problem
        Tables of the discrete variables, those from the components included.
    """

    components: tuple[IntegratedComponent, ...]
    problem: RowProblem

    def home(self, name: str) -> IntegratedComponent:
        """Return the component that a hidden real variable belongs to."""
        return next(part for part in self.components if name in part.hidden)


class HybridStructure:
    """Nodes of a conditional linear-Gaussian network, and which of them matter for what.

    Parameters
    ----------
    conditionals
        One per variable: discrete ones, and `GaussianNode`.
    """

    def __init__(self, conditionals: Sequence[Conditional]) -> None:
        self.conditionals = {c.child.name: c for c in conditionals}
        self.graph = DirectedGraph(
            {name: [p.name for p in c.parents] for name, c in self.conditionals.items()}
        )

    def variable(self, name: str) -> Variable:
        """Return the variable of this name."""
        return self.conditionals[name].child

    def relevant(self, findings: HybridFindings, keep: Iterable[str]) -> list[Conditional]:
        """Return the nodes that findings and targets descend from, and these themselves."""
        wanted = list(dict.fromkeys([*findings.names, *keep]))
        inside = {*wanted, *self.graph.ancestors(wanted)}
        return [c for name, c in self.conditionals.items() if name in inside]

    def groups(self, findings: HybridFindings, targets: Sequence[str]) -> list[list[str]]:
        """Return targets that are answered together.

        Real variables that no finding descends from come apart unless they depend on the same
        discrete variables: together they could link what none of them links alone.
        """
        inside = {c.child.name for c in self.relevant(findings, ())}
        near = [n for n in targets if n in inside or self.variable(n).is_discrete]
        far: dict[frozenset[str], list[str]] = {}
        for name in targets:
            if name not in near:
                far.setdefault(self._switches(name), []).append(name)
        return [near] * bool(near) + list(far.values())

    def _switches(self, name: str) -> frozenset[str]:
        """Return the discrete variables that choose parameters above a real variable."""
        above = [self.conditionals[n] for n in (name, *self.graph.ancestors(name))]
        nodes = [node for node in above if isinstance(node, GaussianNode)]
        return frozenset(v.name for node in nodes for v in node.discrete_parents)

    def blocks(self, findings: HybridFindings, keep: Sequence[str]) -> Iterable[HybridFindings]:
        """Yield the findings in blocks of rows whose tables fit the memory."""
        step = max(1, CELLS_AT_ONCE // self.cells(findings, keep))
        for start in range(0, max(1, findings.n_rows), step):
            yield findings.block(slice(start, start + step))

    def cells(self, findings: HybridFindings, keep: Sequence[str]) -> int:
        """Return the numbers that must be kept for each row, at least one.

        Raises
        ------
        InferenceTooLarge
            If a single row does not fit the memory.
        """
        relevant, parts = self._parts(findings, keep)
        known, variables = findings.codes, _factor_variables(relevant)
        n_states = {v.name: v.n_states for scope in variables for v in scope}
        scopes = [tuple(v.name for v in scope if v.name not in known) for scope in variables]
        scopes += [part.scope(known) for part in parts]
        left = {name: n for name, n in n_states.items() if name not in known}
        cells = bucket_order(left, scopes)[1]
        cells += sum(part.n_settings(known) * len(part.nodes) ** 2 for part in parts)
        if cells > LARGEST:
            width = max(map(len, scopes)) - 1
            raise InferenceTooLarge(width, cells, 8 * cells, 8.0 * LARGEST)
        return max(1, cells)

    def solved(self, findings: HybridFindings, keep: Sequence[str]) -> Solved:
        """Return the discrete problem that findings and targets leave."""
        relevant, parts = self._parts(findings, keep)
        n_rows, codes = findings.n_rows, findings.codes
        done = tuple(part.integrated(n_rows, codes, findings.values) for part in parts)
        tables, n_states = _tables(relevant, findings)
        tables += [RowTable(part.scope, part.log_density) for part in done]
        problem = RowProblem(n_rows, n_states, tuple(tables), np.zeros(n_rows))
        return Solved(done, problem)

    def _parts(
        self, findings: HybridFindings, keep: Iterable[str]
    ) -> tuple[list[DiscreteConditional], list[RealComponent]]:
        """Return relevant tables, and relevant real variables in connected components."""
        relevant = self.relevant(findings, keep)
        nodes = [c for c in relevant if isinstance(c, GaussianNode)]
        # Testing for the protocol costs more than for the class.
        tables = [c for c in relevant if not isinstance(c, GaussianNode)]
        parts = real_components(nodes, findings.values)
        return [c for c in tables if isinstance(c, DiscreteConditional)], parts


def _factor_variables(
    relevant: Sequence[DiscreteConditional],
) -> list[tuple[Variable, ...]]:
    return [factor.variables for node in relevant for factor in node.factors()]


def _tables(
    relevant: Sequence[DiscreteConditional], findings: HybridFindings
) -> tuple[list[RowTable], dict[str, int]]:
    """Return the discrete tables at the given states, and the sizes of what is left."""
    tables: list[RowTable] = []
    n_states: dict[str, int] = {}
    for conditional in relevant:
        for factor in conditional.factors():
            values, left = gathered(factor.log_table(), factor.names, findings.codes)
            tables.append(RowTable(left, values))
            n_states |= {name: factor.variable(name).n_states for name in left}
    for name, likelihood in findings.likelihoods.items():
        with np.errstate(divide="ignore"):
            tables.append(RowTable((name,), np.log(likelihood)))
    return tables, n_states

"""A Markov random field: a product of factors over an undirected graph, up to a constant.

Draws come from Gibbs chains where exact ones do not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from credo.graphs.factor import Factor
from credo.graphs.structure.undirected import UndirectedGraph
from credo.graphs.variable import Variable
from credo.inference.discrete.factor_problem import FactorProblem, Table
from credo.inference.discrete.table_engine import TableApproximation, TableEngine
from credo.inference.engine.network import Auto
from credo.models.network.network import Network
from credo.models.network.value.network_answer import shown_names
from credo.numerics.quotation import quote

__all__ = [
    "MarkovRandomField",
]


class MarkovRandomField(Network):
    """A joint distribution proportional to a product of non-negative factors.

    Parameters
    ----------
    factors
        Tables over variables; variables of the same name must have the same states.
    variables
        Variables that may occur in no factor, and the order of all; read off the factors by
        default.

    Examples
    --------
    >>> a, b = Variable("a", (0, 1)), Variable("b", (0, 1))
    >>> field = MarkovRandomField([Factor((a, b), [[2.0, 1.0], [1.0, 2.0]])])
    >>> round(float(field.query("a", given={"b": 1})[1]), 4)
    0.6667
    """

    def __init__(
        self, factors: Sequence[Factor], variables: Sequence[Variable] | None = None
    ) -> None:
        self.factors = tuple(factors)
        self.variables = {v.name: v for v in variables or ()}
        for factor in self.factors:
            for variable in factor.variables:
                if self.variables.setdefault(variable.name, variable) != variable:
                    raise ValueError(
                        f"variable {variable.name} must have the same states in every factor; "
                        f"found {quote(list(self.variables[variable.name].labels))} and "
                        f"{quote(list(variable.labels))}. Build all factors from one Variable."
                    )

        if not self.variables:
            raise ValueError(
                "a network must have at least one variable; found no factors and no variables. "
                "Pass factors, or variables of which nothing is known."
            )

    @cached_property
    def _answers(self) -> Auto:
        numbers = {name: i for i, name in enumerate(self.variables)}
        tables = [
            Table(tuple(numbers[n] for n in f.names), f.values, f.log_scale)
            for f in self.factors
        ]
        n_states = tuple(v.n_states for v in self.variables.values())
        problem = FactorProblem(n_states, tuple(tables))
        exact = TableEngine.of(numbers, problem, self.limits.memory, self.limits.seconds)
        return Auto(exact, (TableApproximation(exact),), "tables without arrows")

    def answers(self, do: Sequence[str] = ()) -> Auto:
        """Return the engines of this network; it has no causes to cut."""
        if do:
            raise ValueError(
                "do must be asked of a Bayesian network, whose arrows are causes; found an "
                "undirected one. Use given."
            )
        return self._answers

    @cached_property
    def graph(self) -> UndirectedGraph:
        """The graph in which variables of a common factor are neighbors."""
        neighbors: dict[str, dict[str, None]] = {name: {} for name in self.variables}
        for factor in self.factors:
            for name in factor.names:
                neighbors[name].update(dict.fromkeys(n for n in factor.names if n != name))
        return UndirectedGraph({name: tuple(others) for name, others in neighbors.items()})

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"{kind}({shown_names(self.variables)}; {len(self.factors)} factors)"

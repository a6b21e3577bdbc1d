"""A factor graph: variables and factors as two kinds of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from credo.graphs.factor import Factor
from credo.graphs.structure.undirected import UndirectedGraph
from credo.graphs.variable import Variable
from credo.models.network.markov_random_field import MarkovRandomField

__all__ = ["FactorGraph"]


class FactorGraph(MarkovRandomField):
    """A product of named factors, joined to the variables they are functions of.

    Two factors over the same variables stay two, and which factors a joint distribution is
    made of stays visible, unlike in a Markov random field.

    Parameters
    ----------
    factors
        Factors by name, or a list, named ``f0``, ``f1``, ...
    variables
        Variables that may occur in no factor, and the order of all.

    Examples
    --------
    >>> a, b = Variable("a", (0, 1)), Variable("b", (0, 1))
    >>> graph = FactorGraph({"prior": Factor((a,), [0.4, 0.6]),
    ...                      "link": Factor((a, b), [[2.0, 1.0], [1.0, 2.0]])})
    >>> graph.bipartite.neighbors("link")
    ('a', 'b')
    >>> round(float(graph.query("b")[1]), 4)
    0.5333
    """

    def __init__(
        self,
        factors: Mapping[str, Factor] | Sequence[Factor],
        variables: Sequence[Variable] | None = None,
    ) -> None:
        if not isinstance(factors, Mapping):
            factors = {f"f{i}": factor for i, factor in enumerate(factors)}
        super().__init__(tuple(factors.values()), variables)
        clash = sorted(set(factors) & set(self.variables))
        if clash:
            raise ValueError(
                f"a factor and a variable must not share a name; found {clash}. Rename the "
                "factors."
            )
        self.named_factors = dict(factors)

    @cached_property
    def bipartite(self) -> UndirectedGraph:
        """The graph of variables and factors, each factor joined to its variables."""
        edges = [(name, v) for name, f in self.named_factors.items() for v in f.names]
        return UndirectedGraph.from_edges(edges, [*self.variables, *self.named_factors])

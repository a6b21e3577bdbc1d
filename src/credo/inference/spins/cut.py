"""The most probable state of a ferromagnet, exactly, by a minimum cut [greig1989]_."""

from __future__ import annotations

import numpy as np

from credo.inference.engine.error import NotSubmodular
from credo.inference.spins.problem import IsingProblem, SpinAssignment
from credo.numerics.graph.max_flow import minimum_cut

__all__ = ["spin_cut"]


def spin_cut(problem: IsingProblem) -> SpinAssignment:
    """Return the most probable spins of a ferromagnet, exactly.

    Raises
    ------
    NotSubmodular
        If a coupling is negative.
    """
    graph = problem.graph
    if np.any(graph.coupling < 0):
        edge = int(np.argmin(graph.coupling))
        raise NotSubmodular(
            "every coupling must be at least 0 for max-flow; found "
            f"{graph.coupling[edge]:.4g} between spins {graph.edges[edge].tolist()}. "
            'Use method="exact" for narrow graphs, or method="icm".'
        )
    twice = 2.0 * graph.coupling
    source, sink = np.maximum(2.0 * graph.field, 0.0), np.maximum(-2.0 * graph.field, 0.0)
    cut = minimum_cut(source, sink, graph.edges, twice, twice)
    spins = np.where(cut.is_source_side, 1, -1).astype(np.int8)
    return SpinAssignment(spins, float(problem.log_density(spins)))

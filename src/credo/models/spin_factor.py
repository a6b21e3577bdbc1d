"""Spins as the problem that engines for spins solve, and as tables for any other engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from credo.graphs.factor import Factor
from credo.graphs.variable import Variable
from credo.inference.ising_problem import IsingProblem
from credo.models.spin_structure import SpinStructure
from credo.numerics.array import Array
from credo.numerics.ising import SpinGraph
from credo.numerics.ising_grid import SpinGrid

__all__ = ["spin_factors", "spin_problem"]


def spin_problem(
    structure: SpinStructure, coupling: Array, field: Array, log_constant: float
) -> IsingProblem:
    """Return the problem, as a grid for the fast loops where they serve it."""
    graph = SpinGraph(structure.edges, coupling, np.ascontiguousarray(field).ravel())
    problem = IsingProblem(graph, None, log_constant)
    is_even = bool(np.all(coupling == coupling[:1]))
    if not (structure.is_grid and len(structure.shape) == 2 and is_even):
        return problem
    weight = float(coupling[0]) if len(coupling) else 0.0
    grid = SpinGrid(graph.field.reshape(structure.shape), weight, structure.is_periodic)
    return replace(problem, grid=grid) if grid.is_served else problem


def spin_factors(names: Sequence[str], problem: IsingProblem) -> list[Factor]:
    """Return one table per spin and per edge, whose product is the density."""
    variables = [Variable(name, (-1, 1)) for name in names]
    sign = np.array([-1.0, 1.0])
    graph = problem.graph
    factors = [
        Factor((v,), np.exp(sign * h - abs(h)), abs(h))
        for v, h in zip(variables, graph.field.tolist(), strict=True)
    ]
    for (i, j), w in zip(graph.edges.tolist(), graph.coupling.tolist(), strict=True):
        table = np.exp(np.outer(sign, sign) * w - abs(w))
        factors.append(Factor((variables[i], variables[j]), table, abs(w)))
    return [*factors, Factor((), 1.0, problem.log_constant)]

"""Spins as the problem that engines for spins solve, and as tables for any other engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from credo.graphs.factor import Factor
from credo.graphs.variable import Variable
from credo.inference.spins.grid_sweep import SpinGrid
from credo.inference.spins.problem import IsingProblem
from credo.inference.spins.sweep import SpinGraph
from credo.models.spins.spin_structure import SpinStructure
from credo.numerics.array import Array

__all__ = ["spin_factors", "spin_problem"]

LARGEST_SUM = 1e300
"""Below it sums of a few log densities are finite."""


def spin_problem(
    structure: SpinStructure, coupling: Array, field: Array, log_constant: float
) -> IsingProblem:
    """Return the problem, as a grid for the fast loops where they serve it."""
    _require_finite_sums(coupling, field)
    graph = SpinGraph(structure.edges, coupling, np.ascontiguousarray(field).ravel())
    problem = IsingProblem(graph, None, log_constant)
    is_even = bool(np.all(coupling == coupling[:1]))
    if not (structure.is_grid and len(structure.shape) == 2 and is_even):
        return problem
    weight = float(coupling[0]) if len(coupling) else 0.0
    grid = SpinGrid(graph.field.reshape(structure.shape), weight, structure.is_periodic)
    return replace(problem, grid=grid) if grid.is_served else problem


def _require_finite_sums(coupling: Array, field: Array) -> None:
    with np.errstate(over="ignore"):
        total = np.abs(coupling).sum() + np.abs(field).sum()
    if not total < LARGEST_SUM:
        raise ValueError(
            f"couplings and fields must add up to less than {LARGEST_SUM:g} in size, so that "
            f"the log density of spins is finite; found {total:g}. Spins that are all but "
            "bound need no coupling above 1,000."
        )


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

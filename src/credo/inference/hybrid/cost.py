"""What exact answers about a hybrid network take, found without allocating anything."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from credo.graphs.node.conditional import Conditional
from credo.graphs.node.gaussian_node import GaussianNode
from credo.inference.discrete.exact.plan_outline import Sketch
from credo.inference.hybrid.real_component import real_components
from credo.inference.hybrid.structure import HybridStructure

__all__ = ["n_shared_rows", "posterior_cost"]

Names = Collection[str]
Scope = tuple[str, ...]

# About what it takes to integrate real variables out, and to ask one more plan.
SECONDS_PER_CELL = 7e-8
SECONDS_PER_GROUP = 4e-4

SHARED_CELLS = 1 << 14
"""Cells of one row up to which rows with different gaps share a plan."""

CELLS_AT_ONCE = 1 << 24
EQUATIONS_OF_GAPS = 6


def posterior_cost(
    structure: HybridStructure, given: Names, targets: Sequence[str]
) -> tuple[int, int, int, float, bool]:
    """Return width, cells, bytes and rough seconds of marginals, and whether they fit.

    Parameters
    ----------
    given
        Names of the variables that are known in every row.
    targets
        Names of the variables asked for; those known cost nothing.
    """
    codes, values = _parted(structure, given)
    groups = structure.groups(given, targets) or [[]]
    parts = [structure.relevant(given, group) for group in groups]
    costs = [structure.cost(part, codes, values) for part in parts]
    cells = [per_row + shared for _, per_row, shared in costs]
    width, own = max(width for width, _, _ in costs), sum(cells)
    seconds = SECONDS_PER_GROUP * (1 + len(groups)) + SECONDS_PER_CELL * own
    if max(cells) > structure.max_cells:
        return width, own, 8 * own, seconds, False
    made = [
        s for batch in structure.batches(groups) for s in _sketches(structure, given, batch)
    ]
    n_bytes = max(sketch.bytes for sketch in made)
    return (
        max(width, *(sketch.width for sketch in made)),
        own + sum(sketch.cells for sketch in made),
        8 * own + n_bytes,
        seconds + sum(sketch.seconds for sketch in made),
        n_bytes <= structure.discrete(parts[0]).exact.limit,
    )


def n_shared_rows(structure: HybridStructure, settled: Names, names: Names) -> int:
    """Return how many rows with different gaps are best answered together; zero if none.

    Then what only some rows know counts as hidden. Thresholds do not allow it, for what is
    hidden may be an obstacle; and it must not cost more than a plan for each pattern.

    Parameters
    ----------
    settled
        Names of variables that every row knows.
    names
        Names of variables that some row knows.
    """
    if len(settled) == len(names) or not structure.is_exact:
        return 0
    relevant = structure.relevant(names, ())
    codes, values = _parted(structure, settled)
    _, per_row, shared = structure.cost(relevant, codes, values)
    if per_row + shared > SHARED_CELLS:
        return 0
    plans = structure.discrete(relevant)
    some = [name for name in names if name in plans.numbers and name not in codes]
    known = [name for name in codes if name in plans.numbers]
    scopes = structure.table_scopes(relevant, codes, values, names)
    if plans.sketch("marginals", some, known, scopes).cells > SHARED_CELLS:
        return 0
    # Each pattern of gaps has factors of its own, with an equation more per known variable.
    factors = EQUATIONS_OF_GAPS * shared
    n_partly = sum(not structure.variable(n).is_discrete for n in names if n not in settled)
    is_few = factors << n_partly <= CELLS_AT_ONCE
    return CELLS_AT_ONCE // (per_row if is_few else per_row + factors)


def _sketches(
    structure: HybridStructure, given: Names, batch: Sequence[Sequence[str]]
) -> list[Sketch]:
    """Return the plans of the discrete part for groups of targets that are asked together."""
    codes, values = _parted(structure, given)
    tables = structure.table_scopes(structure.relevant(given, batch[0]), codes, values)
    asked: dict[Scope, None] = {}
    for group in batch:
        homes = _homes(structure.relevant(given, group), codes, values)
        hidden = [name for name in group if name not in given]
        asked |= dict.fromkeys(homes.get(name, (name,)) for name in hidden)
    plans = structure.discrete(structure.relevant(given, [n for g in batch for n in g]))
    known = [name for name in codes if name in plans.numbers]
    alone = [scope[0] for scope in asked if len(scope) == 1]
    several = [scope for scope in asked if len(scope) > 1]
    made = [plans.sketch("marginals" if alone else "total", alone, known, tables)]
    return made + [plans.sketch("joint", scope, known, tables) for scope in several]


def _homes(relevant: Sequence[Conditional], codes: Names, values: Names) -> dict[str, Scope]:
    """Return the discrete variables that each hidden real variable is a mixture over."""
    nodes = [node for node in relevant if isinstance(node, GaussianNode)]
    parts = real_components(nodes, values)
    return {
        name: tuple(v.name for v in part.discrete if v.name not in codes)
        for part in parts
        for name in part.hidden
    }


def _parted(structure: HybridStructure, given: Names) -> tuple[list[str], list[str]]:
    """Return the names of discrete and of real variables."""
    codes = [name for name in given if structure.variable(name).is_discrete]
    return codes, [name for name in given if name not in codes]

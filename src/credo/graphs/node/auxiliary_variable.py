"""Names of the auxiliary variables of compact nodes, and the size where tables end."""

from __future__ import annotations

import math
from collections.abc import Sequence

from credo.graphs.variable import Variable

__all__ = ["auxiliary_name", "require_storable"]

LARGEST_TABLE = 2**28


def auxiliary_name(child: Variable, i: int) -> str:
    """Return the name of the running value of a node after its first ``i`` parents."""
    return f"{child.name}⟨{i}⟩"


def require_storable(scope: Sequence[Variable]) -> None:
    """Raise if the whole table of a node with many parents would not fit into memory."""
    n_cells = math.prod(v.n_states for v in scope)
    if n_cells > LARGEST_TABLE:
        raise MemoryError(
            f"whole table of {scope[-1].name} must have at most {LARGEST_TABLE} cells; found "
            f"{n_cells} for {len(scope) - 1} parents. Use factors(), which stays small."
        )

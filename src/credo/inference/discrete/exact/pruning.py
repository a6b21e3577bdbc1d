"""Which tables of a problem a question needs at all."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from credo.inference.discrete.factor_problem import Table

__all__ = ["connected_to", "without_barren"]


def without_barren(tables: Sequence[Table], wanted: Collection[int]) -> list[Table]:
    """Return the tables without conditional distributions that sum to one and tell nothing.

    A variable is barren if it is neither asked for nor known and occurs in no table but its own
    conditional distribution; removing that table may make its parents barren in turn.
    """
    homes: dict[int, set[int]] = {}
    for number, table in enumerate(tables):
        for variable in table.scope:
            homes.setdefault(variable, set()).add(number)
    child_of = {number: table.child for number, table in enumerate(tables)}
    stack = [i for i, child in child_of.items() if child is not None and child not in wanted]
    removed: set[int] = set()
    while stack:
        number = stack.pop()
        child = child_of[number]
        if number in removed or child is None or child in wanted or homes[child] != {number}:
            continue
        removed.add(number)
        for variable in tables[number].scope:
            homes[variable].discard(number)
            stack.extend(homes[variable])
    return [table for number, table in enumerate(tables) if number not in removed]


def connected_to(
    tables: Sequence[Table],
    targets: Collection[int],
    known: Collection[int],
    links: Sequence[tuple[int, ...]] = (),
) -> list[Table]:
    """Return the tables that tell something about the targets, or may forbid the findings.

    Given the known variables a network falls into parts. A part without targets changes the
    answer only if its tables are not positive everywhere: then the findings may be impossible.
    Variables may be linked by further tables, whose scopes are ``links``.
    """
    parts = _parts([*(table.scope for table in tables), *links], known)
    asked = {parts[i] for i in targets if i in parts}
    home = [next((parts[i] for i in t.scope if i not in known), None) for t in tables]
    doubtful = {
        part
        for part, table in zip(home, tables, strict=True)
        if part is not None and part not in asked and table.values.min() <= 0
    }
    needed = asked | doubtful
    return [
        table
        for part, table in zip(home, tables, strict=True)
        if part in needed or (part is None and table.values.min() <= 0)
    ]


def _parts(scopes: Sequence[tuple[int, ...]], known: Collection[int]) -> dict[int, int]:
    """Return the part of each unknown variable, named by one of its variables."""
    root: dict[int, int] = {}

    def find(variable: int) -> int:
        while root[variable] != variable:
            root[variable] = root[root[variable]]
            variable = root[variable]
        return variable

    for scope in scopes:
        free = [i for i in scope if i not in known]
        for variable in free:
            root.setdefault(variable, variable)
        for variable in free[1:]:
            root[find(variable)] = find(free[0])
    return {variable: find(variable) for variable in root}

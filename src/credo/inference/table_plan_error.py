"""Why a network gives no exact answer: findings that cannot be, or tables that do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["AnswerTooLarge", "ImpossibleFindings", "InferenceTooLarge", "NoExactAnswer"]


class ImpossibleFindings(ValueError):
    """Findings that have probability zero together.

    Attributes
    ----------
    conflict
        A smallest part of the findings that is impossible: without any one of them the rest
        of the part is possible.
    """

    def __init__(self, conflict: Mapping[str, Any]) -> None:
        self.conflict = dict(conflict)
        told = ", ".join(f"{name}={state!r}" for name, state in self.conflict.items())
        super().__init__(
            f"findings must be possible together; found that {told} has probability zero. "
            "Correct or drop one of them: nothing follows from what cannot be."
        )

    def __reduce__(self) -> tuple[type[ImpossibleFindings], tuple[dict[str, Any]]]:
        return type(self), (self.conflict,)


class InferenceTooLarge(MemoryError):
    """Exact inference would need more memory or time than allowed.

    Attributes
    ----------
    width, cells, bytes
        Variables of the largest table less one, cells of all products, and memory.
    """

    def __init__(self, width: int, cells: int, needed: int, allowed: float) -> None:
        self.width, self.cells, self.bytes, self.allowed = width, cells, needed, allowed
        super().__init__(
            f"exact inference must fit {allowed / 1e9:.3g} GB; found a plan of width {width} "
            f"with {cells:.4g} cells that needs {needed / 1e9:.3g} GB. Allow more with "
            'net.within(memory="16GB"), ask for fewer variables at once or for marginals, or '
            'pass method="auto" for an approximation.'
        )

    def __reduce__(self) -> tuple[type[InferenceTooLarge], tuple[int, int, int, float]]:
        return type(self), (self.width, self.cells, self.bytes, self.allowed)


class AnswerTooLarge(InferenceTooLarge):
    """A joint table that does not fit, so that no method can hold the answer."""

    def __init__(self, width: int, cells: int, needed: int, allowed: float) -> None:
        super().__init__(width, cells, needed, allowed)
        self.args = (
            f"a joint table must fit {allowed / 1e9:.3g} GB; found one over {width + 1} names "
            f"with {cells:.4g} cells that needs {needed / 1e9:.3g} GB. Ask for fewer variables "
            "at once, for marginals, or for draws.",
        )


class NoExactAnswer(ValueError):
    """Nodes that matter for a question have no algebra that would answer it exactly.

    Attributes
    ----------
    nodes
        Names of those nodes.
    """

    def __init__(self, nodes: Sequence[str]) -> None:
        self.nodes = tuple(nodes)
        super().__init__(
            "nodes that matter must be tables, linear-Gaussian, or single thresholds for an "
            f"exact answer; found {list(self.nodes)}. Use likelihood weighting."
        )

    def __reduce__(self) -> tuple[type[NoExactAnswer], tuple[tuple[str, ...]]]:
        return type(self), (self.nodes,)

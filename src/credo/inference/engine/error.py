"""Why a network gives no exact answer: findings that cannot be, or tables that do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from credo.numerics.memory import bytes_text, spare_bytes
from credo.numerics.quotation import quote

__all__ = [
    "AnswerTooLarge",
    "ImpossibleFindings",
    "InferenceTooLarge",
    "MemoryWithheld",
    "NoExactAnswer",
    "NotSubmodular",
    "require_memory",
]

NEGLIGIBLE = 1 << 25
"""Bytes that any machine has, so that free memory is not measured for them."""


class ImpossibleFindings(ValueError):
    """Findings that have probability zero together.

    Attributes
    ----------
    conflict
        A smallest part of the findings that is impossible: without any one of them the rest
        of the part is possible. All findings where looking for a smaller part does not fit;
        empty if the tables contradict each other whatever is found.
    """

    def __init__(self, conflict: Mapping[str, Any]) -> None:
        self.conflict = dict(conflict)
        findings = ", ".join(f"{name}={quote(state)}" for name, state in self.conflict.items())
        is_real = any(isinstance(state, float) for state in self.conflict.values())
        # No finite value is impossible under a normal, but its log density may be below -1e308.
        far = ", or lies so far out that its density has no log" if is_real else ""
        super().__init__(
            f"findings must be possible together; found that {findings} has probability "
            f"zero{far}. Correct or drop one of them."
            if findings
            else "product of the factors must be positive somewhere; found zero everywhere. "
            "Check the zeros of the tables."
        )

    def __reduce__(self) -> tuple[type[ImpossibleFindings], tuple[dict[str, Any]]]:
        return type(self), (self.conflict,)


class InferenceTooLarge(MemoryError):
    """Exact inference would need more memory or time than allowed.

    Attributes
    ----------
    width, cells, bytes
        Variables of the largest table less one, cells of all products, and memory.
    found
        The plan and its cost, in words.
    advice
        What to do instead, in words.
    """

    what = "exact inference"
    usual_advice = (
        'Allow more with net.within(memory="16GB"), ask for fewer variables at once or for '
        'marginals, or pass method="auto" for an approximation.'
    )

    def __init__(
        self, width: int, cells: int, needed: int, allowed: float, advice: str | None = None
    ) -> None:
        self.width, self.cells, self.bytes, self.allowed = width, cells, needed, allowed
        self.advice = advice or self.usual_advice
        super().__init__(
            f"{self.what} must fit {bytes_text(allowed)}; found {self.found}. {self.advice}"
        )

    @property
    def found(self) -> str:
        """The plan and its cost, in words."""
        return f"a plan of width {self.width} with {self._cost}"

    @property
    def excess(self) -> str:
        """The plan, its cost and the limit, in words."""
        return f"{self.found} where {bytes_text(self.allowed)} may be taken"

    @property
    def _cost(self) -> str:
        return f"{self.cells:.4g} cells that needs {bytes_text(self.bytes)}"

    def advising(self, advice: str) -> Self:
        """Return the same error with other advice."""
        return type(self)(self.width, self.cells, self.bytes, self.allowed, advice)

    def __reduce__(
        self,
    ) -> tuple[type[InferenceTooLarge], tuple[int, int, int, float, str]]:
        return type(self), (self.width, self.cells, self.bytes, self.allowed, self.advice)


class AnswerTooLarge(InferenceTooLarge):
    """A joint table that does not fit, so that no method can hold the answer."""

    what = "a joint table"
    usual_advice = (
        "Ask for fewer variables at once, for marginals, or for draws, or allow more with "
        'net.within(memory="16GB").'
    )

    @property
    def found(self) -> str:
        """The table and its cost, in words."""
        return f"one over {self.width + 1} names with {self._cost}"


class MemoryWithheld(MemoryError):
    """An answer that fits its own limit, but not what the system lets this process take.

    Attributes
    ----------
    bytes, spare
        Memory that the answer needs, and that may still be taken.
    """

    def __init__(self, what: str, needed: float, spare: float) -> None:
        self.what, self.bytes, self.spare = what, needed, spare
        super().__init__(
            f"{what} must fit the memory that ulimit or a control group leaves this process, "
            f"{bytes_text(spare)}; found one that needs {bytes_text(needed)}. Raise that "
            f'limit, or take what fits with within(memory="{max(spare / 2e6, 1):.0f}MB").'
        )

    def __reduce__(self) -> tuple[type[MemoryWithheld], tuple[str, float, float]]:
        return type(self), (self.what, self.bytes, self.spare)


def require_memory(what: str, needed: float) -> None:
    """Refuse to take more than the system allows, before anything is taken.

    Whether an answer is exact never depends on it: one that does not fit is refused.

    Raises
    ------
    MemoryWithheld
        If ``needed`` bytes are more than a limit of the process or its control group leaves.
    """
    if needed > NEGLIGIBLE and needed > (spare := spare_bytes()):
        raise MemoryWithheld(what, needed, spare)


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


class NotSubmodular(ValueError):
    """A problem that no minimum cut solves."""

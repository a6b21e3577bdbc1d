"""A sentence on a result, and the tone in which it is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "Tone"]

Tone = Literal["answer", "fact", "good", "caution"]


@dataclass(frozen=True)
class Finding:
    """A sentence and its tone: the answer, a fact, good news, or a caution."""

    tone: Tone
    text: str

"""A named variable of a network: a finite set of ordered states, or a real number."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.numerics.quotation import quote, short_quotes

__all__ = ["UnknownState", "UnknownVariable", "Variable", "nearest", "object_array"]

State = Hashable


class UnknownVariable(KeyError):
    """A name that no variable of the network has."""

    def __init__(self, message: str) -> None:
        super().__init__(short_quotes(message))

    def __str__(self) -> str:
        return str(self.args[0])


class UnknownState(ValueError):
    """A label that a variable does not have."""

    def __init__(self, message: str) -> None:
        super().__init__(short_quotes(message))


@dataclass(frozen=True)
class Variable:
    """A variable with its states in order; a real-valued one has none.

    States are labels of any hashable type and keep their type: the integer 1 is a label here,
    never a position. Positions appear only as ``index``.

    Attributes
    ----------
    name
        What the variable is called, unique in its network.
    states
        Labels in order, or None for a real-valued variable.

    Examples
    --------
    >>> grade = Variable("grade", ("low", "middle", "high"))
    >>> grade.n_states, grade.index("high")
    (3, 2)
    >>> Variable("height").is_discrete
    False
    """

    name: str
    states: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        if self.states is None:
            return
        states = tuple(self.states)
        if not states or len(set(states)) < len(states):
            raise ValueError(
                f"states of {self.name} must be distinct and at least one; found "
                f"{quote(list(states))}. List every state once."
            )
        object.__setattr__(self, "states", states)

    @property
    def is_discrete(self) -> bool:
        """Whether the variable has states rather than real values."""
        return self.states is not None

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.labels)

    @property
    def labels(self) -> tuple[Any, ...]:
        """States of a discrete variable."""
        if self.states is None:
            raise TypeError(
                f"{self.name} must be discrete to have states; found a real-valued variable. "
                "Ask for its distribution instead."
            )
        return self.states

    @cached_property
    def axis(self) -> pd.Index[Any]:
        """States as an index named after the variable; mixed types stay what they are."""
        labels = self.labels
        kinds = {type(label) for label in labels}
        if len(kinds) == 1 and tuple not in kinds:
            plain: pd.Index[Any] = pd.Index(list(labels), name=self.name)
            return plain
        return pd.Index(object_array(labels), name=self.name, tupleize_cols=False)

    @cached_property
    def positions(self) -> dict[Any, int]:
        """Position of each state."""
        return {state: i for i, state in enumerate(self.labels)}

    def index(self, state: State) -> int:
        """Return the position of a state.

        Raises
        ------
        UnknownState
            If the variable does not have it; the message names the nearest one.
        """
        position = self.positions.get(state)
        if position is None:
            raise UnknownState(
                f"state of {self.name} must be one of {_shown(self.labels)}; found {state!r}."
                f"{nearest(state, self.labels)}"
            )
        return position


def nearest(word: object, choices: Iterable[object]) -> str:
    """Return advice that names the most similar choice, for the end of a message."""
    texts = {str(choice): choice for choice in choices}
    lowered = {text.lower(): text for text in texts}
    match = get_close_matches(str(word).lower(), lowered, n=1, cutoff=0.6)
    if not match:
        return " Check the spelling."
    return f" Did you mean {texts[lowered[match[0]]]!r}?"


def object_array(labels: Sequence[Any]) -> NDArray[Any]:
    """Return labels as an array of objects, tuples among them not taken as rows."""
    values = np.empty(len(labels), dtype=object)
    values[:] = list(labels)
    return values


def _shown(states: Sequence[object]) -> str:
    few = list(states[:8])
    return f"{few}" if len(states) <= 8 else f"{few} and {len(states) - 8} more"

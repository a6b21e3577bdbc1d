"""States of variables as people type them: text that stands for a label of any type."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

from credo.graphs.variable import Variable

__all__ = ["state_of"]


def state_of(variable: Variable, text: str) -> Any:
    """Return the state of a variable that a text stands for, or the number of a real one.

    A state is written as Python prints it; truth values may be in small letters, and numbers
    in any form.

    Raises
    ------
    UnknownState
        If no state is written so; the message names the nearest one.

    Examples
    --------
    >>> state_of(Variable("n", (0, 1, 2)), "1"), state_of(Variable("b", (False, True)), "true")
    (1, True)
    >>> state_of(Variable("s", ("1", "2")), "1"), state_of(Variable("height"), "1.75")
    ('1', 1.75)
    """
    word = text.strip()
    if not variable.is_discrete:
        return _real(variable, word)
    written = {str(state): state for state in variable.labels}
    if word in written:
        return written[word]
    truths = {str(s).lower(): s for s in variable.labels if isinstance(s, bool)}
    if word.lower() in truths:
        return truths[word.lower()]
    with suppress(ValueError):
        value = float(word)
        for state in variable.labels:
            if isinstance(state, int | float) and state == value:
                return state
    return variable.labels[variable.index(word)]


def _real(variable: Variable, word: str) -> float:
    with suppress(ValueError):
        value = float(word)
        if math.isfinite(value):
            return value
    raise ValueError(
        f"{variable.name} must be given a finite number, because it is real-valued; found "
        f"{word!r}. Write it as 1.5 or -2e3."
    )

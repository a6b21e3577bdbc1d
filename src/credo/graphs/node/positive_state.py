"""Which of two states says that something is present: True, yes, on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from credo.graphs.variable import Variable
from credo.numerics.quotation import quote

__all__ = ["present_position"]

ABSENT = frozenset({"false", "no", "absent", "off", "none", "f", "n", "0"})


def present_position(variable: Variable, present: Mapping[str, Any]) -> int:
    """Return the position of the state that means presence, of a variable with two.

    Parameters
    ----------
    present
        States by name of variable, for variables whose states do not say it themselves as
        (False, True), ("no", "yes"), ("yes", "no"), (0, 1) and the like do.

    Examples
    --------
    >>> present_position(Variable("smoke", ("yes", "no")), {})
    0
    """
    if variable.n_states != 2:
        raise ValueError(
            f"{variable.name} must have two states, absent and present; found "
            f"{quote(list(variable.labels))}. Use NoisyMax or a function for more states."
        )
    if variable.name in present:
        return variable.index(present[variable.name])
    absent = [i for i, label in enumerate(variable.labels) if str(label).lower() in ABSENT]
    if len(absent) != 1:
        raise ValueError(
            f"one state of {variable.name} must mean present; found "
            f"{quote(list(variable.labels))}, "
            f"where it is not clear which. Say so: present={{{quote(variable.name)}: "
            f"{quote(variable.labels[1])}}}."
        )
    return 1 - absent[0]

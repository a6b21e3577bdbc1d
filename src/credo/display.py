"""Displays of values by rooms above their own, looked up when a notebook asks for one.

A network is at home in ``models`` and its drawing in ``plots``, which stands above and which
``models`` may therefore not import: a script that only asks a network loads no matplotlib. As
the public names of a room are found through its stub, so the display of a value is found
through this one list, the first time it is shown.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["html_of"]

DISPLAYS = {"network": ("credo.plots.network_display", "network_html")}


def html_of(kind: str, value: Any) -> str:
    """Return a value of some kind as HTML.

    Examples
    --------
    >>> from credo import BayesianNetwork
    >>> html_of("network", BayesianNetwork("rain -> wet"))[:5]
    '<div>'
    """
    module, name = DISPLAYS[kind]
    return str(getattr(import_module(module), name)(value))

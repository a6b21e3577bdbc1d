"""A network as a notebook shows it: its drawing, with what is believed of each variable."""

from __future__ import annotations

import io
import warnings
from base64 import b64encode
from html import escape
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from credo.inference.engine.error import InferenceTooLarge, NoExactAnswer
from credo.numerics.markup import html_page
from credo.plots.network import Net, network_figure

__all__ = ["network_html"]

MOST_NODES = 60
"""Of larger networks a drawing is a wall of boxes: words describe them."""

MOST_BELIEFS = 25
"""Up to so many variables are shown with their probabilities, others by name."""

_SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "credo"}
_NO_ORIGIN = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def network_html(net: Net) -> str:
    """Return a network as a picture under its name.

    The picture is SVG inside an image, in which no name is ever run as a script and whose parts
    cannot be mixed up with those of other pictures in the notebook.

    Examples
    --------
    >>> from credo import BayesianNetwork
    >>> net = BayesianNetwork("rain -> wet", {"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0, 1]]})
    >>> "data:image/svg+xml" in network_html(net)
    True
    """
    n = len(net.variables)
    if n > MOST_NODES:
        return html_page(
            repr(net), lines=[f"{n} variables are too many to draw here; see network_figure."]
        )
    picture = b64encode(_svg(_figure(net))).decode("ascii")
    name = escape(repr(net))
    image = (
        f'<img style="max-width:100%" alt="{name}" src="data:image/svg+xml;base64,{picture}">'
    )
    return html_page(repr(net), image)


def _figure(net: Net) -> Figure:
    """Return the drawing with beliefs if they are few and cheap, else with names alone."""
    if len(net.variables) <= MOST_BELIEFS:
        try:
            return network_figure(net)
        except (InferenceTooLarge, NoExactAnswer):
            pass
    return network_figure(net, with_beliefs=False)


def _svg(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), rc_context(_SETTINGS):
        # The page has the letters, whether or not the font to measure their width has them.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(buffer, format="svg", metadata=_NO_ORIGIN)
    return buffer.getvalue()

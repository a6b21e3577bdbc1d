"""Figures as SVG that can stand inside an HTML page, with nothing loaded from elsewhere."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

__all__ = ["svg_picture"]

# Text stays text, in the font of the page; ids are the same for the same picture.
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "credo",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#9aa5b1",
    "axes.labelcolor": "#3c4854",
    "xtick.color": "#5b6875",
    "ytick.color": "#5b6875",
    "legend.frameon": False,
    "text.parse_math": False,
}
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_ID = re.compile(r'(id="|url\(#|href="#)')


def svg_picture(
    name: str,
    size: tuple[float, float],
    draw: Callable[..., object],
    shape: tuple[int, int] = (1, 1),
) -> str:
    """Return what ``draw`` drew as an SVG element.

    Parameters
    ----------
    name
        Keeps the ids of this picture apart from those of others on the page.
    size
        Width and height in inches; the page scales it.
    draw
        Is called with the axes, row by row.
    shape
        Number of rows and columns of axes.

    Examples
    --------
    >>> svg_picture("line", (2, 1), lambda axes: axes.plot([1, 2])).startswith("<svg ")
    True
    """
    buffer = io.StringIO()
    with rc_context(_SETTINGS):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(*figure.subplots(*shape, squeeze=False).ravel())
        figure.savefig(buffer, format="svg", transparent=True, metadata=_NO_METADATA)
    text = buffer.getvalue()
    return _ID.sub(rf"\g<1>{name}-", text[text.index("<svg ") :])

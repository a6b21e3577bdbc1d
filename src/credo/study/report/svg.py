"""Figures as SVG that can stand inside an HTML page, with nothing loaded from elsewhere."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

__all__ = ["svg_picture"]

# Text stays text, in the font of the page; ids are the same for the same picture.
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "credo",
    "font.size": 9,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#9aa5b1",
    "axes.labelcolor": "#3c4854",
    "xtick.color": "#5b6875",
    "ytick.color": "#5b6875",
    "legend.frameon": False,
    "text.parse_math": False,
}
_NO_ORIGIN = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_ID = re.compile(r'(id="|url\(#|href="#)')


# Inches left free around all that is drawn, and points in an inch.
_PAD, _POINTS = 0.06, 72


def svg_picture(name: str, size: tuple[float, float], draw: Callable[[Axes], object]) -> str:
    """Return what ``draw`` drew as an SVG element.

    Parameters
    ----------
    name
        Keeps the ids of this picture apart from those of others on the page.
    size
        Width and height in inches; the page scales it.
    draw
        Is called with the axes.

    Examples
    --------
    >>> svg_picture("line", (2, 1), lambda axes: axes.plot([1, 2])).startswith("<svg ")
    True
    """
    buffer = io.StringIO()
    with rc_context(_SETTINGS), warnings.catch_warnings():
        # The page has the letters, whether or not the font to measure their width has them.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = Figure(figsize=size, dpi=_POINTS)
        canvas: Any = FigureCanvasSVG(figure)
        axes = figure.subplots()
        draw(axes)
        _fill(figure, axes)
        canvas.print_svg(buffer, metadata=_NO_ORIGIN)
    text = buffer.getvalue()
    return _ID.sub(rf"\g<1>{name}-", text[text.index("<svg ") :])


def _fill(figure: Figure, axes: Axes) -> None:
    """Let the axes with their labels fill the figure.

    Measured once: the layouts of matplotlib measure over and over, which takes longer than to
    draw.
    """
    outer, inner = axes.get_tightbbox(for_layout_only=True), axes.get_window_extent()
    assert outer is not None
    pad, width, height = _PAD * _POINTS, figure.bbox.width, figure.bbox.height
    left, bottom = inner.x0 - outer.x0 + pad, inner.y0 - outer.y0 + pad
    right, top = outer.x1 - inner.x1 + pad, outer.y1 - inner.y1 + pad
    axes.set_position(
        (
            left / width,
            bottom / height,
            max(width - left - right, 1.0) / width,
            max(height - bottom - top, 1.0) / height,
        )
    )

"""The page of a report: its pictures drawn as SVG, and all of it put into one HTML file.

Nothing is loaded from elsewhere. Whatever is text in the content stays text on the page: the
templates escape it, all but the pictures.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from credo.study.report.content import Page, Picture

__all__ = [
    "Making",
    "in_turn",
    "page_html",
    "svg_picture",
]

Making = Callable[[Sequence[Callable[[], str]]], Iterable[str]]
"""How pictures are made, each of which takes a while to draw."""

_TEMPLATES = Environment(
    autoescape=True,
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    lstrip_blocks=True,
    trim_blocks=True,
    undefined=StrictUndefined,
)

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
_POINTS = 72

# In points: what stays free at the edges, ticks with their distances, a letter, and a line.
_PAD, _TICK, _LETTER, _LINE = 4.0, 11.0, 5.0, 12.0


def in_turn(parts: Sequence[Callable[[], str]]) -> list[str]:
    """Make one part after the other."""
    return [part() for part in parts]


def page_html(page: Page, making: Making = in_turn, wording: Callable[[str], str] = str) -> str:
    """Return a page as the text of a self-contained HTML file.

    Parameters
    ----------
    page
        What it says.
    making
        How its pictures are made.
    wording
        What makes of a sentence, with arguments as Python has them, the one to be shown.

    Examples
    --------
    >>> page = Page("a < b", "", "", (), (), "")
    >>> "<title>a &lt; b</title>" in page_html(page)
    True
    """
    pictures = list(page.pictures())
    drawn = making([partial(_svg, title, picture) for title, picture in pictures])
    svg = {picture.name: text for (_, picture), text in zip(pictures, drawn, strict=True)}
    return _TEMPLATES.get_template("page.html.jinja").render(
        page=page, svg=svg, wording=wording
    )


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


def _svg(title: str, picture: Picture) -> str:
    """Return a picture whose title also serves those who cannot see it."""
    text = svg_picture(picture.name, picture.size, picture.drawing.draw)
    return f'<svg role="img" aria-label="{escape(title)}" {text.removeprefix("<svg ")}'


def _fill(figure: Figure, axes: Axes) -> None:
    """Let the axes with their labels fill the figure.

    By the letters of the labels: to measure them takes matplotlib half as long as to draw, and
    the page shows them in another font than the one measured.
    """
    x, y = axes.xaxis, axes.yaxis
    x_ticks, y_ticks = x.get_majorticklabels(), y.get_majorticklabels()
    is_upright = any(label.get_rotation() for label in x_ticks)
    x_size = max((_size(label.get_text()) for label in x_ticks), default=(0.0, 0.0))
    y_size = max((_size(label.get_text()) for label in y_ticks), default=(0.0, 0.0))
    x_space, x_end = (x_size[0], 0.0) if is_upright else (x_size[1], x_size[0] / 2)
    left = _TICK + y_size[0] + _size(y.get_label_text())[1]
    bottom = _TICK + x_space + _size(x.get_label_text())[1]
    top = max(_legend_height(axes), _size(axes.get_title(loc="left"))[1], _LINE / 2)
    width, height = figure.bbox.width, figure.bbox.height
    axes.set_position(
        (
            left / width,
            bottom / height,
            max(width - left - max(x_end, _PAD), 1.0) / width,
            max(height - bottom - top - _PAD, 1.0) / height,
        )
    )


def _size(text: str) -> tuple[float, float]:
    """Return about how wide and high a text is, nothing for none."""
    lines = text.split("\n") if text else []
    n_letters = [sum(1 + (east_asian_width(sign) in "WF") for sign in line) for line in lines]
    return _LETTER * max(n_letters, default=0), _LINE * len(lines)


def _legend_height(axes: Axes) -> float:
    """Return how high the legend is, if it stands on top of the axes."""
    legend = axes.get_legend()
    if legend is None or legend.get_bbox_to_anchor().y0 < axes.bbox.y1:
        return 0.0
    # Matplotlib has no public word for the number of columns.
    n_columns: int = getattr(legend, "_ncols", 1)
    return _LINE * -(-len(legend.get_texts()) // n_columns)

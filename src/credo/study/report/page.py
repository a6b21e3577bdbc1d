"""The page of a report: its pictures drawn, and all of it put into one HTML file.

Whatever is text in the content stays text on the page: the templates escape it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from credo.study.report.content import Page, Picture
from credo.study.report.svg import svg_picture

__all__ = ["Making", "in_turn", "page_html"]

Making = Callable[[Sequence[Callable[[], str]]], Iterable[str]]
"""How pictures are made, each of which takes a while to draw."""

_TEMPLATES = Environment(
    autoescape=True,
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    lstrip_blocks=True,
    trim_blocks=True,
    undefined=StrictUndefined,
)


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
    svg = {
        picture.name: Markup(text) for (_, picture), text in zip(pictures, drawn, strict=True)
    }
    return _TEMPLATES.get_template("page.html.jinja").render(
        page=page, svg=svg, wording=wording
    )


def _svg(title: str, picture: Picture) -> str:
    """Return a picture whose title also serves those who cannot see it."""
    text = svg_picture(picture.name, picture.size, picture.drawing.draw)
    return f'<svg role="img" aria-label="{escape(title)}" {text.removeprefix("<svg ")}'

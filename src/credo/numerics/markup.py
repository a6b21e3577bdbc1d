"""HTML of small tables, as notebooks show them: every text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["MOST_ROWS", "html_page", "html_table", "short_number"]

MOST_ROWS = 10
"""Rows of a long value that a notebook shows."""

_PADDING = "padding:2px 10px"


def html_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column stands to the left and all others to the right.

    Examples
    --------
    >>> "&lt;b&gt;" in html_table(["name", "mean"], [["<b>", "1.5"]])
    True
    """
    head = "".join(_cell("th", i, text) for i, text in enumerate(headings))
    body = "".join(
        f"<tr>{''.join(_cell('td', i, text) for i, text in enumerate(row))}</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_page(title: str, *parts: str, lines: Iterable[str] = ()) -> str:
    """Return a title, parts that are HTML already, and lines of plain text below them.

    Examples
    --------
    >>> html_page("a < b", "<hr>", lines=["c & d"])
    '<div><p><b>a &lt; b</b></p><hr><p>c &amp; d</p></div>'
    """
    said = "<br>".join(escape(line) for line in lines)
    below = f"<p>{said}</p>" if said else ""
    return f"<div><p><b>{escape(title)}</b></p>{''.join(parts)}{below}</div>"


def short_number(value: float) -> str:
    """Return a number to four digits.

    Examples
    --------
    >>> short_number(0.123456), short_number(float("nan"))
    ('0.1235', '-')
    """
    return "-" if value != value else f"{value:.4g}"


def _cell(tag: str, place: int, text: str) -> str:
    side = "left" if place == 0 else "right"
    return f'<{tag} style="text-align:{side};{_PADDING}">{escape(text)}</{tag}>'

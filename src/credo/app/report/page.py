"""Pieces of one self-contained HTML page: text is escaped, style and pictures are inside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

from credo.app.console.flag import with_flags

__all__ = [
    "Making",
    "card",
    "figure",
    "in_turn",
    "list_of",
    "page",
    "paragraph",
    "section",
    "table",
    "tile",
]

Part = Callable[[], str]
Making = Callable[[Sequence[Part]], Iterable[str]]
"""How the parts of a page are made, each of which takes a while to draw."""

_STYLE = """
:root{color-scheme:light;--ink:#1d2733;--soft:#5b6875;--line:#dfe5ea;--paper:#fff;
--ground:#f4f6f8;--accent:#0072b2;--good:#2b7a4b;--caution:#a85b00}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1080px;margin:0 auto;padding:2.2rem 1.2rem 3rem}
header p.kicker{margin:0;color:var(--soft);font-size:.9rem;letter-spacing:.02em}
h1{margin:.2rem 0 1.2rem;font-size:clamp(1.35rem,2.6vw,1.95rem);line-height:1.3;
font-weight:650;max-width:34em;text-wrap:balance}
h2{margin:2.4rem 0 .3rem;font-size:1.2rem}
h2+p.lead{margin:.1rem 0 1rem;color:var(--soft);max-width:46em}
.grid{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr))}
.tiles{display:grid;gap:.8rem;grid-template-columns:repeat(auto-fit,minmax(11.5rem,1fr))}
.card,.tile{background:var(--paper);border:1px solid var(--line);border-radius:10px;
padding:1rem 1.1rem;min-width:0}
.card.wide{grid-column:1/-1}
.card.wide>svg{max-width:44rem;margin:0 auto}
.small{display:grid;gap:.6rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,17rem),1fr))}
.tile b{display:block;font-size:1.7rem;line-height:1.2;font-weight:650;color:var(--accent)}
.tile span{color:var(--soft);font-size:.88rem}
.card h3{margin:0 0 .15rem;font-size:1rem}
.card p{margin:.1rem 0 .6rem;color:var(--soft);font-size:.9rem}
.card p:last-child{margin-bottom:0}
svg{display:block;width:100%;height:auto}
svg text{font-family:inherit!important}
ul.said{list-style:none;margin:0;padding:0}
ul.said li{padding:.42rem 0 .42rem 1.9rem;position:relative;border-top:1px solid var(--line)}
ul.said li:first-child{border-top:0}
ul.said li::before{position:absolute;left:.2rem;width:1.1rem;text-align:center;content:"\\00b7";
color:var(--soft);font-weight:700}
ul.said li.good::before{content:"\\2713";color:var(--good)}
ul.said li.caution::before{content:"!";color:#fff;background:var(--caution);border-radius:50%;
font-size:.75rem;line-height:1.1rem;height:1.1rem;top:.62rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:.38rem .6rem;text-align:right;border-bottom:1px solid var(--line);
white-space:nowrap}
th{color:var(--soft);font-weight:500;vertical-align:bottom}
th:first-child,td:first-child,table.words th,table.words td{text-align:left}
table.words td{white-space:normal;overflow-wrap:anywhere}
tr.strong td{font-weight:650}
tr:last-child td{border-bottom:0}
footer{margin-top:2.4rem;color:var(--soft);font-size:.82rem;overflow-wrap:anywhere}
@media print{body{background:#fff}.card,.tile{break-inside:avoid}}
"""


def in_turn(parts: Sequence[Part]) -> list[str]:
    """Make one part of a page after the other."""
    return [part() for part in parts]


def page(title: str, parts: Iterable[str]) -> str:
    """Return a whole HTML document of parts that are HTML already.

    Examples
    --------
    >>> "<title>a &lt; b</title>" in page("a < b", [])
    True
    """
    head = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
    )
    return f"{head}<body>\n<main>\n{''.join(parts)}</main>\n</body>\n</html>\n"


def section(title: str, lead: str, body: str) -> str:
    """Return a headed part of the page; ``body`` is HTML."""
    return f'<h2>{escape(title)}</h2>\n<p class="lead">{escape(lead)}</p>\n{body}\n'


def card(title: str, text: str, body: str, is_wide: bool = False) -> str:
    """Return a framed box: a title, a sentence, and HTML."""
    kind = "card wide" if is_wide else "card"
    return f'<div class="{kind}"><h3>{escape(title)}</h3>{paragraph(text)}{body}</div>\n'


def figure(title: str, text: str, picture: str, is_wide: bool = False) -> str:
    """Return a framed picture; its title also serves those who cannot see it."""
    named = picture.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)
    return card(title, text, named, is_wide)


def tile(value: str, meaning: str) -> str:
    """Return one large number and what it means."""
    return f'<div class="tile"><b>{escape(value)}</b><span>{escape(meaning)}</span></div>\n'


def paragraph(text: str) -> str:
    """Return a paragraph, or nothing for no text."""
    return f"<p>{escape(text)}</p>" if text else ""


def list_of(sentences: Iterable[tuple[str, str]]) -> str:
    """Return a list of sentences, each with its tone: fact, good or caution."""
    items = "".join(
        f'<li class="{escape(tone)}">{escape(with_flags(text))}</li>\n'
        for tone, text in sentences
    )
    return f'<ul class="said">\n{items}</ul>'


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    strong: Sequence[str] = (),
    is_words: bool = False,
) -> str:
    """Return a table; rows whose first cell is in ``strong`` stand out.

    Examples
    --------
    >>> table(["name"], [["<b>"]]).count("&lt;b&gt;")
    1
    """
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        f"<tr{' class=strong' if row[0] in strong else ''}>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in row)
        + "</tr>\n"
        for row in rows
    )
    kind = ' class="words"' if is_words else ""
    return f'<div class="scroll"><table{kind}><tr>{head}</tr>\n{body}</table></div>'

"""Docstrings as Markdown: sections of numpydoc become headings, lists and blocks of code."""

import re
from collections.abc import Callable

__all__ = ["markdown", "sections"]

LISTS = {"Parameters", "Returns", "Raises", "Attributes", "Yields", "Warns"}
HEADING = re.compile(r"^(?P<title>[A-Z][A-Za-z ]+)\n-{3,}\n", flags=re.M)
CITATION = re.compile(r"\[([a-z]+(?:19|20)\d\d[a-z]*)\]_?(?!\()")
NAME = re.compile(r"(?<![`\w])`([A-Za-z_][\w.]*)`(?!`)")


def sections(doc: str) -> list[tuple[str, str]]:
    """Return titles and texts; the first has no title."""
    starts = list(HEADING.finditer(doc))
    ends = [*(m.start() for m in starts), len(doc)]
    parts = [("", doc[: ends[0]].strip("\n"))]
    for match, end in zip(starts, ends[1:], strict=True):
        parts.append((match["title"], doc[match.end() : end].strip("\n")))
    return parts


def markdown(doc: str, link: Callable[[str], str | None]) -> str:
    """Return a docstring as Markdown.

    Parameters
    ----------
    doc
        The text, without common indentation.
    link
        Returns where a name is documented, or None.
    """
    parts = [_section(title, text) for title, text in sections(doc)]
    return _linked("\n\n".join(part for part in parts if part), link)


def _section(title: str, text: str) -> str:
    if not title:
        return _prose(text)
    if title == "Examples":
        return f"**Examples**\n\n{_examples(text)}"
    body = _entries(text) if title in LISTS else _prose(text)
    return f"**{title}**\n\n{body}"


def _entries(text: str) -> str:
    """Return names and what is said of them as a list of definitions."""
    if not re.search(r"^\S.*\n[ ]+\S", text, flags=re.M):
        return _prose(text)
    items = re.split(r"^(?=\S)", text, flags=re.M)
    shown = []
    for item in filter(str.strip, items):
        head, _, said = item.partition("\n")
        names = ", ".join(f"`{name.strip()}`" for name in head.partition(" : ")[0].split(","))
        shown.append(f"{names}\n:   {_prose(_flush(said)).replace(chr(10), chr(10) + '    ')}")
    return "\n\n".join(shown)


def _examples(text: str) -> str:
    blocks = []
    for block in re.split(r"\n\s*\n", text):
        is_code = block.lstrip().startswith(">>>")
        blocks.append(f"```pycon\n{_flush(block)}\n```" if is_code else _prose(block))
    return "\n\n".join(blocks)


def _prose(text: str) -> str:
    """Return paragraphs; those that are indented stay as they are written, in fences."""
    shown = []
    for part in re.split(r"\n\s*\n(?=\S)|\n(?=\s*\n[ ]{4})", _flush(text)):
        is_literal = part.lstrip("\n").startswith("    ")
        shown.append(f"```text\n{_flush(part).strip(chr(10))}\n```" if is_literal else part)
    return re.sub(r"::$", ":", "\n\n".join(shown), flags=re.M).strip("\n")


def _flush(text: str) -> str:
    lines = text.splitlines()
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    cut = min(indents, default=0)
    return "\n".join(line[cut:] for line in lines)


def _linked(text: str, link: Callable[[str], str | None]) -> str:
    """Link names and citations outside of blocks of code."""

    def name(match: re.Match[str]) -> str:
        place = link(match[1])
        return f"[`{match[1]}`]({place})" if place else match[0]

    parts = re.split(r"(^[ ]*```.*?^[ ]*```$)", text, flags=re.M | re.S)
    for i in range(0, len(parts), 2):
        cited = CITATION.sub(r"[\1](../references.md#\1)", parts[i])
        parts[i] = NAME.sub(name, cited)
    return "".join(parts)

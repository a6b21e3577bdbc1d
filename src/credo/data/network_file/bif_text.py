"""Names, quotes and comments of BIF: what may stand inside a name, and how to tell.

Characters with a meaning in BIF are allowed in quoted names. `shielded` replaces them there by
lone surrogates, which no file can hold, so that all later reading can split at the plain
characters; `shown` puts them back. Comments become blanks; offsets of lines stay right.
"""

from __future__ import annotations

import re

__all__ = ["labels_of", "quoted_name", "shielded", "shown"]

_BLANK = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
_SPECIAL = _BLANK + ',;{}()|/"\\*'
_EMPTY = "\ud8ff"
_HIDE = {ord(mark): 0xD800 + place for place, mark in enumerate(_SPECIAL)}
_SHOW: dict[int, int | None] = {code: mark for mark, code in _HIDE.items()} | {
    ord(_EMPTY): None
}
_COMMENT = r"/\*.*?(?:\*/|\Z)|(?<!:)//[^\n]*+"
# After a quote that is never closed there are no names in quotes: to look for one from every
# later quote to the end would take quadratic time.
_SKIPPED = re.compile(rf'"(?:((?:[^"\\]|\\.)*+)"|(.*))|{_COMMENT}', re.DOTALL)
_COMMENTS = re.compile(_COMMENT, re.DOTALL)
_NEEDS_QUOTES = re.compile(r'[\s,;{}()|"\\]|//|/\*|^$')
_OUTSIDE_BRACKETS = re.compile(r"(?:[\[(\]][^\[\](),]*,[^\[\](),]*[\])\[]|[^,])+")


def shielded(text: str) -> str:
    """Return the text without comments and quotes; what quotes protect is hidden from splits.

    Examples
    --------
    >>> [shown(word) for word in shielded('variable "a, b" { // a comment').split()]
    ['variable', 'a, b', '{']
    """
    if '"' not in text and "//" not in text and "/*" not in text:
        return text
    return _SKIPPED.sub(_shield, text)


def shown(name: str) -> str:
    """Return a name as its author wrote it."""
    return name if name.isascii() else name.translate(_SHOW)


def quoted_name(name: str) -> str:
    """Return a name as BIF can hold it, quoted only where other readers would need it."""
    if not _NEEDS_QUOTES.search(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def labels_of(text: str, n: int | None) -> list[str]:
    """Return ``n`` names separated by commas, or by blanks where commas do not give ``n``.

    Examples
    --------
    >>> labels_of(" low, very high ", 2), labels_of("yes no", 2)
    (['low', 'very high'], ['yes', 'no'])
    >>> labels_of("[0,5), [5,9]", 2)
    ['[0,5)', '[5,9]']
    """
    names = [part.strip() for part in text.split(",")]
    if len(names) == n:
        return names
    words = text.replace(",", " ").split()
    if len(words) == n or (n is None and "," not in text):
        return words
    outside = [part.strip() for part in _OUTSIDE_BRACKETS.findall(text)]
    return outside if len(outside) == n else [name for name in names if name]


def _shield(match: re.Match[str]) -> str:
    name, rest = match[1], match[2]
    if rest is not None:
        return '"' + _COMMENTS.sub(_blank, rest)
    if name is None:
        return _blank(match)
    plain = re.sub(r"\\(.)", r"\1", name, flags=re.DOTALL)
    # A blank on either side keeps "true""false" two names.
    return f" {plain.translate(_HIDE) or _EMPTY} "


def _blank(match: re.Match[str]) -> str:
    return " " + "\n" * match[0].count("\n")

"""Text that is a number to people: what keeps it from being read as one."""

import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["number_style"]

# Repetitions are possessive, since one that can give back is tried again at every length.
_DIGITS = r"\d[\d.,' \u00a0\u202f]*+"
_SIGNS = "$€£¥₹"
_STYLES = (
    ("percent signs", re.compile(rf"[-+]?{_DIGITS}%")),
    (
        "currency signs",
        re.compile(rf"[-+]?[{_SIGNS}] ?[-+]?{_DIGITS}|[-+]?{_DIGITS}[{_SIGNS}]"),
    ),
    (
        "thousands separators",
        re.compile(r"[-+]?\d{1,3}(([,'\u00a0\u202f ]\d{3})++(\.\d++)?|(\.\d{3})++,\d++)"),
    ),
    ("decimal commas", re.compile(r"[-+]?\d++,\d++")),
)
_PLAIN = re.compile(r"[-+]?(\d++\.?+\d*+|\.\d++)([eE][-+]?\d++)?")
_MOST = 0.9


def number_style(words: Sequence[str]) -> str:
    """Return what most of ``words`` have besides a number, or nothing if they are no numbers.

    Examples
    --------
    >>> number_style(["1,234", "999", "12,000.5"]), number_style(["12.5%", "3%"])
    ('thousands separators', 'percent signs')
    >>> number_style(["$5.54", "$1,000"]), number_style(["1,5", "2,25"])
    ('currency signs', 'decimal commas')
    >>> number_style(["A-12", "B-7"])
    ''
    """
    found = Counter(_style(word) for word in words)
    n_plain, n_other = found.pop("plain", 0), found.pop("", 0)
    is_number = n_other <= (1 - _MOST) * (n_plain + n_other + found.total())
    return found.most_common(1)[0][0] if found and is_number else ""


def _style(word: str) -> str:
    if _PLAIN.fullmatch(word):
        return "plain"
    return next((style for style, pattern in _STYLES if pattern.fullmatch(word)), "")

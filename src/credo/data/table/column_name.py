"""Names of columns in sentences: quoted, listed, and the nearest one to a misspelling."""

import difflib
from collections.abc import Iterable, Sequence

__all__ = ["nearest_names", "quoted"]


def quoted(names: Iterable[object], limit: int = 5) -> str:
    """Return ``names`` in quotes, joined by commas, with an ellipsis after ``limit``.

    Examples
    --------
    >>> quoted(["age", "dose", "sex"], limit=2)
    "'age', 'dose', ..."
    """
    listed = [repr(str(name)) for name in names]
    return ", ".join(listed[:limit] + (["..."] if len(listed) > limit else []))


def nearest_names(name: str, names: Sequence[str], n: int = 3) -> list[str]:
    """Return up to ``n`` of ``names`` most like ``name``, ignoring case, best first.

    Examples
    --------
    >>> nearest_names("strenght", ["age", "Strength", "water"])
    ['Strength']
    """
    spelled: dict[str, list[str]] = {}
    for candidate in names:
        spelled.setdefault(candidate.lower(), []).append(candidate)
    close = difflib.get_close_matches(name.strip().lower(), list(spelled), n=n, cutoff=0.5)
    return [candidate for word in close for candidate in spelled[word]][:n]

"""Names of columns in sentences: quoted, listed, and the nearest one to a misspelling."""

import difflib
from collections.abc import Iterable, Sequence

from credo.data.error import TableError

__all__ = ["nearest_names", "quoted", "require_column", "require_columns"]


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


def require_column(column: str, names: Sequence[str], source: str, argument: str = "") -> None:
    """Raise a `TableError` with the nearest names unless ``column`` is one of ``names``.

    Parameters
    ----------
    column, names
        The name asked for, and those that exist.
    source
        What the table is called in the message, usually its file name.
    argument
        Argument that gave the name; makes the column a target in the message.
    """
    if column in names:
        return
    role = "target column" if argument else "column"
    nearest = nearest_names(column, names)
    if nearest:
        noun = "name is" if len(nearest) == 1 else "names are"
        found = f"the nearest {noun} {quoted(nearest)}"
    else:
        found = f"its columns are {quoted(names)}"
    advice = "rename the column, or add it"
    if argument:
        advice = f"pass `{argument}={nearest[0]!r}`" if nearest else f"pass one as `{argument}`"
    raise TableError(f"{role} {column!r} must be in {source}; {found}; {advice}.")


def require_columns(columns: Sequence[str], names: Sequence[str], source: str) -> None:
    """Raise a `TableError` that lists those of ``columns`` that are not among ``names``."""
    present = set(names)
    absent = [column for column in columns if column not in present]
    if len(absent) == 1:
        require_column(absent[0], names, source)
    if absent:
        raise TableError(
            f"{len(columns)} columns must be in {source}; found that {len(absent)} are not: "
            f"{quoted(absent)}; its columns are {quoted(names)}; rename columns, or add them."
        )

"""How many of something there are, in words."""

__all__ = ["count"]


def count(n: int, noun: str) -> str:
    """Return how many of something there are.

    Examples
    --------
    >>> count(1, "row"), count(1030, "row"), count(2, "class")
    ('1 row', '1,030 rows', '2 classes')
    """
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"

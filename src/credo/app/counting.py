"""How many of something there are, in words."""

__all__ = ["count"]


def count(n: int, noun: str) -> str:
    """Return how many of something there are.

    Examples
    --------
    >>> count(1, "row"), count(1030, "row")
    ('1 row', '1,030 rows')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
